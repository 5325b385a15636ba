/* SPDX-License-Identifier: Apache-2.0
 *
 * A hang: the commands of a trace that never finished, what each of them waits for, and whether
 * they wait for each other in a circle. A wait for a value in memory waits for the writes of values
 * that were sent and have not finished, any of which would end it; that a kernel, a copy or the
 * program writes the value is not followed.
 */
#ifndef ANALYSIS_SCHEDULE_HANG_H
#define ANALYSIS_SCHEDULE_HANG_H

#include "analysis/schedule/outcomes.h"
#include "api/values.h"

/* A command that has not finished. */
struct tsm_hang_node {
    uint32_t command; /* place in the workload */
    uint32_t next;    /* place of the node that it waits for; TSM_WORKLOAD_NONE: none */
    uint32_t cycle;   /* number of the cycle that it is in, from 1; 0: none */
    bool is_stuck;    /* all that could let it go on waits for it, or for others that are stuck */
    bool has_value;
    struct tsm_value_access value; /* that it waits for or writes */
    /* For a wait for a value: */
    uint32_t writer_count; /* writes that have not finished and would end it */
    bool is_cut;           /* there are too many to look at */
    uint32_t other; /* command that wrote another value there last; TSM_WORKLOAD_NONE: none */
};

/* A call of the host that had not returned. */
struct tsm_hung_call {
    uint64_t seq, call_ns;
    const struct sbt_schema *schema;
    uint32_t thread, stream;
};

struct tsm_hang {
    struct tsm_hang_node *nodes; /* by command */
    struct tsm_hung_call *calls;
    uint32_t
        *cycles; /* by number - 1: place of a node, which waits for another stream if any does */
    size_t node_count, call_count, call_capacity, cycle_count, cycle_capacity;
};

/* Reads the trace again. Finish it in any case. */
int tsm_hang_find(struct tsm_hang *out, const struct tsm_workload *w,
                  const struct tsm_outcomes *outcomes, struct sbt_reader *reader);
void tsm_hang_finish(struct tsm_hang *hang);

#endif
