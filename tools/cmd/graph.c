/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command.h"

#include "analysis/dependencies/contributors.h"
#include "base/text.h"
#include "tools/schedule/hang_view.h"
#include "tools/selection.h"
#include "tools/terminal.h"
#include "tools/text/dot.h"
#include "tools/text/graphml.h"
#include "tools/text/edge.h"
#include "tools/text/memory_edge.h"
#include "tools/trace_open.h"
#include "tracesmith/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TOP_DEFAULT 20u

/* Two records; `is_given`: the option was there. */
struct record_pair {
    bool is_given;
    uint64_t from, to;
};

struct graph_values {
    struct record_pair why, slice, path; /* why, slice: `to` alone */
    struct tsm_table_top top;
    bool needed, redundant, memory, hang, json, dot, graphml;
    struct tsm_selection_streams streams;
    struct tsm_selection_range range;
};

static bool parse_why(void *field, const char *text)
{
    struct record_pair *pair = field;

    pair->is_given = true;
    return tsm_selection_take_number(&pair->to, &text) && !*text;
}

static bool parse_path(void *field, const char *text)
{
    struct record_pair *pair = field;

    pair->is_given = true;
    return tsm_selection_take_number(&pair->from, &text) && *text++ == ':' &&
           tsm_selection_take_number(&pair->to, &text) && !*text;
}

static const struct tsm_option options[] = {
    {.name = "why",
     .letter = 'w',
     .type = TSM_OPTION_PARSED,
     .offset = TSM_FIELD(graph_values, why),
     .argument = "SEQ",
     .parse = parse_why,
     .help = "Show what this command or wait had to wait for, directly or not, shortest chains "
             "first."},
    {.name = "slice",
     .letter = 's',
     .type = TSM_OPTION_PARSED,
     .offset = TSM_FIELD(graph_values, slice),
     .argument = "SEQ",
     .parse = parse_why,
     .help = "Show what contributed to the bytes that this command reads and writes, shortest "
             "chains first, and how sure that is. Implies --memory."},
    {.name = "path",
     .letter = 'p',
     .type = TSM_OPTION_PARSED,
     .offset = TSM_FIELD(graph_values, path),
     .argument = "A:B",
     .parse = parse_path,
     .help = "Show the shortest chain by which record B had to wait for record A. The exit status "
             "is 1 when there is none."},
    {.name = "hang",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(graph_values, hang),
     .help = "Show the commands that never finished, what each of them waits for, the cycles in "
             "which they wait for each other, and the program's stacks. The exit status is 1 when "
             "there is a cycle."},
    {.name = "top",
     .letter = 't',
     .type = TSM_OPTION_PARSED,
     .offset = TSM_FIELD(graph_values, top),
     .argument = "N",
     .parse = tsm_table_top_parse,
     .help = "The first N rows of a list, 0 for all. Default 20, and all with --json."},
    {.name = "needed",
     .letter = 'n',
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(graph_values, needed),
     .help = "Leave redundant edges out of the graph."},
    {.name = "memory",
     .letter = 'm',
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(graph_values, memory),
     .help =
         "Add edges between commands that access the same bytes, one of them to write: in order "
         "by other edges, or without order. With --why: the direct ones, in a second list."},
    {.name = "dot",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(graph_values, dot),
     .help = "The graph in DOT, for Graphviz, without redundant edges: 'tracesmith graph --dot "
             "t.sbt | dot -Tsvg'."},
    {.name = "redundant",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(graph_values, redundant),
     .help = "With --dot: redundant edges, too, in grey."},
    {.name = "graphml",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(graph_values, graphml),
     .help = "The graph in GraphML, for yEd, Gephi or networkx."},
    TSM_SELECTION_OPTIONS(graph_values, streams, range),
    {.name = "json",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(graph_values, json),
     .help = "One JSON object, schema \"tsgraph/1\": the graph, or what --why and --path find; "
             "\"tshang/1\": what --hang finds."},
    {0},
};

struct run {
    const struct graph_values *v;
    struct sbt_reader *reader;
    struct sbt_filter filter;
    struct tsm_dependency_graph graph;
};

