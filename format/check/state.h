/* SPDX-License-Identifier: Apache-2.0
 *
 * State of sbt_check() while it walks through a file. Private to format/check/.
 */
#ifndef FORMAT_CHECK_STATE_H
#define FORMAT_CHECK_STATE_H

#include "base/buffer.h"
#include "base/map.h"
#include "format/chunk/chunk.h"
#include "format/keyset.h"
#include "format/values/structs.h"
#include "tracesmith/reader.h"

#define SBT_CHECK_REPORTED_MAX 1000 /* further violations are counted only */

/* Rules for the records of one type. */
struct sbt_check_schema {
    uint32_t flags, field_count;
    uint64_t strings, bytes, blobs, structs; /* bit i: slot i is one */
    size_t details; /* place of the names of its structs, in checker->details */
};

/* A value that lies in a blob: it is checked after all chunks. */
struct sbt_check_kept {
    uint64_t offset, seq;
    uint32_t slot;
    size_t name; /* in checker->details */
};

struct sbt_checker {
    void (*report)(void *user, uint64_t offset, const char *text);
    void *user;
    void (*progress)(uint64_t done, uint64_t total); /* NULL: nobody asks */
    int count;

    struct sbt_source source;
    const char *name;
    uint64_t size;
    struct sbt_packer packer;

    struct sbt_file_header header;
    bool has_no_header; /* it is damaged: STREAM_INFO repeats it */
    uint64_t offset;    /* of the chunk at hand */
    struct sbt_unpacked_sum unpacked; /* what the chunks so far came to */
    uint64_t
        rows_size; /* what the records so far came to: their slots, too, which no header tells */
    struct sbt_chunk head;
    uint8_t *payload;
    uint32_t next_number;
    uint64_t next_seq;
    struct sbt_totals totals;

    struct tsm_map strings, stacks, enums, types; /* types: place + 1 in schemas */
    struct tsm_buffer schemas;                    /* struct sbt_check_schema[] */
    size_t last_place;                            /* of the last record's schema + 1; 0: none */
    uint32_t last_type;
    struct tsm_buffer details; /* names, each with its terminator */
    struct sbt_structs structs;
    struct tsm_buffer kept;   /* void *[]: what structs point to */
    struct tsm_buffer values; /* struct sbt_check_kept[] */
    struct sbt_keyset pieces;
    struct sbt_reader *twins;   /* finds the first piece of a key; NULL: not needed yet */
    bool has_no_twins;          /* it cannot be opened */
    struct tsm_map piece_lists; /* number of a BLOBS chunk -> hash of its list of pieces */
    struct tsm_map listed;      /* those that a PIECES chunk has listed */

    struct sbt_checkpoint last_end; /* the last record, if it is a CHECKPOINT_END */
    bool has_last_end;

    struct tsm_buffer chunks; /* index entries of all chunks so far */
    struct tsm_buffer leaves; /* index entries of the leaves since the start */
    uint64_t root_offset;     /* of the last root; 0 none */
    struct sbt_chunk root;
    bool ended;          /* the trailer was seen */
    uint64_t void_count; /* chunks that a repair found to be damaged: what they held is excused */
    uint64_t void_records;
    uint64_t damaged_count;   /* chunks that cannot be read, holes between chunks */
    uint64_t damaged_offset;  /* of the first */
    uint64_t following_count; /* rules that are broken because of that */
};

void sbt_check_say(struct sbt_checker *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Says what damage at the offset at hand breaks. */
void sbt_check_say_damaged(struct sbt_checker *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Says that something is not what others name or count; after damage, which explains it, only
 * counts. */
#define sbt_check_say_following(c, ...)                                                            \
    ((c)->damaged_count ? (void)(c)->following_count++ : sbt_check_say((c), __VA_ARGS__))

/* Says that something is missing, unless a repair has noted that something is lost. */
#define sbt_check_say_missing(c, ...)                                                              \
    ((c)->void_count ? (void)0 : sbt_check_say_following((c), __VA_ARGS__))

/* Tests whether the session has feature 1. */
bool sbt_check_is_compact(const struct sbt_checker *c);

/* Check the payload of the current chunk. Return 0, or an error that ends the check. */
int sbt_check_content(struct sbt_checker *c);
int sbt_check_events(struct sbt_checker *c);
int sbt_check_kept_values(struct sbt_checker *c);
int sbt_check_index(struct sbt_checker *c);
int sbt_check_trailer(struct sbt_checker *c);

#endif
