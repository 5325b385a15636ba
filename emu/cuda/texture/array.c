/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/texture/array.h"

#include <stdlib.h>

#include "emu/cuda/core/context.h"
#include "emu/cuda/core/device.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/core/object.h"
#include "emu/cuda/memory/memory.h"
#include "emu/cuda/stream/stream.h"
#include "emu/cuda/texture/format.h"

/* ---- limits ---- */

/* The attributes that bound width, height and depth of each form of an array; 0: there is none. Of
 * arrays for surfaces in the second half. */
#define LIMIT(name) CU_DEVICE_ATTRIBUTE_MAXIMUM_##name

enum form { FORM_1D, FORM_2D, FORM_3D, FORM_A1D, FORM_A2D, FORM_CUBE, FORM_ACUBE, FORM_COUNT };

static const CUdevice_attribute limits[2][FORM_COUNT][3] = {
    {{LIMIT(TEXTURE1D_WIDTH)},
     {LIMIT(TEXTURE2D_WIDTH), LIMIT(TEXTURE2D_HEIGHT)},
     {LIMIT(TEXTURE3D_WIDTH), LIMIT(TEXTURE3D_HEIGHT), LIMIT(TEXTURE3D_DEPTH)},
     {LIMIT(TEXTURE1D_LAYERED_WIDTH), 0, LIMIT(TEXTURE1D_LAYERED_LAYERS)},
     {LIMIT(TEXTURE2D_LAYERED_WIDTH), LIMIT(TEXTURE2D_LAYERED_HEIGHT),
      LIMIT(TEXTURE2D_LAYERED_LAYERS)},
     {LIMIT(TEXTURECUBEMAP_WIDTH), LIMIT(TEXTURECUBEMAP_WIDTH)},
     {LIMIT(TEXTURECUBEMAP_LAYERED_WIDTH), LIMIT(TEXTURECUBEMAP_LAYERED_WIDTH),
      LIMIT(TEXTURECUBEMAP_LAYERED_LAYERS)}},
    {{LIMIT(SURFACE1D_WIDTH)},
     {LIMIT(SURFACE2D_WIDTH), LIMIT(SURFACE2D_HEIGHT)},
     {LIMIT(SURFACE3D_WIDTH), LIMIT(SURFACE3D_HEIGHT), LIMIT(SURFACE3D_DEPTH)},
     {LIMIT(SURFACE1D_LAYERED_WIDTH), 0, LIMIT(SURFACE1D_LAYERED_LAYERS)},
     {LIMIT(SURFACE2D_LAYERED_WIDTH), LIMIT(SURFACE2D_LAYERED_HEIGHT),
      LIMIT(SURFACE2D_LAYERED_LAYERS)},
     {LIMIT(SURFACECUBEMAP_WIDTH), LIMIT(SURFACECUBEMAP_WIDTH)},
     {LIMIT(SURFACECUBEMAP_LAYERED_WIDTH), LIMIT(SURFACECUBEMAP_LAYERED_WIDTH),
      LIMIT(SURFACECUBEMAP_LAYERED_LAYERS)}},
};

/* Finds the form of an array. Returns false if no array has these extents with these flags. */
static bool form_of(enum form *form, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    bool layered = d->Flags & CUDA_ARRAY3D_LAYERED, cube = d->Flags & CUDA_ARRAY3D_CUBEMAP;

    if (cube) {
        *form = layered ? FORM_ACUBE : FORM_CUBE;
        return d->Width == d->Height && (layered ? d->Depth && d->Depth % 6 == 0 : d->Depth == 6);
    }
    if (layered)
        *form = d->Height ? FORM_A2D : FORM_A1D;
    else
        *form = d->Depth ? FORM_3D : d->Height ? FORM_2D : FORM_1D;
    return layered ? d->Depth != 0 : !d->Depth || d->Height;
}

