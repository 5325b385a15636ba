/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel records among a trace's own, by time.
 */
#ifndef TOOLS_KERNEL_VIEW_H
#define TOOLS_KERNEL_VIEW_H

#include "tracesmith/reader.h"

struct tsm_kernel_view;

int tsm_kernel_view_create(struct tsm_kernel_view **out, struct sbt_reader *reader, bool json);
void tsm_kernel_view_destroy(struct tsm_kernel_view *view);

/* Print those before `time_ns` (after the session's start) that were not printed yet. `view` may be
 * NULL. */
void tsm_kernel_view_upto(struct tsm_kernel_view *view, uint64_t time_ns);

#endif
