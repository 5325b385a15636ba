/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays, and the formats of their elements.
 */
#include "emu/cudart/cudart.h"

/* Both count these formats one after another. */
#define NORMALIZED_FIRST cudaChannelFormatKindUnsignedNormalized8X1
#define NORMALIZED_LAST  (cudaChannelFormatKindUnsignedBlockCompressed1 - 1)
#define BLOCK_FIRST      cudaChannelFormatKindUnsignedBlockCompressed1
#define BLOCK_LAST       cudaChannelFormatKindUnsignedBlockCompressed7SRGB

static unsigned channel_count(const cudaChannelFormatDesc *desc)
{
    return !!desc->x + !!desc->y + !!desc->z + !!desc->w;
}

/* Integers and floats, by the bits of a channel. */
static bool find_plain(CUarray_format *out, const cudaChannelFormatDesc *desc)
{
    static const struct {
        cudaChannelFormatKind kind;
        int bits;
        CUarray_format format;
    } formats[] = {
        {cudaChannelFormatKindSigned, 8, CU_AD_FORMAT_SIGNED_INT8},
        {cudaChannelFormatKindSigned, 16, CU_AD_FORMAT_SIGNED_INT16},
        {cudaChannelFormatKindSigned, 32, CU_AD_FORMAT_SIGNED_INT32},
        {cudaChannelFormatKindUnsigned, 8, CU_AD_FORMAT_UNSIGNED_INT8},
        {cudaChannelFormatKindUnsigned, 16, CU_AD_FORMAT_UNSIGNED_INT16},
        {cudaChannelFormatKindUnsigned, 32, CU_AD_FORMAT_UNSIGNED_INT32},
        {cudaChannelFormatKindFloat, 16, CU_AD_FORMAT_HALF},
        {cudaChannelFormatKindFloat, 32, CU_AD_FORMAT_FLOAT},
    };

    for (unsigned i = 0; i < sizeof(formats) / sizeof(*formats); i++)
        if (formats[i].kind == desc->f && formats[i].bits == desc->x) {
            *out = formats[i].format;
            return true;
        }
    return false;
}

cudaError_t cudart_format(CUarray_format *format, unsigned *channels,
                          const cudaChannelFormatDesc *desc)
{
    int kind = desc ? (int)desc->f : -1;

    if (!desc)
        return cudart_fail(cudaErrorInvalidValue);
    *channels = channel_count(desc);
    if (kind >= NORMALIZED_FIRST && kind <= NORMALIZED_LAST)
        *format = (CUarray_format)(CU_AD_FORMAT_UNORM_INT8X1 + kind - NORMALIZED_FIRST);
    else if (kind >= BLOCK_FIRST && kind <= BLOCK_LAST)
        *format = (CUarray_format)(CU_AD_FORMAT_BC1_UNORM + kind - BLOCK_FIRST);
    else if (kind == cudaChannelFormatKindNV12)
        *format = CU_AD_FORMAT_NV12;
    else if (kind == cudaChannelFormatKindUnsignedNormalized1010102)
        *format = CU_AD_FORMAT_UNORM_INT_101010_2;
    else if (!find_plain(format, desc))
        return cudart_fail(cudaErrorInvalidChannelDescriptor);
    return cudaSuccess;
}

/* Bits of a channel. */
static int bits_of(CUarray_format format)
{
    switch ((int)format) {
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
        return 16;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
        return 32;
    }
    return format >= CU_AD_FORMAT_UNORM_INT16X1 && format <= CU_AD_FORMAT_UNORM_INT16X4   ? 16
           : format >= CU_AD_FORMAT_SNORM_INT16X1 && format <= CU_AD_FORMAT_SNORM_INT16X4 ? 16
                                                                                          : 8;
}

static cudaChannelFormatKind kind_of(CUarray_format format)
{
    int value = (int)format;

    if (value >= CU_AD_FORMAT_UNORM_INT8X1 && value <= CU_AD_FORMAT_SNORM_INT16X4)
        return (cudaChannelFormatKind)(NORMALIZED_FIRST + value - CU_AD_FORMAT_UNORM_INT8X1);
    if (value >= CU_AD_FORMAT_BC1_UNORM && value <= CU_AD_FORMAT_BC7_UNORM_SRGB)
        return (cudaChannelFormatKind)(BLOCK_FIRST + value - CU_AD_FORMAT_BC1_UNORM);
    switch (value) {
    case CU_AD_FORMAT_NV12:
        return cudaChannelFormatKindNV12;
    case CU_AD_FORMAT_UNORM_INT_101010_2:
        return cudaChannelFormatKindUnsignedNormalized1010102;
    case CU_AD_FORMAT_SIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT32:
        return cudaChannelFormatKindSigned;
    case CU_AD_FORMAT_HALF:
    case CU_AD_FORMAT_FLOAT:
        return cudaChannelFormatKindFloat;
    }
    return cudaChannelFormatKindUnsigned;
}

