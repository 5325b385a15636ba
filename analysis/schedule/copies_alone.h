/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies that no kernel overlapped: the time in which a device carried out copies, and no kernel
 * although one had arrived there and had not begun. It waited for the copy, for something else, or
 * for nothing that the trace knows.
 */
#ifndef ANALYSIS_SCHEDULE_COPIES_ALONE_H
#define ANALYSIS_SCHEDULE_COPIES_ALONE_H

#include "analysis/schedule/simulate.h"

struct tsm_copies_alone {
    uint64_t total_ns;
    uint64_t longest_ns;
    uint32_t longest; /* part: the copy that had begun last then; or NONE */
};

/* Sums up such times of a device, by its place. */
int tsm_copies_alone_find(struct tsm_copies_alone *out, const struct tsm_workload *w,
                          const struct tsm_prediction *s, uint32_t device);

#endif
