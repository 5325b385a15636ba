/* SPDX-License-Identifier: Apache-2.0
 *
 * Timestamps of ours around the commands of the trace's command buffers, while these are recorded
 * (struct tsm_replay_options, time_commands). A command's time is from when all before it was
 * complete to when it is, too, as the recorder has it (docs/vulkan.md, "GPU times").
 *
 * Not timed, because queries could be written twice without a reset between: secondary command
 * buffers that may be pending several times, and primary ones where there are two queues for that.
 */
#ifndef API_VULKAN_REPLAY_TIMING_COMMAND_BUFFERS_H
#define API_VULKAN_REPLAY_TIMING_COMMAND_BUFFERS_H

#include "api/vulkan/replay/timing/time_family.h"

/* A secondary command buffer as it was when it was executed. */
struct vkr_execution {
    struct vkr_execution *next; /* the one before it */
    struct vkr_recording *recording;
    uint32_t base; /* of commands before it, which have a number each */
};

/* Recording between two begins. It lives as long as the command buffer has not begun again,
 * another one executes it, or a batch with it is under way. */
struct vkr_recording {
    struct vkr_time_family *family; /* NULL: nothing in it is timed */
    struct vkr_query_block *blocks, *last;
    struct vkr_execution *executed;
    VkCommandBuffer reset;        /* resets its queries */
    struct vkr_result_room *room; /* its `copy` brings their results there; NULL: they are lost */
    uint64_t sends;               /* batches with it; results are those of the last */
    uint32_t under_way;           /* batches with it whose results were not read */
    uint32_t refs;
    uint32_t count;       /* commands that have a number, those of `executed` among them */
    uint32_t timed_count; /* recordings with queries: itself, those that it executes */
    uint32_t depth;       /* of `executed` within each other */
    bool is_ended;
};

/* A command that is being recorded. */
struct vkr_command_timing {
    struct vkr_recording *recording; /* NULL: it gets no time */
    struct vkr_timed_command command;
};

/* Called before a call is carried out. */
void vkr_command_begins(struct vkr_command_timing *timing, struct vkr_call *c);
/* ... and after it was, without an error. */
void vkr_command_ends(const struct vkr_command_timing *timing, struct vkr_call *c);

/* Returns what was recorded into a command buffer; NULL: nothing of it is known. */
struct vkr_recording *vkr_recording_of(const struct vkr *r, VkCommandBuffer commands);
/* Gives up a reference. */
void vkr_recording_drop(struct vkr_recording *recording);

#endif
