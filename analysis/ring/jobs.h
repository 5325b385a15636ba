/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs of the GPU's rings, put together from what the kernel module recorded: when each was made,
 * submitted, taken by its ring, done, and reported to the threads that waited.
 */
#ifndef ANALYSIS_RING_JOBS_H
#define ANALYSIS_RING_JOBS_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A kernel record (docs/FORMAT.md 10.2), decoded. */
struct tsm_ring_record {
    uint8_t type, flags, device, engine; /* GRTRACE_* */
    uint16_t cpu;
    uint32_t ring, pid, tid, cseq;
    uint64_t ts_ns; /* CLOCK_MONOTONIC */
    uint64_t gseq, ctx, seqno, value;
    uint32_t session;    /* of the module, from 1; 0: before the first STREAM_INFO */
    bool of_cpus;        /* the session is one of CPU events (GRTRACE_FEATURE_CPU), not the module's */
    const uint8_t *body; /* into what was added */
    size_t body_size;
};

#define TSM_RING_NAME_SIZE 56

struct tsm_ring {
    uint32_t id;
    uint8_t device, engine;
    char name[TSM_RING_NAME_SIZE];
};

/* A job without fence of its own has a number that the kernel module counted. */
#define TSM_JOB_SEQNO_COUNTED (1ull << 63)

/* flags of a job */
#define TSM_JOB_SLOW      1u /* a rule of the module marked it */
#define TSM_JOB_PREEMPTED 2u /* another job began after it on its ring, and ended before it */

/* Times are on CLOCK_MONOTONIC in ns; 0: no record of it is there. */
struct tsm_ring_job {
    uint8_t device, engine;
    uint32_t ring, pid, error; /* errno, 0 for success */
    uint32_t tid;              /* thread that submitted it; 0 not known */
    uint32_t waiter;           /* first thread that waited for it and went on; 0 none */
    uint32_t flags;            /* TSM_JOB_* */
    uint32_t session;
    uint64_t ctx, seqno;
    uint64_t commit_ns, submit_ns, start_ns, end_ns, complete_ns;
    uint64_t wake_ns;   /* when the waiter went on */
    uint64_t waited_ns; /* that threads waited for it, added up; 0: nobody did */
};

struct tsm_ring_jobs {
    struct tsm_buffer chunks;  /* uint8_t *: copies of what was added */
    struct tsm_buffer records; /* struct tsm_ring_record, in order of session and gseq once built */
    struct tsm_buffer jobs;    /* struct tsm_ring_job, in order of their first record */
    struct tsm_buffer rings;   /* struct tsm_ring */
    uint64_t lost_count;       /* gaps in the CPUs' sequence numbers, in sessions of the module */
    uint32_t session;
    bool of_cpus;
};

/* `jobs` is zeroed. Takes over `records` (malloc'ed), also on failure. */
int tsm_ring_jobs_add(struct tsm_ring_jobs *jobs, uint8_t *records, size_t size);
/* Sorts the jobs and joins their parts. Call once, after the last record. */
int tsm_ring_jobs_build(struct tsm_ring_jobs *jobs);
void tsm_ring_jobs_finish(struct tsm_ring_jobs *jobs);

size_t tsm_ring_jobs_count(const struct tsm_ring_jobs *jobs);
const struct tsm_ring_job *tsm_ring_jobs_at(const struct tsm_ring_jobs *jobs, size_t index);
/* NULL when no record describes it. */
const struct tsm_ring *tsm_ring_find(const struct tsm_ring_jobs *jobs, uint32_t id);

/* Spans between a job's times. */
enum tsm_job_span {
    TSM_SPAN_SUBMIT_HOST, /* made to submitted */
    TSM_SPAN_QUEUE,       /* submitted to taken */
    TSM_SPAN_EXEC,        /* taken to done */
    TSM_SPAN_GPU_WAIT,    /* that threads waited */
    TSM_SPAN_COMPLETE,    /* done to reported */
    TSM_SPAN_COUNT
};

#define TSM_SPAN_NONE UINT64_MAX /* a record is missing, or time ran backwards */

/* The first time that there is of the job; 0: none. */
uint64_t tsm_job_begin_ns(const struct tsm_ring_job *job);
uint64_t tsm_job_span_ns(const struct tsm_ring_job *job, enum tsm_job_span span);
/* "t_queue" etc. */
const char *tsm_job_span_name(enum tsm_job_span span);

#endif
