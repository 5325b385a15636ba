/* SPDX-License-Identifier: Apache-2.0
 *
 * Types of memory, as recorded and here.
 */
#ifndef API_VULKAN_REPLAY_MEMORY_TYPE_H
#define API_VULKAN_REPLAY_MEMORY_TYPE_H

#include "api/vulkan/replay/device.h"

/* Returns a type here that is as good as one with `flags`, among `allowed`; -1: there is none. */
int vkr_memory_type(const VkPhysicalDeviceMemoryProperties *memory, VkMemoryPropertyFlags flags,
                    uint32_t allowed);
/* Replaces the recorded memory type by the one here that is as good. */
int vkr_memory_remap_type(const struct vkr_device *d, VkMemoryAllocateInfo *info);

#endif
