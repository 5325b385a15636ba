/* SPDX-License-Identifier: Apache-2.0
 *
 * Instances and devices: made as recorded, without the layers of the recording and without what
 * only windows need.
 */
#include "api/vulkan/replay/device.h"

#include <stdlib.h>
#include <string.h>

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/extensions.h"
#include "api/vulkan/replay/inspect/present_window.h"
#include "api/vulkan/replay/loader.h"
#include "api/vulkan/replay/object.h"
#include "api/vulkan/replay/recorded_device.h"
#include "api/vulkan/replay/replay.h"
#include "base/log.h"
#include "base/text.h"

#define VALIDATION_LAYER "VK_LAYER_KHRONOS_validation"

/* ---- validation -------------------------------------------------------------------------- */

static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                 VkDebugUtilsMessageTypeFlagsEXT types,
                                                 const VkDebugUtilsMessengerCallbackDataEXT *data,
                                                 void *user)
{
    struct vkr *r = user;

    if (severity & VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT) {
        __atomic_fetch_add(&r->validation_count, 1, __ATOMIC_RELAXED);
        tsm_log(TSM_LOG_WARN, "%s", data->pMessage ? data->pMessage : "validation error");
    }
    return VK_FALSE;
}

static VkDebugUtilsMessengerCreateInfoEXT messenger_info(struct vkr *r)
{
    return (VkDebugUtilsMessengerCreateInfoEXT){
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
        .pfnUserCallback = on_message,
        .pUserData = r,
    };
}

static void watch(struct vkr *r, struct vkr_instance *i)
{
    VkDebugUtilsMessengerCreateInfoEXT info = messenger_info(r);

    if (r->options->validate && i->dispatch.f.vkCreateDebugUtilsMessengerEXT)
        i->dispatch.f.vkCreateDebugUtilsMessengerEXT(i->dispatch.instance, &info, NULL,
                                                     &i->messenger);
}

/* ---- instances --------------------------------------------------------------------------- */

static bool instance_has(struct vkr_call *c, const char *name)
{
    return vkr_instance_has(&c->r->loader, name);
}

static int set_layers(struct vkr_call *c, VkInstanceCreateInfo *info)
{
    static const char *const layers[] = {VALIDATION_LAYER};

    info->enabledLayerCount = 0;
    info->ppEnabledLayerNames = NULL;
    if (!c->r->options->validate)
        return 0;
    if (!vkr_has_layer(&c->r->loader, VALIDATION_LAYER))
        return tsm_fail(TSM_E_NOT_FOUND,
                        "there is no layer " VALIDATION_LAYER
                        "; install it (Debian: vulkan-validationlayers), or leave out --validate");
    info->enabledLayerCount = 1;
    info->ppEnabledLayerNames = layers;
    return 0;
}

static int make_instance(struct vkr_call *c, const VkInstanceCreateInfo *info)
{
    PFN_vkCreateInstance create =
        (PFN_vkCreateInstance)c->r->loader.get(VK_NULL_HANDLE, "vkCreateInstance");
    struct vkr_instance *i = calloc(1, sizeof(*i));
    struct vkr_object *o = NULL;
    VkInstance instance;
    VkResult result;

    if (!i || !create)
        goto out;
    result = create(info, NULL, &instance);
    if (result < 0) {
        free(i);
        return vkr_fail("vkCreateInstance", result);
    }
    vk_instance_dispatch_load(&i->dispatch, c->r->loader.get, instance);
    vkr_instance_list_devices(i);
    watch(c->r, i);
    o = vkr_object_add(c->r, VK_OBJECT_VkInstance, c->record->slots[1], VKR_RAW(instance));
    if (o)
        o->instance = i;
    else
        vkr_instance_close(i);
    return o ? 0 : tsm_fail(TSM_E_FORMAT, "has no id");
out:
    free(i);
    return tsm_fail(TSM_E_MEMORY, "cannot make an instance");
}

int vkr_create_instance(struct vkr_call *c)
{
    static const char *const windows[] = {VK_KHR_SURFACE_EXTENSION_NAME,
                                          VK_KHR_XCB_SURFACE_EXTENSION_NAME, NULL};
    struct vk_args_vkCreateInstance *a = (void *)c->args;
    VkInstanceCreateInfo info = *a->pCreateInfo;
    int error;

    if (c->record->slot_count < 2 ||
        vkr_object_find(c->r, VK_OBJECT_VkInstance, c->record->slots[1]))
        return tsm_fail(TSM_E_FORMAT, "makes no new instance");
    error = set_layers(c, &info);
    if (!error)
        error = vkr_filter_extensions(
            c, &info.ppEnabledExtensionNames, &info.enabledExtensionCount,
            c->r->options->validate ? VK_EXT_DEBUG_UTILS_EXTENSION_NAME : NULL, instance_has);
    if (!error)
        error = vkr_present_window_extend(c, &info.ppEnabledExtensionNames,
                                          &info.enabledExtensionCount, windows, instance_has);
    if (!instance_has(c, VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME))
        info.flags &= ~(VkInstanceCreateFlags)VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
    return error ? error : make_instance(c, &info);
}

void vkr_instance_close(struct vkr_instance *i)
{
    if (!i)
        return;
    if (i->messenger)
        i->dispatch.f.vkDestroyDebugUtilsMessengerEXT(i->dispatch.instance, i->messenger, NULL);
    i->dispatch.f.vkDestroyInstance(i->dispatch.instance, NULL);
    free(i);
}

int vkr_destroy_instance(struct vkr_call *c)
{
    struct vkr_instance *i = c->owner ? c->owner->instance : NULL;

    if (!i)
        return 0;
    for (struct vkr_object *o = c->r->objects.first; o; o = o->next)
        if (o->type == VK_OBJECT_VkDevice && o->instance == i)
            return tsm_fail(TSM_E_FORMAT, "a device of it is still there");
    vkr_present_window_instance_destroyed(c->r, i);
    vkr_forget(c->r, i, NULL);
    vkr_instance_close(i);
    return 0;
}

/* The devices themselves are found when they are named; this says whose they are. */
int vkr_enumerate_physical(struct vkr_call *c)
{
    const uint8_t *data;
    size_t size;
    struct tsm_view in;
    uint64_t count;

    if (!c->owner || c->record->slot_count < 3 || c->source.value(c, 2, &data, &size) <= 0)
        return 0;
    in = tsm_view_init(data, size);
    count = tsm_view_varint(&in);
    for (uint64_t i = 1; i < count && !in.failed; i++) {
        uint64_t id = tsm_view_varint(&in);
        struct vkr_object *o = id ? vkr_object_find(c->r, VK_OBJECT_VkPhysicalDevice, id) : NULL;
        if (id && !o)
            o = vkr_object_add(c->r, VK_OBJECT_VkPhysicalDevice, id, 0);
        if (o) {
            uint32_t place = vkr_physical_device_index(c->r, id);
            o->instance = c->owner->instance;
            if (place < o->instance->physical_count)
                vkr_object_set_raw(c->r, o, VKR_RAW(o->instance->physicals[place]));
        }
    }
    return 0;
}
