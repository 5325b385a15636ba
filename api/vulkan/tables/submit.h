/* SPDX-License-Identifier: Apache-2.0
 *
 * One view of all calls that submit to a queue: their batches, with command buffers and semaphores.
 * A call that submits in a new way is described in submit.c alone.
 */
#ifndef API_VULKAN_TABLES_SUBMIT_H
#define API_VULKAN_TABLES_SUBMIT_H

#include "api/vulkan/tables/headers.h"

#include <stdbool.h>

/* A call's arguments. Points into them: what is changed there is seen here. */
struct vk_submit {
    const void *infos; /* `count` of them */
    uint32_t count;
    uint32_t kind;
    VkQueue queue;
    VkFence fence;
};

struct vk_batch {
    const void *info;
    const VkTimelineSemaphoreSubmitInfo *values; /* NULL: none, or they are in the info */
    uint32_t kind;
    uint32_t buffer_count, wait_count, signal_count;
};

struct vk_batch_semaphore {
    VkSemaphore semaphore;
    uint64_t value; /* 0 of a binary one */
    VkPipelineStageFlags2 stages;
};

/* Tests whether calls of this record type carry out command buffers. */
bool vk_is_submit(uint32_t type);

/* Reads the arguments (struct vk_args_...) of a call that submits or binds sparse memory. Returns
 * false for other types: then there are no batches. */
bool vk_submit_of(struct vk_submit *out, uint32_t type, const void *args);

struct vk_batch vk_submit_batch(const struct vk_submit *submit, uint32_t i);
VkCommandBuffer vk_batch_buffer(const struct vk_batch *batch, uint32_t i);
struct vk_batch_semaphore vk_batch_wait(const struct vk_batch *batch, uint32_t i);
struct vk_batch_semaphore vk_batch_signal(const struct vk_batch *batch, uint32_t i);

/* Calls `visit` for each command buffer, in order, until it returns false, which is returned. */
bool vk_submit_each_buffer(const struct vk_submit *submit,
                           bool (*visit)(void *user, VkCommandBuffer buffer), void *user);

/* Returns the batches [from, to) alone, with another fence. */
struct vk_submit vk_submit_part(const struct vk_submit *submit, uint32_t from, uint32_t to,
                                VkFence fence);
/* Makes the arguments of a call be these batches and this fence; as in vk_submit_of(). */
void vk_submit_put(const struct vk_submit *submit, void *args);

/* Tests whether command buffers may be added to a batch with this chain: no struct in it goes with
 * their number, or with what they may do. */
bool vk_chain_allows_buffers(const void *chain);

/* Takes the command buffers out of all batches, in place. */
void vk_submit_empty(const struct vk_submit *submit);

#endif
