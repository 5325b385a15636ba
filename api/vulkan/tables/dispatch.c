/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds dispatch tables by key, by open addressing. A slot once used keeps its key, or gets another
 * one after its dispatch is removed; so a search only ends at a slot that was never used.
 */
#include "api/vulkan/tables/dispatch.h"

#include "api/vulkan/tables/tables.h"

#define SLOT_COUNT (2 * VK_DISPATCH_MAX)

struct slot {
    _Atomic(const void *) key; /* NULL: never used. Ours, while taken: TAKEN */
    _Atomic(void *) dispatch;  /* NULL: may be used again */
};

static struct slot instances[SLOT_COUNT], devices[SLOT_COUNT];
static const char taken; /* its address is nobody's key */

_Atomic(const struct vk_instance_dispatch *) vk_instance_last;
_Atomic(const struct vk_device_dispatch *) vk_device_last;

void vk_instance_dispatch_load(struct vk_instance_dispatch *out, PFN_vkGetInstanceProcAddr get,
                               VkInstance instance)
{
    PFN_vkVoidFunction *f = (PFN_vkVoidFunction *)(void *)&out->f;

    for (size_t i = 0; i < sizeof(vk_instance_names) / sizeof(vk_instance_names[0]); i++)
        f[i] = get(instance, vk_name(vk_instance_names[i]));
    out->get = get;
    out->instance = instance;
}

void vk_device_dispatch_load(struct vk_device_dispatch *out, PFN_vkGetDeviceProcAddr get,
                             VkDevice device)
{
    PFN_vkVoidFunction *f = (PFN_vkVoidFunction *)(void *)&out->f;

    for (size_t i = 0; i < sizeof(vk_device_names) / sizeof(vk_device_names[0]); i++)
        f[i] = get(device, vk_name(vk_device_names[i]));
    out->get = get;
    out->device = device;
}

void vk_device_dispatch_labels(struct vk_device_dispatch *d,
                               const struct vk_instance_dispatch *instance)
{
    PFN_vkVoidFunction *f = (PFN_vkVoidFunction *)(void *)&d->f;

    for (size_t i = 0; i < sizeof(vk_device_names) / sizeof(vk_device_names[0]); i++) {
        const char *name = vk_name(vk_device_names[i]);
        if (!f[i] && strstr(name, "DebugUtils"))
            f[i] = instance->get(instance->instance, name);
    }
}

static size_t home(const void *key)
{
    return (size_t)(((uintptr_t)key * 0x9e3779b97f4a7c15u) >> 40) % SLOT_COUNT;
}

static void *find(struct slot *slots, const void *key)
{
    for (size_t i = 0, at = home(key); i < SLOT_COUNT; i++, at = (at + 1) % SLOT_COUNT) {
        const void *here = atomic_load_explicit(&slots[at].key, memory_order_acquire);
        void *dispatch = atomic_load_explicit(&slots[at].dispatch, memory_order_acquire);
        if (!here)
            break;
        if (here != key || !dispatch)
            continue;
        if (atomic_load(&slots[at].key) == key) /* not given to another one meanwhile */
            return dispatch;
    }
    return NULL;
}

/* Whoever changes the key to TAKEN has the slot. */
static bool take(struct slot *slot)
{
    const void *before = atomic_load(&slot->key);

    return before != &taken && !atomic_load(&slot->dispatch) &&
           atomic_compare_exchange_strong(&slot->key, &before, &taken);
}

static bool add(struct slot *slots, const void *key, void *dispatch)
{
    for (size_t i = 0, at = home(key); i < SLOT_COUNT; i++, at = (at + 1) % SLOT_COUNT) {
        if (!take(&slots[at]))
            continue;
        atomic_store(&slots[at].dispatch, dispatch);
        atomic_store(&slots[at].key, key);
        return true;
    }
    return false;
}

static void drop(struct slot *slots, const void *dispatch)
{
    for (size_t at = 0; at < SLOT_COUNT; at++)
        if (atomic_load(&slots[at].dispatch) == dispatch)
            atomic_store(&slots[at].dispatch, NULL);
}

bool vk_instance_add(struct vk_instance_dispatch *dispatch, const void *handle)
{
    const void *key = *(const void *const *)handle;

    atomic_store(&dispatch->key, key);
    return add(instances, key, dispatch);
}

bool vk_device_add(struct vk_device_dispatch *dispatch, const void *handle)
{
    const void *key = *(const void *const *)handle;

    atomic_store(&dispatch->key, key);
    return add(devices, key, dispatch);
}

void vk_instance_remove(struct vk_instance_dispatch *dispatch)
{
    atomic_store(&dispatch->key, NULL);
    drop(instances, dispatch);
}

void vk_device_remove(struct vk_device_dispatch *dispatch)
{
    atomic_store(&dispatch->key, NULL);
    drop(devices, dispatch);
}

const struct vk_instance_dispatch *vk_instance_find(const void *key)
{
    const struct vk_instance_dispatch *found = find(instances, key);

    if (found)
        atomic_store_explicit(&vk_instance_last, found, memory_order_release);
    return found;
}

const struct vk_device_dispatch *vk_device_find(const void *key)
{
    const struct vk_device_dispatch *found = find(devices, key);

    if (found)
        atomic_store_explicit(&vk_device_last, found, memory_order_release);
    return found;
}

bool vk_requires_dedicated(const struct vk_device_dispatch *d,
                           const VkMemoryDedicatedAllocateInfo *info)
{
    const struct vk_device_functions *f = &d->f;
    PFN_vkGetBufferMemoryRequirements2 of_buffer = f->vkGetBufferMemoryRequirements2
                                                       ? f->vkGetBufferMemoryRequirements2
                                                       : f->vkGetBufferMemoryRequirements2KHR;
    PFN_vkGetImageMemoryRequirements2 of_image = f->vkGetImageMemoryRequirements2
                                                     ? f->vkGetImageMemoryRequirements2
                                                     : f->vkGetImageMemoryRequirements2KHR;
    VkBufferMemoryRequirementsInfo2 buffer = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_REQUIREMENTS_INFO_2, .buffer = info->buffer};
    VkImageMemoryRequirementsInfo2 image = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_REQUIREMENTS_INFO_2, .image = info->image};
    VkMemoryDedicatedRequirements dedicated = {.sType =
                                                   VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS,
                                               .requiresDedicatedAllocation = VK_TRUE};
    VkMemoryRequirements2 needs = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2,
                                   .pNext = &dedicated};

    if (info->buffer && of_buffer)
        of_buffer(d->device, &buffer, &needs);
    else if (info->image && of_image)
        of_image(d->device, &image, &needs);
    return dedicated.requiresDedicatedAllocation;
}
