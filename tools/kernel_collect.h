/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel module's records on their way into a trace: read from a file per CPU, brought into
 * their one order, written as KERNEL_EVENTS chunks.
 */
#ifndef TOOLS_KERNEL_COLLECT_H
#define TOOLS_KERNEL_COLLECT_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stdint.h>

struct sbt_writer;

#define TSM_COLLECT_CPU_MAX 1024

struct tsm_collect {
    int fds[TSM_COLLECT_CPU_MAX];                  /* -1: not open (yet) */
    struct tsm_buffer queues[TSM_COLLECT_CPU_MAX]; /* read, not yet in order */
    size_t taken[TSM_COLLECT_CPU_MAX];             /* bytes of a queue that are in `ordered` */
    unsigned cpu_count;
    uint64_t next_gseq;
    uint64_t record_count;
    struct tsm_buffer ordered; /* the next chunk */
};

/* The session must run, or have run: its files are there. `collect` is large: keep it static. */
int tsm_collect_begin(struct tsm_collect *collect);

/* Read what is there; what is in order becomes chunks of `writer` (1 MiB each). */
int tsm_collect_turn(struct tsm_collect *collect, struct sbt_writer *writer);

/* After the session stopped: the rest, over gaps. */
int tsm_collect_end(struct tsm_collect *collect, struct sbt_writer *writer);
void tsm_collect_finish(struct tsm_collect *collect);

#endif
