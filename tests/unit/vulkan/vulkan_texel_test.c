/* SPDX-License-Identifier: Apache-2.0
 *
 * Texels as pictures: one texel of each kind of format, and how many bytes blocks take.
 */
#include "api/vulkan/tables/texel.h"

#include "tests/unit/check.h"

#include <stdlib.h>

static const struct sample {
    VkFormat format;
    VkImageAspectFlags aspect;
    uint8_t texel[16];
    uint32_t channels, bits;
    uint16_t wanted[4];
    bool exact;
} samples[] = {
    {VK_FORMAT_R8_UNORM, 1, {0x12}, 1, 8, {0x12}, true},
    {VK_FORMAT_R8G8_UNORM, 1, {0x12, 0x34}, 3, 8, {0x12, 0x34, 0}, true},
    {VK_FORMAT_B8G8R8_SRGB, 1, {1, 2, 3}, 3, 8, {3, 2, 1}, true},
    {VK_FORMAT_B8G8R8A8_UNORM, 1, {1, 2, 3, 4}, 4, 8, {3, 2, 1, 4}, true},
    {VK_FORMAT_R8G8B8A8_SRGB, 1, {1, 2, 3, 4}, 4, 8, {1, 2, 3, 4}, true},
    {VK_FORMAT_R16_UNORM, 1, {0x34, 0x12}, 1, 16, {0x1234}, true},
    {VK_FORMAT_R16G16B16A16_UNORM,
     1,
     {1, 0, 2, 0, 3, 0, 0xff, 0xff},
     4,
     16,
     {1, 2, 3, 0xffff},
     true},
    /* red in the highest five bits, blue in the lowest */
    {VK_FORMAT_R5G6B5_UNORM_PACK16, 1, {0x00, 0xf8}, 3, 16, {0xffff, 0, 0}, true},
    {VK_FORMAT_B5G6R5_UNORM_PACK16, 1, {0x00, 0xf8}, 3, 16, {0, 0, 0xffff}, true},
    {VK_FORMAT_A1R5G5B5_UNORM_PACK16, 1, {0x1f, 0x80}, 4, 16, {0, 0, 0xffff, 0xffff}, true},
    {VK_FORMAT_A2B10G10R10_UNORM_PACK32,
     1,
     {0xff, 0x03, 0x00, 0xc0},
     4,
     16,
     {0xffff, 0, 0, 0xffff},
     true},
    {VK_FORMAT_A2R10G10B10_UNORM_PACK32,
     1,
     {0xff, 0x03, 0x00, 0x40},
     4,
     16,
     {0, 0, 0xffff, 0x5555},
     true},
    /* 1.0 in eleven bits (exponent 15), 0.5 in eleven, infinity in ten */
    {VK_FORMAT_B10G11R11_UFLOAT_PACK32,
     1,
     {0xc0, 0x03, 0x1c, 0xf8},
     3,
     16,
     {0xffff, 0x8000, 0xffff},
     false},
    {VK_FORMAT_R16_SFLOAT, 1, {0x00, 0x34}, 1, 16, {0x4000}, false},
    {VK_FORMAT_R16_SFLOAT, 1, {0x01, 0x00}, 1, 16, {0}, false},
    {VK_FORMAT_R16_SFLOAT, 1, {0x00, 0x7e}, 1, 16, {0}, false},
    {VK_FORMAT_R32_SFLOAT, 1, {0, 0, 0x80, 0x3e}, 1, 16, {0x4000}, false},
    {VK_FORMAT_R32_SFLOAT, 1, {0, 0, 0xc0, 0x7f}, 1, 16, {0}, false},
    {VK_FORMAT_D16_UNORM, 2, {0x34, 0x12}, 1, 16, {0x1234}, true},
    {VK_FORMAT_X8_D24_UNORM_PACK32, 2, {0x56, 0x34, 0x12, 0xff}, 1, 16, {0x1234}, false},
    {VK_FORMAT_D24_UNORM_S8_UINT, 4, {7}, 1, 8, {7}, true},
};

static uint16_t channel(const struct png_picture *p, uint32_t i)
{
    uint16_t value;

    if (p->bits == 8)
        return p->pixels[i];
    memcpy(&value, p->pixels + 2 * i, 2);
    return value;
}

static void check_sample(const struct sample *s)
{
    struct png_picture p;
    bool exact;

    if (!CHECK(vk_texels_picture(&p, &exact, s->format, s->aspect, s->texel, 1, 1)))
        return;
    CHECK_EQ_INT(p.channels, s->channels);
    CHECK_EQ_INT(p.bits, s->bits);
    CHECK_EQ_INT(exact, s->exact);
    for (uint32_t i = 0; i < p.channels && i < 4; i++)
        if (!CHECK_EQ_INT(channel(&p, i), s->wanted[i]))
            fprintf(stderr, "... format %d, channel %u\n", (int)s->format, i);
    free((void *)(uintptr_t)p.pixels);
}

static void check_block(VkFormat format, VkImageAspectFlags aspect, uint32_t bytes, uint32_t width)
{
    struct vk_block block;

    if (CHECK(vk_block_of(&block, format, aspect))) {
        CHECK_EQ_INT(block.bytes, bytes);
        CHECK_EQ_INT(block.width, width);
    }
}

int main(void)
{
    struct png_picture p;
    struct vk_block block;
    uint8_t texel[16] = {0};
    bool exact;

    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
        check_sample(&samples[i]);
    check_block(VK_FORMAT_R8_UINT, 1, 1, 1);
    check_block(VK_FORMAT_R32G32B32A32_SINT, 1, 16, 1);
    check_block(VK_FORMAT_A2B10G10R10_SINT_PACK32, 1, 4, 1);
    check_block(VK_FORMAT_R64G64B64A64_SFLOAT, 1, 32, 1);
    check_block(VK_FORMAT_BC1_RGBA_SRGB_BLOCK, 1, 8, 4);
    check_block(VK_FORMAT_BC7_SRGB_BLOCK, 1, 16, 4);
    check_block(VK_FORMAT_ASTC_12x10_SRGB_BLOCK, 1, 16, 12);
    check_block(VK_FORMAT_D32_SFLOAT_S8_UINT, 2, 4, 1);
    check_block(VK_FORMAT_D32_SFLOAT_S8_UINT, 4, 1, 1);
    CHECK(!vk_block_of(&block, VK_FORMAT_G8_B8_R8_3PLANE_420_UNORM, 1));
    CHECK(!vk_texels_picture(&p, &exact, VK_FORMAT_R8_UINT, 1, texel, 1, 1));
    CHECK(!vk_texels_picture(&p, &exact, VK_FORMAT_BC1_RGB_UNORM_BLOCK, 1, texel, 1, 1));
    CHECK_EQ_INT(vk_aspects_of(VK_FORMAT_D16_UNORM_S8_UINT), 6);
    CHECK_EQ_INT(vk_aspects_of(VK_FORMAT_R8_UNORM), 1);
    return check_result();
}
