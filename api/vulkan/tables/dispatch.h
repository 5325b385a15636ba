/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of the next layer, for each live instance and device. Dispatchable handles (VkInstance,
 * VkPhysicalDevice, VkDevice, VkQueue, VkCommandBuffer) begin with a pointer by which the loader
 * knows their instance or device; it is our key, too. Finding takes no lock.
 */
#ifndef API_VULKAN_TABLES_DISPATCH_H
#define API_VULKAN_TABLES_DISPATCH_H

#include "api/vulkan/vulkan_functions.h"

#include <stdatomic.h>
#include <stdbool.h>

struct vk_instance_dispatch {
    struct vk_instance_functions f; /* NULL: the next layer has none of that name */
    _Atomic(const void *) key;      /* what its handles begin with; NULL once destroyed */
    VkInstance instance;
    PFN_vkGetInstanceProcAddr get; /* the next layer's */
};

struct vk_device_dispatch {
    struct vk_device_functions f;
    _Atomic(const void *) key;
    VkDevice device;
    VkPhysicalDevice physical_device;
    const struct vk_instance_dispatch *instance;
    PFN_vkGetDeviceProcAddr get;
};

/* Fill `f` and `get` by asking for each name. */
void vk_instance_dispatch_load(struct vk_instance_dispatch *out, PFN_vkGetInstanceProcAddr get,
                               VkInstance instance);
void vk_device_dispatch_load(struct vk_device_dispatch *out, PFN_vkGetDeviceProcAddr get,
                             VkDevice device);
/* Names and labels are the loader's business where the driver knows nothing of them: a program can
 * get functions for them of an instance, whether or not the extension is switched on. */
void vk_device_dispatch_labels(struct vk_device_dispatch *d,
                               const struct vk_instance_dispatch *instance);

/* From now on handles that begin like `handle` are found; the dispatch must stay for ever. False:
 * too many live at a time (VK_DISPATCH_MAX). */
#define VK_DISPATCH_MAX 1024u
bool vk_instance_add(struct vk_instance_dispatch *dispatch, const void *handle);
bool vk_device_add(struct vk_device_dispatch *dispatch, const void *handle);
/* Until now. The loader may use the key again at once. */
void vk_instance_remove(struct vk_instance_dispatch *dispatch);
void vk_device_remove(struct vk_device_dispatch *dispatch);

const struct vk_instance_dispatch *vk_instance_find(const void *key);
const struct vk_device_dispatch *vk_device_find(const void *key);

/* The one that was found last: a program mostly has one. */
extern _Atomic(const struct vk_instance_dispatch *) vk_instance_last;
extern _Atomic(const struct vk_device_dispatch *) vk_device_last;

/* Whose a dispatchable handle is. Never NULL for a handle that the program may use. */
static inline const struct vk_instance_dispatch *vk_instance_of(const void *handle)
{
    const void *key = *(const void *const *)handle;
    const struct vk_instance_dispatch *last =
        atomic_load_explicit(&vk_instance_last, memory_order_acquire);

    if (last && atomic_load_explicit(&last->key, memory_order_relaxed) == key)
        return last;
    return vk_instance_find(key);
}

static inline const struct vk_device_dispatch *vk_device_of(const void *handle)
{
    const void *key = *(const void *const *)handle;
    const struct vk_device_dispatch *last =
        atomic_load_explicit(&vk_device_last, memory_order_acquire);

    if (last && atomic_load_explicit(&last->key, memory_order_relaxed) == key)
        return last;
    return vk_device_find(key);
}

/* Our function for a command's name; NULL: none of that name. Give it out only where the next layer
 * has the function. */
PFN_vkVoidFunction vk_wrapper(const char *name);

/* For replay: call a command (place in vk_commands) with its struct vk_args_NAME. Returns what it
 * returns, 0 for void; VK_ERROR_EXTENSION_NOT_PRESENT when there is no such function. `device` may
 * be NULL for commands of an instance, and the other way round. */
int64_t vk_call(const struct vk_instance_dispatch *instance,
                const struct vk_device_dispatch *device, uint32_t command, void *args);

/* Asks the driver whether the buffer or image takes no memory but its own. True where it cannot be
 * asked. */
bool vk_requires_dedicated(const struct vk_device_dispatch *d,
                           const VkMemoryDedicatedAllocateInfo *info);

#endif
