/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes: made of parameters, asked for them, and given others. The calls of one kind of node are
 * the general ones with the kind's struct put into the general struct.
 */
#include "emu/cuda/graph/graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/core/object.h"
#include "emu/cuda/graph/conditional.h"
#include "emu/cuda/memory/copy.h"
#include "emu/cuda/module/function.h"
#include "emu/cuda/stream/memop.h"
#include "emu/cuda/stream/semaphore.h"
#include "emu/cuda/stream/stream.h"

CUresult emu_graph_command(struct emu_command **out, CUgraphNodeParams *p)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (result)
        return result;
    switch ((int)p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return emu_launch_prepare(out, &p->kernel, context);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return emu_copy_prepare_3d(out, &p->memcpy.copyParams);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return emu_fill_prepare(out, &p->memset);
    case CU_GRAPH_NODE_TYPE_HOST:
        return emu_call_prepare(out, &p->host);
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        *out = emu_command_create(&emu_command_mark, 0);
        return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return emu_event_prepare(out, p->eventWait.event, true);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return emu_event_prepare(out, p->eventRecord.event, false);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        return emu_block_prepare(out, &p->alloc);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return emu_block_free_prepare(out, p->free.dptr);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return emu_batch_prepare(out, &p->memOp);
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
        return emu_semaphore_signal_prepare(out, &p->extSemSignal);
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
        return emu_semaphore_wait_prepare(out, &p->extSemWait);
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult emu_graph_describe(CUgraphNodeParams *out, CUgraphNode node)
{
    memset(out, 0, sizeof(*out));
    out->type = node->type;
    if (node->child)
        out->graph.graph = node->child;
    else if (node->command->type->describe)
        node->command->type->describe(node->command, out);
    return CUDA_SUCCESS;
}

CUresult emu_graph_set(CUgraphNode node, CUgraphNodeParams *params)
{
    struct emu_command *command;
    CUgraph child;
    CUresult result;

    if (params->type != node->type)
        return CUDA_ERROR_INVALID_VALUE;
    if (node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || node->type == CU_GRAPH_NODE_TYPE_MEM_FREE ||
        node->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (node->type == CU_GRAPH_NODE_TYPE_GRAPH) {
        result = emu_graph_enter(params->graph.graph);
        if (!result)
            result = emu_graph_copy(&child, params->graph.graph, true);
        if (result)
            return result;
        emu_graph_destroy(node->child);
        node->child = child;
        return CUDA_SUCCESS;
    }
    result = emu_graph_command(&command, params);
    if (result)
        return result;
    if (node->type == CU_GRAPH_NODE_TYPE_KERNEL)
        result = emu_launch_keep(command, node->command);
    if (result) {
        emu_command_unref(command);
        return result;
    }
    emu_command_unref(node->command);
    node->command = command;
    return CUDA_SUCCESS;
}

/* ---- any kind ---- */

static CUresult check_before(CUgraph graph, const CUgraphNode *before, size_t count)
{
    CUresult result = emu_graph_enter(graph);

    if (!result && count && !before)
        result = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count && !result; i++) {
        if (!emu_object_is(EMU_GRAPH_NODE, before[i]) || before[i]->graph != graph)
            result = CUDA_ERROR_INVALID_VALUE;
        for (size_t k = 0; k < i && !result; k++)
            if (before[k] == before[i])
                result = CUDA_ERROR_INVALID_VALUE;
    }
    return result;
}

CUresult cuGraphAddNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
                           const CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData,
                           size_t numDependencies, CUgraphNodeParams *nodeParams)
{
    CUresult result = check_before(hGraph, dependencies, numDependencies);
    struct emu_conditional *conditional = NULL;
    struct emu_command *command = NULL;
    CUgraph child = NULL;

    if (!result && (!phGraphNode || !nodeParams))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    if (nodeParams->type == CU_GRAPH_NODE_TYPE_GRAPH) {
        result = emu_graph_enter(nodeParams->graph.graph);
        if (!result)
            result = emu_graph_copy(&child, nodeParams->graph.graph, true);
    } else {
        result = emu_graph_command(&command, nodeParams);
    }
    if (!result && nodeParams->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
        result = emu_conditional_create(&conditional, &nodeParams->conditional);
        if (result)
            emu_command_unref(command);
    }
    if (!result)
        result = emu_graph_add(phGraphNode, hGraph, nodeParams->type, command, dependencies,
                               dependencyData, numDependencies);
    if (result) {
        emu_graph_destroy(child);
        emu_conditional_destroy(conditional);
        return result;
    }
    (*phGraphNode)->child = child;
    (*phGraphNode)->conditional = conditional;
    return CUDA_SUCCESS;
}

