/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands of our own, and bytes of memory that the host cannot map.
 */
#ifndef API_VULKAN_REPLAY_MEMORY_COPY_H
#define API_VULKAN_REPLAY_MEMORY_COPY_H

#include "api/vulkan/replay/memory/memory.h"

/* Allocates coherent memory for a buffer to copy through, binds and maps it. On failure the caller
 * frees *memory if it is set. */
VkResult vkr_host_memory(struct vkr_device *device, VkBuffer buffer, VkDeviceMemory *memory,
                         uint8_t **mapped);
/* Begin commands of our own on the device's queue, after everything that was sent; end, send and
 * free them, and wait. */
VkResult vkr_commands_begin(struct vkr_device *device, VkCommandBuffer *out);
VkResult vkr_commands_run(struct vkr_device *device, VkCommandBuffer commands);
/* Copy between the host and memory that it cannot map. Wait for the copy. */
int vkr_copy_out(struct vkr_memory *m, uint64_t offset, void *out, uint64_t size);
int vkr_copy_in(struct vkr_memory *m, uint64_t offset, const void *data, uint64_t size);
/* Fills the memory, but for the last bytes of a size that is no multiple of 4. */
int vkr_copy_fill(struct vkr_memory *m, uint8_t value);
/* Creates the alias, by which copies reach the memory, where one is possible. */
void vkr_copy_prepare(struct vkr_memory *m);

#endif
