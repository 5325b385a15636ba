/* SPDX-License-Identifier: Apache-2.0
 *
 * Instances, devices, queues.
 */
#ifndef API_VULKAN_REPLAY_DEVICE_H
#define API_VULKAN_REPLAY_DEVICE_H

#include "api/vulkan/replay/common.h"

struct vkr_instance {
    struct vk_instance_dispatch dispatch;
    VkPhysicalDevice physicals[VKR_PHYSICAL_MAX];
    uint32_t physical_count;
    VkDebugUtilsMessengerEXT messenger;
};

struct vkr_queue {
    VkQueue raw;
    uint32_t family;
};

struct vkr_device {
    struct vk_device_dispatch dispatch;
    struct vkr_instance *instance;
    VkPhysicalDeviceMemoryProperties memory;
    VkPhysicalDeviceLimits limits;
    uint64_t id;
    bool is_recorded; /* the device and driver version of the recording: what it took, it takes */
    bool can_place;   /* memory at chosen addresses */
    bool can_choose;  /* the driver chooses addresses again */
    uint32_t recorded_type_count; /* 0: not in the trace */
    VkMemoryPropertyFlags recorded_types[VK_MAX_MEMORY_TYPES];
    struct vkr_queue queue; /* one of its queues: for what windows and copies need */
    VkCommandPool pool;     /* for copies; made at first use */
};

/* Make an instance of our own to see what is here; choose the device, check what the trace needs.
 */
int vkr_devices_prepare(struct vkr *r);
/* Returns the trace's fact about a device, "vulkan.device.ID.NAME"; NULL: none. */
const char *vkr_recorded_fact(const struct vkr *r, uint64_t device, const char *name);
/* Is it the device, with the same version of its driver, that the trace says VkDevice `device` was
 * of? */
bool vkr_is_recorded(const struct vkr *r, uint64_t device, const VkPhysicalDeviceProperties *here);
void vkr_devices_finish(struct vkr *r);

#endif
