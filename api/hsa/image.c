/* SPDX-License-Identifier: Apache-2.0 */
#include "api/hsa/image.h"

#include "api/hsa/types.h"

static uint32_t channel_size(uint32_t type)
{
    switch (type) {
    case HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT8:
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8:
    case HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT8:
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT8:
        return 1;
    case HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT16:
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT16:
    case HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT16:
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT16:
    case HSA_EXT_IMAGE_CHANNEL_TYPE_HALF_FLOAT:
        return 2;
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT24:
    case HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT32:
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT32:
    case HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT:
        return 4;
    default:
        return 0;
    }
}

static uint32_t channel_count(uint32_t order)
{
    static const uint8_t counts[] = {
        [HSA_EXT_IMAGE_CHANNEL_ORDER_A] = 1,
        [HSA_EXT_IMAGE_CHANNEL_ORDER_R] = 1,
        [HSA_EXT_IMAGE_CHANNEL_ORDER_RX] = 1,
        [HSA_EXT_IMAGE_CHANNEL_ORDER_RG] = 2,
        [HSA_EXT_IMAGE_CHANNEL_ORDER_RGX] = 2,
        [HSA_EXT_IMAGE_CHANNEL_ORDER_RA] = 2,
        [HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA] = 4,
        [HSA_EXT_IMAGE_CHANNEL_ORDER_BGRA] = 4,
        [HSA_EXT_IMAGE_CHANNEL_ORDER_ARGB] = 4,
        [HSA_EXT_IMAGE_CHANNEL_ORDER_ABGR] = 4,
        [HSA_EXT_IMAGE_CHANNEL_ORDER_SRGBA] = 4,
        [HSA_EXT_IMAGE_CHANNEL_ORDER_SBGRA] = 4,
        [HSA_EXT_IMAGE_CHANNEL_ORDER_INTENSITY] = 1,
        [HSA_EXT_IMAGE_CHANNEL_ORDER_LUMINANCE] = 1,
        [HSA_EXT_IMAGE_CHANNEL_ORDER_DEPTH] = 1,
        [HSA_EXT_IMAGE_CHANNEL_ORDER_DEPTH_STENCIL] = 1,
    };

    return order < sizeof(counts) ? counts[order] : 0;
}

uint32_t hsa_image_pixel_size(uint32_t channel_type, uint32_t channel_order)
{
    /* All channels in one number. */
    if (channel_order == HSA_EXT_IMAGE_CHANNEL_ORDER_RGB ||
        channel_order == HSA_EXT_IMAGE_CHANNEL_ORDER_RGBX)
        return channel_type == HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_SHORT_101010 ? 4
               : channel_type == HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_SHORT_555 ||
                       channel_type == HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_SHORT_565
                   ? 2
                   : 0;
    return channel_size(channel_type) * channel_count(channel_order);
}
