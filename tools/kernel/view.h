/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel records among a trace's own, by time; and what became of each submit.
 */
#ifndef TOOLS_KERNEL_VIEW_H
#define TOOLS_KERNEL_VIEW_H

#include "tracesmith/reader.h"

struct tsm_kernel_view;

/* `host_log`: of QEMU, the guest's host (analysis/ring/host_fences.h); or NULL. */
int tsm_kernel_view_create(struct tsm_kernel_view **out, struct sbt_reader *reader,
                           const char *host_log, bool json);
void tsm_kernel_view_destroy(struct tsm_kernel_view *view);

/* Print those before `time_ns` (after the session's start) that were not printed yet. `view` may be
 * NULL. */
void tsm_kernel_view_upto(struct tsm_kernel_view *view, uint64_t time_ns);

/* Prints the job of a submit, on a line of its own. Call after each record that was printed. */
void tsm_kernel_view_job(struct tsm_kernel_view *view, uint64_t seq);

/* Notes on stderr how many submits have a job. Call at the end. */
void tsm_kernel_view_sum(const struct tsm_kernel_view *view);

#endif
