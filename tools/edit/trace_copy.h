/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace that is made of records of another one, with all that these name and nothing else.
 */
#ifndef TOOLS_EDIT_TRACE_COPY_H
#define TOOLS_EDIT_TRACE_COPY_H

#include "tracesmith/reader.h"
#include "tracesmith/writer.h"

struct tsm_redact;

struct tsm_trace_copy {
    struct sbt_reader *reader;
    struct sbt_writer *writer;
    struct tsm_redact *redact; /* takes out what the copy is not to have; NULL: nothing */
    uint64_t skipped_count; /* records, and parts of records, that are not there or not described */
    uint64_t count;         /* records so far: the next one's number */
    const char **names;     /* of value tables, structs that were written; the reader's */
    size_t name_count, name_capacity;
    uint32_t *types; /* whose schemas were written */
    size_t type_count, type_capacity;
};

/* Creates `path`, which must not be there, with a session of its own, and the metadata of `reader`.
 * `redact` may be NULL. */
int tsm_trace_copy_begin(struct tsm_trace_copy *copy, struct sbt_reader *reader, const char *path,
                         struct tsm_redact *redact);

/* Copies a record, with a new number; times, threads, streams and positions stay. What it names and
 * the trace lacks becomes 0, none or zeros, and the record truncated; a record without description
 * is left out. Both are counted as skipped. */
int tsm_trace_copy_record(struct tsm_trace_copy *copy, const struct sbt_record *record);

/* Writes a core record that the other trace does not have; the caller has stored its bytes. */
int tsm_trace_copy_own(struct tsm_trace_copy *copy, struct sbt_record *record);

/* Returns how much of the records before `seq_end` (0: of all), and of what they name, could not be
 * read, and whether the trace's end is among it. Complete when all was copied. */
uint64_t tsm_trace_copy_missing(const struct tsm_trace_copy *copy, uint64_t seq_end, bool *end);

/* Writes the trailer, with what is missing before `seq_end` as a LOST record and the end that the
 * copy has by that. `error`: it failed before; given back. Frees all. */
int tsm_trace_copy_end(struct tsm_trace_copy *copy, uint64_t seq_end, int error);

#endif
