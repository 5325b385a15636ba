/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/schedule/loose_critical_view.h"

#include "analysis/model/work.h"
#include "analysis/schedule/loose/slack.h"
#include "base/text.h"
#include "tools/schedule/causes.h"
#include "tools/schedule/load.h"
#include "tools/terminal.h"
#include "tracesmith/error.h"

#include <inttypes.h>
#include <stdlib.h>

#define NONE TSM_WORKLOAD_NONE

/* ---- pieces -----------------------------------------------------------------------------------
 */

static uint64_t seq_of(const struct tsm_loose_critical *v, const struct tsm_loose_piece *piece)
{
    return piece->command == NONE ? v->s.calls.list[piece->call].seq
                                  : v->loose.commands[piece->command].seq;
}

static const struct sbt_schema *schema_of(const struct tsm_loose_critical *v,
                                          const struct tsm_loose_piece *piece)
{
    return piece->command == NONE ? v->s.calls.list[piece->call].schema
                                  : v->loose.commands[piece->command].schema;
}

static struct tsm_cause_sum sum_of(const struct tsm_loose_critical *v,
                                   const struct tsm_loose_piece *piece)
{
    const bool has_run = piece->cause == TSM_CAUSE_WORK || piece->cause == TSM_CAUSE_QUEUE,
               is_latency =
                   piece->cause == TSM_CAUSE_LATENCY || piece->cause == TSM_CAUSE_TURNAROUND;
    const char *kernel = piece->command == NONE ? NULL : v->loose.commands[piece->command].kernel;

    return (struct tsm_cause_sum){.cause = piece->cause,
                                  .work = has_run ? tsm_work_of_type(schema_of(v, piece)).work
                                                  : TSM_WORK_OTHER,
                                  .name = is_latency ? ""
                                          : kernel   ? kernel
                                                     : schema_of(v, piece)->name,
                                  .total_ns = piece->end_ns - piece->begin_ns,
                                  .count = 1,
                                  .longest_ns = piece->end_ns - piece->begin_ns,
                                  .longest_seq = seq_of(v, piece)};
}

/* ---- tables -----------------------------------------------------------------------------------
 */

/* Notes the call of a row that is printed. */
static int note_row(const struct tsm_loose_critical *v, struct tsm_named_records *named, size_t row,
                    uint64_t seq)
{
    const uint32_t place = tsm_loose_host_calls_find(&v->s.calls, seq);
    const struct tsm_loose_host_call *call = place == NONE ? NULL : &v->s.calls.list[place];

    return call && (!v->options.top || row < v->options.top)
               ? tsm_named_records_add(
                     named, &(struct tsm_named_record){seq, call->schema->name, call->stack})
               : 0;
}

/* Adds columns, and a row for each cause. Without a simulation no gain is known. */
static int put_causes(const struct tsm_loose_critical *v, struct tsm_table *t,
                      const struct tsm_loose_path *path, bool has_gain,
                      struct tsm_named_records *named)
{
    struct tsm_cause_sums sums = {0};
    int error = 0;

    tsm_cause_columns(t, has_gain);
    for (size_t i = 0; i < path->count && !error; i++) {
        const struct tsm_cause_sum sum = sum_of(v, &path->pieces[i]);

        error = tsm_cause_sums_add(&sums, &sum);
    }
    tsm_cause_sums_join(&sums);
    for (size_t i = 0; i < sums.count && !error; i++) {
        tsm_cause_row(t, &sums.list[i], v->s.end_ns - v->s.begin_ns);
        if (has_gain)
            tsm_table_unknown(t);
        error = note_row(v, named, i, sums.list[i].longest_seq);
    }
    tsm_cause_sums_finish(&sums);
    return error;
}

/* Tests whether to say what a device waited for: not where it is known of others which one it is.
 */
static bool is_shown(const struct tsm_loose_critical *v, size_t device)
{
    return v->loose.devices[device].api || v->loose.device_count == 1;
}

static int make_idle(struct tsm_loose_critical *v, struct tsm_named_records *named)
{
    int error = 0;

    v->idle = calloc(v->loose.device_count + 1, sizeof(*v->idle));
    v->idle_ns = calloc(v->loose.device_count + 1, sizeof(*v->idle_ns));
    if (!v->idle || !v->idle_ns)
        return tsm_fail(TSM_E_MEMORY, "no memory for tables");
    for (uint32_t i = 0; i < v->loose.device_count && !error; i++) {
        struct tsm_loose_path idle;

        if (!is_shown(v, i))
            continue;
        error = tsm_loose_idle(&idle, &v->s, i);
        for (size_t k = 0; k < idle.count; k++)
            v->idle_ns[i] += idle.pieces[k].end_ns - idle.pieces[k].begin_ns;
        v->idle[i].name = "idle";
        if (!error)
            error = put_causes(v, &v->idle[i], &idle, false, named);
        tsm_loose_path_finish(&idle);
    }
    return error;
}

