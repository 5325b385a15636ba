/* SPDX-License-Identifier: Apache-2.0
 *
 * sbt_check(): every "must" of docs/FORMAT.md that can be checked without the writer. It walks
 * through the file from its first byte and believes neither index nor trailer. Where a chunk is
 * damaged it goes on with the next.
 */
#include "format/check/counts.h"
#include "format/check/state.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/text.h"
#include "format/chunk/walk.h"
#include "format/chunk/index.h"
#include "format/limits.h"
#include "format/chunk/source.h"

#include <stdlib.h>
#include <string.h>

static void say(struct sbt_checker *c, const char *format, va_list ap)
{
    char text[256];

    /* One fault can break a rule in each of a million records. */
    if (c->count++ >= SBT_CHECK_REPORTED_MAX)
        return;
    tsm_vformat(text, sizeof(text), format, ap);
    if (c->report)
        c->report(c->user, c->offset, text);
}

void sbt_check_say(struct sbt_checker *c, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    say(c, format, ap);
    va_end(ap);
}

void sbt_check_say_damaged(struct sbt_checker *c, const char *format, ...)
{
    va_list ap;

    if (c->damaged_count++ == 0)
        c->damaged_offset = c->offset;
    va_start(ap, format);
    say(c, format, ap);
    va_end(ap);
}

