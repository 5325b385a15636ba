/* SPDX-License-Identifier: Apache-2.0
 *
 * Entry points that make, change and ask about whole graphs.
 */
#include "emu/cuda/graph/graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/cuda/core/emu.h"
#include "emu/cuda/core/object.h"
#include "emu/cuda/module/function.h"

CUresult cuGraphCreate(CUgraph *phGraph, unsigned int flags)
{
    CUresult result = emu_ready();
    CUgraph graph;

    if (!result && (!phGraph || flags))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    graph = emu_graph_create(false);
    if (!graph)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *phGraph = graph;
    return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph hGraph)
{
    CUresult result = emu_graph_enter(hGraph);

    if (!result && hGraph->is_inner)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        emu_graph_destroy(hGraph);
    return result;
}

CUresult cuGraphClone(CUgraph *phGraphClone, CUgraph originalGraph)
{
    CUresult result = emu_graph_enter(originalGraph);

    if (!result && !phGraphClone)
        result = CUDA_ERROR_INVALID_VALUE;
    return result ? result : emu_graph_copy(phGraphClone, originalGraph, false);
}

CUresult cuGraphNodeFindInClone(CUgraphNode *phNode, CUgraphNode hOriginalNode,
                                CUgraph hClonedGraph)
{
    CUresult result = emu_graph_enter(hClonedGraph);

    if (!result)
        result = emu_graph_enter_node(hOriginalNode);
    if (!result && !phNode)
        result = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; !result && i < hClonedGraph->count; i++)
        if (hClonedGraph->nodes[i]->origin == hOriginalNode) {
            *phNode = hClonedGraph->nodes[i];
            return CUDA_SUCCESS;
        }
    return result ? result : CUDA_ERROR_INVALID_VALUE;
}

/* ---- lists: with NULL, how many; with room for more than there are, NULL after them ---- */

static CUresult give(CUgraphNode *out, size_t *count, CUgraphNode const *nodes, size_t available)
{
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; out && i < *count; i++)
        out[i] = i < available ? nodes[i] : NULL;
    if (!out || *count > available)
        *count = available;
    return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes)
{
    CUresult result = emu_graph_enter(hGraph);

    return result ? result : give(nodes, numNodes, hGraph->nodes, hGraph->count);
}

CUresult cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode *rootNodes, size_t *numRootNodes)
{
    CUresult result = emu_graph_enter(hGraph);
    CUgraphNode *roots;
    size_t count = 0;

    if (result)
        return result;
    roots = calloc(hGraph->count + 1, sizeof(CUgraphNode));
    if (!roots)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < hGraph->count; i++)
        if (!hGraph->nodes[i]->before.count)
            roots[count++] = hGraph->nodes[i];
    result = give(rootNodes, numRootNodes, roots, count);
    free(roots);
    return result;
}

/* An edge that says more than "wait for the end" does not fit a caller without room for it. */
static bool is_plain(const CUgraphEdgeData *data)
{
    static const CUgraphEdgeData none;

    return memcmp(data, &none, sizeof(none)) == 0;
}

static CUresult give_edges(const struct emu_edges *edges, CUgraphNode *nodes, CUgraphEdgeData *data,
                           size_t *count, bool has_data)
{
    if (!count || (data && !nodes))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; nodes && i < *count; i++) {
        nodes[i] = i < edges->count ? edges->items[i].node : NULL;
        if (!has_data && i < edges->count && !is_plain(&edges->items[i].data))
            return CUDA_ERROR_LOSSY_QUERY;
        if (data && i < edges->count)
            data[i] = edges->items[i].data;
    }
    if (!nodes || *count > edges->count)
        *count = edges->count;
    return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode hNode, CUgraphNode *dependencies,
                                       CUgraphEdgeData *edgeData, size_t *numDependencies)
{
    CUresult result = emu_graph_enter_node(hNode);

    return result ? result
                  : give_edges(&hNode->before, dependencies, edgeData, numDependencies,
                               edgeData != NULL);
}

CUresult cuGraphNodeGetDependencies(CUgraphNode hNode, CUgraphNode *dependencies,
                                    size_t *numDependencies)
{
    return cuGraphNodeGetDependencies_v2(hNode, dependencies, NULL, numDependencies);
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode hNode, CUgraphNode *dependentNodes,
                                         CUgraphEdgeData *edgeData, size_t *numDependentNodes)
{
    CUresult result = emu_graph_enter_node(hNode);

    return result ? result
                  : give_edges(&hNode->after, dependentNodes, edgeData, numDependentNodes,
                               edgeData != NULL);
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode hNode, CUgraphNode *dependentNodes,
                                      size_t *numDependentNodes)
{
    return cuGraphNodeGetDependentNodes_v2(hNode, dependentNodes, NULL, numDependentNodes);
}

CUresult cuGraphGetEdges_v2(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to,
                            CUgraphEdgeData *edgeData, size_t *numEdges)
{
    CUresult result = emu_graph_enter(hGraph);
    size_t count = 0;

    if (!result && (!numEdges || !from != !to || (edgeData && !from)))
        result = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; !result && i < hGraph->count; i++) {
        const struct emu_edges *after = &hGraph->nodes[i]->after;
        for (size_t k = 0; k < after->count; k++, count++) {
            if (!from || count >= *numEdges)
                continue;
            from[count] = hGraph->nodes[i];
            to[count] = after->items[k].node;
            if (edgeData)
                edgeData[count] = after->items[k].data;
            else if (!is_plain(&after->items[k].data))
                return CUDA_ERROR_LOSSY_QUERY;
        }
    }
    if (!result) {
        for (size_t i = count; from && i < *numEdges; i++)
            from[i] = to[i] = NULL;
        if (!from || *numEdges > count)
            *numEdges = count;
    }
    return result;
}

