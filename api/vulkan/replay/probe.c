/* SPDX-License-Identifier: Apache-2.0
 *
 * An instance of our own, by which the devices here are seen before the trace makes any.
 */
#include "api/vulkan/replay/device.h"

#include <stdlib.h>

#include "api/vulkan/replay/loader.h"
#include "api/vulkan/replay/physical_device_match.h"
#include "api/vulkan/replay/replay.h"

void vkr_instance_list_devices(struct vkr_instance *i)
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
    vkr_instance_list_devices(r->probe);
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
