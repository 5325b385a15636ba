/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums over ring jobs: per ring, engine, or context; histograms; what recording itself cost.
 */
#ifndef TOOLS_KERNEL_GROUPS_H
#define TOOLS_KERNEL_GROUPS_H

#include "analysis/ring/jobs.h"
#include "base/buffer.h"
#include "base/map.h"
#include "tools/kernel/report.h"

#define TSM_GROUP_BUCKETS 40 /* i: below 2^i ns and not below 2^(i-1); the last takes the rest */

struct tsm_group_span {
    uint64_t count, sum_ns, max_ns;
    uint64_t buckets[TSM_GROUP_BUCKETS];
};

struct tsm_group {
    uint64_t key; /* ring, engine or context */
    uint64_t jobs, failed, preempted;
    struct tsm_group_span spans[TSM_SPAN_COUNT];
};

/* Zeroed but for `by`. */
struct tsm_groups {
    int by;                   /* enum tsm_report_by */
    struct tsm_buffer groups; /* struct tsm_group, in order of appearance */
    struct tsm_map places;
};

int tsm_groups_add(struct tsm_groups *groups, const struct tsm_ring_job *job);
void tsm_groups_print(const struct tsm_groups *groups, const struct tsm_ring_jobs *jobs,
                      const struct tsm_report_values *values);
void tsm_groups_finish(struct tsm_groups *groups);

/* Rates of records and losses, and the module's own statistics at the end of the session. */
void tsm_groups_overhead(const struct tsm_ring_jobs *jobs, const struct sbt_reader *reader);

#endif
