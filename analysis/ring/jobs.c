/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ring/jobs.h"

#include "base/bytes.h"
#include "base/map.h"
#include "format/kernel_events.h"
#include "kernel/include/grtrace.h"
#include "tracesmith/error.h"

#include <stdlib.h>
#include <string.h>

#define CPU_MAX  1024u
#define RING_MAX 4096u

/* ---- records ---- */

static struct tsm_ring_record decode(const uint8_t *p, size_t size)
{
    return (struct tsm_ring_record){
        .type = p[2],
        .flags = p[3],
        .cpu = tsm_get_u16(p + 4),
        .device = p[6],
        .engine = p[7],
        .ts_ns = tsm_get_u64(p + 8),
        .gseq = tsm_get_u64(p + 16),
        .ring = tsm_get_u32(p + 24),
        .pid = tsm_get_u32(p + 28),
        .cseq = tsm_get_u32(p + 32),
        .tid = tsm_get_u32(p + 36),
        .ctx = tsm_get_u64(p + 40),
        .seqno = tsm_get_u64(p + 48),
        .value = tsm_get_u64(p + 56),
        .body = p + SBT_KERNEL_RECORD_SIZE,
        .body_size = size - SBT_KERNEL_RECORD_SIZE,
    };
}

static void begin_session(struct tsm_ring_jobs *jobs, const struct tsm_ring_record *info)
{
    jobs->session++;
    jobs->of_cpus =
        info->body_size >= 32 && (tsm_get_u64(info->body + 24) & GRTRACE_FEATURE_CPU) != 0;
}

int tsm_ring_jobs_add(struct tsm_ring_jobs *jobs, uint8_t *records, size_t size)
{
    tsm_buffer_add(&jobs->chunks, &records, sizeof(records));
    if (jobs->chunks.failed) {
        free(records);
        return tsm_fail(TSM_E_MEMORY, "out of memory for kernel records");
    }
    for (size_t at = 0, own; at < size; at += own) {
        struct tsm_ring_record record;

        own = sbt_kernel_record_size(records + at, size - at);
        if (own == 0)
            return tsm_fail(TSM_E_FORMAT, "kernel records are malformed at byte %zu", at);
        record = decode(records + at, own);
        if (record.type == GRTRACE_STREAM_INFO)
            begin_session(jobs, &record);
        record.session = jobs->session;
        record.of_cpus = jobs->of_cpus;
        tsm_buffer_add(&jobs->records, &record, sizeof(record));
    }
    return jobs->records.failed ? tsm_fail(TSM_E_MEMORY, "out of memory for kernel records") : 0;
}

static int compare_records(const void *a, const void *b)
{
    const struct tsm_ring_record *x = a, *y = b;

    if (x->session != y->session)
        return x->session < y->session ? -1 : 1;
    return x->gseq < y->gseq ? -1 : x->gseq > y->gseq;
}

static struct tsm_ring_record *record_at(const struct tsm_ring_jobs *jobs, size_t index)
{
    return (struct tsm_ring_record *)(void *)jobs->records.data + index;
}

static size_t record_count(const struct tsm_ring_jobs *jobs)
{
    return jobs->records.size / sizeof(struct tsm_ring_record);
}

/* The order of gseq is nearly that of a CPU's cseq: eBPF's records of an interrupt may have come
 * between another's two numbers. So gaps are added up with their signs. */
static void count_lost(struct tsm_ring_jobs *jobs)
{
    uint32_t next[CPU_MAX];
    int64_t lost = 0;
    uint32_t session = UINT32_MAX; /* there is no such */

    for (size_t i = 0; i < record_count(jobs); i++) {
        const struct tsm_ring_record *r = record_at(jobs, i);

        if (r->session != session)
            memset(next, 0, sizeof(next));
        session = r->session;
        if (r->cpu >= CPU_MAX || r->of_cpus)
            continue;
        lost += (int32_t)(r->cseq - next[r->cpu]);
        next[r->cpu] = r->cseq + 1;
    }
    jobs->lost_count = lost > 0 ? (uint64_t)lost : 0;
}

