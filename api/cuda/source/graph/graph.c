/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of graphs' nodes. A node that the program makes has its id from the call that makes it. One
 * that a capture makes, or that came with a clone, gets its id when the program is first given it:
 * a record of cuGraphGetNodes then names all nodes of its graph, in the driver's order, with their
 * kinds; replay finds its own nodes by that. The `user` of a node's handle is its graph.
 */
#include "api/cuda/source/source.h"

#include "api/cuda/cuda_hooks.h"
#include "api/cuda/cuda_wrappers.h"
#include "api/cuda/graph_parts.h"
#include "api/cuda/source/encode.h"

#include <sys/mman.h>

/* ---- ids in records ----------------------------------------------------------------------- */

static uint32_t node_id(CUgraphNode node)
{
    return node ? (uint32_t)cuda_id(CUDA_OBJECT_NODE, CUDA_SLOT(node)) : 0;
}

static void append_ids(struct tsm_call *call, const CUgraphNode *nodes, size_t count)
{
    size_t size = nodes ? count * sizeof(uint32_t) : 0;
    uint32_t *ids = size && size <= TSM_BYTES_MAX ? tsm_call_scratch(call, size) : NULL;

    if (size && !ids)
        tsm_call_flag(call, SBT_RECORD_TRUNCATED | SBT_RECORD_TAINTS);
    for (size_t i = 0; ids && i < count; i++)
        ids[i] = node_id(nodes[i]);
    tsm_call_bytes(call, ids, ids ? size : 0);
}

static void append_edges(struct tsm_call *call, const CUgraphEdgeData *edges, size_t count)
{
    tsm_call_bytes(call, edges, edges ? count * sizeof(*edges) : 0);
}

void cuda_after_dependencies(struct tsm_call *call, bool ok, const CUgraphNode *nodes,
                             const CUgraphEdgeData *edges, size_t count)
{
    append_ids(call, nodes, ok ? count : 0);
    append_edges(call, edges, ok ? count : 0);
}

void cuda_after_edges(struct tsm_call *call, bool ok, const CUgraphNode *from,
                      const CUgraphNode *to, const CUgraphEdgeData *edges, size_t count)
{
    append_ids(call, from, ok ? count : 0);
    append_ids(call, to, ok ? count : 0);
    append_edges(call, edges, ok ? count : 0);
}

static void set_graph(CUgraphNode node, CUgraph graph)
{
    struct tsm_handle *handle = tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_NODE, CUDA_SLOT(node));

    if (handle)
        handle->user = graph;
}

/* Is it of a conditional node? How often such a one runs in a launch nobody is told. */
static bool is_body(CUgraph graph)
{
    const struct tsm_handle *handle =
        tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_GRAPH, CUDA_SLOT(graph));

    return handle && handle->user;
}

static bool copies_for_program(CUgraphNode node)
{
    CUgraphNodeType type;
    CUDA_MEMCPY3D copy;

    return real.cuGraphNodeGetType(node, &type) == CUDA_SUCCESS &&
           type == CU_GRAPH_NODE_TYPE_MEMCPY &&
           real.cuGraphMemcpyNodeGetParams(node, &copy) == CUDA_SUCCESS &&
           (cuda_copy_is_host(&real, copy.srcMemoryType, copy.srcDevice) ||
            cuda_copy_is_host(&real, copy.dstMemoryType, copy.dstDevice));
}

void cuda_after_node_created(struct tsm_call *call, bool ok, const CUgraphNode *node, CUgraph graph,
                             const CUgraphNode *dependencies, const CUgraphEdgeData *edges,
                             size_t count)
{
    if (ok)
        set_graph(*node, graph);
    if (ok && is_body(graph) && copies_for_program(*node))
        tsm_call_flag(call, SBT_RECORD_TAINTS);
    cuda_after_dependencies(call, ok, dependencies, edges, count);
}

/* ---- nodes that the program is given ------------------------------------------------------ */

/* A node's id and kind, as they lie in a record. */
struct named {
    uint32_t id, type;
};

static void name_each(CUgraph graph, const CUgraphNode *nodes, size_t count, struct named *out)
{
    for (size_t i = 0; i < count; i++) {
        CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;

        real.cuGraphNodeGetType(nodes[i], &type);
        out[i].id = (uint32_t)cuda_id_shared(CUDA_OBJECT_NODE, CUDA_SLOT(nodes[i]), 0, NULL);
        out[i].type = (uint32_t)type;
        set_graph(nodes[i], graph);
    }
}

