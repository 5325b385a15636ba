/* SPDX-License-Identifier: Apache-2.0
 *
 * State that commands leave apart from memory: which fences and binary semaphores are signalled,
 * events set, queries available, and the layout of each part of an image. No driver can be asked
 * for most of it, so it is followed from the records: what a command buffer would change is noted
 * while it is recorded (delta.c) and comes true when it is submitted.
 *
 * A replay that starts from a checkpoint does not send what comes before it, but follows it, and
 * then makes it so (restore.c). Where part of a trace becomes a trace of its own it
 * is written down as STATE records, docs/FORMAT.md 10.1.
 *
 * Called with the lock of struct vkr held.
 */
#ifndef API_VULKAN_REPLAY_STATE_TRACKER_H
#define API_VULKAN_REPLAY_STATE_TRACKER_H

#include "api/vulkan/replay/replay.h"
#include "api/vulkan/tables/submit.h"

/* ---- what is known of an object: its `fact`, one block of memory ---- */

/* VkFence, VkEvent */
struct vkr_fact_flag {
    bool is_set;
    bool device_only; /* an event that the host may not touch */
    bool is_outside;  /* a fence that others signal */
    bool is_gate;     /* an event that work waits for, and that the host has yet to set */
};

/* VkImage. Layouts by level and layer; a second plane of them for stencil. */
struct vkr_fact_image {
    VkImageAspectFlags aspects;
    uint32_t levels, layers;
    uint32_t layouts[]; /* [plane][level][layer]; VK_IMAGE_LAYOUT_UNDEFINED: as made */
};

enum vkr_query {
    VKR_QUERY_UNKNOWN,
    VKR_QUERY_RESET,
    VKR_QUERY_AVAILABLE,
};

/* VkQueryPool */
struct vkr_fact_queries {
    VkQueryType type;
    VkQueryPipelineStatisticFlags statistics;
    uint32_t count;
    uint8_t states[]; /* enum vkr_query */
};

/* Part of an image. `count`, `layer_count`: those that there are from `level`, `layer` on. */
struct vkr_part {
    uint64_t image; /* id */
    VkImageAspectFlags aspects;
    uint32_t level, level_count, layer, layer_count;
};

/* ---- following (tracker.c) ---- */

/* The last command that is carried out of a command buffer: in `within`, a secondary one that it
 * executes, that is `inner`. */
struct vkr_until {
    uint64_t seq; /* UINT64_MAX: all of it is */
    uint64_t within, inner;
};

/* End of a submit of which not all is carried out. */
struct vkr_submit_end {
    uint64_t command_buffer; /* id; no later one is carried out. 0: the submit is whole */
    struct vkr_until until;
};

/* Notes what a call that the driver has carried out has created or changed. */
int vkr_state_tracker_note(struct vkr_call *c);
/* Applies what the command buffers of a submit do, as far as `cut`; whether or not it is sent. */
void vkr_state_tracker_submit(struct vkr *r, const struct vk_submit *submit,
                              const struct vkr_submit_end *cut);
void vkr_state_tracker_fence(struct vkr *r, VkFence fence, bool is_signalled);
/* Note that the event is set or reset, or that work that was sent waits for it. */
void vkr_state_tracker_event(struct vkr *r, struct vkr_object *event, bool is_set);
void vkr_state_tracker_wait(struct vkr *r, const struct vkr_object *event);
int vkr_state_tracker_image(struct vkr_object *image, const VkImageCreateInfo *info);
void vkr_state_tracker_layout(struct vkr *r, const struct vkr_part *part, VkImageLayout layout);
/* Visits each layout of a part of an image, by plane, level, layer. */
void vkr_each_of_part(struct vkr_fact_image *fact, const struct vkr_part *part,
                      void (*visit)(void *user, uint32_t *value), void *user);
/* Layouts of aspects that are planes of struct vkr_fact_image. */
uint32_t vkr_plane_count(VkImageAspectFlags aspects);
VkImageAspectFlags vkr_plane_aspects(VkImageAspectFlags aspects, uint32_t plane);

#endif
