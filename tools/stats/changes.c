/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/stats/changes.h"

#include "base/array.h"
#include "tools/stats/keys.h"
#include "tracesmith/error.h"

#include <stdlib.h>

/* ---- groups of a section ------------------------------------------------------------------ */

static bool belongs(const struct tsm_time_group *group, enum tsm_stats_section section)
{
    const bool is_moving = group->key.work == TSM_WORK_COPY || group->key.work == TSM_WORK_FILL;

    if (section == TSM_STATS_WAITS)
        return group->is_wait;
    return section == TSM_STATS_CALLS || section == TSM_STATS_COMMANDS ||
           is_moving == (section == TSM_STATS_COPIES);
}

static const struct tsm_time_groups *groups_of(const struct tsm_summary *summary,
                                               enum tsm_stats_section section)
{
    const bool is_host = section == TSM_STATS_CALLS || section == TSM_STATS_WAITS;

    return is_host                         ? &summary->calls
           : section == TSM_STATS_COMMANDS ? &summary->inner
                                           : &summary->commands;
}

/* Lends the groups of a section to *out; the durations stay the summary's, and so the list alone is
 * freed afterwards. */
static bool lend(struct tsm_time_groups *out, const struct tsm_summary *summary,
                 enum tsm_stats_section section)
{
    const struct tsm_time_groups *all = groups_of(summary, section);
    bool ok = true;

    for (size_t i = 0; i < all->count && ok; i++)
        if (belongs(&all->list[i], section))
            ok = TSM_ARRAY_PUSH(out->list, out->count, out->capacity, all->list[i]);
    return ok;
}

static void give_back(struct tsm_time_groups *groups)
{
    free(groups->list);
    tsm_map_finish(&groups->places);
}

/* ---- rows --------------------------------------------------------------------------------- */

static const char *const titles[] = {
    [TSM_STATS_KERNELS] = "work on the device",
    [TSM_STATS_COMMANDS] = "commands inside of submits",
    [TSM_STATS_COPIES] = "copies and fills",
    [TSM_STATS_CALLS] = "calls of the host",
    [TSM_STATS_WAITS] = "waits of the host for the device",
};

static void change_columns(struct tsm_table *t, const char *title)
{
    tsm_table_column(t, "change", "change", TSM_CELL_TEXT);
    tsm_table_column(t, "change_percent", title, TSM_CELL_CHANGE);
    tsm_table_column(t, "chance", "chance", TSM_CELL_REAL);
}

static void columns(struct tsm_table *t, unsigned by, bool is_device)
{
    change_columns(t, "median");
    tsm_table_column(t, "median_a_ns", "median a", TSM_CELL_NS);
    tsm_table_column(t, "median_b_ns", "median b", TSM_CELL_NS);
    tsm_table_column(t, "total_a_ns", "total a", TSM_CELL_NS);
    tsm_table_column(t, "total_b_ns", "total b", TSM_CELL_NS);
    tsm_table_column(t, "count_a", "count a", TSM_CELL_COUNT);
    tsm_table_column(t, "count_b", "count b", TSM_CELL_COUNT);
    tsm_key_columns(t, by, is_device);
}

/* Tenths of percent, at most a factor of a million. */
static int64_t change_permille(const struct tsm_time_change *c)
{
    const double change = ((double)c->median_b - (double)c->median_a) * 1000 / (double)c->median_a;

    return (int64_t)(change > 1e9 ? 1e9 : change < 0 ? change - 0.5 : change + 0.5);
}

static void group_number(struct tsm_table *t, const struct tsm_time_group *group, uint64_t value)
{
    tsm_table_number_or_unknown(t, group && group->ns.count, value);
}

static void change_cells(struct tsm_table *t, const struct tsm_time_change *c)
{
    const bool is_paired = c->a && c->b && c->change != TSM_CHANGE_UNKNOWN;

    tsm_table_text(t, tsm_change_name(c->change));
    tsm_table_number_or_unknown(t, is_paired && c->median_a,
                                is_paired && c->median_a ? (uint64_t)change_permille(c) : 0);
    if (is_paired)
        tsm_table_real(t, c->chance);
    else
        tsm_table_unknown(t);
}

