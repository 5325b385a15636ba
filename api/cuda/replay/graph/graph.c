/* SPDX-License-Identifier: Apache-2.0
 *
 * Replay of graphs: their nodes' names, edges, attributes, and the memory that they allocate.
 */
#include "api/cuda/replay/state.h"

#include <stdlib.h>
#include <string.h>

/* ---- ids ---------------------------------------------------------------------------------- */

static int unknown_node(uint32_t id)
{
    return tsm_fail(TSM_E_NOT_FOUND, "node %u was made by no record of this trace", id);
}

CUgraphNode *cuda_nodes_read(struct cuda_args *args, uint32_t slot, size_t *count)
{
    const uint8_t *bytes = NULL;
    CUgraphNode *nodes;
    size_t size = 0;
    uint32_t id;

    *count = 0;
    if (args->error || !sbt_record_bytes(args->record, slot, &bytes, &size) || size < sizeof(id))
        return NULL;
    nodes = calloc(size / sizeof(id), sizeof(CUgraphNode));
    if (!nodes)
        args->error = tsm_fail(TSM_E_MEMORY, "no memory for nodes");
    for (; nodes && *count < size / sizeof(id) && !args->error; ++*count) {
        memcpy(&id, bytes + *count * sizeof(id), sizeof(id));
        nodes[*count] = cuda_object_find(args->replay, CUDA_OBJECT_NODE, id);
        if (!nodes[*count])
            args->error = unknown_node(id);
    }
    return nodes;
}

/* ---- nodes of a capture or a clone, which no record made ---------------------------------- */

/* One named node, as api/cuda/source/graph/graph.c writes it. */
struct named {
    uint32_t id, type;
};

struct listing {
    const struct named *recorded;
    CUgraphNode *nodes; /* those of the replay, NULL: has a name */
    size_t count;
};

static size_t find_node(const struct listing *l, CUgraphNode node, size_t hint)
{
    if (node && l->nodes[hint] == node)
        return hint;
    for (size_t i = 0; node && i < l->count; i++)
        if (l->nodes[i] == node)
            return i;
    return l->count;
}

/* Nodes that replay does without are empty ones here. */
static bool is_kind(const struct cuda_args *args, CUgraphNode node, uint32_t recorded)
{
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;

    if (args->driver->cuGraphNodeGetType(node, &type) != CUDA_SUCCESS)
        return false;
    return (uint32_t)type == recorded || type == CU_GRAPH_NODE_TYPE_EMPTY;
}

static int name_rest(struct cuda_args *args, struct listing *l, const bool *is_named)
{
    size_t next = 0;
    int error = 0;

    for (size_t i = 0; i < l->count && !error; i++) {
        if (is_named[i])
            continue;
        while (next < l->count && !l->nodes[next])
            next++;
        if (next == l->count || !is_kind(args, l->nodes[next], l->recorded[i].type))
            return tsm_fail(TSM_E_UNSUPPORTED,
                            "node %zu of a graph is of another kind here: this driver lists nodes "
                            "in another order, or captured others",
                            i);
        error =
            cuda_object_set(args->replay, CUDA_OBJECT_NODE, l->recorded[i].id, l->nodes[next++]);
    }
    return error;
}

/* Names nodes: first those with recorded names; the rest of both sides is paired in the drivers'
 * order. */
static int name_nodes(struct cuda_args *args, struct listing *l)
{
    bool *is_named = calloc(l->count + 1, sizeof(*is_named));
    int error;

    if (!is_named)
        return tsm_fail(TSM_E_MEMORY, "no memory for nodes");
    for (size_t i = 0; i < l->count; i++) {
        size_t at =
            find_node(l, cuda_object_find(args->replay, CUDA_OBJECT_NODE, l->recorded[i].id), i);
        is_named[i] = at < l->count;
        if (is_named[i])
            l->nodes[at] = NULL;
    }
    error = name_rest(args, l, is_named);
    free(is_named);
    return error;
}

int replay_cuGraphGetNodes(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    struct sbt_blob blob;
    struct listing l = {0};
    size_t count = 0;

    cuda_args_begin(&args, replay, record, SLOT_cuGraphGetNodes_nodes + 1);
    CUgraph graph = cuda_arg_handle(&args, SLOT_cuGraphGetNodes_hGraph, CUDA_OBJECT_GRAPH);
    if (args.error || !sbt_record_blob(record, SLOT_cuGraphGetNodes_nodes, &blob) || !blob.size)
        return args.error;
    l.recorded = cuda_arg_blob(&args, SLOT_cuGraphGetNodes_nodes, 0);
    l.count = blob.size / sizeof(struct named);
    if (args.error)
        return args.error;
    l.nodes = cuda_graph_nodes(args.driver, graph, &count);
    if (l.nodes && count == l.count)
        args.error = name_nodes(&args, &l);
    else
        args.error =
            tsm_fail(TSM_E_UNSUPPORTED, "a graph has %zu nodes here, not %zu", count, l.count);
    cuda_graph_nodes_free(l.nodes, count);
    return args.error;
}

