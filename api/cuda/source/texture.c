/* SPDX-License-Identifier: Apache-2.0
 *
 * Describes texture and surface objects. A resource is a union: only the members of its own type
 * are read, and the fields of the others are 0. Of a tensor map that gets another address, what it was
 * before is kept, too: replay has no other way to find its own.
 */
#include "api/cuda/source/source.h"

#include "api/cuda/cuda_hooks.h"
#include "api/cuda/cuda_wrappers.h"
#include "api/cuda/source/encode.h"
#include "capture/lock.h"

/* The fields resource to resource_flags. NULL: the call failed. */
static void append_resource(struct tsm_call *call, const CUDA_RESOURCE_DESC *r)
{
    CUresourcetype type = r ? r->resType : CU_RESOURCE_TYPE_LINEAR;
    bool is_linear = r && type == CU_RESOURCE_TYPE_LINEAR;
    bool is_pitch = r && type == CU_RESOURCE_TYPE_PITCH2D;
    uint64_t array = r && type == CU_RESOURCE_TYPE_ARRAY
                         ? cuda_id(CUDA_OBJECT_ARRAY, CUDA_SLOT(r->res.array.hArray))
                         : 0;
    uint64_t mipmap = r && type == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY
                          ? cuda_id(CUDA_OBJECT_MIPMAP, CUDA_SLOT(r->res.mipmap.hMipmappedArray))
                          : 0;

    tsm_call_slot(call, (uint64_t)type);
    tsm_call_slot(call, array);
    tsm_call_slot(call, mipmap);
    tsm_call_slot(call, is_linear ? r->res.linear.devPtr : is_pitch ? r->res.pitch2D.devPtr : 0);
    tsm_call_slot(call, is_linear ? r->res.linear.sizeInBytes : 0);
    tsm_call_slot(call, is_linear  ? (uint64_t)r->res.linear.format
                        : is_pitch ? (uint64_t)r->res.pitch2D.format
                                   : 0);
    tsm_call_slot(call, is_linear  ? r->res.linear.numChannels
                        : is_pitch ? r->res.pitch2D.numChannels
                                   : 0);
    tsm_call_slot(call, is_pitch ? r->res.pitch2D.width : 0);
    tsm_call_slot(call, is_pitch ? r->res.pitch2D.height : 0);
    tsm_call_slot(call, is_pitch ? r->res.pitch2D.pitchInBytes : 0);
    tsm_call_slot(call, r ? r->flags : 0);
}

/* The fields has_view to view_last_layer. NULL: there is none. */
static void append_view(struct tsm_call *call, const CUDA_RESOURCE_VIEW_DESC *v)
{
    static const CUDA_RESOURCE_VIEW_DESC none;

    tsm_call_slot(call, v != NULL);
    v = v ? v : &none;
    tsm_call_slot(call, (uint64_t)v->format);
    tsm_call_slot(call, v->width);
    tsm_call_slot(call, v->height);
    tsm_call_slot(call, v->depth);
    tsm_call_slot(call, v->firstMipmapLevel);
    tsm_call_slot(call, v->lastMipmapLevel);
    tsm_call_slot(call, v->firstLayer);
    tsm_call_slot(call, v->lastLayer);
}

void cuda_after_texture(struct tsm_call *call, bool ok, const CUDA_RESOURCE_DESC *resource,
                        const CUDA_TEXTURE_DESC *texture, const CUDA_RESOURCE_VIEW_DESC *view)
{
    static const CUDA_TEXTURE_DESC none;
    const CUDA_TEXTURE_DESC *t = ok ? texture : &none;

    append_resource(call, ok ? resource : NULL);
    for (unsigned k = 0; k < 3; k++)
        tsm_call_slot(call, (uint64_t)t->addressMode[k]);
    tsm_call_slot(call, (uint64_t)t->filterMode);
    tsm_call_slot(call, t->flags);
    tsm_call_slot(call, t->maxAnisotropy);
    tsm_call_slot(call, (uint64_t)t->mipmapFilterMode);
    tsm_call_slot(call, cuda_slot_f32(t->mipmapLevelBias));
    tsm_call_slot(call, cuda_slot_f32(t->minMipmapLevelClamp));
    tsm_call_slot(call, cuda_slot_f32(t->maxMipmapLevelClamp));
    tsm_call_bytes(call, ok ? t->borderColor : NULL, ok ? sizeof(t->borderColor) : 0);
    append_view(call, ok ? view : NULL);
}

void cuda_after_surface(struct tsm_call *call, bool ok, const CUDA_RESOURCE_DESC *resource)
{
    bool is_array = ok && resource->resType == CU_RESOURCE_TYPE_ARRAY;

    tsm_call_slot(call, ok ? (uint64_t)resource->resType : 0);
    tsm_call_slot(call,
                  is_array ? cuda_id(CUDA_OBJECT_ARRAY, CUDA_SLOT(resource->res.array.hArray)) : 0);
    tsm_call_slot(call, ok ? resource->flags : 0);
}

CUresult hook_cuTensorMapReplaceAddress(CUtensorMap *tensorMap, void *globalAddress)
{
    struct tsm_call call;
    CUtensorMap before;
    CUresult returned;
    bool is_kept;

    if (!tsm_call_begin(&call, TYPE_cuTensorMapReplaceAddress))
        return real.cuTensorMapReplaceAddress(tensorMap, globalAddress);
    is_kept = tsm_memory_read(&before, CUDA_SLOT(tensorMap), sizeof(before));
    returned = real.cuTensorMapReplaceAddress(tensorMap, globalAddress);
    is_kept = is_kept && returned == CUDA_SUCCESS;
    tsm_call_returned(&call, returned, returned != CUDA_SUCCESS);
    tsm_call_bytes(&call, is_kept ? tensorMap : NULL, is_kept ? sizeof(*tensorMap) : 0);
    tsm_call_slot(&call, CUDA_SLOT(globalAddress));
    tsm_call_bytes(&call, is_kept ? &before : NULL, is_kept ? sizeof(before) : 0);
    tsm_call_commit(&call);
    return returned;
}
