/* SPDX-License-Identifier: Apache-2.0 */
#include "format/chunk/chunk.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/text.h"
#include "format/limits.h"
#include "tracesmith/error.h"
#include "tracesmith/reader.h"

#include <string.h>
#include <unistd.h>
#include <zstd.h>

/* Begins as PNG does: a byte that is no ASCII, a name, and line ends that a transfer as text would
 * change. */
const uint8_t sbt_file_magic[8] = {0x89, 'S', 'B', 'T', '\r', '\n', 0x1a, '\n'};

bool sbt_file_is_trace(int fd)
{
    static const uint8_t zeros[sizeof(sbt_file_magic)];
    uint8_t head[sizeof(sbt_file_magic)];
    ssize_t got = pread(fd, head, sizeof(head), 0);

    return got == 0 ||
           (got == (ssize_t)sizeof(head) && (memcmp(head, sbt_file_magic, sizeof(head)) == 0 ||
                                             memcmp(head, zeros, sizeof(head)) == 0));
}
const uint8_t sbt_chunk_magic[8] = {'S', 'B', 'T', 'C', 0xc4, 0x7b, 0x9a, 0xe1};
const uint8_t sbt_end_magic[8] = {'S', 'B', 'T', 'E', 0xd1, 0x5e, 0x0d, 0x0a};

static const char *const type_names[SBT_CHUNK_TYPE_END] = {
    [SBT_CHUNK_STREAM_INFO] = "STREAM_INFO",
    [SBT_CHUNK_METADATA] = "METADATA",
    [SBT_CHUNK_SCHEMA] = "SCHEMA",
    [SBT_CHUNK_ENUMS] = "ENUMS",
    [SBT_CHUNK_STRINGS] = "STRINGS",
    [SBT_CHUNK_STACKS] = "STACKS",
    [SBT_CHUNK_MAPPINGS] = "MAPPINGS",
    [SBT_CHUNK_EVENTS] = "EVENTS",
    [SBT_CHUNK_BLOBS] = "BLOBS",
    [SBT_CHUNK_CODE] = "CODE",
    [SBT_CHUNK_KERNEL_EVENTS] = "KERNEL_EVENTS",
    [SBT_CHUNK_CHECKPOINT] = "CHECKPOINT",
    [SBT_CHUNK_INDEX] = "INDEX",
    [SBT_CHUNK_TRAILER] = "TRAILER",
    [SBT_CHUNK_PIECES] = "PIECES",
    [SBT_CHUNK_STRUCTS] = "STRUCTS",
    [SBT_CHUNK_VOID] = "VOID",
};

const char *sbt_chunk_type_name(uint32_t type)
{
    return type < SBT_CHUNK_TYPE_END && type_names[type] ? type_names[type] : "unknown";
}

bool sbt_chunk_is_table(uint32_t type)
{
    return type != SBT_CHUNK_EVENTS && type != SBT_CHUNK_BLOBS && type != SBT_CHUNK_CODE &&
           type != SBT_CHUNK_KERNEL_EVENTS && type != SBT_CHUNK_VOID && type < SBT_CHUNK_TYPE_END;
}

bool sbt_chunk_is_index(uint32_t type)
{
    return type == SBT_CHUNK_INDEX || type == SBT_CHUNK_PIECES || type == SBT_CHUNK_TRAILER;
}

/* ---- file header ---- */

void sbt_file_header_put(uint8_t out[SBT_FILE_HEADER_SIZE], const struct sbt_file_header *h)
{
    memset(out, 0, SBT_FILE_HEADER_SIZE);
    memcpy(out, sbt_file_magic, 8);
    tsm_put_u16(out + 8, h->major);
    tsm_put_u16(out + 10, h->minor);
    tsm_put_u32(out + 12, h->length);
    tsm_put_u64(out + 16, h->required_features);
    tsm_put_u64(out + 24, h->optional_features);
    memcpy(out + 32, h->session, 16);
    tsm_put_u64(out + 56, tsm_hash64(out, 56));
}

