/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds, removes and copies structs of pNext chains. Runs in the traced program, too: no malloc.
 */
#include "api/vulkan/tables/chain.h"

#include "api/vulkan/tables/tables.h"

#include <string.h>
#include <vulkan/vk_layer.h>

void *vk_chain_find(const void *chain, VkStructureType type)
{
    const VkBaseInStructure *s = chain;

    while (s && s->sType != type)
        s = s->pNext;
    return (void *)(uintptr_t)s;
}

void vk_chain_remove(const void **next, VkStructureType type)
{
    while (*next) {
        VkBaseOutStructure *s = (void *)(uintptr_t)*next;
        if (s->sType == type)
            *next = s->pNext;
        else
            next = (const void **)&s->pNext;
    }
}

static size_t size_of(const VkBaseInStructure *s)
{
    const struct vk_struct *type = vk_struct_of((int32_t)s->sType);

    if (s->sType == VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO)
        return sizeof(VkLayerDeviceCreateInfo);
    return type ? type->size : 0;
}

void *vk_chain_copy_until(uint8_t *room, size_t room_size, const void **chain, VkStructureType type)
{
    const VkBaseInStructure *from = *chain;
    const void *first = NULL, **link = &first;
    size_t used = 0;

    for (; from; from = from->pNext) {
        size_t size = size_of(from), step = (size + 15) / 16 * 16;
        VkBaseOutStructure *copy = (void *)(room + used);
        if (!size || step > room_size - used)
            return NULL;
        memcpy(copy, from, size);
        used += step;
        *link = copy;
        link = (const void **)(void *)&copy->pNext;
        if (from->sType == type) {
            *chain = first;
            return copy;
        }
    }
    return NULL;
}
