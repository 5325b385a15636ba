/* SPDX-License-Identifier: Apache-2.0
 *
 * Queries that time a batch: two queries, and two command buffers that write them and copy the
 * results to where the host reads them. Used by time.c alone.
 */
#ifndef API_VULKAN_SOURCE_GPU_TIME_TIMESTAMP_POOL_H
#define API_VULKAN_SOURCE_GPU_TIME_TIMESTAMP_POOL_H

#include "api/vulkan/source/gpu_time/query_room.h"
#include "api/vulkan/source/layer.h"
#include "capture/capture.h"

struct vk_command_use;

enum vk_timestamp_slot_state {
    VK_TIMESTAMP_SLOT_FREE,
    VK_TIMESTAMP_SLOT_SENT,      /* its command is not known yet */
    VK_TIMESTAMP_SLOT_KNOWN,     /* under way */
    VK_TIMESTAMP_SLOT_ABANDONED, /* under way, of a command that was not recorded */
};

struct slot_group;

struct vk_timestamp_slot {
    struct slot_group *group;
    struct vk_timestamp_slot
        *next; /* of those that are under way, the oldest first; of those that are free */
    VkCommandBuffer first, last;     /* of the batch */
    VkCommandBuffer end, copy;       /* in place of the last: other copies go between */
    struct vk_command_use *uses;     /* of recordings whose commands are timed */
    struct vk_query_result *results; /* of its two queries, mapped; the device writes them */
    uint64_t position;
    uint32_t stream, part, query;
    enum vk_timestamp_slot_state state;
};

/* For batch `part` of what this thread is about to send to a queue of `family`, whose timestamps
 * have the bits of `mask`. NULL: it is not timed. */
struct vk_timestamp_slot *vk_timestamp_pool_take(struct vk_device_state *device, uint32_t family,
                                                 uint64_t mask, uint32_t part);

/* Ends the slots that this thread has taken: FREE, nothing was sent; KNOWN, by `call`;
 * ABANDONED. */
void vk_timestamp_pool_queue(enum vk_timestamp_slot_state state, const struct tsm_call *call);

void vk_timestamp_pool_device_destroyed(struct vk_device_state *device);
/* In the child of a fork. */
void vk_timestamp_pool_forget(void);

#endif