void sbt_file_header_get(struct sbt_file_header *h, const uint8_t in[SBT_FILE_HEADER_SIZE])
{
    h->major = tsm_get_u16(in + 8);
    h->minor = tsm_get_u16(in + 10);
    h->length = tsm_get_u32(in + 12);
    h->required_features = tsm_get_u64(in + 16);
    h->optional_features = tsm_get_u64(in + 24);
    memcpy(h->session, in + 32, 16);
}

/* ---- chunk header ---- */

void sbt_chunk_put(uint8_t out[SBT_CHUNK_HEADER_SIZE], const struct sbt_chunk *c)
{
    memcpy(out, sbt_chunk_magic, 8);
    tsm_put_u16(out + 8, c->type);
    out[10] = c->flags;
    out[11] = c->codec;
    tsm_put_u32(out + 12, c->number);
    tsm_put_u32(out + 16, c->session);
    tsm_put_u32(out + 20, c->stream_end);
    tsm_put_u32(out + 24, c->count);
    tsm_put_u32(out + 28, c->raw_size);
    tsm_put_u32(out + 32, c->stored_size);
    tsm_put_u32(out + 36, c->reserved);
    tsm_put_u64(out + 40, c->first_seq);
    tsm_put_u64(out + 48, c->last_seq);
    tsm_put_u64(out + 56, c->first_time);
    tsm_put_u64(out + 64, c->last_time);
    tsm_put_u64(out + 72, c->stream_set);
    tsm_put_u64(out + 80, c->payload_hash);
    tsm_put_u64(out + 88, tsm_hash64(out, 88));
}

static bool chunk_is_sane(const struct sbt_chunk *c)
{
    if (c->raw_size > SBT_CHUNK_RAW_MAX || c->stored_size > SBT_CHUNK_RAW_MAX ||
        c->number > SBT_CHUNK_NUMBER_MAX)
        return false;
    if (c->codec == SBT_CODEC_RAW && c->raw_size != c->stored_size)
        return false;
    if (sbt_chunk_is_table(c->type) &&
        c->raw_size >
            (uint64_t)SBT_TABLE_RATIO_MAX * ((uint64_t)c->stored_size + SBT_CHUNK_HEADER_SIZE))
        return false;
    /* A reader of BLOBS keeps the list of pieces, whose keys no writer can compress. */
    if (c->type == SBT_CHUNK_BLOBS &&
        (uint64_t)c->count * SBT_PIECE_ENTRY_SIZE >
            (uint64_t)SBT_TABLE_RATIO_MAX * (c->stored_size + SBT_CHUNK_HEADER_SIZE))
        return false;
    if (c->type == SBT_CHUNK_VOID)
        return c->codec == SBT_CODEC_RAW && c->first_seq <= c->last_seq &&
               c->count <= c->number + 1;
    if (c->type == SBT_CHUNK_EVENTS)
        return c->count > 0 && c->last_seq >= c->first_seq &&
               c->last_seq - c->first_seq == c->count - 1 && c->first_time <= c->last_time;
    return true;
}

bool sbt_chunk_get_summary(struct sbt_chunk *c, const uint8_t in[SBT_CHUNK_SUMMARY_SIZE])
{
    *c = (struct sbt_chunk){
        .type = tsm_get_u16(in),
        .flags = in[2],
        .codec = in[3],
        .number = tsm_get_u32(in + 4),
        .session = tsm_get_u32(in + 8),
        .stream_end = tsm_get_u32(in + 12),
        .count = tsm_get_u32(in + 16),
        .raw_size = tsm_get_u32(in + 20),
        .stored_size = tsm_get_u32(in + 24),
        .reserved = tsm_get_u32(in + 28),
        .first_seq = tsm_get_u64(in + 32),
        .last_seq = tsm_get_u64(in + 40),
        .first_time = tsm_get_u64(in + 48),
        .last_time = tsm_get_u64(in + 56),
        .stream_set = tsm_get_u64(in + 64),
        .payload_hash = tsm_get_u64(in + 72),
    };
    return chunk_is_sane(c);
}

