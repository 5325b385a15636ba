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

/* The driver has carried out the call: note what it has made or changed. */
int vkr_state_tracker_note(struct vkr_call *c);
/* A submit: what its command buffers do comes true. Whether or not it is sent. */
void vkr_state_tracker_submit(struct vkr_call *c, const struct vk_submit *submit);
void vkr_state_tracker_fence(struct vkr *r, VkFence fence, bool is_signalled);
/* The event is set or reset; or (vkr_state_tracker_wait) what was sent waits for it. Of struct
 * vkr_object.
 */
void vkr_state_tracker_event(struct vkr *r, struct vkr_object *event, bool is_set);
void vkr_state_tracker_wait(struct vkr *r, const struct vkr_object *event);
int vkr_state_tracker_image(struct vkr_object *image, const VkImageCreateInfo *info);
void vkr_state_tracker_layout(struct vkr *r, const struct vkr_part *part, VkImageLayout layout);
/* Each layout of a part of an image, by plane, level, layer. */
void vkr_each_of_part(struct vkr_fact_image *fact, const struct vkr_part *part,
                      void (*visit)(void *user, uint32_t *value), void *user);
/* Begins a label of a queue. Drivers do not check that a label which ends has begun: part of a
 * trace may not have its begin. */
int vkr_begin_label(struct vkr_call *c);
int vkr_end_label(struct vkr_call *c);
/* Layouts of aspects that are planes of struct vkr_fact_image. */
uint32_t vkr_plane_count(VkImageAspectFlags aspects);
VkImageAspectFlags vkr_plane_aspects(VkImageAspectFlags aspects, uint32_t plane);

/* ---- what command buffers do (delta.c) ---- */

/* A vkCmd*, or a command buffer that begins or is reset. */
int vkr_state_delta_note(struct vkr_call *c);
struct vkr_until;
/* It was submitted; what comes after that command is not carried out. */
void vkr_state_delta_apply(struct vkr *r, VkCommandBuffer commands, const struct vkr_until *until);

/* ---- times in memory (timestamp_bytes.c) ---- */

/* Effect of a command on a part of a buffer. Ids of buffers. */
struct vkr_spread {
    enum vkr_spread_kind {
        VKR_SPREAD_TIMES, /* `count` times are written there, `size` bytes each, `stride` apart */
        VKR_SPREAD_COPY,  /* what is in `from` is written there, times too */
        VKR_SPREAD_OTHER, /* something else is written there */
    } kind;
    uint32_t count;
    uint64_t from, from_offset, to, to_offset, size, stride;
};
struct vk_args_vkCmdCopyQueryPoolResults;
/* Finds the timestamps that a copy writes. Returns false if it writes none that is known. */
bool vkr_timestamp_bytes_results(struct vkr *r, const struct vk_args_vkCmdCopyQueryPoolResults *a,
                                 struct vkr_spread *out);
void vkr_timestamp_bytes_apply(struct vkr *r, const struct vkr_spread *s);
/* The host has written there: it holds no times any more. */
void vkr_timestamp_bytes_clear(struct vkr *r, uint64_t start, uint64_t size);
/* Zeroes the times in what was read from `address`, and adds their number to *times. Returns
 * whether the bytes may differ from the recorded ones: for those, or because images lie there in a
 * layout of another driver. */
bool vkr_ignore_timestamps(const struct vkr *r, uint64_t address, uint8_t *bytes, uint64_t size,
                           uint64_t *times);

/* ---- making it so (restore.c) ---- */

/* At a checkpoint's records, and when the engine goes back to one. */
int vkr_checkpoint(struct vkr *r, const struct sbt_record *record);
/* Restores the followed state, except memory. */
int vkr_restore(struct vkr *r);

/* Parts of an image that are in one layout, but for those that never were in any. */
void vkr_each_layout(const struct vkr_fact_image *fact,
                     void (*visit)(void *user, const struct vkr_part *part, VkImageLayout layout),
                     void *user);

/* ---- what need not be written down (liveness.c) ---- */

/* Images whose content at the record `first` nothing of [first, end) looks at; `end` 0: of all
 * after. */
struct vkr_liveness;
int vkr_liveness_find(struct vkr_liveness **out, struct vkr *r, uint64_t first, uint64_t end);
void vkr_liveness_destroy(struct vkr_liveness *stale);
/* The next bytes of memory from *offset on that are such an image's. False: there are no more. */
bool vkr_liveness_next(const struct vkr_liveness *stale, const struct vkr_memory *m,
                       uint64_t *offset, uint64_t *size);

/* ---- writing it down (save.c) ---- */

int vkr_save(struct vkr *r, const struct tsm_saver *saver);

/* ---- going back (loop_snapshot.c) ---- */

/* Keep what a checkpoint here would hold, until the end. Nothing is under way. */
int vkr_loop_snapshot_take(struct vkr *r);
/* Make it so again. */
int vkr_loop_snapshot_restore(struct vkr *r);
void vkr_loop_snapshot_finish(struct vkr *r);
/* Asked of each record of a part, in order: can it be carried out again after
 * vkr_loop_snapshot_restore()? */
bool vkr_loop_snapshot_allows(struct vkr *r, const struct sbt_record *record);

#endif
