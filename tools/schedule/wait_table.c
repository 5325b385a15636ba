/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/schedule/wait_table.h"

#include "analysis/dependencies/wait_uses.h"
#include "tracesmith/error.h"

#include <stdlib.h>

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for tables");
}

static const char *name_of(const struct tsm_wait_use *use)
{
    switch (use->kind) {
    case TSM_WAIT_USE_NOTHING:
        return "nothing";
    case TSM_WAIT_USE_RESULT:
        return "result";
    case TSM_WAIT_USE_CONFLICT:
        return tsm_access_kind_name(use->conflict.access);
    default:
        return "not known";
    }
}

static void put_use(struct tsm_table *t, const struct tsm_wait_use *use)
{
    const bool is_any = use->kind == TSM_WAIT_USE_RESULT || use->kind == TSM_WAIT_USE_CONFLICT;

    tsm_table_text(t, name_of(use));
    tsm_table_text(t, use->kind == TSM_WAIT_USE_CONFLICT
                          ? tsm_dependency_reason_name(use->conflict.reason)
                          : NULL);
    tsm_table_number_or_unknown(t, is_any, use->from);
    tsm_table_number_or_unknown(t, is_any, use->to);
}

static void put_wait(struct tsm_table *t, const struct tsm_workload *w,
                     const struct tsm_wait_cost *cost)
{
    const struct tsm_workload_step *step = &w->steps[cost->step];
    const bool sends = step->kind == TSM_STEP_SEND;

    tsm_table_number(t, cost->seq);
    tsm_table_text(t, step->schema->name);
    tsm_table_number(t, w->threads[step->thread].number);
    tsm_table_number_or_unknown(t, sends,
                                sends ? w->streams[w->commands[step->command].stream].number : 0);
    tsm_table_number(t, cost->waited_ns);
    tsm_table_number(t, cost->gain_ns);
}

static void add_columns(struct tsm_table *t, bool has_uses)
{
    tsm_table_column(t, "seq", "record", TSM_CELL_COUNT);
    tsm_table_column(t, "call", "call", TSM_CELL_TEXT);
    tsm_table_column(t, "thread", "thread", TSM_CELL_COUNT);
    tsm_table_column(t, "stream", "stream", TSM_CELL_COUNT);
    tsm_table_column(t, "waited_ns", "waited", TSM_CELL_NS);
    tsm_table_column(t, "gain_ns", "gain without", TSM_CELL_NS);
    if (!has_uses)
        return;
    tsm_table_column(t, "needed_by", "needed by", TSM_CELL_TEXT);
    tsm_table_column(t, "reason", "reason", TSM_CELL_TEXT);
    tsm_table_column(t, "from", "from", TSM_CELL_COUNT);
    tsm_table_column(t, "to", "to", TSM_CELL_COUNT);
}

int tsm_wait_table_make(struct tsm_table *t, const struct tsm_wait_costs *costs,
                        const struct tsm_workload *w, struct sbt_reader *reader)
{
    struct tsm_wait_use *uses = calloc(costs->count + 1, sizeof(*uses));
    int error = uses ? 0 : no_memory();

    for (size_t i = 0; i < costs->count && uses; i++)
        uses[i].seq = costs->list[i].seq;
    if (!error && reader)
        error = tsm_wait_uses_find(uses, costs->count, reader);
    add_columns(t, reader != NULL);
    for (size_t i = 0; i < costs->count && !error; i++) {
        put_wait(t, w, &costs->list[i]);
        if (reader)
            put_use(t, &uses[i]);
    }
    free(uses);
    return error;
}