bool sbt_chunk_get(struct sbt_chunk *c, const uint8_t in[SBT_CHUNK_HEADER_SIZE])
{
    if (memcmp(in, sbt_chunk_magic, 8) != 0 || tsm_get_u64(in + 88) != tsm_hash64(in, 88))
        return false;
    return sbt_chunk_get_summary(c, in + SBT_CHUNK_SUMMARY_AT);
}

bool sbt_chunk_is(const struct sbt_chunk *c, const uint8_t header[SBT_CHUNK_HEADER_SIZE])
{
    uint8_t expected[SBT_CHUNK_HEADER_SIZE];

    sbt_chunk_put(expected, c);
    return memcmp(expected, header, sizeof(expected)) == 0;
}

/* ---- how much there is in it ---- */

static bool is_patient;

void sbt_reader_be_patient(bool patient)
{
    is_patient = patient;
}

uint64_t sbt_chunk_unpacked(const struct sbt_chunk *c)
{
    return c->raw_size + (c->type == SBT_CHUNK_EVENTS ? (uint64_t)SBT_ROW_FIXED * c->count : 0);
}

int sbt_unpacked_check(const char *name, uint64_t unpacked, uint64_t size)
{
    if (is_patient || unpacked <= SBT_UNPACKED_FREE + SBT_UNPACKED_RATIO * size)
        return 0;
    return tsm_fail(TSM_E_LIMIT,
                    "%s: its %llu bytes unpack to %llu or more, as no recorder writes them; "
                    "--patient reads it nevertheless",
                    name, (unsigned long long)size, (unsigned long long)unpacked);
}

int sbt_unpacked_add(struct sbt_unpacked_sum *sum, const char *name, const struct sbt_chunk *c,
                     uint64_t size)
{
    sum->bytes += sbt_chunk_unpacked(c);
    sum->records += c->type == SBT_CHUNK_EVENTS ? c->count : 0;
    if (is_patient || sum->records <= SBT_RECORDS_FREE + SBT_RECORDS_RATIO * size)
        return sbt_unpacked_check(name, sum->bytes, size);
    return tsm_fail(
        TSM_E_LIMIT,
        "%s: its %llu bytes unpack to %llu records or more, as no recorder writes them; "
        "--patient reads it nevertheless",
        name, (unsigned long long)size, (unsigned long long)sum->records);
}

/* ---- rules ---- */

static bool has_wrong_flags(const struct sbt_chunk *c, bool is_ours, bool has_compact)
{
    const unsigned known = SBT_CHUNK_CRITICAL | SBT_CHUNK_NOTABLE | SBT_CHUNK_COMPACT;

    if (is_ours && (c->flags & ~known))
        return true;
    if ((c->flags & SBT_CHUNK_NOTABLE) && c->type != SBT_CHUNK_EVENTS && c->type != SBT_CHUNK_VOID)
        return true;
    return (c->flags & SBT_CHUNK_COMPACT) && (c->type != SBT_CHUNK_EVENTS || !has_compact);
}

static bool has_wrong_codec(const struct sbt_chunk *c, bool has_compact)
{
    if (c->codec == SBT_CODEC_ZSTD_PAIRS)
        return c->type != SBT_CHUNK_BLOBS || !has_compact;
    return c->codec > SBT_CODEC_ZSTD_PAIRS || (c->type == SBT_CHUNK_TRAILER && c->codec);
}

