/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/request.h"

#include "analysis/call_nesting.h"
#include "analysis/model/node.h"
#include "analysis/ring/submit_jobs.h"
#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

/* A call of the trace's program that waited for the GPU. */
struct wait {
    uint64_t begin_ns, end_ns;
    uint32_t tid;
};

struct building {
    struct tsm_requests *out;
    const struct tsm_ring_jobs *jobs;
    const struct tsm_cpu_time *time;
    struct sbt_reader *reader;
    struct tsm_call_nesting *nest; /* while records are read */
    struct tsm_buffer asked;       /* struct tsm_ring_submit, of each command */
    struct tsm_buffer waits;       /* struct wait, in order of begin */
    struct tsm_map of_position;    /* {stream, position} -> place of its request + 1 */
};

const char *tsm_stage_name(enum tsm_stage stage)
{
    static const char *const names[TSM_STAGE_COUNT] = {"call", "queue",   "exec",    "complete",
                                                       "wake", "total",   "off_cpu", "ready",
                                                       "irq",  "block_io"};

    return names[stage];
}

size_t tsm_requests_count(const struct tsm_requests *r)
{
    return r->all.size / sizeof(struct tsm_request);
}

struct tsm_request *tsm_requests_at(const struct tsm_requests *r, size_t index)
{
    return (struct tsm_request *)(void *)r->all.data + index;
}

void tsm_requests_finish(struct tsm_requests *r)
{
    tsm_buffer_finish(&r->all);
}

/* ---- from the trace's records ---- */

/* NULL: none is known. */
static const char *parent_of(const struct building *b, const struct sbt_record *record,
                             uint64_t *seq)
{
    const struct sbt_schema *schema = NULL;
    uint32_t type;

    if (tsm_call_nesting_parent(b->nest, record, seq, &type))
        schema = sbt_reader_schema(b->reader, type);
    return schema ? schema->name : NULL;
}

static void add_command(struct building *b, const struct sbt_schema *schema,
                        const struct sbt_record *record)
{
    uint64_t begin_ns = b->out->start_ns + record->time_ns;
    struct tsm_ring_submit ask;
    uint64_t parent_seq = 0;
    const char *parent = parent_of(b, record, &parent_seq);
    const struct tsm_request request = {.seq = record->seq,
                                        .name = schema->name,
                                        .parent = parent,
                                        .parent_seq = parent_seq,
                                        .pid = b->out->pid,
                                        .tid = record->thread,
                                        .stream = record->stream,
                                        .position = record->position,
                                        .call_begin_ns = begin_ns,
                                        .call_end_ns = begin_ns + record->duration_ns};
    bool added;
    uint64_t *place =
        tsm_map_insert(&b->of_position, tsm_position_key(record->stream, record->position), &added);

    tsm_submit_ask(&ask, b->reader, record, schema);
    tsm_buffer_add(&b->asked, &ask, sizeof(ask));
    tsm_buffer_add(&b->out->all, &request, sizeof(request));
    if (place)
        *place = tsm_requests_count(b->out);
    else
        b->out->all.failed = true;
}

static void add_wait(struct building *b, const struct sbt_record *record)
{
    uint64_t begin_ns = b->out->start_ns + record->time_ns;
    const struct wait wait = {begin_ns, begin_ns + record->duration_ns, record->thread};

    tsm_buffer_add(&b->waits, &wait, sizeof(wait));
}

/* The GPU's own times of a command, if they are on our clock. */
static void note_gpu_time(struct building *b, const struct sbt_record *record)
{
    uint64_t begin_ns, end_ns;
    struct tsm_request *request;
    const uint64_t *place;

    if (record->slot_count < 6 || !(record->slots[5] & SBT_GPU_TIME_CALIBRATED) ||
        (record->slot_count > SBT_GPU_TIME_COMMAND && record->slots[SBT_GPU_TIME_COMMAND]))
        return; /* ... or one inside of it, which the command's own time has, too */
    place = tsm_map_find(&b->of_position,
                         tsm_position_key((uint32_t)record->slots[0], record->slots[1]));
    request = place && *place ? tsm_requests_at(b->out, *place - 1) : NULL;
    if (!request || request->stream != record->slots[0] || request->position != record->slots[1])
        return;
    begin_ns = b->out->start_ns + record->slots[3];
    end_ns = begin_ns + record->slots[4];
    if (!request->exec_begin_ns || begin_ns < request->exec_begin_ns)
        request->exec_begin_ns = begin_ns;
    if (end_ns > request->exec_end_ns)
        request->exec_end_ns = end_ns;
}