static bool is_selected(const struct run *run, const struct tsm_dependency_node *node)
{
    const struct sbt_filter *f = &run->filter;
    bool found = !f->streams;

    for (size_t i = 0; i < f->stream_count && !found; i++)
        found = f->streams[i] == node->stream;
    return found && node->seq >= f->seq_first && (!f->seq_end || node->seq < f->seq_end);
}

/* Returns the edge's begin where both ends, and the edge itself, are to be shown; else NULL. */
static const struct tsm_dependency_node *shown_begin(const struct run *run,
                                                     const struct tsm_dependency *edge)
{
    const struct tsm_dependency_node *from = tsm_dependency_graph_find(&run->graph, edge->from);

    return from && is_selected(run, from) && !(run->v->needed && edge->is_redundant) ? from : NULL;
}

/* Calls `visit` for each edge that is shown, by what it leads to. */
static void each_edge(const struct run *run,
                      void (*visit)(void *user, const struct tsm_dependency *edge), void *user)
{
    const struct tsm_dependency_graph *g = &run->graph;

    for (size_t i = 0; i < g->node_count; i++)
        for (size_t e = g->nodes[i].first_edge;
             is_selected(run, &g->nodes[i]) && e < g->nodes[i + 1].first_edge; e++)
            if (shown_begin(run, &g->edges[e]))
                visit(user, &g->edges[e]);
}

/* ---- summary --------------------------------------------------------------------------------- */

/* Counts of what is selected. */
struct counts {
    uint64_t commands, waits;
    uint64_t edges[TSM_DEPENDS_COUNT][2]; /* by reason: needed, redundant */
};

static struct counts count_selected(const struct run *run)
{
    const struct tsm_dependency_graph *g = &run->graph;
    struct counts c = {0};

    for (size_t i = 0; i < g->node_count; i++) {
        const struct tsm_dependency_node *node = &g->nodes[i];

        if (!is_selected(run, node))
            continue;
        c.commands += node->is_command;
        c.waits += !node->is_command && node->schema && node->schema->kind == SBT_KIND_SYNC;
        for (size_t e = node->first_edge; e < node[1].first_edge; e++) {
            const struct tsm_dependency_node *from = tsm_dependency_graph_find(g, g->edges[e].from);

            if (from && is_selected(run, from))
                c.edges[g->edges[e].reason][g->edges[e].is_redundant]++;
        }
    }
    return c;
}

static void make_reasons(struct tsm_table *t, const struct counts *c)
{
    t->title = "edges";
    tsm_table_column(t, "reason", "reason", TSM_CELL_TEXT);
    tsm_table_column(t, "needed_count", "needed", TSM_CELL_COUNT);
    tsm_table_column(t, "redundant_count", "redundant", TSM_CELL_COUNT);
    for (unsigned i = 0; i < TSM_DEPENDS_COUNT; i++) {
        if (!c->edges[i][0] && !c->edges[i][1])
            continue;
        tsm_table_text(t, tsm_dependency_reason_name((enum tsm_dependency_reason)i));
        tsm_table_number(t, c->edges[i][0]);
        tsm_table_number(t, c->edges[i][1]);
    }
}

/* Tests whether a wait, of a stream for an event or of the host, has edges of its own, and all of
 * them are redundant. */
static bool is_useless(const struct tsm_dependency_graph *g, const struct tsm_dependency_node *node)
{
    const bool is_of_host = node->schema && node->schema->kind == SBT_KIND_SYNC;
    size_t own_count = 0;

    if (!node->schema || (!is_of_host && node->schema->kind != SBT_KIND_WAIT))
        return false;
    for (size_t e = node->first_edge; e < node[1].first_edge; e++) {
        if (g->edges[e].reason != (is_of_host ? TSM_DEPENDS_HOST : TSM_DEPENDS_EVENT))
            continue;
        if (!g->edges[e].is_redundant)
            return false;
        own_count++;
    }
    return own_count != 0;
}

