/* SPDX-License-Identifier: Apache-2.0
 *
 * Pieces of a critical path, or of idle times, summed up by what they are: "kernel scale", "call of
 * a wait", "latency".
 */
#ifndef TOOLS_SCHEDULE_CAUSES_H
#define TOOLS_SCHEDULE_CAUSES_H

#include "analysis/schedule/critical.h"
#include "tools/text/table.h"

/* All pieces of one cause. */
struct tsm_cause_sum {
    enum tsm_cause cause;
    enum tsm_work work; /* of WORK, ENGINE and QUEUE; else OTHER */
    const char *name;   /* kernel or call; "": none */
    uint64_t total_ns, count;
    uint64_t longest_ns, longest_seq; /* of the longest piece: the record that it belongs to */
};

/* A zeroed struct is empty. */
struct tsm_cause_sums {
    struct tsm_cause_sum *list;
    size_t count, capacity;
};

/* Adds a sum of one piece. Returns 0 or a negative tsm_error. */
int tsm_cause_sums_add(struct tsm_cause_sums *sums, const struct tsm_cause_sum *one);
/* Joins sums of one cause, and puts the greatest first. */
void tsm_cause_sums_join(struct tsm_cause_sums *sums);

/* How much later a command could have ended. */
struct tsm_slack_row {
    uint64_t slack_ns, seq, start_ns, end_ns;
    uint32_t stream; /* number */
    const char *name;
};

/* Adds the columns of a table of causes. */
void tsm_cause_columns(struct tsm_table *t, bool has_gain);
/* Adds a row, but for its gain. `span_ns`: what shares are of. */
void tsm_cause_row(struct tsm_table *t, const struct tsm_cause_sum *sum, uint64_t span_ns);

/* Adds the columns of a table of slack, and a row. */
void tsm_slack_columns(struct tsm_table *t);
void tsm_slack_row(struct tsm_table *t, const struct tsm_slack_row *row);

/* Sums the pieces up, the greatest sum first. */
int tsm_cause_sums_make(struct tsm_cause_sums *out, const struct tsm_workload *w,
                        const struct tsm_critical_path *path);
void tsm_cause_sums_finish(struct tsm_cause_sums *sums);

/* "kernel", "copy", ..., "call", "host before", "latency", "turnaround", "busy engine"... */
const char *tsm_cause_name(const struct tsm_cause_sum *sum);

/* Writes how much earlier all would end without the cause into *gain_ns: its work takes no time,
 * its calls return at once, nothing is waited for in them. */
int tsm_cause_gain(uint64_t *gain_ns, const struct tsm_workload *w, const struct tsm_prediction *s,
                   const struct tsm_cause_sum *sum);

/* The record that a piece belongs to, and the call's name, or the kernel's. */
uint64_t tsm_piece_seq(const struct tsm_workload *w, const struct tsm_critical_piece *piece);
const char *tsm_piece_name(const struct tsm_workload *w, const struct tsm_critical_piece *piece);
const char *tsm_piece_cause(const struct tsm_workload *w, const struct tsm_critical_piece *piece);

#endif
