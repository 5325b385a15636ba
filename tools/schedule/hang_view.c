/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/schedule/hang_view.h"

#include "analysis/model/work.h"
#include "analysis/schedule/hang.h"
#include "base/text.h"
#include "tools/schedule/stacks.h"
#include "tools/terminal.h"
#include "tools/text/table.h"
#include "tracesmith/error.h"

#include <inttypes.h>

#define STACKS_MAX 1000u

struct view {
    struct sbt_reader *reader;
    struct tsm_workload w;
    struct tsm_outcomes outcomes;
    struct tsm_hang hang;
    struct tsm_named_records named;
    int error;
};

static const struct tsm_workload_command *command_of(const struct view *v,
                                                     const struct tsm_hang_node *n)
{
    return &v->w.commands[n->command];
}

/* Says of a command with nothing known to wait for why it may not have ended. */
static void note_of(const struct view *v, const struct tsm_hang_node *n, char *out, size_t size)
{
    const enum tsm_hindrance hindrance = v->outcomes.list[n->command].hindrance;

    out[0] = '\0';
    if (n->is_cut)
        tsm_format(out, size, "too many commands write there to look at each");
    else if (hindrance == TSM_HINDRANCE_VALUE && n->has_value && n->other != TSM_WORKLOAD_NONE)
        tsm_format(out, size,
                   "no command that is left writes it; record %" PRIu64 " writes another value",
                   v->w.commands[n->other].seq);
    else if (hindrance == TSM_HINDRANCE_VALUE && n->has_value)
        tsm_format(out, size, "no command writes a value there");
    else if (tsm_work_of_type(command_of(v, n)->schema).work == TSM_WORK_HOST_FUNCTION)
        tsm_format(out, size, "a function of the program");
}

/* ---- rows -------------------------------------------------------------------------------------
 */

static void begin_nodes(struct tsm_table *t, bool is_cycle)
{
    if (is_cycle)
        tsm_table_column(t, "cycle", "cycle", TSM_CELL_COUNT);
    tsm_table_column(t, "seq", "record", TSM_CELL_COUNT);
    tsm_table_column(t, "stream", "stream", TSM_CELL_COUNT);
    tsm_table_column(t, "reason", "waits for", TSM_CELL_TEXT);
    tsm_table_column(t, "before", "record before", TSM_CELL_COUNT);
    tsm_table_column(t, "value", "value", TSM_CELL_TEXT);
    tsm_table_column(t, "address", "at", TSM_CELL_TEXT);
    tsm_table_column(t, "call", "call", TSM_CELL_TEXT);
    tsm_table_column(t, "kernel", "kernel", TSM_CELL_NAME);
    tsm_table_column(t, "note", "note", TSM_CELL_TEXT);
}

static void put_node(struct tsm_table *t, const struct view *v, const struct tsm_hang_node *n)
{
    const struct tsm_workload_command *c = command_of(v, n);
    const bool has_next = n->next != TSM_WORKLOAD_NONE;
    char value[TSM_VALUE_TEXT_MAX], address[24], note[96] = "";

    if (!has_next)
        note_of(v, n, note, sizeof(note));
    else if (n->writer_count > 1)
        tsm_format(note, sizeof(note), "or one of %u others", n->writer_count - 1);
    tsm_format(address, sizeof(address), "0x%" PRIx64, n->value.address);
    tsm_table_number(t, c->seq);
    tsm_table_number(t, v->w.streams[c->stream].number);
    tsm_table_text(t, tsm_hindrance_name(v->outcomes.list[n->command].hindrance));
    tsm_table_number_or_unknown(t, has_next,
                                has_next ? command_of(v, &v->hang.nodes[n->next])->seq : 0);
    tsm_table_text(t, n->has_value ? tsm_value_text(value, &n->value) : NULL);
    tsm_table_text(t, n->has_value ? address : NULL);
    tsm_table_text(t, c->schema->name);
    tsm_table_text(t, c->kernel);
    tsm_table_text(t, note[0] ? note : NULL);
}

/* Has the record's stack shown, if it has one. */
static void name(struct view *v, uint64_t seq)
{
    const uint32_t step = tsm_workload_find_step(&v->w, seq);

    if (!v->error && v->named.count < STACKS_MAX && step != TSM_WORKLOAD_NONE &&
        v->w.steps[step].stack)
        v->error = tsm_named_records_add(&v->named, seq);
}

/* Lists each cycle in the order in which its commands wait for each other. */
static void make_cycles(struct tsm_table *t, struct view *v, size_t top)
{
    begin_nodes(t, true);
    for (size_t i = 0; i < v->hang.cycle_count; i++) {
        const struct tsm_hang_node *first = &v->hang.nodes[v->hang.cycles[i]], *n = first;

        do {
            tsm_table_number(t, n->cycle);
            put_node(t, v, n);
            if (!top || t->row_count <= top)
                name(v, command_of(v, n)->seq);
            n = &v->hang.nodes[n->next];
        } while (n != first);
    }
}

