/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/replay/time_report.h"

#include "base/text.h"
#include "tools/stats/changes.h"
#include "tools/terminal.h"

#include <inttypes.h>

#define THRESHOLD 0.05 /* as `tracesmith stats --compare` has them */
#define CHANCE    0.01

/* Times that were derived from calls are not compared with times of the device. */
static void forget_derived(struct tsm_time_groups *groups)
{
    for (size_t i = 0; i < groups->count; i++)
        if (groups->list[i].derived_count)
            tsm_samples_finish(&groups->list[i].ns);
}

static int collect_runs(struct tsm_time_report *out, const struct sbt_filter *filter,
                        struct tsm_run_times *times, unsigned by)
{
    const struct tsm_model_times source = tsm_run_times_model(times);
    int error = tsm_run_times_rewind(times);

    return error ? error : tsm_summary_collect_times(&out->timed, out->reader, filter, by, &source);
}

/* Tests whether the runs have times of commands inside of submits and the recording has none: then
 * a submit is all of it in both. */
static bool lacks_inner(const struct tsm_time_report *report)
{
    return report->timed.counts.inner_count && !report->recorded.counts.inner_count;
}

int tsm_time_report_make(struct tsm_time_report *out, struct sbt_reader *reader,
                         const struct sbt_filter *filter, struct tsm_run_times *times)
{
    int error;

    *out = (struct tsm_time_report){.reader = reader};
    error = collect_runs(out, filter, times, 0);
    if (!error)
        error = tsm_summary_collect(&out->recorded, reader, filter,
                                    out->timed.counts.inner_count ? 0 : TSM_TIME_WHOLE);
    if (!error && out->recorded.counts.measured_count && lacks_inner(out)) {
        tsm_summary_finish(&out->timed);
        error = collect_runs(out, filter, times, TSM_TIME_WHOLE);
    }
    if (error)
        return error;
    forget_derived(&out->recorded.commands);
    return tsm_steadiness_find(&out->steadiness, out->timed.run_ns, out->timed.run_count)
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for the times of runs");
}

void tsm_time_report_finish(struct tsm_time_report *report)
{
    tsm_summary_finish(&report->recorded);
    tsm_summary_finish(&report->timed);
}

/* ---- tables -------------------------------------------------------------------------------- */

/* Virtual times have no noise. */
static bool is_exact(const struct tsm_model_counts *c)
{
    return c->virtual_count && c->virtual_count == c->measured_count;
}

static int print_table(struct tsm_time_report *report, enum tsm_stats_section section,
                       struct tsm_json *json, size_t counts[TSM_CHANGE_COUNT])
{
    const struct tsm_stats_source a = {.summary = &report->recorded, .reader = report->reader},
                                  b = {.summary = &report->timed, .reader = report->reader};
    const struct tsm_compare_options how = {.threshold = THRESHOLD,
                                            .chance = CHANCE,
                                            .is_exact = is_exact(&report->recorded.counts) &&
                                                        is_exact(&report->timed.counts)};
    struct tsm_table table = {0};
    int error = tsm_stats_runs(&table, &a, &b, section, &how, counts);

    if (!error && json) {
        tsm_table_print_json(&table, json, 0);
    } else if (!error && table.row_count) {
        putchar('\n');
        tsm_table_print(&table, 0);
    }
    tsm_table_finish(&table);
    return error;
}

/* ---- steadiness ---------------------------------------------------------------------------- */

static void put_real(struct tsm_json *j, const char *name, bool is_known, double value)
{
    char text[32];

    tsm_json_name(j, name);
    if (is_known)
        tsm_json_raw(j, text, tsm_format(text, sizeof(text), "%.6g", value));
    else
        tsm_json_string(j, NULL);
}

static void json_steadiness(struct tsm_json *j, const struct tsm_steadiness *s)
{
    tsm_json_name(j, "steadiness");
    tsm_json_open(j, '{');
    tsm_json_put_bool(j, "unsteady", s->is_unsteady);
    tsm_json_put_bool(j, "varies", s->varies);
    put_real(j, "deviation_percent", s->is_known, s->deviation * 100);
    tsm_json_put_bool(j, "drifts", s->drifts);
    put_real(j, "drift_percent", s->is_drift_known, s->drift * 100);
    put_real(j, "drift_chance", s->is_drift_known, s->drift_chance);
    tsm_json_close(j, '}');
}

static void json_runs(struct tsm_json *j, const struct tsm_summary *timed)
{
    tsm_json_name(j, "run_ns");
    tsm_json_open(j, '[');
    for (size_t i = 0; i < timed->run_count; i++)
        tsm_json_u64(j, timed->run_ns[i]);
    tsm_json_close(j, ']');
}

static void print_runs(struct tsm_summary *timed)
{
    char median[32], min[32], max[32];
    struct tsm_samples runs = {0};
    bool ok = true;

    for (size_t i = 0; i < timed->run_count && ok; i++)
        ok = tsm_samples_add(&runs, timed->run_ns[i]);
    tsm_duration_text(median, sizeof(median), tsm_samples_percentile(&runs, 50));
    tsm_duration_text(min, sizeof(min), runs.min);
    tsm_duration_text(max, sizeof(max), runs.max);
    if (runs.count)
        printf("\n%zu run%s: work of %s on the device (median), %s at least, %s at most\n",
               runs.count, runs.count == 1 ? "" : "s", median, min, max);
    tsm_samples_finish(&runs);
}

static void note_steadiness(const struct tsm_steadiness *s)
{
    if (s->varies)
        tsm_note(
            "unsteady machine: the time of all work varies from run to run, standard deviation "
            "%.1f %%; differences of this size say nothing",
            s->deviation * 100);
    if (s->drifts)
        tsm_note(
            "unsteady machine: times of runs drift, by %+.1f %% from the first third to the last "
            "(probability by chance: %.2g); warm up longer, or fix the clocks",
            s->drift * 100, s->drift_chance);
    if (!s->is_drift_known)
        tsm_note("less than %u runs: whether times drifted is not known",
                 3 * TSM_STEADINESS_THIRD_MIN);
}

int tsm_time_report_print(struct tsm_time_report *report, const char *clocks, struct tsm_json *json)
{
    size_t counts[TSM_CHANGE_COUNT] = {0};
    int error;

    if (json) {
        tsm_json_put_u64(json, "timed_command_count", report->timed.counts.measured_count);
        json_runs(json, &report->timed);
        json_steadiness(json, &report->steadiness);
        tsm_json_put_string(json, "clocks", *clocks ? clocks : NULL);
    } else {
        print_runs(&report->timed);
    }
    error = print_table(report, TSM_STATS_KERNELS, json, counts);
    if (!error && (!json || report->timed.counts.inner_count))
        error = print_table(report, TSM_STATS_COMMANDS, json, counts);
    if (!error)
        error = print_table(report, TSM_STATS_COPIES, json, counts);
    if (error || json)
        return error;
    note_steadiness(&report->steadiness);
    tsm_note("clocks and power: %s", *clocks ? clocks : "not known");
    if (!report->recorded.counts.measured_count)
        tsm_note(
            "the recording has no times of the device ('tsrecord --gpu-time=1') to compare with");
    return 0;
}
