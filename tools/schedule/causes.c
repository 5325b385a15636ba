/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/schedule/causes.h"

#include "analysis/model/work.h"
#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>
#include <string.h>

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for the causes");
}

/* ---- pieces -----------------------------------------------------------------------------------
 */

static const struct tsm_workload_command *command_of(const struct tsm_workload *w,
                                                     const struct tsm_critical_piece *piece)
{
    return piece->part == TSM_WORKLOAD_NONE ? NULL : &w->commands[w->parts[piece->part].command];
}

uint64_t tsm_piece_seq(const struct tsm_workload *w, const struct tsm_critical_piece *piece)
{
    const struct tsm_workload_command *c = command_of(w, piece);

    return c ? c->seq : w->steps[piece->step].seq;
}

const char *tsm_piece_name(const struct tsm_workload *w, const struct tsm_critical_piece *piece)
{
    const struct tsm_workload_command *c = command_of(w, piece);

    if (c)
        return c->kernel ? c->kernel : c->schema->name;
    return w->steps[piece->step].schema->name;
}

static struct tsm_cause_sum sum_of(const struct tsm_workload *w,
                                   const struct tsm_critical_piece *piece)
{
    const struct tsm_workload_command *c = command_of(w, piece);
    struct tsm_cause_sum sum = {.cause = piece->cause, .work = TSM_WORK_OTHER, .name = ""};

    if (piece->cause == TSM_CAUSE_WORK || piece->cause == TSM_CAUSE_ENGINE) {
        sum.work = tsm_work_of_type(c->schema).work;
        sum.name = tsm_piece_name(w, piece);
    } else if (piece->cause == TSM_CAUSE_CALL || piece->cause == TSM_CAUSE_HOST) {
        sum.name = tsm_piece_name(w, piece);
    }
    return sum;
}

const char *tsm_cause_name(const struct tsm_cause_sum *sum)
{
    switch (sum->cause) {
    case TSM_CAUSE_WORK:
        return tsm_work_name(sum->work);
    case TSM_CAUSE_CALL:
        return "call";
    case TSM_CAUSE_HOST:
        return "host before";
    case TSM_CAUSE_LATENCY:
        return "latency";
    case TSM_CAUSE_TURNAROUND:
        return "turnaround";
    case TSM_CAUSE_ENGINE:
        return "busy engine";
    case TSM_CAUSE_WAIT:
        return "wait";
    case TSM_CAUSE_QUEUE:
        return "busy queue";
    case TSM_CAUSE_UNTIMED:
        return "no time";
    case TSM_CAUSE_UNFINISHED:
        return "not finished";
    default:
        return "?";
    }
}

const char *tsm_piece_cause(const struct tsm_workload *w, const struct tsm_critical_piece *piece)
{
    const struct tsm_cause_sum sum = sum_of(w, piece);

    return tsm_cause_name(&sum);
}

/* ---- sums -------------------------------------------------------------------------------------
 */

