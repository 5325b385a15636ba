/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking into a replay: pictures of frames, the resources of a submit or command. What is looked
 * at is settled by one pass over the trace before anything runs (vkr_inspect_plan); the engine then
 * stops at those records, when everything before them is complete and nothing behind has begun.
 *
 * Threads: as in api/vulkan/replay/replay.h; vkr_inspect() is called from the engine's main thread
 * while nothing else runs.
 */
#ifndef API_VULKAN_REPLAY_INSPECT_INSPECT_H
#define API_VULKAN_REPLAY_INSPECT_INSPECT_H

#include "api/vulkan/replay/replay.h"

/* A present whose images are wanted. */
struct vkr_frame {
    uint64_t seq, number; /* of the record; frames count from 1 */
};

struct vkr_inspect {
    const struct tsm_inspect *wanted;
    struct vkr_frame *frames; /* by seq */
    size_t frame_count, frame_capacity;
    uint64_t present_count; /* seen by plan */
    uint64_t done;          /* frames that were looked at */
    uint64_t last_seq;      /* after it nothing is to be looked at */

    /* --dump-resources: of which record, and at which submit it is carried out. */
    bool is_command;               /* a vkCmd*: the submit is cut off after it */
    bool is_found;                 /* it can be looked at */
    char why[160];                 /* it cannot, because */
    uint64_t submit_seq;           /* 0: not yet */
    uint64_t command_buffer;       /* id of the one that it was recorded into */
    uint64_t primary, execute_seq; /* that is secondary: executed by this one, there; 0: no */
    bool is_given_up;              /* recorded again before anybody submitted it */
    struct vkr_device *cut_device; /* where the command buffer was recorded again; NULL: nowhere */
    VkCommandPool cut_pool;
    struct vkr_scene *scene; /* what the trace says up to that submit; NULL: not asked yet */
    uint64_t files;          /* that were written */
};

/* NULL *out: nothing is to be looked at. */
int vkr_inspect_init(struct vkr_inspect **out, const struct tsm_replay_options *options);
void vkr_inspect_finish(struct vkr_inspect *look);
int vkr_inspect_plan(struct vkr *r, const struct sbt_record *record);
/* After the last record: can all that is wanted be looked at? */
int vkr_inspect_check(struct vkr *r);

/* See replay/backend.h. */
bool vkr_inspect_wanted(const struct vkr *r, const struct sbt_record *record);
int vkr_inspect(struct vkr *r, const struct sbt_record *record);

/* Is this the submit that is to be cut off after a command? */
bool vkr_partial_submit_wanted(const struct vkr_call *c);
/* The last command that is carried out of a command buffer: in `within`, a secondary one that it
 * executes, that is `inner`. */
struct vkr_until {
    uint64_t seq; /* UINT64_MAX: all of it is */
    uint64_t within, inner;
};
/* Returns where this command buffer of a submit ends; an id. */
struct vkr_until vkr_partial_submit_until(const struct vkr_call *c, uint64_t command_buffer);
/* Carries it out up to that command, in a command buffer that is recorded again; signals nothing,
 * because the replay ends there. (partial_submit.c) */
int vkr_partial_submit(struct vkr_call *c);

/* Everything that the submit, or the command, has to do with, into wanted->dump_directory.
 * (dump.c) */
int vkr_dump(struct vkr *r, const struct sbt_record *submit);

/* With --dump-resources each image is made so that it can be copied from. */
int vkr_create_image(struct vkr_call *c);

/* ---- images (image.c) ------------------------------------------------------ */

struct vkr_image {
    VkImage raw;
    VkFormat format;
    VkExtent3D extent;
    VkImageLayout layout; /* it is in, and in afterwards */
};

/* One level and layer, and one aspect of it, without gaps, into *out (to be freed); depth slices
 * follow each other. Waits for the copy. TSM_E_UNSUPPORTED: its format cannot be copied. */
int vkr_image_read(struct vkr_device *device, const struct vkr_image *image, uint32_t level,
                   uint32_t layer, VkImageAspectFlags aspect, uint8_t **out, uint64_t *size);
VkExtent3D vkr_level_extent(VkExtent3D extent, uint32_t level);

/* Image `index` of a swapchain. False: there is none. (api/vulkan/replay/window.c) */
bool vkr_swapchain_image(const struct vkr_object *swapchain, uint32_t index, struct vkr_image *out);

/* The recorded VkSurfaceKHR behind it, as an id. (api/vulkan/replay/window.c) */
uint64_t vkr_swapchain_surface(const struct vkr_object *swapchain);

/* ---- --present (present_window.c): all do nothing where nothing is to be shown ------- */

/* Adds what windows need to the names of extensions. `more`: ended by NULL. */
int vkr_present_window_extend(struct vkr_call *c, const char *const **names, uint32_t *count,
                              const char *const *more,
                              bool (*has)(struct vkr_call *, const char *));
/* The images are there when `queue` has done what it was sent. */
int vkr_present_window_show(struct vkr_call *c, VkQueue queue, const VkPresentInfoKHR *info);
/* Before they are destroyed. */
void vkr_present_window_device_destroyed(struct vkr *r, const struct vkr_device *device);
void vkr_present_window_instance_destroyed(struct vkr *r, const struct vkr_instance *instance);
/* Keep the windows open for as long as was asked for. */
void vkr_present_window_linger(const struct vkr *r);
void vkr_present_window_finish(struct vkr *r);

#endif
