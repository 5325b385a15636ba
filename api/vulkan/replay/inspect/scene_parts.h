/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of a scene: private to scene*.c.
 */
#ifndef API_VULKAN_REPLAY_INSPECT_SCENE_PARTS_H
#define API_VULKAN_REPLAY_INSPECT_SCENE_PARTS_H

#include "api/vulkan/replay/inspect/scene.h"

/* Begins the content of a new object. Returns false without memory. */
bool vkr_scene_begin_content(struct vkr_scene_object *made);
void vkr_scene_finish_content(struct vkr_scene_object *made);

/* Tests whether records of this type must be decoded for vkr_scene_note_content(). */
bool vkr_scene_is_content(uint32_t type);
/* Notes descriptors that the call writes. */
int vkr_scene_note_content(struct vkr_scene *scene, struct vkr_call *c);
/* Notes a vkCmd*, or vkBeginCommandBuffer. */
int vkr_scene_note_command(struct vkr_scene *scene, const struct sbt_record *record);

#endif
