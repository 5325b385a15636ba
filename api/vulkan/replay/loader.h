/* SPDX-License-Identifier: Apache-2.0
 *
 * The Vulkan library: a loader, or a driver by itself.
 */
#ifndef API_VULKAN_REPLAY_LOADER_H
#define API_VULKAN_REPLAY_LOADER_H

#include "api/vulkan/replay/common.h"

struct vkr_loader {
    void *handle;
    PFN_vkGetInstanceProcAddr get;
    uint32_t version; /* of instances that it makes */
    char path[256];
};

/* Opens libvulkan.so.1, or the library that options.library names: a loader, or a driver by itself.
 */
int vkr_loader_open(struct vkr_loader *out, const char *path);
void vkr_loader_close(struct vkr_loader *loader);
/* Returns TSM_E_DEVICE, described by the names of the call and the result. */
int vkr_fail(const char *call, int64_t result);
const char *vkr_result_name(int64_t result);
/* Tests whether instances, or devices of `physical`, can have the extension. */
bool vkr_instance_has(const struct vkr_loader *loader, const char *name);
bool vkr_device_has(const struct vk_instance_dispatch *instance, VkPhysicalDevice physical,
                    const char *name);
bool vkr_has_layer(const struct vkr_loader *loader, const char *name);

#endif
