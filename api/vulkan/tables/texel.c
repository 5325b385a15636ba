/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vulkan/tables/texel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- sizes ------------------------------------------------------------------------------- */

/* Formats are numbered so that those of one size follow each other. */
static const struct {
    uint16_t first, last;
    uint8_t bytes, width, height;
} blocks[] = {
    {VK_FORMAT_R4G4_UNORM_PACK8, VK_FORMAT_R4G4_UNORM_PACK8, 1, 1, 1},
    {VK_FORMAT_R4G4B4A4_UNORM_PACK16, VK_FORMAT_A1R5G5B5_UNORM_PACK16, 2, 1, 1},
    {VK_FORMAT_R8_UNORM, VK_FORMAT_R8_SRGB, 1, 1, 1},
    {VK_FORMAT_R8G8_UNORM, VK_FORMAT_R8G8_SRGB, 2, 1, 1},
    {VK_FORMAT_R8G8B8_UNORM, VK_FORMAT_B8G8R8_SRGB, 3, 1, 1},
    {VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_A2B10G10R10_SINT_PACK32, 4, 1, 1},
    {VK_FORMAT_R16_UNORM, VK_FORMAT_R16_SFLOAT, 2, 1, 1},
    {VK_FORMAT_R16G16_UNORM, VK_FORMAT_R16G16_SFLOAT, 4, 1, 1},
    {VK_FORMAT_R16G16B16_UNORM, VK_FORMAT_R16G16B16_SFLOAT, 6, 1, 1},
    {VK_FORMAT_R16G16B16A16_UNORM, VK_FORMAT_R16G16B16A16_SFLOAT, 8, 1, 1},
    {VK_FORMAT_R32_UINT, VK_FORMAT_R32_SFLOAT, 4, 1, 1},
    {VK_FORMAT_R32G32_UINT, VK_FORMAT_R32G32_SFLOAT, 8, 1, 1},
    {VK_FORMAT_R32G32B32_UINT, VK_FORMAT_R32G32B32_SFLOAT, 12, 1, 1},
    {VK_FORMAT_R32G32B32A32_UINT, VK_FORMAT_R32G32B32A32_SFLOAT, 16, 1, 1},
    {VK_FORMAT_R64_UINT, VK_FORMAT_R64_SFLOAT, 8, 1, 1},
    {VK_FORMAT_R64G64_UINT, VK_FORMAT_R64G64_SFLOAT, 16, 1, 1},
    {VK_FORMAT_R64G64B64_UINT, VK_FORMAT_R64G64B64_SFLOAT, 24, 1, 1},
    {VK_FORMAT_R64G64B64A64_UINT, VK_FORMAT_R64G64B64A64_SFLOAT, 32, 1, 1},
    {VK_FORMAT_B10G11R11_UFLOAT_PACK32, VK_FORMAT_E5B9G9R9_UFLOAT_PACK32, 4, 1, 1},
    {VK_FORMAT_BC1_RGB_UNORM_BLOCK, VK_FORMAT_BC1_RGBA_SRGB_BLOCK, 8, 4, 4},
    {VK_FORMAT_BC2_UNORM_BLOCK, VK_FORMAT_BC3_SRGB_BLOCK, 16, 4, 4},
    {VK_FORMAT_BC4_UNORM_BLOCK, VK_FORMAT_BC4_SNORM_BLOCK, 8, 4, 4},
    {VK_FORMAT_BC5_UNORM_BLOCK, VK_FORMAT_BC7_SRGB_BLOCK, 16, 4, 4},
    {VK_FORMAT_ETC2_R8G8B8_UNORM_BLOCK, VK_FORMAT_ETC2_R8G8B8A1_SRGB_BLOCK, 8, 4, 4},
    {VK_FORMAT_ETC2_R8G8B8A8_UNORM_BLOCK, VK_FORMAT_ETC2_R8G8B8A8_SRGB_BLOCK, 16, 4, 4},
    {VK_FORMAT_EAC_R11_UNORM_BLOCK, VK_FORMAT_EAC_R11_SNORM_BLOCK, 8, 4, 4},
    {VK_FORMAT_EAC_R11G11_UNORM_BLOCK, VK_FORMAT_EAC_R11G11_SNORM_BLOCK, 16, 4, 4},
    {VK_FORMAT_ASTC_4x4_UNORM_BLOCK, VK_FORMAT_ASTC_4x4_SRGB_BLOCK, 16, 4, 4},
    {VK_FORMAT_ASTC_5x4_UNORM_BLOCK, VK_FORMAT_ASTC_5x4_SRGB_BLOCK, 16, 5, 4},
    {VK_FORMAT_ASTC_5x5_UNORM_BLOCK, VK_FORMAT_ASTC_5x5_SRGB_BLOCK, 16, 5, 5},
    {VK_FORMAT_ASTC_6x5_UNORM_BLOCK, VK_FORMAT_ASTC_6x5_SRGB_BLOCK, 16, 6, 5},
    {VK_FORMAT_ASTC_6x6_UNORM_BLOCK, VK_FORMAT_ASTC_6x6_SRGB_BLOCK, 16, 6, 6},
    {VK_FORMAT_ASTC_8x5_UNORM_BLOCK, VK_FORMAT_ASTC_8x5_SRGB_BLOCK, 16, 8, 5},
    {VK_FORMAT_ASTC_8x6_UNORM_BLOCK, VK_FORMAT_ASTC_8x6_SRGB_BLOCK, 16, 8, 6},
    {VK_FORMAT_ASTC_8x8_UNORM_BLOCK, VK_FORMAT_ASTC_8x8_SRGB_BLOCK, 16, 8, 8},
    {VK_FORMAT_ASTC_10x5_UNORM_BLOCK, VK_FORMAT_ASTC_10x5_SRGB_BLOCK, 16, 10, 5},
    {VK_FORMAT_ASTC_10x6_UNORM_BLOCK, VK_FORMAT_ASTC_10x6_SRGB_BLOCK, 16, 10, 6},
    {VK_FORMAT_ASTC_10x8_UNORM_BLOCK, VK_FORMAT_ASTC_10x8_SRGB_BLOCK, 16, 10, 8},
    {VK_FORMAT_ASTC_10x10_UNORM_BLOCK, VK_FORMAT_ASTC_10x10_SRGB_BLOCK, 16, 10, 10},
    {VK_FORMAT_ASTC_12x10_UNORM_BLOCK, VK_FORMAT_ASTC_12x10_SRGB_BLOCK, 16, 12, 10},
    {VK_FORMAT_ASTC_12x12_UNORM_BLOCK, VK_FORMAT_ASTC_12x12_SRGB_BLOCK, 16, 12, 12},
};

