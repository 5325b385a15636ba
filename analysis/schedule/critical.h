/* SPDX-License-Identifier: Apache-2.0
 *
 * The critical path of a simulated schedule: the chain of work and waits that bounds its time, from
 * the last end back to the begin; how far everything else is from it; and what devices waited for
 * while they did nothing.
 */
#ifndef ANALYSIS_SCHEDULE_CRITICAL_H
#define ANALYSIS_SCHEDULE_CRITICAL_H

#include "analysis/schedule/simulate.h"

enum tsm_cause {
    TSM_CAUSE_WORK,       /* a part of a command ran */
    TSM_CAUSE_CALL,       /* the host was in a call */
    TSM_CAUSE_HOST,       /* the host did other things before a call */
    TSM_CAUSE_LATENCY,    /* from the call to the device */
    TSM_CAUSE_TURNAROUND, /* from one command of a stream to the next */
    TSM_CAUSE_ENGINE,     /* what had the engine ran, or ended */
    /* For loose commands alone (loose/critical.h): */
    TSM_CAUSE_WAIT,    /* the host was in a wait */
    TSM_CAUSE_QUEUE,   /* a command before it on its queue ran; nothing says that it had to wait */
    TSM_CAUSE_UNTIMED, /* a command that has no time may have run, or been waited for */
    TSM_CAUSE_UNFINISHED, /* the same, of one of which nothing says that it has finished */
    TSM_CAUSE_COUNT
};

/* A piece of the chain. Pieces of a path are next to each other in time, and cover it. */
struct tsm_critical_piece {
    enum tsm_cause cause;
    uint64_t begin_ns, end_ns;
    uint32_t part; /* of WORK, ENGINE, LATENCY and TURNAROUND; else TSM_WORKLOAD_NONE */
    uint32_t step; /* of CALL and HOST; else TSM_WORKLOAD_NONE */
};

struct tsm_critical_path {
    struct tsm_critical_piece *pieces; /* the last one first */
    size_t count, capacity;
};

/* The chain that ends with the last end. Finish it in any case. */
int tsm_critical_path_find(struct tsm_critical_path *out, const struct tsm_workload *w,
                           const struct tsm_prediction *s);
void tsm_critical_path_finish(struct tsm_critical_path *path);

/* Says for each time in which a device did nothing what it waited for: pieces as above, of the
 * chain that led to the part that began next. What comes behind the device's last part is the
 * host's. */
int tsm_critical_idle(struct tsm_critical_path *out, const struct tsm_workload *w,
                      const struct tsm_prediction *s, uint32_t device);

/* By how much each part (free() the list) could have ended later without a later end of all, if
 * nothing else changed; of calls likewise, behind the parts. */
int tsm_critical_slack(uint64_t **out, const struct tsm_workload *w,
                       const struct tsm_prediction *s);

#endif