/* ---- rings ---- */

static void add_ring(struct tsm_ring_jobs *jobs, const struct tsm_ring_record *r)
{
    struct tsm_ring ring = {.id = r->ring, .device = r->device, .engine = r->engine};

    if (r->body_size < 8 || tsm_get_u32(r->body) != GRTRACE_METADATA_RING ||
        jobs->rings.size / sizeof(ring) == RING_MAX || tsm_ring_find(jobs, r->ring))
        return;
    for (size_t i = 8; i < r->body_size && i - 8 < sizeof(ring.name) - 1 && r->body[i]; i++)
        ring.name[i - 8] = (char)r->body[i];
    tsm_buffer_add(&jobs->rings, &ring, sizeof(ring));
}

const struct tsm_ring *tsm_ring_find(const struct tsm_ring_jobs *jobs, uint32_t id)
{
    const struct tsm_ring *rings = (const void *)jobs->rings.data;

    for (size_t i = 0; i < jobs->rings.size / sizeof(*rings); i++) {
        if (rings[i].id == id)
            return &rings[i];
    }
    return NULL;
}

/* ---- jobs ---- */

static uint64_t job_key(const struct tsm_ring_record *r)
{
    uint64_t key = r->ctx * 0x9e3779b97f4a7c15ull;

    key = (key ^ key >> 29 ^ r->seqno) * 0xbf58476d1ce4e5b9ull;
    return (key ^ key >> 32 ^ r->session) * 0x94d049bb133111ebull;
}

static struct tsm_ring_job *job_at(const struct tsm_ring_jobs *jobs, size_t index)
{
    return (struct tsm_ring_job *)(void *)jobs->jobs.data + index;
}

static bool is_same(const struct tsm_ring_job *job, const struct tsm_ring_record *r)
{
    return job->ctx == r->ctx && job->seqno == r->seqno && job->session == r->session &&
           (!job->ring || !r->ring || job->ring == r->ring);
}

#define PROBE_MAX 8u /* keys tried for a job; then the newest takes the last one's place */

/* Returns the slot that holds the index + 1 of the job of record `r`; the slot is created when
 * absent. NULL: out of memory. */
static uint64_t *find_place(struct tsm_ring_jobs *jobs, struct tsm_map *places,
                            const struct tsm_ring_record *r)
{
    uint64_t key = job_key(r), *place;
    bool added;

    for (unsigned i = 0;; i++) {
        place = tsm_map_insert(places, key + i, &added);
        if (!place || *place == 0 || i == PROBE_MAX || is_same(job_at(jobs, *place - 1), r))
            return place;
    }
}

/* The job that the record speaks of, made if need be. Numbers that drivers use again are another
 * job once the one before is complete. NULL: out of memory. */
static struct tsm_ring_job *find_job(struct tsm_ring_jobs *jobs, struct tsm_map *places,
                                     const struct tsm_ring_record *r)
{
    struct tsm_ring_job made = {.ctx = r->ctx, .seqno = r->seqno, .session = r->session};
    bool begins = r->type == GRTRACE_COMMIT || r->type == GRTRACE_SUBMIT;
    uint64_t *place = find_place(jobs, places, r);
    struct tsm_ring_job *job = place && *place ? job_at(jobs, *place - 1) : NULL;

    if (!place || (job && is_same(job, r) && !(begins && job->complete_ns)))
        return job;
    tsm_buffer_add(&jobs->jobs, &made, sizeof(made));
    if (jobs->jobs.failed)
        return NULL;
    *place = tsm_ring_jobs_count(jobs);
    return job_at(jobs, *place - 1);
}

