/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes of any type in one struct: cudaGraphAddNode() and what goes with it.
 */
#include <string.h>

#include "emu/cudart/cudart.h"

static cudaError_t to_driver(CUgraphNodeParams *out, const cudaGraphNodeParams *p)
{
    CUcontext context;

    if (!p)
        return cudart_fail(cudaErrorInvalidValue);
    if (cudart_enter() || cudart_result(cuCtxGetCurrent(&context)))
        return cudart_last();
    memcpy(out, p, sizeof(*out)); /* most of them are the same */
    switch ((int)p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        memset(&out->kernel, 0, sizeof(out->kernel));
        return cudart_kernel_node((CUDA_KERNEL_NODE_PARAMS *)(void *)&out->kernel, &p->kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        out->memcpy = (CUDA_MEMCPY_NODE_PARAMS){.copyCtx = context};
        return cudart_box_of(&out->memcpy.copyParams, &p->memcpy.copyParams);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        out->memset.ctx = context;
        return cudaSuccess;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        out->conditional.ctx = context;
        return cudaSuccess;
    }
    return cudaSuccess;
}

/* Gives back what the driver writes into the parameters of a node that it has added. */
static void give_back(cudaGraphNodeParams *p, const CUgraphNodeParams *made)
{
    if (p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        p->alloc.dptr = made->alloc.dptr;
    if (p->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        p->conditional.phGraph_out = made->conditional.phGraph_out;
}

static cudaError_t add(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                       const cudaGraphEdgeData *edges, size_t count, cudaGraphNodeParams *p)
{
    CUgraphNodeParams made;

    if (to_driver(&made, p) ||
        cudart_result(cuGraphAddNode_v2(out, graph, dependencies, edges, count, &made)))
        return cudart_last();
    give_back(p, &made);
    return cudaSuccess;
}

#if CUDART_MAJOR >= 13
cudaError_t cudaGraphAddNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                             const cudaGraphNode_t *pDependencies,
                             const cudaGraphEdgeData *dependencyData, size_t numDependencies,
                             cudaGraphNodeParams *nodeParams)
{
    return add(pGraphNode, graph, pDependencies, dependencyData, numDependencies, nodeParams);
}
#else
cudaError_t cudaGraphAddNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                             const cudaGraphNode_t *pDependencies, size_t numDependencies,
                             cudaGraphNodeParams *nodeParams)
{
    return add(pGraphNode, graph, pDependencies, NULL, numDependencies, nodeParams);
}

cudaError_t cudaGraphAddNode_v2(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                const cudaGraphNode_t *pDependencies,
                                const cudaGraphEdgeData *dependencyData, size_t numDependencies,
                                cudaGraphNodeParams *nodeParams)
{
    return add(pGraphNode, graph, pDependencies, dependencyData, numDependencies, nodeParams);
}
#endif

cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, cudaGraphNodeParams *nodeParams)
{
    CUgraphNodeParams made;

    return to_driver(&made, nodeParams) ? cudart_last()
                                        : cudart_result(cuGraphNodeSetParams(node, &made));
}

cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t graphExec, cudaGraphNode_t node,
                                       cudaGraphNodeParams *nodeParams)
{
    CUgraphNodeParams made;

    if (to_driver(&made, nodeParams))
        return cudart_last();
    return cudart_result(cuGraphExecNodeSetParams(graphExec, node, &made));
}

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *pHandle_out,
                                             cudaGraph_t graph, unsigned int defaultLaunchValue,
                                             unsigned int flags)
{
    CUcontext context;

    if (cudart_enter() || cudart_result(cuCtxGetCurrent(&context)))
        return cudart_last();
    return cudart_result(
        cuGraphConditionalHandleCreate(pHandle_out, graph, context, defaultLaunchValue, flags));
}
