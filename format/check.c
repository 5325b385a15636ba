/* SPDX-License-Identifier: Apache-2.0
 *
 * sbt_check(): every "must" of docs/FORMAT.md that can be checked without the writer. It walks
 * through the file from its first byte and believes neither index nor trailer. Where a chunk is
 * damaged it goes on with the next.
 */
#include "format/check_state.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/text.h"
#include "format/index.h"
#include "format/limits.h"
#include "format/source.h"

#include <stdlib.h>
#include <string.h>

void sbt_check_say(struct sbt_checker *c, const char *format, ...)
{
    char text[256];
    va_list ap;

    va_start(ap, format);
    tsm_vformat(text, sizeof(text), format, ap);
    va_end(ap);
    c->report(c->user, c->offset, text);
    c->count++;
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
    if (c->header.major != SBT_VERSION_MAJOR)
        return tsm_fail(
            TSM_E_VERSION,
            "%s: offset 8: format version %u.%u, this build checks %u.x; use a newer TraceSmith",
            c->name, c->header.major, c->header.minor, SBT_VERSION_MAJOR);
    if (c->header.length < SBT_FILE_HEADER_SIZE || c->header.length > SBT_HEADER_LENGTH_MAX) {
        sbt_check_say(c, "the file header says that it is %u bytes long", c->header.length);
        c->header.length = SBT_FILE_HEADER_SIZE;
    }
    got = read_at(c, 0, h, c->header.length);
    if (got < 0)
        return got;
    if (got == 0 || tsm_get_u64(h + c->header.length - 8) != tsm_hash64(h, c->header.length - 8))
        sbt_check_say(c, "the file header does not match its checksum");
    else if (c->header.minor == 0 && tsm_get_u64(h + 48) != 0)
        sbt_check_say(c, "reserved bytes of the file header are not zero");
    if (c->header.required_features & ~SBT_FEATURES_KNOWN)
        return tsm_fail(
            TSM_E_VERSION,
            "%s: offset 16: needs features that this build does not know; use a newer TraceSmith",
            c->name);
    return 0;
}

/* ---- chunk headers ---- */

