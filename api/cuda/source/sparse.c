/* SPDX-License-Identifier: Apache-2.0
 *
 * Sparse arrays: which tiles are mapped onto which memory. A call that lists many operations
 * becomes a record for each, as if the program had made as many calls.
 */
#include "api/cuda/source/source.h"

#include "api/cuda/array_bytes.h"
#include "api/cuda/cuda_hooks.h"
#include "api/cuda/cuda_wrappers.h"
#include "api/cuda/source/encode.h"

#include <stdatomic.h>

#define FIELD_COUNT 20

/* ---- memory that no array has -----------------------------------------------------------------
 */

/* Bytes of a tile pool that were mapped, and are not any more, may come back when the program maps
 * them again. Nobody can read them until then: checkpoints lack them. */
static atomic_bool are_left;
static const char sparse; /* its address is the `user` of handles of arrays with tiles */

bool cuda_tiles_are_left(void)
{
    return atomic_load(&are_left);
}

static void note_tiles(const CUarrayMapInfo *info)
{
    const bool is_array = info->resourceType == CU_RESOURCE_TYPE_ARRAY;
    struct tsm_handle *handle = tsm_handle_find(
        SBT_API_CUDA, is_array ? CUDA_OBJECT_ARRAY : CUDA_OBJECT_MIPMAP,
        is_array ? CUDA_SLOT(info->resource.array) : CUDA_SLOT(info->resource.mipmap));

    if (handle)
        __atomic_store_n(&handle->user, (void *)(uintptr_t)&sparse, __ATOMIC_RELEASE);
    if (info->memOperationType == CU_MEM_OPERATION_TYPE_UNMAP)
        atomic_store(&are_left, true);
}

void cuda_tiles_destroyed(unsigned object, const void *raw)
{
    const struct tsm_handle *handle = tsm_handle_find(SBT_API_CUDA, object, CUDA_SLOT(raw));

    if (handle && __atomic_load_n(&handle->user, __ATOMIC_ACQUIRE) == &sparse)
        atomic_store(&are_left, true);
}

/* ---- the call ----------------------------------------------------------------------------------
 */

static void append_level(struct tsm_call *call, const CUarrayMapInfo *info)
{
    const bool is_level = info->subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL;

    tsm_call_slot(call, is_level ? info->subresource.sparseLevel.level : 0);
    tsm_call_slot(call,
                  is_level ? info->subresource.sparseLevel.layer : info->subresource.miptail.layer);
    tsm_call_slot(call, is_level ? info->subresource.sparseLevel.offsetX : 0);
    tsm_call_slot(call, is_level ? info->subresource.sparseLevel.offsetY : 0);
    tsm_call_slot(call, is_level ? info->subresource.sparseLevel.offsetZ : 0);
    tsm_call_slot(call, is_level ? info->subresource.sparseLevel.extentWidth : 0);
    tsm_call_slot(call, is_level ? info->subresource.sparseLevel.extentHeight : 0);
    tsm_call_slot(call, is_level ? info->subresource.sparseLevel.extentDepth : 0);
    tsm_call_slot(call, is_level ? 0 : info->subresource.miptail.offset);
    tsm_call_slot(call, is_level ? 0 : info->subresource.miptail.size);
}

