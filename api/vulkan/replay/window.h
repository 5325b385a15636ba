/* SPDX-License-Identifier: Apache-2.0
 *
 * Acquiring and presenting images. Hooks, see carry_out.c.
 */
#ifndef API_VULKAN_REPLAY_WINDOW_H
#define API_VULKAN_REPLAY_WINDOW_H

#include "api/vulkan/replay/common.h"

int vkr_acquire_image(struct vkr_call *c);
int vkr_acquire_image2(struct vkr_call *c);
int vkr_present(struct vkr_call *c);

#endif
