/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/timeline/report.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/text.h"
#include "tools/kernel/report.h"
#include "tools/terminal.h"
#include "tools/text/json_out.h"
#include "tools/text/line.h"
#include "tracesmith/reader.h"

#include <inttypes.h>
#include <sys/resource.h>
#include <time.h>

#define DETAIL_MAX 1000u /* events shown of one request */

struct sum {
    uint64_t count, sum_ns, max_ns;
};

struct totals {
    struct sum stages[TSM_STAGE_COUNT];
    size_t requests, commands, jobs;
};

static struct totals sum_up(const struct tsm_timeline *m)
{
    struct totals t = {0};

    for (size_t i = 0; i < tsm_requests_count(&m->requests); i++) {
        const struct tsm_request *r = tsm_requests_at(&m->requests, i);

        if (!tsm_timeline_wants(m, r))
            continue;
        t.requests++;
        t.commands += r->name != NULL;
        t.jobs += r->job != NULL;
        for (int s = 0; s < TSM_STAGE_COUNT; s++) {
            uint64_t ns = r->stages[s];
            if (ns == TSM_CPU_NA)
                continue;
            t.stages[s].count++;
            t.stages[s].sum_ns += ns;
            if (ns > t.stages[s].max_ns)
                t.stages[s].max_ns = ns;
        }
    }
    return t;
}

/* ---- the cost of looking ---- */

/* Programs that collect such events, as their threads are called. */
static const char *const collectors[] = {"trace-cmd", "perf", "tsrecord"};

static uint64_t collector_ns(const struct tsm_timeline *m)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < sizeof(collectors) / sizeof(collectors[0]); i++)
        sum += tsm_cpu_time_of_name(&m->time, &m->events, collectors[i]);
    return sum;
}

