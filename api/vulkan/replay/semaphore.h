/* SPDX-License-Identifier: Apache-2.0
 *
 * Semaphores.
 */
#ifndef API_VULKAN_REPLAY_SEMAPHORE_H
#define API_VULKAN_REPLAY_SEMAPHORE_H

#include "api/vulkan/replay/common.h"

/* Its address is its number in struct vk_timelines. */
struct vkr_semaphore {
    bool is_timeline;
    bool is_signalled; /* a binary one */
    bool is_outside;   /* others signal it, or wait for it */
    bool is_window; /* a submit of ours signals it or waits for it, in place of a window's system */
    uint32_t more;  /* objects that it belongs to, but for one */
    uint64_t value; /* a timeline's: the highest that is signalled or under way */
};

/* Returns NULL if there is none. */
struct vkr_semaphore *vkr_semaphore_find(const struct vkr *r, VkSemaphore raw);
/* Ends one object's part of the semaphore; frees it with the last one. */
void vkr_semaphore_drop(struct vkr *r, struct vkr_semaphore *semaphore);
/* Notes that the semaphore was created with `value`, or set to it. */
int vkr_set_timeline(struct vkr *r, struct vkr_semaphore *s, uint64_t value);
/* Notes that the work sent to the queue signals the semaphore, or waits for it. */
int vkr_note_timeline(struct vkr *r, VkQueue queue, struct vkr_semaphore *s, uint64_t value);
int vkr_timeline_wait(struct vkr *r, VkQueue queue, const struct vkr_semaphore *s, uint64_t value);
/* Notes that a binary semaphore is signalled, or no more. */
void vkr_semaphore_note_binary(struct vkr *r, VkSemaphore raw, bool is_signalled);
/* Notes that a submit of ours signals it or waits for it, in place of a window's system. */
void vkr_semaphore_note_window(struct vkr *r, VkSemaphore raw);

/* Hooks, see carry_out.c. */
int vkr_create_semaphore(struct vkr_call *c);
int vkr_destroy_semaphore(struct vkr_call *c);
int vkr_signal_semaphore(struct vkr_call *c);

#endif
