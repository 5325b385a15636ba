/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/stats/tables.h"

#include "tools/stats/frame_names.h"
#include "tools/stats/keys.h"
#include "tools/stats/rings.h"

#include <stdlib.h>

const char *tsm_stats_section_name(enum tsm_stats_section section)
{
    static const char *const names[TSM_STATS_COUNT] = {"kernels", "commands", "copies",  "calls",
                                                       "waits",   "memory",   "streams", "engines",
                                                       "rings",   "devices",  "sites"};

    return names[section];
}

uint64_t tsm_permille(uint64_t part, uint64_t whole)
{
    return whole ? (uint64_t)(((unsigned __int128)part * 1000 + whole / 2) / whole) : 0;
}

/* ---- columns that several tables have ------------------------------------------------------ */

static void time_columns(struct tsm_table *t)
{
    tsm_table_column(t, "share_percent", "share", TSM_CELL_PERMILLE);
    tsm_table_column(t, "total_ns", "total", TSM_CELL_NS);
    tsm_table_column(t, "count", "count", TSM_CELL_COUNT);
    tsm_table_column(t, "mean_ns", "mean", TSM_CELL_NS);
    tsm_table_column(t, "median_ns", "median", TSM_CELL_NS);
    tsm_table_column(t, "min_ns", "min", TSM_CELL_NS);
    tsm_table_column(t, "max_ns", "max", TSM_CELL_NS);
    tsm_table_column(t, "p99_ns", "p99", TSM_CELL_NS);
    tsm_table_column(t, "deviation_ns", "std dev", TSM_CELL_NS);
}

static void time_cells(struct tsm_table *t, struct tsm_time_group *group, uint64_t all_ns)
{
    struct tsm_samples *ns = &group->ns;
    const bool is_known = ns->count;

    tsm_table_number_or_unknown(t, is_known && all_ns, tsm_permille(ns->total, all_ns));
    tsm_table_number_or_unknown(t, is_known, ns->total);
    tsm_table_number(t, group->count);
    tsm_table_number_or_unknown(t, is_known, tsm_samples_mean(ns));
    tsm_table_number_or_unknown(t, is_known, tsm_samples_percentile(ns, 50));
    tsm_table_number_or_unknown(t, is_known, ns->min);
    tsm_table_number_or_unknown(t, is_known, ns->max);
    tsm_table_number_or_unknown(t, is_known, tsm_samples_percentile(ns, 99));
    tsm_table_number_or_unknown(t, ns->count > 1, (uint64_t)tsm_samples_deviation(ns));
}

/* ---- device work --------------------------------------------------------------------------- */

static bool is_moving(const struct tsm_time_group *group)
{
    return group->key.work == TSM_WORK_COPY || group->key.work == TSM_WORK_FILL;
}

/* Adds to a sum that stays at UINT64_MAX. */
static void add_ns(uint64_t *sum, uint64_t ns)
{
    if (__builtin_add_overflow(*sum, ns, sum))
        *sum = UINT64_MAX;
}

static uint64_t sum_ns(const struct tsm_time_groups *groups,
                       bool (*wanted)(const struct tsm_time_group *), bool result)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < groups->count; i++)
        if (wanted(&groups->list[i]) == result)
            add_ns(&sum, groups->list[i].ns.total);
    return sum;
}

static void kernels(struct tsm_table *t, const struct tsm_stats_source *source)
{
    struct tsm_time_groups *groups = &source->summary->commands;
    const uint64_t all_ns = sum_ns(groups, is_moving, false);

    t->title = "work on the device";
    time_columns(t);
    tsm_table_column(t, "timed_count", "timed", TSM_CELL_COUNT);
    tsm_table_column(t, "work", "work", TSM_CELL_TEXT);
    tsm_key_columns(t, source->by, true);
    for (size_t i = 0; i < groups->count; i++) {
        struct tsm_time_group *group = &groups->list[i];

        if (is_moving(group))
            continue;
        time_cells(t, group, all_ns);
        tsm_table_number(t, group->ns.count - group->derived_count);
        tsm_table_text(t, tsm_work_name(group->key.work));
        tsm_key_cells(t, source, &group->key, true);
    }
}

static uint64_t all_of(const struct tsm_time_groups *groups)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < groups->count; i++)
        add_ns(&sum, groups->list[i].ns.total);
    return sum;
}

