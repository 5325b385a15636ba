/* SPDX-License-Identifier: Apache-2.0
 *
 * Accesses of command buffers to the content of images: an access overwrites all of a level and
 * layer, declares it void, or does something else, which counts as reading. From the trace alone;
 * objects go by their
 * ids.
 */
#ifndef API_VULKAN_REPLAY_STATE_IMAGE_ACCESS_H
#define API_VULKAN_REPLAY_STATE_IMAGE_ACCESS_H

#include "api/vulkan/replay/inspect/scene.h"
#include "api/vulkan/replay/state/tracker.h"

enum vkr_image_access_kind {
    VKR_IMAGE_ACCESS_USE,
    VKR_IMAGE_ACCESS_VOID,  /* its content is undefined from here on, says the specification */
    VKR_IMAGE_ACCESS_WRITE, /* each texel gets a value that does not depend on what was there */
    VKR_IMAGE_ACCESS_SET,   /* `part.image` is a descriptor set: images in it may be read */
    VKR_IMAGE_ACCESS_ALL,   /* cannot be followed: any image may be read */
};

struct vkr_image_access {
    enum vkr_image_access_kind kind;
    struct vkr_part part;
};

/* Accesses of one command buffer, in order. */
struct vkr_image_accesses {
    struct vkr_image_access *list;
    size_t count, capacity;
};

/* By id of the command buffer, struct vkr_image_accesses. A zeroed struct is empty. */
struct vkr_image_access_table {
    struct tsm_map buffers;
};
void vkr_image_access_table_finish(struct vkr_image_access_table *touched);
/* A vkCmd*, or vkBeginCommandBuffer; the scene has what came before. */
int vkr_image_access_note(struct vkr_image_access_table *touched, struct vkr_scene *scene,
                          const struct sbt_record *record);
/* NULL: nothing. */
const struct vkr_image_accesses *vkr_image_accesses_of(const struct vkr_image_access_table *touched,
                                                       uint64_t buffer);

/* Returns the part of an image that a view shows; .image 0: unknown. */
struct vkr_part vkr_view_part(const struct vkr_scene *scene, uint64_t view);

#endif
