/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ring/join.h"

#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

/* Jobs that a process submitted during one call: with more, time does not tell which one is the
 * call's. */
#define STEPS_MAX 4096u

struct entry {
    const struct tsm_ring_job *job;
    size_t place;
};

static int compare_numbers(const struct tsm_ring_job *a, uint32_t pid, uint64_t ctx, uint64_t seqno)
{
    if (a->pid != pid)
        return a->pid < pid ? -1 : 1;
    if (a->ctx != ctx)
        return a->ctx < ctx ? -1 : 1;
    return a->seqno < seqno ? -1 : a->seqno > seqno;
}

static int by_number(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = compare_numbers(x->job, y->job->pid, y->job->ctx, y->job->seqno);

    return order ? order : x->place < y->place ? -1 : x->place > y->place;
}

static int by_time(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->job->pid != y->job->pid)
        return x->job->pid < y->job->pid ? -1 : 1;
    if (x->job->submit_ns != y->job->submit_ns)
        return x->job->submit_ns < y->job->submit_ns ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

static bool fits(const struct tsm_ring_job *job, const struct tsm_ring_submit *submit)
{
    return !submit->ring || !job->ring || submit->ring == job->ring;
}

static bool has_number(const struct tsm_ring_submit *submit)
{
    return submit->ctx && submit->seqno;
}

/* Tests whether the job may be that of the submit. Commands that the driver sends for itself have
 * no fence that a program could wait for. */
static bool may_be(const struct tsm_ring_job *job, const struct tsm_ring_submit *submit)
{
    return job->pid == submit->pid && fits(job, submit) && !(job->seqno & TSM_JOB_SEQNO_COUNTED) &&
           (!submit->tid || !job->tid || submit->tid == job->tid) &&
           (!submit->seqno || submit->seqno == job->seqno);
}

/* First entry that is not before {pid, ctx, seqno}. */
static size_t lower_number(const struct entry *entries, size_t count,
                           const struct tsm_ring_submit *submit)
{
    size_t at;

    TSM_BISECT(at, count,
               compare_numbers(entries[at].job, submit->pid, submit->ctx, submit->seqno) >= 0);
    return at;
}

/* First entry of the process that is not before the call. */
static size_t lower_time(const struct entry *entries, size_t count,
                         const struct tsm_ring_submit *submit)
{
    size_t at;

    TSM_BISECT(at, count,
               entries[at].job->pid > submit->pid ||
                   (entries[at].job->pid == submit->pid &&
                    entries[at].job->submit_ns >= submit->begin_ns));
    return at;
}

static size_t join_by_number(const struct entry *entries, size_t count, const bool *taken,
                             const struct tsm_ring_submit *submit)
{
    for (size_t i = lower_number(entries, count, submit); i < count; i++) {
        const struct entry *e = &entries[i];

        if (compare_numbers(e->job, submit->pid, submit->ctx, submit->seqno) != 0)
            break;
        if (!taken[e->place] && fits(e->job, submit))
            return e->place;
    }
    return TSM_RING_JOIN_NONE;
}

static size_t join_by_time(const struct entry *entries, size_t count, const bool *taken,
                           const struct tsm_ring_submit *submit)
{
    size_t found = TSM_RING_JOIN_NONE;

    for (size_t i = lower_time(entries, count, submit), steps = 0; i < count; i++, steps++) {
        const struct entry *e = &entries[i];

        if (e->job->pid != submit->pid || e->job->submit_ns > submit->end_ns)
            break;
        if (steps == STEPS_MAX)
            return TSM_RING_JOIN_NONE;
        if (taken[e->place] || !may_be(e->job, submit))
            continue;
        if (found != TSM_RING_JOIN_NONE)
            return TSM_RING_JOIN_NONE; /* it may be either */
        found = e->place;
    }
    return found;
}

/* The more a submit tells, the earlier it chooses: a call that made an ioctl encloses that one. */
enum { ROUND_NUMBER, ROUND_THREAD, ROUND_REST, ROUNDS };

static int round_of(const struct tsm_ring_submit *submit)
{
    return submit->seqno ? ROUND_NUMBER : submit->tid ? ROUND_THREAD : ROUND_REST;
}

int tsm_ring_join(size_t *out, const struct tsm_ring_jobs *jobs,
                  const struct tsm_ring_submit *submits, size_t count)
{
    size_t job_count = tsm_ring_jobs_count(jobs);
    struct entry *entries = calloc(job_count + 1, sizeof(*entries));
    bool *taken = calloc(job_count + 1, sizeof(*taken));
    int error = 0;

    if (!entries || !taken) {
        error = tsm_fail(TSM_E_MEMORY, "out of memory for %zu jobs", job_count);
        goto out;
    }
    for (size_t i = 0; i < job_count; i++)
        entries[i] = (struct entry){tsm_ring_jobs_at(jobs, i), i};
    qsort(entries, job_count, sizeof(*entries), by_number);
    for (size_t i = 0; i < count; i++) {
        out[i] = has_number(&submits[i]) ? join_by_number(entries, job_count, taken, &submits[i])
                                         : TSM_RING_JOIN_NONE;
        if (out[i] != TSM_RING_JOIN_NONE)
            taken[out[i]] = true;
    }
    qsort(entries, job_count, sizeof(*entries), by_time);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < count; i++) {
            if (has_number(&submits[i]) || round_of(&submits[i]) != round)
                continue;
            out[i] = join_by_time(entries, job_count, taken, &submits[i]);
            if (out[i] != TSM_RING_JOIN_NONE)
                taken[out[i]] = true;
        }
    }
out:
    free(entries);
    free(taken);
    return error;
}
