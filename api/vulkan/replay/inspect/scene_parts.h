/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of a scene: private to scene*.c.
 */
#ifndef API_VULKAN_REPLAY_INSPECT_SCENE_PARTS_H
#define API_VULKAN_REPLAY_INSPECT_SCENE_PARTS_H

#include "api/vulkan/replay/inspect/scene.h"

/* A new object: what its type keeps. False: no memory. */
bool vkr_scene_begin_content(struct vkr_scene_object *made);
void vkr_scene_finish_content(struct vkr_scene_object *made);

/* Must records of this type be decoded for vkr_scene_note_content()? */
bool vkr_scene_is_content(uint32_t type);
/* Descriptors written. */
int vkr_scene_note_content(struct vkr_scene *scene, struct vkr_call *c);
/* A vkCmd*, or vkBeginCommandBuffer. */
int vkr_scene_note_command(struct vkr_scene *scene, const struct sbt_record *record);

#endif
