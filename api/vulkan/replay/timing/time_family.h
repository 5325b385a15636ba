/* SPDX-License-Identifier: Apache-2.0
 *
 * Queries, command buffers and memory of ours for what is sent to the queues of one family of a
 * device. What is given back is used again; all of it goes with the device.
 */
#ifndef API_VULKAN_REPLAY_TIMING_TIME_FAMILY_H
#define API_VULKAN_REPLAY_TIMING_TIME_FAMILY_H

#include "api/vulkan/replay/device.h"

#define VKR_BLOCK_COMMANDS 64u

/* Result as vkCmdCopyQueryPoolResults writes it. */
struct vkr_time_result {
    uint64_t ticks, available;
};

/* A command inside of a command buffer that has a pair of queries. */
struct vkr_timed_command {
    uint64_t object;       /* id of its pipeline; 0: none, or not known */
    uint32_t number, type; /* number: in its command buffer, from 1; type: of its record */
};

struct vkr_query_block {
    struct vkr_query_block *next; /* of the same command buffer; of those that are free */
    VkQueryPool queries;          /* two for each command */
    uint32_t count;               /* of commands */
    struct vkr_timed_command commands[VKR_BLOCK_COMMANDS];
};

/* Memory for the results of a command buffer. */
struct vkr_result_room {
    struct vkr_result_room *next;
    VkBuffer buffer;
    VkDeviceMemory memory;
    struct vkr_time_result *results; /* `capacity` of them, mapped */
    uint32_t capacity;
    VkCommandBuffer copy; /* for what copies them there */
};

struct vkr_time_family {
    struct vkr_time_family *next;
    struct vkr_device *device;
    uint32_t family;
    bool is_lone; /* the device has one queue of the family */
    VkCommandPool commands;
    struct vkr_query_block *free_blocks;
    struct vkr_result_room *free_rooms;
    VkCommandBuffer *free_buffers;
    size_t free_buffer_count, free_buffer_capacity;
};

/* Returns the family, made where it is not there; NULL: the driver refuses, or there is no memory.
 */
struct vkr_time_family *vkr_time_family_of(struct vkr *r, struct vkr_device *device,
                                           uint32_t family);
/* Frees those of a device that goes. Nothing of them is under way or in use. */
void vkr_time_families_drop(struct vkr *r, const struct vkr_device *device);

/* Returns bits of a timestamp of the family that are valid; 0: it cannot be timed. */
uint64_t vkr_time_mask(const struct vkr_device *device, uint32_t family);

/* Take an empty block, a command buffer, or a room for so many results; NULL: there is none. */
struct vkr_query_block *vkr_query_block_take(struct vkr *r, struct vkr_time_family *f);
VkCommandBuffer vkr_own_buffer_take(struct vkr_time_family *f);
struct vkr_result_room *vkr_result_room_take(struct vkr_time_family *f, uint32_t count);
/* Give back a list of blocks, a command buffer (or none), a room (or none). */
void vkr_query_blocks_give(struct vkr_time_family *f, struct vkr_query_block *first);
void vkr_own_buffer_give(struct vkr_time_family *f, VkCommandBuffer commands);
void vkr_result_room_give(struct vkr_time_family *f, struct vkr_result_room *room);

#endif
