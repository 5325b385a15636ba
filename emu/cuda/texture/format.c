/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/texture/format.h"

#include <stddef.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static const struct emu_format formats[] = {
    {CU_AD_FORMAT_UNSIGNED_INT8, PTX_CHANNEL_U8, 0, false},
    {CU_AD_FORMAT_UNSIGNED_INT16, PTX_CHANNEL_U16, 0, false},
    {CU_AD_FORMAT_UNSIGNED_INT32, PTX_CHANNEL_U32, 0, false},
    {CU_AD_FORMAT_SIGNED_INT8, PTX_CHANNEL_S8, 0, false},
    {CU_AD_FORMAT_SIGNED_INT16, PTX_CHANNEL_S16, 0, false},
    {CU_AD_FORMAT_SIGNED_INT32, PTX_CHANNEL_S32, 0, false},
    {CU_AD_FORMAT_HALF, PTX_CHANNEL_F16, 0, false},
    {CU_AD_FORMAT_FLOAT, PTX_CHANNEL_F32, 0, false},
    {CU_AD_FORMAT_UNORM_INT8X1, PTX_CHANNEL_UNORM8, 1, false},
    {CU_AD_FORMAT_UNORM_INT8X2, PTX_CHANNEL_UNORM8, 2, false},
    {CU_AD_FORMAT_UNORM_INT8X4, PTX_CHANNEL_UNORM8, 4, false},
    {CU_AD_FORMAT_UNORM_INT16X1, PTX_CHANNEL_UNORM16, 1, false},
    {CU_AD_FORMAT_UNORM_INT16X2, PTX_CHANNEL_UNORM16, 2, false},
    {CU_AD_FORMAT_UNORM_INT16X4, PTX_CHANNEL_UNORM16, 4, false},
    {CU_AD_FORMAT_SNORM_INT8X1, PTX_CHANNEL_SNORM8, 1, false},
    {CU_AD_FORMAT_SNORM_INT8X2, PTX_CHANNEL_SNORM8, 2, false},
    {CU_AD_FORMAT_SNORM_INT8X4, PTX_CHANNEL_SNORM8, 4, false},
    {CU_AD_FORMAT_SNORM_INT16X1, PTX_CHANNEL_SNORM16, 1, false},
    {CU_AD_FORMAT_SNORM_INT16X2, PTX_CHANNEL_SNORM16, 2, false},
    {CU_AD_FORMAT_SNORM_INT16X4, PTX_CHANNEL_SNORM16, 4, false},
    {CU_AD_FORMAT_UNORM_INT_101010_2, PTX_CHANNEL_UNORM10_2, 4, false},
    {CU_AD_FORMAT_BC1_UNORM, PTX_CHANNEL_BC1, 4, false},
    {CU_AD_FORMAT_BC1_UNORM_SRGB, PTX_CHANNEL_BC1, 4, true},
    {CU_AD_FORMAT_BC2_UNORM, PTX_CHANNEL_BC2, 4, false},
    {CU_AD_FORMAT_BC2_UNORM_SRGB, PTX_CHANNEL_BC2, 4, true},
    {CU_AD_FORMAT_BC3_UNORM, PTX_CHANNEL_BC3, 4, false},
    {CU_AD_FORMAT_BC3_UNORM_SRGB, PTX_CHANNEL_BC3, 4, true},
    {CU_AD_FORMAT_BC4_UNORM, PTX_CHANNEL_BC4_UNORM, 1, false},
    {CU_AD_FORMAT_BC4_SNORM, PTX_CHANNEL_BC4_SNORM, 1, false},
    {CU_AD_FORMAT_BC5_UNORM, PTX_CHANNEL_BC5_UNORM, 2, false},
    {CU_AD_FORMAT_BC5_SNORM, PTX_CHANNEL_BC5_SNORM, 2, false},
    {CU_AD_FORMAT_BC6H_UF16, PTX_CHANNEL_BC6H_UF16, 3, false},
    {CU_AD_FORMAT_BC6H_SF16, PTX_CHANNEL_BC6H_SF16, 3, false},
    {CU_AD_FORMAT_BC7_UNORM, PTX_CHANNEL_BC7, 4, false},
    {CU_AD_FORMAT_BC7_UNORM_SRGB, PTX_CHANNEL_BC7, 4, true},
};

static const struct emu_planes planes[] = {
    {CU_AD_FORMAT_NV12, CU_AD_FORMAT_UNSIGNED_INT8, 2, {1, 2}, 1, 1},
    {CU_AD_FORMAT_P010, CU_AD_FORMAT_UNSIGNED_INT16, 2, {1, 2}, 1, 1},
    {CU_AD_FORMAT_P016, CU_AD_FORMAT_UNSIGNED_INT16, 2, {1, 2}, 1, 1},
    {CU_AD_FORMAT_NV16, CU_AD_FORMAT_UNSIGNED_INT8, 2, {1, 2}, 1, 0},
    {CU_AD_FORMAT_P210, CU_AD_FORMAT_UNSIGNED_INT16, 2, {1, 2}, 1, 0},
    {CU_AD_FORMAT_P216, CU_AD_FORMAT_UNSIGNED_INT16, 2, {1, 2}, 1, 0},
    {CU_AD_FORMAT_YUV444_8bit_SemiPlanar, CU_AD_FORMAT_UNSIGNED_INT8, 2, {1, 2}, 0, 0},
    {CU_AD_FORMAT_YUV444_16bit_SemiPlanar, CU_AD_FORMAT_UNSIGNED_INT16, 2, {1, 2}, 0, 0},
    {CU_AD_FORMAT_Y444_PLANAR8, CU_AD_FORMAT_UNSIGNED_INT8, 3, {1, 1, 1}, 0, 0},
    {CU_AD_FORMAT_Y444_PLANAR10, CU_AD_FORMAT_UNSIGNED_INT16, 3, {1, 1, 1}, 0, 0},
};

const struct emu_format *emu_format_find(CUarray_format format)
{
    for (size_t i = 0; i < COUNT(formats); i++)
        if (formats[i].format == format)
            return &formats[i];
    return NULL;
}

const struct emu_planes *emu_planes_find(CUarray_format format)
{
    for (size_t i = 0; i < COUNT(planes); i++)
        if (planes[i].format == format)
            return &planes[i];
    return NULL;
}

bool emu_view_format(CUresourceViewFormat format, enum ptx_channel *channel,
                     unsigned *channel_count)
{
    static const uint8_t channels[] = {PTX_CHANNEL_U8,  PTX_CHANNEL_S8,  PTX_CHANNEL_U16,
                                       PTX_CHANNEL_S16, PTX_CHANNEL_U32, PTX_CHANNEL_S32,
                                       PTX_CHANNEL_F16, PTX_CHANNEL_F32};
    static const uint8_t counts[] = {1, 2, 4};
    static const uint8_t block_counts[] = {4, 4, 4, 1, 1, 2, 2, 3, 3, 4};
    unsigned at = (unsigned)format - CU_RES_VIEW_FORMAT_UINT_1X8;
    unsigned block = (unsigned)format - CU_RES_VIEW_FORMAT_UNSIGNED_BC1;

    if (at < COUNT(channels) * COUNT(counts)) {
        *channel = (enum ptx_channel)channels[at / 3];
        *channel_count = counts[at % 3];
        return true;
    }
    if (block >= COUNT(block_counts))
        return false;
    *channel = (enum ptx_channel)(PTX_CHANNEL_BC1 + block);
    *channel_count = block_counts[block];
    return true;
}
