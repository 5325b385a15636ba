/* SPDX-License-Identifier: Apache-2.0
 *
 * Shaders that take the place of others.
 */
#ifndef API_VULKAN_REPLAY_SHADER_H
#define API_VULKAN_REPLAY_SHADER_H

#include "api/vulkan/replay/common.h"

/* Reads the files of options.shaders. */
int vkr_shaders_open(struct vkr *r);
/* TSM_E_NOT_FOUND: one of them has taken the place of nothing. */
int vkr_shaders_check(const struct vkr *r);
void vkr_shaders_finish(struct vkr *r);
int vkr_create_shader_module(struct vkr_call *c);
/* Modules that lie in the pNext chains of a pipeline's stages. */
int vkr_create_graphics_pipelines(struct vkr_call *c);
int vkr_create_compute_pipelines(struct vkr_call *c);

#endif
