/* SPDX-License-Identifier: Apache-2.0
 *
 * Failures: the calls that say first that commands have failed, and those whose own commands the
 * driver did not take. A command fails on the device some time after its call returned; a later
 * call says so by its result (tsm_result_says_failure()), and only that some command of what it
 * belongs to (a context, a logical device) has failed, not which one.
 */
#ifndef ANALYSIS_SCHEDULE_FAILURES_H
#define ANALYSIS_SCHEDULE_FAILURES_H

#include "analysis/model/node.h"
#include "base/map.h"
#include "tracesmith/reader.h"

/* A call that said first that a command of its context had failed. */
struct tsm_failure {
    uint64_t owner, seq, call_ns, told_ns; /* owner: key, as of streams */
    const struct sbt_schema *schema;
    const char *result;
    int64_t number;        /* of the result */
    uint32_t count, first; /* commands that may have failed, and the first of them */
};

/* A command that the driver did not take: it never ran. */
struct tsm_rejected {
    uint64_t seq, call_ns;
    const struct sbt_schema *schema;
    const char *result; /* NULL: its number says all */
    int64_t number;
    uint32_t stream; /* number */
};

/* A zeroed struct knows none. */
struct tsm_failures {
    struct tsm_failure *list; /* one of each context at most */
    struct tsm_rejected *rejected;
    size_t count, capacity, rejected_count, rejected_capacity;
    struct tsm_map places; /* owner -> place + 1 */
};

/* Notes a call that failed; calls come in the order of the trace. Returns 0 or a negative
 * tsm_error. */
int tsm_failures_note(struct tsm_failures *f, struct sbt_reader *reader,
                      const struct tsm_call_node *call);

/* Returns the failure of an owner, or NULL. */
struct tsm_failure *tsm_failures_find(const struct tsm_failures *f, uint64_t owner);

void tsm_failures_finish(struct tsm_failures *f);

#endif