static bool has_wrong_ranges(const struct sbt_chunk *c)
{
    bool has_ids =
        c->type == SBT_CHUNK_STRINGS || c->type == SBT_CHUNK_STACKS || c->type == SBT_CHUNK_VOID;

    return c->type < SBT_CHUNK_TYPE_END && c->type != SBT_CHUNK_EVENTS &&
           ((!has_ids && (c->first_seq | c->last_seq)) || c->first_time || c->last_time ||
            c->stream_set || c->stream_end);
}

bool sbt_chunk_breaks_rule(const struct sbt_chunk *c, unsigned minor, bool has_compact, char *text,
                           size_t size)
{
    bool is_ours = minor == 0; /* a later minor version may use what we leave at 0 */
    const char *name = sbt_chunk_type_name(c->type);

    if (c->type == 0 || (c->type >= SBT_CHUNK_TYPE_END && is_ours))
        tsm_format(text, size, "chunk type %u is not of this version", c->type);
    else if (c->type < SBT_CHUNK_VOID && !(c->flags & SBT_CHUNK_CRITICAL))
        tsm_format(text, size, "a %s chunk is not marked critical", name);
    else if (has_wrong_flags(c, is_ours, has_compact))
        tsm_format(text, size, "the chunk has flags %#x", c->flags);
    else if (is_ours && c->reserved)
        tsm_format(text, size, "reserved bytes of the chunk header are not zero");
    else if (has_wrong_codec(c, has_compact))
        tsm_format(text, size, "the chunk has codec %u", c->codec);
    else if (is_ours && has_wrong_ranges(c))
        tsm_format(text, size, "a %s chunk has ranges or streams", name);
    else
        return false;
    return true;
}

/* ---- trailer ---- */

void sbt_trailer_put(uint8_t out[SBT_TRAILER_SIZE], const struct sbt_trailer *t)
{
    memset(out, 0, SBT_TRAILER_SIZE);
    tsm_put_u32(out, t->end);
    tsm_put_u32(out + 4, t->chunk_count);
    tsm_put_u64(out + 8, t->totals.record_count);
    tsm_put_u64(out + 16, t->totals.lost_count);
    tsm_put_u64(out + 24, t->totals.filtered_count);
    tsm_put_u64(out + 32, t->totals.tainted_count);
    tsm_put_u32(out + 40, t->totals.stream_count);
    tsm_put_u32(out + 44, t->root_size);
    tsm_put_u64(out + 48, t->root_offset);
    tsm_put_u64(out + 56, t->session_size);
    tsm_put_u32(out + 116, SBT_TRAILER_CHUNK_SIZE);
    memcpy(out + 120, sbt_end_magic, 8);
}

void sbt_trailer_get(struct sbt_trailer *t, const uint8_t in[SBT_TRAILER_SIZE])
{
    *t = (struct sbt_trailer){
        .end = tsm_get_u32(in),
        .chunk_count = tsm_get_u32(in + 4),
        .totals = {.record_count = tsm_get_u64(in + 8),
                   .lost_count = tsm_get_u64(in + 16),
                   .filtered_count = tsm_get_u64(in + 24),
                   .tainted_count = tsm_get_u64(in + 32),
                   .stream_count = tsm_get_u32(in + 40)},
        .root_size = tsm_get_u32(in + 44),
        .root_offset = tsm_get_u64(in + 48),
        .session_size = tsm_get_u64(in + 56),
    };
}

/* ---- packing ---- */

void sbt_packer_finish(struct sbt_packer *p)
{
    ZSTD_freeCCtx(p->compress);
    ZSTD_freeDCtx(p->decompress);
    tsm_buffer_finish(&p->pairs);
    *p = (struct sbt_packer){0};
}

/* ---- pairs: numbers of 16 bits, taken apart ---- */

static void split_pairs(uint8_t *out, const uint8_t *in, size_t size)
{
    uint8_t *odd = out + (size + 1) / 2;

    for (size_t i = 0; i < size / 2; i++) {
        out[i] = in[2 * i];
        odd[i] = in[2 * i + 1];
    }
    if (size & 1)
        out[size / 2] = in[size - 1];
}

