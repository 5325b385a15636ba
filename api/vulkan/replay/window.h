/* SPDX-License-Identifier: Apache-2.0
 *
 * Windows that stand for recorded ones.
 */
#ifndef API_VULKAN_REPLAY_WINDOW_H
#define API_VULKAN_REPLAY_WINDOW_H

#include "api/vulkan/replay/common.h"
#include "api/vulkan/replay/object.h"

int vkr_create_surface(struct vkr_call *c);
int vkr_destroy_surface(struct vkr_call *c);
int vkr_create_swapchain(struct vkr_call *c);
int vkr_destroy_swapchain(struct vkr_call *c);
int vkr_get_swapchain_images(struct vkr_call *c);
int vkr_acquire_image(struct vkr_call *c);
int vkr_acquire_image2(struct vkr_call *c);
int vkr_present(struct vkr_call *c);
/* A swapchain object is going: its images, too. */
void vkr_swapchain_drop(struct vkr *r, struct vkr_object *object);
/* Texels of an image of a swapchain, without gaps: of a place with VKR_PLACE_TEXELS. Those that are
 * read at 0 are kept for later reads. TSM_E_NOT_FOUND: there is no such image. */
int vkr_window_read(struct vkr *r, uint64_t address, void *out, uint64_t size);

#endif
