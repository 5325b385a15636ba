/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/kernel/groups.h"
#include "tools/terminal.h"

#include "base/text.h"
#include "tools/text/json_out.h"
#include "tracesmith/error.h"

#include <inttypes.h>
#include <string.h>

static uint64_t key_of(const struct tsm_groups *groups, const struct tsm_ring_job *job)
{
    switch (groups->by) {
    case TSM_REPORT_ENGINE:
        return job->engine;
    case TSM_REPORT_CONTEXT:
        return job->ctx;
    default:
        return job->ring;
    }
}

static struct tsm_group *group_at(const struct tsm_groups *groups, size_t index)
{
    return (struct tsm_group *)(void *)groups->groups.data + index;
}

static size_t group_count(const struct tsm_groups *groups)
{
    return groups->groups.size / sizeof(struct tsm_group);
}

static void add_span(struct tsm_group_span *span, uint64_t ns)
{
    unsigned bucket = ns ? 64 - (unsigned)__builtin_clzll(ns) : 0;

    if (ns == TSM_SPAN_NONE)
        return;
    span->count++;
    span->sum_ns += ns;
    span->max_ns = ns > span->max_ns ? ns : span->max_ns;
    span->buckets[bucket < TSM_GROUP_BUCKETS ? bucket : TSM_GROUP_BUCKETS - 1]++;
}

int tsm_groups_add(struct tsm_groups *groups, const struct tsm_ring_job *job)
{
    struct tsm_group made = {.key = key_of(groups, job)}, *group;
    bool added = false;
    uint64_t *place = tsm_map_insert(&groups->places, made.key, &added);

    if (added) {
        *place = group_count(groups);
        tsm_buffer_add(&groups->groups, &made, sizeof(made));
    }
    if (!place || groups->groups.failed)
        return tsm_fail(TSM_E_MEMORY, "out of memory for sums");
    group = group_at(groups, *place);
    group->jobs++;
    group->failed += job->error != 0;
    group->preempted += (job->flags & TSM_JOB_PREEMPTED) != 0;
    for (int i = 0; i < TSM_SPAN_COUNT; i++)
        add_span(&group->spans[i], tsm_job_span_ns(job, (enum tsm_job_span)i));
    return 0;
}

void tsm_groups_finish(struct tsm_groups *groups)
{
    tsm_buffer_finish(&groups->groups);
    tsm_map_finish(&groups->places);
}

/* ---- printing ---- */

static void group_name(char *out, size_t size, const struct tsm_groups *groups,
                       const struct tsm_ring_jobs *jobs, uint64_t key)
{
    const struct tsm_ring *ring;
    size_t used;

    if (groups->by == TSM_REPORT_ENGINE) {
        tsm_format(out, size, "%s", tsm_report_engine((uint8_t)key));
        return;
    }
    ring = groups->by == TSM_REPORT_RING ? tsm_ring_find(jobs, (uint32_t)key) : NULL;
    used = ring ? tsm_format(out, size, "%s", ring->name) : tsm_format(out, size, "%" PRIu64, key);
    for (size_t i = 0; i < used; i++) {
        if ((unsigned char)out[i] <= ' ' || out[i] == ',' || out[i] == '"')
            out[i] = '_';
    }
}

static uint64_t mean(const struct tsm_group_span *span)
{
    return span->count ? span->sum_ns / span->count : 0;
}

static const char *const by_names[] = {"job", "ring", "engine", "context"};

static void print_rows(const struct tsm_groups *groups, const struct tsm_ring_jobs *jobs, bool csv)
{
    char name[80];

    printf(csv ? "%s,jobs,failed,preempted" : "%-16s %8s %8s %9s", by_names[groups->by], "jobs",
           "failed", "preempted");
    for (int s = 0; s < TSM_SPAN_COUNT; s++)
        printf(csv ? ",%s_mean_ns,%s_max_ns" : " %s:mean:max(us)",
               tsm_job_span_name((enum tsm_job_span)s), tsm_job_span_name((enum tsm_job_span)s));
    printf("\n");
    for (size_t i = 0; i < group_count(groups); i++) {
        const struct tsm_group *g = group_at(groups, i);

        group_name(name, sizeof(name), groups, jobs, g->key);
        printf(csv ? "%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64
                   : "%-16s %8" PRIu64 " %8" PRIu64 " %9" PRIu64,
               name, g->jobs, g->failed, g->preempted);
        for (int s = 0; s < TSM_SPAN_COUNT; s++) {
            const struct tsm_group_span *span = &g->spans[s];
            if (!span->count)
                printf(csv ? ",NA,NA" : " NA");
            else if (csv)
                printf(",%" PRIu64 ",%" PRIu64, mean(span), span->max_ns);
            else
                printf(" %.1f:%.1f", (double)mean(span) / 1e3, (double)span->max_ns / 1e3);
        }
        printf("\n");
    }
}

