/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes of graphs whose parameters the driver takes in another form: kernels, copies, fills.
 */
#include "emu/cudart/cudart.h"

/* ---- kernels ---- */

cudaError_t cudart_kernel_node(CUDA_KERNEL_NODE_PARAMS *out, const cudaKernelNodeParams *p)
{
    CUkernel kernel;

    if (!p)
        return cudart_fail(cudaErrorInvalidValue);
    if (cudart_enter() || cudart_kernel(&kernel, p->func))
        return cudart_last();
    *out = (CUDA_KERNEL_NODE_PARAMS){
        .func = (CUfunction)(void *)kernel,
        .gridDimX = p->gridDim.x,
        .gridDimY = p->gridDim.y,
        .gridDimZ = p->gridDim.z,
        .blockDimX = p->blockDim.x,
        .blockDimY = p->blockDim.y,
        .blockDimZ = p->blockDim.z,
        .sharedMemBytes = p->sharedMemBytes,
        .kernelParams = p->kernelParams,
        .extra = p->extra,
    };
    return cudaSuccess;
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                   const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                   const cudaKernelNodeParams *pNodeParams)
{
    CUDA_KERNEL_NODE_PARAMS made;

    if (cudart_kernel_node(&made, pNodeParams))
        return cudart_last();
    return cudart_result(
        cuGraphAddKernelNode_v2(pGraphNode, graph, pDependencies, numDependencies, &made));
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
                                         const cudaKernelNodeParams *pNodeParams)
{
    CUDA_KERNEL_NODE_PARAMS made;

    if (cudart_kernel_node(&made, pNodeParams))
        return cudart_last();
    return cudart_result(cuGraphKernelNodeSetParams_v2(node, &made));
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                             const cudaKernelNodeParams *pNodeParams)
{
    CUDA_KERNEL_NODE_PARAMS made;

    if (cudart_kernel_node(&made, pNodeParams))
        return cudart_last();
    return cudart_result(cuGraphExecKernelNodeSetParams_v2(hGraphExec, node, &made));
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams *pNodeParams)
{
    CUDA_KERNEL_NODE_PARAMS has;
    CUfunction function;

    if (!pNodeParams)
        return cudart_fail(cudaErrorInvalidValue);
    if (cudart_enter() || cudart_result(cuGraphKernelNodeGetParams_v2(node, &has)))
        return cudart_last();
    function = has.func;
    if (!function && cudart_result(cuKernelGetFunction(&function, has.kern)))
        return cudart_last();
    *pNodeParams = (cudaKernelNodeParams){
        .func = cudart_name_of(function),
        .gridDim = {has.gridDimX, has.gridDimY, has.gridDimZ},
        .blockDim = {has.blockDimX, has.blockDimY, has.blockDimZ},
        .sharedMemBytes = has.sharedMemBytes,
        .kernelParams = has.kernelParams,
        .extra = has.extra,
    };
    return cudaSuccess;
}

/* ---- copies ---- */

static cudaError_t add_copy(cudaGraphNode_t *out, cudaGraph_t graph,
                            const cudaGraphNode_t *dependencies, size_t count,
                            const CUDA_MEMCPY3D *box)
{
    CUcontext context;

    if (cudart_result(cuCtxGetCurrent(&context)))
        return cudart_last();
    return cudart_result(cuGraphAddMemcpyNode(out, graph, dependencies, count, box, context));
}

static cudaError_t set_copy(cudaGraphExec_t exec, cudaGraphNode_t node, const CUDA_MEMCPY3D *box)
{
    CUcontext context;

    if (!exec)
        return cudart_result(cuGraphMemcpyNodeSetParams(node, box));
    if (cudart_result(cuCtxGetCurrent(&context)))
        return cudart_last();
    return cudart_result(cuGraphExecMemcpyNodeSetParams(exec, node, box, context));
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                   const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                   const cudaMemcpy3DParms *pCopyParams)
{
    CUDA_MEMCPY3D box;

    if (cudart_enter() || cudart_box_of(&box, pCopyParams))
        return cudart_last();
    return add_copy(pGraphNode, graph, pDependencies, numDependencies, &box);
}

cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms *pNodeParams)
{
    CUDA_MEMCPY3D box;

    if (cudart_enter() || cudart_box_of(&box, pNodeParams))
        return cudart_last();
    return set_copy(NULL, node, &box);
}

cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                             const cudaMemcpy3DParms *pNodeParams)
{
    CUDA_MEMCPY3D box;

    if (!hGraphExec)
        return cudart_fail(cudaErrorInvalidValue);
    if (cudart_enter() || cudart_box_of(&box, pNodeParams))
        return cudart_last();
    return set_copy(hGraphExec, node, &box);
}

cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms *pNodeParams)
{
    CUDA_MEMCPY3D box;

    if (!pNodeParams)
        return cudart_fail(cudaErrorInvalidValue);
    if (cudart_enter() || cudart_result(cuGraphMemcpyNodeGetParams(node, &box)))
        return cudart_last();
    return cudart_parms_of(pNodeParams, &box);
}

/* ---- copies of a run of bytes, from and to variables ---- */

static cudaError_t run_of(CUDA_MEMCPY3D *out, const void *to, const void *from, size_t size,
                          cudaMemcpyKind kind)
{
    struct cudart_side target = {.pointer = to, .pitch = size, .height = 1};
    struct cudart_side source = {.pointer = from, .pitch = size, .height = 1};

    return cudart_enter() ? cudart_last()
                          : cudart_box(out, &target, &source, (cudaExtent){size, 1, 1}, kind);
}

/* `symbol` is the copy's target, or its source if `is_source`. */
static cudaError_t run_of_symbol(CUDA_MEMCPY3D *out, const void *symbol, const void *other,
                                 size_t size, size_t offset, cudaMemcpyKind kind, bool is_source)
{
    CUdeviceptr address;
    size_t room;
    const void *place;

    if (cudart_enter() || cudart_variable(&address, &room, symbol))
        return cudart_last();
    if (offset > room || size > room - offset)
        return cudart_fail(cudaErrorInvalidValue);
    place = (const void *)(uintptr_t)(address + offset);
    return run_of(out, is_source ? other : place, is_source ? place : other, size, kind);
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                     const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                     void *dst, const void *src, size_t count, cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D box;

    if (run_of(&box, dst, src, count, kind))
        return cudart_last();
    return add_copy(pGraphNode, graph, pDependencies, numDependencies, &box);
}

cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                           const cudaGraphNode_t *pDependencies,
                                           size_t numDependencies, const void *symbol,
                                           const void *src, size_t count, size_t offset,
                                           cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D box;

    if (run_of_symbol(&box, symbol, src, count, offset, kind, false))
        return cudart_last();
    return add_copy(pGraphNode, graph, pDependencies, numDependencies, &box);
}

cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                             const cudaGraphNode_t *pDependencies,
                                             size_t numDependencies, void *dst, const void *symbol,
                                             size_t count, size_t offset, cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D box;

    if (run_of_symbol(&box, symbol, dst, count, offset, kind, true))
        return cudart_last();
    return add_copy(pGraphNode, graph, pDependencies, numDependencies, &box);
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *dst, const void *src,
                                           size_t count, cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D box;

    return run_of(&box, dst, src, count, kind) ? cudart_last() : set_copy(NULL, node, &box);
}

cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void *symbol,
                                                 const void *src, size_t count, size_t offset,
                                                 cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D box;

    if (run_of_symbol(&box, symbol, src, count, offset, kind, false))
        return cudart_last();
    return set_copy(NULL, node, &box);
}

cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *dst,
                                                   const void *symbol, size_t count, size_t offset,
                                                   cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D box;

    if (run_of_symbol(&box, symbol, dst, count, offset, kind, true))
        return cudart_last();
    return set_copy(NULL, node, &box);
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                               void *dst, const void *src, size_t count,
                                               cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D box;

    if (!hGraphExec)
        return cudart_fail(cudaErrorInvalidValue);
    return run_of(&box, dst, src, count, kind) ? cudart_last() : set_copy(hGraphExec, node, &box);
}

cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t hGraphExec,
                                                     cudaGraphNode_t node, const void *symbol,
                                                     const void *src, size_t count, size_t offset,
                                                     cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D box;

    if (!hGraphExec)
        return cudart_fail(cudaErrorInvalidValue);
    if (run_of_symbol(&box, symbol, src, count, offset, kind, false))
        return cudart_last();
    return set_copy(hGraphExec, node, &box);
}

cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t hGraphExec,
                                                       cudaGraphNode_t node, void *dst,
                                                       const void *symbol, size_t count,
                                                       size_t offset, cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D box;

    if (!hGraphExec)
        return cudart_fail(cudaErrorInvalidValue);
    if (run_of_symbol(&box, symbol, dst, count, offset, kind, true))
        return cudart_last();
    return set_copy(hGraphExec, node, &box);
}

/* ---- fills ---- */

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                   const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                   const cudaMemsetParams *pMemsetParams)
{
    CUcontext context;

    if (cudart_enter() || cudart_result(cuCtxGetCurrent(&context)))
        return cudart_last();
    return cudart_result(cuGraphAddMemsetNode(pGraphNode, graph, pDependencies, numDependencies,
                                              pMemsetParams, context));
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                             const cudaMemsetParams *pNodeParams)
{
    CUcontext context;

    if (cudart_enter() || cudart_result(cuCtxGetCurrent(&context)))
        return cudart_last();
    return cudart_result(cuGraphExecMemsetNodeSetParams(hGraphExec, node, pNodeParams, context));
}
