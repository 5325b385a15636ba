/* SPDX-License-Identifier: Apache-2.0
 *
 * --present: windows that show what was presented. All do nothing where nothing is to be shown.
 */
#ifndef API_VULKAN_REPLAY_INSPECT_PRESENT_WINDOW_H
#define API_VULKAN_REPLAY_INSPECT_PRESENT_WINDOW_H

#include "api/vulkan/replay/device.h"

/* Adds what windows need to the names of extensions. `more`: ended by NULL. */
int vkr_present_window_extend(struct vkr_call *c, const char *const **names, uint32_t *count,
                              const char *const *more,
                              bool (*has)(struct vkr_call *, const char *));
/* The images are there when `queue` has done what it was sent. */
int vkr_present_window_show(struct vkr_call *c, VkQueue queue, const VkPresentInfoKHR *info);
/* Before they are destroyed. */
void vkr_present_window_device_destroyed(struct vkr *r, const struct vkr_device *device);
void vkr_present_window_instance_destroyed(struct vkr *r, const struct vkr_instance *instance);
/* Keep the windows open for as long as was asked for. */
void vkr_present_window_linger(const struct vkr *r);
void vkr_present_window_finish(struct vkr *r);

#endif
