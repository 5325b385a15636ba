/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/kernel/view.h"

#include "analysis/ring/host_fences.h"
#include "analysis/ring/submit_jobs.h"
#include "base/bytes.h"
#include "kernel/include/grtrace_inside.h"
#include "tools/kernel/report.h"
#include "tools/terminal.h"
#include "tools/text/json_out.h"
#include "tools/text/line.h"
#include "tracesmith/error.h"

#include <inttypes.h>
#include <stdlib.h>

struct tsm_kernel_view {
    struct tsm_ring_jobs jobs;
    struct tsm_submit_jobs submits;
    struct tsm_host_fences host;
    size_t next;
    uint64_t start_ns;
    bool json;
    struct tsm_text_line line;
};

/* Sessions that ran side by side lie one after the other. */
static int by_time(const void *a, const void *b)
{
    const struct tsm_ring_record *x = a, *y = b;

    if (x->ts_ns != y->ts_ns)
        return x->ts_ns < y->ts_ns ? -1 : 1;
    if (x->session != y->session)
        return x->session < y->session ? -1 : 1;
    return x->gseq < y->gseq ? -1 : x->gseq > y->gseq;
}

int tsm_kernel_view_create(struct tsm_kernel_view **out, struct sbt_reader *reader,
                           const char *host_log, bool json)
{
    struct tsm_kernel_view *view = calloc(1, sizeof(*view));
    int error;

    if (!view)
        return tsm_fail(TSM_E_MEMORY, "out of memory");
    view->start_ns = sbt_reader_session(reader)->start_monotonic_ns;
    view->json = json;
    error = tsm_report_load(&view->jobs, reader);
    if (!error)
        error = tsm_submit_jobs_find(&view->submits, reader, &view->jobs);
    if (!error && host_log)
        error = tsm_host_fences_read(&view->host, host_log);
    if (!error && host_log)
        error = tsm_host_fences_align(&view->host, &view->jobs);
    if (error) {
        tsm_kernel_view_destroy(view);
        return error;
    }
    if (view->jobs.records.size)
        qsort(view->jobs.records.data, view->jobs.records.size / sizeof(struct tsm_ring_record),
              sizeof(struct tsm_ring_record), by_time);
    *out = view;
    return 0;
}

void tsm_kernel_view_destroy(struct tsm_kernel_view *view)
{
    if (!view)
        return;
    tsm_host_fences_finish(&view->host);
    tsm_submit_jobs_finish(&view->submits);
    tsm_ring_jobs_finish(&view->jobs);
    tsm_text_line_finish(&view->line);
    free(view);
}

static const char *type_name(uint8_t type)
{
    static const char *const names[GRTRACE_TYPE_END] = {GRTRACE_TYPE_NAMES};

    return type && type < GRTRACE_TYPE_END ? names[type] : "?";
}

static const char *record_name(uint8_t type)
{
    static const char *const names[] = {"CPU_SWITCH",   "CPU_WAKEUP",      "CPU_IRQ_ENTER",
                                        "CPU_IRQ_EXIT", "CPU_BLOCK_ISSUE", "CPU_BLOCK_COMPLETE"};

    return type >= GRTRACE_CPU_SWITCH && type < GRTRACE_CPU_TYPE_END
               ? names[type - GRTRACE_CPU_SWITCH]
               : type_name(type);
}

/* Copies a METADATA record's text, and terminates it. */
static void metadata_text(char out[GRTRACE_TEXT_SIZE], const struct tsm_ring_record *r)
{
    size_t size = r->body_size > 8 ? r->body_size - 8 : 0;

    if (size >= GRTRACE_TEXT_SIZE)
        size = GRTRACE_TEXT_SIZE - 1;
    memcpy(out, r->body + 8, size);
    out[size] = 0;
}

static void show_json(const struct tsm_kernel_view *view, const struct tsm_ring_record *r)
{
    struct tsm_json j = {.out = stdout};
    char text[GRTRACE_TEXT_SIZE];

    tsm_json_open(&j, '{');
    tsm_json_put_string(&j, "kernel", record_name(r->type));
    tsm_json_put_u64(&j, "type", r->type);
    tsm_json_put_u64(&j, "monotonic_ns", r->ts_ns);
    tsm_json_put_u64(&j, "gseq", r->gseq);
    tsm_json_put_u64(&j, "cseq", r->cseq);
    tsm_json_put_u64(&j, "flags", r->flags);
    tsm_json_put_u64(&j, "cpu", r->cpu);
    tsm_json_put_u64(&j, "pid", r->pid);
    tsm_json_put_u64(&j, "tid", r->tid);
    tsm_json_put_u64(&j, "device", r->device);
    tsm_json_put_string(&j, "engine", tsm_report_engine(r->engine));
    tsm_json_put_u64(&j, "ring", r->ring);
    tsm_json_put_u64(&j, "ctx", r->ctx);
    tsm_json_put_u64(&j, "seqno", r->seqno);
    tsm_json_put_u64(&j, "value", r->value);
    if (r->type == GRTRACE_METADATA) {
        metadata_text(text, r);
        tsm_json_put_string(&j, "text", text);
    }
    tsm_json_end(&j);
}