static void note_record(struct building *b, const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(b->reader, record->type);

    if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_GPU_TIME))
        note_gpu_time(b, record);
    if (!schema)
        return;
    /* A wait that failed may have waited all the same; a command that failed is none. */
    if (schema->kind == SBT_KIND_SYNC || schema->flags & SBT_SCHEMA_BLOCKS)
        add_wait(b, record);
    if (schema->kind == SBT_KIND_COMMAND &&
        !(record->flags & (SBT_RECORD_FAILED | SBT_RECORD_CAPTURED)))
        add_command(b, schema, record);
}

static int read_records(struct building *b)
{
    const struct sbt_record *record;
    struct sbt_cursor *cursor = NULL;
    int error = tsm_call_nesting_create(&b->nest, b->reader);

    if (!error)
        error = sbt_cursor_create(&cursor, b->reader, NULL, 0);
    while (error >= 0 && (error = sbt_cursor_next(cursor, &record)) > 0)
        note_record(b, record);
    sbt_cursor_destroy(cursor);
    tsm_call_nesting_destroy(b->nest);
    if (!error && (b->out->all.failed || b->asked.failed || b->waits.failed))
        error = tsm_fail(TSM_E_MEMORY, "out of memory for the trace's commands");
    return error;
}

/* ---- with the rings' jobs ---- */

static void set_job(struct tsm_request *request, const struct tsm_ring_job *job)
{
    request->job = job;
    request->exec_begin_ns = job->start_ns;
    request->exec_end_ns = job->end_ns;
    request->waiter = job->waiter;
    request->wake_ns = job->wake_ns;
    if (!request->pid)
        request->pid = job->pid;
    if (!request->tid)
        request->tid = job->tid;
}

static int join(struct building *b, size_t *job_of, bool *has_request)
{
    size_t count = tsm_requests_count(b->out);
    int error = tsm_ring_join(job_of, b->jobs, (const void *)b->asked.data, count);

    for (size_t i = 0; i < count && !error; i++) {
        if (job_of[i] == TSM_RING_JOIN_NONE)
            continue;
        has_request[job_of[i]] = true;
        set_job(tsm_requests_at(b->out, i), tsm_ring_jobs_at(b->jobs, job_of[i]));
        b->out->joined_count++;
    }
    return error;
}

static int add_jobs(struct building *b)
{
    size_t count = tsm_ring_jobs_count(b->jobs);
    size_t *job_of = calloc(tsm_requests_count(b->out) + 1, sizeof(*job_of));
    bool *has_request = calloc(count + 1, sizeof(*has_request));
    int error = job_of && has_request ? join(b, job_of, has_request)
                                      : tsm_fail(TSM_E_MEMORY, "out of memory for %zu jobs", count);

    for (size_t i = 0; i < count && !error; i++) {
        struct tsm_request request = {.seq = TSM_REQUEST_NO_RECORD, .stream = SBT_STREAM_NONE};

        if (has_request[i])
            continue;
        set_job(&request, tsm_ring_jobs_at(b->jobs, i));
        tsm_buffer_add(&b->out->all, &request, sizeof(request));
    }
    free(job_of);
    free(has_request);
    if (!error && b->out->all.failed)
        error = tsm_fail(TSM_E_MEMORY, "out of memory for jobs");
    return error;
}

/* ---- who waited ---- */

#define LOOK_BACK 64u /* waits that began before; each thread has one at a time */

/* The call that waited when the GPU was done, in the trace's program: the one that began last. */
static const struct wait *find_wait(const struct building *b, uint64_t ns)
{
    const struct wait *waits = (const void *)b->waits.data;
    size_t at;

    TSM_BISECT(at, b->waits.size / sizeof(*waits), waits[at].begin_ns > ns);
    for (unsigned i = 0; i < LOOK_BACK && at > 0; i++) {
        if (waits[--at].end_ns >= ns)
            return &waits[at];
    }
    return NULL;
}

static uint64_t done_ns(const struct tsm_request *r)
{
    return r->job && r->job->complete_ns ? r->job->complete_ns : r->exec_end_ns;
}

