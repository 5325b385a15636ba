/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes of a workload, for what-if: each leaves all else as it was. Whether the program would
 * still compute the same is not asked here.
 */
#ifndef ANALYSIS_SCHEDULE_CHANGE_H
#define ANALYSIS_SCHEDULE_CHANGE_H

#include "analysis/schedule/workload.h"

/* Leaves a wait out: the host's (record `seq` is a call that waits or asks), a stream's for events,
 * or what a call that sends waits for (it returns at once). TSM_E_NOT_FOUND: the record is none of
 * these. */
int tsm_change_drop(struct tsm_workload *w, uint64_t seq);

/* Leaves all waits of the host out, and returns how many these are. */
size_t tsm_change_drop_all(struct tsm_workload *w);

/* Leaves out all waits of streams for events that are known to be over then (redundant in the graph
 * of dependencies). */
size_t tsm_change_drop_redundant(struct tsm_workload *w);

/* Makes kernels of this name (fnmatch pattern) take permille/1000 of their work. Returns how many
 * launches there are. */
size_t tsm_change_scale(struct tsm_workload *w, const char *kernel, uint64_t permille);

/* Gives a stream a priority: the lower the number, the earlier. TSM_E_NOT_FOUND: no such stream. */
int tsm_change_priority(struct tsm_workload *w, uint32_t stream, int32_t priority);

/* Sends commands that one thread sent to one stream one after the other, with nothing in between,
 * by one call, as a graph would. Returns how many calls are saved. */
size_t tsm_change_fuse(struct tsm_workload *w);

#endif