static void put_stream(struct tsm_table *t, const struct tsm_dependency_node *node)
{
    tsm_table_number_or_unknown(t, node->stream != SBT_STREAM_NONE, node->stream);
}

static void make_useless(struct tsm_table *t, const struct run *run)
{
    const struct tsm_dependency_graph *g = &run->graph;

    t->title = "waits for what is known to be over";
    tsm_table_column(t, "seq", "record", TSM_CELL_COUNT);
    tsm_table_column(t, "thread", "thread", TSM_CELL_COUNT);
    tsm_table_column(t, "stream", "stream", TSM_CELL_COUNT);
    tsm_table_column(t, "call", "call", TSM_CELL_TEXT);
    for (size_t i = 0; i < g->node_count; i++) {
        const struct tsm_dependency_node *node = &g->nodes[i];

        if (!is_selected(run, node) || !is_useless(g, node))
            continue;
        tsm_table_number(t, node->seq);
        tsm_table_number(t, node->thread);
        put_stream(t, node);
        tsm_table_text(t, tsm_dependency_node_call(node));
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void begin_conflicts(struct tsm_table *t, const char *title)
{
    t->title = title;
    tsm_table_column(t, "from", "record", TSM_CELL_COUNT);
    tsm_table_column(t, "to", "before", TSM_CELL_COUNT);
    tsm_table_column(t, "reason", "reason", TSM_CELL_TEXT);
    tsm_table_column(t, "order", "order", TSM_CELL_TEXT);
    tsm_memory_edge_columns(t);
    tsm_table_column(t, "call", "call", TSM_CELL_TEXT);
    tsm_table_column(t, "kernel", "kernel", TSM_CELL_NAME);
}

static void put_conflict(struct tsm_table *t, const struct run *run,
                         const struct tsm_dependency *edge)
{
    const struct tsm_dependency_node *from = tsm_dependency_graph_find(&run->graph, edge->from);

    if (!from)
        return;
    tsm_table_number(t, edge->from);
    tsm_table_number(t, edge->to);
    tsm_table_text(t, tsm_dependency_reason_name(edge->reason));
    tsm_table_text(t, edge->is_unordered ? "none" : "known");
    tsm_memory_edge_cells(t, edge);
    tsm_table_text(t, tsm_dependency_node_call(from));
    tsm_table_text(t, from->kernel);
}

struct unordered {
    const struct run *run;
    struct tsm_table *table;
    enum tsm_access_kind kind;
};

static void put_unordered(void *user, const struct tsm_dependency *edge)
{
    const struct unordered *u = user;

    if (edge->is_unordered && edge->access == u->kind)
        put_conflict(u->table, u->run, edge);
}

/* The surest come first; of what may do anything there is nothing to say. */
static void make_unordered(struct tsm_table *t, const struct run *run)
{
    begin_conflicts(t, "conflicts without order");
    for (int kind = 0; run->v->memory && kind < TSM_ACCESS_UNKNOWN; kind++)
        each_edge(run, put_unordered, &(struct unordered){run, t, (enum tsm_access_kind)kind});
}

static size_t top_of(const struct graph_values *v)
{
    return tsm_table_top_rows(&v->top, v->json ? 0 : TOP_DEFAULT);
}

static void print_summary(const struct run *run)
{
    struct tsm_table reasons = {.name = "reasons"}, useless = {.name = "redundant_waits"},
                     unordered = {.name = "unordered"};
    const struct counts counts = count_selected(run);

    make_reasons(&reasons, &counts);
    make_useless(&useless, run);
    make_unordered(&unordered, run);
    printf("%" PRIu64 " commands, %" PRIu64 " waits of the host\n", counts.commands, counts.waits);
    if (reasons.row_count) {
        putchar('\n');
        tsm_table_print(&reasons, 0);
    }
    if (useless.row_count) {
        putchar('\n');
        tsm_table_print(&useless, top_of(run->v));
    }
    if (unordered.row_count) {
        putchar('\n');
        tsm_table_print(&unordered, top_of(run->v));
    }
    tsm_table_finish(&unordered);
    tsm_table_finish(&reasons);
    tsm_table_finish(&useless);
}

/* ---- the graph ------------------------------------------------------------------------------- */

static void json_node(struct tsm_json *j, const struct tsm_dependency_node *node)
{
    tsm_json_put_u64(j, "seq", node->seq);
    tsm_json_put_string(j, "call", tsm_dependency_node_call(node));
    tsm_json_put_string(j, "kernel", node->kernel);
    tsm_json_name(j, "stream");
    if (node->stream == SBT_STREAM_NONE)
        tsm_json_string(j, NULL);
    else
        tsm_json_u64(j, node->stream);
    tsm_json_put_u64(j, "thread", node->thread);
    tsm_json_put_bool(j, "command", node->is_command);
}

static void json_edge(void *user, const struct tsm_dependency *edge)
{
    struct tsm_json *j = user;

    tsm_json_open(j, '{');
    tsm_json_put_u64(j, "to", edge->to);
    tsm_edge_json(j, edge);
    if (tsm_dependency_is_memory(edge))
        tsm_memory_edge_json(j, edge);
    tsm_json_close(j, '}');
}

static void print_json(const struct run *run)
{
    struct tsm_table useless = {.name = "redundant_waits"};
    const struct tsm_dependency_graph *g = &run->graph;
    struct tsm_json j = {.out = stdout};

    tsm_json_begin(&j, "tsgraph/1");
    tsm_json_put_string(&j, "trace", sbt_reader_name(run->reader));
    tsm_json_put_u64(&j, "passed_count", g->passed_count);
    tsm_json_put_u64(&j, "shortened_count", g->shortened_count);
    tsm_json_put_open(&j, "nodes", '[');
    for (size_t i = 0; i < g->node_count; i++) {
        if (!is_selected(run, &g->nodes[i]))
            continue;
        tsm_json_open(&j, '{');
        json_node(&j, &g->nodes[i]);
        tsm_json_close(&j, '}');
    }
    tsm_json_close(&j, ']');
    tsm_json_put_open(&j, "edges", '[');
    each_edge(run, json_edge, &j);
    tsm_json_close(&j, ']');
    make_useless(&useless, run);
    tsm_table_print_json(&useless, &j, 0);
    tsm_table_finish(&useless);
    tsm_json_end(&j);
}

static bool is_drawn(void *user, const struct tsm_dependency_node *node)
{
    return is_selected(user, node);
}

static int print_dot(const struct run *run)
{
    const struct tsm_dot dot = {.graph = &run->graph,
                                .has_redundant = run->v->redundant,
                                .has_ordered = !run->v->needed,
                                .is_shown = is_drawn,
                                .user = (void *)(uintptr_t)run};

    return tsm_dot_print(&dot) ? tsm_complain_error() : TSM_EXIT_OK;
}

static void print_graphml(const struct run *run)
{
    tsm_graphml_print(&(struct tsm_graphml){.graph = &run->graph,
                                            .has_redundant = !run->v->needed,
                                            .is_shown = is_drawn,
                                            .user = (void *)(uintptr_t)run});
}

/* ---- searches -------------------------------------------------------------------------------- */

static void begin_steps(struct tsm_table *t, const char *title, bool is_memory)
{
    t->title = title;
    tsm_table_column(t, "steps", "steps", TSM_CELL_COUNT);
    tsm_table_column(t, "seq", "record", TSM_CELL_COUNT);
    tsm_table_column(t, "thread", "thread", TSM_CELL_COUNT);
    tsm_table_column(t, "stream", "stream", TSM_CELL_COUNT);
    tsm_table_column(t, "reason", "reason", TSM_CELL_TEXT);
    if (is_memory)
        tsm_memory_edge_columns(t);
    else
        tsm_table_column(t, "object", "object", TSM_CELL_TEXT);
    tsm_table_column(t, "before", "before", TSM_CELL_COUNT);
    tsm_table_column(t, "call", "call", TSM_CELL_TEXT);
    tsm_table_column(t, "kernel", "kernel", TSM_CELL_NAME);
}

/* A step without an edge that is not the first comes before something unknown. */
static void put_step(struct tsm_table *t, const struct tsm_dependency_step *step, bool is_memory)
{
    const struct tsm_dependency *edge = step->edge;
    char object[TSM_EDGE_OBJECT_MAX];

    tsm_table_number(t, step->count);
    tsm_table_number(t, step->node->seq);
    tsm_table_number(t, step->node->thread);
    put_stream(t, step->node);
    tsm_table_text(t, edge          ? tsm_dependency_reason_name(edge->reason)
                      : step->count ? tsm_dependency_reason_name(TSM_DEPENDS_UNKNOWN)
                                    : NULL);
    if (is_memory)
        tsm_memory_edge_cells(t, edge);
    else
        tsm_table_text(t, edge ? tsm_edge_object(object, edge) : NULL);
    tsm_table_number_or_unknown(t, edge, edge ? edge->to : 0);
    tsm_table_text(t, tsm_dependency_node_call(step->node));
    tsm_table_text(t, step->node->kernel);
}

static void begin_json(struct tsm_json *j, const struct run *run)
{
    tsm_json_begin(j, "tsgraph/1");
    tsm_json_put_string(j, "trace", sbt_reader_name(run->reader));
}

static void print_steps(const struct run *run, struct tsm_table *t)
{
    struct tsm_json j = {.out = stdout};

    if (!run->v->json) {
        tsm_table_print(t, top_of(run->v));
        return;
    }
    begin_json(&j, run);
    tsm_table_print_json(t, &j, top_of(run->v));
    tsm_json_end(&j);
}

/* The same with the conflicts of the node. */
static void print_steps_and_conflicts(const struct run *run, struct tsm_table *t,
                                      const struct tsm_dependency_node *node)
{
    const struct tsm_dependency_graph *g = &run->graph;
    struct tsm_table conflicts = {.name = "conflicts"};
    struct tsm_json j = {.out = stdout};

    begin_conflicts(&conflicts, "what it conflicts with");
    for (size_t e = node->first_edge; e < node[1].first_edge; e++)
        if (tsm_dependency_is_memory(&g->edges[e]))
            put_conflict(&conflicts, run, &g->edges[e]);
    if (run->v->json) {
        begin_json(&j, run);
        tsm_table_print_json(t, &j, top_of(run->v));
        tsm_table_print_json(&conflicts, &j, top_of(run->v));
        tsm_json_end(&j);
    } else {
        tsm_table_print(t, top_of(run->v));
        putchar('\n');
        tsm_table_print(&conflicts, top_of(run->v));
    }
    tsm_table_finish(&conflicts);
}

/* Returns NULL after a complaint. */
static const struct tsm_dependency_node *find_node(const struct run *run, uint64_t seq)
{
    const struct tsm_dependency_node *node = tsm_dependency_graph_find(&run->graph, seq);

    if (!node)
        tsm_complain("%s: record %" PRIu64 " is no command that was sent, and no wait; 'tsview' "
                     "shows what it is",
                     tsm_clean(sbt_reader_name(run->reader)), seq);
    return node;
}

static int print_why(const struct run *run)
{
    const struct tsm_dependency_node *node = find_node(run, run->v->why.to);
    struct tsm_table table = {.name = "before"};
    struct tsm_dependency_step *list = NULL;
    size_t count = 0;
    int error;

    if (!node)
        return TSM_EXIT_ERROR;
    error = tsm_dependency_graph_before(&list, &count, &run->graph, node, NULL);
    begin_steps(&table, "what it had to wait for", false);
    for (size_t i = 0; i < count && !error; i++)
        put_step(&table, &list[i], false);
    if (!error && run->v->memory)
        print_steps_and_conflicts(run, &table, node);
    else if (!error)
        print_steps(run, &table);
    tsm_table_finish(&table);
    free(list);
    return error ? tsm_complain_error() : TSM_EXIT_OK;
}

static void print_kinds(const struct run *run, struct tsm_table *t,
                        const struct tsm_contributors *c)
{
    struct tsm_json j = {.out = stdout};

    if (run->v->json) {
        begin_json(&j, run);
        tsm_json_put_open(&j, "rests_on", '{');
        for (int i = 0; i < TSM_ACCESS_KIND_COUNT; i++)
            tsm_json_put_u64(&j, tsm_access_kind_name((enum tsm_access_kind)i), c->kinds[i]);
        tsm_json_close(&j, '}');
        tsm_table_print_json(t, &j, top_of(run->v));
        tsm_json_end(&j);
        return;
    }
    tsm_table_print(t, top_of(run->v));
    printf("\n%zu others contributed, by accesses that are", c->count - 1);
    for (int i = 0; i < TSM_ACCESS_KIND_COUNT; i++)
        printf("%s %s (%" PRIu64 ")", i ? "," : "", tsm_access_kind_name((enum tsm_access_kind)i),
               c->kinds[i]);
    putchar('\n');
}

static int print_slice(const struct run *run)
{
    const struct tsm_dependency_node *node = find_node(run, run->v->slice.to);
    struct tsm_table table = {.name = "contributors"};
    struct tsm_contributors found = {0};
    int error;

    if (!node)
        return TSM_EXIT_ERROR;
    error = tsm_contributors_find(&found, &run->graph, node);
    begin_steps(&table, "what contributed to its bytes", true);
    for (size_t i = 0; i < found.count && !error; i++)
        put_step(&table, &found.list[i], true);
    if (!error)
        print_kinds(run, &table, &found);
    tsm_table_finish(&table);
    tsm_contributors_finish(&found);
    return error ? tsm_complain_error() : TSM_EXIT_OK;
}

static const struct tsm_dependency_step *find_step(const struct tsm_dependency_step *list,
                                                   size_t count, uint64_t seq)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].node->seq == seq)
            return &list[i];
    return NULL;
}

