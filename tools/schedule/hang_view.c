/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/schedule/hang_view.h"

#include "analysis/model/work.h"
#include "analysis/schedule/hang.h"
#include "analysis/schedule/loose/loose.h"
#include "api/waits.h"
#include "base/text.h"
#include "tools/schedule/load.h"
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
    struct tsm_loose loose; /* commands that may overlap on their stream */
    struct tsm_named_records named;
    int error;
};

/* A command that has not finished. */
struct row {
    uint64_t seq, before; /* before: record that it waits for, if has_before */
    bool has_before;
    uint32_t cycle, stream, stack;
    const char *reason, *call, *kernel;
    char value[TSM_VALUE_TEXT_MAX], address[64], note[96]; /* "": none */
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

static void put_row(struct tsm_table *t, const struct row *r, bool is_cycle)
{
    if (is_cycle)
        tsm_table_number(t, r->cycle);
    tsm_table_number(t, r->seq);
    tsm_table_number(t, r->stream);
    tsm_table_text(t, r->reason);
    tsm_table_number_or_unknown(t, r->has_before, r->before);
    tsm_table_text(t, r->value[0] ? r->value : NULL);
    tsm_table_text(t, r->address[0] ? r->address : NULL);
    tsm_table_text(t, r->call);
    tsm_table_text(t, r->kernel);
    tsm_table_text(t, r->note[0] ? r->note : NULL);
}

static struct row row_of(const struct view *v, const struct tsm_hang_node *n)
{
    const struct tsm_workload_command *c = command_of(v, n);
    const bool has_next = n->next != TSM_WORKLOAD_NONE;
    struct row r = {.seq = c->seq,
                    .has_before = has_next,
                    .before = has_next ? command_of(v, &v->hang.nodes[n->next])->seq : 0,
                    .cycle = n->cycle,
                    .stream = v->w.streams[c->stream].number,
                    .stack = v->w.steps[c->step].stack,
                    .reason = tsm_hindrance_name(v->outcomes.list[n->command].hindrance),
                    .call = c->schema->name,
                    .kernel = c->kernel};

    if (!has_next)
        note_of(v, n, r.note, sizeof(r.note));
    else if (n->writer_count > 1)
        tsm_format(r.note, sizeof(r.note), "or one of %u others", n->writer_count - 1);
    if (n->has_value) {
        tsm_value_text(r.value, &n->value);
        tsm_format(r.address, sizeof(r.address), "0x%" PRIx64, n->value.address);
    }
    return r;
}

/* Says which object, and which value of it, a loose command waits for. */
static void describe_wait(const struct view *v, const struct tsm_loose_node *n, struct row *r)
{
    const struct tsm_loose_wait *w = &v->loose.waits[n->wait];
    const struct tsm_wait_object object = tsm_wait_object_of(w->object);

    tsm_format(r->address, sizeof(r->address), "%s#%" PRIu64, object.type ? object.type : "object",
               object.id);
    if (w->has_value && w->is_exact)
        tsm_format(r->value, sizeof(r->value), "v == %" PRId64, (int64_t)w->value);
    else if (w->has_value)
        tsm_format(r->value, sizeof(r->value), "v >= %" PRIu64, w->value);
    if (r->has_before && w->choices > 1)
        tsm_format(r->note, sizeof(r->note), "or one of %u others", w->choices - 1);
    if (r->has_before)
        return;
    if (w->is_unsure)
        tsm_format(r->note, sizeof(r->note), "whether it comes there is not known");
    else if (w->is_never && w->is_exact)
        tsm_format(r->note, sizeof(r->note),
                   "nothing recorded brings it there: it comes to %" PRId64, (int64_t)w->comes_to);
    else if (w->is_never)
        tsm_format(r->note, sizeof(r->note),
                   "nothing recorded brings it there: it comes to %" PRIu64, w->comes_to);
}

/* `is_cycle`: the row is one of a cycle; else it has the command's outcome. */
static struct row loose_row(const struct view *v, const struct tsm_loose_node *n, bool is_cycle)
{
    const struct tsm_loose_command *c = &v->loose.commands[n->command];
    const uint32_t before = is_cycle ? n->next : c->outcome.by;
    struct row r = {.seq = c->seq,
                    .has_before = before != TSM_WORKLOAD_NONE,
                    .before = before != TSM_WORKLOAD_NONE ? v->loose.commands[before].seq : 0,
                    .cycle = n->cycle + (uint32_t)v->hang.cycle_count,
                    .stream = v->loose.streams[c->stream].number,
                    .stack = c->stack,
                    .reason = tsm_hindrance_name(is_cycle ? n->reason : c->outcome.hindrance),
                    .call = c->schema->name,
                    .kernel = c->kernel};

