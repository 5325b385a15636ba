/* SPDX-License-Identifier: Apache-2.0 */
#include "tracesmith/columns.h"

#include "analysis/dependencies/graph.h"

#include <stdlib.h>

struct edges {
    struct tsm_edges table;
    uint64_t *from, *to, *object;
    uint32_t *reason;
    uint8_t *is_redundant, *is_unordered;
};

static struct edges *allocate(size_t count)
{
    struct edges *e = calloc(1, sizeof(*e));
    const size_t room = count + 1; /* calloc(0) may return NULL */

    if (!e)
        return NULL;
    e->from = calloc(room, sizeof(*e->from));
    e->to = calloc(room, sizeof(*e->to));
    e->object = calloc(room, sizeof(*e->object));
    e->reason = calloc(room, sizeof(*e->reason));
    e->is_redundant = calloc(room, 1);
    e->is_unordered = calloc(room, 1);
    if (e->from && e->to && e->object && e->reason && e->is_redundant && e->is_unordered)
        return e;
    tsm_edges_destroy(&e->table);
    return NULL;
}

static void fill(struct edges *e, const struct tsm_dependency *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        e->from[i] = list[i].from;
        e->to[i] = list[i].to;
        e->object[i] = list[i].object;
        e->reason[i] = list[i].reason;
        e->is_redundant[i] = list[i].is_redundant;
        e->is_unordered[i] = list[i].is_unordered;
    }
    e->table = (struct tsm_edges){.count = count,
                                  .from = e->from,
                                  .to = e->to,
                                  .object = e->object,
                                  .reason = e->reason,
                                  .is_redundant = e->is_redundant,
                                  .is_unordered = e->is_unordered};
}

int tsm_edges_read(struct tsm_edges **out, struct sbt_reader *reader, bool has_memory)
{
    struct tsm_dependency_graph graph;
    int error = tsm_dependency_graph_make(&graph, reader, has_memory);
    struct edges *e = error ? NULL : allocate(graph.edge_count);

    if (e) {
        fill(e, graph.edges, graph.edge_count);
        *out = &e->table;
    } else if (!error) {
        error = tsm_fail(TSM_E_MEMORY, "out of memory for a table of edges");
    }
    tsm_dependency_graph_finish(&graph);
    return error;
}

void tsm_edges_destroy(struct tsm_edges *table)
{
    struct edges *e = (struct edges *)(void *)table; /* its first member */

    if (!e)
        return;
    free(e->from);
    free(e->to);
    free(e->object);
    free(e->reason);
    free(e->is_redundant);
    free(e->is_unordered);
    free(e);
}