static int print_path(const struct run *run)
{
    const struct tsm_dependency_node *from = find_node(run, run->v->path.from),
                                     *to = from ? find_node(run, run->v->path.to) : NULL;
    const struct tsm_dependency_step *step;
    struct tsm_table table = {.name = "path"};
    struct tsm_dependency_step *list = NULL;
    size_t count = 0;
    int error;

    if (!to)
        return TSM_EXIT_ERROR;
    error = tsm_dependency_graph_before(&list, &count, &run->graph, to, from);
    step = error ? NULL : find_step(list, count, from->seq);
    begin_steps(&table, "the chain between them", false);
    for (const struct tsm_dependency_step *s = step; s;
         s = s->edge ? find_step(list, count, s->edge->to) : NULL)
        put_step(&table, s, false);
    if (!error && (step || run->v->json))
        print_steps(run, &table);
    else if (!error)
        tsm_note("record %" PRIu64 " did not have to wait for record %" PRIu64, to->seq, from->seq);
    tsm_table_finish(&table);
    free(list);
    return error ? tsm_complain_error() : step ? TSM_EXIT_OK : TSM_EXIT_NO;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int print(const struct run *run)
{
    const struct graph_values *v = run->v;

    if (v->why.is_given)
        return print_why(run);
    if (v->slice.is_given)
        return print_slice(run);
    if (v->path.is_given)
        return print_path(run);
    if (v->json)
        print_json(run);
    else if (v->dot)
        return print_dot(run);
    else if (v->graphml)
        print_graphml(run);
    else
        print_summary(run);
    return TSM_EXIT_OK;
}

static int check(const struct graph_values *v)
{
    const int searches = v->why.is_given + v->slice.is_given + v->path.is_given + v->hang;

    if (searches > 1)
        return tsm_complain("--why, --slice, --path and --hang: one at a time, please");
    if (v->json + v->dot + v->graphml > 1)
        return tsm_complain("--json, --dot and --graphml: one of them");
    if (searches && (v->dot || v->graphml))
        return tsm_complain("--why, --slice, --path and --hang have no --dot or --graphml: they "
                            "print lists");
    return 0;
}

static int run_hang(const struct graph_values *v, const char *path)
{
    struct sbt_reader *reader = tsm_trace_open(path);
    size_t noted = 0;
    int status;

    if (!reader)
        return TSM_EXIT_ERROR;
    status = tsm_hang_view(reader, top_of(v), v->json);
    tsm_trace_note_damage(reader, &noted);
    sbt_reader_destroy(reader);
    return status;
}

static int run_graph(const struct tsm_command *command, void *values, const struct tsm_words *words)
{
    struct run run = {.v = values};
    size_t noted = 0;
    int status = check(run.v);
    int error;

    if (status)
        return status;
    if (run.v->hang)
        return run_hang(run.v, words->words[0]);
    run.reader = tsm_trace_open(words->words[0]);
    if (!run.reader)
        return TSM_EXIT_ERROR;
    tsm_trace_show_progress(run.reader, "following dependencies");
    error = tsm_selection_filter(&run.filter, run.reader, &run.v->streams, &run.v->range);
    if (!error)
        error = tsm_selection_seqs(&run.filter, run.reader);
    if (!error)
        error = tsm_dependency_graph_make(&run.graph, run.reader,
                                          run.v->memory || run.v->slice.is_given);
    tsm_trace_show_progress(run.reader, NULL);
    status = error ? tsm_complain_error() : print(&run);
    if (!error && run.graph.passed_count)
        tsm_note("%s: %" PRIu64
                 " commands are not in the graph: it knows CUDA, Vulkan, HSA and DRM",
                 tsm_clean(sbt_reader_name(run.reader)), run.graph.passed_count);
    if (!error && run.graph.shortened_count)
        tsm_note("%s: %" PRIu64 " edges of barriers say less than they could: they came after more "
                 "submits, or command buffers, than are followed",
                 tsm_clean(sbt_reader_name(run.reader)), run.graph.shortened_count);
    if (!error && run.graph.left_out)
        tsm_note("%s: %" PRIu64 " edges or accesses of memory were left out: there were too many, "
                 "or records came late",
                 tsm_clean(sbt_reader_name(run.reader)), run.graph.left_out);
    tsm_trace_note_damage(run.reader, &noted);
    tsm_dependency_graph_finish(&run.graph);
    sbt_reader_destroy(run.reader);
    return status;
}

const struct tsm_command tsm_command_graph = {
    .name = "graph",
    .summary = "show what commands had to wait for, and why",
    .synopsis = "[OPTION]... TRACE",
    .description =
        "Finds out which commands and waits of the host had to be over before a command could "
        "begin: by the order of its stream, events, semaphores, signals, the default stream, and "
        "what the thread that sent it had waited for. An edge is redundant when the others say as "
        "much; waits that have "
        "only such edges waited for what was known to be over. What threads of the program tell "
        "each other it does not know.\n\n"
        "With --memory it adds which commands access the same bytes, one of them to write. Copies "
        "and fills declare their bytes; a kernel may read and write all that its arguments lead "
        "to (reachable). Two such commands without an order are a race, where the accesses are "
        "declared, and may be one else.\n\n"
        "With --hang it shows, of a program that hung and was killed, the commands that never "
        "finished, what each of them waits for, and the cycles in which they wait for each "
        "other.\n\n"
        "Knows CUDA, Vulkan, HSA and DRM. Commands of Vulkan, HSA and DRM may overlap on their "
        "queue: they have edges where something orders them. "
        "--memory and --slice know CUDA alone.",
    .examples = "tracesmith graph trace.sbt\n"
                "tracesmith graph --why=812 trace.sbt\n"
                "tracesmith graph --path=98:812 trace.sbt\n"
                "tracesmith graph --memory trace.sbt\n"
                "tracesmith graph --slice=812 trace.sbt\n"
                "tracesmith graph --hang trace.sbt\n"
                "tracesmith graph --dot --range=0:200 trace.sbt | dot -Tsvg >graph.svg\n",
    .exit_status = "0|done\n"
                   "1|--path: the one did not have to wait for the other; --hang: commands wait "
                   "for each other in a cycle\n"
                   "2|the trace cannot be read, or has no such command",
    .options = options,
    .values_size = sizeof(struct graph_values),
    .operand = "TRACE",
    .word_min = 1,
    .word_max = 1,
    .run = run_graph,
};
