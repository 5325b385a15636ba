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
    struct vkr_queue queue; /* one of its queues: for windows and copies */
    VkCommandPool pool;     /* for copies; created at first use */
};

/* Asks the driver for the devices of the instance. */
void vkr_instance_list_devices(struct vkr_instance *instance);
/* Creates an instance of our own to see what is here, and finds the device that the user asks for.
 */
int vkr_devices_prepare(struct vkr *r);
void vkr_devices_finish(struct vkr *r);
/* Waits for all devices, then destroys what the trace left, newest first. (close.c) */
void vkr_close_all(struct vkr *r);
/* Destroy a device or instance that no object stands for any more. (device.c, instance.c) */
void vkr_device_close(struct vkr *r, struct vkr_device *device);
void vkr_instance_close(struct vkr_instance *instance);

/* Hooks, see carry_out.c. */
int vkr_create_instance(struct vkr_call *c);
int vkr_destroy_instance(struct vkr_call *c);
int vkr_create_device(struct vkr_call *c);
int vkr_destroy_device(struct vkr_call *c);
int vkr_enumerate_physical(struct vkr_call *c);
int vkr_get_queue(struct vkr_call *c);

#endif