VkImageAspectFlags vk_aspects_of(VkFormat format)
{
    switch (format) {
    case VK_FORMAT_D16_UNORM:
    case VK_FORMAT_X8_D24_UNORM_PACK32:
    case VK_FORMAT_D32_SFLOAT:
        return VK_IMAGE_ASPECT_DEPTH_BIT;
    case VK_FORMAT_S8_UINT:
        return VK_IMAGE_ASPECT_STENCIL_BIT;
    case VK_FORMAT_D16_UNORM_S8_UINT:
    case VK_FORMAT_D24_UNORM_S8_UINT:
    case VK_FORMAT_D32_SFLOAT_S8_UINT:
        return VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT;
    default:
        return VK_IMAGE_ASPECT_COLOR_BIT;
    }
}

bool vk_block_of(struct vk_block *out, VkFormat format, VkImageAspectFlags aspect)
{
    if (aspect == VK_IMAGE_ASPECT_STENCIL_BIT) {
        *out = (struct vk_block){1, 1, 1};
        return true;
    }
    if (aspect == VK_IMAGE_ASPECT_DEPTH_BIT) {
        bool is_16 = format == VK_FORMAT_D16_UNORM || format == VK_FORMAT_D16_UNORM_S8_UINT;
        *out = (struct vk_block){is_16 ? 2 : 4, 1, 1};
        return true;
    }
    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
        if (format >= (VkFormat)blocks[i].first && format <= (VkFormat)blocks[i].last) {
            *out = (struct vk_block){blocks[i].bytes, blocks[i].width, blocks[i].height};
            return true;
        }
    return false;
}

/* ---- channels ---------------------------------------------------------------------------- */

enum coding {
    CODING_U8,
    CODING_U16,
    CODING_F16,
    CODING_F32,
    CODING_PACKED, /* in one word, fields of `bits` from the lowest bit on */
    CODING_D24,
    CODING_FLOAT_11,
};

struct texel {
    VkFormat format;
    enum coding coding;
    uint8_t bytes, channels; /* of a texel; in it */
    bool is_blue_first;      /* BGR: red is the third */
    uint8_t bits[4];
};

