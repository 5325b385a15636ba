/* SPDX-License-Identifier: Apache-2.0
 *
 * The pass over a trace that makes nodes of its records.
 */
#ifndef ANALYSIS_MODEL_PASS_H
#define ANALYSIS_MODEL_PASS_H

#include "analysis/model/node.h"
#include "analysis/model/programs.h"
#include "tracesmith/reader.h"

/* Times of commands that are not in the trace. */
struct tsm_model_times {
    void *user;
    /* Gives the next time of the command of record `seq`, whose place *out has: 1; 0: there is no
     * other one; or an error. Records come in ascending order; times of what is inside of a part
     * come before the part's. */
    int (*next)(void *user, uint64_t seq, struct tsm_command_time *out);
};

/* Functions that get nodes; each is optional. A result other than 0 ends the pass and is its
 * result. */
struct tsm_model_visitor {
    void *user;
    int (*call)(void *user, const struct tsm_call_node *call); /* in the order of the trace */
    int (*core)(void *user,
                const struct sbt_record *record); /* of the recorder's own, in it, too */
    int (*mark)(void *user, const struct tsm_mark_node *mark); /* in it, too */
    /* When its time is known, or will never be: in no certain order. */
    int (*command)(void *user, const struct tsm_command_node *command);
    /* Before the command that it is in. */
    int (*inner)(void *user, const struct tsm_inner_node *inner);
    int (*memory)(void *user, const struct tsm_memory_node *change);
    /* NULL: times are those of the trace. Else none of these counts, nor what calls tell. */
    const struct tsm_model_times *times;
    struct tsm_programs *programs; /* gets the names of inner nodes, which else end with the pass */
};

/* Returns the span that the fields of a GPU_TIME record say (docs/FORMAT.md 10). */
struct tsm_span tsm_span_of_time(uint64_t start_ns, uint64_t duration_ns, uint32_t flags,
                                 uint64_t error_ns);

/* Counts of the pass. */
struct tsm_model_counts {
    uint64_t record_count;
    uint64_t command_count; /* nodes of commands, or of parts of them */
    uint64_t order_count;   /* ... whose work is TSM_WORK_ORDER; of the others by kind of time: */
    uint64_t measured_count, derived_count, unknown_count;
    uint64_t inner_count; /* commands inside of command buffers, which are in none of these */
    uint64_t
        stray_time_count; /* times of commands that are not in the selection, or came too late */
    int64_t first_ns, last_ns; /* from the first call or command to the end of the last */
    uint64_t virtual_count;    /* commands in virtual time, of those measured ... */
    int64_t virtual_first_ns, virtual_last_ns; /* ... from the first to the end of the last */
};

/* Reads the records that `filter` selects (NULL: all). Times that lie behind the selection are
 * looked for, too, so that a command at its end has one; objects, labels and allocations are known
 * from the trace's beginning. Memory grows with objects, threads and names, not with records. `out`
 * may be NULL: then commands are not followed, unless the visitor asks for them.
 * Returns 0, the visitor's result, or a negative tsm_error. */
int tsm_model_pass(struct tsm_model_counts *out, struct sbt_reader *reader,
                   const struct sbt_filter *filter, const struct tsm_model_visitor *visitor);

#endif