static void check_order(struct sbt_checker *c)
{
    const struct sbt_chunk *h = &c->head;

    if (h->number != c->next_number)
        sbt_check_say(c, "chunk number %u where %u is due", h->number, c->next_number);
    if (h->session != tsm_get_u32(c->header.session))
        sbt_check_say(c, "the chunk is of another session");
    if (h->number == 0 && h->type != SBT_CHUNK_STREAM_INFO)
        sbt_check_say(c, "the first chunk is not STREAM_INFO");
    if (h->number == 1 && h->type != SBT_CHUNK_METADATA)
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

static void check_fields(struct sbt_checker *c, const uint8_t *header)
{
    const struct sbt_chunk *h = &c->head;
    bool has_ids = h->type == SBT_CHUNK_STRINGS || h->type == SBT_CHUNK_STACKS;
    bool is_ours = c->header.minor == 0; /* a later minor version may use what we leave at 0 */

    if (h->type == 0 || (h->type >= SBT_CHUNK_TYPE_END && is_ours))
        sbt_check_say(c, "chunk type %u is not of this version", h->type);
    if (h->type < SBT_CHUNK_TYPE_END && !(h->flags & SBT_CHUNK_CRITICAL))
        sbt_check_say(c, "a %s chunk is not marked critical", sbt_chunk_type_name(h->type));
    if ((is_ours && (h->flags & ~(SBT_CHUNK_CRITICAL | SBT_CHUNK_NOTABLE | SBT_CHUNK_COMPACT))) ||
        ((h->flags & (SBT_CHUNK_NOTABLE | SBT_CHUNK_COMPACT)) && h->type != SBT_CHUNK_EVENTS) ||
        ((h->flags & SBT_CHUNK_COMPACT) && !sbt_check_is_compact(c)))
        sbt_check_say(c, "the chunk has flags %#x", h->flags);
    if (is_ours && tsm_get_u32(header + 36) != 0)
        sbt_check_say(c, "reserved bytes of the chunk header are not zero");
    if (h->codec > SBT_CODEC_ZSTD_PAIRS || (h->type == SBT_CHUNK_TRAILER && h->codec) ||
        (h->codec == SBT_CODEC_ZSTD_PAIRS &&
         (h->type != SBT_CHUNK_BLOBS || !sbt_check_is_compact(c))))
        sbt_check_say(c, "the chunk has codec %u", h->codec);
    if (is_ours && h->type < SBT_CHUNK_TYPE_END && h->type != SBT_CHUNK_EVENTS &&
        ((!has_ids && (h->first_seq | h->last_seq)) || h->first_time || h->last_time ||
         h->stream_set || h->stream_end))
        sbt_check_say(c, "a %s chunk has ranges or streams", sbt_chunk_type_name(h->type));
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
        sbt_check_say(c, "%s chunk: %s", sbt_chunk_type_name(c->head.type), wrong);
    else
        c->doubted = c->offset + SBT_CHUNK_HEADER_SIZE + c->head.stored_size;
    free(stored);
    error = error < 0 ? error : wrong ? 0 : sbt_check_content(c);
    free(c->payload);
    c->payload = NULL;
    return error;
}

/* The next intact header of this session; c->size when there is none. */
static int find_chunk(struct sbt_checker *c, uint64_t from, uint64_t *at)
{
    uint8_t header[SBT_CHUNK_HEADER_SIZE];
    struct sbt_chunk head;

    for (*at = from;; ++*at) {
        int got = sbt_source_find(&c->source, *at, c->size, sbt_chunk_magic, at);
        if (got < 0 || *at == c->size)
            return got;
        got = read_at(c, *at, header, sizeof(header));
        if (got < 0)
            return got;
        if (got > 0 && sbt_chunk_get(&head, header) &&
            head.session == tsm_get_u32(c->header.session) && head.number >= c->next_number &&
            head.stored_size <= c->size - *at - sizeof(header))
            return 0;
    }
}

/* No intact header stands where one is due: on to the next. 1 when there is one, 0 when not. The
 * size of a chunk that was cut leads past what comes after it. */
static int resynchronise(struct sbt_checker *c)
{
    uint64_t from = c->doubted, chunk, session;
    int error = find_chunk(c, from + 1, &chunk);

    if (!error)
        error = sbt_source_find_session(&c->source, from, chunk, &session);
    if (error)
        return error;
    if (session < c->offset)
        c->offset = session;
    if (session > c->offset)
        sbt_check_say(c, "no intact chunk header here; %llu bytes belong to no chunk",
                      (unsigned long long)(session - c->offset));
    c->offset = c->doubted = session;
    if (session == chunk)
        return chunk < c->size;
    sbt_check_say(c, "another session starts here; only the first one was checked");
    return 0;
}

/* 1 when there may be another chunk, 0 at the end. */
static int check_chunk(struct sbt_checker *c)
{
    uint8_t header[SBT_CHUNK_HEADER_SIZE];
    uint64_t end;
    int got = read_at(c, c->offset, header, sizeof(header)), error;

    if (got < 0)
        return got;
    if (got > 0 && memcmp(header, sbt_file_magic, sizeof(sbt_file_magic)) == 0) {
        sbt_check_say(c, "another session starts here; only the first one was checked");
        return 0;
    }
    if (got == 0 || !sbt_chunk_get(&c->head, header))
        return resynchronise(c);
    end = c->offset + SBT_CHUNK_HEADER_SIZE + c->head.stored_size;
    check_order(c);
    check_fields(c, header);
    c->unpacked += sbt_chunk_unpacked(&c->head);
    error = sbt_unpacked_check(c->name, c->unpacked, c->size);
    if (!error)
        error = check_payload(c);
    if (error < 0)
        return error;
    sbt_index_add(&c->chunks, &c->head, c->offset);
    c->offset = end;
    return end < c->size || c->doubted < c->size;
}

static int check_file(struct sbt_checker *c)
{
    int error = check_header(c);

    c->offset = c->doubted = c->header.length;
    if (error == 0 && c->offset >= c->size)
        sbt_check_say(c, "there are no chunks");
    else if (error == 0)
        do {
            error = check_chunk(c);
        } while (error > 0);
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

int sbt_check(const char *path, void (*report)(void *user, uint64_t offset, const char *text),
              void *user)
{
    struct sbt_checker c = {
        .report = report, .user = user, .name = path, .pieces = {.is_unbounded = true}};
    int error = sbt_source_file(&c.source, path);

    if (error)
        return error;
    c.size = c.source.size(c.source.user);
    error = check_file(&c);
    if (error == 0)
        error = sbt_check_kept_values(&c);
    sbt_map_finish(&c.strings);
    sbt_map_finish(&c.stacks);
    sbt_map_finish(&c.enums);
    sbt_map_finish(&c.types);
    sbt_map_finish(&c.piece_lists);
    sbt_map_finish(&c.listed);
    sbt_keyset_finish(&c.pieces);
    sbt_reader_destroy(c.twins);
    tsm_buffer_finish(&c.schemas);
    tsm_buffer_finish(&c.details);
    tsm_buffer_finish(&c.values);
    sbt_structs_finish(&c.structs);
    free_kept(&c);
    tsm_buffer_finish(&c.chunks);
    tsm_buffer_finish(&c.leaves);
    sbt_packer_finish(&c.packer);
    c.source.close(c.source.user);
    return error ? error : c.count;
}
