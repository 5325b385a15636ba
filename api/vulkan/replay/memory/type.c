/* SPDX-License-Identifier: Apache-2.0
 *
 * Types of memory: the one here that is as good as the recorded one.
 */
#include "api/vulkan/replay/memory/type.h"

#include "api/vulkan/replay/device.h"

static int bits_beside(VkMemoryPropertyFlags have, VkMemoryPropertyFlags want)
{
    return __builtin_popcount(have & ~want);
}

int vkr_memory_type(const VkPhysicalDeviceMemoryProperties *memory, VkMemoryPropertyFlags flags,
                    uint32_t allowed)
{
    const VkMemoryPropertyFlags needed =
        flags & (VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT |
                 VK_MEMORY_PROPERTY_PROTECTED_BIT);
    int best = -1, best_score = 0;

    for (uint32_t i = 0; i < memory->memoryTypeCount; i++) {
        VkMemoryPropertyFlags here = memory->memoryTypes[i].propertyFlags;
        int score = 64 - 8 * bits_beside(flags, here) - bits_beside(here, flags);
        if (!(allowed >> i & 1) || (needed & ~here) ||
            (here & ~flags & VK_MEMORY_PROPERTY_PROTECTED_BIT))
            continue;
        if (best < 0 || score > best_score) {
            best = (int)i;
            best_score = score;
        }
    }
    return best;
}

int vkr_memory_remap_type(const struct vkr_device *d, VkMemoryAllocateInfo *info)
{
    uint32_t type = info->memoryTypeIndex;
    VkMemoryPropertyFlags flags;
    int here;

    if (type >= (d->recorded_type_count ? d->recorded_type_count : d->memory.memoryTypeCount))
        return tsm_fail(TSM_E_FORMAT, "there was no memory type %u", type);
    if (!d->recorded_type_count)
        return 0;
    flags = d->recorded_types[type];
    if (type < d->memory.memoryTypeCount && d->memory.memoryTypes[type].propertyFlags == flags)
        return 0;
    here = vkr_memory_type(&d->memory, flags, UINT32_MAX);
    if (here < 0)
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "it wants memory type %u with flags 0x%x, and no type here has them", type,
                        (unsigned)flags);
    info->memoryTypeIndex = (uint32_t)here;
    return 0;
}