cudaChannelFormatDesc cudart_channels(CUarray_format format, unsigned channels)
{
    int bits = bits_of(format);

    return (cudaChannelFormatDesc){.x = bits,
                                   .y = channels > 1 ? bits : 0,
                                   .z = channels > 2 ? bits : 0,
                                   .w = channels > 3 ? bits : 0,
                                   .f = kind_of(format)};
}

/* Bytes of a block of 4 x 4 texels; 0: the format has none. */
static size_t block_size(CUarray_format format)
{
    if (format < CU_AD_FORMAT_BC1_UNORM || format > CU_AD_FORMAT_BC7_UNORM_SRGB)
        return 0;
    return format <= CU_AD_FORMAT_BC1_UNORM_SRGB || format == CU_AD_FORMAT_BC4_UNORM ||
                   format == CU_AD_FORMAT_BC4_SNORM
               ? 8
               : 16;
}

cudaError_t cudart_array_row(size_t *element, size_t *columns, CUarray array)
{
    CUDA_ARRAY3D_DESCRIPTOR desc;
    size_t block;

    if (cudart_result(cuArray3DGetDescriptor_v2(&desc, array)))
        return cudart_last();
    block = block_size(desc.Format);
    *columns = block ? (desc.Width + 3) / 4 : desc.Width;
    if (block)
        *element = block;
    else if (desc.Format == CU_AD_FORMAT_UNORM_INT_101010_2)
        *element = 4;
    else
        *element = (size_t)bits_of(desc.Format) / 8 * desc.NumChannels;
    return cudaSuccess;
}

/* ---- entry points ---- */

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind f)
{
    return (cudaChannelFormatDesc){x, y, z, w, f};
}

static cudaError_t describe(CUDA_ARRAY3D_DESCRIPTOR *out, const cudaChannelFormatDesc *desc,
                            cudaExtent extent, unsigned flags)
{
    *out = (CUDA_ARRAY3D_DESCRIPTOR){
        .Width = extent.width, .Height = extent.height, .Depth = extent.depth, .Flags = flags};
    return cudart_format(&out->Format, &out->NumChannels, desc);
}

cudaError_t cudaMalloc3DArray(cudaArray_t *array, const cudaChannelFormatDesc *desc,
                              cudaExtent extent, unsigned int flags)
{
    CUDA_ARRAY3D_DESCRIPTOR made;

    if (cudart_enter() || describe(&made, desc, extent, flags))
        return cudart_last();
    return cudart_result(cuArray3DCreate_v2(array, &made));
}

cudaError_t cudaMallocArray(cudaArray_t *array, const cudaChannelFormatDesc *desc, size_t width,
                            size_t height, unsigned int flags)
{
    return cudaMalloc3DArray(array, desc, (cudaExtent){width, height, 0}, flags);
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *mipmappedArray,
                                     const cudaChannelFormatDesc *desc, cudaExtent extent,
                                     unsigned int numLevels, unsigned int flags)
{
    CUDA_ARRAY3D_DESCRIPTOR made;

    if (cudart_enter() || describe(&made, desc, extent, flags))
        return cudart_last();
    return cudart_result(cuMipmappedArrayCreate(mipmappedArray, &made, numLevels));
}

cudaError_t cudaFreeArray(cudaArray_t array)
{
    return array ? CUDART_DRIVER(cuArrayDestroy(array)) : cudart_enter();
}

cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc *desc, cudaExtent *extent, unsigned int *flags,
                             cudaArray_t array)
{
    CUDA_ARRAY3D_DESCRIPTOR has;

    if (cudart_enter() || cudart_result(cuArray3DGetDescriptor_v2(&has, array)))
        return cudart_last();
    if (desc)
        *desc = cudart_channels(has.Format, has.NumChannels);
    if (extent)
        *extent = (cudaExtent){has.Width, has.Height, has.Depth};
    if (flags)
        *flags = has.Flags;
    return cudaSuccess;
}

cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc *desc, cudaArray_const_t array)
{
    if (!desc)
        return cudart_fail(cudaErrorInvalidValue);
    return cudaArrayGetInfo(desc, NULL, NULL, array);
}
