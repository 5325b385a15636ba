/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the device's writes: which memory buffers and images are bound to, and where timestamps are
 * written.
 */
#include "api/vulkan/source/memory/known.h"
#include "api/vulkan/source/layer.h"
#include "api/vulkan/source/memory/address.h"
#include "api/vulkan/source/memory/memory.h"
#include "api/vulkan/source/source.h"
#include "api/vulkan/tables/chain.h"
#include "api/vulkan/vulkan_args.h"
#include "api/vulkan/vulkan_hooks.h"

static struct tsm_handle *handle_of(uint32_t type, uint64_t raw)
{
    return raw ? tsm_handle_find(SBT_API_VULKAN, type, raw) : NULL;
}

/* Whether the device may write a buffer: `incarnation` of its handle, which has no other use there.
 * Of one into which it only copies, `position` is the size until it is bound. */
void vk_buffer_created(struct tsm_call *call, const void *args, int64_t result)
{
    const VkBufferUsageFlags only_read =
        VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT |
        VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_INDEX_BUFFER_BIT |
        VK_BUFFER_USAGE_VERTEX_BUFFER_BIT | VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT;
    const struct vk_args_vkCreateBuffer *a = args;
    struct tsm_handle *handle;

    if (result < 0)
        return;
    vk_address_of_buffer(a);
    handle = handle_of(VK_OBJECT_VkBuffer, VK_RAW(*a->pBuffer));
    if (!handle)
        return;
    handle->incarnation = (a->pCreateInfo->usage & ~only_read) != 0;
    if (a->pCreateInfo->usage == VK_BUFFER_USAGE_TRANSFER_DST_BIT)
        handle->position = a->pCreateInfo->size;
}

static void bound(VkDevice device, VkBuffer buffer, VkDeviceMemory memory, uint64_t offset)
{
    struct tsm_handle *handle = handle_of(VK_OBJECT_VkBuffer, VK_RAW(buffer));

    if (!handle)
        return;
    if (handle->incarnation)
        vk_memory_device_writes(vk_state_of(device), memory);
    if (handle->position)
        vk_memory_gives(vk_state_of(device), memory, offset, handle->position);
    handle->position = offset;
    handle->user = (void *)(uintptr_t)VK_RAW(memory); /* NOLINT: a number */
}

void vk_query_pool_created(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkCreateQueryPool *a = args;
    struct tsm_handle *handle = NULL;

    if (result >= 0 && a->pCreateInfo->queryType == VK_QUERY_TYPE_TIMESTAMP)
        handle = handle_of(VK_OBJECT_VkQueryPool, VK_RAW(*a->pQueryPool));
    if (handle)
        handle->user = handle; /* of times */
}

/* Into a buffer, which has memory. */
void vk_results_copied(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkCmdCopyQueryPoolResults *a = args;
    const struct tsm_handle *pool = handle_of(VK_OBJECT_VkQueryPool, VK_RAW(a->queryPool));
    const struct tsm_handle *buffer = handle_of(VK_OBJECT_VkBuffer, VK_RAW(a->dstBuffer));
    uint64_t size = a->flags & VK_QUERY_RESULT_64_BIT ? 8 : 4;
    uint32_t count = a->queryCount;

    if (!pool || !pool->user || !buffer || !a->queryCount)
        return;
    size *= a->flags & VK_QUERY_RESULT_WITH_AVAILABILITY_BIT ? 2 : 1;
    if (a->stride == size || a->queryCount > 64) { /* one part */
        size += (a->queryCount - 1) * a->stride;
        count = 1;
    }
    for (uint32_t i = 0; i < count; i++)
        vk_memory_times(vk_state_of(a->commandBuffer),
                        (VkDeviceMemory)(uintptr_t)buffer->user, /* NOLINT: a handle */
                        buffer->position + a->dstOffset + i * a->stride, size);
}

void vk_buffer_bound(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkBindBufferMemory *a = args;

    if (result >= 0)
        bound(a->device, a->buffer, a->memory, a->memoryOffset);
}

void vk_buffers_bound(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkBindBufferMemory2 *a = args;

    for (uint32_t i = 0; result >= 0 && i < a->bindInfoCount; i++)
        bound(a->device, a->pBindInfos[i].buffer, a->pBindInfos[i].memory,
              a->pBindInfos[i].memoryOffset);
}

static struct vk_place place_of(VkBuffer buffer, uint64_t offset)
{
    const struct tsm_handle *handle = handle_of(VK_OBJECT_VkBuffer, VK_RAW(buffer));

    if (!handle)
        return (struct vk_place){0};
    return (struct vk_place){(VkDeviceMemory)(uintptr_t)handle->user, /* NOLINT: a handle */
                             handle->position + offset};
}

void vk_buffer_copied(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkCmdCopyBuffer *a = args;

    for (uint32_t i = 0; vk_memory_has_times() && i < a->regionCount; i++)
        vk_memory_copied(vk_state_of(a->commandBuffer),
                         place_of(a->srcBuffer, a->pRegions[i].srcOffset),
                         place_of(a->dstBuffer, a->pRegions[i].dstOffset), a->pRegions[i].size);
}

void vk_buffer2_copied(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkCmdCopyBuffer2 *a = args;
    const VkCopyBufferInfo2 *info = a->pCopyBufferInfo;

    for (uint32_t i = 0; vk_memory_has_times() && i < info->regionCount; i++)
        vk_memory_copied(
            vk_state_of(a->commandBuffer), place_of(info->srcBuffer, info->pRegions[i].srcOffset),
            place_of(info->dstBuffer, info->pRegions[i].dstOffset), info->pRegions[i].size);
}

void vk_image_bound(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkBindImageMemory *a = args;

    if (result >= 0)
        vk_memory_device_writes(vk_state_of(a->device), a->memory);
}

void vk_images_bound(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkBindImageMemory2 *a = args;

    for (uint32_t i = 0; result >= 0 && i < a->bindInfoCount; i++)
        if (vk_chain_find(a->pBindInfos[i].pNext,
                          VK_STRUCTURE_TYPE_BIND_IMAGE_MEMORY_SWAPCHAIN_INFO_KHR) == NULL)
            vk_memory_device_writes(vk_state_of(a->device), a->pBindInfos[i].memory);
}
