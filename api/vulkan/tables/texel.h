/* SPDX-License-Identifier: Apache-2.0
 *
 * Formats of images: how many bytes their texels take when they are copied into a buffer, and how
 * they become a picture for people.
 *
 * Source: Vulkan specification, "Format Definition", "Copying Data Between Buffers and Images".
 */
#ifndef API_VULKAN_TABLES_TEXEL_H
#define API_VULKAN_TABLES_TEXEL_H

#include "api/vulkan/tables/png_file.h"

#include <stdbool.h>
#include <vulkan/vulkan.h>

/* A block of texels (1 x 1 but for compressed formats). False: not known, or of several planes. */
struct vk_block {
    uint32_t bytes, width, height;
};
bool vk_block_of(struct vk_block *out, VkFormat format, VkImageAspectFlags aspect);

/* The aspects that can be copied, one after the other. */
VkImageAspectFlags vk_aspects_of(VkFormat format);

/* The texels of one layer of one level, without gaps, as a picture; *out has pixels of its own, to
 * be freed. False: no way is known, or no memory. `*exact`: the picture has all there is; false
 * where numbers were rounded or cut to 0..1. */
bool vk_texels_picture(struct png_picture *out, bool *exact, VkFormat format,
                       VkImageAspectFlags aspect, const uint8_t *texels, uint32_t width,
                       uint32_t height);

#endif
