/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of a trace file that have a fixed layout: file header, chunk header, trailer. And
 * packing: raw payload <-> stored payload. docs/FORMAT.md sections 3, 4 and 12.
 */
#ifndef FORMAT_CHUNK_H
#define FORMAT_CHUNK_H

#include "base/buffer.h"
#include "tracesmith/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Pinned: append only, never reuse. */
enum sbt_chunk_type {
    SBT_CHUNK_STREAM_INFO = 1,
    SBT_CHUNK_METADATA = 2,
    SBT_CHUNK_SCHEMA = 3,
    SBT_CHUNK_ENUMS = 4,
    SBT_CHUNK_STRINGS = 5,
    SBT_CHUNK_STACKS = 6,
    SBT_CHUNK_MAPPINGS = 7,
    SBT_CHUNK_EVENTS = 8,
    SBT_CHUNK_BLOBS = 9,
    SBT_CHUNK_CODE = 10,          /* reserved */
    SBT_CHUNK_KERNEL_EVENTS = 11,
    SBT_CHUNK_CHECKPOINT = 12,
    SBT_CHUNK_INDEX = 13,
    SBT_CHUNK_TRAILER = 14,
    SBT_CHUNK_PIECES = 15,
    SBT_CHUNK_STRUCTS = 16,
    SBT_CHUNK_VOID = 17, /* what a repair found to be damaged; not critical */
    SBT_CHUNK_TYPE_END
};

/* "EVENTS" etc., "unknown" for others. */
const char *sbt_chunk_type_name(uint32_t type);

/* True for chunks whose content a reader keeps in memory: their compression ratio is limited. */
bool sbt_chunk_is_table(uint32_t type);

/* True for INDEX, PIECES and TRAILER: what they say is found in the other chunks, too. */
bool sbt_chunk_is_index(uint32_t type);

enum sbt_codec {
    SBT_CODEC_RAW = 0,
    SBT_CODEC_ZSTD = 1,
    SBT_CODEC_ZSTD_PAIRS = 2, /* the payload's first, third, fifth ... bytes, then the others */
};

/* flags of a chunk */
#define SBT_CHUNK_CRITICAL 1u /* a reader that does not know the type must refuse the trace */
#define SBT_CHUNK_NOTABLE  2u /* EVENTS: holds LOST, FILTERED or tainting records */
                              /* VOID: something was lost */
#define SBT_CHUNK_COMPACT  4u /* EVENTS: docs/FORMAT.md 7.4 */

#define SBT_FEATURES_KNOWN SBT_FEATURE_COMPACT

#define SBT_MAGIC_SIZE         8u
#define SBT_FILE_HEADER_SIZE   64u
#define SBT_CHUNK_HEADER_SIZE  96u
#define SBT_CHUNK_SUMMARY_AT   8u /* header bytes [8, 88) are what the index repeats */
#define SBT_CHUNK_SUMMARY_SIZE 80u
#define SBT_PIECE_ENTRY_SIZE   20u  /* key and size of a piece in BLOBS and PIECES */
#define SBT_TRAILER_SIZE       128u /* payload */
#define SBT_TRAILER_TAIL_SIZE  12u  /* u32 size of the trailer chunk, end magic */
#define SBT_TRAILER_CHUNK_SIZE (SBT_CHUNK_HEADER_SIZE + SBT_TRAILER_SIZE)

extern const uint8_t sbt_file_magic[SBT_MAGIC_SIZE];

/* Tests whether a file is a trace, or was to become one: it is empty, or begins with zeros, as a power loss
 * may leave it. */
bool sbt_file_is_trace(int fd);
extern const uint8_t sbt_chunk_magic[SBT_MAGIC_SIZE];
extern const uint8_t sbt_end_magic[SBT_MAGIC_SIZE];

struct sbt_file_header {
    uint16_t major, minor;
    uint32_t length;
    uint64_t required_features, optional_features;
    uint8_t session[16];
};

struct sbt_chunk {
    uint16_t type;
    uint8_t flags;
    uint8_t codec;
    uint32_t number;     /* place among the session's chunks, from 0 */
    uint32_t session;    /* first four bytes of the session id */
    uint32_t stream_end; /* highest stream number of a record + 1; 0 when on none */
    uint32_t count;      /* records, items or pieces */
    uint32_t raw_size;
    uint32_t stored_size;
    uint32_t reserved; /* 0, or what a later minor version put there */
    uint64_t first_seq, last_seq; /* STRINGS and STACKS: lowest and highest id */
    uint64_t first_time, last_time;
    uint64_t stream_set;
    uint64_t payload_hash;
};

