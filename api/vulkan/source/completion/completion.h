/* SPDX-License-Identifier: Apache-2.0
 *
 * Work that is known to be complete.
 */
#ifndef API_VULKAN_SOURCE_COMPLETION_COMPLETION_H
#define API_VULKAN_SOURCE_COMPLETION_COMPLETION_H

#include "api/vulkan/source/layer.h"

/* In the child of a fork. */
void vk_completion_forget(void);
/* Counts a submit before the device can begin it. */
void vk_completion_begin_send(struct vk_device_state *device);
/* Returns how many submits were begun, on all devices. */
uint64_t vk_completion_sends(void);
struct tsm_call;
struct vk_submit;
/* Notes that the call has sent work to the queue, and signals the fence; is_submit: it was counted
 * by vk_completion_begin_send(). Then what its batches wait for and signal. */
void vk_completion_sent(const struct tsm_call *call, VkQueue to, VkFence fence, bool is_submit);
void vk_completion_sent_batches(const struct tsm_call *call, const struct vk_submit *submit);
/* Notes that the device refused a submit that was counted. */
void vk_completion_not_sent(VkQueue to);
/* Notes that the fence is signalled, or that the semaphore has reached `value`. */
void vk_completion_reached(uint32_t type, uint64_t raw, uint64_t value);
/* Notes that all that was sent to the device is complete. */
void vk_completion_device_complete(struct vk_device_state *device);
void vk_completion_device_destroyed(struct vk_device_state *device);
/* Notes a new semaphore; signals and waits depend on its type. */
void vk_completion_semaphore_created(VkSemaphore semaphore, bool is_timeline);
struct tsm_stream;
/* Notes that the command, and all that was sent to its queue before, is complete. Caller has pulled
 * memory since. */
void vk_completion_complete(struct tsm_stream *stream, uint64_t position);

/* Tests whether all that was sent to the device is complete. Caller holds the lock of mapped
 * memory, so that no work is sent, and nothing is pulled, until it is done with what it found. */
struct vk_idle {
    uint32_t stream; /* the last command */
    uint64_t position;
    bool all; /* nothing is under way on other devices either */
};
bool vk_completion_idle(const struct vk_device_state *device, struct vk_idle *out);
/* Finds the last command, whether or not it is complete. Returns false if there was none. */
bool vk_completion_last(const struct vk_device_state *device, struct vk_idle *out);

/* Finds the batch that a fence or semaphore stands for, as a point of its queue, for sync files.
 * Returns false if none is known. *is_staged: it is signalled when some stages of the batch are
 * complete. */
struct tsm_sync_point;
bool vk_completion_point(uint32_t type, uint64_t raw, struct tsm_sync_point *out, bool *is_staged);
void vk_completion_stands_for(uint32_t type, uint64_t raw, const struct tsm_sync_point *point);
/* Notes that the program has learnt that the point is complete. Caller has pulled memory since.
 * Returns false if it had learnt so in the same way before. */
struct vk_learnt {
    struct vk_device_state *device;
    uint64_t position; /* of the command */
    uint32_t parts;    /* of it that are complete: batches; 0: all */
    bool is_exact;     /* else more parts are complete than it says */
};
bool vk_completion_learn(const struct tsm_sync_point *point, struct vk_learnt *out);

#endif
