/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory and semaphores of other APIs, and copies between devices.
 */
#include "emu/cudart/cudart.h"

#include <string.h>

cudaError_t cudaImportExternalMemory(cudaExternalMemory_t *extMem_out,
                                     const cudaExternalMemoryHandleDesc *memHandleDesc)
{
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC made = {0};

    if (!memHandleDesc)
        return cudart_fail(cudaErrorInvalidValue);
    made.type = memHandleDesc->type;
    memcpy(&made.handle, &memHandleDesc->handle, sizeof(made.handle));
    made.size = memHandleDesc->size;
    made.flags = memHandleDesc->flags;
    return CUDART_DRIVER(cuImportExternalMemory(extMem_out, &made));
}

cudaError_t cudaExternalMemoryGetMappedBuffer(void **devPtr, cudaExternalMemory_t extMem,
                                              const cudaExternalMemoryBufferDesc *bufferDesc)
{
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC made = {0};

    if (!bufferDesc)
        return cudart_fail(cudaErrorInvalidValue);
    made.offset = bufferDesc->offset;
    made.size = bufferDesc->size;
    made.flags = bufferDesc->flags;
    return CUDART_DRIVER(cuExternalMemoryGetMappedBuffer((CUdeviceptr *)devPtr, extMem, &made));
}

cudaError_t cudaImportExternalSemaphore(cudaExternalSemaphore_t *extSem_out,
                                        const cudaExternalSemaphoreHandleDesc *semHandleDesc)
{
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC made = {0};

    if (!semHandleDesc)
        return cudart_fail(cudaErrorInvalidValue);
    made.type = semHandleDesc->type;
    memcpy(&made.handle, &semHandleDesc->handle, sizeof(made.handle));
    made.flags = semHandleDesc->flags;
    return CUDART_DRIVER(cuImportExternalSemaphore(extSem_out, &made));
}

/* ---- copies between devices ---- */

static cudaError_t find_peers(CUcontext *to, int to_device, CUcontext *from, int from_device)
{
    if (cudart_enter() || cudart_primary(to, to_device) || cudart_primary(from, from_device))
        return cudart_last();
    return cudaSuccess;
}

cudaError_t cudaMemcpyPeer(void *dst, int dstDevice, const void *src, int srcDevice, size_t count)
{
    CUcontext to, from;

    if (find_peers(&to, dstDevice, &from, srcDevice))
        return cudart_last();
    return count ? cudart_result(cuMemcpyPeer(ADDRESS(dst), to, ADDRESS(src), from, count))
                 : cudaSuccess;
}

cudaError_t cudaMemcpyPeerAsync(void *dst, int dstDevice, const void *src, int srcDevice,
                                size_t count, cudaStream_t stream)
{
    CUcontext to, from;

    if (find_peers(&to, dstDevice, &from, srcDevice))
        return cudart_last();
    return count ? cudart_result(
                       cuMemcpyPeerAsync(ADDRESS(dst), to, ADDRESS(src), from, count, stream))
                 : cudaSuccess;
}
