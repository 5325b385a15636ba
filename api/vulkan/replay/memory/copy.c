/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes of memory that the host cannot map: through a buffer laid over all of it, and one of ours
 * that the host can map. Used while nothing else runs.
 */
#include "api/vulkan/replay/memory/copy.h"

#include <string.h>

#include "api/vulkan/replay/device.h"
#include "api/vulkan/replay/loader.h"
#include "api/vulkan/replay/memory/memory.h"
#include "api/vulkan/replay/memory/type.h"

#define STAGE_SIZE (4u << 20)

struct stage {
    const struct vk_device_dispatch *d;
    VkBuffer buffer;
    VkDeviceMemory memory;
    uint8_t *mapped;
};

static VkResult make_buffer(const struct vk_device_dispatch *d, uint64_t size, VkBuffer *out)
{
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = size,
                               .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                        VK_BUFFER_USAGE_TRANSFER_DST_BIT};

    return d->f.vkCreateBuffer(d->device, &info, NULL, out);
}

/* Memory that may hold nothing but one image takes no buffer; then there is no way. */
void vkr_copy_prepare(struct vkr_memory *m)
{
    const struct vk_device_dispatch *d = &m->device->dispatch;
    VkMemoryRequirements needs;

    if (m->is_dedicated)
        return;
    if (make_buffer(d, m->size, &m->alias) < 0) {
        m->alias = VK_NULL_HANDLE;
        return;
    }
    d->f.vkGetBufferMemoryRequirements(d->device, m->alias, &needs);
    if (needs.size <= m->size && (needs.memoryTypeBits >> m->type & 1) &&
        d->f.vkBindBufferMemory(d->device, m->alias, m->raw, 0) >= 0)
        return;
    d->f.vkDestroyBuffer(d->device, m->alias, NULL);
    m->alias = VK_NULL_HANDLE;
}

static void stage_finish(struct stage *s)
{
    const struct vk_device_dispatch *d = s->d;

    if (s->buffer)
        d->f.vkDestroyBuffer(d->device, s->buffer, NULL);
    if (s->memory)
        d->f.vkFreeMemory(d->device, s->memory, NULL);
}

VkResult vkr_host_memory(struct vkr_device *device, VkBuffer buffer, VkDeviceMemory *memory,
                         uint8_t **mapped)
{
    const struct vk_device_dispatch *d = &device->dispatch;
    VkMemoryRequirements needs;
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkResult result;
    void *at = NULL;
    int type;

    d->f.vkGetBufferMemoryRequirements(d->device, buffer, &needs);
    type = vkr_memory_type(
        &device->memory, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
        needs.memoryTypeBits);
    if (type < 0)
        return VK_ERROR_FEATURE_NOT_PRESENT;
    info.allocationSize = needs.size;
    info.memoryTypeIndex = (uint32_t)type;
    result = d->f.vkAllocateMemory(d->device, &info, NULL, memory);
    if (result >= 0)
        result = d->f.vkBindBufferMemory(d->device, buffer, *memory, 0);
    if (result >= 0)
        result = d->f.vkMapMemory(d->device, *memory, 0, VK_WHOLE_SIZE, 0, &at);
    *mapped = at;
    return result;
}

static VkResult make_stage(struct vkr_device *device, struct stage *s)
{
    VkResult result = make_buffer(s->d, STAGE_SIZE, &s->buffer);

    return result >= 0 ? vkr_host_memory(device, s->buffer, &s->memory, &s->mapped) : result;
}

static void order(const struct vk_device_dispatch *d, VkCommandBuffer commands)
{
    VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                               .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                               .dstAccessMask =
                                   VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
    VkPipelineStageFlags all = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT;

    d->f.vkCmdPipelineBarrier(commands, all, all, 0, 1, &barrier, 0, NULL, 0, NULL);
}