    if (n->wait != TSM_WORKLOAD_NONE)
        describe_wait(v, n, &r);
    if (c->is_begun && !r.note[0])
        tsm_format(r.note, sizeof(r.note), "its ring took it, and told of no end");
    return r;
}

/* Has the record's stack shown, if it has one. */
static void name(struct view *v, uint64_t seq, const char *call, uint32_t stack)
{
    if (!v->error && v->named.count < STACKS_MAX)
        v->error = tsm_named_records_add(&v->named, &(struct tsm_named_record){seq, call, stack});
}

static void put_named_row(struct tsm_table *t, struct view *v, const struct row *r, size_t top,
                          bool is_cycle)
{
    put_row(t, r, is_cycle);
    if (!top || t->row_count <= top)
        name(v, r->seq, r->call, r->stack);
}

/* Lists each cycle in the order in which its commands wait for each other. */
static void make_cycles(struct tsm_table *t, struct view *v, size_t top)
{
    begin_nodes(t, true);
    for (size_t i = 0; i < v->hang.cycle_count; i++) {
        const struct tsm_hang_node *first = &v->hang.nodes[v->hang.cycles[i]], *n = first;

        do {
            const struct row r = row_of(v, n);

            put_named_row(t, v, &r, top, true);
            n = &v->hang.nodes[n->next];
        } while (n != first);
    }
    for (size_t i = 0; i < v->loose.cycle_count; i++) {
        const struct row r = loose_row(v, &v->loose.cycles[i], true);

        put_named_row(t, v, &r, top, true);
    }
}

static void make_ends(struct tsm_table *t, struct view *v, size_t top)
{
    begin_nodes(t, false);
    for (size_t i = 0; i < v->hang.node_count; i++) {
        const struct row r = row_of(v, &v->hang.nodes[i]);

        if (!r.has_before)
            put_named_row(t, v, &r, top, false);
    }
    for (size_t i = 0; i < v->loose.node_count; i++) {
        const struct row r = loose_row(v, &v->loose.nodes[i], false);

        if (!r.has_before)
            put_named_row(t, v, &r, top, false);
    }
}

static void make_commands(struct tsm_table *t, const struct view *v)
{
    begin_nodes(t, false);
    for (size_t i = 0; i < v->hang.node_count; i++) {
        const struct row r = row_of(v, &v->hang.nodes[i]);

        put_row(t, &r, false);
    }
    for (size_t i = 0; i < v->loose.node_count; i++) {
        const struct row r = loose_row(v, &v->loose.nodes[i], false);

        put_row(t, &r, false);
    }
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
        const uint32_t step = tsm_workload_find_step(&v->w, c->seq);

        tsm_table_number(t, c->seq);
        tsm_table_number(t, c->thread);
        tsm_table_number_or_unknown(t, c->stream != SBT_STREAM_NONE, c->stream);
        tsm_table_number(t, c->call_ns);
        tsm_table_text(t, c->schema->name);
        if (step != TSM_WORKLOAD_NONE)
            name(v, c->seq, c->schema->name, v->w.steps[step].stack);
    }
}

/* ---- all --------------------------------------------------------------------------------------
 */

static size_t cycle_count(const struct view *v)
{
    const size_t rows = v->loose.cycle_count;

    return v->hang.cycle_count + (rows ? v->loose.cycles[rows - 1].cycle : 0);
}

static void print_text(struct view *v, const struct tsm_table *tables, size_t count, size_t top)
{
    const size_t left = v->hang.node_count + v->loose.node_count, cycles = cycle_count(v);

    if (!left)
        puts("all commands have finished, as far as the trace says");
    else if (!cycles)
        printf("%zu commands have not finished; no cycle was found\n\n", left);
    else
        printf("%zu commands have not finished; some wait for each other: %zu %s\n\n", left, cycles,
               cycles == 1 ? "cycle" : "cycles");
    for (size_t i = 0, printed = 0; i < count; i++) {
        if (!tables[i].row_count)
            continue;
        if (printed++)
            putchar('\n');
        tsm_table_print(&tables[i], top);
    }
    if (v->named.count)
        v->error = tsm_stacks_print(&v->named, v->reader);
}

static void print_json(struct view *v, const struct tsm_table *tables, size_t count, size_t top)
{
    struct tsm_json j = {.out = stdout};

    tsm_json_begin(&j, "tshang/1");
    tsm_json_put_string(&j, "trace", sbt_reader_name(v->reader));
    tsm_json_put_u64(&j, "cycle_count", cycle_count(v));
    for (size_t i = 0; i < count; i++)
        tsm_table_print_json(&tables[i], &j, top);
    v->error = tsm_stacks_print_json(&v->named, v->reader, &j);
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
        v.error = tsm_loose_load(&v.loose, reader, false);
    if (!v.error)
        print(&v, top, json);
    if (!v.error && v.loose.passed_count)
        tsm_note("%s: %" PRIu64
                 " commands are left out: those of CUDA, Vulkan, HSA and DRM are followed "
                 "so far",
                 tsm_clean(sbt_reader_name(reader)), v.loose.passed_count);
    status = v.error ? tsm_complain_error() : cycle_count(&v) ? TSM_EXIT_NO : TSM_EXIT_OK;
    tsm_named_records_finish(&v.named);
    tsm_loose_finish(&v.loose);
    tsm_hang_finish(&v.hang);
    tsm_outcomes_finish(&v.outcomes);
    tsm_workload_finish(&v.w);
    return status;
}
