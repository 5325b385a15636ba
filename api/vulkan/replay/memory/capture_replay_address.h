/* SPDX-License-Identifier: Apache-2.0
 *
 * Opaque addresses that a driver gives again.
 */
#ifndef API_VULKAN_REPLAY_MEMORY_CAPTURE_REPLAY_ADDRESS_H
#define API_VULKAN_REPLAY_MEMORY_CAPTURE_REPLAY_ADDRESS_H

#include "api/vulkan/replay/common.h"

struct vkr_capture_replay_address {
    struct tsm_map buffers, memories; /* id -> what the driver said */
};

int vkr_capture_replay_address_plan(struct vkr *r, struct vkr_call *c);
/* Tests whether the device can choose addresses again; then *info (its chain) asks for that. */
bool vkr_capture_replay_address_wanted(const struct vkr *r,
                                       const struct vk_instance_dispatch *instance,
                                       VkPhysicalDevice physical, const VkDeviceCreateInfo *info);
int vkr_capture_replay_address_buffer(struct vkr_call *c, VkBufferCreateInfo *info);
/* Asks for the recorded addresses of the memory's buffers. Returns true if the memory will have
 * them. */
bool vkr_capture_replay_address_memory(struct vkr_call *c, VkMemoryAllocateInfo *info);
void vkr_capture_replay_address_finish(struct vkr *r);

#endif