static bool fits(const CUDA_ARRAY3D_DESCRIPTOR *d, enum form form, CUdevice device,
                 bool is_mipmapped)
{
    size_t size[3] = {d->Width, d->Height, form == FORM_CUBE ? 0 : d->Depth};
    const CUdevice_attribute *limit = limits[!!(d->Flags & CUDA_ARRAY3D_SURFACE_LDST)][form];
    static const CUdevice_attribute of_mipmap[2][3] = {
        {LIMIT(TEXTURE1D_MIPMAPPED_WIDTH)},
        {LIMIT(TEXTURE2D_MIPMAPPED_WIDTH), LIMIT(TEXTURE2D_MIPMAPPED_HEIGHT)}};
    static const CUdevice_attribute of_gather[3] = {LIMIT(TEXTURE2D_GATHER_WIDTH),
                                                    LIMIT(TEXTURE2D_GATHER_HEIGHT)};

    if (d->Flags & CUDA_ARRAY3D_TEXTURE_GATHER)
        limit = of_gather;
    else if (is_mipmapped && form <= FORM_2D)
        limit = of_mipmap[form];
    for (unsigned k = 0; k < 3; k++)
        if (size[k] && (!limit[k] || size[k] > (size_t)emu_device_attribute(limit[k], device)))
            return false;
    return true;
}

/* ---- life ---- */

#define FLAGS_KNOWN                                                                                \
    (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP |                     \
     CUDA_ARRAY3D_TEXTURE_GATHER | CUDA_ARRAY3D_DEPTH_TEXTURE | CUDA_ARRAY3D_COLOR_ATTACHMENT |    \
     CUDA_ARRAY3D_SPARSE)

static bool is_channel_count(unsigned given, unsigned own)
{
    return own ? given == own : given == 1 || given == 2 || given == 4;
}

/* Blocks lie in two dimensions, and nothing can be written into one of their texels. */
static bool fits_blocks(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    return d->Height && !(d->Flags & (CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_DEPTH_TEXTURE));
}

CUresult emu_array_init(struct CUarray_st *array, const CUDA_ARRAY3D_DESCRIPTOR *d, CUdevice device,
                        bool is_mipmapped)
{
    const struct emu_format *format = emu_format_find(d->Format);
    enum form form;

    if (!d->Width || d->NumChannels < 1 || d->NumChannels > 4)
        return CUDA_ERROR_INVALID_VALUE;
    if (!format || d->Flags & ~(unsigned)FLAGS_KNOWN)
        return CUDA_ERROR_NOT_SUPPORTED;
    array->channel = (enum ptx_channel)format->channel;
    size_t side = ptx_element_side(array->channel);
    if (!is_channel_count(d->NumChannels, format->channel_count) || !form_of(&form, d) ||
        (d->Flags & CUDA_ARRAY3D_TEXTURE_GATHER && form != FORM_2D) ||
        (side > 1 && !fits_blocks(d)) || !fits(d, form, device, is_mipmapped))
        return CUDA_ERROR_INVALID_VALUE;
    array->description = *d;
    array->is_srgb = format->is_srgb;
    array->element_size = ptx_element_size(array->channel, d->NumChannels);
    array->columns = (d->Width + side - 1) / side;
    array->pitch = (array->element_size * array->columns + 31) & ~(size_t)31;
    array->rows = d->Height ? (d->Height + side - 1) / side : 1;
    array->slices = d->Depth ? d->Depth : 1;
    return CUDA_SUCCESS;
}

size_t emu_array_size(const struct CUarray_st *array)
{
    return array->pitch * array->rows * array->slices;
}

/* The arrays of the planes, one after the other in the whole's memory. */
static CUresult init_planes(struct CUarray_st *array, const CUDA_ARRAY3D_DESCRIPTOR *d,
                            CUdevice device, size_t *size)
{
    const struct emu_planes *planes = emu_planes_find(d->Format);

    if (d->Flags & CUDA_ARRAY3D_SPARSE)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (d->NumChannels != 3 || !d->Height || d->Depth || d->Flags & CUDA_ARRAY3D_LAYERED ||
        d->Width % (1u + planes->halved_x) || d->Height % (1u + planes->halved_y))
        return CUDA_ERROR_INVALID_VALUE;
    array->planes = calloc(planes->count, sizeof(*array->planes));
    if (!array->planes)
        return CUDA_ERROR_OUT_OF_MEMORY;
    array->description = *d;
    for (unsigned k = 0; k < planes->count; k++) {
        CUDA_ARRAY3D_DESCRIPTOR plane = *d;
        plane.Format = planes->element;
        plane.NumChannels = planes->channel_count[k];
        plane.Width >>= k ? planes->halved_x : 0;
        plane.Height >>= k ? planes->halved_y : 0;
        CUresult result = emu_array_init(&array->planes[k], &plane, device, false);
        if (result)
            return result;
        array->planes[k].whole = array;
        array->planes[k].address = *size;
        *size += (emu_array_size(&array->planes[k]) + 511) & ~(size_t)511;
    }
    array->plane_count = planes->count;
    return CUDA_SUCCESS;
}

