/* SPDX-License-Identifier: Apache-2.0
 *
 * CPU events, collected by eBPF while a program runs, into a trace of their own, which is then put
 * after the program's. A build without eBPF refuses to begin.
 */
#ifndef TOOLS_KERNEL_CPU_COLLECT_H
#define TOOLS_KERNEL_CPU_COLLECT_H

#include "kernel/include/cpu_events_bpf.h"

#include <stdbool.h>
#include <stddef.h>

struct tsm_cpu_wanted {
    bool on;
    struct cpu_events_filter filter;
    unsigned long buffer_size; /* bytes, a power of two; 0: 8 MiB */
};

/* "all", or "pid=12,tid=13,cgroup=PATH,device=8:0,buffer=16M": into a struct tsm_cpu_wanted. */
bool tsm_cpu_wanted_parse(void *field, const char *text);

struct tsm_cpu_collect;

/* Begin; what comes goes into the new trace `path`. On failure nothing runs. */
int tsm_cpu_collect_begin(struct tsm_cpu_collect **out, const struct tsm_cpu_wanted *wanted,
                          const char *path);

/* Stop; the trace is whole then. Its metadata "cpu.collector" says what collecting cost. NULL: nothing
 * was begun. Frees. */
int tsm_cpu_collect_end(struct tsm_cpu_collect *collect);

#endif