static void note(struct tsm_ring_job *job, const struct tsm_ring_record *r)
{
    switch (r->type) {
    case GRTRACE_COMMIT:
        job->commit_ns = r->ts_ns;
        break;
    case GRTRACE_SUBMIT:
        job->submit_ns = r->ts_ns;
        job->pid = r->pid;
        job->tid = r->flags & GRTRACE_FLAG_IRQ ? 0 : r->tid;
        break;
    case GRTRACE_START:
        job->start_ns = r->ts_ns;
        break;
    case GRTRACE_END: /* what the hardware's fence says is nearer to the truth */
        job->end_ns = r->value && r->value <= r->ts_ns ? r->value : r->ts_ns;
        break;
    case GRTRACE_COMPLETE:
        job->complete_ns = r->ts_ns;
        job->error = (uint32_t)r->value;
        break;
    default:
        return;
    }
    if (!job->pid)
        job->pid = r->pid;
    if ((r->type == GRTRACE_COMMIT || r->type == GRTRACE_SUBMIT) && !(r->flags & GRTRACE_FLAG_IRQ))
        job->tid = r->tid;
    if (r->ring) {
        job->ring = r->ring;
        job->device = r->device;
        job->engine = r->engine;
    }
    if (r->flags & GRTRACE_FLAG_SLOW)
        job->flags |= TSM_JOB_SLOW;
}

/* Jobs that rings have taken and not done with. */
#define RUNNING_MAX 256u

struct running {
    size_t places[RUNNING_MAX];
    size_t count;
};

static void drop_running(struct running *running, size_t index)
{
    running->count--;
    memmove(running->places + index, running->places + index + 1,
            (running->count - index) * sizeof(running->places[0]));
}

static void note_start(struct running *running, size_t place)
{
    if (running->count == RUNNING_MAX)
        drop_running(running, 0); /* its end was lost */
    running->places[running->count++] = place;
}

/* A job that ends while an older one of its ring goes on has put that one aside. */
static void note_end(struct tsm_ring_jobs *jobs, struct running *running, size_t place)
{
    const struct tsm_ring_job *end = job_at(jobs, place);
    size_t i = running->count;

    while (i > 0 && running->places[i - 1] != place)
        i--;
    if (i == 0)
        return;
    drop_running(running, --i);
    while (i-- > 0) {
        struct tsm_ring_job *job = job_at(jobs, running->places[i]);

        if (job->ring == end->ring && job->session == end->session && job->ctx != end->ctx)
            job->flags |= TSM_JOB_PREEMPTED;
    }
}

static void end_wait(struct tsm_ring_job *job, const struct tsm_ring_record *exit,
                     uint64_t since_ns)
{
    job->waited_ns += exit->ts_ns - since_ns;
    if (job->complete_ns && !job->waiter) {
        job->waiter = exit->tid;
        job->wake_ns = exit->ts_ns;
    }
}

/* SYNC_WAIT_ENTER of a thread until its EXIT: at most one at a time. `job` may be NULL. */
static void note_wait(struct tsm_map *waits, struct tsm_ring_job *job,
                      const struct tsm_ring_record *r)
{
    bool added;
    uint64_t *since = tsm_map_insert(waits, r->tid, &added);

    if (!since)
        return;
    if (r->type == GRTRACE_SYNC_WAIT_EXIT && job && *since && *since <= r->ts_ns)
        end_wait(job, r, *since);
    *since = r->type == GRTRACE_SYNC_WAIT_ENTER ? r->ts_ns : 0;
}

static bool is_of_job(const struct tsm_ring_record *r)
{
    return r->type == GRTRACE_COMMIT || r->type == GRTRACE_SUBMIT || r->type == GRTRACE_START ||
           r->type == GRTRACE_END || r->type == GRTRACE_COMPLETE;
}

struct building {
    struct tsm_map places; /* of jobs, + 1 */
    struct tsm_map waits;  /* thread -> since when */
    struct running running;
};

