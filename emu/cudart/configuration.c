/* SPDX-License-Identifier: Apache-2.0
 *
 * kernel<<<grid, block, shared, stream>>>: the configuration, on its way from the expression to the
 * kernel's stub. An argument of the kernel may launch another one.
 */
#include "emu/cudart/cudart.h"

#define DEPTH_MAX 64

struct configuration {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
};

static _Thread_local struct configuration stack[DEPTH_MAX];
static _Thread_local unsigned depth;

unsigned __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem,
                                     struct CUstream_st *stream)
{
    if (depth == DEPTH_MAX)
        return (unsigned)cudart_fail(cudaErrorMemoryAllocation);
    stack[depth++] = (struct configuration){gridDim, blockDim, sharedMem, stream};
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *gridDim, dim3 *blockDim, size_t *sharedMem,
                                       void *stream)
{
    if (!depth)
        return cudart_fail(cudaErrorMissingConfiguration);
    depth--;
    *gridDim = stack[depth].grid;
    *blockDim = stack[depth].block;
    *sharedMem = stack[depth].shared;
    *(cudaStream_t *)stream = stack[depth].stream;
    return cudaSuccess;
}