static VkResult make_pool(struct vkr_device *device)
{
    const struct vk_device_dispatch *d = &device->dispatch;
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .queueFamilyIndex = device->queue.family};

    if (!device->queue.raw)
        return VK_ERROR_FEATURE_NOT_PRESENT;
    return device->pool ? VK_SUCCESS
                        : d->f.vkCreateCommandPool(d->device, &pool, NULL, &device->pool);
}

VkResult vkr_commands_begin(struct vkr_device *device, VkCommandBuffer *out)
{
    const struct vk_device_dispatch *d = &device->dispatch;
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkResult result = make_pool(device);
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = device->pool,
                                        .commandBufferCount = 1};

    if (result >= 0)
        result = d->f.vkAllocateCommandBuffers(d->device, &info, out);
    if (result < 0)
        return result;
    result = d->f.vkBeginCommandBuffer(*out, &begin);
    if (result >= 0)
        order(d, *out);
    else
        d->f.vkFreeCommandBuffers(d->device, device->pool, 1, out);
    return result;
}

VkResult vkr_commands_run(struct vkr_device *device, VkCommandBuffer commands)
{
    const struct vk_device_dispatch *d = &device->dispatch;
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                           .commandBufferCount = 1,
                           .pCommandBuffers = &commands};
    VkResult result;

    order(d, commands);
    result = d->f.vkEndCommandBuffer(commands);
    if (result >= 0)
        result = d->f.vkQueueSubmit(device->queue.raw, 1, &submit, VK_NULL_HANDLE);
    if (result >= 0)
        result = d->f.vkQueueWaitIdle(device->queue.raw);
    d->f.vkFreeCommandBuffers(d->device, device->pool, 1, &commands);
    return result;
}

static VkResult copy(struct vkr_device *device, VkBuffer from, VkBuffer to, VkBufferCopy region)
{
    VkCommandBuffer commands;
    VkResult result = vkr_commands_begin(device, &commands);

    if (result < 0)
        return result;
    device->dispatch.f.vkCmdCopyBuffer(commands, from, to, 1, &region);
    return vkr_commands_run(device, commands);
}

/* One of `in` and `out` is NULL. */
static int move(struct vkr_memory *m, uint64_t offset, uint8_t *out, const uint8_t *in,
                uint64_t size)
{
    struct stage s = {.d = &m->device->dispatch};
    VkResult result = m->alias ? make_stage(m->device, &s) : VK_ERROR_FEATURE_NOT_PRESENT;

    for (uint64_t done = 0; done < size && result >= 0;) {
        uint64_t part = size - done < STAGE_SIZE ? size - done : STAGE_SIZE;
        if (in)
            memcpy(s.mapped, in + done, part);
        result = in ? copy(m->device, s.buffer, m->alias, (VkBufferCopy){0, offset + done, part})
                    : copy(m->device, m->alias, s.buffer, (VkBufferCopy){offset + done, 0, part});
        if (out && result >= 0)
            memcpy(out + done, s.mapped, part);
        done += part;
    }
    stage_finish(&s);
    return result >= 0 ? 0 : vkr_fail("copying memory that the host cannot map", result);
}

int vkr_copy_fill(struct vkr_memory *m, uint8_t value)
{
    const struct vk_device_dispatch *d = &m->device->dispatch;
    VkCommandBuffer commands;
    VkResult result;

    if (!m->alias)
        return 0;
    result = vkr_commands_begin(m->device, &commands);
    if (result >= 0) {
        d->f.vkCmdFillBuffer(commands, m->alias, 0, m->size & ~3ull, value * 0x01010101u);
        result = vkr_commands_run(m->device, commands);
    }
    return result >= 0 ? 0 : vkr_fail("filling memory that the host cannot map", result);
}

int vkr_copy_out(struct vkr_memory *m, uint64_t offset, void *out, uint64_t size)
{
    return m->alias ? move(m, offset, out, NULL, size) : TSM_E_NOT_FOUND;
}

int vkr_copy_in(struct vkr_memory *m, uint64_t offset, const void *data, uint64_t size)
{
    return move(m, offset, NULL, data, size);
}
