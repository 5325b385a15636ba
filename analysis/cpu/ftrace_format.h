/* SPDX-License-Identifier: Apache-2.0
 *
 * How the kernel lays out the tracepoints that we read: each of its `format` files names an id and
 * where the fields are. trace.dat and perf.data carry these files along.
 */
#ifndef ANALYSIS_CPU_FTRACE_FORMAT_H
#define ANALYSIS_CPU_FTRACE_FORMAT_H

#include "analysis/cpu/events.h"

#define TSM_FTRACE_FIELD_MAX 4
#define TSM_FTRACE_KIND_MAX  9 /* tracepoints that are known */

struct tsm_ftrace_field {
    uint32_t offset, size; /* size 0: there is no such field */
    bool is_signed;
    bool is_elsewhere; /* __data_loc: offset and size of text in the event */
};

/* A tracepoint's layout. Read as if an enemy had written it: fields may lie anywhere. */
struct tsm_ftrace_layout {
    bool known;
    uint16_t id;
    struct tsm_ftrace_field fields[TSM_FTRACE_FIELD_MAX];
};

/* Zeroed: nothing is known. */
struct tsm_ftrace_formats {
    struct tsm_ftrace_layout layouts[TSM_FTRACE_KIND_MAX];
    struct tsm_ftrace_field common_type, common_pid;
};

/* A `format` file. Those of other tracepoints are left alone. */
void tsm_ftrace_format_add(struct tsm_ftrace_formats *formats, const char *text, size_t size);

/* One event as the kernel wrote it, from common_type on; `pid` is the process that ran, 0 not known.
 * Adds it, or keeps it as a mark of the clock; what is not known is left alone. */
int tsm_ftrace_event(struct tsm_cpu_events *events, const struct tsm_ftrace_formats *formats,
                     uint16_t cpu, uint32_t pid, uint64_t ts_ns, const uint8_t *data, size_t size);

/* The same tracepoints in text, which names its fields: "prev_pid=12". Kind of the tracepoint
 * `name`, -1 for none; then its event of `text`, terminated. */
int tsm_ftrace_kind(const char *name, size_t size);
int tsm_ftrace_text_event(struct tsm_cpu_events *events, int kind, uint16_t cpu, uint32_t tid,
                          uint64_t ts_ns, const char *text);

#endif
