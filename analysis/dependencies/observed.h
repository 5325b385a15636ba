/* SPDX-License-Identifier: Apache-2.0
 *
 * Observed accesses: which memory commands have read and written, where the trace says so
 * (ACCESSES records, docs/FORMAT.md 10). Such a record comes some time after the command, so they
 * are collected before anything else is read.
 */
#ifndef ANALYSIS_DEPENDENCIES_OBSERVED_H
#define ANALYSIS_DEPENDENCIES_OBSERVED_H

#include "base/map.h"
#include "tracesmith/reader.h"

struct tsm_observed_range {
    uint64_t start, size;
    uint32_t flags; /* SBT_ACCESS_* */
};

/* A zeroed struct is empty. */
struct tsm_observed {
    struct tsm_observed_range *ranges; /* by command */
    size_t range_count, range_capacity;
    struct tsm_observed_command {
        size_t first, count;
    } * commands;
    size_t count, capacity;
    struct tsm_map places; /* of stream and position -> place + 1 */
};

/* Reads the whole trace, where it was recorded with them. Returns 0 or a negative tsm_error.
 * Finish it in any case. */
int tsm_observed_collect(struct tsm_observed *out, struct sbt_reader *reader);
void tsm_observed_finish(struct tsm_observed *o);

/* Returns the ranges of a command and their number; NULL: nothing is known of it. Not NULL where it
 * has accessed nothing. */
const struct tsm_observed_range *tsm_observed_find(const struct tsm_observed *o, uint32_t stream,
                                                   uint64_t position, size_t *count);

#endif