static void row(struct tsm_table *t, const struct tsm_time_change *c,
                const struct tsm_stats_source *source, bool is_device)
{
    change_cells(t, c);
    group_number(t, c->a, c->median_a);
    group_number(t, c->b, c->median_b);
    group_number(t, c->a, c->a ? c->a->ns.total : 0);
    group_number(t, c->b, c->b ? c->b->ns.total : 0);
    tsm_table_number(t, c->a ? c->a->count : 0);
    tsm_table_number(t, c->b ? c->b->count : 0);
    tsm_key_cells(t, source, c->a ? &c->a->key : &c->b->key, is_device);
}

static void run_columns(struct tsm_table *t, unsigned by, bool is_device)
{
    tsm_table_column(t, "count", "count", TSM_CELL_COUNT);
    tsm_table_column(t, "median_ns", "median", TSM_CELL_NS);
    tsm_table_column(t, "min_ns", "min", TSM_CELL_NS);
    tsm_table_column(t, "p99_ns", "p99", TSM_CELL_NS);
    tsm_table_column(t, "deviation_ns", "std dev", TSM_CELL_NS);
    tsm_table_column(t, "timed_count", "timed", TSM_CELL_COUNT);
    tsm_table_column(t, "recorded_median_ns", "recorded", TSM_CELL_NS);
    change_columns(t, "by");
    tsm_key_columns(t, by, is_device);
}

static void run_row(struct tsm_table *t, const struct tsm_time_change *c,
                    const struct tsm_stats_source *source, bool is_device)
{
    struct tsm_time_group *b = c->b;

    tsm_table_number(t, b ? b->count : 0);
    group_number(t, b, c->median_b);
    group_number(t, b, b ? b->ns.min : 0);
    group_number(t, b, b ? tsm_samples_percentile(&b->ns, 99) : 0);
    tsm_table_number_or_unknown(t, b && b->ns.count > 1,
                                b ? (uint64_t)tsm_samples_deviation(&b->ns) : 0);
    tsm_table_number(t, b ? b->ns.count : 0);
    group_number(t, c->a, c->median_a);
    change_cells(t, c);
    tsm_key_cells(t, source, b ? &b->key : &c->a->key, is_device);
}

/* How a table shows changes. */
struct shape {
    void (*columns)(struct tsm_table *t, unsigned by, bool is_device);
    void (*row)(struct tsm_table *t, const struct tsm_time_change *c,
                const struct tsm_stats_source *source, bool is_device);
};

static int fill(struct tsm_table *out, const struct shape *shape, const struct tsm_stats_source *a,
                const struct tsm_stats_source *b, enum tsm_stats_section section,
                const struct tsm_compare_options *options, size_t counts[TSM_CHANGE_COUNT])
{
    const bool is_device = section != TSM_STATS_CALLS && section != TSM_STATS_WAITS;
    struct tsm_compare_options how = *options;
    struct tsm_stats_source shown = *a;
    struct tsm_time_groups groups_a = {0}, groups_b = {0};
    struct tsm_time_changes changes = {0};
    int error = 0;

    out->name = tsm_stats_section_name(section);
    out->title = titles[section];
    if (section == TSM_STATS_COMMANDS)
        shown.by &= ~TSM_TIME_BY_GRID;
    how.is_exact &= is_device; /* the host's calls are in real time */
    shape->columns(out, shown.by, is_device);
    if (!lend(&groups_a, a->summary, section) || !lend(&groups_b, b->summary, section))
        error = tsm_fail(TSM_E_MEMORY, "out of memory to compare with");
    if (!error)
        error = tsm_time_compare(&changes, &groups_a, &groups_b, &how);
    for (size_t i = 0; i < changes.count; i++) {
        shape->row(out, &changes.list[i], &shown, is_device);
        counts[changes.list[i].change]++;
    }
    tsm_time_changes_finish(&changes);
    give_back(&groups_a);
    give_back(&groups_b);
    return error;
}

int tsm_stats_changes(struct tsm_table *out, const struct tsm_stats_source *a,
                      const struct tsm_stats_source *b, enum tsm_stats_section section,
                      const struct tsm_compare_options *options, size_t counts[TSM_CHANGE_COUNT])
{
    const struct shape shape = {columns, row};

    return fill(out, &shape, a, b, section, options, counts);
}

int tsm_stats_runs(struct tsm_table *out, const struct tsm_stats_source *a,
                   const struct tsm_stats_source *b, enum tsm_stats_section section,
                   const struct tsm_compare_options *options, size_t counts[TSM_CHANGE_COUNT])
{
    const struct shape shape = {run_columns, run_row};

    return fill(out, &shape, a, b, section, options, counts);
}
