/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vulkan/source/gpu_time/clock.h"

#include "api/vulkan/source/gpu_time/time.h"
#include "api/vulkan/source/layer.h"
#include "base/clock.h"
#include "api/vulkan/source/lock.h"
#include "capture/session.h"

#include <string.h>

#define AGAIN_NS 100000000u /* so long what was asked of both clocks is good for */

static bool has_name(const VkDeviceCreateInfo *info, const char *name)
{
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++)
        if (strcmp(info->ppEnabledExtensionNames[i], name) == 0)
            return true;
    return false;
}

/* ---- making the device ----------------------------------------------------------------------- */

static bool driver_has(const struct vk_instance_state *instance, VkPhysicalDevice physical,
                       const char *name)
{
    PFN_vkEnumerateDeviceExtensionProperties enumerate =
        instance->dispatch.f.vkEnumerateDeviceExtensionProperties;
    VkExtensionProperties *list = NULL;
    uint32_t count = 0, room;
    bool found = false;

    if (enumerate(physical, NULL, &count, NULL) < 0 || !count)
        return false;
    room = count;
    list = tsm_memory_map(room * sizeof(*list));
    if (list && enumerate(physical, NULL, &count, list) >= 0)
        for (uint32_t i = 0; i < count && !found; i++)
            found = strcmp(list[i].extensionName, name) == 0;
    if (list)
        tsm_memory_unmap(list, room * sizeof(*list));
    return found;
}

void vk_time_extend(const struct vk_instance_state *instance, VkPhysicalDevice physical,
                    VkDeviceCreateInfo *info, struct vk_time_names *more)
{
    if (!tsm_session_settings()->gpu_time || info->enabledExtensionCount >= VK_TIME_NAMES_MAX ||
        has_name(info, VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME) ||
        !driver_has(instance, physical, VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME))
        return;
    if (info->enabledExtensionCount)
        memcpy(more->list, info->ppEnabledExtensionNames,
               info->enabledExtensionCount * sizeof(more->list[0]));
    more->list[info->enabledExtensionCount++] = VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME;
    info->ppEnabledExtensionNames = more->list;
}

/* Both clocks must be among those that the driver can compare. */
void vk_clock_init(struct vk_device_state *device, const VkDeviceCreateInfo *enabled)
{
    const struct vk_instance_dispatch *instance = device->dispatch.instance;
    VkPhysicalDeviceProperties p;
    VkTimeDomainEXT domains[16];
    uint32_t count = 16;
    bool has_device = false, has_host = false;

    instance->f.vkGetPhysicalDeviceProperties(device->dispatch.physical_device, &p);
    device->has_tile_shading = has_name(enabled, "VK_QCOM_tile_shading");
    device->has_shader_objects = has_name(enabled, "VK_EXT_shader_object");
    device->clock = (struct vk_device_clock){.period_ns = (double)p.limits.timestampPeriod};
    if (!has_name(enabled, VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME) ||
        !instance->f.vkGetPhysicalDeviceCalibrateableTimeDomainsEXT ||
        !device->below.vkGetCalibratedTimestampsEXT ||
        instance->f.vkGetPhysicalDeviceCalibrateableTimeDomainsEXT(device->dispatch.physical_device,
                                                                   &count, domains) < 0)
        return;
    for (uint32_t i = 0; i < count; i++) {
        has_device |= domains[i] == VK_TIME_DOMAIN_DEVICE_EXT;
        has_host |= domains[i] == VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT;
    }
    device->clock.can_compare = has_device && has_host;
}

/* ---- timestamps ------------------------------------------------------------------------------ */

static void compare(struct vk_device_state *device)
{
    const VkCalibratedTimestampInfoEXT wanted[2] = {
        {VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT, NULL, VK_TIME_DOMAIN_DEVICE_EXT},
        {VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT, NULL,
         VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT}};
    uint64_t now = tsm_monotonic_ns(), both[2], deviation;

    if (device->clock.host_ns && now - device->clock.host_ns < AGAIN_NS)
        return;
    if (device->below.vkGetCalibratedTimestampsEXT(device->dispatch.device, 2, wanted, both,
                                                   &deviation) < 0)
        return;
    device->clock.ticks = both[0];
    device->clock.host_ns = both[1];
    device->clock.error_ns = deviation + (uint64_t)device->clock.period_ns + 1;
}

/* From the second to the first, where clocks go around at `mask`: the shorter way. */
static double ticks_between(uint64_t from, uint64_t to, uint64_t mask)
{
    uint64_t forward = (to - from) & mask, back = (from - to) & mask;

    return forward <= back ? (double)forward : -(double)back;
}

static struct tsm_lock lock; /* of the devices' clocks */

void vk_clock_forget(void)
{
    lock = (struct tsm_lock){0};
}

struct vk_clock_span vk_clock_span(struct vk_device_state *device, uint64_t from, uint64_t to,
                                   uint64_t mask)
{
    const struct vk_device_clock *clock = &device->clock;
    struct vk_device_clock now;
    const struct tsm_session *session = tsm_session_current();
    struct vk_clock_span span = {.start_ns = (uint64_t)((double)(from & mask) * clock->period_ns)};
    double length = ticks_between(from, to, mask) * clock->period_ns;

    span.duration_ns = length > 0 ? (uint64_t)length : 0;
    if (!clock->can_compare || !session)
        return span;
    vk_lock_take(&lock);
    compare(device);
    now = *clock;
    vk_lock_give(&lock);
    if (!now.host_ns)
        return span;
    span.start_ns = now.host_ns +
                    (uint64_t)(int64_t)(ticks_between(now.ticks, from, mask) * now.period_ns) -
                    session->start.monotonic_ns;
    span.error_ns = now.error_ns;
    span.is_calibrated = true;
    return span;
}
