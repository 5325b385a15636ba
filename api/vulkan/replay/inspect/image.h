/* SPDX-License-Identifier: Apache-2.0
 *
 * Texels of images, as bytes.
 */
#ifndef API_VULKAN_REPLAY_INSPECT_IMAGE_H
#define API_VULKAN_REPLAY_INSPECT_IMAGE_H

#include "api/vulkan/replay/device.h"

struct vkr_image {
    VkImage raw;
    VkFormat format;
    VkExtent3D extent;
    VkImageLayout layout; /* it is in, and in afterwards */
};

/* One level and layer, and one aspect of it, without gaps, into *out (to be freed); depth slices
 * follow each other. Waits for the copy. TSM_E_UNSUPPORTED: its format cannot be copied. */
int vkr_image_read(struct vkr_device *device, const struct vkr_image *image, uint32_t level,
                   uint32_t layer, VkImageAspectFlags aspect, uint8_t **out, uint64_t *size);
VkExtent3D vkr_level_extent(VkExtent3D extent, uint32_t level);

#endif
