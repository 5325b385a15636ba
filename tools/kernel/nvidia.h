/* SPDX-License-Identifier: Apache-2.0
 *
 * NVIDIA's open kernel module: where its structs have what the eBPF programs read, and the report on
 * groups of channels (`grtrace nvidia`).
 */
#ifndef TOOLS_KERNEL_NVIDIA_H
#define TOOLS_KERNEL_NVIDIA_H

#include "analysis/ring/jobs.h"

struct grtrace_nvidia_layout;

/* Places of members from a file with lines "STRUCT.MEMBER OFFSET SIZE", in bytes; '#' begins a comment.
 * They count more than what the module says of itself. */
int tsm_nvidia_layout_read(const char *path);

/* Fills in the known layout: from the file, else from the module's types, if it has any. */
void tsm_nvidia_layout(struct grtrace_nvidia_layout *out);

/* The life of channel groups, event by event, and their sums. `format`: enum tsm_report_format. */
int tsm_nvidia_report(const struct tsm_ring_jobs *jobs, uint64_t start_ns, int format);

#endif