static void put_wait(struct tsm_table *t, const struct tsm_loose_critical *v,
                     const struct tsm_loose_wait_cost *cost)
{
    const struct tsm_loose_command *c =
        cost->command == NONE ? NULL : &v->loose.commands[cost->command];
    const struct tsm_loose_host_call *call = c ? NULL : &v->s.calls.list[cost->call];

    tsm_table_number(t, cost->seq);
    tsm_table_text(t, c ? c->schema->name : call->schema->name);
    tsm_table_number(t, c ? c->thread : call->thread);
    tsm_table_number_or_unknown(t, c != NULL, c ? v->loose.streams[c->stream].number : 0);
    tsm_table_number(t, cost->waited_ns);
    tsm_table_unknown(t);
    if (cost->by != NONE)
        tsm_table_number(t, v->loose.commands[cost->by].seq);
    else
        tsm_table_number_or_unknown(
            t, cost->by_step != NONE,
            cost->by_step != NONE ? tsm_loose_step_seq(&v->loose, cost->by_step) : 0);
    tsm_table_text(t, !cost->has_object ? NULL : cost->is_redundant ? "yes" : "no");
}

static int make_waits(struct tsm_loose_critical *v, struct tsm_named_records *named)
{
    struct tsm_table *t = &v->waits;
    struct tsm_loose_wait_costs costs;
    int error = tsm_loose_wait_costs_find(&costs, &v->s);

    *t = (struct tsm_table){.name = "waits", .title = "single waits"};
    tsm_table_column(t, "seq", "record", TSM_CELL_COUNT);
    tsm_table_column(t, "call", "call", TSM_CELL_TEXT);
    tsm_table_column(t, "thread", "thread", TSM_CELL_COUNT);
    tsm_table_column(t, "stream", "stream", TSM_CELL_COUNT);
    tsm_table_column(t, "waited_ns", "waited", TSM_CELL_NS);
    tsm_table_column(t, "gain_ns", "gain without", TSM_CELL_NS);
    tsm_table_column(t, "for", "for record", TSM_CELL_COUNT);
    tsm_table_column(t, "redundant", "redundant", TSM_CELL_TEXT);
    for (size_t i = 0; i < costs.count && !error; i++) {
        put_wait(t, v, &costs.list[i]);
        error = note_row(v, named, i, costs.list[i].seq);
    }
    tsm_loose_wait_costs_finish(&costs);
    return error;
}

static void put_piece(struct tsm_table *t, const struct tsm_loose_critical *v,
                      const struct tsm_loose_piece *piece)
{
    const struct tsm_cause_sum sum = sum_of(v, piece);
    const struct tsm_loose_command *c =
        piece->command == NONE ? NULL : &v->loose.commands[piece->command];

    tsm_table_number(t, piece->begin_ns);
    tsm_table_number(t, piece->end_ns);
    tsm_table_number(t, piece->end_ns - piece->begin_ns);
    tsm_table_text(t, tsm_cause_name(&sum));
    tsm_table_number(t, seq_of(v, piece));
    tsm_table_number(t, c ? c->thread : v->s.calls.list[piece->call].thread);
    tsm_table_number_or_unknown(t, c != NULL, c ? v->loose.streams[c->stream].number : 0);
    tsm_table_text(t, schema_of(v, piece)->name);
    tsm_table_text(t, c ? c->kernel : NULL);
}

static void make_list(struct tsm_loose_critical *v)
{
    struct tsm_table *t = &v->pieces;

    *t = (struct tsm_table){.name = "pieces", .title = "the critical path, piece by piece"};
    tsm_table_column(t, "begin_ns", "begin", TSM_CELL_NS);
    tsm_table_column(t, "end_ns", "end", TSM_CELL_NS);
    tsm_table_column(t, "duration_ns", "time", TSM_CELL_NS);
    tsm_table_column(t, "cause", "cause", TSM_CELL_TEXT);
    tsm_table_column(t, "seq", "record", TSM_CELL_COUNT);
    tsm_table_column(t, "thread", "thread", TSM_CELL_COUNT);
    tsm_table_column(t, "stream", "stream", TSM_CELL_COUNT);
    tsm_table_column(t, "call", "call", TSM_CELL_TEXT);
    tsm_table_column(t, "kernel", "kernel", TSM_CELL_NAME);
    for (size_t i = v->path.count; i-- > 0;)
        put_piece(t, v, &v->path.pieces[i]);
}

