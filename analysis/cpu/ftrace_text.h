/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of the tracer's file `trace`, of `trace-cmd report`, and of `perf script`: they all say
 * thread, CPU, time, tracepoint, and its fields.
 */
#ifndef ANALYSIS_CPU_FTRACE_TEXT_H
#define ANALYSIS_CPU_FTRACE_TEXT_H

#include "analysis/cpu/events.h"

/* Lines that are none of these are counted as unread, comments left alone. TSM_E_FORMAT: not one line
 * is such. The text does not tell its clock. */
int tsm_ftrace_text(struct tsm_cpu_events *events, const uint8_t *data, size_t size);

#endif
