/* SPDX-License-Identifier: Apache-2.0
 *
 * TS_GPU_TIME=commands: when the device carried out each command inside of a command buffer. A
 * timestamp of ours is recorded before it and one behind it, both at the bottom of the pipe: a
 * command's time is from when all before it was complete to when it is, too, so that times of one
 * queue do not overlap. Batches reset the queries before, and copy their results behind, the
 * program's command buffers.
 */
#ifndef API_VULKAN_SOURCE_GPU_TIME_COMMAND_TIME_H
#define API_VULKAN_SOURCE_GPU_TIME_COMMAND_TIME_H

#include "api/vulkan/source/gpu_time/command_buffer.h"

/* A command that is being recorded. */
struct vk_timed_command {
    struct vk_command_block *block; /* NULL: it gets no time */
    VkCommandBuffer commands;
    struct vk_block_command command;
};

/* Called around the next layer's function. `type`: of its record. */
void vk_command_begins(struct vk_timed_command *timed, VkCommandBuffer commands, uint32_t type,
                       enum vk_timed_bind_point point);
void vk_command_ends(const struct vk_timed_command *timed);

/* Puts functions that call these in the place of all that are work of their own
 * (vulkan_timed.c). */
void vk_timed_patch(struct vk_device_functions *f);

/* ---- submits -------------------------------------------------------------------------------- */

/* A recording that is under way with a batch. */
struct vk_command_use {
    struct vk_command_use *next;
    struct vk_recording *recording;
    uint64_t sends;  /* of the recording, this one included */
    uint32_t buffer; /* place of the command buffer among those of the submit */
    uint32_t base;   /* of commands before it in that one */
};

/* Returns how many recordings with queries are carried out with the command buffer. */
uint32_t vk_commands_count(VkCommandBuffer commands);
/* Puts as many command buffers into `out`, and returns what is behind them: resets are to be sent
 * before the command buffer, copies of results behind it. */
VkCommandBuffer *vk_commands_resets(VkCommandBuffer commands, VkCommandBuffer *out);
VkCommandBuffer *vk_commands_copies(VkCommandBuffer commands, VkCommandBuffer *out);

/* The command buffer is about to be sent. Adds what is under way then to the list. Results that
 * were not read before are lost; vk_commands_wait() says whether there are any. */
void vk_commands_use(struct vk_command_use **list, VkQueue queue, VkCommandBuffer commands,
                     uint32_t buffer);
/* ... without copies. */
void vk_commands_lose(VkCommandBuffer commands);
/* Tests whether results of the command buffer may be there, or come. */
bool vk_commands_wait(VkCommandBuffer commands);

/* Facts about a batch, for records. */
struct vk_command_batch {
    struct vk_device_state *device;
    uint64_t mask; /* valid bits of timestamps */
    uint64_t position;
    uint32_t stream, part;
};

/* All of the list is complete: writes records. Returns the sum of the times. */
uint64_t vk_commands_record(const struct vk_command_use *list,
                            const struct vk_command_batch *batch);
/* Nothing of the list is under way any more. */
void vk_commands_done(struct vk_command_use *list);

/* In the child of a fork. */
void vk_commands_forget(void);

#endif