/* Leaves out what else submits took: that is in the table of kernels. */
static void commands(struct tsm_table *t, const struct tsm_stats_source *source)
{
    struct tsm_time_groups *groups = &source->summary->inner;
    const unsigned by = source->by & ~TSM_TIME_BY_GRID;
    const uint64_t all_ns = all_of(groups);

    t->title = "commands inside of submits";
    time_columns(t);
    tsm_table_column(t, "work", "work", TSM_CELL_TEXT);
    tsm_key_columns(t, by, true);
    for (size_t i = 0; i < groups->count; i++) {
        struct tsm_stats_source plain = *source;

        plain.by = by;
        time_cells(t, &groups->list[i], all_ns);
        tsm_table_text(t, tsm_work_name(groups->list[i].key.work));
        tsm_key_cells(t, &plain, &groups->list[i].key, true);
    }
}

static uint64_t rate(const struct tsm_time_group *group)
{
    return (uint64_t)((double)group->bytes * 1e9 / (double)group->ns.total);
}

static void copies(struct tsm_table *t, const struct tsm_stats_source *source)
{
    struct tsm_time_groups *groups = &source->summary->commands;
    const uint64_t all_ns = sum_ns(groups, is_moving, true);

    t->title = "copies and fills";
    time_columns(t);
    tsm_table_column(t, "timed_count", "timed", TSM_CELL_COUNT);
    tsm_table_column(t, "bytes", "bytes", TSM_CELL_BYTES);
    tsm_table_column(t, "bytes_per_second", "rate", TSM_CELL_RATE);
    tsm_key_columns(t, source->by & ~TSM_TIME_BY_GRID, true);
    for (size_t i = 0; i < groups->count; i++) {
        struct tsm_time_group *group = &groups->list[i];
        struct tsm_stats_source plain = *source;

        if (!is_moving(group))
            continue;
        plain.by &= ~TSM_TIME_BY_GRID;
        time_cells(t, group, all_ns);
        tsm_table_number(t, group->ns.count - group->derived_count);
        tsm_table_number_or_unknown(t, group->ns.count, group->bytes);
        tsm_table_number_or_unknown(t, group->ns.total, group->ns.total ? rate(group) : 0);
        tsm_key_cells(t, &plain, &group->key, true);
    }
}

/* ---- the host ------------------------------------------------------------------------------ */

static bool is_waiting(const struct tsm_time_group *group)
{
    return group->is_wait;
}

static void calls(struct tsm_table *t, const struct tsm_stats_source *source, bool waits_only)
{
    struct tsm_time_groups *groups = &source->summary->calls;
    const uint64_t waits_ns = sum_ns(groups, is_waiting, true);
    uint64_t all_ns = waits_ns;

    if (!waits_only)
        add_ns(&all_ns, sum_ns(groups, is_waiting, false));
    t->title = waits_only ? "waits of the host for the device" : "calls of the host";
    time_columns(t);
    tsm_table_column(t, "failed_count", "failed", TSM_CELL_COUNT);
    tsm_key_columns(t, source->by, false);
    for (size_t i = 0; i < groups->count; i++) {
        if (waits_only && !is_waiting(&groups->list[i]))
            continue;
        time_cells(t, &groups->list[i], all_ns);
        tsm_table_number(t, groups->list[i].failed_count);
        tsm_key_cells(t, source, &groups->list[i].key, false);
    }
}

static void memory(struct tsm_table *t, const struct tsm_summary *summary)
{
    t->title = "memory that the program allocated";
    tsm_table_column(t, "place", "place", TSM_CELL_TEXT);
    tsm_table_column(t, "peak_bytes", "peak", TSM_CELL_BYTES);
    tsm_table_column(t, "peak_time_ns", "at", TSM_CELL_NS);
    tsm_table_column(t, "peak_seq", "record", TSM_CELL_COUNT);
    tsm_table_column(t, "live_bytes", "at the end", TSM_CELL_BYTES);
    tsm_table_column(t, "allocated_count", "allocations", TSM_CELL_COUNT);
    tsm_table_column(t, "allocated_bytes", "allocated", TSM_CELL_BYTES);
    tsm_table_column(t, "freed_count", "frees", TSM_CELL_COUNT);
    for (unsigned place = 0; place < TSM_PLACE_COUNT; place++) {
        const struct tsm_memory_sum *m = &summary->memory[place];

        if (!m->allocated_count && !m->freed_count)
            continue;
        tsm_table_text(t, tsm_place_name((enum tsm_place)place));
        tsm_table_number(t, m->peak_bytes);
        tsm_table_number(t, m->peak_time_ns);
        tsm_table_number(t, m->peak_seq);
        tsm_table_number(t, m->live_bytes);
        tsm_table_number(t, m->allocated_count);
        tsm_table_number(t, m->allocated_bytes);
        tsm_table_number(t, m->freed_count);
    }
}

/* ---- how busy ------------------------------------------------------------------------------ */

