/* SPDX-License-Identifier: Apache-2.0
 *
 * Instances and devices: made as recorded, without the layers of the recording and without what
 * only windows need.
 */
#include "api/vulkan/replay/inspect/inspect.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"

#define VALIDATION_LAYER "VK_LAYER_KHRONOS_validation"

/* ---- devices of this machine ------------------------------------------------------------- */

const char *vkr_recorded_fact(const struct vkr *r, uint64_t device, const char *name)
{
    char full[96];

    tsm_format(full, sizeof(full), "vulkan.device.%llu.%s", (unsigned long long)device, name);
    return sbt_reader_metadata_find(r->reader, full);
}

static bool is_fact(const struct vkr *r, uint64_t device, const char *name, uint32_t number)
{
    const char *fact = vkr_recorded_fact(r, device, name);

    return fact && strtoul(fact, NULL, 0) == number;
}

bool vkr_is_recorded(const struct vkr *r, uint64_t device, const VkPhysicalDeviceProperties *here)
{
    const char *name = vkr_recorded_fact(r, device, "name");

    return name && strcmp(name, here->deviceName) == 0 &&
           is_fact(r, device, "driver_version", here->driverVersion) &&
           is_fact(r, device, "vendor", here->vendorID) &&
           is_fact(r, device, "device", here->deviceID) &&
           is_fact(r, device, "type", (uint32_t)here->deviceType);
}

static void look(struct vkr_instance *i)
{
    i->physical_count = VKR_PHYSICAL_MAX;
    if (i->dispatch.f.vkEnumeratePhysicalDevices(i->dispatch.instance, &i->physical_count,
                                                 i->physicals) < 0)
        i->physical_count = 0;
}

static int make_probe(struct vkr *r)
{
    PFN_vkCreateInstance create =
        (PFN_vkCreateInstance)r->loader.get(VK_NULL_HANDLE, "vkCreateInstance");
    VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                             .pApplicationName = "tsreplay",
                             .apiVersion = r->loader.version};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                 .pApplicationInfo = &app};
    VkInstance instance;
    VkResult result;

    r->probe = calloc(1, sizeof(*r->probe));
    if (!r->probe || !create)
        return tsm_fail(r->probe ? TSM_E_UNSUPPORTED : TSM_E_MEMORY, "cannot make an instance");
    result = create(&info, NULL, &instance);
    if (result < 0)
        return vkr_fail("vkCreateInstance", result);
    vk_instance_dispatch_load(&r->probe->dispatch, r->loader.get, instance);
    look(r->probe);
    if (!r->probe->physical_count)
        return tsm_fail(TSM_E_NOT_FOUND,
                        "%s knows no device; install a Vulkan driver (Debian: mesa-vulkan-drivers "
                        "has one that needs no GPU)",
                        r->loader.path);
    return 0;
}

int vkr_devices_prepare(struct vkr *r)
{
    int error = make_probe(r);

    return error || !r->options->device ? error : vkr_choose_device(r, r->options->device);
}

void vkr_devices_finish(struct vkr *r)
{
    if (r->probe && r->probe->dispatch.f.vkDestroyInstance)
        r->probe->dispatch.f.vkDestroyInstance(r->probe->dispatch.instance, NULL);
    free(r->probe);
    r->probe = NULL;
}

/* ---- extensions -------------------------------------------------------------------------- */

/* Is `word` one of the words that a name consists of? Of an extension they are separated by '_', of
 * a struct each begins with a capital letter. */
static bool has_word(const char *name, const char *word)
{
    size_t length = strlen(word);
    bool is_lower = word[0] >= 'a';

    for (const char *at = name; (at = strstr(at, word)); at++) {
        char before = at == name ? '_' : at[-1], after = at[length];
        if (is_lower ? before == '_' && (after == '_' || !after) : !(after >= 'a' && after <= 'z'))
            return true;
    }
    return false;
}

/* One rule for instances, devices and their features, also for those that are newer than this
 * build. */
bool vkr_is_of_windows(const char *name)
{
    static const char *const words[] = {
        "surface", "surfaceless", "swapchain", "display", "present",     "presentable",
        "Surface", "Swapchain",   "Display",   "Present", "Presentable",
    };
    static const char *const names[] = {
        "VK_EXT_full_screen_exclusive", "VK_EXT_hdr_metadata", "VK_GGP_frame_token",
        "VK_NV_low_latency2", /* of swapchains */
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (has_word(name, words[i]))
            return true;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* Tests for an extension of layers or windows: replay has neither, unless they are there anyhow. */
bool vkr_is_dispensable(const char *name)
{
    static const char *const names[] = {
        "VK_EXT_debug_marker",
        "VK_EXT_debug_report",
        "VK_EXT_debug_utils",
        "VK_EXT_device_memory_report",
        "VK_EXT_layer_settings",
        "VK_EXT_tooling_info",
        "VK_EXT_validation_cache",
        "VK_EXT_validation_features",
        "VK_EXT_validation_flags",
        "VK_KHR_portability_enumeration",
        "VK_LUNARG_direct_driver_loading",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return vkr_is_of_windows(name);
}

int vkr_filter_extensions(struct vkr_call *c, const char *const **names, uint32_t *count,
                          const char *more, bool (*has)(struct vkr_call *, const char *))
{
    const char **kept = vkr_call_take(c, (*count + 1) * sizeof(*kept));
    uint32_t used = 0;

    if (!kept)
        return tsm_fail(TSM_E_MEMORY, "no memory for names of extensions");
    for (uint32_t i = 0; i < *count; i++) {
        if (!(*names)[i])
            return tsm_fail(TSM_E_FORMAT, "an extension has no name");
        if (more && strcmp((*names)[i], more) == 0)
            continue;
        if (has(c, (*names)[i]))
            kept[used++] = (*names)[i];
        else if (!vkr_is_dispensable((*names)[i]))
            return tsm_fail(TSM_E_UNSUPPORTED, "there is no %s here", (*names)[i]);
    }
    if (more)
        kept[used++] = more;
    *names = kept;
    *count = used;
    return 0;
}

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
    look(i);
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

/* Forgets the objects that an instance or a device destroys with it: programs may leave objects. */
void vkr_forget(struct vkr *r, const struct vkr_instance *instance, const struct vkr_device *device)
{
    r->objects.cursor = r->objects.last;
    while (r->objects.cursor) {
        struct vkr_object *o = r->objects.cursor;

        if (!(device ? o->device == device : o->instance == instance)) {
            r->objects.cursor = o->previous;
            continue;
        }
        /* The validation layer is to say what the program has left. */
        if (device && o->type != VK_OBJECT_VkDevice && !r->options->validate)
            vkr_object_destroy(r, o);
        vkr_object_remove(r, o); /* others may go along */
    }
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
