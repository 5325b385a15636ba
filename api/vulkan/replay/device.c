/* SPDX-License-Identifier: Apache-2.0
 *
 * Devices, made as recorded, and their queues.
 */
#include "api/vulkan/replay/device.h"

#include <stdlib.h>
#include <string.h>

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/completed.h"
#include "api/vulkan/replay/extensions.h"
#include "api/vulkan/replay/inspect/present_window.h"
#include "api/vulkan/replay/loader.h"
#include "api/vulkan/replay/memory/capture_replay_address.h"
#include "api/vulkan/replay/memory/fixed_address.h"
#include "api/vulkan/replay/object.h"
#include "api/vulkan/replay/recorded_device.h"
#include "api/vulkan/replay/replay.h"
#include "api/vulkan/replay/requirements.h"
#include "api/vulkan/replay/stream.h"
#include "base/text.h"

static bool device_has(struct vkr_call *c, const char *name)
{
    const struct vk_args_vkCreateDevice *a = (const void *)c->args;

    return vkr_device_has(&c->owner->instance->dispatch, a->physicalDevice, name);
}

/* "heap 0, flags 0xf", as the driver of the recording numbered them. */
static void read_types(struct vkr *r, struct vkr_device *d)
{
    char name[32];

    for (uint32_t i = 0; i < VK_MAX_MEMORY_TYPES; i++) {
        tsm_format(name, sizeof(name), "memory.%u", i);
        const char *fact = vkr_recorded_fact(r, d->id, name);
        const char *flags = fact ? strstr(fact, "flags 0x") : NULL;
        if (!flags)
            return;
        d->recorded_types[d->recorded_type_count++] =
            (VkMemoryPropertyFlags)strtoul(flags + 8, NULL, 16);
    }
}

static void fill_device(struct vkr_call *c, struct vkr_device *d, const VkDeviceCreateInfo *info)
{
    const struct vk_args_vkCreateDevice *a = (const void *)c->args;
    const struct vk_instance_dispatch *instance = &d->instance->dispatch;
    VkPhysicalDeviceProperties properties;

    instance->f.vkGetPhysicalDeviceMemoryProperties(a->physicalDevice, &d->memory);
    instance->f.vkGetPhysicalDeviceProperties(a->physicalDevice, &properties);
    d->limits = properties.limits;
    d->is_recorded = vkr_is_recorded(c->r, d->id, &properties);
    d->dispatch.physical_device = a->physicalDevice;
    d->dispatch.instance = instance;
    read_types(c->r, d);
    for (uint32_t i = 0; i < info->queueCreateInfoCount && !d->queue.raw; i++) {
        const VkDeviceQueueCreateInfo *q = &info->pQueueCreateInfos[i];
        d->queue.family = q->queueFamilyIndex;
        if (!q->flags && q->queueCount)
            d->dispatch.f.vkGetDeviceQueue(d->dispatch.device, q->queueFamilyIndex, 0,
                                           &d->queue.raw);
    }
}

static int make_device(struct vkr_call *c, const VkDeviceCreateInfo *info, bool can_place)
{
    const struct vk_args_vkCreateDevice *a = (const void *)c->args;
    const struct vk_instance_dispatch *instance = &c->owner->instance->dispatch;
    struct vkr_device *d = calloc(1, sizeof(*d));
    struct vkr_object *o;
    VkDevice device;
    VkResult result;

    if (!d)
        return tsm_fail(TSM_E_MEMORY, "no memory for a device");
    d->can_choose = vkr_capture_replay_address_wanted(c->r, instance, a->physicalDevice, info);
    if (d->can_choose)
        vkr_fixed_address_give_back(c->r);
    result = instance->f.vkCreateDevice(a->physicalDevice, info, NULL, &device);
    if (result < 0) {
        free(d);
        return vkr_fail("vkCreateDevice", result);
    }
    vk_device_dispatch_load(&d->dispatch, instance->f.vkGetDeviceProcAddr, device);
    d->instance = c->owner->instance;
    d->id = c->record->slots[2];
    d->can_place = can_place;
    fill_device(c, d, info);
    o = vkr_object_add(c->r, VK_OBJECT_VkDevice, d->id, VKR_RAW(device));
    if (!o) {
        vkr_device_close(c->r, d);
        return tsm_fail(TSM_E_FORMAT, "has no id");
    }
    o->instance = d->instance;
    o->device = d;
    return 0;
}

static bool lacks_windows(struct vkr_call *c, const VkDeviceCreateInfo *info)
{
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++) {
        const char *name = info->ppEnabledExtensionNames[i];
        if (name && vkr_is_of_windows(name) && !device_has(c, name))
            return true;
    }
    return false;
}

