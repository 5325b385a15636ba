/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands of ours on a queue of the program, and a buffer that the host can read what they have
 * copied from. The caller has the right to use the queue.
 */
#ifndef API_VULKAN_SOURCE_MEMORY_STAGE_H
#define API_VULKAN_SOURCE_MEMORY_STAGE_H

#include "api/vulkan/source/layer.h"

#define VK_STAGE_WAITS_MAX 16u

/* Zeroed, but for the first two. */
struct vk_stage {
    const struct vk_device_state *d;
    VkDevice device;
    VkBuffer buffer; /* to copy to */
    VkDeviceMemory memory;
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkFence fence;
    void *mapped; /* what was copied, after wait */
};

/* For a queue of this family. False: finish it all the same. */
bool vk_stage_make(struct vk_stage *s, uint64_t size, uint32_t family);
void vk_stage_finish(const struct vk_stage *s);

/* All that was sent to the queue before comes before what is recorded between these, and that
 * before all that is sent later. */
bool vk_stage_begin(const struct vk_stage *s);
bool vk_stage_end(const struct vk_stage *s);

/* The commands wait for the semaphores, at most VK_STAGE_WAITS_MAX, and signal them again. */
bool vk_stage_send(const struct vk_stage *s, VkQueue queue, uint32_t count,
                   const VkSemaphore *semaphores);
/* Waits for the copies. Returns false if they are not done in time. */
bool vk_stage_wait(const struct vk_stage *s, uint64_t ns);

#endif
