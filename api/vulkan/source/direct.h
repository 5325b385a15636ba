/* SPDX-License-Identifier: Apache-2.0
 *
 * A driver that is opened without the loader.
 */
#ifndef API_VULKAN_SOURCE_DIRECT_H
#define API_VULKAN_SOURCE_DIRECT_H

#include "api/vulkan/source/layer.h"

/* The driver's own function that the program was given ours for; NULL: none. */
PFN_vkGetInstanceProcAddr vk_direct_next(void);

/* dlsym() gave the program a driver's vk_icdGetInstanceProcAddr. Returns what it gets. */
void *vk_direct_found(void *address, const void *caller);

/* Writes our key at the begin of a dispatchable handle, as the loader does. */
void vk_direct_key(void *handle, const void *key);
void vk_direct_patch(struct vk_instance_state *instance);
void vk_direct_patch_device(struct vk_device_state *device);

#endif