static const struct texel texels[] = {
    {VK_FORMAT_R8_UNORM, CODING_U8, 1, 1, false, {0}},
    {VK_FORMAT_R8_SRGB, CODING_U8, 1, 1, false, {0}},
    {VK_FORMAT_R8G8_UNORM, CODING_U8, 2, 2, false, {0}},
    {VK_FORMAT_R8G8_SRGB, CODING_U8, 2, 2, false, {0}},
    {VK_FORMAT_R8G8B8_UNORM, CODING_U8, 3, 3, false, {0}},
    {VK_FORMAT_R8G8B8_SRGB, CODING_U8, 3, 3, false, {0}},
    {VK_FORMAT_B8G8R8_UNORM, CODING_U8, 3, 3, true, {0}},
    {VK_FORMAT_B8G8R8_SRGB, CODING_U8, 3, 3, true, {0}},
    {VK_FORMAT_R8G8B8A8_UNORM, CODING_U8, 4, 4, false, {0}},
    {VK_FORMAT_R8G8B8A8_SRGB, CODING_U8, 4, 4, false, {0}},
    {VK_FORMAT_B8G8R8A8_UNORM, CODING_U8, 4, 4, true, {0}},
    {VK_FORMAT_B8G8R8A8_SRGB, CODING_U8, 4, 4, true, {0}},
    {VK_FORMAT_A8B8G8R8_UNORM_PACK32, CODING_U8, 4, 4, false, {0}},
    {VK_FORMAT_A8B8G8R8_SRGB_PACK32, CODING_U8, 4, 4, false, {0}},
    {VK_FORMAT_R16_UNORM, CODING_U16, 2, 1, false, {0}},
    {VK_FORMAT_R16G16_UNORM, CODING_U16, 4, 2, false, {0}},
    {VK_FORMAT_R16G16B16_UNORM, CODING_U16, 6, 3, false, {0}},
    {VK_FORMAT_R16G16B16A16_UNORM, CODING_U16, 8, 4, false, {0}},
    {VK_FORMAT_R16_SFLOAT, CODING_F16, 2, 1, false, {0}},
    {VK_FORMAT_R16G16_SFLOAT, CODING_F16, 4, 2, false, {0}},
    {VK_FORMAT_R16G16B16_SFLOAT, CODING_F16, 6, 3, false, {0}},
    {VK_FORMAT_R16G16B16A16_SFLOAT, CODING_F16, 8, 4, false, {0}},
    {VK_FORMAT_R32_SFLOAT, CODING_F32, 4, 1, false, {0}},
    {VK_FORMAT_R32G32_SFLOAT, CODING_F32, 8, 2, false, {0}},
    {VK_FORMAT_R32G32B32_SFLOAT, CODING_F32, 12, 3, false, {0}},
    {VK_FORMAT_R32G32B32A32_SFLOAT, CODING_F32, 16, 4, false, {0}},
    {VK_FORMAT_R5G6B5_UNORM_PACK16, CODING_PACKED, 2, 3, true, {5, 6, 5}},
    {VK_FORMAT_B5G6R5_UNORM_PACK16, CODING_PACKED, 2, 3, false, {5, 6, 5}},
    {VK_FORMAT_A1R5G5B5_UNORM_PACK16, CODING_PACKED, 2, 4, true, {5, 5, 5, 1}},
    {VK_FORMAT_A2B10G10R10_UNORM_PACK32, CODING_PACKED, 4, 4, false, {10, 10, 10, 2}},
    {VK_FORMAT_A2R10G10B10_UNORM_PACK32, CODING_PACKED, 4, 4, true, {10, 10, 10, 2}},
    {VK_FORMAT_B10G11R11_UFLOAT_PACK32, CODING_FLOAT_11, 4, 3, false, {11, 11, 10}},
};

static const struct texel depths[] = {
    {VK_FORMAT_D16_UNORM, CODING_U16, 2, 1, false, {0}},
    {VK_FORMAT_D16_UNORM_S8_UINT, CODING_U16, 2, 1, false, {0}},
    {VK_FORMAT_X8_D24_UNORM_PACK32, CODING_D24, 4, 1, false, {0}},
    {VK_FORMAT_D24_UNORM_S8_UINT, CODING_D24, 4, 1, false, {0}},
    {VK_FORMAT_D32_SFLOAT, CODING_F32, 4, 1, false, {0}},
    {VK_FORMAT_D32_SFLOAT_S8_UINT, CODING_F32, 4, 1, false, {0}},
};
static const struct texel stencil = {VK_FORMAT_S8_UINT, CODING_U8, 1, 1, false, {0}};

