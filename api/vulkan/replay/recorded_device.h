/* SPDX-License-Identifier: Apache-2.0
 *
 * Devices of the recording.
 */
#ifndef API_VULKAN_REPLAY_RECORDED_DEVICE_H
#define API_VULKAN_REPLAY_RECORDED_DEVICE_H

#include "api/vulkan/replay/common.h"

/* Returns the trace's fact about a device, "vulkan.device.ID.NAME"; NULL: none. */
const char *vkr_recorded_fact(const struct vkr *r, uint64_t device, const char *name);
/* Tests whether `here` is the device, with the same version of its driver, that VkDevice `device`
 * was created on. */
bool vkr_is_recorded(const struct vkr *r, uint64_t device, const VkPhysicalDeviceProperties *here);
/* Returns the place among this machine's devices that stands for a recorded VkPhysicalDevice, as
 * vkr_choose_devices() chose. */
uint32_t vkr_physical_device_index(const struct vkr *r, uint64_t id);

#endif