CUresult cuGraphAddNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                        size_t numDependencies, CUgraphNodeParams *nodeParams)
{
    return cuGraphAddNode_v2(phGraphNode, hGraph, dependencies, NULL, numDependencies, nodeParams);
}

CUresult cuGraphNodeSetParams(CUgraphNode hNode, CUgraphNodeParams *nodeParams)
{
    CUresult result = emu_graph_enter_node(hNode);

    if (!result && !nodeParams)
        result = CUDA_ERROR_INVALID_VALUE;
    return result ? result : emu_graph_set(hNode, nodeParams);
}

/* The parameters of a node that must be of one kind. */
static CUresult get(CUgraphNodeParams *out, CUgraphNode node, CUgraphNodeType type, void *target)
{
    CUresult result = emu_graph_enter_node(node);

    if (!result && (!target || node->type != type))
        result = CUDA_ERROR_INVALID_VALUE;
    return result ? result : emu_graph_describe(out, node);
}

/* ---- kernels ---- */

static CUgraphNodeParams of_kernel_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_KERNEL};

    memcpy(&params.kernel, p, sizeof(*p)); /* the same struct but for what was added at its end */
    return params;
}

static CUgraphNodeParams of_kernel(const CUDA_KERNEL_NODE_PARAMS *p)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_KERNEL};

    memcpy(&params.kernel, p, sizeof(*p));
    return params;
}

CUresult cuGraphAddKernelNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                              const CUgraphNode *dependencies, size_t numDependencies,
                              const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
    if (!nodeParams)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    CUgraphNodeParams p = of_kernel_v1(nodeParams);
    return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &p);
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
                                 const CUgraphNode *dependencies, size_t numDependencies,
                                 const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    if (!nodeParams)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    CUgraphNodeParams p = of_kernel(nodeParams);
    return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &p);
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
    CUgraphNodeParams p;
    CUresult result = get(&p, hNode, CU_GRAPH_NODE_TYPE_KERNEL, nodeParams);

    if (!result)
        memcpy(nodeParams, &p.kernel, sizeof(*nodeParams));
    return result;
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    CUgraphNodeParams p;
    CUresult result = get(&p, hNode, CU_GRAPH_NODE_TYPE_KERNEL, nodeParams);

    if (!result)
        memcpy(nodeParams, &p.kernel, sizeof(*nodeParams));
    return result;
}

CUresult cuGraphKernelNodeSetParams(CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
    if (!nodeParams)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    CUgraphNodeParams p = of_kernel_v1(nodeParams);
    return cuGraphNodeSetParams(hNode, &p);
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    if (!nodeParams)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    CUgraphNodeParams p = of_kernel(nodeParams);
    return cuGraphNodeSetParams(hNode, &p);
}

/* ---- attributes of kernel nodes: those that steer nothing here are kept and given back ---- */

static CUlaunchAttribute *find_attribute(CUgraphNode node, CUkernelNodeAttrID attr)
{
    for (unsigned i = 0; i < node->attribute_count; i++)
        if (node->attributes[i].id == attr)
            return &node->attributes[i];
    return NULL;
}

