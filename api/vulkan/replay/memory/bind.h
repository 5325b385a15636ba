/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that is bound to buffers and images.
 */
#ifndef API_VULKAN_REPLAY_MEMORY_BIND_H
#define API_VULKAN_REPLAY_MEMORY_BIND_H

#include "api/vulkan/replay/common.h"

int vkr_bind_buffer(struct vkr_call *c);
int vkr_bind_buffer2(struct vkr_call *c);
int vkr_bind_image(struct vkr_call *c);
int vkr_bind_image2(struct vkr_call *c);
/* Describes the owner of an address in device memory. */
void vkr_describe_address(const struct vkr *r, uint64_t address, char *out, size_t size);

#endif
