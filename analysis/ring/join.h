/* SPDX-License-Identifier: Apache-2.0
 *
 * Which ring job a recorded submit became. Both sides know process, context, and number: the
 * program from its ioctl, the kernel from the job's fence. Where a submit returned no fence, the
 * time of its call is all there is.
 */
#ifndef ANALYSIS_RING_JOIN_H
#define ANALYSIS_RING_JOIN_H

#include "analysis/ring/jobs.h"

/* A submit as the program made it. */
struct tsm_ring_submit {
    uint32_t pid;
    uint32_t tid;        /* of the thread that made it; 0 not known */
    uint32_t ring;       /* the kernel's number of it; 0 not known */
    uint64_t ctx, seqno; /* of the fence that it returned; 0: not known */
    uint64_t begin_ns;   /* of the call, on CLOCK_MONOTONIC */
    uint64_t end_ns;
};

#define TSM_RING_JOIN_NONE SIZE_MAX

/* out[i]: place of submits[i]'s job, or TSM_RING_JOIN_NONE. A job belongs to one submit at most.
 * What is joined by number, ctx and seqno, is certain. Others take the free job of their process,
 * thread and ring that was submitted during the call, has a fence, and the seqno if that is known, if
 * there is only one such: first those who know a seqno, then those who know their thread, then the
 * rest, each in their order. */
int tsm_ring_join(size_t *out, const struct tsm_ring_jobs *jobs,
                  const struct tsm_ring_submit *submits, size_t count);

#endif