static void join_pairs(uint8_t *out, const uint8_t *in, size_t size)
{
    const uint8_t *odd = in + (size + 1) / 2;

    for (size_t i = 0; i < size / 2; i++) {
        out[2 * i] = in[i];
        out[2 * i + 1] = odd[i];
    }
    if (size & 1)
        out[size - 1] = in[size / 2];
}

#define SLICE_SIZE  8192u
#define SLICE_COUNT 4u
#define SAMPLE_SIZE (SLICE_SIZE * SLICE_COUNT)

#define BLOBS_GAIN_MIN 64u /* what is gained by less than this part of the bytes is no gain */

/* zstd has one set of codes for each 128 KiB: halves that share it gain nothing. */
#define PAIRS_MIN (256u << 10)

/* A few slices of a payload of PAIRS_MIN bytes or more. */
static void take_sample(uint8_t *out, const struct tsm_buffer *raw)
{
    for (size_t i = 0; i < SLICE_COUNT; i++) {
        size_t at = i * (raw->size - SLICE_SIZE) / (SLICE_COUNT - 1) & ~(size_t)1;
        memcpy(out + i * SLICE_SIZE, raw->data + at, SLICE_SIZE);
    }
}

static size_t sample_size(struct sbt_packer *p, int level, const uint8_t *sample, size_t size,
                          uint8_t *out, size_t capacity)
{
    size_t packed = ZSTD_compressCCtx(p->compress, out, capacity, sample, size, level);

    return ZSTD_isError(packed) ? size : packed;
}

/* Tests with a sample whether splitting pairs of bytes makes the payload smaller. The halves of
 * 16-bit floats are unlike each other: weights become a tenth smaller. Returns false without
 * memory, too. */
static bool pairs_pay(struct sbt_packer *p, int level, const struct tsm_buffer *raw)
{
    uint8_t *sample, *split, *out;
    size_t capacity = ZSTD_compressBound(SAMPLE_SIZE), half = SAMPLE_SIZE / 2, plain, apart;

    if (raw->size < PAIRS_MIN)
        return false;
    tsm_buffer_clear(&p->pairs);
    sample = tsm_buffer_reserve(&p->pairs, 2 * (size_t)SAMPLE_SIZE + capacity);
    if (!sample)
        return false;
    split = sample + SAMPLE_SIZE;
    out = split + SAMPLE_SIZE;
    take_sample(sample, raw);
    split_pairs(split, sample, SAMPLE_SIZE);
    plain = sample_size(p, level, sample, SAMPLE_SIZE, out, capacity);
    apart = sample_size(p, level, split, half, out, capacity) +
            sample_size(p, level, split + half, half, out, capacity);
    return apart + plain / 32 < plain;
}

/* The payload's pairs taken apart, in the packer's memory; NULL: there is none. */
static const uint8_t *split_payload(struct sbt_packer *p, const struct tsm_buffer *raw)
{
    uint8_t *split;

    tsm_buffer_clear(&p->pairs);
    split = tsm_buffer_reserve(&p->pairs, raw->size);
    if (split)
        split_pairs(split, raw->data, raw->size);
    return split;
}

/* Compressed size, or 0 when the bytes are to be stored as they are: a trailer, whose last bytes
 * are looked for, and what does not become smaller. */
