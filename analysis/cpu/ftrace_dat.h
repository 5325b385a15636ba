/* SPDX-License-Identifier: Apache-2.0
 *
 * trace-cmd's files, versions 6 and 7 (trace-cmd.dat.v6(5), trace-cmd.dat.v7(5)).
 */
#ifndef ANALYSIS_CPU_FTRACE_DAT_H
#define ANALYSIS_CPU_FTRACE_DAT_H

#include "analysis/cpu/ftrace_format.h"

/* Tests whether `data` begins like such a file. */
bool tsm_ftrace_dat_is(const uint8_t *data, size_t size);

/* Reads the known events of all instances, in the file's order. Files of little-endian machines
 * with 64-bit longs; compressed with zstd or not. TSM_E_FORMAT: it ends early or contradicts
 * itself; `events` then holds what was there before. TSM_E_UNSUPPORTED: another machine,
 * compression or version. */
int tsm_ftrace_dat(struct tsm_cpu_events *events, const uint8_t *data, size_t size);

/* Reads the layouts of a file without events, as perf keeps one for its tracepoints. */
int tsm_ftrace_dat_formats(struct tsm_ftrace_formats *formats, const uint8_t *data, size_t size);

#endif
