/* SPDX-License-Identifier: Apache-2.0
 *
 * Presented images.
 */
#ifndef API_VULKAN_SOURCE_PRESENT_H
#define API_VULKAN_SOURCE_PRESENT_H

#include "api/vulkan/source/layer.h"

void vk_present_patch(struct vk_device_state *device);
void vk_present_device_destroyed(const struct vk_device_state *device);
/* In the child of a fork. */
void vk_present_forget(void);

#endif
