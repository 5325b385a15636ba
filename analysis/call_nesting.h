/* SPDX-License-Identifier: Apache-2.0
 *
 * Which call of the program a record comes from, where one API is made of another: HIP of HSA. A HIP
 * call's record began before the records of what it made and ended after them, on the same thread.
 *
 * What another thread sends for a call (a worker of the library) is not known to be its.
 */
#ifndef ANALYSIS_CALL_NESTING_H
#define ANALYSIS_CALL_NESTING_H

#include "tracesmith/reader.h"

struct tsm_call_nesting;

/* *out is NULL where the trace has no HIP calls. Reads all records once and keeps 40 bytes of each HIP
 * call. 0, or the reader's error. */
int tsm_call_nesting_create(struct tsm_call_nesting **out, struct sbt_reader *reader);
void tsm_call_nesting_destroy(struct tsm_call_nesting *nest);

/* Finds the innermost HIP call that made `record`: its number and type. Returns false if none is
 * known. */
bool tsm_call_nesting_parent(const struct tsm_call_nesting *nest, const struct sbt_record *record, uint64_t *seq,
                     uint32_t *type);

/* Finds it for one record, by its number, without a nest: searches the records after it, ten
 * thousand at most. */
bool tsm_call_nesting_find(struct sbt_reader *reader, uint64_t record_seq, uint64_t *seq, uint32_t *type);

#endif
