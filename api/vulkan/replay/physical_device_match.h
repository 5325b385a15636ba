/* SPDX-License-Identifier: Apache-2.0
 *
 * Devices here that stand for recorded ones.
 */
#ifndef API_VULKAN_REPLAY_PHYSICAL_DEVICE_MATCH_H
#define API_VULKAN_REPLAY_PHYSICAL_DEVICE_MATCH_H

#include "api/vulkan/replay/common.h"
#include "api/vulkan/replay/device.h"

/* By number, part of its name (any case), or UUID. TSM_E_NOT_FOUND with a list of those here. */
int vkr_choose_device(struct vkr *r, const char *text);
/* For each that the trace needs. */
void vkr_choose_devices(struct vkr *r);
/* The place among this machine's devices that stands for a recorded VkPhysicalDevice. */
uint32_t vkr_physical_device_index(struct vkr *r, uint64_t id);

/* The trace has left them. */
void vkr_device_close(struct vkr *r, struct vkr_device *device);
void vkr_instance_close(struct vkr_instance *instance);

/* Extensions that replay can do without: of layers, of windows. */
bool vkr_is_dispensable(const char *extension);
/* Does an extension, or a struct of features, concern windows and screens only? */
bool vkr_is_of_windows(const char *name);

/* Leaves out names that are not here and dispensable; refuses others. `more`: one more, or NULL. */
int vkr_filter_extensions(struct vkr_call *c, const char *const **names, uint32_t *count,
                          const char *more, bool (*has)(struct vkr_call *, const char *));
/* Forgets the objects that an instance or (if not NULL) a device destroys with it. */
void vkr_forget(struct vkr *r, const struct vkr_instance *instance,
                const struct vkr_device *device);

int vkr_create_instance(struct vkr_call *c);
int vkr_destroy_instance(struct vkr_call *c);
int vkr_create_device(struct vkr_call *c);
int vkr_destroy_device(struct vkr_call *c);
int vkr_enumerate_physical(struct vkr_call *c);
int vkr_get_queue(struct vkr_call *c);

#endif