static const struct texel *find(VkFormat format, VkImageAspectFlags aspect)
{
    bool is_depth = aspect == VK_IMAGE_ASPECT_DEPTH_BIT;
    const struct texel *list = is_depth ? depths : texels;
    size_t count =
        is_depth ? sizeof(depths) / sizeof(depths[0]) : sizeof(texels) / sizeof(texels[0]);

    if (aspect == VK_IMAGE_ASPECT_STENCIL_BIT)
        return &stencil;
    for (size_t i = 0; i < count; i++)
        if (list[i].format == format)
            return &list[i];
    return NULL;
}

/* A number of `mantissa` bits below an exponent of 5 and, if it has one, a sign. */
static float small_float(uint32_t value, uint32_t mantissa, bool has_sign)
{
    uint32_t exponent = value >> mantissa & 31, fraction = value & ((1u << mantissa) - 1);
    float sign = has_sign && value >> (mantissa + 5) & 1 ? -1.0f : 1.0f;
    float one = (float)(1u << mantissa);

    if (exponent == 31)
        return fraction ? 0.0f : sign * INFINITY;
    if (!exponent)
        return sign * ldexpf((float)fraction / one, -14);
    return sign * ldexpf(1.0f + (float)fraction / one, (int)exponent - 15);
}

static uint16_t from_float(float value)
{
    if (!(value > 0.0f))
        return 0;
    return value >= 1.0f ? 0xffff : (uint16_t)(value * 65535.0f + 0.5f);
}

static uint32_t load(const uint8_t *at, uint32_t bytes)
{
    uint32_t value = 0;

    memcpy(&value, at, bytes);
    return value;
}

/* Channel `c` of a texel as a number of 16 bits. */
static uint16_t channel(const struct texel *t, const uint8_t *at, uint32_t c)
{
    uint32_t word = load(at, t->bytes < 4 ? t->bytes : 4), shift = 0, whole;
    float value;

    switch (t->coding) {
    case CODING_U8:
        return (uint16_t)(at[c] * 257u);
    case CODING_U16:
        return (uint16_t)load(at + 2 * c, 2);
    case CODING_F16:
        return from_float(small_float(load(at + 2 * c, 2), 10, true));
    case CODING_F32:
        memcpy(&value, at + 4 * c, 4);
        return from_float(value);
    case CODING_D24:
        return (uint16_t)(word >> 8);
    default:
        break;
    }
    for (uint32_t i = 0; i < c; i++)
        shift += t->bits[i];
    whole = (1u << t->bits[c]) - 1;
    if (t->coding == CODING_FLOAT_11)
        return from_float(small_float(word >> shift & whole, t->bits[c] - 5u, false));
    return (uint16_t)(((word >> shift & whole) * 65535u + whole / 2) / whole);
}

static void put(const struct png_picture *p, uint8_t *pixels, size_t i, uint32_t c, uint16_t value)
{
    size_t at = i * p->channels + c;

    if (p->bits == 16)
        memcpy(pixels + 2 * at, &value, 2);
    else
        pixels[at] = (uint8_t)(value >> 8);
}

bool vk_texels_picture(struct png_picture *out, bool *exact, VkFormat format,
                       VkImageAspectFlags aspect, const uint8_t *data, uint32_t width,
                       uint32_t height)
{
    const struct texel *t = find(format, aspect);
    size_t count = (size_t)width * height;
    uint8_t *pixels;

    if (!t || !count)
        return false;
    *out = (struct png_picture){width, height, t->channels == 2 ? 3 : t->channels,
                                t->coding == CODING_U8 ? 8 : 16, NULL};
    *exact = t->coding <= CODING_U16 || t->coding == CODING_PACKED;
    pixels = calloc(count, (size_t)out->channels * out->bits / 8);
    if (!pixels)
        return false;
    for (size_t i = 0; i < count; i++)
        for (uint32_t c = 0; c < t->channels; c++)
            put(out, pixels, i, t->is_blue_first && c < 3 ? 2 - c : c,
                channel(t, data + i * t->bytes, c));
    out->pixels = pixels;
    return true;
}
