/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages of the kernel's ring buffer, as trace_pipe_raw gives them and trace.dat keeps them.
 */
#ifndef ANALYSIS_CPU_FTRACE_PAGE_H
#define ANALYSIS_CPU_FTRACE_PAGE_H

#include "analysis/cpu/ftrace_format.h"

/* One page, little-endian, of a kernel with 64-bit longs. Events that were lost before it become
 * TSM_CPU_LOST. What makes no sense is counted as unread, and ends the page. */
int tsm_ftrace_page(struct tsm_cpu_events *events, const struct tsm_ftrace_formats *formats,
                    uint16_t cpu, const uint8_t *page, size_t size);

#endif
