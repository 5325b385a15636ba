/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of queries that time commands inside of command buffers: a command buffer takes as many as
 * it needs. Blocks are of no command buffer for ever, so that their number is bounded.
 */
#ifndef API_VULKAN_SOURCE_GPU_TIME_COMMAND_BLOCK_H
#define API_VULKAN_SOURCE_GPU_TIME_COMMAND_BLOCK_H

#include "api/vulkan/source/gpu_time/query_room.h"

#define VK_BLOCK_COMMANDS 64u /* two queries each */

struct vk_block_group;

struct vk_block_command {
    uint64_t object; /* the pipeline's id; 0: none, or not known */
    uint32_t number; /* in its command buffer, from 1 */
    uint32_t type;   /* of its record */
};

struct vk_command_block {
    const struct vk_query_room *room;
    struct vk_block_group *group;
    struct vk_command_block *next; /* of the same command buffer; of those that are free */
    VkCommandBuffer reset, copy;   /* of all blocks from this one on: see vk_blocks_close() */
    uint32_t query;                /* its first one */
    uint32_t count;                /* of commands in it */
    struct vk_block_command commands[VK_BLOCK_COMMANDS];
};

/* The caller keeps others away from all of these. */

/* Takes an empty block. NULL: there are too many, or the driver refuses. */
struct vk_command_block *vk_block_take(struct vk_device_state *device, uint32_t family);
/* Gives back the list of blocks, of which nothing is under way. */
void vk_blocks_give(struct vk_command_block *first);

/* Records what resets the queries of the list, and what copies their results, into the first
 * block's command buffers. Returns false where the driver refuses. */
bool vk_blocks_close(struct vk_command_block *first);

void vk_blocks_device_destroyed(const struct vk_device_state *device);
/* In the child of a fork. */
void vk_blocks_forget(void);

#endif
