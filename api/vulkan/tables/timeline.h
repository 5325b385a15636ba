/* SPDX-License-Identifier: Apache-2.0
 *
 * Which queues can end what they were sent, by what is known of timeline semaphores: each queue is a
 * list of waits and signals, carried out in order as far as the waits are met, by the host's signals and
 * by those of queues that get there. A submit's waits come before its signals, and both after those of
 * the submit before it: a batch needs nothing more.
 *
 * Semaphores and queues are numbers of the caller's (handles, addresses), never 0. A semaphore that
 * was not set is none that is followed: whoever waits for it is taken to go on. Binary ones are such: a
 * submit may wait for one only when all that its signal depends on was sent.
 *
 * One thread at a time. False: no memory, and what was to be noted is not.
 */
#ifndef API_VULKAN_TABLES_TIMELINE_H
#define API_VULKAN_TABLES_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A zeroed struct is empty. */
struct vk_timelines {
    struct vk_timeline_value {
        uint64_t semaphore, reached;
    } * values; /* programs have few */
    size_t value_count, value_capacity;
    struct vk_timeline_queue {
        uint64_t queue;
        struct vk_timeline_step {
            uint64_t semaphore, value;
            bool is_signal;
        } * steps; /* those that are not carried out, from `first` on */
        size_t first, count, capacity;
    } * queues;
    size_t queue_count;
};

void vk_timelines_finish(struct vk_timelines *t);

/* Notes that the semaphore was created with this value, or set to it. */
bool vk_timelines_set(struct vk_timelines *t, uint64_t semaphore, uint64_t value);
/* Forgets a semaphore that is destroyed, or that others signal, too: no queue counts as waiting for
 * it. */
void vk_timelines_forget(struct vk_timelines *t, uint64_t semaphore);
/* Notes that the host signals it. */
void vk_timelines_host(struct vk_timelines *t, uint64_t semaphore, uint64_t value);

/* Notes that the work sent to the queue waits for the semaphore; or signals it. */
bool vk_timelines_wait(struct vk_timelines *t, uint64_t queue, uint64_t semaphore, uint64_t value);
bool vk_timelines_signal(struct vk_timelines *t, uint64_t queue, uint64_t semaphore,
                         uint64_t value);

/* Tests whether the queue waits for a value that nothing which was sent will signal. Then sets
 * *semaphore, unless it is NULL, to its semaphore. */
bool vk_timelines_is_stuck(const struct vk_timelines *t, uint64_t queue, uint64_t *semaphore);
/* Tests the same of all queues. */
bool vk_timelines_any_stuck(const struct vk_timelines *t);
/* Returns whether any is, and the value and semaphore that the first of them waits for. */
bool vk_timelines_first_stuck(const struct vk_timelines *t, uint64_t *semaphore, uint64_t *value);
/* Returns the value that the semaphore gets by what was sent; 0 where it is not followed. */
uint64_t vk_timelines_value(const struct vk_timelines *t, uint64_t semaphore);
/* The queue is destroyed. */
void vk_timelines_drop(struct vk_timelines *t, uint64_t queue);

#endif