/* A driver refuses features of extensions that it does not have. */
static void drop_features_of_windows(VkDeviceCreateInfo *info)
{
    const void **next = &info->pNext;

    while (*next) {
        VkBaseOutStructure *s = (VkBaseOutStructure *)(uintptr_t)*next;
        const struct vk_struct *type = vk_struct_of((int32_t)s->sType);
        const char *name = type ? vk_name(type->name) : "";
        if (vkr_is_of_windows(name) && strstr(name, "Features"))
            *next = s->pNext;
        else
            next = (const void **)(void *)&s->pNext;
    }
}

int vkr_create_device(struct vkr_call *c)
{
    static const char *const windows[] = {VK_KHR_SWAPCHAIN_EXTENSION_NAME, NULL};
    const struct vk_args_vkCreateDevice *a = (const void *)c->args;
    VkDeviceCreateInfo info = *a->pCreateInfo;
    struct vkr_object physical = {0};
    int error;

    if (c->record->slot_count < 3 || vkr_object_find(c->r, VK_OBJECT_VkDevice, c->record->slots[2]))
        return tsm_fail(TSM_E_FORMAT, "makes no new device");
    if (!c->owner || !c->owner->instance) { /* of vkEnumeratePhysicalDeviceGroups */
        for (struct vkr_object *o = c->r->objects.last; o && !physical.instance; o = o->previous)
            if (o->type == VK_OBJECT_VkInstance)
                physical.instance = o->instance;
        c->owner = &physical;
    }
    if (!c->owner->instance || !a->physicalDevice)
        return tsm_fail(TSM_E_FORMAT, "belongs to no instance that is there");
    info.enabledLayerCount = 0;
    info.ppEnabledLayerNames = NULL;
    if (lacks_windows(c, a->pCreateInfo))
        drop_features_of_windows(&info);
    bool places = vkr_fixed_address_wanted(c->r, &c->owner->instance->dispatch, a->physicalDevice);
    error = vkr_filter_extensions(c, &info.ppEnabledExtensionNames, &info.enabledExtensionCount,
                                  places ? VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME : NULL,
                                  device_has);
    if (!error)
        error = vkr_present_window_extend(c, &info.ppEnabledExtensionNames,
                                          &info.enabledExtensionCount, windows, device_has);
    if (!error)
        error = make_device(c, &info, places);
    c->owner = NULL;
    return error;
}

void vkr_device_close(struct vkr *r, struct vkr_device *d)
{
    if (!d)
        return;
    vkr_present_window_device_destroyed(r, d);
    if (d->pool)
        d->dispatch.f.vkDestroyCommandPool(d->dispatch.device, d->pool, NULL);
    vkr_completed_drop(r, d);
    vkr_timing_drop(r, d);
    d->dispatch.f.vkDestroyDevice(d->dispatch.device, NULL);
    vkr_drop_queues(r, d);
    free(d);
}

int vkr_destroy_device(struct vkr_call *c)
{
    struct vkr_device *d = c->owner ? c->owner->device : NULL;

    if (!d)
        return 0;
    d->dispatch.f.vkDeviceWaitIdle(d->dispatch.device);
    vkr_forget(c->r, NULL, d);
    vkr_device_close(c->r, d);
    return 0;
}

/* Queues made with flags give none here. */
static bool has_queue(const struct vkr *r, const struct vkr_device *d, uint32_t family,
                      uint32_t index)
{
    for (const struct vkr_required_device *n = r->needs.devices; n; n = n->next)
        for (uint32_t i = 0; n->id == d->id && i < n->info->queueCreateInfoCount; i++)
            if (n->info->pQueueCreateInfos[i].queueFamilyIndex == family &&
                index < n->info->pQueueCreateInfos[i].queueCount)
                return true;
    return false;
}

int vkr_get_queue(struct vkr_call *c)
{
    const struct vk_args_vkGetDeviceQueue *a = (const void *)c->args;
    const struct vk_args_vkGetDeviceQueue2 *b = (const void *)c->args;
    bool is_first = c->record->type == TYPE_vkGetDeviceQueue;
    struct vkr_device *d = c->owner ? c->owner->device : NULL;
    uint32_t family = is_first ? a->queueFamilyIndex : b->pQueueInfo->queueFamilyIndex;
    uint32_t index = is_first ? a->queueIndex : b->pQueueInfo->queueIndex;
    int error;

    if (!d || !has_queue(c->r, d, family, index))
        return tsm_fail(TSM_E_FORMAT,
                        "asks for queue %u of family %u, which its device was not "
                        "made with",
                        index, family);
    error = vkr_call_driver(c);
    if (!error && (is_first || !b->pQueueInfo->flags)) /* protected ones want such buffers */
        vkr_timing_queue(c->r, d, is_first ? *a->pQueue : *b->pQueue, family);
    if (!error && !d->queue.raw && is_first)
        d->queue = (struct vkr_queue){*a->pQueue, a->queueFamilyIndex};
    return error;
}
