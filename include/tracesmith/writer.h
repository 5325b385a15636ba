/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a trace. Append-only: what was flushed is readable whatever happens next.
 *
 * Order of calls: create; metadata (at least once before the first record); then anything in any
 * order, a schema before the first record of its type, a string / stack / piece before the record
 * that names it; finish; destroy.
 *
 * Threads: one thread at a time calls in; compression runs on `threads` threads of the writer's own
 * (0: in the caller). Errors stick: after the first failure every call returns it again and the file
 * keeps its readable prefix.
 */
#ifndef TRACESMITH_WRITER_H
#define TRACESMITH_WRITER_H

#include "tracesmith/error.h"
#include "tracesmith/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sbt_writer;

struct sbt_writer_options {
    unsigned threads;       /* compression threads, at most 64 */
    int level;              /* zstd level; 0: fast (-1) for records, 1 for the rest */
    size_t chunk_size;      /* raw bytes of a command chunk; 0 means 1 MiB; at most 64 MiB */
    bool durable;           /* finish returns when the file is on the disk, as far as the system says */
    bool takes_contents;    /* a session with SBT_OPTIONAL_NO_CONTENTS is given records as they were
                               recorded: what structured values hold is taken out of them, too */
    bool append;            /* continue an existing trace (recovery): read on after its last whole
                               chunk, which is found by scanning. See sbt_writer_create. */
};

/* Create `path` (O_EXCL unless options->append) and write header and STREAM_INFO. `options` may be
 * NULL. The session is copied. The file is locked (flock) until it is closed.
 * append: a torn tail and any index and trailer at the end are cut off first, known pieces, strings,
 * stacks, schemas and structs are loaded, `session` is ignored. TSM_E_STATE: another process
 * has it locked, and writes it. Destroyed without finish, a trace that was whole gets
 * its end back. */
int sbt_writer_create(struct sbt_writer **out, const char *path,
                      const struct sbt_session *session, const struct sbt_writer_options *options);

/* Like create, on a descriptor that the writer owns from now on (also on failure). */
int sbt_writer_create_fd(struct sbt_writer **out, int fd, const struct sbt_session *session,
                         const struct sbt_writer_options *options);

/* Frees everything; without finish the file stays without trailer. NULL is fine. */
void sbt_writer_destroy(struct sbt_writer *w);

/* A fact about host, process, APIs, devices, drivers, settings; UTF-8, e.g. "process.pid" = "4711".
 * A later value for the same name replaces the earlier one for readers. */
int sbt_writer_metadata(struct sbt_writer *w, const char *name, const char *value);

int sbt_writer_schema(struct sbt_writer *w, const struct sbt_schema *schema);
int sbt_writer_enum(struct sbt_writer *w, const struct sbt_enum *table);

/* Declares the layout of values of a STRUCT field or member, before the first record with such a
 * value. Names and ids are used once; a struct may come before the structs that its members name.
 * The same content again is ignored; other content is TSM_E_ARGUMENT. */
int sbt_writer_struct(struct sbt_writer *w, const struct sbt_struct *structure);

/* Ids are the caller's: > 0, each used once. A repeated id with the same content is ignored. */
int sbt_writer_string(struct sbt_writer *w, uint32_t id, const char *text, size_t size);
int sbt_writer_stack(struct sbt_writer *w, uint32_t id, const uint64_t *frames, uint32_t count);

int sbt_writer_mapping(struct sbt_writer *w, const struct sbt_mapping *mapping);

/* Store the bytes that `key` names, unless they are stored already, or the session is to have none
 * (SBT_OPTIONAL_NO_CONTENTS). size <= SBT_PIECE_SIZE.
 * The key is trusted (the hash was made on the way in). */
int sbt_writer_piece(struct sbt_writer *w, const struct sbt_key *key, const void *data,
                     size_t size);

/* For callers that have whole bytes: cut, hash, store, and append the encoded reference to `out`
 * (SBT_BLOB_ENCODED_SIZE(size) bytes). */
int sbt_writer_blob(struct sbt_writer *w, const void *data, uint64_t size, uint8_t *out);

/* record->seq must be the number of records written so far. The content is copied. After a
 * CHECKPOINT_END everything so far, and what lets a reader find the checkpoint, goes to the file. */
int sbt_writer_record(struct sbt_writer *w, const struct sbt_record *record);

/* Adds records of the kernel module: `size` bytes as in kernel/include/grtrace.h, in order of gseq,
 * at most 64 MiB. They become one chunk; 1 MiB at a time is a good size. */
int sbt_writer_kernel_events(struct sbt_writer *w, const void *records, size_t size);

/* From now on compress in the caller (true), whatever options->threads says, or in those threads
 * (false, as at first). Several threads are faster; one costs less CPU, because nothing moves between
 * cores. */
void sbt_writer_alone(struct sbt_writer *w, bool alone);

/* How many threads of its own there are: as asked for, or fewer where they could not be started. */
unsigned sbt_writer_threads(const struct sbt_writer *w);

/* Records and bytes handed over so far reach the file (write(2), not fsync). */
int sbt_writer_flush(struct sbt_writer *w);

/* Flush, write index and trailer, close the file. lost_count and filtered_count are those of `totals`,
 * or what the records say if that is more; the rest is counted by the writer. */
int sbt_writer_finish(struct sbt_writer *w, const struct sbt_totals *totals, enum sbt_end end);

/* Tells how many records the trace ought to have and has not: a LOST record at its end will say so.
 * For an appended trace this replaces what the file itself says: what was cut off is written as lost
 * when it is finished, and its end is SBT_END_CUT if more may be missing. */
void sbt_writer_lost(struct sbt_writer *w, uint64_t count);

/* Records in the trace so far, those found by append included. */
uint64_t sbt_writer_record_count(const struct sbt_writer *w);

/* Returns the shape of records of a declared type: the number of fields, and in *blobs a bit for
 * each field that is a BLOB. TSM_E_NOT_FOUND when the type has no schema. */
int sbt_writer_shape(const struct sbt_writer *w, uint32_t type, uint64_t *blobs);

/* Bytes in the file so far. */
uint64_t sbt_writer_size(const struct sbt_writer *w);

#ifdef __cplusplus
}
#endif
#endif
