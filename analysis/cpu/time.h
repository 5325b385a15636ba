/* SPDX-License-Identifier: Apache-2.0
 *
 * Attributes a period of a thread: on a CPU, waiting for one, asleep, interrupted, with block I/O
 * in flight. Computed from CPU events (analysis/cpu/events.h).
 */
#ifndef ANALYSIS_CPU_TIME_H
#define ANALYSIS_CPU_TIME_H

#include "analysis/cpu/events.h"
#include "base/map.h"

/* A thread ran on a CPU. */
struct tsm_cpu_slice {
    uint64_t begin_ns, end_ns;
    uint64_t ready_ns; /* since when it could have run; 0 not known */
    uint32_t tid;
    uint16_t cpu;
    bool waits; /* it went because it had to wait, not because it was put off */
};

/* A handler of interrupt `number` ran. */
struct tsm_cpu_irq {
    uint64_t begin_ns, end_ns, number;
    uint16_t cpu;
};

/* A request to a block device was in flight. */
struct tsm_cpu_io {
    uint64_t begin_ns, end_ns, sector; /* end UINT64_MAX: it is not over */
    uint64_t latest_ns;                /* end of this one, and of those before it */
    uint32_t device, tid, pid;         /* whose it is; pid 0 not known */
};

/* Events are missing: what happened on the CPU then is not known. */
struct tsm_cpu_gap {
    uint64_t begin_ns, end_ns;
    uint64_t latest_ns; /* end of this one, and of those before it */
};

/* Times of threads, by the events of their CPUs. Zeroed: of no events. */
struct tsm_cpu_time {
    struct tsm_buffer slices;   /* in order of tid, then time */
    struct tsm_buffer irqs;     /* in order of CPU, then time */
    struct tsm_buffer ios;      /* in order of begin */
    struct tsm_buffer gaps;     /* in order of begin */
    struct tsm_map processes;   /* tid -> pid, if an event says so */
    struct tsm_map cgroups;     /* tid -> cgroup */
    struct tsm_map names;       /* tid -> place + 1 of an event with its name */
    uint64_t first_ns, last_ns; /* of the events */
    bool has_switches, has_irqs, has_ios;
};

#define TSM_CPU_NA UINT64_MAX

/* `events` must be in order, and stay while `time` is used. */
int tsm_cpu_time_build(struct tsm_cpu_time *time, const struct tsm_cpu_events *events);
void tsm_cpu_time_finish(struct tsm_cpu_time *time);

/* Sums of one thread within [from, to), in ns; TSM_CPU_NA where no event says. */
struct tsm_cpu_sum {
    uint64_t off_ns;   /* on no CPU */
    uint64_t ready_ns; /* ... although it could run */
    uint64_t irq_ns;   /* on a CPU, but interrupted */
    uint64_t io_ns;    /* with block I/O of its process in flight */
};

void tsm_cpu_time_sum(struct tsm_cpu_sum *out, const struct tsm_cpu_time *time, uint32_t tid,
                      uint32_t pid, uint64_t from_ns, uint64_t to_ns);

/* Returns when the thread ran for the first time at or after `from_ns`; TSM_CPU_NA if it is not
 * known. */
uint64_t tsm_cpu_time_runs(const struct tsm_cpu_time *time, uint32_t tid, uint64_t from_ns);

/* Returns how long threads of that name ("trace-cmd") were on CPUs, in ns. */
uint64_t tsm_cpu_time_of_name(const struct tsm_cpu_time *time, const struct tsm_cpu_events *events,
                              const char *name);

/* 0 when no event tells. */
uint32_t tsm_cpu_time_process(const struct tsm_cpu_time *time, uint32_t tid);
/* NULL when no event tells. */
const char *tsm_cpu_time_name(const struct tsm_cpu_time *time, const struct tsm_cpu_events *events,
                              uint32_t tid);

#endif