CUresult cuGraphGetEdges(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to, size_t *numEdges)
{
    return cuGraphGetEdges_v2(hGraph, from, to, NULL, numEdges);
}

/* ---- changing edges ---- */

static CUresult enter_edges(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                            size_t count)
{
    CUresult result = emu_graph_enter(graph);

    if (!result && count && (!from || !to))
        result = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count && !result; i++)
        if (!emu_object_is(EMU_GRAPH_NODE, from[i]) || !emu_object_is(EMU_GRAPH_NODE, to[i]) ||
            from[i]->graph != graph || to[i]->graph != graph || from[i] == to[i])
            result = CUDA_ERROR_INVALID_VALUE;
    return result;
}

CUresult cuGraphAddDependencies_v2(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
                                   const CUgraphEdgeData *edgeData, size_t numDependencies)
{
    CUresult result = enter_edges(hGraph, from, to, numDependencies);

    for (size_t i = 0; i < numDependencies && !result; i++)
        for (size_t k = 0; k < from[i]->after.count; k++)
            if (from[i]->after.items[k].node == to[i])
                return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < numDependencies && !result; i++)
        result = emu_graph_connect(from[i], to[i], edgeData ? &edgeData[i] : NULL);
    return result;
}

CUresult cuGraphAddDependencies(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
                                size_t numDependencies)
{
    return cuGraphAddDependencies_v2(hGraph, from, to, NULL, numDependencies);
}

static bool take_edge(struct emu_edges *edges, CUgraphNode node)
{
    for (size_t i = 0; i < edges->count; i++) {
        if (edges->items[i].node != node)
            continue;
        edges->count--;
        memmove(&edges->items[i], &edges->items[i + 1], (edges->count - i) * sizeof(*edges->items));
        return true;
    }
    return false;
}

CUresult cuGraphRemoveDependencies_v2(CUgraph hGraph, const CUgraphNode *from,
                                      const CUgraphNode *to, const CUgraphEdgeData *edgeData,
                                      size_t numDependencies)
{
    CUresult result = enter_edges(hGraph, from, to, numDependencies);

    for (size_t i = 0; i < numDependencies && !result; i++)
        if (!take_edge(&from[i]->after, to[i]) || !take_edge(&to[i]->before, from[i]))
            result = CUDA_ERROR_INVALID_VALUE;
    return result;
}

CUresult cuGraphRemoveDependencies(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
                                   size_t numDependencies)
{
    return cuGraphRemoveDependencies_v2(hGraph, from, to, NULL, numDependencies);
}

CUresult cuGraphDestroyNode(CUgraphNode hNode)
{
    CUresult result = emu_graph_enter_node(hNode);

    /* Memory nodes stay: others rely on their addresses. */
    if (!result &&
        (hNode->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || hNode->type == CU_GRAPH_NODE_TYPE_MEM_FREE))
        result = CUDA_ERROR_NOT_SUPPORTED;
    if (!result)
        emu_graph_remove_node(hNode);
    return result;
}

CUresult cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType *type)
{
    CUresult result = emu_graph_enter_node(hNode);

    if (!result && !type)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *type = hNode->type;
    return result;
}

/* ---- a picture ---- */

static const char *type_name(CUgraphNodeType type)
{
    static const char *const names[] = {"KERNEL",         "MEMCPY",       "MEMSET",
                                        "HOST",           "GRAPH",        "EMPTY",
                                        "WAIT_EVENT",     "EVENT_RECORD", "EXT_SEMAS_SIGNAL",
                                        "EXT_SEMAS_WAIT", "MEM_ALLOC",    "MEM_FREE",
                                        "BATCH_MEM_OP",   "CONDITIONAL"};

    return (unsigned)type < sizeof(names) / sizeof(*names) ? names[type] : "?";
}

static void print_node(FILE *f, CUgraphNode node)
{
    CUgraphNodeParams params;

    fprintf(f, "\"n%llu\" [label=\"%llu %s", node->id, node->id, type_name(node->type));
    if (node->type == CU_GRAPH_NODE_TYPE_KERNEL && !emu_graph_describe(&params, node))
        fprintf(f, "\\n%s<<<%u %u %u, %u %u %u, %u>>>", params.kernel.func->ptx->name,
                params.kernel.gridDimX, params.kernel.gridDimY, params.kernel.gridDimZ,
                params.kernel.blockDimX, params.kernel.blockDimY, params.kernel.blockDimZ,
                params.kernel.sharedMemBytes);
    fprintf(f, "\"];\n");
    for (size_t i = 0; i < node->after.count; i++)
        fprintf(f, "\"n%llu\" -> \"n%llu\";\n", node->id, node->after.items[i].node->id);
}

static void print_graph(FILE *f, CUgraph graph)
{
    fprintf(f, "subgraph cluster_%llu {\nlabel=\"graph %llu\";\n", graph->id, graph->id);
    for (size_t i = 0; i < graph->count; i++) {
        print_node(f, graph->nodes[i]);
        if (graph->nodes[i]->child)
            print_graph(f, graph->nodes[i]->child);
    }
    fprintf(f, "}\n");
}

CUresult cuGraphDebugDotPrint(CUgraph hGraph, const char *path, unsigned int flags)
{
    CUresult result = emu_graph_enter(hGraph);
    FILE *f;

    if (!result && !path)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    f = fopen(path, "we"); /* output: the program's; it is opened as the driver does */
    if (!f)
        return CUDA_ERROR_OPERATING_SYSTEM;
    fprintf(f, "digraph dot {\n");
    print_graph(f, hGraph);
    fprintf(f, "}\n");
    return fclose(f) ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS;
}