struct sbt_trailer {
    uint32_t end; /* enum sbt_end */
    uint32_t chunk_count;
    struct sbt_totals totals;
    uint64_t root_offset;
    uint32_t root_size;    /* chunk header and stored payload */
    uint64_t session_size; /* from the first byte of the file header to the last of the trailer */
};

/* Tests for a VOID chunk between two chunks of which none is missing: it repeats the number before it. */
static inline bool sbt_chunk_has_no_number(const struct sbt_chunk *c)
{
    return c->type == SBT_CHUNK_VOID && c->count == 0;
}

/* The first number that the chunk stands for: a VOID chunk can stand for several. */
static inline uint32_t sbt_chunk_first_number(const struct sbt_chunk *c)
{
    return c->type == SBT_CHUNK_VOID ? c->number + 1 - c->count : c->number;
}

/* Bit of `stream` in a chunk's stream set. */
static inline uint64_t sbt_stream_bit(uint32_t stream)
{
    return stream == SBT_STREAM_NONE ? 1ull << 63 : 1ull << (stream % 63);
}

void sbt_file_header_put(uint8_t out[SBT_FILE_HEADER_SIZE], const struct sbt_file_header *h);

/* Reads the fixed part. Does not check the hash, which is at the end of `length` bytes. */
void sbt_file_header_get(struct sbt_file_header *h, const uint8_t in[SBT_FILE_HEADER_SIZE]);

void sbt_chunk_put(uint8_t out[SBT_CHUNK_HEADER_SIZE], const struct sbt_chunk *c);

/* False when magic or hash are wrong or a limit is exceeded. */
bool sbt_chunk_get(struct sbt_chunk *c, const uint8_t in[SBT_CHUNK_HEADER_SIZE]);

/* Tells whether `header` holds exactly this. */
bool sbt_chunk_is(const struct sbt_chunk *c, const uint8_t header[SBT_CHUNK_HEADER_SIZE]);

/* The 80 bytes that the index repeats. Get checks limits, as above. */
bool sbt_chunk_get_summary(struct sbt_chunk *c, const uint8_t in[SBT_CHUNK_SUMMARY_SIZE]);

void sbt_trailer_put(uint8_t out[SBT_TRAILER_SIZE], const struct sbt_trailer *t);
void sbt_trailer_get(struct sbt_trailer *t, const uint8_t in[SBT_TRAILER_SIZE]);

/* Compression state of one thread. A zeroed struct is valid. */
struct sbt_packer {
    void *compress;   /* ZSTD_CCtx */
    void *decompress; /* ZSTD_DCtx */
    struct tsm_buffer pairs; /* a payload taken apart, or a sample of it */
};

void sbt_packer_finish(struct sbt_packer *p);

/* Fill c->codec, raw_size, stored_size and payload_hash, and put header and stored payload into
 * `out`, ready for one write(). `raw` has at most SBT_CHUNK_RAW_MAX bytes. */
int sbt_chunk_pack(struct sbt_packer *p, struct sbt_chunk *c, int level,
                   const struct tsm_buffer *raw, struct tsm_buffer *out);

/* Returned in place of a description of damage when memory ran out. */
extern const char sbt_no_memory[];

/* Check the hash of `stored` (c->stored_size bytes) and decompress into out[c->raw_size].
 * Returns NULL, sbt_no_memory, or a constant sentence saying what is wrong. */
const char *sbt_chunk_unpack(struct sbt_packer *p, const struct sbt_chunk *c, const uint8_t *stored,
                             uint8_t *out);

/* Returns the bytes needed to unpack the chunk and decode its records, from its header alone. */
uint64_t sbt_chunk_unpacked(const struct sbt_chunk *c);

/* Tells whether so many bytes are more than a file of `size` bytes may unpack to, and describes the error. */
int sbt_unpacked_check(const char *name, uint64_t unpacked, uint64_t size);

/* Adds what a chunk unpacks to, and its records, to the sums, and tells whether a file of `size`
 * bytes may have so much. */
struct sbt_unpacked_sum {
    uint64_t bytes, records;
};
int sbt_unpacked_add(struct sbt_unpacked_sum *sum, const char *name, const struct sbt_chunk *c,
                     uint64_t size);

/* Tests whether a header breaks a rule that a writer of minor version `minor` has to keep, and says which. */
bool sbt_chunk_breaks_rule(const struct sbt_chunk *c, unsigned minor, bool has_compact, char *text,
                           size_t size);

#endif
