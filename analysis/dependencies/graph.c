/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/dependencies/graph.h"

#include "analysis/dependencies/barrier_edges.h"
#include "analysis/dependencies/memory_edges.h"
#include "analysis/model/pass.h"
#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for the graph of dependencies");
}

/* ---- making ---------------------------------------------------------------------------------- */

struct making {
    struct tsm_dependency_graph *g;
    struct tsm_dependencies dependencies;
    struct tsm_memory_edges *memory; /* NULL: without */
};

static const char *kernel_of(struct sbt_reader *reader, const struct sbt_record *record,
                             const struct sbt_schema *schema)
{
    const uint64_t name = sbt_record_role(schema, record, SBT_ROLE_FUNCTION_NAME, 0);

    return name ? sbt_reader_string(reader, (uint32_t)name) : NULL;
}

static int add_edges(struct tsm_dependency_graph *g, const struct tsm_dependency *list,
                     size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!TSM_ARRAY_PUSH(g->edges, g->edge_count, g->edge_capacity, list[i]))
            return no_memory();
    return 0;
}

static bool may_write(const struct tsm_accesses *a)
{
    bool found = a->is_unknown;

    for (size_t i = 0; i < a->count && !found; i++)
        found = a->list[i].writes;
    return found;
}

static int add(struct making *m, const struct sbt_record *record, const struct sbt_schema *schema,
               bool is_command)
{
    const struct tsm_dependencies *d = &m->dependencies;
    struct tsm_dependency_graph *g = m->g;
    struct tsm_dependency_node node = {.seq = record->seq,
                                       .schema = schema,
                                       .kernel = kernel_of(d->reader, record, schema),
                                       .stream = record->stream,
                                       .thread = record->thread,
                                       .is_command = is_command};
    int error;

    if (m->memory) {
        node.is_unknown = m->memory->accesses.is_unknown;
        node.writes = may_write(&m->memory->accesses);
    }
    if (!d->is_node && !node.writes)
        return 0;
    error = add_edges(g, d->found, d->found_count);
    if (!error && m->memory)
        error = add_edges(g, m->memory->found, m->memory->found_count);
    if (error)
        return error;
    return TSM_ARRAY_PUSH(g->nodes, g->node_count, g->node_capacity, node) ? 0 : no_memory();
}

static int add_call(void *user, const struct tsm_call_node *call)
{
    struct making *m = user;
    int error = tsm_dependencies_note(&m->dependencies, call);

    if (!error && m->memory)
        error = tsm_memory_edges_note(m->memory, m->dependencies.reader, call);
    return error || !m->dependencies.is_node ? error
                                             : add(m, call->record, call->schema, call->is_command);
}

static int add_core(void *user, const struct sbt_record *record)
{
    struct making *m = user;
    const struct sbt_schema *schema = sbt_core_schema(SBT_TYPE_CALL(record->type));
    int error = tsm_dependencies_note_core(&m->dependencies, record);

    if (!error && m->memory)
        error = tsm_memory_edges_note_core(m->memory, record);
    return error || !schema ? error : add(m, record, schema, false);
}

static int note_change(void *user, const struct tsm_memory_node *change)
{
    struct making *m = user;

    if (m->memory)
        tsm_memory_edges_change(m->memory, change);
    return 0;
}

static uint64_t block_of(const struct tsm_dependency_graph *g, uint64_t seq)
{
    return (seq - g->nodes[0].seq) >> g->block_shift;
}

static int by_ends(const void *a, const void *b)
{
    const struct tsm_dependency *x = a, *y = b;

    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->reason < y->reason ? -1 : x->reason > y->reason;
}

/* Tests whether edges came with what they lead to, as all do but those of late records. */
static bool is_in_order(const struct tsm_dependency_graph *g)
{
    for (size_t i = 1; i < g->edge_count; i++)
        if (g->edges[i].to < g->edges[i - 1].to)
            return false;
    return true;
}

/* Notes where nodes of each block of numbers begin: there are as many blocks as nodes at most. */
static int index_nodes(struct tsm_dependency_graph *g)
{
    size_t node = 0, count;

    if (!g->node_count)
        return 0;
    while (block_of(g, g->nodes[g->node_count - 1].seq) >= g->node_count)
        g->block_shift++;
    count = (size_t)block_of(g, g->nodes[g->node_count - 1].seq) + 1;
    g->blocks = malloc((count + 1) * sizeof(*g->blocks));
    if (!g->blocks)
        return no_memory();
    for (size_t i = 0; i <= count; i++) {
        while (node < g->node_count && block_of(g, g->nodes[node].seq) < i)
            node++;
        g->blocks[i] = node;
    }
    return 0;
}

