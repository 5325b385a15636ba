/* SPDX-License-Identifier: Apache-2.0
 *
 * Executable graphs: a copy of a graph with an order, launched any number of times, one after
 * another, and changed in between.
 */
#include <stdlib.h>
#include <string.h>

#include "emu/cuda/core/context.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/core/object.h"
#include "emu/cuda/graph/branches.h"
#include "emu/cuda/graph/capture.h"
#include "emu/cuda/graph/conditional.h"
#include "emu/cuda/graph/graph.h"
#include "emu/cuda/stream/stream.h"

#define FLAGS_ALL                                                                                  \
    (CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |        \
     CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY)

struct CUgraphExec_st {
    CUgraph graph; /* owned; its nodes' origins are the nodes that the program knows */
    cuuint64_t flags;
    struct emu_command *last; /* of the last launch: the next one waits for it */
};

/* ---- life ---- */

static void exec_destroy(CUgraphExec exec)
{
    emu_object_remove(exec);
    emu_command_unref(exec->last);
    emu_graph_destroy(exec->graph);
    free(exec);
}

/* bad: a node of the program's graph that is in the way, or NULL. */
static CUresult instantiate(CUgraphExec *out, CUgraph graph, cuuint64_t flags, CUgraphNode *bad)
{
    CUresult result = emu_graph_enter(graph);
    CUgraphExec exec;

    *bad = NULL;
    if (!result && !out)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result && flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
        result = CUDA_ERROR_NOT_SUPPORTED;
    if (!result && flags & ~(cuuint64_t)FLAGS_ALL)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    exec = calloc(1, sizeof(*exec));
    if (!exec)
        return CUDA_ERROR_OUT_OF_MEMORY;
    exec->flags = flags;
    result = emu_graph_copy(&exec->graph, graph, true);
    if (!result)
        result = emu_graph_sort_all(exec->graph, bad);
    if (!result && !emu_object_add(EMU_GRAPH_EXEC, exec))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (*bad)
        *bad = (*bad)->origin;
    if (result)
        exec_destroy(exec);
    else
        *out = exec;
    return result;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph,
                                     unsigned long long flags)
{
    CUgraphNode bad;

    return instantiate(phGraphExec, hGraph, flags, &bad);
}

static CUresult instantiate_old(CUgraphExec *out, CUgraph graph, CUgraphNode *error_node, char *log,
                                size_t log_size)
{
    CUgraphNode bad;
    CUresult result = instantiate(out, graph, 0, &bad);

    if (error_node)
        *error_node = bad;
    if (log && log_size)
        strncpy(log, bad ? "the graph has a circle" : "", log_size - 1)[log_size - 1] = 0;
    return result;
}

