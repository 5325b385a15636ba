/* SPDX-License-Identifier: Apache-2.0
 *
 * State of a writer. Private to format/write/.
 */
#ifndef FORMAT_WRITER_STATE_H
#define FORMAT_WRITER_STATE_H

#include "base/buffer.h"
#include "base/map.h"
#include "format/values/contents.h"
#include "format/chunk/index.h"
#include "format/keyset.h"
#include "format/write/queue.h"
#include "format/events/rows.h"
#include "format/chunk/table.h"
#include "tracesmith/writer.h"

/* Facts about a declared record type. */
struct sbt_writer_schema {
    uint32_t type;
    uint32_t flags;
    uint32_t field_count;
    uint64_t variable; /* bit i: slot i is BYTES, BLOB or STRUCT */
    uint64_t blobs;    /* bit i: slot i is BLOB */
    uint64_t structs;  /* bit i: slot i is STRUCT */
    uint64_t hash;     /* of the encoded item, to recognise a repetition */
};

#define SBT_RECENT_COUNT 16u

struct sbt_writer_recent {
    uint32_t type, number;
    bool used;
};

/* The tables in the order in which they are written before the records that need them. */
enum sbt_writer_table {
    SBT_TABLE_METADATA,
    SBT_TABLE_SCHEMA,
    SBT_TABLE_ENUMS,
    SBT_TABLE_STRINGS,
    SBT_TABLE_STACKS,
    SBT_TABLE_MAPPINGS,
    SBT_TABLE_STRUCTS,
    SBT_TABLE_COUNT
};

struct sbt_writer {
    struct sbt_queue queue;
    int error; /* sticky, of calls that fail outside the queue */
    char message[256];
    bool has_metadata, finished;
    bool compact;                  /* the session has SBT_FEATURE_COMPACT */
    bool has_no_contents;          /* ... SBT_OPTIONAL_NO_CONTENTS */
    struct tsm_buffer without;     /* a record's data, then */
    bool takes_contents;           /* options->takes_contents */
    struct sbt_contents *contents; /* ... and there are to be none; otherwise NULL */
    size_t chunk_size;
    uint32_t session; /* first four bytes of the id */
    uint32_t next_number;
    uint64_t next_seq;

    struct sbt_batch batch; /* records of the next EVENTS chunk */
    struct sbt_chunk span;  /* their flags, times, streams */
    uint32_t span_stream;   /* the stream that was added to it last */

    struct sbt_table tables[SBT_TABLE_COUNT];
    struct tsm_buffer blob_bytes;     /* payload of the next BLOBS chunk */
    struct tsm_buffer blob_directory; /* key and size of each piece in it */
    struct sbt_keyset pieces;         /* every key stored */

    struct tsm_map types;                              /* type -> number in schemas */
    struct sbt_writer_recent recent[SBT_RECENT_COUNT]; /* ... of types seen last */
    struct tsm_buffer schemas;                         /* struct sbt_writer_schema[] */
    struct tsm_map enums;                              /* hash of name -> hash of content */
    struct tsm_map structs;                            /* the same */
    struct tsm_map struct_ids;                         /* id -> hash of content */
    struct tsm_map strings;                            /* id -> hash of content */
    struct tsm_map stacks;

    struct sbt_index index;
    struct sbt_totals totals;

    uint64_t said_lost, said_filtered; /* by records that were added */
    bool is_durable;                   /* finish waits for the disk */
    uint64_t lost_count;       /* records that the trace had held, and that its repair cut off */
    uint64_t lost_first_ns;    /* ... none of them began earlier, as far as is known */
    bool is_cut;               /* ... and more, perhaps: nobody knows */
    struct tsm_buffer old_end; /* what was after the place where an append began */
    uint64_t old_end_offset;
};

/* Set up the state of a new writer; `fd` becomes its own. On failure the caller destroys `w`. */
int sbt_writer_init(struct sbt_writer *w, int fd, const char *path, uint64_t offset,
                    const struct sbt_writer_options *options);

/* Sets the session's features about contents. Call it before the first description. */
int sbt_writer_set_contents(struct sbt_writer *w, uint64_t optional_features);

/* Load what an existing trace holds and cut off its end: options->append. */
int sbt_writer_resume(struct sbt_writer **out, int fd, const char *path,
                      const struct sbt_writer_options *options);

/* ---- writer.c ---- */

/* Remember a failure after which nothing more may be written; returns `error`. */
int sbt_writer_stick(struct sbt_writer *w, int error);

/* 0 when the trace may be added to: no earlier failure, not finished, has metadata. */
int sbt_writer_check(struct sbt_writer *w);
int sbt_writer_check_begun(struct sbt_writer *w);

int sbt_writer_table_flush(struct sbt_writer *w, enum sbt_writer_table which);
int sbt_writer_blobs_flush(struct sbt_writer *w);

/* Writes everything pending as chunks, in the order in which records need them. */
int sbt_writer_flush_all(struct sbt_writer *w);

/* A CHECKPOINT_END was the last record: all that is pending, then a CHECKPOINT chunk. */
int sbt_writer_checkpoint(struct sbt_writer *w, const struct sbt_checkpoint *checkpoint);

/* A KERNEL_EVENTS chunk of `count` sound records. */
int sbt_writer_kernel_chunk(struct sbt_writer *w, const void *records, size_t size, uint32_t count);

/* An index leaf, if enough was written since the last one. */
int sbt_writer_leaf_if_due(struct sbt_writer *w);

/* ---- writer_end.c ---- */

/* Fills in the totals of lost and filtered records: what the records say, or `totals` if that is
 * more. Writes a LOST record of what a repair cut off; so it comes before the last flush. */
int sbt_writer_count_lost(struct sbt_writer *w, const struct sbt_totals *totals);

/* Starts to bring to the disk what is there, so that little is left to wait for at the end. */
void sbt_writer_push(const struct sbt_writer *w);

/* Closes the finished file, and waits for the disk if that was asked for. */
int sbt_writer_close(struct sbt_writer *w);

/* Makes the file what it was before an append that failed. */
void sbt_writer_put_back(struct sbt_writer *w);

/* ---- writer_tables.c ---- */

/* Note a declared schema; *known: it was before. An error when it was another one. */
int sbt_writer_schema_note(struct sbt_writer *w, const struct sbt_schema *schema, bool *known);

/* Note that a name or id is taken. *added: it was not before. An error when its content differs. */
int sbt_writer_note(struct sbt_writer *w, struct tsm_map *map, const char *what, uint64_t key,
                    uint64_t content, bool *added);
uint64_t sbt_writer_enum_hash(const struct sbt_enum *table);

/* Note a struct's name and id. *added: it was not there before. */
int sbt_writer_struct_note(struct sbt_writer *w, const struct sbt_struct *structure, bool *added);

#endif