static int index_edges(struct tsm_dependency_graph *g)
{
    size_t edge = 0;

    if (!TSM_ARRAY_PUSH(g->nodes, g->node_count, g->node_capacity,
                        (struct tsm_dependency_node){.seq = UINT64_MAX}))
        return no_memory();
    if (!is_in_order(g))
        qsort(g->edges, g->edge_count, sizeof(*g->edges), by_ends);
    for (size_t i = 0; i < g->node_count; i++) {
        while (edge < g->edge_count && g->edges[edge].to < g->nodes[i].seq)
            edge++;
        g->nodes[i].first_edge = edge;
    }
    g->node_count--;
    return index_nodes(g);
}

int tsm_dependency_graph_make(struct tsm_dependency_graph *out, struct sbt_reader *reader,
                              bool has_memory)
{
    struct making m = {.g = out, .dependencies = {.reader = reader}};
    const struct tsm_model_visitor visitor = {
        .user = &m, .call = add_call, .core = add_core, .memory = note_change};
    int error = 0;

    *out = (struct tsm_dependency_graph){0};
    if (has_memory && !(m.memory = calloc(1, sizeof(*m.memory))))
        error = no_memory();
    if (m.memory) {
        m.memory->order = &m.dependencies;
        error = tsm_accesses_begin(&m.memory->accesses, reader);
    }
    if (!error)
        error = tsm_model_pass(NULL, reader, NULL, &visitor);
    out->passed_count = m.dependencies.passed_count;
    if (m.dependencies.recorded)
        out->shortened_count = m.dependencies.recorded->left_out;
    if (m.memory) {
        out->left_out = m.memory->left_out + m.memory->budget.left_out;
        tsm_memory_edges_finish(m.memory);
        free(m.memory);
    }
    tsm_dependencies_finish(&m.dependencies);
    return error ? error : index_edges(out);
}

void tsm_dependency_graph_finish(struct tsm_dependency_graph *g)
{
    free(g->nodes);
    free(g->edges);
    free(g->blocks);
    *g = (struct tsm_dependency_graph){0};
}

/* ---- searching ------------------------------------------------------------------------------- */

const struct tsm_dependency_node *tsm_dependency_graph_find(const struct tsm_dependency_graph *g,
                                                            uint64_t seq)
{
    const struct tsm_dependency_node *first;
    size_t at, count;
    uint64_t block;

    if (!g->node_count || seq < g->nodes[0].seq || seq > g->nodes[g->node_count - 1].seq)
        return NULL;
    block = block_of(g, seq);
    first = &g->nodes[g->blocks[block]];
    count = g->blocks[block + 1] - g->blocks[block];
    TSM_BISECT(at, count, first[at].seq >= seq);
    return at < count && first[at].seq == seq ? &first[at] : NULL;
}

int tsm_dependency_graph_before(struct tsm_dependency_step **out, size_t *count,
                                const struct tsm_dependency_graph *g,
                                const struct tsm_dependency_node *node,
                                const struct tsm_dependency_node *until)
{
    bool *is_found = calloc(g->node_count + 1, sizeof(*is_found));
    struct tsm_dependency_step *list = NULL;
    size_t capacity = 0;
    bool ok = is_found != NULL;

    *count = 0;
    ok = ok && TSM_ARRAY_PUSH(list, *count, capacity, (struct tsm_dependency_step){node, NULL, 0});
    if (ok)
        is_found[node - g->nodes] = true;
    for (size_t i = 0; ok && i < *count && list[i].node != until; i++)
        for (size_t e = list[i].node->first_edge; ok && e < list[i].node[1].first_edge; e++) {
            const struct tsm_dependency_node *from = tsm_dependency_graph_find(g, g->edges[e].from);

            if (!from || g->edges[e].is_redundant || tsm_dependency_is_memory(&g->edges[e]) ||
                is_found[from - g->nodes])
                continue;
            is_found[from - g->nodes] = true;
            ok =
                TSM_ARRAY_PUSH(list, *count, capacity,
                               (struct tsm_dependency_step){from, &g->edges[e], list[i].count + 1});
        }
    free(is_found);
    *out = list;
    return ok ? 0 : no_memory();
}
