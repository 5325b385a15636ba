/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptions of copies in two and three dimensions.
 */
#include "emu/cudart/cudart.h"

#include <string.h>

/* By kind of the copy: where its linear memory lies. */
static const CUmemorytype sources[] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE,
                                       CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_UNIFIED};
static const CUmemorytype targets[] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST,
                                       CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_UNIFIED};

static void set_source(CUDA_MEMCPY3D *out, const struct cudart_side *side, CUmemorytype type,
                       size_t element)
{
    out->srcMemoryType = side->array ? CU_MEMORYTYPE_ARRAY : type;
    out->srcArray = side->array;
    if (type == CU_MEMORYTYPE_HOST)
        out->srcHost = side->pointer;
    else
        out->srcDevice = ADDRESS(side->pointer);
    out->srcPitch = side->pitch;
    out->srcHeight = side->height;
    out->srcXInBytes = side->x * (side->array ? element : 1);
    out->srcY = side->y;
    out->srcZ = side->z;
}

static void set_target(CUDA_MEMCPY3D *out, const struct cudart_side *side, CUmemorytype type,
                       size_t element)
{
    out->dstMemoryType = side->array ? CU_MEMORYTYPE_ARRAY : type;
    out->dstArray = side->array;
    if (type == CU_MEMORYTYPE_HOST)
        out->dstHost = (void *)(uintptr_t)side->pointer;
    else
        out->dstDevice = ADDRESS(side->pointer);
    out->dstPitch = side->pitch;
    out->dstHeight = side->height;
    out->dstXInBytes = side->x * (side->array ? element : 1);
    out->dstY = side->y;
    out->dstZ = side->z;
}

/* An element of the arrays that take part; 1 if none does. */
static cudaError_t element_of(size_t *out, const struct cudart_side *to,
                              const struct cudart_side *from)
{
    size_t other, columns;

    *out = 1;
    if (to->array && cudart_array_row(out, &columns, to->array))
        return cudart_last();
    if (!from->array)
        return cudaSuccess;
    if (cudart_array_row(&other, &columns, from->array))
        return cudart_last();
    if (to->array && other != *out)
        return cudart_fail(cudaErrorInvalidValue);
    *out = other;
    return cudaSuccess;
}

cudaError_t cudart_box(CUDA_MEMCPY3D *out, const struct cudart_side *to,
                       const struct cudart_side *from, cudaExtent extent, cudaMemcpyKind kind)
{
    size_t element;

    if ((unsigned)kind > cudaMemcpyDefault)
        return cudart_fail(cudaErrorInvalidMemcpyDirection);
    if (element_of(&element, to, from))
        return cudart_last();
    memset(out, 0, sizeof(*out));
    set_source(out, from, sources[kind], element);
    set_target(out, to, targets[kind], element);
    out->WidthInBytes = extent.width * element;
    out->Height = extent.height;
    out->Depth = extent.depth;
    return cudaSuccess;
}

static struct cudart_side side_of(CUarray array, cudaPitchedPtr linear, cudaPos at)
{
    return (struct cudart_side){
        .array = array,
        .pointer = array ? NULL : linear.ptr,
        .pitch = array ? 0 : linear.pitch,
        .height = array ? 0 : linear.ysize,
        .x = at.x,
        .y = at.y,
        .z = at.z,
    };
}

cudaError_t cudart_box_of(CUDA_MEMCPY3D *out, const cudaMemcpy3DParms *p)
{
    struct cudart_side to, from;

    if (!p || (!p->dstArray && !p->dstPtr.ptr) || (!p->srcArray && !p->srcPtr.ptr))
        return cudart_fail(cudaErrorInvalidValue);
    to = side_of(p->dstArray, p->dstPtr, p->dstPos);
    from = side_of(p->srcArray, p->srcPtr, p->srcPos);
    return cudart_box(out, &to, &from, p->extent, p->kind);
}

/* ---- the way back ---- */

static cudaMemcpyKind kind_of(CUmemorytype from, CUmemorytype to)
{
    bool from_host = from == CU_MEMORYTYPE_HOST, to_host = to == CU_MEMORYTYPE_HOST;

    if (from == CU_MEMORYTYPE_UNIFIED || to == CU_MEMORYTYPE_UNIFIED)
        return cudaMemcpyDefault;
    return from_host ? to_host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice
           : to_host ? cudaMemcpyDeviceToHost
                     : cudaMemcpyDeviceToDevice;
}

static cudaPitchedPtr memory_of(const void *host, CUdeviceptr device, CUmemorytype type,
                                size_t pitch, size_t height, size_t width)
{
    void *pointer =
        type == CU_MEMORYTYPE_HOST ? (void *)(uintptr_t)host : (void *)(uintptr_t)device;

    if (type == CU_MEMORYTYPE_ARRAY)
        return (cudaPitchedPtr){0};
    return (cudaPitchedPtr){pointer, pitch, width, height};
}

cudaError_t cudart_parms_of(cudaMemcpy3DParms *out, const CUDA_MEMCPY3D *box)
{
    bool from_array = box->srcMemoryType == CU_MEMORYTYPE_ARRAY;
    bool to_array = box->dstMemoryType == CU_MEMORYTYPE_ARRAY;
    size_t element = 1, columns;

    if ((from_array || to_array) &&
        cudart_array_row(&element, &columns, from_array ? box->srcArray : box->dstArray))
        return cudart_last();
    *out = (cudaMemcpy3DParms){
        .srcArray = from_array ? box->srcArray : NULL,
        .srcPos = {box->srcXInBytes / (from_array ? element : 1), box->srcY, box->srcZ},
        .srcPtr = memory_of(box->srcHost, box->srcDevice, box->srcMemoryType, box->srcPitch,
                            box->srcHeight, box->WidthInBytes),
        .dstArray = to_array ? box->dstArray : NULL,
        .dstPos = {box->dstXInBytes / (to_array ? element : 1), box->dstY, box->dstZ},
        .dstPtr = memory_of(box->dstHost, box->dstDevice, box->dstMemoryType, box->dstPitch,
                            box->dstHeight, box->WidthInBytes),
        .extent = {box->WidthInBytes / element, box->Height, box->Depth},
        .kind = kind_of(box->srcMemoryType, box->dstMemoryType),
    };
    return cudaSuccess;
}
