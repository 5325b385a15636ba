/* SPDX-License-Identifier: Apache-2.0
 *
 * Creating memory and buffers. Hooks, see carry_out.c.
 */
#ifndef API_VULKAN_REPLAY_MEMORY_ALLOCATE_H
#define API_VULKAN_REPLAY_MEMORY_ALLOCATE_H

#include "api/vulkan/replay/common.h"

int vkr_allocate_memory(struct vkr_call *c);
int vkr_free_memory(struct vkr_call *c);
int vkr_create_buffer(struct vkr_call *c);

#endif
