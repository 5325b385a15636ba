/* SPDX-License-Identifier: Apache-2.0 */
#include "format/chunk/walk.h"

#include "base/hash.h"
#include "format/chunk/source.h"
#include "tracesmith/error.h"

#include <stdlib.h>
#include <string.h>

/* A hostile file can hold headers whose sizes all lead far: what is hashed stays in proportion. */
#define BUDGET_FREE  ((uint64_t)64 << 20)
#define BUDGET_RATIO 16u
#define HASH_PART    65536u

struct sbt_chunk_walk sbt_chunk_walk_init(const struct sbt_source *source, uint64_t size,
                                          uint64_t start, uint32_t session)
{
    return (struct sbt_chunk_walk){.source = source,
                                   .size = size,
                                   .session = session,
                                   .due = start,
                                   .budget = BUDGET_FREE + BUDGET_RATIO * size};
}

bool sbt_chunk_may_follow(const struct sbt_chunk *head, uint32_t session, uint32_t due_number,
                          uint64_t due, uint64_t offset, uint64_t end)
{
    uint64_t number = head->number + (uint64_t)sbt_chunk_has_no_number(head);

    return head->session == session && offset <= end && end - offset >= SBT_CHUNK_HEADER_SIZE &&
           head->stored_size <= end - offset - SBT_CHUNK_HEADER_SIZE && offset >= due &&
           number >= due_number;
}

/* 1: an intact header of a chunk that may come next stands there. */
static int read_header(const struct sbt_chunk_walk *w, uint64_t offset, uint32_t due_number,
                       struct sbt_chunk *head, uint8_t header[SBT_CHUNK_HEADER_SIZE])
{
    int64_t got;

    if (offset > w->size || w->size - offset < SBT_CHUNK_HEADER_SIZE)
        return 0;
    got = sbt_source_read(w->source, offset, header, SBT_CHUNK_HEADER_SIZE);
    if (got < 0)
        return (int)got;
    return got == SBT_CHUNK_HEADER_SIZE && sbt_chunk_get(head, header) &&
           sbt_chunk_may_follow(head, w->session, due_number, w->due, offset, w->size);
}

static int session_starts(const struct sbt_chunk_walk *w, uint64_t offset)
{
    uint8_t magic[sizeof(sbt_file_magic)];
    int64_t got = sbt_source_read(w->source, offset, magic, sizeof(magic));

    return got < 0 ? (int)got
                   : got == sizeof(magic) && memcmp(magic, sbt_file_magic, sizeof(magic)) == 0;
}

/* 1: the payload matches its hash. */
static int is_sound(struct sbt_chunk_walk *w, const struct sbt_chunk *head, uint64_t offset)
{
    uint8_t *stored;
    int64_t got;
    int sound;

    if (head->stored_size > w->budget)
        return 0;
    w->budget -= head->stored_size;
    stored = malloc(head->stored_size ? head->stored_size : 1);
    if (!stored)
        return tsm_fail(TSM_E_MEMORY, "out of memory for a chunk");
    got = sbt_source_read(w->source, offset + SBT_CHUNK_HEADER_SIZE, stored, head->stored_size);
    sound = got == (int64_t)head->stored_size &&
            tsm_hash64(stored, head->stored_size) == head->payload_hash;
    free(stored);
    return got < 0 ? (int)got : sound;
}

/* 1: the chunk's size can be believed: its payload is intact, or another chunk or session begins
 * where it ends. What begins there is read ahead. */
static int is_trusted(struct sbt_chunk_walk *w, const struct sbt_chunk *head, uint64_t offset)
{
    uint64_t end = offset + SBT_CHUNK_HEADER_SIZE + head->stored_size;
    uint64_t due = w->due;
    int trusted;

    w->due = end;
    trusted = read_header(w, end, head->number + 1, &w->ahead, w->ahead_header);
    w->due = due;
    w->has_ahead = trusted == 1;
    if (!trusted)
        trusted = session_starts(w, end);
    return trusted ? trusted : is_sound(w, head, offset);
}

static void take(struct sbt_chunk_walk *w, const struct sbt_chunk *head, const uint8_t *header,
                 uint64_t offset)
{
    w->head = *head;
    memcpy(w->header, header, sizeof(w->header));
    w->offset = offset;
    w->due = offset + SBT_CHUNK_HEADER_SIZE + head->stored_size;
    w->due_number = head->number + 1;
}

/* 1: the chunk at `offset`, whose header is intact, was taken. */
static int take_if_trusted(struct sbt_chunk_walk *w, const struct sbt_chunk *head,
                           const uint8_t *header, uint64_t offset)
{
    int trusted = is_trusted(w, head, offset);

    if (trusted == 1)
        take(w, head, header, offset);
    return trusted;
}

int sbt_chunk_walk_next(struct sbt_chunk_walk *w)
{
    uint8_t header[SBT_CHUNK_HEADER_SIZE];
    struct sbt_chunk head = w->ahead;
    uint64_t at = w->due;
    int got = w->has_ahead;

    if (got)
        memcpy(header, w->ahead_header, sizeof(header));
    else
        got = read_header(w, at, w->due_number, &head, header);
    if (got == 1)
        got = take_if_trusted(w, &head, header, at);
    if (got)
        return got;
    w->has_ahead = false;
    got = session_starts(w, at);
    if (got)
        return got < 0 ? got : 0;
    while (at < w->size) {
        int error = sbt_source_find(w->source, at + 1, w->size, sbt_chunk_magic, &at);
        got = error ? error : read_header(w, at, w->due_number, &head, header);
        if (got == 1)
            got = take_if_trusted(w, &head, header, at);
        if (got)
            return got;
        w->has_ahead = false;
    }
    return 0;
}
