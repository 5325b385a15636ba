/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/kernel/report.h"

#include "base/text.h"
#include "tools/kernel/groups.h"
#include "tools/terminal.h"
#include "tools/text/json_out.h"
#include "tracesmith/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SLOW_NS 10000000u

static uint64_t counted(const char *stats, const char *line)
{
    const char *at = strstr(stats, line);

    return at ? strtoull(at + strlen(line), NULL, 10) : 0;
}

/* Returns the losses that the backend counted itself, also those after a CPU's last record, and
 * records that nobody read. */
static uint64_t counted_lost(const struct sbt_reader *reader)
{
    const char *stats = sbt_reader_metadata_find(reader, "kernel.stats");
    const char *text = sbt_reader_metadata_find(reader, "kernel.collected");
    uint64_t written, collected;

    if (!stats)
        return 0;
    written = counted(stats, "\nwritten ");
    collected = text ? strtoull(text, NULL, 10) : written;
    return counted(stats, "\nlost ") + (written > collected ? written - collected : 0);
}

int tsm_report_load(struct tsm_ring_jobs *jobs, struct sbt_reader *reader)
{
    uint8_t *records;
    size_t size, chunk = 0;
    int error;

    while ((error = sbt_reader_kernel_events(reader, chunk++, &records, &size)) == 0) {
        error = tsm_ring_jobs_add(jobs, records, size);
        if (error)
            return error;
    }
    if (error != TSM_E_NOT_FOUND)
        return error;
    error = tsm_ring_jobs_build(jobs);
    if (!error && counted_lost(reader) > jobs->lost_count)
        jobs->lost_count = counted_lost(reader);
    return error;
}

const char *tsm_report_engine(uint8_t engine)
{
    static const char *const names[] = {"unknown", "render",  "compute", "copy",
                                        "video",   "display", "control"};

    return names[engine < sizeof(names) / sizeof(names[0]) ? engine : 0];
}

static bool above(const struct tsm_ring_job *job, enum tsm_job_span span, uint64_t limit_ns)
{
    uint64_t ns = tsm_job_span_ns(job, span);

    return ns != TSM_SPAN_NONE && ns > (limit_ns ? limit_ns : SLOW_NS);
}

const char *tsm_report_label(const struct tsm_ring_job *job, const struct tsm_report_values *v)
{
    if (job->error)
        return "failed";
    if (!job->complete_ns)
        return "unfinished";
    if (job->flags & TSM_JOB_PREEMPTED)
        return "preempted";
    if (above(job, TSM_SPAN_QUEUE, v->queue_ns))
        return "long-queue";
    if (above(job, TSM_SPAN_EXEC, v->exec_ns) || job->flags & TSM_JOB_SLOW)
        return "slow-exec";
    return "";
}

/* ---- which jobs, in which order ---- */

static bool wanted(const struct tsm_ring_job *job, uint64_t start_ns,
                   const struct tsm_report_values *v)
{
    double s = ((double)tsm_job_begin_ns(job) - (double)start_ns) / 1e9;

    return (v->since_s <= 0 || s >= v->since_s) && (v->until_s <= 0 || s < v->until_s);
}

struct pick {
    const struct tsm_ring_job *job;
    uint64_t value;
    size_t place;
};