static int build_from(struct tsm_ring_jobs *jobs, struct building *b,
                      const struct tsm_ring_record *r)
{
    struct tsm_ring_job *job;
    const uint64_t *place;

    if (r->type == GRTRACE_METADATA)
        add_ring(jobs, r);
    if (r->type == GRTRACE_SYNC_WAIT_ENTER || r->type == GRTRACE_SYNC_WAIT_EXIT) {
        place = tsm_map_find(&b->places, job_key(r));
        note_wait(&b->waits, place && *place ? job_at(jobs, *place - 1) : NULL, r);
    }
    if (!is_of_job(r))
        return 0;
    job = find_job(jobs, &b->places, r);
    if (!job)
        return tsm_fail(TSM_E_MEMORY, "out of memory for jobs");
    note(job, r);
    if (r->type == GRTRACE_START)
        note_start(&b->running, (size_t)(job - job_at(jobs, 0)));
    else if (r->type == GRTRACE_END)
        note_end(jobs, &b->running, (size_t)(job - job_at(jobs, 0)));
    return 0;
}

int tsm_ring_jobs_build(struct tsm_ring_jobs *jobs)
{
    struct building building = {0};
    int error = 0;

    if (record_count(jobs))
        qsort(jobs->records.data, record_count(jobs), sizeof(struct tsm_ring_record),
              compare_records);
    count_lost(jobs);
    for (size_t i = 0; i < record_count(jobs) && !error; i++)
        error = build_from(jobs, &building, record_at(jobs, i));
    tsm_map_finish(&building.places);
    tsm_map_finish(&building.waits);
    return error;
}

void tsm_ring_jobs_finish(struct tsm_ring_jobs *jobs)
{
    uint8_t **chunks = (void *)jobs->chunks.data;

    for (size_t i = 0; i < jobs->chunks.size / sizeof(*chunks); i++)
        free(chunks[i]);
    tsm_buffer_finish(&jobs->chunks);
    tsm_buffer_finish(&jobs->records);
    tsm_buffer_finish(&jobs->jobs);
    tsm_buffer_finish(&jobs->rings);
}

size_t tsm_ring_jobs_count(const struct tsm_ring_jobs *jobs)
{
    return jobs->jobs.size / sizeof(struct tsm_ring_job);
}

const struct tsm_ring_job *tsm_ring_jobs_at(const struct tsm_ring_jobs *jobs, size_t index)
{
    return job_at(jobs, index);
}

/* ---- spans ---- */

static uint64_t between(uint64_t from_ns, uint64_t to_ns)
{
    return from_ns && to_ns >= from_ns ? to_ns - from_ns : TSM_SPAN_NONE;
}

uint64_t tsm_job_begin_ns(const struct tsm_ring_job *job)
{
    const uint64_t times[] = {job->commit_ns, job->submit_ns, job->start_ns, job->end_ns,
                              job->complete_ns};

    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
        if (times[i])
            return times[i];
    return 0;
}

uint64_t tsm_job_span_ns(const struct tsm_ring_job *job, enum tsm_job_span span)
{
    switch (span) {
    case TSM_SPAN_SUBMIT_HOST:
        return between(job->commit_ns, job->submit_ns);
    case TSM_SPAN_QUEUE:
        return between(job->submit_ns, job->start_ns);
    case TSM_SPAN_EXEC:
        return between(job->start_ns, job->end_ns);
    case TSM_SPAN_GPU_WAIT:
        return job->waited_ns ? job->waited_ns : TSM_SPAN_NONE;
    case TSM_SPAN_COMPLETE:
        return between(job->end_ns, job->complete_ns);
    case TSM_SPAN_COUNT:
        break;
    }
    return TSM_SPAN_NONE;
}

const char *tsm_job_span_name(enum tsm_job_span span)
{
    static const char *const names[TSM_SPAN_COUNT] = {"t_submit_host", "t_queue", "t_exec",
                                                      "t_gpu_wait", "t_complete"};

    return names[span];
}
