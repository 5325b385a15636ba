/* SPDX-License-Identifier: Apache-2.0
 *
 * Carries a workload out on its machine: when each thread would have called, and when the device
 * would have begun and ended each part of a command, and what each of them waited for last.
 *
 * Virtual time: by the rules of docs/emu.md, exactly, for programs whose threads share no stream,
 * event and engine that is ever busy. Else times are those that the commands took, and threads take
 * between calls what they took.
 */
#ifndef ANALYSIS_SCHEDULE_SIMULATE_H
#define ANALYSIS_SCHEDULE_SIMULATE_H

#include "analysis/schedule/workload.h"

/* Reason for which something began when it did: the last of all that it waited for. */
enum tsm_prediction_bound {
    TSM_BOUND_START,   /* nothing: it is the first of its thread */
    TSM_BOUND_THREAD,  /* its thread: the call before it; of a part, the call that sent it */
    TSM_BOUND_STREAM,  /* what its stream was given before */
    TSM_BOUND_DEFAULT, /* a default stream, or what that waits for */
    TSM_BOUND_EVENT,
    TSM_BOUND_VALUE,  /* a value in memory, which that part brought */
    TSM_BOUND_HOST,   /* a value in memory that the program wrote before a call */
    TSM_BOUND_PARENT, /* a node of the same graph */
    TSM_BOUND_ENGINE, /* it was ready; what had the engine, or the last of the slots */
    TSM_BOUND_WAIT,   /* of a call: what it waited for */
    TSM_BOUND_COUNT
};

struct tsm_scheduled_part {
    uint64_t sent_ns, ready_ns, start_ns, end_ns;
    enum tsm_prediction_bound bound;
    uint32_t by; /* part; with THREAD and HOST: the step; else TSM_WORKLOAD_NONE */
    /* The same without ENGINE: what it waited for until it was ready. */
    enum tsm_prediction_bound waited_for;
    uint32_t waited_by;
    size_t
        first_before; /* in the schedule's list: parts that it waited for, if they were not over */
    uint32_t before_count;
    uint32_t brought_by; /* part that ended its wait for a value; TSM_WORKLOAD_NONE: none did */
    bool is_sent, is_done;
};

struct tsm_scheduled_step {
    uint64_t begin_ns;   /* the call begins */
    uint64_t end_ns;     /* ... and returns */
    uint32_t by;         /* part that it waited for last; TSM_WORKLOAD_NONE: it did not wait */
    size_t first_before; /* likewise */
    uint32_t before_count;
    uint64_t waited_ns; /* so long */
    bool is_begun, is_done;
};

struct tsm_prediction {
    struct tsm_scheduled_part *parts; /* by those of the workload */
    struct tsm_scheduled_step *steps;
    uint32_t
        *order; /* parts, and steps with TSM_PREDICTION_STEP, in the order in which they ended */
    size_t order_count;
    uint32_t *before;
    size_t before_count, before_capacity;
    uint64_t begin_ns, end_ns; /* from the first call to the last end */
    uint32_t last;             /* what ended then, as in `order` */
    bool is_stuck;             /* something waits for what never comes */
};

#define TSM_PREDICTION_STEP (1u << 31)

/* Finish it in any case. */
int tsm_prediction_make(struct tsm_prediction *out, const struct tsm_workload *w);
void tsm_prediction_finish(struct tsm_prediction *s);

/* Finds what threads did between and in calls that nothing in the trace says: gap_ns and cost_ns of
 * the steps. Call it once, before anything is changed. In virtual time all of it is 0, but for
 * calls that are not modelled and threads that learn of each other. */
int tsm_workload_calibrate(struct tsm_workload *w);

/* The part of it that simulates: notes what threads did in the workload. Without virtual time
 * commands have the times that were recorded. */
int tsm_prediction_learn(struct tsm_prediction *out, struct tsm_workload *w);

#endif