CUresult cuGraphInstantiate(CUgraphExec *phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode,
                            char *logBuffer, size_t bufferSize)
{
    return instantiate_old(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

CUresult cuGraphInstantiate_v2(CUgraphExec *phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode,
                               char *logBuffer, size_t bufferSize)
{
    return instantiate_old(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec *phGraphExec, CUgraph hGraph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
    CUresult result;

    if (!instantiateParams)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    result = instantiate(phGraphExec, hGraph, instantiateParams->flags,
                         &instantiateParams->hErrNode_out);
    instantiateParams->result_out = !result ? CUDA_GRAPH_INSTANTIATE_SUCCESS
                                    : instantiateParams->hErrNode_out
                                        ? CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE
                                        : CUDA_GRAPH_INSTANTIATE_ERROR;
    return result;
}

CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec *phGraphExec, CUgraph hGraph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
    return cuGraphInstantiateWithParams(phGraphExec, hGraph, instantiateParams);
}

static CUresult enter_exec(CUgraphExec exec)
{
    CUresult result = emu_ready();

    return !result && !emu_object_is(EMU_GRAPH_EXEC, exec) ? CUDA_ERROR_INVALID_VALUE : result;
}

/* Commands that were sent are copies: they run to their end. */
CUresult cuGraphExecDestroy(CUgraphExec hGraphExec)
{
    CUresult result = enter_exec(hGraphExec);

    if (!result)
        exec_destroy(hGraphExec);
    return result;
}

CUresult cuGraphExecGetFlags(CUgraphExec hGraphExec, cuuint64_t *flags)
{
    CUresult result = enter_exec(hGraphExec);

    if (!result && !flags)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *flags = hGraphExec->flags;
    return result;
}

/* ---- launching ---- */

static CUresult send_node(CUgraphNode node, CUstream stream)
{
    if (node->conditional)
        return emu_conditional_send(node->conditional, stream);
    if (node->command->type->submit)
        return node->command->type->submit(node->command, stream);
    return emu_stream_send(stream, emu_command_clone(node->command), false);
}

static CUresult send_graph(CUgraph graph, CUstream stream)
{
    CUresult result = CUDA_SUCCESS;

    for (size_t i = 0; i < graph->count && !result; i++) {
        CUgraphNode node = graph->order[i];
        if (node->is_disabled)
            continue;
        result = node->child ? send_graph(node->child, stream) : send_node(node, stream);
    }
    return result;
}

/* A launch while capturing becomes a graph in the graph. */
static CUresult capture_launch(CUgraphExec exec, CUstream stream)
{
    CUgraph child;
    CUresult result = emu_graph_copy(&child, exec->graph, true);

    return result ? result : emu_capture_child(stream, child);
}

/* A place in the stream that stands after `after` (NULL: nothing). The reference is the caller's.
 */
static struct emu_command *mark(CUstream stream, struct emu_command *after)
{
    struct emu_command *command = emu_command_create(&emu_command_mark, 0);

    if (command && emu_command_after(command, after) && !emu_stream_submit(stream, command))
        return command;
    emu_command_unref(command);
    return NULL;
}

static CUresult launch(CUgraphExec exec, CUstream handle, bool per_thread)
{
    CUstream stream;
    CUresult result = emu_stream_enter(&stream, handle, per_thread);
    struct emu_command *start, *end;

    if (!result)
        result = enter_exec(exec);
    if (result)
        return result;
    if (emu_stream_is_capturing(stream))
        return capture_launch(exec, stream);
    result = emu_capture_check_legacy(stream);
    if (result)
        return result;
    start = mark(stream, exec->last);
    result = start ? emu_conditional_send_defaults(exec->graph, stream) : CUDA_ERROR_OUT_OF_MEMORY;
    if (!result)
        result = emu_settings.is_virtual ? emu_branches_send(exec->graph, stream, start, send_node)
                                         : send_graph(exec->graph, stream);
    end = start ? mark(stream, NULL) : NULL;
    emu_command_unref(start);
    if (end) {
        emu_command_unref(exec->last);
        exec->last = end;
    }
    return result;
}

CUresult cuGraphLaunch(CUgraphExec hGraph, CUstream hStream)
{
    return launch(hGraph, hStream, false);
}

CUresult cuGraphLaunch_ptsz(CUgraphExec hGraph, CUstream hStream)
{
    return launch(hGraph, hStream, true);
}

/* There is nothing to bring to the device beforehand. */
static CUresult upload(CUgraphExec exec, CUstream handle, bool per_thread)
{
    CUstream stream;
    CUresult result = emu_stream_enter(&stream, handle, per_thread);

    return result ? result : enter_exec(exec);
}

CUresult cuGraphUpload(CUgraphExec hGraph, CUstream hStream)
{
    return upload(hGraph, hStream, false);
}

CUresult cuGraphUpload_ptsz(CUgraphExec hGraph, CUstream hStream)
{
    return upload(hGraph, hStream, true);
}

/* ---- changing nodes ---- */

static CUgraphNode find_copy(CUgraph graph, CUgraphNode origin);

static CUgraphNode find_in_bodies(const struct emu_conditional *c, CUgraphNode origin)
{
    CUgraphNode found = NULL;

    for (unsigned i = 0; i < c->body_count && !found; i++)
        found = find_copy(c->bodies[i], origin);
    return found;
}

static CUgraphNode find_copy(CUgraph graph, CUgraphNode origin)
{
    CUgraphNode found = NULL;

    if (origin->position < graph->count && graph->nodes[origin->position]->origin == origin)
        return graph->nodes[origin->position];
    for (size_t i = 0; i < graph->count && !found; i++) {
        if (graph->nodes[i]->origin == origin)
            found = graph->nodes[i];
        else if (graph->nodes[i]->child)
            found = find_copy(graph->nodes[i]->child, origin);
        else if (graph->nodes[i]->conditional)
            found = find_in_bodies(graph->nodes[i]->conditional, origin);
    }
    return found;
}

static CUresult enter_copy(CUgraphNode *out, CUgraphExec exec, CUgraphNode node)
{
    CUresult result = enter_exec(exec);

    if (!result)
        result = emu_graph_enter_node(node);
    if (result)
        return result;
    *out = find_copy(exec->graph, node);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static bool is_alike(CUgraph a, CUgraph b);

static bool is_alike_conditional(const struct emu_conditional *a, const struct emu_conditional *b)
{
    bool alike = a->type == b->type && a->body_count == b->body_count;

    for (unsigned i = 0; alike && i < a->body_count; i++)
        alike = is_alike(a->bodies[i], b->bodies[i]);
    return alike;
}

/* Is the one of the same shape as the other? Then one can take the other's place. */
static bool is_alike(CUgraph a, CUgraph b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct emu_edges *x = &a->nodes[i]->before, *y = &b->nodes[i]->before;
        if (a->nodes[i]->type != b->nodes[i]->type || x->count != y->count)
            return false;
        for (size_t k = 0; k < x->count; k++)
            if (x->items[k].node->position != y->items[k].node->position)
                return false;
        if (a->nodes[i]->conditional &&
            !is_alike_conditional(a->nodes[i]->conditional, b->nodes[i]->conditional))
            return false;
        if (a->nodes[i]->child && !is_alike(a->nodes[i]->child, b->nodes[i]->child))
            return false;
    }
    return true;
}

CUresult cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                  CUgraphNodeParams *nodeParams)
{
    CUgraphNode node, bad;
    CUresult result = enter_copy(&node, hGraphExec, hNode);

    if (!result && (!nodeParams || nodeParams->type != node->type))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result && node->child) {
        result = emu_graph_enter(nodeParams->graph.graph);
        if (!result && !is_alike(node->child, nodeParams->graph.graph))
            result = CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    }
    if (!result)
        result = emu_graph_set(node, nodeParams);
    if (!result && node->child)
        result = emu_graph_sort_all(node->child, &bad);
    return result;
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec hGraphExec, CUgraphNode hNode,
                                           const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_KERNEL};

    if (!nodeParams)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    memcpy(&p.kernel, nodeParams, sizeof(*nodeParams));
    return cuGraphExecNodeSetParams(hGraphExec, hNode, &p);
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                        const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_KERNEL};

    if (!nodeParams)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    memcpy(&p.kernel, nodeParams, sizeof(*nodeParams));
    return cuGraphExecNodeSetParams(hGraphExec, hNode, &p);
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                        const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
    if (!copyParams)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_MEMCPY,
                           .memcpy = {.copyCtx = ctx, .copyParams = *copyParams}};
    return cuGraphExecNodeSetParams(hGraphExec, hNode, &p);
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                        const CUDA_MEMSET_NODE_PARAMS *memsetParams, CUcontext ctx)
{
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_MEMSET};

    if (!memsetParams)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    memcpy(&p.memset, memsetParams, sizeof(*memsetParams));
    return cuGraphExecNodeSetParams(hGraphExec, hNode, &p);
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                      const CUDA_HOST_NODE_PARAMS *nodeParams)
{
    if (!nodeParams)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_HOST,
                           .host = {nodeParams->fn, nodeParams->userData}};
    return cuGraphExecNodeSetParams(hGraphExec, hNode, &p);
}

CUresult cuGraphExecBatchMemOpNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                            const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams)
{
    if (!nodeParams)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    CUgraphNodeParams p = {
        .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
        .memOp = {nodeParams->ctx, nodeParams->count, nodeParams->paramArray, nodeParams->flags}};
    return cuGraphExecNodeSetParams(hGraphExec, hNode, &p);
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                            CUgraph childGraph)
{
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_GRAPH, .graph = {.graph = childGraph}};

    return cuGraphExecNodeSetParams(hGraphExec, hNode, &p);
}

CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode,
                                            CUevent event)
{
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD, .eventRecord = {event}};

    return cuGraphExecNodeSetParams(hGraphExec, hNode, &p);
}

CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event)
{
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .eventWait = {event}};

    return cuGraphExecNodeSetParams(hGraphExec, hNode, &p);
}

/* Only what computes can be left out. */
CUresult cuGraphNodeSetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int isEnabled)
{
    CUgraphNode node;
    CUresult result = enter_copy(&node, hGraphExec, hNode);

    if (!result && node->type != CU_GRAPH_NODE_TYPE_KERNEL &&
        node->type != CU_GRAPH_NODE_TYPE_MEMSET && node->type != CU_GRAPH_NODE_TYPE_MEMCPY)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        node->is_disabled = !isEnabled;
    return result;
}