static CUresult enter_kernel_node(CUgraphNode node)
{
    CUresult result = emu_graph_enter_node(node);

    return !result && node->type != CU_GRAPH_NODE_TYPE_KERNEL ? CUDA_ERROR_INVALID_VALUE : result;
}

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                       CUkernelNodeAttrValue *value_out)
{
    CUresult result = enter_kernel_node(hNode);
    const CUlaunchAttribute *found;

    if (!result && !value_out)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    found = find_attribute(hNode, attr);
    if (emu_launch_has(attr))
        emu_launch_get(hNode->command, attr, value_out);
    else if (found)
        *value_out = found->value;
    else
        memset(value_out, 0, sizeof(*value_out));
    return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                       const CUkernelNodeAttrValue *value)
{
    CUresult result = enter_kernel_node(hNode);
    CUlaunchAttribute *found;

    if (!result && !value)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    if (emu_launch_has(attr))
        return emu_launch_set(hNode->command, &(CUlaunchAttribute){.id = attr, .value = *value});
    found = find_attribute(hNode, attr);
    if (!found) {
        if (!TSM_ARRAY_RESIZE(hNode->attributes, hNode->attribute_count + 1))
            return CUDA_ERROR_OUT_OF_MEMORY;
        found = &hNode->attributes[hNode->attribute_count++];
    }
    *found = (CUlaunchAttribute){.id = attr, .value = *value};
    return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src)
{
    CUresult result = enter_kernel_node(dst);

    if (!result)
        result = enter_kernel_node(src);
    if (!result)
        result = emu_launch_keep(dst->command, src->command);
    for (unsigned i = 0; !result && i < src->attribute_count; i++)
        result =
            cuGraphKernelNodeSetAttribute(dst, src->attributes[i].id, &src->attributes[i].value);
    return result;
}

/* ---- copies ---- */

CUresult cuGraphAddMemcpyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                              const CUgraphNode *dependencies, size_t numDependencies,
                              const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
    if (!copyParams)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_MEMCPY,
                           .memcpy = {.copyCtx = ctx, .copyParams = *copyParams}};
    return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &p);
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode hNode, CUDA_MEMCPY3D *nodeParams)
{
    CUgraphNodeParams p;
    CUresult result = get(&p, hNode, CU_GRAPH_NODE_TYPE_MEMCPY, nodeParams);

    if (!result)
        *nodeParams = p.memcpy.copyParams;
    return result;
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode hNode, const CUDA_MEMCPY3D *nodeParams)
{
    if (!nodeParams)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_MEMCPY,
                           .memcpy = {.copyParams = *nodeParams}};
    return cuGraphNodeSetParams(hNode, &p);
}

/* ---- fills ---- */

static CUgraphNodeParams of_memset(const CUDA_MEMSET_NODE_PARAMS *p)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEMSET};

    memcpy(&params.memset, p, sizeof(*p));
    return params;
}

CUresult cuGraphAddMemsetNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                              const CUgraphNode *dependencies, size_t numDependencies,
                              const CUDA_MEMSET_NODE_PARAMS *memsetParams, CUcontext ctx)
{
    if (!memsetParams)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    CUgraphNodeParams p = of_memset(memsetParams);
    return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &p);
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode hNode, CUDA_MEMSET_NODE_PARAMS *nodeParams)
{
    CUgraphNodeParams p;
    CUresult result = get(&p, hNode, CU_GRAPH_NODE_TYPE_MEMSET, nodeParams);

    if (!result)
        memcpy(nodeParams, &p.memset, sizeof(*nodeParams));
    return result;
}

CUresult cuGraphMemsetNodeSetParams(CUgraphNode hNode, const CUDA_MEMSET_NODE_PARAMS *nodeParams)
{
    if (!nodeParams)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    CUgraphNodeParams p = of_memset(nodeParams);
    return cuGraphNodeSetParams(hNode, &p);
}

/* ---- host functions ---- */

CUresult cuGraphAddHostNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                            const CUgraphNode *dependencies, size_t numDependencies,
                            const CUDA_HOST_NODE_PARAMS *nodeParams)
{
    if (!nodeParams)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_HOST,
                           .host = {nodeParams->fn, nodeParams->userData}};
    return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &p);
}

CUresult cuGraphHostNodeGetParams(CUgraphNode hNode, CUDA_HOST_NODE_PARAMS *nodeParams)
{
    CUgraphNodeParams p;
    CUresult result = get(&p, hNode, CU_GRAPH_NODE_TYPE_HOST, nodeParams);

    if (!result)
        *nodeParams = (CUDA_HOST_NODE_PARAMS){p.host.fn, p.host.userData};
    return result;
}

CUresult cuGraphHostNodeSetParams(CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS *nodeParams)
{
    if (!nodeParams)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_HOST,
                           .host = {nodeParams->fn, nodeParams->userData}};
    return cuGraphNodeSetParams(hNode, &p);
}

