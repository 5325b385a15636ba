/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs that open a driver themselves, without the loader (ncnn does): they are given our
 * vkGetInstanceProcAddr in the place of the driver's. What the loader would do is done here: each
 * dispatchable handle gets our key in its first word, which drivers leave to the loader
 * (ICD_LOADER_MAGIC in vk_icd.h).
 */
#include "api/vulkan/source/direct.h"

#include "api/vulkan/source/layer.h"

#include "api/vulkan/vulkan_hooks.h"
#include "capture/capture.h"
#include "interpose/real_library.h"

#include <dlfcn.h>
#include <string.h>

static _Atomic(PFN_vkGetInstanceProcAddr) next_get;

PFN_vkGetInstanceProcAddr vk_direct_next(void)
{
    return atomic_load(&next_get);
}

static bool is_loader(const Dl_info *library)
{
    const char *slash = strrchr(library->dli_fname, '/');

    return strncmp(slash ? slash + 1 : library->dli_fname, "libvulkan.so", 12) == 0;
}

/* A driver in front of another one, below the loader and us. */
static bool is_driver(const Dl_info *library)
{
    void *handle = tsm_libc_dlopen()(library->dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    void *own = handle ? tsm_libc_dlsym()(handle, "vk_icdGetInstanceProcAddr") : NULL;
    Dl_info where;
    bool is = own && dladdr(own, &where) && where.dli_fbase == library->dli_fbase;

    if (handle)
        dlclose(handle);
    return is;
}

static bool is_program(const void *caller)
{
    Dl_info library;

    return !dladdr(caller, &library) || !library.dli_fname ||
           (!is_loader(&library) && !is_driver(&library));
}

void *vk_direct_found(void *address, const void *caller)
{
    PFN_vkGetInstanceProcAddr there = NULL, driver = (PFN_vkGetInstanceProcAddr)address;

    atomic_store(&vk_driver_seen, address);
    if (!is_program(caller) || vk_layer_is_passive())
        return address;
    if (atomic_compare_exchange_strong(&next_get, &there, driver) || there == driver)
        return (void *)hook_vkGetInstanceProcAddr;
    tsm_session_unmodelled("a second Vulkan driver opened without the loader", true);
    return address;
}

void vk_direct_key(void *handle, const void *key)
{
    if (handle)
        memcpy(handle, &key, sizeof(key));
}

static const void *key_of(const void *handle)
{
    return *(const void *const *)handle;
}

/* ---- handles that an instance gives out ----------------------------------------------------- */

/* Only one driver is opened so, so one set of its functions is enough. */
static struct {
    PFN_vkEnumeratePhysicalDevices vkEnumeratePhysicalDevices;
    PFN_vkEnumeratePhysicalDeviceGroups vkEnumeratePhysicalDeviceGroups;
} driver;

static VKAPI_ATTR VkResult VKAPI_CALL enumerate(VkInstance instance, uint32_t *count,
                                                VkPhysicalDevice *devices)
{
    VkResult result = driver.vkEnumeratePhysicalDevices(instance, count, devices);

    for (uint32_t i = 0; devices && result >= 0 && i < *count; i++)
        vk_direct_key(devices[i], key_of(instance));
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL enumerate_groups(VkInstance instance, uint32_t *count,
                                                       VkPhysicalDeviceGroupProperties *groups)
{
    VkResult result = driver.vkEnumeratePhysicalDeviceGroups(instance, count, groups);

    for (uint32_t i = 0; groups && result >= 0 && i < *count; i++)
        for (uint32_t j = 0; j < groups[i].physicalDeviceCount; j++)
            vk_direct_key(groups[i].physicalDevices[j], key_of(instance));
    return result;
}

void vk_direct_patch(struct vk_instance_state *instance)
{
    struct vk_instance_functions *f = &instance->dispatch.f;

    driver.vkEnumeratePhysicalDevices = f->vkEnumeratePhysicalDevices;
    f->vkEnumeratePhysicalDevices = enumerate;
    driver.vkEnumeratePhysicalDeviceGroups = f->vkEnumeratePhysicalDeviceGroups
                                                 ? f->vkEnumeratePhysicalDeviceGroups
                                                 : f->vkEnumeratePhysicalDeviceGroupsKHR;
    if (f->vkEnumeratePhysicalDeviceGroups)
        f->vkEnumeratePhysicalDeviceGroups = enumerate_groups;
    if (f->vkEnumeratePhysicalDeviceGroupsKHR)
        f->vkEnumeratePhysicalDeviceGroupsKHR = enumerate_groups;
}

/* ---- ... and a device ----------------------------------------------------------------------- */

static VKAPI_ATTR void VKAPI_CALL get_queue(VkDevice device, uint32_t family, uint32_t index,
                                            VkQueue *queue)
{
    vk_state_of(device)->below.vkGetDeviceQueue(device, family, index, queue);
    vk_direct_key(*queue, key_of(device));
}

static VKAPI_ATTR void VKAPI_CALL get_queue2(VkDevice device, const VkDeviceQueueInfo2 *info,
                                             VkQueue *queue)
{
    vk_state_of(device)->below.vkGetDeviceQueue2(device, info, queue);
    vk_direct_key(*queue, key_of(device));
}

static VKAPI_ATTR VkResult VKAPI_CALL allocate_command_buffers(
    VkDevice device, const VkCommandBufferAllocateInfo *info, VkCommandBuffer *buffers)
{
    VkResult result = vk_state_of(device)->below.vkAllocateCommandBuffers(device, info, buffers);

    for (uint32_t i = 0; result >= 0 && i < info->commandBufferCount; i++)
        vk_direct_key(buffers[i], key_of(device));
    return result;
}

void vk_direct_patch_device(struct vk_device_state *device)
{
    struct vk_device_functions *f = &device->dispatch.f;

    f->vkGetDeviceQueue = get_queue;
    if (f->vkGetDeviceQueue2)
        f->vkGetDeviceQueue2 = get_queue2;
    f->vkAllocateCommandBuffers = allocate_command_buffers;
}
