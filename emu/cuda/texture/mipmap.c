/* SPDX-License-Identifier: Apache-2.0
 *
 * Mipmapped arrays.
 */
#include <stdlib.h>

#include "emu/cuda/core/context.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/core/object.h"
#include "emu/cuda/memory/memory.h"
#include "emu/cuda/stream/stream.h"
#include "emu/cuda/texture/array.h"

static size_t halved(size_t size, unsigned times)
{
    return size && !(size >> times) ? 1 : size >> times;
}

/* Layers and faces stay as many; a volume's depth shrinks. */
static CUDA_ARRAY3D_DESCRIPTOR level_of(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned level)
{
    CUDA_ARRAY3D_DESCRIPTOR out = *d;

    out.Width = halved(d->Width, level);
    out.Height = halved(d->Height, level);
    if (!(d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)))
        out.Depth = halved(d->Depth, level);
    return out;
}

/* Counts the levels: as many as asked for, down to one texel at most. */
static unsigned count_levels(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned wanted)
{
    bool is_volume = !(d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP));
    size_t longest = d->Width > d->Height ? d->Width : d->Height;
    unsigned count = 1;

    if (is_volume && d->Depth > longest)
        longest = d->Depth;
    while (longest >> count)
        count++;
    count = count < PTX_MIP_LEVEL_MAX ? count : PTX_MIP_LEVEL_MAX;
    return wanted < 1 ? 1 : wanted < count ? wanted : count;
}

static CUresult mipmap_init(CUmipmappedArray mipmap, CUcontext context,
                            const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned wanted)
{
    size_t size = 0;
    CUresult result;

    for (unsigned k = 0; k < count_levels(d, wanted); k++) {
        CUDA_ARRAY3D_DESCRIPTOR description = level_of(d, k);
        CUarray level = &mipmap->levels[k];
        result = emu_array_init(level, &description, context->device, true);
        if (result)
            return result;
        level->mipmap = mipmap;
        level->address = size;
        size += (emu_array_size(level) + 511) & ~(size_t)511;
        mipmap->level_count++;
    }
    result = emu_array_allocate(&mipmap->address, context, size);
    for (unsigned k = 0; !result && k < mipmap->level_count; k++)
        mipmap->levels[k].address += mipmap->address;
    if (!result)
        result = emu_sparse_create(&mipmap->sparse, mipmap->levels, mipmap->level_count,
                                   context->device, true);
    for (unsigned k = 0; !result && k < mipmap->level_count; k++) {
        if (!emu_object_add(EMU_ARRAY, &mipmap->levels[k]))
            result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (!result && !emu_object_add(EMU_MIPMAP, mipmap))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    return result;
}

static void mipmap_destroy(CUmipmappedArray mipmap)
{
    emu_object_remove(mipmap);
    for (unsigned k = 0; k < mipmap->level_count; k++)
        emu_object_remove(&mipmap->levels[k]);
    emu_sparse_destroy(mipmap->sparse);
    if (mipmap->address)
        emu_memory_remove(mipmap->address, 1u << EMU_MEMORY_ARRAY);
    free(mipmap);
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray *pHandle,
                                const CUDA_ARRAY3D_DESCRIPTOR *pMipmappedArrayDesc,
                                unsigned int numMipmapLevels)
{
    CUcontext context;
    CUresult result = emu_enter(&context);
    CUmipmappedArray mipmap;

    if (result)
        return result;
    if (!pHandle || !pMipmappedArrayDesc ||
        pMipmappedArrayDesc->Flags & CUDA_ARRAY3D_TEXTURE_GATHER)
        return CUDA_ERROR_INVALID_VALUE;
    mipmap = calloc(1, sizeof(*mipmap));
    if (!mipmap)
        return CUDA_ERROR_OUT_OF_MEMORY;
    result = mipmap_init(mipmap, context, pMipmappedArrayDesc, numMipmapLevels);
    if (result)
        mipmap_destroy(mipmap);
    else
        *pHandle = mipmap;
    return result;
}

/* The same handle each time. */
CUresult cuMipmappedArrayGetLevel(CUarray *pLevelArray, CUmipmappedArray hMipmappedArray,
                                  unsigned int level)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (!result && !emu_object_is(EMU_MIPMAP, hMipmappedArray))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (!result && (!pLevelArray || level >= hMipmappedArray->level_count))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *pLevelArray = &hMipmappedArray->levels[level];
    return result;
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (!result && !emu_object_is(EMU_MIPMAP, hMipmappedArray))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (!result)
        result = emu_context_synchronize(context);
    if (!result)
        mipmap_destroy(hMipmappedArray);
    return result;
}

/* ---- what these arrays do not have ---- */

CUresult cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *memoryRequirements,
                                               CUmipmappedArray mipmap, CUdevice device)
{
    CUresult result = emu_enter_device(device);

    if (!result && !emu_object_is(EMU_MIPMAP, mipmap))
        result = CUDA_ERROR_INVALID_HANDLE;
    return result ? result : CUDA_ERROR_INVALID_VALUE;
}