static void print_json(const struct tsm_groups *groups, const struct tsm_ring_jobs *jobs)
{
    struct tsm_json j = {.out = stdout};
    char name[80];

    tsm_json_begin(&j, "grtrace-sums/1");
    tsm_json_put_string(&j, "by", by_names[groups->by]);
    tsm_json_name(&j, "groups");
    tsm_json_open(&j, '[');
    for (size_t i = 0; i < group_count(groups); i++) {
        const struct tsm_group *g = group_at(groups, i);

        group_name(name, sizeof(name), groups, jobs, g->key);
        tsm_json_open(&j, '{');
        tsm_json_put_string(&j, "name", name);
        tsm_json_put_u64(&j, "jobs", g->jobs);
        tsm_json_put_u64(&j, "failed", g->failed);
        tsm_json_put_u64(&j, "preempted", g->preempted);
        for (int s = 0; s < TSM_SPAN_COUNT; s++) {
            tsm_json_name(&j, tsm_job_span_name((enum tsm_job_span)s));
            tsm_json_open(&j, '{');
            tsm_json_put_u64(&j, "count", g->spans[s].count);
            tsm_json_put_u64(&j, "sum_ns", g->spans[s].sum_ns);
            tsm_json_put_u64(&j, "max_ns", g->spans[s].max_ns);
            tsm_json_close(&j, '}');
        }
        tsm_json_close(&j, '}');
    }
    tsm_json_close(&j, ']');
    tsm_json_end(&j);
}

/* [low, high) in ns and the count, for each bucket that holds something. */
static void print_histograms(const struct tsm_groups *groups, const struct tsm_ring_jobs *jobs,
                             int span)
{
    char name[80];

    printf("ring,span,low_ns,high_ns,count\n");
    for (size_t i = 0; i < group_count(groups); i++) {
        const uint64_t *buckets = group_at(groups, i)->spans[span].buckets;

        group_name(name, sizeof(name), groups, jobs, group_at(groups, i)->key);
        for (unsigned b = 0; b < TSM_GROUP_BUCKETS; b++) {
            if (!buckets[b])
                continue;
            printf("%s,%s,%llu,", name, tsm_job_span_name((enum tsm_job_span)span),
                   b ? 1ull << (b - 1) : 0ull);
            if (b == TSM_GROUP_BUCKETS - 1)
                printf("NA,%" PRIu64 "\n", buckets[b]);
            else
                printf("%llu,%" PRIu64 "\n", 1ull << b, buckets[b]);
        }
    }
}

void tsm_groups_print(const struct tsm_groups *groups, const struct tsm_ring_jobs *jobs,
                      const struct tsm_report_values *v)
{
    if (v->histogram)
        print_histograms(groups, jobs, v->span);
    else if (v->format == TSM_REPORT_JSON)
        print_json(groups, jobs);
    else
        print_rows(groups, jobs, v->format == TSM_REPORT_CSV);
}

/* ---- overhead ---- */

void tsm_groups_overhead(const struct tsm_ring_jobs *jobs, const struct sbt_reader *reader)
{
    const struct tsm_ring_record *records = (const void *)jobs->records.data;
    size_t count = jobs->records.size / sizeof(*records);
    uint64_t ns = count ? records[count - 1].ts_ns - records[0].ts_ns : 0;
    double seconds = ns ? (double)ns / 1e9 : 1;
    const char *stats = sbt_reader_metadata_find(reader, "kernel.stats");
    const char *hist = sbt_reader_metadata_find(reader, "kernel.latency_hist");

    printf("records %zu\nlost %" PRIu64 "\nseconds %.6f\nrecords_per_second %.1f\n"
           "lost_per_second %.1f\n",
           count, jobs->lost_count, ns ? seconds : 0.0, (double)count / seconds,
           (double)jobs->lost_count / seconds);
    if (stats) {
        printf("-- the module's counters when the session ended\n");
        tsm_put_lines(stdout, stats);
    }
    if (hist) {
        printf("-- its histograms: name, from ns, to ns, count (write_ns: one write in 256)\n");
        tsm_put_lines(stdout, hist);
    }
}