/* 1 when all bytes were there, 0 when the file ends before. */
static int read_at(struct sbt_checker *c, uint64_t offset, void *out, size_t size)
{
    uint8_t *at = out;

    while (size) {
        int64_t n = c->source.read_at(c->source.user, offset, at, size);
        if (n <= 0)
            return (int)n;
        at += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    return 1;
}

/* ---- file header ---- */

static int check_version(const struct sbt_checker *c)
{
    if (c->header.major != SBT_VERSION_MAJOR)
        return tsm_fail(
            TSM_E_VERSION,
            "%s: offset 8: format version %u.%u, this build checks %u.x; use a newer TraceSmith",
            c->name, c->header.major, c->header.minor, SBT_VERSION_MAJOR);
    if (c->header.required_features & ~SBT_FEATURES_KNOWN)
        return tsm_fail(
            TSM_E_VERSION,
            "%s: offset 16: needs features that this build does not know; use a newer TraceSmith",
            c->name);
    return 0;
}

static int check_header(struct sbt_checker *c)
{
    uint8_t h[SBT_HEADER_LENGTH_MAX];
    int got = read_at(c, 0, h, SBT_FILE_HEADER_SIZE);

    if (got <= 0 || memcmp(h, sbt_file_magic, sizeof(sbt_file_magic)) != 0)
        return got < 0 ? got
                       : tsm_fail(TSM_E_FORMAT,
                                  "%s: offset 0: not a TraceSmith trace; 'tsrecord' makes one",
                                  c->name);
    sbt_file_header_get(&c->header, h);
    if (c->header.length < SBT_FILE_HEADER_SIZE || c->header.length > SBT_HEADER_LENGTH_MAX) {
        sbt_check_say(c, "the file header says that it is %u bytes long", c->header.length);
        c->header.length = SBT_FILE_HEADER_SIZE;
    }
    got = read_at(c, 0, h, c->header.length);
    if (got < 0)
        return got;
    if (got == 0 || tsm_get_u64(h + c->header.length - 8) != tsm_hash64(h, c->header.length - 8)) {
        sbt_check_say(c, "the file header does not match its checksum");
        c->header.length = SBT_FILE_HEADER_SIZE;
        c->has_no_header = true;
        return 0;
    }
    if (c->header.minor == 0 && tsm_get_u64(h + 48) != 0)
        sbt_check_say(c, "reserved bytes of the file header are not zero");
    return check_version(c);
}

/* ---- chunk headers ---- */

static void check_order(struct sbt_checker *c)
{
    const struct sbt_chunk *h = &c->head;

    if (sbt_chunk_first_number(h) != c->next_number)
        sbt_check_say_following(c, "chunk number %u where %u is due", h->number, c->next_number);
    if (h->number == 0 && h->type != SBT_CHUNK_STREAM_INFO)
        sbt_check_say(c, "the first chunk is not STREAM_INFO");
    if (h->number == 1 && h->type != SBT_CHUNK_METADATA && h->type != SBT_CHUNK_VOID)
        sbt_check_say(c, "the second chunk is not METADATA");
    if (h->number != 0 && h->type == SBT_CHUNK_STREAM_INFO)
        sbt_check_say(c, "a second STREAM_INFO chunk in a session");
    if (c->ended)
        sbt_check_say(c, "a chunk after the trailer");
    c->next_number = h->number + 1;
}

bool sbt_check_is_compact(const struct sbt_checker *c)
{
    return (c->header.required_features & SBT_FEATURE_COMPACT) != 0;
}

static void check_fields(struct sbt_checker *c)
{
    char text[96];

    if (sbt_chunk_breaks_rule(&c->head, c->header.minor, sbt_check_is_compact(c), text,
                              sizeof(text)))
        sbt_check_say(c, "%s", text);
}

/* ---- walking ---- */

static int check_payload(struct sbt_checker *c)
{
    uint8_t *stored = malloc(c->head.stored_size + (size_t)1);
    const char *wrong = NULL;
    int error = 0;

    c->payload = malloc(c->head.raw_size + (size_t)1);
    if (!stored || !c->payload)
        error = tsm_fail(TSM_E_MEMORY, "%s: out of memory", c->name);
    else
        error = read_at(c, c->offset + SBT_CHUNK_HEADER_SIZE, stored, c->head.stored_size);
    if (error == 0)
        wrong = "the file ends inside this chunk";
    if (error > 0)
        wrong = sbt_chunk_unpack(&c->packer, &c->head, stored, c->payload);
    if (wrong == sbt_no_memory) {
        error = tsm_fail(TSM_E_MEMORY, "%s: out of memory", c->name);
    } else if (wrong)
        sbt_check_say_damaged(c, "%s chunk: %s", sbt_chunk_type_name(c->head.type), wrong);
    free(stored);
    error = error < 0 ? error : wrong ? 0 : sbt_check_content(c);
    free(c->payload);
    c->payload = NULL;
    return error;
}

/* Checks the bytes after the last chunk, or between two chunks. Returns 1 if they are another
 * session. */
static int check_hole(struct sbt_checker *c, uint64_t from, uint64_t to)
{
    uint64_t session = to;
    int error = to == c->size ? sbt_source_find_session(&c->source, from, to, &session) : 0;

    if (error)
        return error;
    c->offset = from;
    if (session > from)
        sbt_check_say_damaged(c, "no intact chunk header here; %llu bytes belong to no chunk",
                              (unsigned long long)(session - from));
    if (session == to)
        return 0;
    c->offset = session;
    sbt_check_say(c, "another session starts here; only the first one was checked");
    return 1;
}

static int check_chunk(struct sbt_checker *c, const struct sbt_chunk_walk *walk)
{
    int error;

    c->offset = walk->offset;
    c->head = walk->head;
    check_order(c);
    check_fields(c);
    error = sbt_unpacked_add(&c->unpacked, c->name, &c->head, c->size);
    if (!error)
        error = check_payload(c);
    if (error >= 0)
        sbt_index_add(&c->chunks, &c->head, c->offset);
    return error;
}

static int check_chunks(struct sbt_checker *c, uint32_t session)
{
    struct sbt_chunk_walk walk =
        sbt_chunk_walk_init(&c->source, c->size, c->header.length, session);
    uint64_t due = walk.due;
    int error;

    while ((error = sbt_chunk_walk_next(&walk)) == 1) {
        if (walk.offset > due)
            error = check_hole(c, due, walk.offset);
        if (error >= 0)
            error = check_chunk(c, &walk);
        if (error < 0)
            return error;
        due = walk.due;
        if (c->progress)
            c->progress(due, c->size);
    }
    if (error == 0 && due < c->size)
        error = check_hole(c, due, c->size);
    c->offset = due;
    return error < 0 ? error : 0;
}

/* Finds the session in the first chunk, as a reader does: the file header may be damaged. */
static int find_session(struct sbt_checker *c, uint32_t *session)
{
    uint8_t header[SBT_CHUNK_HEADER_SIZE];
    int got = read_at(c, c->header.length, header, sizeof(header));

    *session = tsm_get_u32(got > 0 ? header + 16 : c->header.session);
    return got < 0 ? got : 0;
}

static int check_file(struct sbt_checker *c)
{
    uint32_t session = 0;
    int error = check_header(c);

    if (!error)
        error = find_session(c, &session);

    c->offset = c->header.length;
    if (error == 0 && c->offset >= c->size)
        sbt_check_say(c, "there are no chunks");
    else if (error == 0)
        error = check_chunks(c, session);
    if (error == 0 && !c->ended)
        sbt_check_say(c, "there is no trailer");
    return error;
}

static void free_kept(struct sbt_checker *c)
{
    void **blocks = (void **)(void *)c->kept.data;

    for (size_t i = 0; i < c->kept.size / sizeof(*blocks); i++)
        free(blocks[i]);
    tsm_buffer_finish(&c->kept);
}

static void say_following(struct sbt_checker *c)
{
    c->offset = c->damaged_offset;
    if (c->following_count)
        sbt_check_say(
            c, "%llu other rule%s broken where something names or counts what was lost here",
            (unsigned long long)c->following_count, c->following_count == 1 ? " is" : "s are");
}

/* Opens the file as a reader does. A file that no reader opens is no trace; a fault that only a
 * reader finds is a violation, too. */
static int ask_reader(struct sbt_checker *c)
{
    struct sbt_reader *r;
    int error = sbt_reader_open(&r, c->name);

    if (error)
        return error;
    c->offset = 0;
    for (size_t i = 0; i < sbt_reader_damage_count(r) && !c->count && !c->void_count; i++)
        sbt_check_say(c, "%s", sbt_reader_damage(r, i));
    sbt_reader_destroy(r);
    return 0;
}

static void checker_finish(struct sbt_checker *c)
{
    tsm_map_finish(&c->strings);
    tsm_map_finish(&c->stacks);
    tsm_map_finish(&c->enums);
    tsm_map_finish(&c->types);
    tsm_map_finish(&c->piece_lists);
    tsm_map_finish(&c->listed);
    sbt_keyset_finish(&c->pieces);
    sbt_reader_destroy(c->twins);
    tsm_buffer_finish(&c->schemas);
    tsm_buffer_finish(&c->details);
    tsm_buffer_finish(&c->values);
    sbt_structs_finish(&c->structs);
    free_kept(c);
    tsm_buffer_finish(&c->chunks);
    tsm_buffer_finish(&c->leaves);
    sbt_packer_finish(&c->packer);
    c->source.close(c->source.user);
}

int sbt_check_and_count(const char *path,
                        void (*report)(void *user, uint64_t offset, const char *text), void *user,
                        struct sbt_check_counts *counts,
                        void (*progress)(uint64_t done, uint64_t total))
{
    struct sbt_checker c = {.report = report,
                            .user = user,
                            .progress = progress,
                            .name = path,
                            .pieces = {.is_unbounded = true}};
    int error = sbt_source_file(&c.source, path);

    *counts = (struct sbt_check_counts){0};
    if (error)
        return error;
    c.size = c.source.size(c.source.user);
    error = check_file(&c);
    if (error == 0)
        error = sbt_check_kept_values(&c);
    if (error == 0)
        say_following(&c);
    if (error == 0)
        error = ask_reader(&c);
    *counts = (struct sbt_check_counts){c.totals.record_count, c.void_count, c.void_records};
    checker_finish(&c);
    return error ? error : c.count;
}

int sbt_check(const char *path, void (*report)(void *user, uint64_t offset, const char *text),
              void *user)
{
    struct sbt_check_counts counts;

    return sbt_check_and_count(path, report, user, &counts, NULL);
}
