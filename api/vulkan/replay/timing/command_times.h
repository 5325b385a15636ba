/* SPDX-License-Identifier: Apache-2.0
 *
 * Command buffers with timestamps of ours in batches of submits: their queries are reset before and
 * copied behind the trace's command buffers, and results become times.
 */
#ifndef API_VULKAN_REPLAY_TIMING_COMMAND_TIMES_H
#define API_VULKAN_REPLAY_TIMING_COMMAND_TIMES_H

#include "api/vulkan/replay/timing/command_buffers.h"
#include "api/vulkan/tables/submit.h"

/* A recording that is under way with a batch. */
struct vkr_command_use {
    struct vkr_command_use *next;
    struct vkr_recording *recording;
    uint64_t sends;  /* of the recording, this one included */
    uint32_t buffer; /* place of the command buffer among those of the submit */
    uint32_t base;   /* of commands before it in that one */
};

/* Returns how many recordings with queries the batch carries out. */
uint32_t vkr_command_times_count(const struct vkr *r, const struct vk_batch *batch);

/* Tests whether results of the batch's recordings are still to be read: it will overwrite them. */
bool vkr_command_times_wait(const struct vkr *r, const struct vk_batch *batch);

/* Puts command buffers into `out`, and returns what is behind them. Resets are sent before the
 * command buffer, copies of results behind it. */
VkCommandBuffer *vkr_command_resets(const struct vkr *r, VkCommandBuffer commands,
                                    VkCommandBuffer *out);
VkCommandBuffer *vkr_command_copies(const struct vkr *r, VkCommandBuffer commands,
                                    VkCommandBuffer *out);

/* The command buffer is about to be sent with its copies. Adds what is under way then to the list.
 */
void vkr_command_uses_add(const struct vkr *r, struct vkr_command_use **list,
                          VkCommandBuffer commands, uint32_t buffer);
/* Calls `visit` for each command of the list whose two results are there. */
void vkr_command_uses_each(const struct vkr_command_use *list,
                           void (*visit)(void *user, const struct vkr_command_use *use,
                                         const struct vkr_timed_command *command,
                                         const struct vkr_time_result results[2]),
                           void *user);
/* Nothing of the list is under way any more. */
void vkr_command_uses_drop(struct vkr_command_use *list);

#endif
