/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams, and waiting for all that was sent to them.
 */
#ifndef API_VULKAN_REPLAY_STREAM_H
#define API_VULKAN_REPLAY_STREAM_H

#include "api/vulkan/replay/device.h"

struct vkr_stream {
    VkQueue queue;
    struct vkr_device *device; /* NULL: nothing was submitted yet, or the device is destroyed */
    uint64_t last_seq, last_position;
    const char *last_call;
};

/* Notes that the call submits to the queue, which is its stream's from now on. */
int vkr_stream_note_submit(struct vkr_call *c, VkQueue queue);
/* Describes the last submit of each stream, for messages; "" if there was none. */
void vkr_describe_last(const struct vkr *r, char *out, size_t size);
/* Returns TSM_E_DEVICE with the names of the call and the result, and the last submits. */
int vkr_fail_wait(const struct vkr *r, const char *call, VkResult result);
/* Tests whether work is under way that waits for what the host has yet to signal. */
bool vkr_is_gated(const struct vkr *r);
/* Forgets the queues of a device that is destroyed. */
void vkr_drop_queues(struct vkr *r, const struct vkr_device *device);
/* Wait for all that was sent, where it can end by itself. vkr_wait_wanted() only finds the queue
 * and vkr_wait_queue() waits for it, without the lock; callers of the others hold the lock. */
bool vkr_wait_wanted(const struct vkr *r, uint32_t stream, struct vkr_stream *out);
int vkr_wait_queue(const struct vkr *r, const struct vkr_stream *stream);
int vkr_wait_all(struct vkr *r);

#endif