static int by_cause(const void *a, const void *b)
{
    const struct tsm_cause_sum *x = a, *y = b;

    if (x->cause != y->cause)
        return x->cause < y->cause ? -1 : 1;
    if (x->work != y->work)
        return x->work < y->work ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int by_total(const void *a, const void *b)
{
    const struct tsm_cause_sum *x = a, *y = b;

    if (x->total_ns != y->total_ns)
        return x->total_ns > y->total_ns ? -1 : 1;
    return by_cause(a, b);
}

static void merge(struct tsm_cause_sum *into, const struct tsm_cause_sum *from)
{
    into->total_ns += from->total_ns;
    into->count += from->count;
    if (from->longest_ns > into->longest_ns ||
        (from->longest_ns == into->longest_ns && from->longest_seq < into->longest_seq)) {
        into->longest_ns = from->longest_ns;
        into->longest_seq = from->longest_seq;
    }
}

int tsm_cause_sums_add(struct tsm_cause_sums *sums, const struct tsm_cause_sum *one)
{
    return TSM_ARRAY_PUSH(sums->list, sums->count, sums->capacity, *one) ? 0 : no_memory();
}

void tsm_cause_sums_join(struct tsm_cause_sums *sums)
{
    size_t left = 0;

    if (!sums->count)
        return;
    qsort(sums->list, sums->count, sizeof(*sums->list), by_cause);
    for (size_t i = 0; i < sums->count; i++)
        if (left && !by_cause(&sums->list[left - 1], &sums->list[i]))
            merge(&sums->list[left - 1], &sums->list[i]);
        else
            sums->list[left++] = sums->list[i];
    sums->count = left;
    qsort(sums->list, left, sizeof(*sums->list), by_total);
}

int tsm_cause_sums_make(struct tsm_cause_sums *out, const struct tsm_workload *w,
                        const struct tsm_critical_path *path)
{
    int error = 0;

    *out = (struct tsm_cause_sums){0};
    for (size_t i = 0; i < path->count && !error; i++) {
        const struct tsm_critical_piece *piece = &path->pieces[i];
        struct tsm_cause_sum sum = sum_of(w, piece);

        sum.total_ns = sum.longest_ns = piece->end_ns - piece->begin_ns;
        sum.longest_seq = tsm_piece_seq(w, piece);
        sum.count = 1;
        error = tsm_cause_sums_add(out, &sum);
    }
    tsm_cause_sums_join(out);
    return error;
}

void tsm_cause_columns(struct tsm_table *t, bool has_gain)
{
    tsm_table_column(t, "cause", "cause", TSM_CELL_TEXT);
    tsm_table_column(t, "name", "name", TSM_CELL_NAME);
    tsm_table_column(t, "count", "count", TSM_CELL_COUNT);
    tsm_table_column(t, "total_ns", "time", TSM_CELL_NS);
    tsm_table_column(t, "share_percent", "share", TSM_CELL_PERMILLE);
    tsm_table_column(t, "longest_ns", "longest", TSM_CELL_NS);
    tsm_table_column(t, "longest_seq", "record", TSM_CELL_COUNT);
    if (has_gain)
        tsm_table_column(t, "gain_ns", "gain without", TSM_CELL_NS);
}

void tsm_slack_columns(struct tsm_table *t)
{
    tsm_table_column(t, "slack_ns", "slack", TSM_CELL_NS);
    tsm_table_column(t, "seq", "record", TSM_CELL_COUNT);
    tsm_table_column(t, "stream", "stream", TSM_CELL_COUNT);
    tsm_table_column(t, "start_ns", "start", TSM_CELL_NS);
    tsm_table_column(t, "end_ns", "end", TSM_CELL_NS);
    tsm_table_column(t, "name", "name", TSM_CELL_NAME);
}

void tsm_slack_row(struct tsm_table *t, const struct tsm_slack_row *row)
{
    tsm_table_number(t, row->slack_ns);
    tsm_table_number(t, row->seq);
    tsm_table_number(t, row->stream);
    tsm_table_number(t, row->start_ns);
    tsm_table_number(t, row->end_ns);
    tsm_table_text(t, row->name);
}

static uint64_t permille(uint64_t part_ns, uint64_t all_ns)
{
    return all_ns ? (uint64_t)((double)part_ns * 1000 / (double)all_ns) : 0;
}

void tsm_cause_row(struct tsm_table *t, const struct tsm_cause_sum *sum, uint64_t span_ns)
{
    tsm_table_text(t, tsm_cause_name(sum));
    tsm_table_text(t, *sum->name ? sum->name : NULL);
    tsm_table_number(t, sum->count);
    tsm_table_number(t, sum->total_ns);
    tsm_table_number(t, permille(sum->total_ns, span_ns));
    tsm_table_number(t, sum->longest_ns);
    tsm_table_number(t, sum->longest_seq);
}

void tsm_cause_sums_finish(struct tsm_cause_sums *sums)
{
    free(sums->list);
    *sums = (struct tsm_cause_sums){0};
}

/* ---- without a cause --------------------------------------------------------------------------
 */

static void remove_work(struct tsm_workload *w, const struct tsm_cause_sum *sum)
{
    for (size_t i = 0; i < w->command_count; i++) {
        const struct tsm_workload_command *c = &w->commands[i];
        const char *name = c->kernel ? c->kernel : c->schema->name;

        if (tsm_work_of_type(c->schema).work != sum->work || strcmp(name, sum->name) != 0)
            continue;
        for (uint32_t k = c->first_part; k < c->first_part + c->part_count; k++)
            w->parts[k].work = (struct tsm_device_work){.kind = TSM_DEVICE_NONE, .is_fixed = true};
    }
}

static void remove_calls(struct tsm_workload *w, const struct tsm_cause_sum *sum)
{
    for (size_t i = 0; i < w->step_count; i++) {
        struct tsm_workload_step *step = &w->steps[i];

        if (strcmp(step->schema->name, sum->name) != 0)
            continue;
        if (sum->cause == TSM_CAUSE_HOST) {
            step->gap_ns = 0;
            continue;
        }
        step->is_fused = true; /* its cost is 0 */
        step->waits = false;
        step->is_dropped |= step->kind != TSM_STEP_SEND;
    }
}

/* Copies what remove() changes; the rest is shared. */
static bool copy_changed(struct tsm_workload *out, const struct tsm_workload *w)
{
    *out = *w;
    out->parts = malloc((w->part_count + 1) * sizeof(*w->parts));
    out->steps = malloc((w->step_count + 1) * sizeof(*w->steps));
    if (!out->parts || !out->steps)
        return false;
    memcpy(out->parts, w->parts, w->part_count * sizeof(*w->parts));
    memcpy(out->steps, w->steps, w->step_count * sizeof(*w->steps));
    return true;
}

int tsm_cause_gain(uint64_t *gain_ns, const struct tsm_workload *w, const struct tsm_prediction *s,
                   const struct tsm_cause_sum *sum)
{
    struct tsm_workload changed;
    struct tsm_prediction without = {0};
    int error = copy_changed(&changed, w) ? 0 : no_memory();

    if (!error && (sum->cause == TSM_CAUSE_WORK || sum->cause == TSM_CAUSE_ENGINE))
        remove_work(&changed, sum);
    else if (!error && (sum->cause == TSM_CAUSE_CALL || sum->cause == TSM_CAUSE_HOST))
        remove_calls(&changed, sum);
    else if (sum->cause == TSM_CAUSE_LATENCY)
        changed.machine.launch_latency_ns = 0;
    else
        changed.turnaround_ns = 0;
    if (!error)
        error = tsm_prediction_make(&without, &changed);
    *gain_ns = !error && without.end_ns < s->end_ns ? s->end_ns - without.end_ns : 0;
    tsm_prediction_finish(&without);
    free(changed.parts);
    free(changed.steps);
    return error;
}
