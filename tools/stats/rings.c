/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/stats/rings.h"

#include "analysis/ring/jobs.h"
#include "analysis/time/intervals.h"
#include "analysis/time/samples.h"
#include "base/array.h"
#include "base/map.h"
#include "base/text.h"
#include "tools/kernel/report.h"
#include "tracesmith/error.h"

#include <stdlib.h>

struct ring_sum {
    uint32_t ring;
    uint8_t device, engine;
    uint64_t job_count, failed_count, waited_ns;
    struct tsm_samples queue, exec, complete;
    struct tsm_intervals busy;
};

/* Sums of all jobs that are wanted. */
struct rings {
    struct ring_sum *list;
    size_t count, capacity;
    struct tsm_map places; /* device and ring -> index + 1 in the list */
    int64_t first_ns, last_ns;
};

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for jobs of rings");
}

static struct ring_sum *find(struct rings *rings, const struct tsm_ring_job *job)
{
    bool added;
    uint64_t *place =
        tsm_map_insert(&rings->places, (uint64_t)job->device << 32 | job->ring, &added);

    if (place && *place)
        return &rings->list[*place - 1];
    if (!place ||
        !TSM_ARRAY_PUSH(
            rings->list, rings->count, rings->capacity,
            (struct ring_sum){.ring = job->ring, .device = job->device, .engine = job->engine}))
        return NULL;
    *place = rings->count;
    return &rings->list[rings->count - 1];
}

static bool is_wanted(const struct tsm_stats_source *source, const struct tsm_ring_job *job)
{
    const struct tsm_model_counts *c = &source->summary->counts;
    const uint64_t begin_ns = tsm_job_begin_ns(job);
    const int64_t at = (int64_t)(begin_ns - sbt_reader_session(source->reader)->start_monotonic_ns);

    return begin_ns && (!source->is_part || (at >= c->first_ns && at <= c->last_ns));
}

static bool add_span(struct tsm_samples *samples, const struct tsm_ring_job *job,
                     enum tsm_job_span span)
{
    const uint64_t ns = tsm_job_span_ns(job, span);

    return ns == TSM_SPAN_NONE || tsm_samples_add(samples, ns);
}

static bool add_busy(struct rings *rings, struct ring_sum *sum, const struct tsm_ring_job *job)
{
    const int64_t start = (int64_t)job->start_ns, end = (int64_t)job->end_ns;

    if (tsm_job_span_ns(job, TSM_SPAN_EXEC) == TSM_SPAN_NONE)
        return true;
    if (!rings->first_ns || start < rings->first_ns)
        rings->first_ns = start;
    if (end > rings->last_ns)
        rings->last_ns = end;
    return tsm_intervals_add(&sum->busy, start, end);
}

static int add_job(struct rings *rings, const struct tsm_ring_job *job)
{
    struct ring_sum *sum = find(rings, job);

    if (!sum || !add_span(&sum->queue, job, TSM_SPAN_QUEUE) ||
        !add_span(&sum->exec, job, TSM_SPAN_EXEC) ||
        !add_span(&sum->complete, job, TSM_SPAN_COMPLETE) || !add_busy(rings, sum, job))
        return no_memory();
    sum->job_count++;
    sum->failed_count += job->error != 0;
    sum->waited_ns += job->waited_ns;
    return 0;
}

static int busiest_first(const void *a, const void *b)
{
    const struct ring_sum *x = a, *y = b;

    if (x->exec.total != y->exec.total)
        return x->exec.total > y->exec.total ? -1 : 1;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return x->ring < y->ring ? -1 : x->ring > y->ring;
}

static void columns(struct tsm_table *t)
{
    t->title = "rings of the GPU, as the kernel saw them";
    tsm_table_column(t, "busy_percent", "busy", TSM_CELL_PERMILLE);
    tsm_table_column(t, "exec_ns", "total", TSM_CELL_NS);
    tsm_table_column(t, "job_count", "jobs", TSM_CELL_COUNT);
    tsm_table_column(t, "failed_count", "failed", TSM_CELL_COUNT);
    tsm_table_column(t, "exec_median_ns", "median", TSM_CELL_NS);
    tsm_table_column(t, "exec_p99_ns", "p99", TSM_CELL_NS);
    tsm_table_column(t, "queue_median_ns", "queued", TSM_CELL_NS);
    tsm_table_column(t, "queue_p99_ns", "p99 queued", TSM_CELL_NS);
    tsm_table_column(t, "complete_median_ns", "told after", TSM_CELL_NS);
    tsm_table_column(t, "waited_ns", "waited for", TSM_CELL_NS);
    tsm_table_column(t, "device", "device", TSM_CELL_COUNT);
    tsm_table_column(t, "engine", "engine", TSM_CELL_TEXT);
    tsm_table_column(t, "ring", "ring", TSM_CELL_TEXT);
}

static void percentile_cell(struct tsm_table *t, struct tsm_samples *samples, unsigned percent)
{
    tsm_table_number_or_unknown(t, samples->count,
                                samples->count ? tsm_samples_percentile(samples, percent) : 0);
}

static void row(struct tsm_table *t, struct ring_sum *sum, const struct tsm_ring *ring,
                uint64_t span_ns)
{
    char number[16];
    const uint64_t busy_ns = tsm_intervals_length(&sum->busy);

    tsm_table_number_or_unknown(t, span_ns != 0, span_ns ? tsm_permille(busy_ns, span_ns) : 0);
    tsm_table_number_or_unknown(t, sum->exec.count, sum->exec.total);
    tsm_table_number(t, sum->job_count);
    tsm_table_number(t, sum->failed_count);
    percentile_cell(t, &sum->exec, 50);
    percentile_cell(t, &sum->exec, 99);
    percentile_cell(t, &sum->queue, 50);
    percentile_cell(t, &sum->queue, 99);
    percentile_cell(t, &sum->complete, 50);
    tsm_table_number(t, sum->waited_ns);
    tsm_table_number(t, sum->device);
    tsm_table_text(t, tsm_report_engine(sum->engine));
    tsm_format(number, sizeof(number), "%u", sum->ring);
    tsm_table_text(t, ring && ring->name[0] ? ring->name : number);
}

static void finish(struct rings *rings)
{
    for (size_t i = 0; i < rings->count; i++) {
        tsm_samples_finish(&rings->list[i].queue);
        tsm_samples_finish(&rings->list[i].exec);
        tsm_samples_finish(&rings->list[i].complete);
        tsm_intervals_finish(&rings->list[i].busy);
    }
    tsm_map_finish(&rings->places);
    free(rings->list);
}

int tsm_stats_rings(struct tsm_table *t, const struct tsm_stats_source *source)
{
    struct tsm_ring_jobs jobs = {0};
    struct rings rings = {0};
    int error = tsm_report_load(&jobs, source->reader);

    columns(t);
    for (size_t i = 0; !error && i < tsm_ring_jobs_count(&jobs); i++)
        if (is_wanted(source, tsm_ring_jobs_at(&jobs, i)))
            error = add_job(&rings, tsm_ring_jobs_at(&jobs, i));
    if (rings.count)
        qsort(rings.list, rings.count, sizeof(*rings.list), busiest_first);
    for (size_t i = 0; !error && i < rings.count; i++)
        row(t, &rings.list[i], tsm_ring_find(&jobs, rings.list[i].ring),
            (uint64_t)(rings.last_ns - rings.first_ns));
    finish(&rings);
    tsm_ring_jobs_finish(&jobs);
    return error;
}