static void note_waiter(const struct building *b, struct tsm_request *r)
{
    const struct wait *wait;
    uint64_t runs_ns;

    if (r->waiter || !done_ns(r) || !r->pid || r->pid != b->out->pid)
        return;
    wait = find_wait(b, done_ns(r));
    if (!wait)
        return;
    r->waiter = wait->tid;
    runs_ns = tsm_cpu_time_runs(b->time, wait->tid, done_ns(r));
    if (runs_ns != TSM_CPU_NA && runs_ns <= wait->end_ns)
        r->wake_ns = runs_ns;
}

/* ---- stages ---- */

static uint64_t between(uint64_t from_ns, uint64_t to_ns)
{
    return from_ns && to_ns >= from_ns ? to_ns - from_ns : TSM_CPU_NA;
}

static void set_bounds(struct tsm_request *r)
{
    const struct tsm_ring_job none = {0}, *job = r->job ? r->job : &none;
    const uint64_t times[] = {r->call_begin_ns, job->commit_ns,   job->submit_ns, r->exec_begin_ns,
                              r->exec_end_ns,   job->complete_ns, r->wake_ns};

    r->begin_ns = r->end_ns = 0;
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        if (times[i] && !r->begin_ns)
            r->begin_ns = times[i];
        if (times[i] > r->end_ns)
            r->end_ns = times[i];
    }
    if (!job->submit_ns && r->call_end_ns > r->end_ns)
        r->end_ns = r->call_end_ns;
}

static void set_stages(const struct building *b, struct tsm_request *r)
{
    uint64_t submit_ns = r->job ? r->job->submit_ns : r->call_end_ns;
    struct tsm_cpu_sum sum;

    set_bounds(r);
    r->stages[TSM_STAGE_CALL] = between(r->call_begin_ns, submit_ns);
    if (!r->call_begin_ns && r->job)
        r->stages[TSM_STAGE_CALL] = tsm_job_span_ns(r->job, TSM_SPAN_SUBMIT_HOST);
    r->stages[TSM_STAGE_QUEUE] =
        r->exec_begin_ns ? between(submit_ns, r->exec_begin_ns) : TSM_CPU_NA;
    r->stages[TSM_STAGE_EXEC] = between(r->exec_begin_ns, r->exec_end_ns);
    r->stages[TSM_STAGE_COMPLETE] =
        r->job ? tsm_job_span_ns(r->job, TSM_SPAN_COMPLETE) : TSM_CPU_NA;
    r->stages[TSM_STAGE_WAKE] = r->wake_ns ? between(done_ns(r), r->wake_ns) : TSM_CPU_NA;
    r->stages[TSM_STAGE_TOTAL] = between(r->begin_ns, r->end_ns);
    tsm_cpu_time_sum(&sum, b->time, r->tid, r->pid, r->begin_ns, r->end_ns);
    r->stages[TSM_STAGE_OFF_CPU] = r->tid ? sum.off_ns : TSM_CPU_NA;
    r->stages[TSM_STAGE_READY] = r->tid ? sum.ready_ns : TSM_CPU_NA;
    r->stages[TSM_STAGE_IRQ] = r->tid ? sum.irq_ns : TSM_CPU_NA;
    r->stages[TSM_STAGE_BLOCK_IO] = r->tid || r->pid ? sum.io_ns : TSM_CPU_NA;
}

static int by_begin(const void *a, const void *b)
{
    const struct tsm_request *x = a, *y = b;

    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

int tsm_requests_build(struct tsm_requests *requests, struct sbt_reader *reader,
                       const struct tsm_ring_jobs *jobs, const struct tsm_cpu_time *time)
{
    struct building b = {.out = requests, .jobs = jobs, .time = time, .reader = reader};
    const char *pid = sbt_reader_metadata_find(reader, "process.pid");
    int error;

    requests->pid = pid ? (uint32_t)strtoul(pid, NULL, 10) : 0;
    requests->start_ns = sbt_reader_session(reader)->start_monotonic_ns;
    error = read_records(&b);
    if (!error)
        error = add_jobs(&b);
    for (size_t i = 0; i < tsm_requests_count(requests) && !error; i++) {
        struct tsm_request *r = tsm_requests_at(requests, i);
        const uint64_t *cgroup = tsm_map_find(&time->cgroups, r->tid);

        note_waiter(&b, r);
        set_stages(&b, r);
        r->cgroup = cgroup ? *cgroup : 0;
    }
    if (!error && tsm_requests_count(requests))
        qsort(requests->all.data, tsm_requests_count(requests), sizeof(struct tsm_request),
              by_begin);
    tsm_buffer_finish(&b.asked);
    tsm_buffer_finish(&b.waits);
    tsm_map_finish(&b.of_position);
    return error;
}
