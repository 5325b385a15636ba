/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests to the GPU from the host's call to the wake-up of who waited for it: a command of a
 * trace, the ring job that it became, and what CPUs did meanwhile, on one time line.
 */
#ifndef ANALYSIS_REQUEST_H
#define ANALYSIS_REQUEST_H

#include "analysis/cpu/time.h"
#include "analysis/ring/jobs.h"
#include "tracesmith/reader.h"

/* Stages of a request, one after the other, then what happened in parallel. */
enum tsm_stage {
    TSM_STAGE_CALL,     /* the host's call until the job was submitted, or until it returned */
    TSM_STAGE_QUEUE,    /* until the ring took the job */
    TSM_STAGE_EXEC,     /* until the ring was done with it */
    TSM_STAGE_COMPLETE, /* until it was reported to the threads that wait */
    TSM_STAGE_WAKE,     /* until the first of them ran */
    TSM_STAGE_TOTAL,    /* from the first to the last of these */
    TSM_STAGE_OFF_CPU,  /* the thread that submitted it was on no CPU, in all that time ... */
    TSM_STAGE_READY,    /* ... although it could run */
    TSM_STAGE_IRQ,      /* it was on a CPU, but interrupted */
    TSM_STAGE_BLOCK_IO, /* its process had block I/O in flight */
    TSM_STAGE_COUNT
};

/* "call", "queue" etc. */
const char *tsm_stage_name(enum tsm_stage stage);

#define TSM_REQUEST_NO_RECORD UINT64_MAX

/* Times are on CLOCK_MONOTONIC in ns; 0: not known. */
struct tsm_request {
    uint64_t seq;     /* of the trace's record, or TSM_REQUEST_NO_RECORD */
    const char *name; /* of its call; NULL: no record */
    const char *parent; /* the call of the program that made that one (analysis/call_nesting.h); NULL: none */
    uint64_t parent_seq;
    const struct tsm_ring_job *job; /* NULL: none is known */
    uint32_t pid, tid;              /* who submitted it; 0 not known */
    uint32_t waiter;                /* thread that waited for it; 0: none is known */
    uint32_t stream;                /* of the record, or SBT_STREAM_NONE */
    uint64_t position; /* on it */
    uint64_t call_begin_ns, call_end_ns;
    uint64_t exec_begin_ns, exec_end_ns; /* of the job, or by the GPU's clock */
    uint64_t wake_ns;                    /* the waiter ran */
    uint64_t begin_ns, end_ns;           /* of all that is known */
    uint64_t cgroup;                /* of tid; 0 not known */
    uint64_t stages[TSM_STAGE_COUNT]; /* ns, or TSM_CPU_NA */
};

struct tsm_requests {
    struct tsm_buffer all; /* struct tsm_request, in order of begin_ns */
    uint32_t pid;          /* of the trace; 0 not known */
    uint64_t start_ns;     /* of the trace */
    size_t joined_count;   /* ring jobs that have a command */
};

/* Zeroed: none. All commands of the trace and all jobs; those that belong together are one. `jobs`,
 * `time` and the reader's schemas must stay while requests are used. */
int tsm_requests_build(struct tsm_requests *requests, struct sbt_reader *reader,
                       const struct tsm_ring_jobs *jobs, const struct tsm_cpu_time *time);
void tsm_requests_finish(struct tsm_requests *requests);

size_t tsm_requests_count(const struct tsm_requests *requests);
struct tsm_request *tsm_requests_at(const struct tsm_requests *requests, size_t index);

#endif
