/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cuda/array_bytes.h"

/* Bytes of a component, or with *side 4 of a block; 0: of a format whose arrays hold nothing
 * themselves, or unknown. */
static size_t component_size(CUarray_format format, unsigned *side)
{
    *side = 1;
    if (format >= CU_AD_FORMAT_BC1_UNORM && format <= CU_AD_FORMAT_BC7_UNORM_SRGB) {
        *side = 4;
        return format <= CU_AD_FORMAT_BC1_UNORM_SRGB || format == CU_AD_FORMAT_BC4_UNORM ||
                       format == CU_AD_FORMAT_BC4_SNORM
                   ? 8
                   : 16;
    }
    switch ((int)format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
    case CU_AD_FORMAT_UNORM_INT8X1:
    case CU_AD_FORMAT_UNORM_INT8X2:
    case CU_AD_FORMAT_UNORM_INT8X4:
    case CU_AD_FORMAT_SNORM_INT8X1:
    case CU_AD_FORMAT_SNORM_INT8X2:
    case CU_AD_FORMAT_SNORM_INT8X4:
    case CU_AD_FORMAT_UNORM_INT_101010_2: /* four of them are as long as a texel */
        return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
    case CU_AD_FORMAT_UNORM_INT16X1:
    case CU_AD_FORMAT_UNORM_INT16X2:
    case CU_AD_FORMAT_UNORM_INT16X4:
    case CU_AD_FORMAT_SNORM_INT16X1:
    case CU_AD_FORMAT_SNORM_INT16X2:
    case CU_AD_FORMAT_SNORM_INT16X4:
        return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
        return 4;
    }
    return 0;
}

bool cuda_array_has_planes(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    switch ((int)d->Format) {
    case CU_AD_FORMAT_NV12:
    case CU_AD_FORMAT_P010:
    case CU_AD_FORMAT_P016:
    case CU_AD_FORMAT_NV16:
    case CU_AD_FORMAT_P210:
    case CU_AD_FORMAT_P216:
    case CU_AD_FORMAT_Y444_PLANAR8:
    case CU_AD_FORMAT_Y444_PLANAR10:
    case CU_AD_FORMAT_YUV444_8bit_SemiPlanar:
    case CU_AD_FORMAT_YUV444_16bit_SemiPlanar:
        return true;
    }
    return false;
}

size_t cuda_array_element(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    unsigned side;
    const size_t size = component_size(d->Format, &side);

    return side > 1 ? size : size * d->NumChannels;
}

bool cuda_array_shape(struct cuda_array_shape *out, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    unsigned side;
    size_t size = component_size(d->Format, &side);

    out->width = (d->Width + side - 1) / side * (side > 1 ? size : size * d->NumChannels);
    out->height = d->Height ? (d->Height + side - 1) / side : 1;
    out->depth = d->Depth ? d->Depth : 1;
    return out->width && !(d->Flags & CUDA_ARRAY3D_DEFERRED_MAPPING);
}

/* A box of whole rows of one slice, or a part of one row. */
static CUresult copy_box(cuda_array_copy copy, CUarray array, const size_t at[3], size_t width,
                         size_t rows, void *bytes, bool is_write)
{
    CUDA_MEMCPY3D c = {.srcPitch = width,
                       .dstPitch = width,
                       .srcHeight = rows,
                       .dstHeight = rows,
                       .WidthInBytes = width,
                       .Height = rows,
                       .Depth = 1};

    if (is_write) {
        c.srcMemoryType = CU_MEMORYTYPE_HOST;
        c.srcHost = bytes;
        c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
        c.dstArray = array;
        c.dstXInBytes = at[0];
        c.dstY = at[1];
        c.dstZ = at[2];
    } else {
        c.dstMemoryType = CU_MEMORYTYPE_HOST;
        c.dstHost = bytes;
        c.srcMemoryType = CU_MEMORYTYPE_ARRAY;
        c.srcArray = array;
        c.srcXInBytes = at[0];
        c.srcY = at[1];
        c.srcZ = at[2];
    }
    return copy(&c);
}

CUresult cuda_array_bytes(cuda_array_copy copy, CUarray array, const struct cuda_array_shape *shape,
                          uint64_t offset, void *bytes, uint64_t size, bool is_write)
{
    CUresult result = CUDA_SUCCESS;
    uint8_t *next = bytes;

    while (size && result == CUDA_SUCCESS) {
        uint64_t row = offset / shape->width;
        size_t at[3] = {offset % shape->width, row % shape->height, row / shape->height};
        size_t width = shape->width - at[0], rows = 1;
        if (at[0] || size < width)
            width = size < width ? (size_t)size : width;
        else
            rows = size / width < shape->height - at[1] ? (size_t)(size / width)
                                                        : shape->height - at[1];
        result = copy_box(copy, array, at, width, rows, next, is_write);
        next += (uint64_t)width * rows;
        offset += (uint64_t)width * rows;
        size -= (uint64_t)width * rows;
    }
    return result;
}