static bool has_work(const struct tsm_loose_command *c)
{
    return c->has_time && !c->is_mark && !c->is_present;
}

struct slack_row {
    uint64_t slack_ns;
    uint32_t command;
};

static int by_slack(const void *a, const void *b)
{
    const struct slack_row *x = a, *y = b;

    if (x->slack_ns != y->slack_ns)
        return x->slack_ns < y->slack_ns ? -1 : 1;
    return x->command < y->command ? -1 : x->command > y->command;
}

static void put_slack(struct tsm_table *t, const struct tsm_loose_critical *v,
                      const struct slack_row *row)
{
    const struct tsm_loose_command *c = &v->loose.commands[row->command];

    tsm_slack_row(t, &(struct tsm_slack_row){.slack_ns = row->slack_ns,
                                             .seq = c->seq,
                                             .start_ns = c->start_ns,
                                             .end_ns = c->end_ns,
                                             .stream = v->loose.streams[c->stream].number,
                                             .name = c->kernel ? c->kernel : c->schema->name});
}

static int make_slack(struct tsm_loose_critical *v)
{
    struct tsm_table *t = &v->slack;
    struct slack_row *rows = malloc((v->loose.command_count + 1) * sizeof(*rows));
    uint64_t *slack = NULL;
    size_t count = 0;
    int error =
        rows ? tsm_loose_slack(&slack, &v->s) : tsm_fail(TSM_E_MEMORY, "no memory for tables");

    *t = (struct tsm_table){.name = "slack", .title = "how much later commands could have ended"};
    tsm_slack_columns(t);
    for (uint32_t i = 0; i < v->loose.command_count && !error; i++)
        if (has_work(&v->loose.commands[i]))
            rows[count++] = (struct slack_row){slack[i], i};
    if (count)
        qsort(rows, count, sizeof(*rows), by_slack);
    for (size_t i = 0; i < count; i++)
        put_slack(t, v, &rows[i]);
    free(rows);
    free(slack);
    return error;
}

static size_t count_timed(const struct tsm_loose *l)
{
    size_t count = 0;

    for (size_t i = 0; i < l->command_count; i++)
        count += has_work(&l->commands[i]);
    return count;
}

/* Returns the APIs whose commands these are. */
static const char *apis_of(const struct tsm_loose *l)
{
    return l->kernel_count ? "DRM" : "Vulkan and HSA";
}

static int load(struct tsm_loose *out, struct sbt_reader *reader, bool has_others)
{
    const int error = tsm_loose_load(out, reader, true);

    if (error || has_others || out->command_count || !out->passed_count)
        return error;
    tsm_loose_finish(out);
    return tsm_loose_load(out, reader, false);
}

int tsm_loose_critical_make(struct tsm_loose_critical *out, struct sbt_reader *reader,
                            bool has_others, const struct tsm_loose_critical_options *options,
                            struct tsm_named_records *named)
{
    int error;

    *out = (struct tsm_loose_critical){.options = *options};
    error = load(&out->loose, reader, has_others);
    if (error || !out->loose.command_count)
        return error;
    out->timed_count = count_timed(&out->loose);
    out->causes = (struct tsm_table){.name = "critical_path", .title = "the critical path"};
    error = tsm_loose_schedule_make(&out->s, &out->loose, reader);
    if (!error)
        error = tsm_loose_path_find(&out->path, &out->s);
    if (!error)
        error = put_causes(out, &out->causes, &out->path, true, named);
    if (!error)
        error = make_waits(out, named);
    if (!error)
        error = make_idle(out, named);
    if (!error && options->has_list)
        make_list(out);
    if (!error && options->has_slack)
        error = make_slack(out);
    return error;
}

void tsm_loose_critical_finish(struct tsm_loose_critical *v)
{
    for (size_t i = 0; i < v->loose.device_count && v->idle; i++)
        tsm_table_finish(&v->idle[i]);
    free(v->idle);
    free(v->idle_ns);
    tsm_table_finish(&v->causes);
    tsm_table_finish(&v->waits);
    tsm_table_finish(&v->pieces);
    tsm_table_finish(&v->slack);
    tsm_loose_path_finish(&v->path);
    tsm_loose_schedule_finish(&v->s);
    tsm_loose_finish(&v->loose);
    *v = (struct tsm_loose_critical){0};
}