/* The fields of cuGraphGetNodes; `all`: with the names. */
static void append_nodes(struct tsm_call *call, CUgraph graph, bool all)
{
    size_t count = 0, size = 0;
    CUgraphNode *nodes = all ? cuda_graph_nodes(&real, graph, &count) : NULL;
    struct named *named = MAP_FAILED;

    if (nodes) {
        size = count * sizeof(*named);
        named = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    if (named != MAP_FAILED)
        name_each(graph, nodes, count, named);
    else if (all && count)
        tsm_call_flag(call, SBT_RECORD_TRUNCATED | SBT_RECORD_TAINTS);
    tsm_call_slot(call, cuda_id(CUDA_OBJECT_GRAPH, CUDA_SLOT(graph)));
    tsm_call_blob(call, named != MAP_FAILED ? named : NULL, named != MAP_FAILED ? size : 0);
    if (named != MAP_FAILED)
        munmap(named, size);
    cuda_graph_nodes_free(nodes, count);
}

CUresult hook_cuGraphGetNodes(CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes)
{
    struct tsm_call call;
    CUresult result;

    if (!tsm_call_begin(&call, TYPE_cuGraphGetNodes))
        return real.cuGraphGetNodes(hGraph, nodes, numNodes);
    result = real.cuGraphGetNodes(hGraph, nodes, numNodes);
    tsm_call_returned(&call, result, result != CUDA_SUCCESS);
    append_nodes(&call, hGraph, result == CUDA_SUCCESS && nodes);
    tsm_call_commit(&call);
    return result;
}

static void name_nodes(CUgraph graph)
{
    struct tsm_call call;

    if (!tsm_call_begin(&call, TYPE_cuGraphGetNodes))
        return;
    tsm_call_returned(&call, CUDA_SUCCESS, false);
    append_nodes(&call, graph, true);
    tsm_call_commit(&call);
}

static bool is_known(CUgraphNode node)
{
    return !node || tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_NODE, CUDA_SLOT(node));
}

void cuda_nodes_queried(CUgraph graph, CUgraphNode of, const CUgraphNode *nodes, size_t count)
{
    const struct tsm_handle *handle =
        of ? tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_NODE, CUDA_SLOT(of)) : NULL;
    bool known = true;

    for (size_t i = 0; nodes && i < count && known; i++)
        known = is_known(nodes[i]);
    if (!graph && handle)
        graph = handle->user;
    if (!known && graph)
        name_nodes(graph);
}

void cuda_edges_queried(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
    cuda_nodes_queried(graph, NULL, from, count);
    cuda_nodes_queried(graph, NULL, to, count);
}

/* ---- the end of a graph ------------------------------------------------------------------- */

/* Nodes and graphs that go with a graph. Afterwards the driver cannot be asked for them, and gives
 * their values to others. */
struct going {
    struct leaving {
        uint64_t raw, id;
        enum cuda_object object;
    } * list;
    size_t count, room;
    bool is_partial;
};

static bool make_room(struct going *going)
{
    size_t more = going->room ? going->room * 2 : 256;
    struct leaving *grown = mmap(NULL, more * sizeof(*grown), PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (grown == MAP_FAILED)
        return false;
    if (going->count)
        memcpy(grown, going->list, going->count * sizeof(*grown));
    if (going->room)
        munmap(going->list, going->room * sizeof(*grown));
    going->list = grown;
    going->room = more;
    return true;
}

/* Adds an object to those that the call destroys; an object without an id needs no record. */
static void leave(struct going *going, enum cuda_object object, uint64_t raw)
{
    uint64_t id = cuda_id_if_known(object, raw);

    if (!id)
        return;
    if (going->count == going->room && !make_room(going)) {
        going->is_partial = true;
        return;
    }
    cuda_id_leaves(object, raw);
    going->list[going->count++] = (struct leaving){raw, id, object};
}

static void leave_nodes(struct going *going, CUgraph graph, unsigned depth)
{
    size_t count;
    CUgraphNode *nodes = cuda_graph_nodes(&real, graph, &count);
    CUgraphNodeType type;
    CUgraph child;

    going->is_partial |= !nodes && count;
    for (size_t i = 0; nodes && i < count; i++) {
        leave(going, CUDA_OBJECT_NODE, CUDA_SLOT(nodes[i]));
        if (depth && real.cuGraphNodeGetType(nodes[i], &type) == CUDA_SUCCESS &&
            type == CU_GRAPH_NODE_TYPE_GRAPH &&
            real.cuGraphChildGraphNodeGetGraph(nodes[i], &child) == CUDA_SUCCESS) {
            leave_nodes(going, child, depth - 1);
            leave(going, CUDA_OBJECT_GRAPH, CUDA_SLOT(child));
        }
    }
    cuda_graph_nodes_free(nodes, count);
}

static void left(struct going *going, bool is_gone)
{
    for (size_t i = 0; i < going->count; i++)
        cuda_id_left(going->list[i].object, going->list[i].raw, going->list[i].id, is_gone);
    if (going->room)
        munmap(going->list, going->room * sizeof(*going->list));
}

CUresult hook_cuGraphDestroy(CUgraph hGraph)
{
    struct going going = {0};
    struct tsm_call call;
    CUresult result;
    uint64_t id;

    if (!tsm_call_begin(&call, TYPE_cuGraphDestroy))
        return real.cuGraphDestroy(hGraph);
    id = cuda_id_leaves(CUDA_OBJECT_GRAPH, CUDA_SLOT(hGraph));
    leave_nodes(&going, hGraph, 64);
    result = real.cuGraphDestroy(hGraph);
    left(&going, result == CUDA_SUCCESS);
    cuda_id_left(CUDA_OBJECT_GRAPH, CUDA_SLOT(hGraph), id, result == CUDA_SUCCESS);
    tsm_call_returned(&call, result, result != CUDA_SUCCESS);
    if (result == CUDA_SUCCESS && going.is_partial)
        tsm_call_flag(&call, SBT_RECORD_TAINTS);
    tsm_call_slot(&call, id);
    tsm_call_commit(&call);
    return result;
}