static void show_text(struct tsm_kernel_view *view, const struct tsm_ring_record *r)
{
    const struct tsm_ring *ring = tsm_ring_find(&view->jobs, r->ring);
    struct tsm_text_line *line = &view->line;
    char text[96];

    snprintf(text, sizeof(text), "k cpu%u %12.6f pid %u ", r->cpu,
             ((double)r->ts_ns - (double)view->start_ns) / 1e9, r->pid);
    tsm_text_line_text(line, text);
    tsm_text_line_text(line, record_name(r->type));
    if (r->type == GRTRACE_METADATA) {
        metadata_text(text, r);
        tsm_text_line_text(line, " ");
        tsm_text_line_clean(line, text);
    } else if (r->type != GRTRACE_STREAM_INFO) {
        tsm_text_line_text(line, " ");
        tsm_text_line_clean(line, ring ? ring->name : "-");
        snprintf(text, sizeof(text), " ctx %" PRIu64 " #%" PRIu64 " value %" PRIu64, r->ctx,
                 r->seqno, r->value);
        tsm_text_line_text(line, text);
    }
    tsm_text_line_write(line, stdout);
}

void tsm_kernel_view_upto(struct tsm_kernel_view *view, uint64_t time_ns)
{
    const struct tsm_ring_record *records;
    uint64_t limit_ns;

    if (!view)
        return;
    limit_ns = time_ns > UINT64_MAX - view->start_ns ? UINT64_MAX : view->start_ns + time_ns;
    records = (const void *)view->jobs.records.data;
    for (; view->next < view->jobs.records.size / sizeof(*records); view->next++) {
        const struct tsm_ring_record *r = &records[view->next];

        if (r->ts_ns >= limit_ns && limit_ns != UINT64_MAX)
            return;
        if (view->json)
            show_json(view, r);
        else
            show_text(view, r);
    }
}

/* ---- what became of a submit --------------------------------------------------------------- */

#define STEP_COUNT 7

/* The way of a command, in order; 0: not known. */
struct step {
    const char *name;
    uint64_t ns;
};

static void steps_of(struct step steps[STEP_COUNT], const struct tsm_submit_job *submit,
                     const struct tsm_host_fence *host)
{
    const struct tsm_ring_job *job = submit->job;
    const struct step all[STEP_COUNT] = {
        {"submit", job->submit_ns},
        {"start", job->start_ns},
        {"host_taken", host ? host->taken_ns : 0},
        {"host_done", host ? host->done_ns : 0},
        {"end", job->end_ns},
        {"complete", job->complete_ns},
        {"return", submit->return_ns},
    };

    memcpy(steps, all, sizeof(all));
}

static void job_json(const struct tsm_submit_job *submit, const struct step steps[STEP_COUNT],
                     const char *ring)
{
    struct tsm_json j = {.out = stdout};
    char name[32];

    tsm_json_open(&j, '{');
    tsm_json_put_u64(&j, "job_of", submit->seq);
    tsm_json_put_string(&j, "ring", ring);
    tsm_json_put_string(&j, "engine", tsm_report_engine(submit->job->engine));
    tsm_json_put_u64(&j, "ctx", submit->job->ctx);
    tsm_json_put_u64(&j, "seqno", submit->job->seqno);
    tsm_json_put_u64(&j, "error", submit->job->error);
    tsm_json_put_u64(&j, "call_ns", submit->call_ns);
    for (int i = 0; i < STEP_COUNT; i++) {
        snprintf(name, sizeof(name), "%s_ns", steps[i].name);
        if (steps[i].ns)
            tsm_json_put_u64(&j, name, steps[i].ns);
        else
            tsm_json_put_string(&j, name, NULL);
    }
    tsm_json_end(&j);
}

/* Microseconds since the call began. */
static void job_text(struct tsm_kernel_view *view, const struct tsm_submit_job *submit,
                     const struct step steps[STEP_COUNT], const char *ring)
{
    struct tsm_text_line *line = &view->line;
    char text[96];

    tsm_text_line_text(line, "k job ");
    tsm_text_line_clean(line, ring ? ring : "-");
    snprintf(text, sizeof(text), " ctx %" PRIu64 " #%" PRIu64 ": call 0", submit->job->ctx,
             submit->job->seqno);
    tsm_text_line_text(line, text);
    for (int i = 0; i < STEP_COUNT; i++) {
        if (!steps[i].ns)
            continue;
        snprintf(text, sizeof(text), ", %s %+.1f", steps[i].name,
                 ((double)steps[i].ns - (double)submit->call_ns) / 1e3);
        tsm_text_line_text(line, text);
    }
    tsm_text_line_text(line, " us");
    tsm_text_line_write(line, stdout);
}

void tsm_kernel_view_job(struct tsm_kernel_view *view, uint64_t seq)
{
    const struct tsm_submit_job *submit = view ? tsm_submit_jobs_of(&view->submits, seq) : NULL;
    const struct tsm_ring *ring;
    struct step steps[STEP_COUNT];

    if (!submit || !submit->job)
        return;
    ring = tsm_ring_find(&view->jobs, submit->job->ring);
    steps_of(steps, submit, tsm_host_fences_of(&view->host, submit->job));
    if (view->json)
        job_json(submit, steps, ring ? ring->name : NULL);
    else
        job_text(view, submit, steps, ring ? ring->name : NULL);
}

void tsm_kernel_view_sum(const struct tsm_kernel_view *view)
{
    size_t count = view ? tsm_submit_jobs_count(&view->submits) : 0;

    if (count)
        tsm_note("%zu of %zu submits have a job of the kernel's rings", view->submits.joined_count,
                 count);
    if (view && view->host.used_count)
        tsm_note("%zu commands are in the host's log; its clock is known to %.1f us",
                 view->host.used_count, (double)view->host.error_ns / 1e3);
    if (view && view->host.used_count && view->host.rate != 1)
        tsm_note("the guest's clock ran %.3f times as fast as the host's", view->host.rate);
}