static void busy_columns(struct tsm_table *t)
{
    tsm_table_column(t, "busy_percent", "busy", TSM_CELL_PERMILLE);
    tsm_table_column(t, "busy_ns", "any work", TSM_CELL_NS);
    tsm_table_column(t, "compute_ns", "compute", TSM_CELL_NS);
    tsm_table_column(t, "copy_ns", "copies", TSM_CELL_NS);
    tsm_table_column(t, "overlap_ns", "both", TSM_CELL_NS);
}

struct busy {
    uint64_t compute_ns, copy_ns, any_ns;
    enum tsm_time_axis axis; /* of all of it */
    bool is_known;
};

static void busy_cells(struct tsm_table *t, const struct busy *b, const struct tsm_summary *summary)
{
    const struct tsm_model_counts *c = &summary->counts;
    const uint64_t span_ns = b->axis == TSM_AXIS_VIRTUAL
                                 ? (uint64_t)c->virtual_last_ns - (uint64_t)c->virtual_first_ns
                                 : (uint64_t)c->last_ns - (uint64_t)c->first_ns;

    tsm_table_number_or_unknown(t, b->is_known && span_ns, tsm_permille(b->any_ns, span_ns));
    tsm_table_number_or_unknown(t, b->is_known, b->any_ns);
    tsm_table_number_or_unknown(t, b->is_known, b->compute_ns);
    tsm_table_number_or_unknown(t, b->is_known, b->copy_ns);
    tsm_table_number_or_unknown(t, b->is_known, b->compute_ns + b->copy_ns - b->any_ns);
}

static struct busy stream_busy(struct tsm_table *t, struct tsm_stream_sum *stream)
{
    struct tsm_intervals all = {0};
    struct busy b = {.compute_ns = tsm_intervals_length(&stream->busy[TSM_ENGINE_COMPUTE]),
                     .copy_ns = tsm_intervals_length(&stream->busy[TSM_ENGINE_COPY]),
                     .axis = stream->axis,
                     .is_known = stream->placed_count};

    t->failed |= !tsm_intervals_add_all(&all, &stream->busy[TSM_ENGINE_COMPUTE]) ||
                 !tsm_intervals_add_all(&all, &stream->busy[TSM_ENGINE_COPY]);
    b.any_ns = tsm_intervals_length(&all);
    tsm_intervals_finish(&all);
    return b;
}

static void streams(struct tsm_table *t, const struct tsm_summary *summary)
{
    char name[TSM_DEVICE_NAME_MAX];

    t->title = "streams";
    tsm_table_column(t, "stream", "stream", TSM_CELL_COUNT);
    tsm_table_column(t, "command_count", "commands", TSM_CELL_COUNT);
    tsm_table_column(t, "timed_count", "timed", TSM_CELL_COUNT);
    busy_columns(t);
    tsm_table_column(t, "device", "device", TSM_CELL_TEXT);
    for (size_t i = 0; i < summary->stream_count; i++) {
        struct tsm_stream_sum *stream = &summary->streams[i];
        const struct busy b = stream_busy(t, stream);

        tsm_table_number(t, stream->stream);
        tsm_table_number(t, stream->command_count);
        tsm_table_number(t, stream->timed_count);
        busy_cells(t, &b, summary);
        tsm_table_text(t, tsm_device_name(name, &stream->device));
    }
}

static uint64_t engine_ns(struct tsm_table *t, const struct tsm_summary *summary,
                          const struct tsm_device *device, enum tsm_engine engine)
{
    struct tsm_intervals busy = {0};
    uint64_t ns;

    t->failed |= !tsm_summary_busy(&busy, summary, device, engine);
    ns = tsm_intervals_length(&busy);
    tsm_intervals_finish(&busy);
    return ns;
}

/* Finds the axis that all times of a device are on (NULL: of all devices). Returns false if there
 * is no such one. */
static bool find_axis(enum tsm_time_axis *out, const struct tsm_summary *summary,
                      const struct tsm_device *device)
{
    bool is_found = false;

    for (size_t i = 0; i < summary->stream_count; i++) {
        const struct tsm_stream_sum *stream = &summary->streams[i];

        if (!stream->placed_count || (device && !tsm_device_is_same(device, &stream->device)))
            continue;
        if (is_found && stream->axis != *out)
            return false;
        *out = stream->axis;
        is_found = true;
    }
    return is_found;
}

/* NULL: of all devices together, on which work at the same time counts once. */
static struct busy device_busy(struct tsm_table *t, const struct tsm_summary *summary,
                               const struct tsm_device *device)
{
    struct busy b = {.compute_ns = engine_ns(t, summary, device, TSM_ENGINE_COMPUTE),
                     .copy_ns = engine_ns(t, summary, device, TSM_ENGINE_COPY),
                     .any_ns = engine_ns(t, summary, device, TSM_ENGINE_COUNT)};

    b.is_known = find_axis(&b.axis, summary, device);
    return b;
}

