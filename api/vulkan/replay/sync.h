/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams, semaphores, waits.
 */
#ifndef API_VULKAN_REPLAY_SYNC_H
#define API_VULKAN_REPLAY_SYNC_H

#include "api/vulkan/replay/common.h"
#include "api/vulkan/replay/device.h"

struct vkr_stream {
    VkQueue queue;
    struct vkr_device *device; /* NULL: nothing was submitted yet, or the device is destroyed */
    uint64_t last_seq, last_position;
    const char *last_call;
};

/* Its address is its number in struct vk_timelines. */
struct vkr_semaphore {
    bool is_timeline;
    bool is_signalled; /* a binary one */
    bool is_outside;   /* others signal it, or wait for it */
    bool is_window; /* a submit of ours signals it or waits for it, in place of a window's system */
    uint32_t more;  /* objects that it belongs to, beside one */
    uint64_t value; /* a timeline's: the highest that is signalled or under way */
};

void vkr_semaphore_drop(struct vkr *r, struct vkr_semaphore *semaphore);
int vkr_create_semaphore(struct vkr_call *c);
int vkr_destroy_semaphore(struct vkr_call *c);
int vkr_signal_semaphore(struct vkr_call *c);
int vkr_submit(struct vkr_call *c);
int vkr_bind_sparse(struct vkr_call *c);
/* Acquiring an image signals these; nobody else notes it. */
void vkr_note_acquired(struct vkr *r, VkSemaphore semaphore, VkFence fence);
/* Nothing but waiting, in place of a present. */
int vkr_submit_waits(struct vkr_call *c, VkQueue queue, uint32_t count,
                     const VkSemaphore *semaphores);
/* Notes that the work sent to the queue signals the semaphore. */
int vkr_note_timeline(struct vkr *r, VkQueue queue, struct vkr_semaphore *s, uint64_t value);
/* It was made with `value`, or set to it. */
int vkr_set_timeline(struct vkr *r, struct vkr_semaphore *s, uint64_t value);
/* Is work under way that waits for what the host has yet to signal? */
bool vkr_is_gated(const struct vkr *r);
/* Signals what work under way waits for, at the end of the recording (release.c). 1:
 * there was some. */
int vkr_unblock_waiters(struct vkr *r);
/* The device's queues are destroyed. */
void vkr_drop_queues(struct vkr *r, const struct vkr_device *device);
/* Wait for all that was sent, where it can end by itself; the lock is held. The first only says
 * (true) for which queue, as *out, and the second waits for that, which needs no lock. */
bool vkr_wait_wanted(const struct vkr *r, uint32_t stream, struct vkr_stream *out);
int vkr_wait_queue(const struct vkr *r, const struct vkr_stream *stream);
int vkr_wait_all(struct vkr *r);
/* Does sync() carry it out? Waits of the program, and polls that were answered with "done". */
bool vkr_owns_sync(const struct sbt_record *record);
int vkr_sync(struct vkr_call *c);
/* Polls that were answered with "done", as waits (poll.c). */
int vkr_poll_queries(struct vkr_call *c);
int vkr_poll_event(struct vkr_call *c);
/* COMPLETE records: the program knew that a command was complete (completed.c). */
int vkr_completed_plan(struct vkr *r, const struct sbt_record *record,
                       const struct sbt_schema *schema);
int vkr_completed_sent(struct vkr_call *c, VkQueue queue);
int vkr_completed_await(struct vkr *r, const struct sbt_record *record,
                        const struct sbt_schema *schema);
/* Nothing of the device is under way, and it is about to go. */
void vkr_completed_drop(struct vkr *r, const struct vkr_device *device);
void vkr_completed_finish(struct vkr *r);
/* The last submit of each stream, for messages. */
void vkr_describe_last(const struct vkr *r, char *out, size_t size);

#endif
