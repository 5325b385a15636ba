/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture and surface objects. The driver describes channels by a format and flags, the runtime by
 * their bits and members of their own.
 */
#include "emu/cudart/cudart.h"

#include <string.h>

/* ---- resources ---- */

static cudaError_t to_driver(CUDA_RESOURCE_DESC *out, const cudaResourceDesc *desc)
{
    if (!desc)
        return cudart_fail(cudaErrorInvalidValue);
    memset(out, 0, sizeof(*out));
    out->resType = (CUresourcetype)desc->resType;
    switch (desc->resType) {
    case cudaResourceTypeArray:
        out->res.array.hArray = desc->res.array.array;
        return cudaSuccess;
    case cudaResourceTypeMipmappedArray:
        out->res.mipmap.hMipmappedArray = desc->res.mipmap.mipmap;
        return cudaSuccess;
    case cudaResourceTypeLinear:
        out->res.linear.devPtr = ADDRESS(desc->res.linear.devPtr);
        out->res.linear.sizeInBytes = desc->res.linear.sizeInBytes;
        return cudart_format(&out->res.linear.format, &out->res.linear.numChannels,
                             &desc->res.linear.desc);
    case cudaResourceTypePitch2D:
        out->res.pitch2D.devPtr = ADDRESS(desc->res.pitch2D.devPtr);
        out->res.pitch2D.width = desc->res.pitch2D.width;
        out->res.pitch2D.height = desc->res.pitch2D.height;
        out->res.pitch2D.pitchInBytes = desc->res.pitch2D.pitchInBytes;
        return cudart_format(&out->res.pitch2D.format, &out->res.pitch2D.numChannels,
                             &desc->res.pitch2D.desc);
    }
    return cudart_fail(cudaErrorInvalidValue);
}

static void from_driver(cudaResourceDesc *out, const CUDA_RESOURCE_DESC *desc)
{
    memset(out, 0, sizeof(*out));
    out->resType = (cudaResourceType)desc->resType;
    switch (out->resType) {
    case cudaResourceTypeArray:
        out->res.array.array = desc->res.array.hArray;
        break;
    case cudaResourceTypeMipmappedArray:
        out->res.mipmap.mipmap = desc->res.mipmap.hMipmappedArray;
        break;
    case cudaResourceTypeLinear:
        out->res.linear.devPtr = (void *)(uintptr_t)desc->res.linear.devPtr;
        out->res.linear.sizeInBytes = desc->res.linear.sizeInBytes;
        out->res.linear.desc =
            cudart_channels(desc->res.linear.format, desc->res.linear.numChannels);
        break;
    case cudaResourceTypePitch2D:
        out->res.pitch2D.devPtr = (void *)(uintptr_t)desc->res.pitch2D.devPtr;
        out->res.pitch2D.width = desc->res.pitch2D.width;
        out->res.pitch2D.height = desc->res.pitch2D.height;
        out->res.pitch2D.pitchInBytes = desc->res.pitch2D.pitchInBytes;
        out->res.pitch2D.desc =
            cudart_channels(desc->res.pitch2D.format, desc->res.pitch2D.numChannels);
        break;
    }
}

/* ---- how a texture is read ---- */

static const struct {
    size_t member; /* of cudaTextureDesc, an int */
    unsigned flag;
} flags[] = {
    {offsetof(cudaTextureDesc, normalizedCoords), CU_TRSF_NORMALIZED_COORDINATES},
    {offsetof(cudaTextureDesc, sRGB), CU_TRSF_SRGB},
    {offsetof(cudaTextureDesc, disableTrilinearOptimization),
     CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION},
    {offsetof(cudaTextureDesc, seamlessCubemap), CU_TRSF_SEAMLESS_CUBEMAP},
};

static int *flag_of(cudaTextureDesc *desc, unsigned i)
{
    return (int *)(void *)((char *)desc + flags[i].member);
}

static void sampling_to_driver(CUDA_TEXTURE_DESC *out, const cudaTextureDesc *desc)
{
    cudaTextureDesc copy = *desc;

    memset(out, 0, sizeof(*out));
    memcpy(out->addressMode, desc->addressMode, sizeof(out->addressMode));
    memcpy(out->borderColor, desc->borderColor, sizeof(out->borderColor));
    out->filterMode = desc->filterMode;
    out->maxAnisotropy = desc->maxAnisotropy;
    out->mipmapFilterMode = desc->mipmapFilterMode;
    out->mipmapLevelBias = desc->mipmapLevelBias;
    out->minMipmapLevelClamp = desc->minMipmapLevelClamp;
    out->maxMipmapLevelClamp = desc->maxMipmapLevelClamp;
    out->flags = desc->readMode ? 0 : CU_TRSF_READ_AS_INTEGER;
    for (unsigned i = 0; i < sizeof(flags) / sizeof(*flags); i++)
        out->flags |= *flag_of(&copy, i) ? flags[i].flag : 0;
}

