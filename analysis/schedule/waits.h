/* SPDX-License-Identifier: Apache-2.0
 *
 * Single waits of a schedule, of the host and of streams for events, and what each of them costs.
 */
#ifndef ANALYSIS_SCHEDULE_WAITS_H
#define ANALYSIS_SCHEDULE_WAITS_H

#include "analysis/schedule/simulate.h"

struct tsm_wait_cost {
    uint64_t seq;
    uint32_t step;
    uint64_t waited_ns; /* so long something stood still for it alone */
    uint64_t gain_ns;   /* so much earlier all would end without it */
};

struct tsm_wait_costs {
    struct tsm_wait_cost *list; /* the greatest gain first */
    size_t count;
    size_t all_count; /* of waits that cost something; `list` has those that waited longest */
};

#define TSM_WAIT_COSTS_MAX 64u

/* Finds waits that something stood still for, and simulates the schedule without each of those that
 * waited longest: TSM_WAIT_COSTS_MAX, fewer of a large workload. The workload is as it was
 * afterwards. Finish it in any case. */
int tsm_wait_costs_make(struct tsm_wait_costs *out, struct tsm_workload *w,
                        const struct tsm_prediction *s);
void tsm_wait_costs_finish(struct tsm_wait_costs *costs);

#endif
