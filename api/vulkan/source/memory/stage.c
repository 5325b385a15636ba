/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vulkan/source/memory/stage.h"

#include <string.h>

#include "api/vulkan/source/layer.h"

/* Cached memory is read much faster. */
static uint32_t memory_type(const struct vk_device_state *d, uint32_t bits)
{
    const VkMemoryPropertyFlags wanted =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    uint32_t found = UINT32_MAX;

    for (uint32_t i = 0; i < d->memory.memoryTypeCount; i++) {
        VkMemoryPropertyFlags flags = d->memory.memoryTypes[i].propertyFlags;
        if (!(bits >> i & 1) || (flags & wanted) != wanted)
            continue;
        if (flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT)
            return i;
        found = found == UINT32_MAX ? i : found;
    }
    return found;
}

static bool make_buffer(struct vk_stage *s, uint64_t size)
{
    const struct vk_device_functions *f = &s->d->below;
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = size,
                               .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkMemoryRequirements needs;

    if (f->vkCreateBuffer(s->device, &info, NULL, &s->buffer) < 0)
        return false;
    f->vkGetBufferMemoryRequirements(s->device, s->buffer, &needs);
    allocate.allocationSize = needs.size;
    allocate.memoryTypeIndex = memory_type(s->d, needs.memoryTypeBits);
    return allocate.memoryTypeIndex != UINT32_MAX &&
           f->vkAllocateMemory(s->device, &allocate, NULL, &s->memory) >= 0 &&
           f->vkBindBufferMemory(s->device, s->buffer, s->memory, 0) >= 0 &&
           f->vkMapMemory(s->device, s->memory, 0, VK_WHOLE_SIZE, 0, &s->mapped) >= 0;
}

/* The loader gives dispatchable handles that it sees the key of their device; this one it does not
 * see. */
static bool make_commands(struct vk_stage *s, uint32_t family)
{
    const struct vk_device_functions *f = &s->d->below;
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .queueFamilyIndex = family};
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandBufferCount = 1};
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};

    if (f->vkCreateCommandPool(s->device, &pool, NULL, &s->pool) < 0)
        return false;
    info.commandPool = s->pool;
    if (f->vkAllocateCommandBuffers(s->device, &info, &s->commands) < 0)
        return false;
    memcpy(s->commands, s->device, sizeof(void *));
    return f->vkCreateFence(s->device, &fence, NULL, &s->fence) >= 0;
}

void vk_stage_finish(const struct vk_stage *s)
{
    const struct vk_device_functions *f = &s->d->below;

    f->vkDestroyFence(s->device, s->fence, NULL);
    f->vkDestroyCommandPool(s->device, s->pool, NULL);
    f->vkDestroyBuffer(s->device, s->buffer, NULL);
    f->vkFreeMemory(s->device, s->memory, NULL);
}

bool vk_stage_make(struct vk_stage *s, uint64_t size, uint32_t family)
{
    return make_buffer(s, size) && make_commands(s, family);
}

static void order(const struct vk_stage *s)
{
    VkMemoryBarrier all = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                           .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                           .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
    const VkPipelineStageFlags stages =
        VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT;

    s->d->below.vkCmdPipelineBarrier(s->commands, stages, stages, 0, 1, &all, 0, NULL, 0, NULL);
}

bool vk_stage_begin(const struct vk_stage *s)
{
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};

    if (s->d->below.vkResetFences(s->device, 1, &s->fence) < 0 ||
        s->d->below.vkResetCommandPool(s->device, s->pool, 0) < 0 ||
        s->d->below.vkBeginCommandBuffer(s->commands, &begin) < 0)
        return false;
    order(s);
    return true;
}

bool vk_stage_end(const struct vk_stage *s)
{
    order(s);
    return s->d->below.vkEndCommandBuffer(s->commands) >= 0;
}

bool vk_stage_send(const struct vk_stage *s, VkQueue queue, uint32_t count,
                   const VkSemaphore *semaphores)
{
    VkPipelineStageFlags stages[VK_STAGE_WAITS_MAX];
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                           .waitSemaphoreCount = count,
                           .pWaitSemaphores = semaphores,
                           .pWaitDstStageMask = stages,
                           .commandBufferCount = 1,
                           .pCommandBuffers = &s->commands,
                           .signalSemaphoreCount = count,
                           .pSignalSemaphores = semaphores};

    for (uint32_t i = 0; i < VK_STAGE_WAITS_MAX; i++)
        stages[i] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    return s->d->below.vkQueueSubmit(queue, 1, &submit, s->fence) >= 0;
}

bool vk_stage_wait(const struct vk_stage *s, uint64_t ns)
{
    return s->d->below.vkWaitForFences(s->device, 1, &s->fence, VK_TRUE, ns) == VK_SUCCESS;
}