static size_t compress(struct sbt_packer *p, struct sbt_chunk *c, int level,
                       const struct tsm_buffer *raw, uint8_t *out, size_t capacity)
{
    const uint8_t *split = NULL;
    size_t size;

    c->codec = SBT_CODEC_RAW;
    if (raw->size < 64 || c->type == SBT_CHUNK_TRAILER)
        return 0;
    if (c->type == SBT_CHUNK_BLOBS && pairs_pay(p, level, raw))
        split = split_payload(p, raw);
    size =
        ZSTD_compressCCtx(p->compress, out, capacity, split ? split : raw->data, raw->size, level);
    if (ZSTD_isError(size) || size >= raw->size)
        return 0;
    /* Pieces of a chunk that is stored as it is are read without the rest of it. */
    if (c->type == SBT_CHUNK_BLOBS && raw->size - size < raw->size / BLOBS_GAIN_MIN)
        return 0;
    if (sbt_chunk_is_table(c->type) &&
        raw->size > SBT_TABLE_RATIO_MAX * (size + SBT_CHUNK_HEADER_SIZE))
        return 0;
    c->codec = split ? SBT_CODEC_ZSTD_PAIRS : SBT_CODEC_ZSTD;
    return size;
}

int sbt_chunk_pack(struct sbt_packer *p, struct sbt_chunk *c, int level,
                   const struct tsm_buffer *raw, struct tsm_buffer *out)
{
    size_t capacity = ZSTD_compressBound(raw->size);
    uint8_t *at, *payload;
    size_t size;

    if (raw->failed)
        return tsm_fail(TSM_E_MEMORY, "out of memory for a chunk of the trace");
    if (raw->size > SBT_CHUNK_RAW_MAX)
        return tsm_fail(TSM_E_LIMIT, "a chunk of %zu bytes is over the limit of %u", raw->size,
                        SBT_CHUNK_RAW_MAX);
    if (!p->compress)
        p->compress = ZSTD_createCCtx();
    tsm_buffer_clear(out);
    at = tsm_buffer_reserve(out, SBT_CHUNK_HEADER_SIZE + capacity);
    if (!at || !p->compress)
        return tsm_fail(TSM_E_MEMORY, "out of memory for compressing a chunk of the trace");
    payload = at + SBT_CHUNK_HEADER_SIZE;
    size = compress(p, c, level, raw, payload, capacity);
    if (!size) {
        size = raw->size;
        if (size)
            memcpy(payload, raw->data, size);
    }
    c->raw_size = (uint32_t)raw->size;
    c->stored_size = (uint32_t)size;
    c->payload_hash = tsm_hash64(payload, size);
    sbt_chunk_put(at, c);
    out->size = SBT_CHUNK_HEADER_SIZE + size;
    return 0;
}

const char sbt_no_memory[] = "out of memory";

const char *sbt_chunk_unpack(struct sbt_packer *p, const struct sbt_chunk *c, const uint8_t *stored,
                             uint8_t *out)
{
    uint8_t *to = out;

    if (tsm_hash64(stored, c->stored_size) != c->payload_hash)
        return "the payload does not match its checksum";
    if (c->codec == SBT_CODEC_RAW) {
        memcpy(out, stored, c->raw_size);
        return NULL;
    }
    if (c->codec != SBT_CODEC_ZSTD && c->codec != SBT_CODEC_ZSTD_PAIRS)
        return "the payload has an unknown codec";
    /* The frame's own claim is compared first, so that a wrong one costs nothing. */
    if (ZSTD_getFrameContentSize(stored, c->stored_size) != c->raw_size ||
        ZSTD_findFrameCompressedSize(stored, c->stored_size) != c->stored_size)
        return "the payload is not one zstd frame of the stated size";
    if (!p->decompress)
        p->decompress = ZSTD_createDCtx();
    if (!p->decompress)
        return sbt_no_memory;
    if (c->codec == SBT_CODEC_ZSTD_PAIRS) {
        tsm_buffer_clear(&p->pairs);
        to = tsm_buffer_reserve(&p->pairs, c->raw_size);
        if (!to)
            return sbt_no_memory;
    }
    if (ZSTD_decompressDCtx(p->decompress, to, c->raw_size, stored, c->stored_size) != c->raw_size)
        return "the payload cannot be decompressed";
    if (to != out)
        join_pairs(out, to, c->raw_size);
    return NULL;
}
