/* SPDX-License-Identifier: Apache-2.0
 *
 * Surfaces, swapchains and their images, which stand for those of a window.
 */
#ifndef API_VULKAN_REPLAY_SWAPCHAIN_H
#define API_VULKAN_REPLAY_SWAPCHAIN_H

#include "api/vulkan/replay/inspect/image.h"
#include "api/vulkan/replay/object.h"

/* Finds image `index` of a swapchain. Returns false if there is none. */
bool vkr_swapchain_image(const struct vkr_object *swapchain, uint32_t index, struct vkr_image *out);

/* Returns the id of the recorded VkSurfaceKHR of the swapchain. */
uint64_t vkr_swapchain_surface(const struct vkr_object *swapchain);

/* Reads texels of an image of a swapchain, without gaps, at a place with VKR_PLACE_TEXELS. A read
 * at offset 0 keeps all of them for later reads. Returns TSM_E_NOT_FOUND if there is no such image.
 */
int vkr_swapchain_read(struct vkr *r, uint64_t address, void *out, uint64_t size);

/* Hooks, see carry_out.c. */
int vkr_create_surface(struct vkr_call *c);
int vkr_destroy_surface(struct vkr_call *c);
int vkr_create_swapchain(struct vkr_call *c);
int vkr_destroy_swapchain(struct vkr_call *c);
int vkr_get_swapchain_images(struct vkr_call *c);

#endif
