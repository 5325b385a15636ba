/* SPDX-License-Identifier: Apache-2.0
 *
 * Times of submits on the device: timestamps in front of each batch with command buffers and behind
 * it, as the recorder has them (api/vulkan/source/gpu_time).
 */
#ifndef API_VULKAN_REPLAY_TIMING_SUBMIT_TIMES_H
#define API_VULKAN_REPLAY_TIMING_SUBMIT_TIMES_H

#include "api/vulkan/replay/device.h"
#include "replay/time_list.h"

/* A queue of a family that can be timed. */
struct vkr_timed_queue {
    VkQueue raw;
    struct vkr_device *device;
    uint32_t family;
    uint64_t mask; /* valid bits of a timestamp */
};

struct vkr_timing {
    bool is_on;
    uint64_t seq_first;
    struct vkr_timed_queue *queues;
    size_t queue_count, queue_capacity;
    struct vkr_time_group *groups;
    struct vkr_time_family *families;      /* with --time-commands */
    uint32_t block_count;                  /* of queries, of all of them */
    struct vkr_time_slot *oldest, *newest; /* under way */
    struct tsm_time_list done;
};

/* The program has asked for a queue. */
void vkr_timing_queue(struct vkr *r, struct vkr_device *device, VkQueue raw, uint32_t family);
/* A submit is about to be sent: its arguments get command buffers of ours, where it is timed. */
void vkr_timing_submit(struct vkr_call *c);
/* The device goes; nothing of it is under way. */
void vkr_timing_drop(struct vkr *r, const struct vkr_device *device);

/* Implement tsm_backend_timing. */
int vkr_timing_start(struct vkr *r, uint64_t seq_first);
int vkr_timing_report(struct vkr *r, tsm_time_user report, void *user);
void vkr_timing_finish(struct vkr *r);

#endif
