/* SPDX-License-Identifier: Apache-2.0
 *
 * What command buffers do to the content of images: overwrite all of a level and layer, declare it
 * void, or anything else, which counts as looking at it. By the trace alone; objects go by their ids.
 */
#ifndef API_VULKAN_REPLAY_STATE_IMAGE_ACCESS_H
#define API_VULKAN_REPLAY_STATE_IMAGE_ACCESS_H

#include "api/vulkan/replay/inspect/scene.h"
#include "api/vulkan/replay/state/tracker.h"

enum vkr_touch_kind {
    VKR_TOUCH_USE,
    VKR_TOUCH_VOID,  /* its content is undefined from here on, says the specification */
    VKR_TOUCH_WRITE, /* each texel gets a value that does not depend on what was there */
    VKR_TOUCH_SET,   /* `part.image` is a descriptor set: what is in it may be looked at */
    VKR_TOUCH_ALL,   /* cannot be followed: anything may be looked at */
};

struct vkr_touch {
    enum vkr_touch_kind kind;
    struct vkr_part part;
};

/* Of one command buffer, in order. */
struct vkr_touches {
    struct vkr_touch *list;
    size_t count, capacity;
};

/* By id of the command buffer, struct vkr_touches. A zeroed struct is empty. */
struct vkr_touched {
    struct sbt_map buffers;
};
void vkr_touched_finish(struct vkr_touched *touched);
/* A vkCmd*, or vkBeginCommandBuffer; the scene has what came before. */
int vkr_touch_note(struct vkr_touched *touched, struct vkr_scene *scene,
                   const struct sbt_record *record);
/* NULL: nothing. */
const struct vkr_touches *vkr_touches_of(const struct vkr_touched *touched, uint64_t buffer);

/* What a view shows of an image; .image 0: unknown. */
struct vkr_part vkr_view_part(const struct vkr_scene *scene, uint64_t view);

#endif