/* ---- graphs in graphs, and nothing ---- */

CUresult cuGraphAddChildGraphNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                  const CUgraphNode *dependencies, size_t numDependencies,
                                  CUgraph childGraph)
{
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_GRAPH, .graph = {.graph = childGraph}};

    return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &p);
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode hNode, CUgraph *phGraph)
{
    CUgraphNodeParams p;
    CUresult result = get(&p, hNode, CU_GRAPH_NODE_TYPE_GRAPH, phGraph);

    if (!result)
        *phGraph = p.graph.graph;
    return result;
}

CUresult cuGraphAddEmptyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                             const CUgraphNode *dependencies, size_t numDependencies)
{
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_EMPTY};

    return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &p);
}

/* ---- events ---- */

CUresult cuGraphAddEventRecordNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                   const CUgraphNode *dependencies, size_t numDependencies,
                                   CUevent event)
{
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD, .eventRecord = {event}};

    return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &p);
}

CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode hNode, CUevent *event_out)
{
    CUgraphNodeParams p;
    CUresult result = get(&p, hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event_out);

    if (!result)
        *event_out = p.eventRecord.event;
    return result;
}

CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode hNode, CUevent event)
{
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD, .eventRecord = {event}};

    return cuGraphNodeSetParams(hNode, &p);
}

CUresult cuGraphAddEventWaitNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                 const CUgraphNode *dependencies, size_t numDependencies,
                                 CUevent event)
{
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .eventWait = {event}};

    return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &p);
}

CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode hNode, CUevent *event_out)
{
    CUgraphNodeParams p;
    CUresult result = get(&p, hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event_out);

    if (!result)
        *event_out = p.eventWait.event;
    return result;
}

CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode hNode, CUevent event)
{
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .eventWait = {event}};

    return cuGraphNodeSetParams(hNode, &p);
}

/* ---- values in memory, memory ---- */

static CUgraphNodeParams of_batch(const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
    return (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
                               .memOp = {p->ctx, p->count, p->paramArray, p->flags}};
}

CUresult cuGraphAddBatchMemOpNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                  const CUgraphNode *dependencies, size_t numDependencies,
                                  const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams)
{
    if (!nodeParams)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    CUgraphNodeParams p = of_batch(nodeParams);
    return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &p);
}

CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode hNode,
                                        CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams_out)
{
    CUgraphNodeParams p;
    CUresult result = get(&p, hNode, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, nodeParams_out);

    if (!result)
        *nodeParams_out = (CUDA_BATCH_MEM_OP_NODE_PARAMS){p.memOp.ctx, p.memOp.count,
                                                          p.memOp.paramArray, p.memOp.flags};
    return result;
}

CUresult cuGraphBatchMemOpNodeSetParams(CUgraphNode hNode,
                                        const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams)
{
    if (!nodeParams)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    CUgraphNodeParams p = of_batch(nodeParams);
    return cuGraphNodeSetParams(hNode, &p);
}

CUresult cuGraphAddMemAllocNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                const CUgraphNode *dependencies, size_t numDependencies,
                                CUDA_MEM_ALLOC_NODE_PARAMS *nodeParams)
{
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
    CUresult result;

    if (!nodeParams)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    memcpy(&p.alloc, nodeParams, sizeof(*nodeParams));
    result = cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &p);
    if (!result)
        nodeParams->dptr = p.alloc.dptr;
    return result;
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode hNode, CUDA_MEM_ALLOC_NODE_PARAMS *params_out)
{
    CUgraphNodeParams p;
    CUresult result = get(&p, hNode, CU_GRAPH_NODE_TYPE_MEM_ALLOC, params_out);

    if (!result)
        memcpy(params_out, &p.alloc, sizeof(*params_out));
    return result;
}

CUresult cuGraphAddMemFreeNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                               const CUgraphNode *dependencies, size_t numDependencies,
                               CUdeviceptr dptr)
{
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE, .free = {dptr}};

    return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &p);
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode hNode, CUdeviceptr *dptr_out)
{
    CUgraphNodeParams p;
    CUresult result = get(&p, hNode, CU_GRAPH_NODE_TYPE_MEM_FREE, dptr_out);

    if (!result)
        *dptr_out = p.free.dptr;
    return result;
}