/* Bytes of a texel; 0: not known. */
static uint64_t texel_size(const CUarrayMapInfo *info)
{
    CUarray array = info->resource.array;
    CUDA_ARRAY3D_DESCRIPTOR description;
    CUresult result = CUDA_SUCCESS;

    tsm_inside_enter();
    if (info->resourceType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
        result = real.cuMipmappedArrayGetLevel(&array, info->resource.mipmap, 0);
    if (result == CUDA_SUCCESS)
        result = real.cuArray3DGetDescriptor_v2(&description, array);
    tsm_inside_leave();
    return result == CUDA_SUCCESS ? cuda_array_element(&description) : 0;
}

static uint64_t size_of(const CUarrayMapInfo *info)
{
    if (info->subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL)
        return info->subresource.miptail.size;
    return (uint64_t)info->subresource.sparseLevel.extentWidth *
           info->subresource.sparseLevel.extentHeight * info->subresource.sparseLevel.extentDepth *
           texel_size(info);
}

static void append(struct tsm_call *call, unsigned count, unsigned index,
                   const CUarrayMapInfo *info)
{
    const bool is_array = info->resourceType == CU_RESOURCE_TYPE_ARRAY,
               is_map = info->memOperationType == CU_MEM_OPERATION_TYPE_MAP;

    tsm_call_slot(call, count);
    tsm_call_slot(call, index);
    tsm_call_slot(call, is_array ? cuda_id(CUDA_OBJECT_ARRAY, CUDA_SLOT(info->resource.array)) : 0);
    tsm_call_slot(call,
                  is_array ? 0 : cuda_id(CUDA_OBJECT_MIPMAP, CUDA_SLOT(info->resource.mipmap)));
    tsm_call_slot(call, (uint64_t)info->subresourceType);
    tsm_call_slot(call, (uint64_t)info->memOperationType);
    tsm_call_slot(call, is_map ? info->memHandle.memHandle : 0);
    tsm_call_slot(call, is_map ? info->offset : 0);
    tsm_call_slot(call, info->deviceBitMask);
    append_level(call, info);
    tsm_call_slot(call, size_of(info));
    note_tiles(info);
}

/* Zeros, of a call that failed. */
static void append_none(struct tsm_call *call, unsigned count)
{
    tsm_call_slot(call, count);
    for (unsigned i = 1; i < FIELD_COUNT; i++)
        tsm_call_slot(call, 0);
}

/* The first operation has the call's own record. */
static CUresult record(struct tsm_call *call, uint32_t type, CUresult returned,
                       const CUarrayMapInfo *list, unsigned count, CUstream stream, bool per_thread)
{
    tsm_call_returned(call, returned, returned != CUDA_SUCCESS);
    if (returned != CUDA_SUCCESS || !count) {
        append_none(call, count);
        tsm_call_commit(call);
        return returned;
    }
    append(call, count, 0, list);
    tsm_call_commit(call);
    for (unsigned i = 1; i < count && tsm_call_begin(call, type); i++) {
        cuda_on_stream(call, stream, per_thread, NULL, TSM_ENQUEUES);
        tsm_call_returned(call, CUDA_SUCCESS, false);
        append(call, count, i, &list[i]);
        tsm_call_commit(call);
    }
    return returned;
}

CUresult hook_cuMemMapArrayAsync(CUarrayMapInfo *mapInfoList, unsigned int count, CUstream hStream)
{
    struct tsm_call call;

    if (!tsm_call_begin(&call, TYPE_cuMemMapArrayAsync))
        return real.cuMemMapArrayAsync(mapInfoList, count, hStream);
    cuda_on_stream(&call, hStream, false, NULL, TSM_ENQUEUES);
    return record(&call, TYPE_cuMemMapArrayAsync,
                  real.cuMemMapArrayAsync(mapInfoList, count, hStream), mapInfoList, count, hStream,
                  false);
}

CUresult hook_cuMemMapArrayAsync_ptsz(CUarrayMapInfo *mapInfoList, unsigned int count,
                                      CUstream hStream)
{
    struct tsm_call call;

    if (!tsm_call_begin(&call, TYPE_cuMemMapArrayAsync_ptsz))
        return real.cuMemMapArrayAsync_ptsz(mapInfoList, count, hStream);
    cuda_on_stream(&call, hStream, true, NULL, TSM_ENQUEUES);
    return record(&call, TYPE_cuMemMapArrayAsync_ptsz,
                  real.cuMemMapArrayAsync_ptsz(mapInfoList, count, hStream), mapInfoList, count,
                  hStream, true);
}