CUresult emu_array_allocate(uint64_t *address, CUcontext context, size_t size)
{
    struct emu_memory what = {.kind = EMU_MEMORY_ARRAY,
                              .context = context,
                              .device = context->device,
                              .is_readable = true,
                              .is_writable = true};

    return emu_memory_allocate(address, EMU_WINDOW_DEVICE, size, &what);
}

static CUresult array_make(CUarray array, CUcontext context, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    size_t size = 0;
    CUresult result;

    if (emu_planes_find(d->Format)) {
        result = init_planes(array, d, context->device, &size);
    } else {
        result = emu_array_init(array, d, context->device, false);
        size = emu_array_size(array);
    }
    if (!result)
        result = emu_array_allocate(&array->address, context, size);
    if (!result)
        result = emu_sparse_create(&array->sparse, array, 1, context->device, false);
    for (unsigned k = 0; k < array->plane_count && !result; k++) {
        array->planes[k].address += array->address;
        if (!emu_object_add(EMU_ARRAY, &array->planes[k]))
            result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (!result && !emu_object_add(EMU_ARRAY, array))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    return result;
}

/* The memory went with the context if that is gone. */
static void array_destroy(CUarray array)
{
    emu_object_remove(array);
    for (unsigned k = 0; k < array->plane_count; k++)
        emu_object_remove(&array->planes[k]);
    emu_sparse_destroy(array->sparse);
    if (array->address)
        emu_memory_remove(array->address, 1u << EMU_MEMORY_ARRAY);
    free(array->planes);
    free(array);
}

CUresult cuArray3DCreate_v2(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pAllocateArray)
{
    CUcontext context;
    CUresult result = emu_enter(&context);
    CUarray array;

    if (result)
        return result;
    if (!pHandle || !pAllocateArray)
        return CUDA_ERROR_INVALID_VALUE;
    array = calloc(1, sizeof(*array));
    if (!array)
        return CUDA_ERROR_OUT_OF_MEMORY;
    result = array_make(array, context, pAllocateArray);
    if (result)
        array_destroy(array);
    else
        *pHandle = array;
    return result;
}

CUresult cuArrayCreate_v2(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR *pAllocateArray)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {0};

    if (!pAllocateArray)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    d.Width = pAllocateArray->Width;
    d.Height = pAllocateArray->Height;
    d.Format = pAllocateArray->Format;
    d.NumChannels = pAllocateArray->NumChannels;
    return cuArray3DCreate_v2(pHandle, &d);
}

CUresult cuArrayDestroy(CUarray hArray)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (!result && !emu_object_is(EMU_ARRAY, hArray))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (!result && (hArray->mipmap || hArray->whole)) /* a level or plane goes with the whole */
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        result = emu_context_synchronize(context);
    if (result)
        return result;
    array_destroy(hArray);
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

/* ---- what these arrays do not have ---- */

CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *memoryRequirements,
                                      CUarray array, CUdevice device)
{
    CUresult result = emu_enter_device(device);

    if (!result && !emu_object_is(EMU_ARRAY, array))
        result = CUDA_ERROR_INVALID_HANDLE;
    /* Only arrays with deferred mapping have requirements, and there are none. */
    return result ? result : CUDA_ERROR_INVALID_VALUE;
}

/* The same handle each time. */
CUresult cuArrayGetPlane(CUarray *pPlaneArray, CUarray hArray, unsigned int planeIdx)
{
    CUresult result = emu_ready();

    if (!result && !emu_object_is(EMU_ARRAY, hArray))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (!result && (!pPlaneArray || planeIdx >= hArray->plane_count))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *pPlaneArray = &hArray->planes[planeIdx];
    return result;
}
