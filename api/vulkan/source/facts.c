/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes facts about the recorded devices into the trace: vulkan.device.N.*, N being the id of the
 * VkDevice.
 */
#include "api/vulkan/source/facts.h"

#include "api/vulkan/source/layer.h"

#include "api/vulkan/source/source.h"
#include "base/text.h"

static void fact(uint32_t device, const char *name, const char *value)
{
    char full[64];

    tsm_format(full, sizeof(full), "vulkan.device.%u.%s", device, name);
    tsm_session_metadata(full, value);
}

static void number(uint32_t device, const char *name, unsigned value, bool hex)
{
    char text[32];

    if (hex)
        tsm_format(text, sizeof(text), "0x%x", value);
    else
        tsm_format(text, sizeof(text), "%u", value);
    fact(device, name, text);
}

static void api_version(uint32_t device, uint32_t version)
{
    char text[48];

    tsm_format(text, sizeof(text), "%u.%u.%u", VK_API_VERSION_MAJOR(version),
               VK_API_VERSION_MINOR(version), VK_API_VERSION_PATCH(version));
    fact(device, "api", text);
}

/* "heap size flags, ..." and "type heap flags, ...", as the driver numbers them. */
static void memory(uint32_t device, const VkPhysicalDeviceMemoryProperties *m)
{
    char name[32], text[64];

    for (uint32_t i = 0; i < m->memoryHeapCount; i++) {
        tsm_format(name, sizeof(name), "heap.%u", i);
        tsm_format(text, sizeof(text), "%llu bytes, flags 0x%x",
                   (unsigned long long)m->memoryHeaps[i].size, (unsigned)m->memoryHeaps[i].flags);
        fact(device, name, text);
    }
    for (uint32_t i = 0; i < m->memoryTypeCount; i++) {
        tsm_format(name, sizeof(name), "memory.%u", i);
        tsm_format(text, sizeof(text), "heap %u, flags 0x%x", m->memoryTypes[i].heapIndex,
                   (unsigned)m->memoryTypes[i].propertyFlags);
        fact(device, name, text);
    }
}

/* The driver's name came with Vulkan 1.2; before that the number says enough. */
static void driver(uint32_t device, const struct vk_device_state *state, uint32_t version)
{
    VkPhysicalDeviceDriverProperties names = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
    VkPhysicalDeviceProperties2 query = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                         .pNext = &names};

    const struct vk_instance_state *instance = (const void *)state->dispatch.instance;

    if (version < VK_API_VERSION_1_2 || instance->api_version < VK_API_VERSION_1_1 ||
        !state->dispatch.instance->f.vkGetPhysicalDeviceProperties2)
        return;
    state->dispatch.instance->f.vkGetPhysicalDeviceProperties2(state->dispatch.physical_device,
                                                               &query);
    fact(device, "driver", names.driverName);
    fact(device, "driver_info", names.driverInfo);
}

void vk_describe_device(const struct vk_device_state *state)
{
    VkPhysicalDeviceProperties p;
    uint32_t device = (uint32_t)vk_id(VK_OBJECT_VkDevice, VK_RAW(state->dispatch.device));

    tsm_inside_enter();
    state->dispatch.instance->f.vkGetPhysicalDeviceProperties(state->dispatch.physical_device, &p);
    fact(device, "name", p.deviceName);
    api_version(device, p.apiVersion);
    number(device, "driver_version", p.driverVersion, true);
    number(device, "vendor", p.vendorID, true);
    number(device, "device", p.deviceID, true);
    number(device, "type", p.deviceType, false);
    driver(device, state, p.apiVersion);
    memory(device, &state->memory);
    tsm_inside_leave();
}
