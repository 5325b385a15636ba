/* SPDX-License-Identifier: Apache-2.0
 *
 * Device memory at its recorded address.
 */
#ifndef API_VULKAN_REPLAY_MEMORY_FIXED_ADDRESS_H
#define API_VULKAN_REPLAY_MEMORY_FIXED_ADDRESS_H

#include "api/vulkan/replay/common.h"
#include "api/vulkan/replay/device.h"

struct vkr_fixed_addresses {
    struct tsm_map memories, offsets; /* buffer id -> memory id, offset there */
    struct tsm_map sizes, starts;     /* memory id -> bytes, recorded address */
    struct tsm_address_space ranges;
};

int vkr_fixed_address_plan(struct vkr *r, struct vkr_call *c);
int vkr_fixed_address_get(struct vkr *r, uint64_t buffer, uint64_t address);
/* Reserves the addresses, before the driver is opened. */
void vkr_fixed_address_take(struct vkr *r);
/* Releases them, because the driver chooses the addresses itself. */
void vkr_fixed_address_give_back(struct vkr *r);
void vkr_fixed_addresses_finish(struct vkr *r);
/* Tests whether there is memory to place, and the device is one that can place it. */
bool vkr_fixed_address_wanted(const struct vkr *r, const struct vk_instance_dispatch *instance,
                              VkPhysicalDevice physical);
/* Returns where memory with this id must lie; NULL: anywhere. */
void *vkr_fixed_address_of(const struct vkr *r, const struct vkr_device *device, uint64_t memory,
                           uint64_t size);

#endif