/* ---- edges -------------------------------------------------------------------------------- */

struct ends {
    CUgraph graph;
    CUgraphNode *from, *to;
    const CUgraphEdgeData *edges;
    size_t count;
};

static void read_ends(struct cuda_args *args, struct ends *out)
{
    size_t count, size = 0;
    const uint8_t *edges = NULL;

    out->graph = cuda_arg_handle(args, SLOT_cuGraphAddDependencies_hGraph, CUDA_OBJECT_GRAPH);
    out->from = cuda_nodes_read(args, SLOT_cuGraphAddDependencies_from, &out->count);
    out->to = cuda_nodes_read(args, SLOT_cuGraphAddDependencies_to, &count);
    if (!args->error && count != out->count)
        args->error = tsm_fail(TSM_E_FORMAT, "has edges with one end");
    if (!args->error)
        sbt_record_bytes(args->record, SLOT_cuGraphAddDependencies_edges, &edges, &size);
    out->edges = size && size >= count * sizeof(CUgraphEdgeData)
                     ? (const CUgraphEdgeData *)(const void *)edges
                     : NULL;
}

/* Add or remove edges, with what is said of each of them or without. */
static int change_edges(struct cuda_args *args,
                        CUresult (*plain)(CUgraph, const CUgraphNode *, const CUgraphNode *,
                                          size_t),
                        CUresult (*with_data)(CUgraph, const CUgraphNode *, const CUgraphNode *,
                                              const CUgraphEdgeData *, size_t))
{
    struct ends e = {0};
    CUresult result = CUDA_SUCCESS;

    read_ends(args, &e);
    if (!args->error)
        result = e.edges ? with_data(e.graph, e.from, e.to, e.edges, e.count)
                         : plain(e.graph, e.from, e.to, e.count);
    free(e.from);
    free(e.to);
    return args->error ? args->error : cuda_args_end(args, result);
}

int replay_cuGraphAddDependencies(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuGraphAddDependencies_edges + 1);
    return change_edges(&args, args.driver->cuGraphAddDependencies,
                        args.driver->cuGraphAddDependencies_v2);
}

int replay_cuGraphRemoveDependencies(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuGraphRemoveDependencies_edges + 1);
    return change_edges(&args, args.driver->cuGraphRemoveDependencies,
                        args.driver->cuGraphRemoveDependencies_v2);
}

/* ---- attributes --------------------------------------------------------------------------- */

int replay_cuGraphKernelNodeSetAttribute(struct cuda_replay *replay,
                                         const struct sbt_record *record)
{
    struct cuda_args args;

#define AT(name) SLOT_cuGraphKernelNodeSetAttribute_##name
    cuda_args_begin(&args, replay, record, AT(value) + 1);
    CUgraphNode node = cuda_arg_handle(&args, AT(hNode), CUDA_OBJECT_NODE);
    CUkernelNodeAttrID id = (CUkernelNodeAttrID)cuda_arg(&args, AT(attr));
    const CUkernelNodeAttrValue *value =
        cuda_arg_bytes(&args, AT(value), sizeof(CUkernelNodeAttrValue));
#undef AT
    if (args.error || !cuda_attribute_is_plain(id))
        return args.error;
    return cuda_args_end(&args, args.driver->cuGraphKernelNodeSetAttribute(node, id, value));
}

/* ---- memory ------------------------------------------------------------------------------- */

bool cuda_graph_memory_is(const struct cuda_replay *replay, uint64_t address)
{
    return tsm_map_find(&replay->graph_memory, address) != NULL;
}

/* Drivers give the same addresses to graphs that cannot run at once: the larger one stays. */
int cuda_graph_memory_make(struct cuda_replay *replay, uint64_t address, uint64_t size,
                           uint64_t seq)
{
    bool added;
    uint64_t *known = tsm_map_insert(&replay->graph_memory, address, &added);
    int error = 0;

    if (!known)
        return tsm_fail(TSM_E_MEMORY, "no memory for what a graph allocates");
    if (!added && *known >= size)
        return 0;
    if (!added)
        error = cuda_memory_release(replay, address);
    *known = size;
    return error ? error : cuda_memory_allocate(replay, address, size, seq);
}
