/* SPDX-License-Identifier: Apache-2.0
 *
 * perf's files, perf.data, of tracepoints: perf record -a -k mono -e sched:sched_switch ...
 */
#ifndef ANALYSIS_CPU_PERF_DATA_H
#define ANALYSIS_CPU_PERF_DATA_H

#include "analysis/cpu/events.h"

/* `data` begins as such a file does. */
bool tsm_perf_data_is(const uint8_t *data, size_t size);

/* Its samples of tracepoints that we know. Little-endian files that were not written to a pipe, not
 * compressed. TSM_E_FORMAT: it ends early or contradicts itself; TSM_E_UNSUPPORTED: it lacks what is
 * needed. `events` then holds what was there before. */
int tsm_perf_data(struct tsm_cpu_events *events, const uint8_t *data, size_t size);

#endif
