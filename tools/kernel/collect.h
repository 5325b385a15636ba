/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel's records on their way into a trace: read from a file per CPU (the module) or from one
 * buffer (eBPF), brought into their one order, written as KERNEL_EVENTS chunks.
 */
#ifndef TOOLS_KERNEL_COLLECT_H
#define TOOLS_KERNEL_COLLECT_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stdint.h>

struct sbt_writer;

#define TSM_COLLECT_CPU_MAX 1024

struct tsm_collect {
    /* Adds what is there to the queues, in each of which gseq only grows. */
    int (*fill)(struct tsm_collect *collect);
    void (*close)(struct tsm_collect *collect);    /* may be NULL */
    void *user;                                    /* theirs */
    int fds[TSM_COLLECT_CPU_MAX];                  /* -1: not open (yet) */
    struct tsm_buffer queues[TSM_COLLECT_CPU_MAX]; /* read, not yet in order */
    size_t taken[TSM_COLLECT_CPU_MAX];             /* bytes of a queue that are in `ordered` */
    uint64_t ends[TSM_COLLECT_CPU_MAX];            /* gseq from which on a queue takes more */
    unsigned cpu_count;                            /* queues in use */
    unsigned turns;
    bool is_ending; /* nothing more is written: gaps stay */
    uint64_t next_gseq;
    uint64_t seen_gseq;    /* one more than the highest that was read */
    uint64_t settled_gseq; /* what was not read of those before it never will be, or comes late */
    uint64_t record_count;
    struct tsm_buffer ordered; /* the next chunk */
};

/* The module's session must run, or have run: its files are there. `collect` is large: keep it
 * static. */
int tsm_collect_begin(struct tsm_collect *collect);

/* Adds one record, for a fill(): to a queue whose last record comes before it. Buffers that all
 * CPUs share are nearly in order, so that few queues are in use. */
int tsm_collect_add(struct tsm_collect *collect, const void *record, size_t size);

/* Read what is there; what is in order becomes chunks of `writer` (1 MiB each). A number that is
 * missing is waited for during TSM_COLLECT_PATIENCE turns. */
#define TSM_COLLECT_PATIENCE 20
int tsm_collect_turn(struct tsm_collect *collect, struct sbt_writer *writer);

/* Writes the rest, over gaps. Call after the session has stopped. */
int tsm_collect_end(struct tsm_collect *collect, struct sbt_writer *writer);
void tsm_collect_finish(struct tsm_collect *collect);

#endif
