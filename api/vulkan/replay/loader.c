/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding Vulkan. It is opened, never linked: a replayer without any must still read traces.
 */
#include "api/vulkan/replay/loader.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define LOADER "libvulkan.so.1"
#define DRIVER_INTERFACE                                                                           \
    5u /* of the loader and driver interface: what we speak to a driver alone */

static void *symbol(const struct vkr_loader *loader, const char *name)
{
    return dlsym(loader->handle, name);
}

/* A driver opened without a loader gives its functions under another name, and is spoken to first.
 */
static PFN_vkGetInstanceProcAddr find_get(const struct vkr_loader *loader)
{
    VkResult (*negotiate)(uint32_t *) =
        (VkResult(*)(uint32_t *))symbol(loader, "vk_icdNegotiateLoaderICDInterfaceVersion");
    void *get = symbol(loader, "vkGetInstanceProcAddr");
    uint32_t version = DRIVER_INTERFACE;

    if (get)
        return (PFN_vkGetInstanceProcAddr)get;
    if (negotiate)
        negotiate(&version);
    return (PFN_vkGetInstanceProcAddr)symbol(loader, "vk_icdGetInstanceProcAddr");
}

int vkr_loader_open(struct vkr_loader *out, const char *path)
{
    PFN_vkEnumerateInstanceVersion get_version;

    tsm_format(out->path, sizeof(out->path), "%s", path ? path : LOADER);
    out->handle = dlopen(out->path, RTLD_NOW | RTLD_LOCAL);
    if (!out->handle)
        return tsm_fail(TSM_E_NOT_FOUND,
                        "cannot open %s: %s; install a Vulkan loader (Debian: libvulkan1) and a "
                        "driver (mesa-vulkan-drivers has one that needs no GPU)",
                        out->path, dlerror());
    out->get = find_get(out);
    if (!out->get)
        return tsm_fail(TSM_E_UNSUPPORTED, "%s is no Vulkan loader or driver", out->path);
    get_version =
        (PFN_vkEnumerateInstanceVersion)out->get(VK_NULL_HANDLE, "vkEnumerateInstanceVersion");
    out->version = VK_API_VERSION_1_0;
    if (get_version)
        get_version(&out->version);
    return 0;
}

void vkr_loader_close(struct vkr_loader *loader)
{
    if (loader->handle)
        dlclose(loader->handle);
    memset(loader, 0, sizeof(*loader));
}

/* ---- results ----------------------------------------------------------------------------- */

const char *vkr_result_name(int64_t result)
{
    for (uint32_t i = 0; i < vk_enum_count; i++) {
        const struct vk_enum *e = &vk_enums[i];
        if (strcmp(vk_name(e->name), "VkResult") != 0)
            continue;
        for (uint32_t j = 0; j < e->count; j++)
            if (vk_values[e->first + j].value == result)
                return vk_name(vk_values[e->first + j].name);
    }
    return "an unknown error";
}

int vkr_fail(const char *call, int64_t result)
{
    return tsm_fail(TSM_E_DEVICE, "%s gave %s (%lld)", call, vkr_result_name(result),
                    (long long)result);
}

/* ---- what there is ----------------------------------------------------------------------- */

static bool is_in(const VkExtensionProperties *list, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(list[i].extensionName, name) == 0)
            return true;
    return false;
}

bool vkr_instance_has(const struct vkr_loader *loader, const char *name)
{
    PFN_vkEnumerateInstanceExtensionProperties enumerate =
        (PFN_vkEnumerateInstanceExtensionProperties)loader->get(
            VK_NULL_HANDLE, "vkEnumerateInstanceExtensionProperties");
    VkExtensionProperties *list = NULL;
    uint32_t count = 0;
    bool has = false;

    if (enumerate && enumerate(NULL, &count, NULL) >= 0)
        list = calloc(count + 1, sizeof(*list));
    if (list && enumerate(NULL, &count, list) >= 0)
        has = is_in(list, count, name);
    free(list);
    return has;
}

bool vkr_device_has(const struct vk_instance_dispatch *instance, VkPhysicalDevice physical,
                    const char *name)
{
    PFN_vkEnumerateDeviceExtensionProperties enumerate =
        instance->f.vkEnumerateDeviceExtensionProperties;
    VkExtensionProperties *list = NULL;
    uint32_t count = 0;
    bool has = false;

    if (enumerate && enumerate(physical, NULL, &count, NULL) >= 0)
        list = calloc(count + 1, sizeof(*list));
    if (list && enumerate(physical, NULL, &count, list) >= 0)
        has = is_in(list, count, name);
    free(list);
    return has;
}

bool vkr_has_layer(const struct vkr_loader *loader, const char *name)
{
    PFN_vkEnumerateInstanceLayerProperties enumerate =
        (PFN_vkEnumerateInstanceLayerProperties)loader->get(VK_NULL_HANDLE,
                                                            "vkEnumerateInstanceLayerProperties");
    VkLayerProperties *list = NULL;
    uint32_t count = 0;
    bool has = false;

    if (enumerate && enumerate(&count, NULL) >= 0)
        list = calloc(count + 1, sizeof(*list));
    if (list && enumerate(&count, list) >= 0)
        for (uint32_t i = 0; i < count; i++)
            has |= strcmp(list[i].layerName, name) == 0;
    free(list);
    return has;
}