static void make_ends(struct tsm_table *t, struct view *v, size_t top)
{
    begin_nodes(t, false);
    for (size_t i = 0; i < v->hang.node_count; i++) {
        if (v->hang.nodes[i].next != TSM_WORKLOAD_NONE)
            continue;
        put_node(t, v, &v->hang.nodes[i]);
        if (!top || t->row_count <= top)
            name(v, command_of(v, &v->hang.nodes[i])->seq);
    }
}

static void make_commands(struct tsm_table *t, const struct view *v)
{
    begin_nodes(t, false);
    for (size_t i = 0; i < v->hang.node_count; i++)
        put_node(t, v, &v->hang.nodes[i]);
}

static void make_calls(struct tsm_table *t, struct view *v)
{
    tsm_table_column(t, "seq", "record", TSM_CELL_COUNT);
    tsm_table_column(t, "thread", "thread", TSM_CELL_COUNT);
    tsm_table_column(t, "stream", "stream", TSM_CELL_COUNT);
    tsm_table_column(t, "call_ns", "since", TSM_CELL_NS);
    tsm_table_column(t, "call", "call", TSM_CELL_TEXT);
    for (size_t i = 0; i < v->hang.call_count; i++) {
        const struct tsm_hung_call *c = &v->hang.calls[i];

        tsm_table_number(t, c->seq);
        tsm_table_number(t, c->thread);
        tsm_table_number_or_unknown(t, c->stream != SBT_STREAM_NONE, c->stream);
        tsm_table_number(t, c->call_ns);
        tsm_table_text(t, c->schema->name);
        name(v, c->seq);
    }
}

/* ---- all --------------------------------------------------------------------------------------
 */

static void print_text(struct view *v, const struct tsm_table *tables, size_t count, size_t top)
{
    if (!v->hang.node_count)
        puts("all commands have finished, as far as the trace says");
    else if (!v->hang.cycle_count)
        printf("%zu commands have not finished; none of them wait for each other\n\n",
               v->hang.node_count);
    else
        printf("%zu commands have not finished; some wait for each other: %zu %s\n\n",
               v->hang.node_count, v->hang.cycle_count,
               v->hang.cycle_count == 1 ? "cycle" : "cycles");
    for (size_t i = 0, printed = 0; i < count; i++) {
        if (!tables[i].row_count)
            continue;
        if (printed++)
            putchar('\n');
        tsm_table_print(&tables[i], top);
    }
    if (v->named.count)
        v->error = tsm_stacks_print(&v->named, &v->w, v->reader);
}

static void print_json(struct view *v, const struct tsm_table *tables, size_t count, size_t top)
{
    struct tsm_json j = {.out = stdout};

    tsm_json_begin(&j, "tshang/1");
    tsm_json_put_string(&j, "trace", sbt_reader_name(v->reader));
    tsm_json_put_u64(&j, "cycle_count", v->hang.cycle_count);
    for (size_t i = 0; i < count; i++)
        tsm_table_print_json(&tables[i], &j, top);
    v->error = tsm_stacks_print_json(&v->named, &v->w, v->reader, &j);
    tsm_json_end(&j);
}

static void print(struct view *v, size_t top, bool json)
{
    struct tsm_table tables[] = {
        {.name = "cycles", .title = "cycles"},
        {.name = "open_ends", .title = "wait for none of them"},
        {.name = "commands", .title = "not finished"},
        {.name = "calls", .title = "calls that had not returned"},
    };
    const size_t count = sizeof(tables) / sizeof(tables[0]);

    make_cycles(&tables[0], v, top);
    make_ends(&tables[1], v, top);
    make_commands(&tables[2], v);
    make_calls(&tables[3], v);
    if (!v->error && json)
        print_json(v, tables, count, top);
    else if (!v->error)
        print_text(v, tables, count, top);
    for (size_t i = 0; i < count; i++)
        tsm_table_finish(&tables[i]);
}

int tsm_hang_view(struct sbt_reader *reader, size_t top, bool json)
{
    struct view v = {.reader = reader};
    int status;

    v.error = tsm_workload_make(&v.w, reader);
    if (!v.error)
        v.error = tsm_outcomes_make(&v.outcomes, &v.w, reader);
    if (!v.error)
        v.error = tsm_hang_find(&v.hang, &v.w, &v.outcomes, reader);
    if (!v.error)
        print(&v, top, json);
    if (!v.error && v.w.passed_count)
        tsm_note("%s: %" PRIu64 " commands are left out: CUDA's alone are followed so far",
                 tsm_clean(sbt_reader_name(reader)), v.w.passed_count);
    status = v.error ? tsm_complain_error() : v.hang.cycle_count ? TSM_EXIT_NO : TSM_EXIT_OK;
    tsm_named_records_finish(&v.named);
    tsm_hang_finish(&v.hang);
    tsm_outcomes_finish(&v.outcomes);
    tsm_workload_finish(&v.w);
    return status;
}
