/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/dependencies/graph.h"

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
};

static const char *kernel_of(struct sbt_reader *reader, const struct sbt_record *record,
                             const struct sbt_schema *schema)
{
    const uint64_t name = sbt_record_role(schema, record, SBT_ROLE_FUNCTION_NAME, 0);

    return name ? sbt_reader_string(reader, (uint32_t)name) : NULL;
}

static int add(struct making *m, const struct sbt_record *record, const struct sbt_schema *schema,
               bool is_command)
{
    const struct tsm_dependencies *d = &m->dependencies;
    struct tsm_dependency_graph *g = m->g;
    const struct tsm_dependency_node node = {.seq = record->seq,
                                             .schema = schema,
                                             .kernel = kernel_of(d->reader, record, schema),
                                             .stream = record->stream,
                                             .thread = record->thread,
                                             .is_command = is_command};

    if (!d->is_node)
        return 0;
    g->command_count += is_command;
    g->wait_count += !is_command && schema->kind == SBT_KIND_SYNC;
    for (size_t i = 0; i < d->found_count; i++) {
        if (!TSM_ARRAY_PUSH(g->edges, g->edge_count, g->edge_capacity, d->found[i]))
            return no_memory();
        g->counts[d->found[i].reason][d->found[i].is_redundant]++;
    }
    return TSM_ARRAY_PUSH(g->nodes, g->node_count, g->node_capacity, node) ? 0 : no_memory();
}

static int add_call(void *user, const struct tsm_call_node *call)
{
    struct making *m = user;
    const int error = tsm_dependencies_note(&m->dependencies, call);

    return error ? error : add(m, call->record, call->schema, call->is_command);
}

static int add_core(void *user, const struct sbt_record *record)
{
    struct making *m = user;
    const struct sbt_schema *schema = sbt_core_schema(SBT_TYPE_CALL(record->type));
    const int error = tsm_dependencies_note_core(&m->dependencies, record);

    return error || !schema ? error : add(m, record, schema, false);
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
    return 0;
}

int tsm_dependency_graph_make(struct tsm_dependency_graph *out, struct sbt_reader *reader)
{
    struct making m = {.g = out, .dependencies = {.reader = reader}};
    const struct tsm_model_visitor visitor = {.user = &m, .call = add_call, .core = add_core};
    struct tsm_model_counts counts;
    int error;

    *out = (struct tsm_dependency_graph){0};
    error = tsm_model_pass(&counts, reader, NULL, &visitor);
    out->passed_count = m.dependencies.passed_count;
    tsm_dependencies_finish(&m.dependencies);
    return error ? error : index_edges(out);
}

void tsm_dependency_graph_finish(struct tsm_dependency_graph *g)
{
    free(g->nodes);
    free(g->edges);
    *g = (struct tsm_dependency_graph){0};
}

/* ---- searching ------------------------------------------------------------------------------- */

const struct tsm_dependency_node *tsm_dependency_graph_find(const struct tsm_dependency_graph *g,
                                                            uint64_t seq)
{
    size_t at;

    TSM_BISECT(at, g->node_count, g->nodes[at].seq >= seq);
    return at < g->node_count && g->nodes[at].seq == seq ? &g->nodes[at] : NULL;
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

            if (!from || g->edges[e].is_redundant || is_found[from - g->nodes])
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
