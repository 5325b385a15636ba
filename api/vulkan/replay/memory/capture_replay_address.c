/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses that the driver chooses again: what it said of buffers and memory when they were
 * recorded (api/vulkan/source/memory/address.c) is given back to it, where it has the feature
 * (bufferDeviceAddressCaptureReplay). Elsewhere addresses are as address.c has them.
 */
#include "api/vulkan/replay/memory/capture_replay_address.h"

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/replay.h"
#include "api/vulkan/tables/chain.h"

static int note(struct tsm_map *map, uint64_t id, uint64_t value)
{
    return tsm_map_set(map, id, value)
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for addresses of buffers");
}

int vkr_capture_replay_address_plan(struct vkr *r, struct vkr_call *c)
{
    const struct vk_args_vkGetBufferOpaqueCaptureAddress *buffer = (const void *)c->args;
    const struct vk_args_vkGetDeviceMemoryOpaqueCaptureAddress *memory = (const void *)c->args;

    if (c->record->type == TYPE_vkGetBufferOpaqueCaptureAddress ||
        c->record->type == TYPE_vkGetBufferOpaqueCaptureAddressKHR)
        return note(&r->opaque.buffers, VKR_RAW(buffer->pInfo->buffer),
                    (uint64_t)c->record->result);
    return note(&r->opaque.memories, VKR_RAW(memory->pInfo->memory), (uint64_t)c->record->result);
}

bool vkr_capture_replay_address_wanted(const struct vkr *r,
                                       const struct vk_instance_dispatch *instance,
                                       VkPhysicalDevice physical, const VkDeviceCreateInfo *info)
{
    VkPhysicalDeviceVulkan12Features *all =
        vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
    VkPhysicalDeviceBufferDeviceAddressFeatures *one = vk_chain_find(
        info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES);
    VkPhysicalDeviceBufferDeviceAddressFeatures here = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES};
    VkPhysicalDeviceFeatures2 query = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                       .pNext = &here};

    if (!r->opaque.memories.count || (!all && !one))
        return false;
    if (instance->f.vkGetPhysicalDeviceFeatures2)
        instance->f.vkGetPhysicalDeviceFeatures2(physical, &query);
    if (!here.bufferDeviceAddressCaptureReplay)
        return false;
    if (all)
        all->bufferDeviceAddressCaptureReplay = VK_TRUE;
    else
        one->bufferDeviceAddressCaptureReplay = VK_TRUE;
    return true;
}

int vkr_capture_replay_address_buffer(struct vkr_call *c, VkBufferCreateInfo *info)
{
    const uint64_t *address =
        c->owner && c->owner->device && c->owner->device->can_choose && c->record->slot_count > 2
            ? tsm_map_find(&c->r->opaque.buffers, c->record->slots[2])
            : NULL;
    VkBufferOpaqueCaptureAddressCreateInfo *again;

    if (!address ||
        vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_BUFFER_OPAQUE_CAPTURE_ADDRESS_CREATE_INFO))
        return 0;
    again = vkr_call_take(c, sizeof(*again));
    if (!again)
        return tsm_fail(TSM_E_MEMORY, "no memory for a buffer");
    *again = (VkBufferOpaqueCaptureAddressCreateInfo){
        VK_STRUCTURE_TYPE_BUFFER_OPAQUE_CAPTURE_ADDRESS_CREATE_INFO, info->pNext, *address};
    info->pNext = again;
    info->flags |= VK_BUFFER_CREATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT;
    return 0;
}

bool vkr_capture_replay_address_memory(struct vkr_call *c, VkMemoryAllocateInfo *info)
{
    const uint64_t *address = c->owner->device->can_choose
                                  ? tsm_map_find(&c->r->opaque.memories, c->record->slots[2])
                                  : NULL;
    VkMemoryAllocateFlagsInfo *flags =
        vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO);
    VkMemoryOpaqueCaptureAddressAllocateInfo *again;

    if (!address || !flags)
        return false;
    flags->flags |= VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT;
    if (vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_MEMORY_OPAQUE_CAPTURE_ADDRESS_ALLOCATE_INFO))
        return true;
    again = vkr_call_take(c, sizeof(*again));
    if (!again)
        return false;
    *again = (VkMemoryOpaqueCaptureAddressAllocateInfo){
        VK_STRUCTURE_TYPE_MEMORY_OPAQUE_CAPTURE_ADDRESS_ALLOCATE_INFO, info->pNext, *address};
    info->pNext = again;
    return true;
}

void vkr_capture_replay_address_finish(struct vkr *r)
{
    tsm_map_finish(&r->opaque.buffers);
    tsm_map_finish(&r->opaque.memories);
}