CUresult cuGraphNodeGetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int *isEnabled)
{
    CUgraphNode node;
    CUresult result = enter_copy(&node, hGraphExec, hNode);

    if (!result && !isEnabled)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *isEnabled = !node->is_disabled;
    return result;
}

/* ---- taking over the parameters of another graph of the same shape ---- */

static CUgraphExecUpdateResult compare_nodes(CUgraphNode own, CUgraphNode new)
{
    if (own->type != new->type)
        return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    if (own->before.count != new->before.count)
        return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    for (size_t i = 0; i < own->before.count; i++)
        if (own->before.items[i].node->position != new->before.items[i].node->position)
            return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    if (own->child && !is_alike(own->child, new->child))
        return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

static CUgraphExecUpdateResult compare(CUgraph own, CUgraph new, CUgraphNode *bad)
{
    CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_SUCCESS;

    if (own->count != new->count)
        return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    for (size_t i = 0; i < own->count && !result; i++) {
        result = compare_nodes(own->nodes[i], new->nodes[i]);
        if (result)
            *bad = new->nodes[i];
    }
    return result;
}

static CUresult take_over(CUgraph own, CUgraph new)
{
    CUresult result = CUDA_SUCCESS;

    for (size_t i = 0; i < own->count && !result; i++) {
        if (own->nodes[i]->child) {
            result = take_over(own->nodes[i]->child, new->nodes[i]->child);
            continue;
        }
        struct emu_command *command = emu_command_clone(new->nodes[i]->command);
        if (!command)
            return CUDA_ERROR_OUT_OF_MEMORY;
        emu_command_unref(own->nodes[i]->command);
        own->nodes[i]->command = command;
    }
    return result;
}

CUresult cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph,
                              CUgraphExecUpdateResultInfo *resultInfo)
{
    CUresult result = enter_exec(hGraphExec);

    if (!result)
        result = emu_graph_enter(hGraph);
    if (!result && !resultInfo)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    memset(resultInfo, 0, sizeof(*resultInfo));
    resultInfo->result = compare(hGraphExec->graph, hGraph, &resultInfo->errorNode);
    if (resultInfo->result)
        return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    return take_over(hGraphExec->graph, hGraph);
}

CUresult cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphNode *hErrorNode_out,
                           CUgraphExecUpdateResult *updateResult_out)
{
    CUgraphExecUpdateResultInfo info;
    CUresult result = cuGraphExecUpdate_v2(hGraphExec, hGraph, &info);

    if (result && result != CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)
        return result;
    if (hErrorNode_out)
        *hErrorNode_out = info.errorNode;
    if (updateResult_out)
        *updateResult_out = info.result;
    return result;
}