static void engines(struct tsm_table *t, const struct tsm_summary *summary)
{
    const struct busy b = device_busy(t, summary, NULL);

    t->title = "engines, all streams together";
    busy_columns(t);
    if (summary->stream_count)
        busy_cells(t, &b, summary);
}

/* Sums of the streams of one device. */
struct device_sum {
    const struct tsm_device *device;
    uint64_t stream_count, command_count, timed_count;
};

/* Adds up the streams of the device of stream `first`. Returns false if an earlier one has it. */
static bool sum_device(struct device_sum *out, const struct tsm_summary *summary, size_t first)
{
    *out = (struct device_sum){.device = &summary->streams[first].device};
    for (size_t i = 0; i < summary->stream_count; i++) {
        const struct tsm_stream_sum *stream = &summary->streams[i];

        if (!tsm_device_is_same(&stream->device, out->device))
            continue;
        if (i < first)
            return false;
        out->stream_count++;
        out->command_count += stream->command_count;
        out->timed_count += stream->timed_count;
    }
    return true;
}

static void devices(struct tsm_table *t, const struct tsm_summary *summary)
{
    char name[TSM_DEVICE_NAME_MAX];
    struct device_sum sum;

    t->title = "devices";
    tsm_table_column(t, "device", "device", TSM_CELL_TEXT);
    tsm_table_column(t, "stream_count", "streams", TSM_CELL_COUNT);
    tsm_table_column(t, "command_count", "commands", TSM_CELL_COUNT);
    tsm_table_column(t, "timed_count", "timed", TSM_CELL_COUNT);
    busy_columns(t);
    for (size_t i = 0; i < summary->stream_count; i++) {
        struct busy b;

        if (!sum_device(&sum, summary, i))
            continue;
        b = device_busy(t, summary, sum.device);
        tsm_table_text(t, tsm_device_name(name, sum.device));
        tsm_table_number(t, sum.stream_count);
        tsm_table_number(t, sum.command_count);
        tsm_table_number(t, sum.timed_count);
        busy_cells(t, &b, summary);
    }
}

static int sites(struct tsm_table *t, const struct tsm_stats_source *source)
{
    const struct tsm_frame_names names = tsm_frame_names(source->symbols);
    struct tsm_site_sum *list = NULL;
    struct tsm_sites all;
    size_t count = 0;
    int error = tsm_sites_build(&all, source->summary, source->reader, &names);

    if (error)
        return error;
    t->title = "time on the device by the host's functions that sent the work";
    tsm_table_column(t, "share_percent", "share", TSM_CELL_PERMILLE);
    tsm_table_column(t, "inclusive_ns", "inclusive", TSM_CELL_NS);
    tsm_table_column(t, "exclusive_ns", "exclusive", TSM_CELL_NS);
    tsm_table_column(t, "count", "commands", TSM_CELL_COUNT);
    tsm_table_column(t, "name", "function", TSM_CELL_TEXT);
    error = tsm_sites_sum(&list, &count, &all);
    for (size_t i = 0; i < count; i++) {
        tsm_table_number_or_unknown(t, all.total_ns,
                                    tsm_permille(list[i].inclusive_ns, all.total_ns));
        tsm_table_number(t, list[i].inclusive_ns);
        tsm_table_number(t, list[i].exclusive_ns);
        tsm_table_number(t, list[i].count);
        tsm_table_text(t, list[i].name);
    }
    free(list);
    tsm_sites_finish(&all);
    return error;
}

int tsm_stats_table(struct tsm_table *out, const struct tsm_stats_source *source,
                    enum tsm_stats_section section)
{
    out->name = tsm_stats_section_name(section);
    switch (section) {
    case TSM_STATS_KERNELS:
        kernels(out, source);
        break;
    case TSM_STATS_COMMANDS:
        commands(out, source);
        break;
    case TSM_STATS_COPIES:
        copies(out, source);
        break;
    case TSM_STATS_CALLS:
        calls(out, source, false);
        break;
    case TSM_STATS_WAITS:
        calls(out, source, true);
        break;
    case TSM_STATS_MEMORY:
        memory(out, source->summary);
        break;
    case TSM_STATS_STREAMS:
        streams(out, source->summary);
        break;
    case TSM_STATS_ENGINES:
        engines(out, source->summary);
        break;
    case TSM_STATS_RINGS:
        return tsm_stats_rings(out, source);
    case TSM_STATS_DEVICES:
        devices(out, source->summary);
        break;
    case TSM_STATS_SITES:
        return sites(out, source);
    case TSM_STATS_COUNT:
        break;
    }
    return 0;
}
