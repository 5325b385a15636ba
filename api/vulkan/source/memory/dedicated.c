/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that the program makes for one buffer or image alone (VkMemoryDedicatedAllocateInfo) takes
 * no buffer of ours, by which memory that the host cannot map is filled and copied. Where the
 * driver does not require it to be so made, it is allocated as ordinary memory; the record says
 * what the program asked for.
 */
#include "api/vulkan/source/memory/known.h"

#include "api/vulkan/source/layer.h"
#include "api/vulkan/source/source.h"
#include "api/vulkan/tables/chain.h"

/* Tests whether somebody will want to know what the memory holds. */
static bool is_wanted(void)
{
    const struct tsm_settings *s = tsm_session_settings();

    return s->enabled && (s->checksum != TSM_CHECKSUM_OFF || s->checkpoint_commands ||
                          s->checkpoint_ns || s->start_paused || s->start_call || s->start_signal);
}

/* Returns false if that cannot be had: then there may be room as the program wants it. */
static bool allocate_ordinary(const struct vk_device_state *d, const VkMemoryAllocateInfo *info,
                              const VkAllocationCallbacks *allocator, VkDeviceMemory *out,
                              VkResult *result)
{
    VkMemoryAllocateInfo own = *info;
    _Alignas(16) uint8_t room[1024];
    VkMemoryDedicatedAllocateInfo *none = vk_chain_copy_until(
        room, sizeof(room), &own.pNext, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO);

    if (!none)
        return false;
    none->image = VK_NULL_HANDLE;
    none->buffer = VK_NULL_HANDLE;
    *result = d->below.vkAllocateMemory(d->dispatch.device, &own, allocator, out);
    return *result >= 0;
}

VkResult vk_dedicated_allocate(const struct vk_device_state *d, const VkMemoryAllocateInfo *info,
                               const VkAllocationCallbacks *allocator, VkDeviceMemory *out,
                               bool *is_dedicated)
{
    const VkMemoryDedicatedAllocateInfo *one =
        vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO);
    uint32_t type = info->memoryTypeIndex;
    VkResult result;

    *is_dedicated = one && (one->image || one->buffer);
    if (*is_dedicated && is_wanted() && type < d->memory.memoryTypeCount &&
        !(d->memory.memoryTypes[type].propertyFlags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) &&
        !vk_requires_dedicated(&d->dispatch, one) &&
        allocate_ordinary(d, info, allocator, out, &result)) {
        *is_dedicated = false;
        return result;
    }
    return d->below.vkAllocateMemory(d->dispatch.device, info, allocator, out);
}
