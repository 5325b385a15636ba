/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses of buffers, which a driver can choose again.
 */
#ifndef API_VULKAN_SOURCE_MEMORY_ADDRESS_H
#define API_VULKAN_SOURCE_MEMORY_ADDRESS_H

#include "api/vulkan/source/layer.h"

struct vk_chain_room;
/* Changes *info so that addresses can be chosen again. Returns true if the device created with it
 * can. */
bool vk_address_device(const struct vk_instance_dispatch *instance, VkPhysicalDevice physical,
                       VkDeviceCreateInfo *info, struct vk_chain_room *room);
/* Before vk_memory_patch(). */
void vk_address_patch(struct vk_device_state *device);
struct vk_args_vkCreateBuffer;
/* A buffer was made, and is recorded. */
void vk_address_of_buffer(const struct vk_args_vkCreateBuffer *made);

#endif
