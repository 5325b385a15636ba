/* SPDX-License-Identifier: Apache-2.0
 *
 * Timestamp queries of ours, command buffers that handle them, and mapped memory that their results
 * are copied into. The driver is never asked for results: some wait then for all that was sent to
 * the device, which may wait for the program.
 */
#ifndef API_VULKAN_SOURCE_GPU_TIME_QUERY_ROOM_H
#define API_VULKAN_SOURCE_GPU_TIME_QUERY_ROOM_H

#include "api/vulkan/source/layer.h"

/* Result as vkCmdCopyQueryPoolResults writes it. */
struct vk_query_result {
    uint64_t ticks, available;
};

#define VK_QUERY_NOT_YET UINT64_MAX /* ticks that were not written */

struct vk_query_room {
    struct vk_device_state *device; /* NULL: the room is free */
    uint32_t family;
    VkQueryPool queries;
    VkCommandPool commands;
    VkBuffer buffer;
    VkDeviceMemory memory;
    struct vk_query_result *results; /* of all queries, mapped */
};

/* Makes so many queries and command buffers for the queues of a family, into a zeroed room. Returns
 * false where the driver refuses; vk_query_room_free() then. */
bool vk_query_room_make(struct vk_query_room *room, struct vk_device_state *device, uint32_t family,
                        uint32_t query_count, VkCommandBuffer *list, uint32_t buffer_count);

/* Gives all back and zeroes the room. Nothing of it is under way. */
void vk_query_room_free(struct vk_query_room *room);

/* Records into `commands`: the results of these queries are copied when all are there. What is sent
 * behind it and copies as well does so later. */
void vk_query_room_copy(const struct vk_query_room *room, VkCommandBuffer commands, uint32_t first,
                        uint32_t count);
/* ... all that was copied so far can be read by the host when the command buffer is complete. */
void vk_query_room_show(const struct vk_query_room *room, VkCommandBuffer commands);

/* Returns how many bits of the timestamps of a family are valid, as a mask. 0: it cannot be timed,
 * or cannot reset queries, for which a queue must compute or draw. */
uint64_t vk_query_mask(const struct vk_device_state *device, uint32_t family);

#endif
