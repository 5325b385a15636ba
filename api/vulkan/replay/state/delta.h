/* SPDX-License-Identifier: Apache-2.0
 *
 * Effects of command buffers.
 */
#ifndef API_VULKAN_REPLAY_STATE_DELTA_H
#define API_VULKAN_REPLAY_STATE_DELTA_H

#include "api/vulkan/replay/state/tracker.h"

/* Notes a vkCmd*, or a command buffer that begins or is reset. */
int vkr_state_delta_note(struct vkr_call *c);
/* Applies a command buffer that was submitted, as far as the command `until`. */
void vkr_state_delta_apply(struct vkr *r, VkCommandBuffer commands, const struct vkr_until *until);

#endif
