/* SPDX-License-Identifier: Apache-2.0
 *
 * CPU events during a recording: thread switches, interrupts, block I/O. They come from the
 * kernel's tracers (ftrace, perf) or from our own collector; here all have one form, in order of
 * time, on CLOCK_MONOTONIC.
 */
#ifndef ANALYSIS_CPU_EVENTS_H
#define ANALYSIS_CPU_EVENTS_H

#include "base/buffer.h"
#include "kernel/include/grtrace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tsm_ring_jobs;

#define TSM_CPU_MAX  1024u
#define TSM_CPU_LOST 255u /* in place of a type: `number` events of this CPU are missing before it */

/* One event. Unknown members are 0. */
struct tsm_cpu_event {
    uint64_t ts_ns;
    uint8_t type; /* enum grtrace_cpu_type, or TSM_CPU_LOST */
    uint16_t cpu;
    uint32_t tid, pid;             /* that ran; SWITCH: that goes */
    uint32_t other_tid, other_pid; /* SWITCH: that comes; WAKEUP: that can run now */
    uint32_t state;                /* SWITCH: low byte 0: tid could have run on */
    uint32_t device;               /* BLOCK */
    uint64_t number;               /* IRQ: its number; BLOCK: sector; LOST: how many */
    uint64_t cgroup;               /* of tid */
    uint32_t place;                /* order in which events were added */
    char name[GRTRACE_CPU_NAME_SIZE + 1]; /* of the other thread, or of the interrupt's handler */
};

/* The same moment on the tracer's clock and on CLOCK_MONOTONIC. */
struct tsm_clock_mark {
    uint64_t clock_ns, monotonic_ns;
};

#define TSM_CLOCK_NAME_SIZE 32

/* Zeroed: none. */
struct tsm_cpu_events {
    struct tsm_buffer events; /* struct tsm_cpu_event */
    struct tsm_buffer marks;  /* struct tsm_clock_mark */
    char clock[TSM_CLOCK_NAME_SIZE]; /* the tracer's name of its clock; "" not known */
    int64_t offset_ns;       /* what alignment added to the first event's time */
    uint64_t lost_count;     /* events that the tracer says are missing */
    uint64_t disorder_count; /* events that lay after a later one of their CPU */
    uint64_t unread_count;   /* pieces of the file that make no sense, or are cut off */
    bool all_kinds;          /* of each kind: where there are none, there were none */
    bool filtered;           /* events of other threads were left out on request */
};

int tsm_cpu_events_add(struct tsm_cpu_events *events, const struct tsm_cpu_event *event);
size_t tsm_cpu_events_count(const struct tsm_cpu_events *events);
const struct tsm_cpu_event *tsm_cpu_events_at(const struct tsm_cpu_events *events, size_t index);
void tsm_cpu_events_finish(struct tsm_cpu_events *events);

/* "trace_event_clock_sync: parent_ts=12.345678" or "tracesmith_monotonic_ns=12345678000", as programs
 * write it into a tracer's marker file: keep it as a mark. Any other text is left alone. */
void tsm_cpu_events_mark(struct tsm_cpu_events *events, uint64_t clock_ns, const char *text,
                         size_t size);

/* How the tracer's clock becomes CLOCK_MONOTONIC. */
enum tsm_clock_way {
    TSM_CLOCK_AUTO,   /* by marks if there are any, else by the clock's name, else as it is */
    TSM_CLOCK_MONO,   /* it is that clock */
    TSM_CLOCK_OFFSET, /* add `offset_ns` */
};

/* Bring all times to CLOCK_MONOTONIC, and events into their order. `boot_offset_ns` is what
 * CLOCK_BOOTTIME is ahead of it. TSM_E_UNSUPPORTED: the clock says nothing of CLOCK_MONOTONIC. */
int tsm_cpu_events_align(struct tsm_cpu_events *events, enum tsm_clock_way way, int64_t offset_ns,
                         int64_t boot_offset_ns);

/* Takes the CPU events of a trace's kernel records, in order. `jobs` must be built. */
int tsm_cpu_events_take(struct tsm_cpu_events *events, const struct tsm_ring_jobs *jobs);

/* A session of kernel records in the making. Zeroed but for `out`, which begins empty and may be
 * cleared at any time: nothing in it is read again. */
struct tsm_cpu_encoder {
    struct tsm_buffer *out;
    uint64_t gseq;
    uint32_t cseq[TSM_CPU_MAX];
    bool lost[TSM_CPU_MAX]; /* after the CPU's last record */
};

/* Writes STREAM_INFO and the source of the events. `features`: GRTRACE_FEATURE_* in addition to
 * FEATURE_CPU. */
void tsm_cpu_encode_begin(struct tsm_cpu_encoder *encoder, uint64_t ts_ns, uint64_t features,
                          const char *source);
/* So many events of the CPU are missing here. */
void tsm_cpu_encode_lost(struct tsm_cpu_encoder *encoder, uint16_t cpu, uint64_t count);
/* A record of CPU events, which gets its numbers here. */
void tsm_cpu_encode_record(struct tsm_cpu_encoder *encoder, uint8_t *record, size_t size);
void tsm_cpu_encode_end(struct tsm_cpu_encoder *encoder, uint64_t ts_ns);

/* The events as a session of kernel records (docs/FORMAT.md 10.2), from STREAM_INFO on. What is missing
 * becomes gaps in the CPUs' numbers. `source` says where they come from. */
int tsm_cpu_events_encode(struct tsm_buffer *out, const struct tsm_cpu_events *events,
                          const char *source);

#endif