static int longest_first(const void *a, const void *b)
{
    const struct pick *x = a, *y = b;

    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* malloc'ed; *count of them. */
static struct pick *pick_jobs(const struct tsm_ring_jobs *jobs, uint64_t start_ns,
                              const struct tsm_report_values *v, size_t *count)
{
    struct pick *picks = calloc(tsm_ring_jobs_count(jobs) + 1, sizeof(*picks));
    uint64_t most = v->top && (!v->limit || v->top < v->limit) ? v->top : v->limit;

    *count = 0;
    for (size_t i = 0; picks && i < tsm_ring_jobs_count(jobs); i++) {
        const struct tsm_ring_job *job = tsm_ring_jobs_at(jobs, i);
        uint64_t ns = tsm_job_span_ns(job, (enum tsm_job_span)v->span);

        if (wanted(job, start_ns, v) && !(v->top && ns == TSM_SPAN_NONE))
            picks[(*count)++] = (struct pick){job, ns, i};
    }
    if (picks && v->top)
        qsort(picks, *count, sizeof(*picks), longest_first);
    if (most && *count > most)
        *count = most;
    return picks;
}

/* ---- jobs ---- */

#define TIMES_COUNT 5
static const char *const time_names[TIMES_COUNT] = {"commit_ns", "submit_ns", "start_ns", "end_ns",
                                                    "complete_ns"};

static uint64_t time_of(const struct tsm_ring_job *job, size_t which)
{
    const uint64_t times[TIMES_COUNT] = {job->commit_ns, job->submit_ns, job->start_ns, job->end_ns,
                                         job->complete_ns};

    return times[which];
}

/* A driver's ring names are words; whatever else a file says must not break the table. */
static void clean_word(char out[TSM_RING_NAME_SIZE], const char *text)
{
    size_t i = 0;

    for (; text[i] && i < TSM_RING_NAME_SIZE - 1; i++) {
        bool good =
            (unsigned char)text[i] > ' ' && text[i] != ',' && text[i] != '"' && text[i] != 127;
        out[i] = good ? text[i] : '_';
    }
    out[i] = 0;
}

static void ring_name(char out[TSM_RING_NAME_SIZE], const struct tsm_ring_jobs *jobs, uint32_t id)
{
    const struct tsm_ring *ring = tsm_ring_find(jobs, id);

    clean_word(out, ring ? ring->name : "?");
}

static void print_csv_head(void)
{
    printf("device,ring,ring_name,engine,ctx,seqno,pid,error,label");
    for (size_t i = 0; i < TIMES_COUNT; i++)
        printf(",%s", time_names[i]);
    for (int i = 0; i < TSM_SPAN_COUNT; i++)
        printf(",%s_ns", tsm_job_span_name((enum tsm_job_span)i));
    printf("\n");
}

static void print_csv(const struct tsm_ring_jobs *jobs, const struct tsm_ring_job *job,
                      uint64_t start_ns, const struct tsm_report_values *v)
{
    char name[TSM_RING_NAME_SIZE];

    ring_name(name, jobs, job->ring);
    printf("%u,%u,%s,%s,%" PRIu64 ",%" PRIu64 ",%u,%u,%s", job->device, job->ring, tsm_clean(name),
           tsm_report_engine(job->engine), job->ctx, job->seqno, job->pid, job->error,
           tsm_report_label(job, v));
    for (size_t i = 0; i < TIMES_COUNT; i++) {
        if (time_of(job, i))
            printf(",%" PRId64, (int64_t)(time_of(job, i) - start_ns));
        else
            printf(",NA");
    }
    for (int i = 0; i < TSM_SPAN_COUNT; i++) {
        uint64_t ns = tsm_job_span_ns(job, (enum tsm_job_span)i);
        if (ns == TSM_SPAN_NONE)
            printf(",NA");
        else
            printf(",%" PRIu64, ns);
    }
    printf("\n");
}

static void put_span(struct tsm_json *j, const char *name, uint64_t ns, bool known)
{
    if (known) {
        tsm_json_put_u64(j, name, ns);
        return;
    }
    tsm_json_name(j, name);
    tsm_json_string(j, NULL);
}

static void print_json(struct tsm_json *j, const struct tsm_ring_jobs *jobs,
                       const struct tsm_ring_job *job, const struct tsm_report_values *v)
{
    char name[TSM_RING_NAME_SIZE];

    ring_name(name, jobs, job->ring);
    tsm_json_open(j, '{');
    tsm_json_put_u64(j, "device", job->device);
    tsm_json_put_u64(j, "ring", job->ring);
    tsm_json_put_string(j, "ring_name", name);
    tsm_json_put_string(j, "engine", tsm_report_engine(job->engine));
    tsm_json_put_u64(j, "ctx", job->ctx);
    tsm_json_put_u64(j, "seqno", job->seqno);
    tsm_json_put_u64(j, "pid", job->pid);
    tsm_json_put_u64(j, "error", job->error);
    tsm_json_put_string(j, "label", tsm_report_label(job, v));
    for (size_t i = 0; i < TIMES_COUNT; i++)
        put_span(j, time_names[i], time_of(job, i), time_of(job, i) != 0);
    for (int i = 0; i < TSM_SPAN_COUNT; i++) {
        uint64_t ns = tsm_job_span_ns(job, (enum tsm_job_span)i);
        put_span(j, tsm_job_span_name((enum tsm_job_span)i), ns, ns != TSM_SPAN_NONE);
    }
    tsm_json_close(j, '}');
}

static void print_us(uint64_t ns)
{
    if (ns == TSM_SPAN_NONE)
        printf(" %12s", "NA");
    else
        printf(" %12.1f", (double)ns / 1e3);
}

static void print_text(const struct tsm_ring_jobs *jobs, const struct tsm_ring_job *job,
                       uint64_t start_ns, const struct tsm_report_values *v)
{
    char name[TSM_RING_NAME_SIZE], text[128];

    ring_name(name, jobs, job->ring);
    tsm_format(text, sizeof(text), "%s ctx %" PRIu64 " #%" PRIu64 " pid %u", name, job->ctx,
               job->seqno, job->pid);
    printf("%12.6f %-34s", ((double)tsm_job_begin_ns(job) - (double)start_ns) / 1e9,
           tsm_clean(text));
    for (int i = 0; i < TSM_SPAN_COUNT; i++)
        print_us(tsm_job_span_ns(job, (enum tsm_job_span)i));
    printf("%s%s\n", *tsm_report_label(job, v) ? "  " : "", tsm_report_label(job, v));
}

static void print_jobs(const struct tsm_ring_jobs *jobs, const struct pick *picks, size_t count,
                       uint64_t start_ns, const struct tsm_report_values *v)
{
    struct tsm_json j = {.out = stdout};

    if (v->format == TSM_REPORT_CSV) {
        print_csv_head();
    } else if (v->format == TSM_REPORT_JSON) {
        tsm_json_begin(&j, "grtrace-jobs/1");
        tsm_json_put_u64(&j, "start_monotonic_ns", start_ns);
        tsm_json_put_u64(&j, "lost", jobs->lost_count);
        tsm_json_name(&j, "jobs");
        tsm_json_open(&j, '[');
    } else {
        printf("%12s %-34s", "seconds", "job");
        for (int i = 0; i < TSM_SPAN_COUNT; i++)
            printf(" %12s", tsm_job_span_name((enum tsm_job_span)i));
        printf("  (us)\n");
    }
    for (size_t i = 0; i < count; i++) {
        if (v->format == TSM_REPORT_CSV)
            print_csv(jobs, picks[i].job, start_ns, v);
        else if (v->format == TSM_REPORT_JSON)
            print_json(&j, jobs, picks[i].job, v);
        else
            print_text(jobs, picks[i].job, start_ns, v);
    }
    if (v->format == TSM_REPORT_JSON) {
        tsm_json_close(&j, ']');
        tsm_json_end(&j);
    }
}

int tsm_report_print(const struct tsm_ring_jobs *jobs, const struct sbt_reader *reader,
                     const struct tsm_report_values *v)
{
    uint64_t start_ns = sbt_reader_session(reader)->start_monotonic_ns;
    struct pick *picks;
    size_t count;
    int error = 0;

    if (v->overhead) {
        tsm_groups_overhead(jobs, reader);
        return 0;
    }
    picks = pick_jobs(jobs, start_ns, v, &count);
    if (!picks)
        return tsm_fail(TSM_E_MEMORY, "out of memory for %zu jobs", tsm_ring_jobs_count(jobs));
    if (v->by == TSM_REPORT_JOB && !v->histogram) {
        print_jobs(jobs, picks, count, start_ns, v);
    } else {
        struct tsm_groups groups = {.by = v->histogram ? TSM_REPORT_RING : v->by};
        for (size_t i = 0; i < count && !error; i++)
            error = tsm_groups_add(&groups, picks[i].job);
        if (!error)
            tsm_groups_print(&groups, jobs, v);
        tsm_groups_finish(&groups);
    }
    free(picks);
    return error;
}
