/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/emu_array.h"

#include <stdlib.h>

#include "emu/emu.h"
#include "emu/emu_context.h"
#include "emu/emu_memory.h"
#include "emu/emu_object.h"
#include "emu/emu_stream.h"

/* Bytes of a channel, 0 for the packed and planar formats, which are not supported. */
static size_t channel_size(CUarray_format format)
{
    switch ((int)format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
        return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
        return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
        return 4;
    }
    return 0;
}

static CUresult array_init(struct CUarray_st *array, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    size_t channel = channel_size(d->Format);

    if (!d->Width || (d->NumChannels != 1 && d->NumChannels != 2 && d->NumChannels != 4))
        return CUDA_ERROR_INVALID_VALUE;
    if (!channel || d->Flags & ~(unsigned)(CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST))
        return CUDA_ERROR_NOT_SUPPORTED;
    if (d->Width > 1u << 28 || d->Height > 1u << 17 || d->Depth > 1u << 14)
        return CUDA_ERROR_INVALID_VALUE;
    array->description = *d;
    array->element_size = channel * d->NumChannels;
    array->pitch = (array->element_size * d->Width + 31) & ~(size_t)31;
    array->rows = d->Height ? d->Height : 1;
    array->slices = d->Depth ? d->Depth : 1;
    return CUDA_SUCCESS;
}

CUresult cuArray3DCreate_v2(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pAllocateArray)
{
    CUcontext context;
    CUresult result = emu_enter(&context);
    struct emu_memory what = {.kind = EMU_MEMORY_ARRAY, .is_readable = true, .is_writable = true};
    CUarray array;

    if (result)
        return result;
    if (!pHandle || !pAllocateArray)
        return CUDA_ERROR_INVALID_VALUE;
    array = calloc(1, sizeof(*array));
    if (!array)
        return CUDA_ERROR_OUT_OF_MEMORY;
    what.context = context;
    what.device = context->device;
    result = array_init(array, pAllocateArray);
    if (!result)
        result = emu_memory_allocate(&array->address, EMU_WINDOW_DEVICE,
                                     array->pitch * array->rows * array->slices, &what);
    if (!result && !emu_object_add(EMU_ARRAY, array))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result)
        free(array);
    else
        *pHandle = array;
    return result;
}

CUresult cuArrayCreate_v2(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR *pAllocateArray)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {0};

    if (!pAllocateArray)
        return CUDA_ERROR_INVALID_VALUE;
    d.Width = pAllocateArray->Width;
    d.Height = pAllocateArray->Height;
    d.Format = pAllocateArray->Format;
    d.NumChannels = pAllocateArray->NumChannels;
    return cuArray3DCreate_v2(pHandle, &d);
}

/* The memory went with the context if that is gone. */
CUresult cuArrayDestroy(CUarray hArray)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (!result && !emu_object_is(EMU_ARRAY, hArray))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (!result)
        result = emu_context_synchronize(context);
    if (result)
        return result;
    emu_object_remove(hArray);
    emu_memory_remove(hArray->address, 1u << EMU_MEMORY_ARRAY);
    free(hArray);
    return CUDA_SUCCESS;
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *pArrayDescriptor, CUarray hArray)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (!result && !emu_object_is(EMU_ARRAY, hArray))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (!result && !pArrayDescriptor)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *pArrayDescriptor = hArray->description;
    return result;
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *pArrayDescriptor, CUarray hArray)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    CUresult result = cuArray3DGetDescriptor_v2(&d, hArray);

    if (!result && !pArrayDescriptor)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result) {
        pArrayDescriptor->Width = d.Width;
        pArrayDescriptor->Height = d.Height;
        pArrayDescriptor->Format = d.Format;
        pArrayDescriptor->NumChannels = d.NumChannels;
    }
    return result;
}
