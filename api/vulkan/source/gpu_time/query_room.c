/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vulkan/source/gpu_time/query_room.h"

#include <string.h>

#define RESULT_SIZE sizeof(struct vk_query_result)

uint64_t vk_query_mask(const struct vk_device_state *device, uint32_t family)
{
    VkQueueFamilyProperties list[32];
    uint32_t count = 32;

    device->dispatch.instance->f.vkGetPhysicalDeviceQueueFamilyProperties(
        device->dispatch.physical_device, &count, list);
    if (family >= count ||
        !(list[family].queueFlags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT)))
        return 0;
    return list[family].timestampValidBits >= 64
               ? UINT64_MAX
               : ((uint64_t)1 << list[family].timestampValidBits) - 1;
}

/* ---- making --------------------------------------------------------------------------------- */

/* Creates the buffers. The loader must initialise handles that a layer allocates itself. */
static bool make_buffers(const struct vk_query_room *room, VkCommandBuffer *list, uint32_t count)
{
    const struct vk_device_state *d = room->device;
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = room->commands,
                                        .commandBufferCount = count};

    if (d->below.vkAllocateCommandBuffers(d->dispatch.device, &info, list) < 0)
        return false;
    for (uint32_t i = 0; d->set_loader_data && i < count; i++)
        if (d->set_loader_data(d->dispatch.device, list[i]) < 0)
            return false;
    return true;
}

/* Returns a type of host-visible and coherent memory among `bits`; each device has one. */
static uint32_t memory_type(const struct vk_device_state *d, uint32_t bits)
{
    const VkMemoryPropertyFlags wanted =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    uint32_t type = 0;

    while (type + 1 < d->memory.memoryTypeCount &&
           (!(bits >> type & 1) || (d->memory.memoryTypes[type].propertyFlags & wanted) != wanted))
        type++;
    return type;
}

static bool make_memory(struct vk_query_room *room, uint32_t query_count)
{
    const struct vk_device_functions *f = &room->device->below;
    const VkDevice device = room->device->dispatch.device;
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = query_count * RESULT_SIZE,
                               .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkMemoryRequirements needs;
    void *mapped;

    if (f->vkCreateBuffer(device, &info, NULL, &room->buffer) < 0)
        return false;
    f->vkGetBufferMemoryRequirements(device, room->buffer, &needs);
    allocate.allocationSize = needs.size;
    allocate.memoryTypeIndex = memory_type(room->device, needs.memoryTypeBits);
    if (f->vkAllocateMemory(device, &allocate, NULL, &room->memory) < 0 ||
        f->vkBindBufferMemory(device, room->buffer, room->memory, 0) < 0 ||
        f->vkMapMemory(device, room->memory, 0, VK_WHOLE_SIZE, 0, &mapped) < 0)
        return false;
    room->results = mapped;
    return true;
}

bool vk_query_room_make(struct vk_query_room *room, struct vk_device_state *device, uint32_t family,
                        uint32_t query_count, VkCommandBuffer *list, uint32_t buffer_count)
{
    const struct vk_device_functions *f = &device->below;
    VkQueryPoolCreateInfo queries = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                     .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                     .queryCount = query_count};
    VkCommandPoolCreateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                        .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                        .queueFamilyIndex = family};

    room->device = device;
    room->family = family;
    return f->vkCreateQueryPool(device->dispatch.device, &queries, NULL, &room->queries) >= 0 &&
           f->vkCreateCommandPool(device->dispatch.device, &commands, NULL, &room->commands) >= 0 &&
           make_memory(room, query_count) && make_buffers(room, list, buffer_count);
}

void vk_query_room_free(struct vk_query_room *room)
{
    const struct vk_device_state *d = room->device;

    if (room->buffer)
        d->below.vkDestroyBuffer(d->dispatch.device, room->buffer, NULL);
    if (room->memory)
        d->below.vkFreeMemory(d->dispatch.device, room->memory, NULL);
    if (room->queries)
        d->below.vkDestroyQueryPool(d->dispatch.device, room->queries, NULL);
    if (room->commands)
        d->below.vkDestroyCommandPool(d->dispatch.device, room->commands, NULL);
    memset(room, 0, sizeof(*room));
}

/* ---- copies --------------------------------------------------------------------------------- */

static void order(const struct vk_query_room *room, VkCommandBuffer commands,
                  VkPipelineStageFlags behind, VkAccessFlags access)
{
    const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                     .dstAccessMask = access};

    room->device->below.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, behind, 0, 1,
                                             &barrier, 0, NULL, 0, NULL);
}

void vk_query_room_copy(const struct vk_query_room *room, VkCommandBuffer commands, uint32_t first,
                        uint32_t count)
{
    const struct vk_device_functions *f = &room->device->below;

    f->vkCmdCopyQueryPoolResults(
        commands, room->queries, first, count, room->buffer, first * RESULT_SIZE, RESULT_SIZE,
        VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT | VK_QUERY_RESULT_WAIT_BIT);
    order(room, commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT);
}

void vk_query_room_show(const struct vk_query_room *room, VkCommandBuffer commands)
{
    order(room, commands, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
}