/* ---- output -----------------------------------------------------------------------------------
 */

void tsm_loose_critical_print(const struct tsm_loose_critical *v)
{
    char text[32], name[TSM_DEVICE_NAME_MAX], title[TSM_DEVICE_NAME_MAX + 48];

    tsm_duration_text(text, sizeof(text), v->s.end_ns - v->s.begin_ns);
    printf("%zu commands of %s in %s, as recorded\n\n", v->loose.command_count, apis_of(&v->loose),
           text);
    tsm_table_print(&v->causes, v->options.top);
    if (v->waits.row_count) {
        putchar('\n');
        tsm_table_print(&v->waits, v->options.top);
    }
    for (size_t i = 0; i < v->loose.device_count; i++) {
        struct tsm_table t = v->idle[i];

        if (!is_shown(v, i))
            continue;
        tsm_format(title, sizeof(title), "what %s waited for while nothing ran on it",
                   tsm_device_name(name, &v->loose.devices[i]) ? name : "the device");
        t.title = title;
        putchar('\n');
        tsm_table_print(&t, v->options.top);
    }
    if (v->options.has_list) {
        putchar('\n');
        tsm_table_print(&v->pieces, v->options.top);
    }
    if (v->options.has_slack) {
        putchar('\n');
        tsm_table_print(&v->slack, v->options.top);
    }
}

void tsm_loose_critical_print_json(const struct tsm_loose_critical *v, struct tsm_json *j)
{
    char name[TSM_DEVICE_NAME_MAX];

    if (!v->loose.command_count) {
        tsm_json_put_string(j, "loose", NULL);
        return;
    }
    tsm_json_put_open(j, "loose", '{');
    tsm_json_put_u64(j, "command_count", v->loose.command_count);
    tsm_json_put_u64(j, "timed_count", v->timed_count);
    tsm_json_put_u64(j, "untimed_count", v->loose.untimed_count);
    tsm_json_put_u64(j, "unfinished_count", v->loose.unfinished_count);
    tsm_json_put_u64(j, "begin_ns", v->s.begin_ns);
    tsm_json_put_u64(j, "span_ns", v->s.end_ns - v->s.begin_ns);
    tsm_table_print_json(&v->causes, j, v->options.top);
    tsm_table_print_json(&v->waits, j, v->options.top);
    if (v->options.has_list)
        tsm_table_print_json(&v->pieces, j, v->options.top);
    if (v->options.has_slack)
        tsm_table_print_json(&v->slack, j, v->options.top);
    tsm_json_put_open(j, "devices", '[');
    for (size_t i = 0; i < v->loose.device_count; i++) {
        if (!is_shown(v, i))
            continue;
        tsm_json_open(j, '{');
        tsm_json_put_string(j, "device", tsm_device_name(name, &v->loose.devices[i]));
        tsm_json_put_u64(j, "idle_ns", v->idle_ns[i]);
        tsm_table_print_json(&v->idle[i], j, v->options.top);
        tsm_json_close(j, '}');
    }
    tsm_json_close(j, ']');
    tsm_json_close(j, '}');
}

void tsm_loose_critical_note(const struct tsm_loose_critical *v, struct sbt_reader *reader)
{
    const char *name = tsm_clean(sbt_reader_name(reader));
    const struct tsm_loose *l = &v->loose;
    const char *how =
        l->kernel_count ? "tsrecord --kernel, where the driver tells" : "tsrecord --gpu-time=1";

    if (l->untimed_count && !v->timed_count)
        tsm_note("%s: none of %zu commands of %s has a time: the critical path is that of the "
                 "calls alone; record with %s",
                 name, l->command_count, apis_of(l), how);
    else if (l->untimed_count)
        tsm_note("%s: %" PRIu64 " of %zu commands of %s have no time: where these ran the critical "
                 "path is that of the calls alone; record with %s",
                 name, l->untimed_count, l->command_count, apis_of(l), how);
    if (l->unfinished_count)
        tsm_note("%s: of %zu commands of %s nothing says that they have finished: see tracesmith "
                 "graph --hang",
                 name, l->unfinished_count, apis_of(l));
    if (l->passed_count)
        tsm_note("%s: %" PRIu64 " commands are left out: those of CUDA, Vulkan and HSA are "
                 "followed, those of DRM in a trace without others",
                 name, l->passed_count);
}