static void print_cost(const struct tsm_timeline *m)
{
    const char *own = sbt_reader_metadata_find(m->reader, "cpu.collector");
    struct rusage use;

    if (m->time.has_switches)
        printf("on CPUs meanwhile: trace-cmd, perf and tsrecord %.3f ms\n",
               (double)collector_ns(m) / 1e6);
    if (own)
        printf("collector: %s\n", tsm_clean(own));
    getrusage(RUSAGE_SELF, &use);
    tsm_note("this report took %.1f ms of CPU and %ld KiB of memory",
             (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e3 +
                 (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e3,
             use.ru_maxrss);
}

/* ---- for people ---- */

static void print_us(uint64_t ns)
{
    if (ns == TSM_CPU_NA)
        printf(" %11s", "NA");
    else
        printf(" %11.1f", (double)ns / 1e3);
}

static double seconds(const struct tsm_timeline *m, uint64_t ns)
{
    return ((double)ns - (double)m->requests.start_ns) / 1e9;
}

static void job_text(char *out, size_t size, const struct tsm_timeline *m,
                     const struct tsm_request *r)
{
    const struct tsm_ring *ring = r->job ? tsm_ring_find(&m->jobs, r->job->ring) : NULL;

    if (r->job)
        tsm_format(out, size, "%s ctx %" PRIu64 " #%" PRIu64, ring ? ring->name : "?", r->job->ctx,
                   r->job->seqno);
    else
        out[0] = 0;
}

/* "1234 launch gfx0 ctx 5 #1 pid 77": all of it, or what there is. */
static void print_request(const struct tsm_timeline *m, const struct tsm_request *r)
{
    struct tsm_text_line line = {0};
    char text[128];

    tsm_format(text, sizeof(text), "%12.6f ", seconds(m, r->begin_ns));
    tsm_text_line_text(&line, text);
    if (r->name) {
        tsm_text_line_u64(&line, r->seq);
        tsm_text_line_text(&line, " ");
        tsm_text_line_clean(&line, r->name);
        tsm_text_line_text(&line, " ");
    }
    if (r->parent) {
        tsm_text_line_text(&line, "< ");
        tsm_text_line_clean(&line, r->parent);
        tsm_text_line_text(&line, " ");
    }
    job_text(text, sizeof(text), m, r);
    tsm_text_line_clean(&line, text);
    tsm_format(text, sizeof(text), "%spid %u tid %u", r->job ? " " : "", r->pid, r->tid);
    tsm_text_line_text(&line, text);
    tsm_text_line_pad(&line, 54);
    for (int s = 0; s < TSM_STAGE_COUNT; s++) {
        if (r->stages[s] == TSM_CPU_NA)
            tsm_format(text, sizeof(text), " %9s", "NA");
        else
            tsm_format(text, sizeof(text), " %9.1f", (double)r->stages[s] / 1e3);
        tsm_text_line_text(&line, text);
    }
    tsm_text_line_write(&line, stdout);
    tsm_text_line_finish(&line);
}

static void print_list_head(void)
{
    printf("%12s %-41s", "seconds", "request");
    for (int s = 0; s < TSM_STAGE_COUNT; s++)
        printf(" %9s", tsm_stage_name((enum tsm_stage)s));
    printf("  (us)\n");
}

static const char *event_name(uint8_t type)
{
    static const char *const names[] = {"switch",   "wakeup",      "irq_enter",
                                        "irq_exit", "block_issue", "block_complete"};

    return type == TSM_CPU_LOST ? "LOST" : names[type - GRTRACE_CPU_SWITCH];
}

/* Describes an event for people. */
static void event_text(char *out, size_t size, const struct tsm_timeline *m,
                       const struct tsm_cpu_event *e)
{
    const char *name = e->tid ? tsm_cpu_time_name(&m->time, &m->events, e->tid) : "idle";

    switch (e->type) {
    case GRTRACE_CPU_SWITCH:
        tsm_format(out, size, "%s %u %s, then %s %u", name ? name : "?", e->tid,
                   e->state & 0xff ? "sleeps" : "is put off", e->name, e->other_tid);
        break;
    case GRTRACE_CPU_WAKEUP:
        tsm_format(out, size, "%s %u", e->name, e->other_tid);
        break;
    case GRTRACE_CPU_IRQ_ENTER:
        tsm_format(out, size, "%" PRIu64 " %s", e->number, e->name);
        break;
    case GRTRACE_CPU_BLOCK_ISSUE:
    case GRTRACE_CPU_BLOCK_COMPLETE:
        tsm_format(out, size, "device %u:%u sector %" PRIu64, e->device >> 20, e->device & 0xfffff,
                   e->number);
        break;
    default:
        tsm_format(out, size, "%" PRIu64, e->number);
    }
}

/* Tests whether a request may have spent time in the event: one of its threads, an interrupt, or a
 * device. */
static bool concerns(const struct tsm_request *r, const struct tsm_cpu_event *e)
{
    if (e->type == GRTRACE_CPU_SWITCH || e->type == GRTRACE_CPU_WAKEUP)
        return (r->tid &&
                (e->other_tid == r->tid || (e->type == GRTRACE_CPU_SWITCH && e->tid == r->tid))) ||
               (r->waiter && (e->other_tid == r->waiter ||
                              (e->type == GRTRACE_CPU_SWITCH && e->tid == r->waiter)));
    return true;
}

static size_t first_event(const struct tsm_timeline *m, uint64_t ns)
{
    size_t at;

    TSM_BISECT(at, tsm_cpu_events_count(&m->events),
               tsm_cpu_events_at(&m->events, at)->ts_ns >= ns);
    return at;
}

/* The next event of the request from *at on; NULL after the last. */
static const struct tsm_cpu_event *next_event(const struct tsm_timeline *m,
                                              const struct tsm_request *r, size_t *at)
{
    for (; *at < tsm_cpu_events_count(&m->events); ++*at) {
        const struct tsm_cpu_event *e = tsm_cpu_events_at(&m->events, *at);

        if (e->ts_ns > r->end_ns)
            break;
        if (concerns(r, e)) {
            ++*at;
            return e;
        }
    }
    return NULL;
}

static void print_detail(const struct tsm_timeline *m, const struct tsm_request *r)
{
    size_t at = first_event(m, r->begin_ns), shown = 0;
    const struct tsm_cpu_event *e;
    struct tsm_text_line line = {0};
    char text[160];

    print_request(m, r);
    while ((e = next_event(m, r, &at)) != NULL && shown++ < DETAIL_MAX) {
        tsm_format(text, sizeof(text), "             %+12.1f us  cpu%-3u %-14s ",
                   ((double)e->ts_ns - (double)r->begin_ns) / 1e3, e->cpu, event_name(e->type));
        tsm_text_line_text(&line, text);
        event_text(text, sizeof(text), m, e);
        tsm_text_line_clean(&line, text);
        tsm_text_line_write(&line, stdout);
    }
    if (e)
        printf("             ... and more\n");
    tsm_text_line_finish(&line);
}

static bool is_above(const struct tsm_request *r, const struct tsm_timeline_report *report)
{
    uint64_t ns = r->stages[TSM_STAGE_TOTAL];

    return report->above_ns && ns != TSM_CPU_NA && ns > report->above_ns;
}

static void print_requests(const struct tsm_timeline *m, const struct tsm_timeline_report *report)
{
    bool begun = false;

    for (size_t i = 0; i < tsm_requests_count(&m->requests); i++) {
        const struct tsm_request *r = tsm_requests_at(&m->requests, i);

        if (!tsm_timeline_wants(m, r) || !(report->list || is_above(r, report)))
            continue;
        if (!begun) {
            printf("\n");
            print_list_head();
        }
        begun = true;
        if (is_above(r, report))
            print_detail(m, r);
        else
            print_request(m, r);
    }
}

static void print_events(const struct tsm_timeline *m)
{
    const struct tsm_cpu_events *e = &m->events;

    printf("%zu CPU events", tsm_cpu_events_count(e));
    if (m->cpu_path)
        printf(" of clock %s, %+" PRId64 " ns", *e->clock ? tsm_clean(e->clock) : "(not told)",
               e->offset_ns);
    printf("; lost %" PRIu64 ", put in order %" PRIu64 ", unread %" PRIu64 "%s\n", e->lost_count,
           e->disorder_count, e->unread_count,
           e->filtered ? "; others were left out on request" : "");
}

void tsm_timeline_print(const struct tsm_timeline *m, const struct tsm_timeline_report *report)
{
    struct totals t = sum_up(m);

    printf("%zu requests: %zu commands, %zu ring jobs, %zu joined; kernel records lost %" PRIu64
           "\n",
           t.requests, t.commands, t.jobs, t.commands + t.jobs - t.requests, m->jobs.lost_count);
    print_events(m);
    print_cost(m);
    printf("\n%-10s %9s %11s %11s  (us)\n", "stage", "known", "average", "longest");
    for (int s = 0; s < TSM_STAGE_COUNT; s++) {
        const struct sum *sum = &t.stages[s];

        printf("%-10s %9" PRIu64, tsm_stage_name((enum tsm_stage)s), sum->count);
        print_us(sum->count ? sum->sum_ns / sum->count : TSM_CPU_NA);
        print_us(sum->count ? sum->max_ns : TSM_CPU_NA);
        printf("\n");
    }
    print_requests(m, report);
}

/* ---- for programs ---- */

static void put_ns(struct tsm_json *j, const char *name, uint64_t ns, bool known)
{
    if (known) {
        tsm_json_put_u64(j, name, ns);
        return;
    }
    tsm_json_name(j, name);
    tsm_json_string(j, NULL);
}

static void json_events(struct tsm_json *j, const struct tsm_timeline *m,
                        const struct tsm_request *r)
{
    size_t at = first_event(m, r->begin_ns), shown = 0;
    const struct tsm_cpu_event *e;
    char text[160];

    tsm_json_name(j, "events");
    tsm_json_open(j, '[');
    while (shown++ < DETAIL_MAX && (e = next_event(m, r, &at)) != NULL) {
        event_text(text, sizeof(text), m, e);
        tsm_json_open(j, '{');
        tsm_json_put_u64(j, "monotonic_ns", e->ts_ns);
        tsm_json_put_u64(j, "cpu", e->cpu);
        tsm_json_put_string(j, "event", event_name(e->type));
        tsm_json_put_string(j, "text", text);
        tsm_json_close(j, '}');
    }
    tsm_json_close(j, ']');
    tsm_json_put_bool(j, "more_events", shown > DETAIL_MAX && next_event(m, r, &at) != NULL);
}

static void json_request(struct tsm_json *j, const struct tsm_timeline *m,
                         const struct tsm_request *r, const struct tsm_timeline_report *report)
{
    const struct tsm_ring *ring = r->job ? tsm_ring_find(&m->jobs, r->job->ring) : NULL;
    char device[GRTRACE_TEXT_SIZE];

    tsm_json_open(j, '{');
    put_ns(j, "seq", r->seq, r->seq != TSM_REQUEST_NO_RECORD);
    tsm_json_put_string(j, "call", r->name);
    if (r->parent) {
        tsm_json_put_u64(j, "parent", r->parent_seq);
        tsm_json_put_string(j, "parent_call", r->parent);
    }
    put_ns(j, "stream", r->stream, r->stream != SBT_STREAM_NONE);
    tsm_json_put_u64(j, "pid", r->pid);
    tsm_json_put_u64(j, "tid", r->tid);
    tsm_json_put_u64(j, "waiter", r->waiter);
    tsm_json_put_u64(j, "cgroup", r->cgroup);
    tsm_json_put_u64(j, "begin_ns", r->begin_ns);
    tsm_json_put_u64(j, "end_ns", r->end_ns);
    if (r->job) {
        tsm_timeline_device(device, sizeof(device), m, r->job->device);
        tsm_json_put_string(j, "device", device);
        tsm_json_put_string(j, "ring", ring ? ring->name : NULL);
        tsm_json_put_u64(j, "ctx", r->job->ctx);
        tsm_json_put_u64(j, "seqno", r->job->seqno);
        tsm_json_put_u64(j, "error", r->job->error);
    }
    for (int s = 0; s < TSM_STAGE_COUNT; s++)
        put_ns(j, tsm_stage_name((enum tsm_stage)s), r->stages[s], r->stages[s] != TSM_CPU_NA);
    if (is_above(r, report))
        json_events(j, m, r);
    tsm_json_close(j, '}');
}

static void json_stages(struct tsm_json *j, const struct totals *t)
{
    tsm_json_name(j, "stages");
    tsm_json_open(j, '[');
    for (int s = 0; s < TSM_STAGE_COUNT; s++) {
        tsm_json_open(j, '{');
        tsm_json_put_string(j, "name", tsm_stage_name((enum tsm_stage)s));
        tsm_json_put_u64(j, "count", t->stages[s].count);
        tsm_json_put_u64(j, "sum_ns", t->stages[s].sum_ns);
        tsm_json_put_u64(j, "max_ns", t->stages[s].max_ns);
        tsm_json_close(j, '}');
    }
    tsm_json_close(j, ']');
}

static void json_head(struct tsm_json *j, const struct tsm_timeline *m)
{
    const struct tsm_cpu_events *e = &m->events;

    tsm_json_begin(j, "tsmerge/1");
    tsm_json_put_string(j, "trace", m->trace_path);
    tsm_json_put_string(j, "cpu_file", m->cpu_path);
    tsm_json_put_string(j, "clock", *e->clock ? e->clock : NULL);
    tsm_json_name(j, "offset_ns");
    fprintf(j->out, "%" PRId64, e->offset_ns);
    j->comma = true;
    tsm_json_put_u64(j, "start_monotonic_ns", m->requests.start_ns);
    tsm_json_put_u64(j, "cpu_events", tsm_cpu_events_count(e));
    tsm_json_put_u64(j, "cpu_lost", e->lost_count);
    tsm_json_put_u64(j, "cpu_disorder", e->disorder_count);
    tsm_json_put_u64(j, "cpu_unread", e->unread_count);
    tsm_json_put_bool(j, "cpu_filtered", e->filtered);
    tsm_json_put_u64(j, "kernel_lost", m->jobs.lost_count);
    put_ns(j, "collectors_on_cpu_ns", collector_ns(m), m->time.has_switches);
    tsm_json_put_string(j, "collector", sbt_reader_metadata_find(m->reader, "cpu.collector"));
}

void tsm_timeline_json(const struct tsm_timeline *m, const struct tsm_timeline_report *report)
{
    struct tsm_json j = {.out = stdout};
    struct totals t = sum_up(m);

    json_head(&j, m);
    json_stages(&j, &t);
    tsm_json_name(&j, "requests");
    tsm_json_open(&j, '[');
    for (size_t i = 0; i < tsm_requests_count(&m->requests); i++) {
        const struct tsm_request *r = tsm_requests_at(&m->requests, i);

        if (tsm_timeline_wants(m, r) && (report->list || !report->above_ns || is_above(r, report)))
            json_request(&j, m, r, report);
    }
    tsm_json_close(&j, ']');
    tsm_json_end(&j);
}
