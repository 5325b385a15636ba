/* SPDX-License-Identifier: Apache-2.0
 *
 * Knows the program's command buffers where their commands are timed
 * (TS_GPU_TIME=commands): which family of queues they are for, what was recorded into them since
 * they began, and which queries of ours are among that.
 */
#ifndef API_VULKAN_SOURCE_GPU_TIME_COMMAND_BUFFER_H
#define API_VULKAN_SOURCE_GPU_TIME_COMMAND_BUFFER_H

#include "api/vulkan/source/gpu_time/command_block.h"
#include "capture/lock.h"

/* Kinds of pipelines that a command buffer has bound. */
enum vk_timed_bind_point {
    VK_TIMED_GRAPHICS,
    VK_TIMED_COMPUTE,
    VK_TIMED_RAYS,
    VK_TIMED_NONE, /* the command uses none */
};

struct vk_recording;

/* A secondary command buffer as it was when it was executed. */
struct vk_execution {
    struct vk_execution *next; /* the one before it */
    struct vk_recording *recording;
    uint32_t base; /* of commands before it, which have a number each */
};

/* Recording between two begins. It lives as long as the command buffer has not begun again,
 * another one executes it, or work with it is under way. Changed by the thread that records; of
 * that which others see, under vk_commands_lock. */
struct vk_recording {
    struct vk_recording *next_free;
    struct vk_command_block *blocks, *last;
    struct vk_execution *executed;
    uint32_t refs;
    uint32_t count;       /* commands that have a number, those of `executed` among them */
    uint32_t timed_count; /* recordings with queries: itself, those that it executes */
    bool is_timed;        /* queries may be written into it */
    /* State of work that was sent: */
    uint32_t under_way;
    bool is_torn;   /* two queues write the queries at once */
    uint64_t sends; /* results are those of the last */
    VkQueue queue;  /* ... to which it was sent */
};

struct vk_timed_pool;

struct vk_timed_buffer {
    VkCommandBuffer handle;
    struct vk_timed_buffer *next; /* of those with the same hash; of those that are free */
    struct vk_timed_buffer *next_in_pool;
    struct vk_timed_pool *pool;
    struct vk_recording *recording;  /* NULL: it has not begun, or that was not recorded */
    uint64_t objects[VK_TIMED_NONE]; /* ids of what is bound; 0: none */
    bool is_secondary;
    bool in_multiview; /* it is in a render pass in which a timestamp takes several queries */
};

extern struct tsm_lock vk_commands_lock;

/* Returns NULL for one that is not known. */
struct vk_timed_buffer *vk_timed_buffer_find(VkCommandBuffer handle);
/* Returns an empty block for commands of this one. NULL: no time for them. */
struct vk_command_block *vk_timed_buffer_block(struct vk_timed_buffer *buffer);

/* Gives up a reference; under the lock. */
void vk_recording_drop(struct vk_recording *recording);

/* Puts functions of ours in front of those that make, record and end command buffers. */
void vk_timed_buffers_patch(struct vk_device_state *device);
void vk_timed_buffers_device_destroyed(const struct vk_device_state *device);
/* In the child of a fork. */
void vk_timed_buffers_forget(void);

#endif
