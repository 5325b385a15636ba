/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory: allocating, freeing, asking whose an address is. The runtime allows sizes of 0, which the
 * driver refuses: they give NULL.
 */
#include "emu/cudart/cudart.h"

#define HOST_FLAGS                                                                                 \
    (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED)

static cudaError_t give_null(void **out)
{
    *out = NULL;
    return cudart_enter();
}

cudaError_t cudaMalloc(void **devPtr, size_t size)
{
    if (!devPtr)
        return cudart_fail(cudaErrorInvalidValue);
    return size ? CUDART_DRIVER(cuMemAlloc_v2((CUdeviceptr *)devPtr, size)) : give_null(devPtr);
}

cudaError_t cudaFree(void *devPtr)
{
    return devPtr ? CUDART_DRIVER(cuMemFree_v2(ADDRESS(devPtr))) : cudart_enter();
}

cudaError_t cudaHostAlloc(void **pHost, size_t size, unsigned int flags)
{
    if (!pHost || (flags & ~(unsigned)HOST_FLAGS))
        return cudart_fail(cudaErrorInvalidValue);
    return size ? CUDART_DRIVER(cuMemHostAlloc(pHost, size, flags)) : give_null(pHost);
}

cudaError_t cudaMallocHost(void **ptr, size_t size)
{
    if (!ptr)
        return cudart_fail(cudaErrorInvalidValue);
    return size ? CUDART_DRIVER(cuMemAllocHost_v2(ptr, size)) : give_null(ptr);
}

cudaError_t cudaFreeHost(void *ptr)
{
    return ptr ? CUDART_DRIVER(cuMemFreeHost(ptr)) : cudart_enter();
}

static cudaError_t alloc_pitch(void **out, size_t *pitch, size_t width, size_t height)
{
    if (!width || !height) {
        *pitch = 0;
        return give_null(out);
    }
    return CUDART_DRIVER(cuMemAllocPitch_v2((CUdeviceptr *)out, pitch, width, height, 4));
}

cudaError_t cudaMallocPitch(void **devPtr, size_t *pitch, size_t width, size_t height)
{
    if (!devPtr || !pitch)
        return cudart_fail(cudaErrorInvalidValue);
    return alloc_pitch(devPtr, pitch, width, height);
}

cudaError_t cudaMalloc3D(cudaPitchedPtr *pitchedDevPtr, cudaExtent extent)
{
    cudaPitchedPtr made = {.xsize = extent.width, .ysize = extent.height};
    size_t rows;

    if (!pitchedDevPtr || __builtin_mul_overflow(extent.height, extent.depth, &rows))
        return cudart_fail(cudaErrorInvalidValue);
    if (alloc_pitch(&made.ptr, &made.pitch, extent.width, rows))
        return cudart_last();
    *pitchedDevPtr = made;
    return cudaSuccess;
}

/* ---- whose is it? ---- */

static cudaMemoryType type_of(int kind, int is_managed)
{
    if (is_managed)
        return cudaMemoryTypeManaged;
    return kind == CU_MEMORYTYPE_HOST     ? cudaMemoryTypeHost
           : kind == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
                                          : cudaMemoryTypeUnregistered;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *ptr)
{
    CUpointer_attribute wanted[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
        CU_POINTER_ATTRIBUTE_HOST_POINTER};
    int kind = 0, is_managed = 0, device = CU_DEVICE_INVALID;
    void *on_device = NULL, *on_host = NULL;
    void *values[] = {&kind, &is_managed, &device, &on_device, &on_host};

    if (!attributes)
        return cudart_fail(cudaErrorInvalidValue);
    if (cudart_enter() || cudart_result(cuPointerGetAttributes(5, wanted, values, ADDRESS(ptr))))
        return cudart_last();
    *attributes = (cudaPointerAttributes){
        .type = type_of(kind, is_managed),
        .device = kind ? device : CU_DEVICE_INVALID,
        .devicePointer = kind ? on_device : NULL,
        .hostPointer = kind ? on_host : (void *)(uintptr_t)ptr,
    };
    return cudaSuccess;
}