static void sampling_from_driver(cudaTextureDesc *out, const CUDA_TEXTURE_DESC *desc)
{
    memset(out, 0, sizeof(*out));
    memcpy(out->addressMode, desc->addressMode, sizeof(out->addressMode));
    memcpy(out->borderColor, desc->borderColor, sizeof(out->borderColor));
    out->filterMode = desc->filterMode;
    out->maxAnisotropy = desc->maxAnisotropy;
    out->mipmapFilterMode = desc->mipmapFilterMode;
    out->mipmapLevelBias = desc->mipmapLevelBias;
    out->minMipmapLevelClamp = desc->minMipmapLevelClamp;
    out->maxMipmapLevelClamp = desc->maxMipmapLevelClamp;
    out->readMode = !(desc->flags & CU_TRSF_READ_AS_INTEGER);
    for (unsigned i = 0; i < sizeof(flags) / sizeof(*flags); i++)
        *flag_of(out, i) = (desc->flags & flags[i].flag) != 0;
}

/* ---- entry points ---- */

cudaError_t cudaCreateTextureObject(cudaTextureObject_t *pTexObject,
                                    const cudaResourceDesc *pResDesc,
                                    const cudaTextureDesc *pTexDesc,
                                    const cudaResourceViewDesc *pResViewDesc)
{
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC sampling;
    CUDA_RESOURCE_VIEW_DESC view = {0};

    if (!pTexDesc)
        return cudart_fail(cudaErrorInvalidValue);
    if (cudart_enter() || to_driver(&resource, pResDesc))
        return cudart_last();
    sampling_to_driver(&sampling, pTexDesc);
    if (pResViewDesc)
        memcpy(&view, pResViewDesc, sizeof(*pResViewDesc));
    return cudart_result(
        cuTexObjectCreate(pTexObject, &resource, &sampling, pResViewDesc ? &view : NULL));
}

cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc *pResDesc,
                                             cudaTextureObject_t texObject)
{
    CUDA_RESOURCE_DESC resource;

    if (!pResDesc)
        return cudart_fail(cudaErrorInvalidValue);
    if (cudart_enter() || cudart_result(cuTexObjectGetResourceDesc(&resource, texObject)))
        return cudart_last();
    from_driver(pResDesc, &resource);
    return cudaSuccess;
}

cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc *pTexDesc,
                                            cudaTextureObject_t texObject)
{
    CUDA_TEXTURE_DESC sampling;

    if (!pTexDesc)
        return cudart_fail(cudaErrorInvalidValue);
    if (cudart_enter() || cudart_result(cuTexObjectGetTextureDesc(&sampling, texObject)))
        return cudart_last();
    sampling_from_driver(pTexDesc, &sampling);
    return cudaSuccess;
}

cudaError_t cudaGetTextureObjectResourceViewDesc(cudaResourceViewDesc *pResViewDesc,
                                                 cudaTextureObject_t texObject)
{
    CUDA_RESOURCE_VIEW_DESC view;

    if (!pResViewDesc)
        return cudart_fail(cudaErrorInvalidValue);
    if (cudart_enter() || cudart_result(cuTexObjectGetResourceViewDesc(&view, texObject)))
        return cudart_last();
    memcpy(pResViewDesc, &view, sizeof(*pResViewDesc));
    return cudaSuccess;
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *pSurfObject,
                                    const cudaResourceDesc *pResDesc)
{
    CUDA_RESOURCE_DESC resource;

    if (cudart_enter() || to_driver(&resource, pResDesc))
        return cudart_last();
    return cudart_result(cuSurfObjectCreate(pSurfObject, &resource));
}

cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc *pResDesc,
                                             cudaSurfaceObject_t surfObject)
{
    CUDA_RESOURCE_DESC resource;

    if (!pResDesc)
        return cudart_fail(cudaErrorInvalidValue);
    if (cudart_enter() || cudart_result(cuSurfObjectGetResourceDesc(&resource, surfObject)))
        return cudart_last();
    from_driver(pResDesc, &resource);
    return cudaSuccess;
}
