/* SPDX-License-Identifier: Apache-2.0
 *
 * TS_GPU_TIME: when the device carried out each batch of a submit, as GPU_TIME records
 * (docs/FORMAT.md 10). Timestamps are written by command buffers of our own, submitted with the
 * program's as the first and the last of a batch.
 *
 * Like all of the source this runs inside the traced program, by the rules of capture/capture.h.
 */
#ifndef API_VULKAN_SOURCE_GPU_TIME_TIME_H
#define API_VULKAN_SOURCE_GPU_TIME_TIME_H

#include "api/vulkan/source/layer.h"
#include "capture/capture.h"

/* Adds the extension that reads a device's clock to `info`, where the driver has it and the program
 * has not asked for it. Called before the device is created; `more` holds the longer list. */
#define VK_TIME_NAMES_MAX 256u
struct vk_time_names {
    const char *list[VK_TIME_NAMES_MAX + 1];
};
void vk_time_extend(const struct vk_instance_state *instance, VkPhysicalDevice physical,
                    VkDeviceCreateInfo *info, struct vk_time_names *more);

/* Outside of a call, before the device is destroyed: what is complete is recorded, ours is given
 * back. */
void vk_time_device_destroyed(struct vk_device_state *device);
/* In the child of a fork. */
void vk_time_forget(void);

/* Puts functions of ours in front of those that give queues: which family they are of. */
void vk_time_patch(struct vk_device_state *device);

/* In the place of the next layer's vkQueueSubmit and vkQueueSubmit2. */
VkResult vk_time_submit(VkQueue queue, uint32_t count, const VkSubmitInfo *submits, VkFence fence);
VkResult vk_time_submit2(VkQueue queue, uint32_t count, const VkSubmitInfo2 *submits, VkFence fence,
                         PFN_vkQueueSubmit2 next);

/* The submit that this thread has just sent is this command. After commit. */
void vk_time_sent(const struct tsm_call *call);
/* Record what has become known: all, or (cheaper) some of the oldest. Outside of a call. */
void vk_time_collect(void);
void vk_time_collect_some(void);

#endif
