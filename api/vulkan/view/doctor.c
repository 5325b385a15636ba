/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks the Vulkan loader for its devices. Runs in a child process, like every probe of a driver.
 */
#include "tools/doctor/doctor.h"

#include "api/vulkan/tables/headers.h"
#include "base/text.h"

#include <dlfcn.h>

#define LOADER     "libvulkan.so.1"
#define DEVICE_MAX 8u

static size_t say_devices(VkInstance instance, PFN_vkGetInstanceProcAddr get, char *out,
                          size_t size)
{
    PFN_vkEnumeratePhysicalDevices enumerate =
        (PFN_vkEnumeratePhysicalDevices)get(instance, "vkEnumeratePhysicalDevices");
    PFN_vkGetPhysicalDeviceProperties ask =
        (PFN_vkGetPhysicalDeviceProperties)get(instance, "vkGetPhysicalDeviceProperties");
    VkPhysicalDevice devices[DEVICE_MAX];
    uint32_t count = DEVICE_MAX;
    size_t used = 0;

    if (!enumerate || !ask || enumerate(instance, &count, devices) < 0)
        return 0;
    for (uint32_t i = 0; i < count && used < size; i++) {
        VkPhysicalDeviceProperties p;
        ask(devices[i], &p);
        used += tsm_format(out + used, size - used, "%s%u: %s, Vulkan %u.%u.%u", i ? "; " : "", i,
                           p.deviceName, VK_API_VERSION_MAJOR(p.apiVersion),
                           VK_API_VERSION_MINOR(p.apiVersion), VK_API_VERSION_PATCH(p.apiVersion));
    }
    return used;
}

static void probe_vulkan(const char *library, char *out, size_t size)
{
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
    void *loader = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    PFN_vkGetInstanceProcAddr get =
        loader ? (PFN_vkGetInstanceProcAddr)dlsym(loader, "vkGetInstanceProcAddr") : NULL;
    PFN_vkCreateInstance create = get ? (PFN_vkCreateInstance)get(NULL, "vkCreateInstance") : NULL;
    VkInstance instance;

    if (!loader)
        tsm_format(out, size, "-%s", dlerror());
    else if (!create)
        tsm_format(out, size, "-%s is no Vulkan loader", library);
    else if (create(&info, NULL, &instance) < 0)
        tsm_format(out, size, "-the loader finds no driver");
    else if (tsm_format(out, size, "+"), say_devices(instance, get, out + 1, size - 1) == 0)
        tsm_format(out, size, "-the drivers know no device");
}

void tsm_doctor_vulkan(struct tsm_finding *out)
{
    char said[400];

    if (tsm_probe(probe_vulkan, LOADER, said, sizeof(said)))
        tsm_found(out, TSM_HEALTH_OK, "", "%s", said + 1);
    else
        tsm_found(out, TSM_HEALTH_WARN,
                  "install a loader and a driver (Debian: libvulkan1, mesa-vulkan-drivers)",
                  "no Vulkan device: %s", said[0] ? said + 1 : "no answer");
}
