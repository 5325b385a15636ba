/* SPDX-License-Identifier: Apache-2.0
 *
 * Texels of an image, copied through a buffer that the host can map. Used while nothing else runs.
 */
#include "api/vulkan/replay/inspect/image.h"

#include <stdlib.h>
#include <string.h>

#include "api/vulkan/replay/device.h"
#include "api/vulkan/replay/loader.h"
#include "api/vulkan/replay/memory/copy.h"
#include "api/vulkan/tables/texel.h"

struct read {
    struct vkr_device *device;
    const struct vk_device_dispatch *d;
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkCommandPool pool;
    VkCommandBuffer commands;
    uint8_t *mapped;
};

static void finish(struct read *s)
{
    const struct vk_device_dispatch *d = s->d;

    if (s->pool)
        d->f.vkDestroyCommandPool(d->device, s->pool, NULL);
    if (s->buffer)
        d->f.vkDestroyBuffer(d->device, s->buffer, NULL);
    if (s->memory)
        d->f.vkFreeMemory(d->device, s->memory, NULL);
}

static VkResult begin(struct read *s, uint64_t size)
{
    const struct vk_device_dispatch *d = s->d;
    VkBufferCreateInfo buffer = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                 .size = size,
                                 .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .queueFamilyIndex = s->device->queue.family};
    VkCommandBufferAllocateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandBufferCount = 1};
    VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkResult result = d->f.vkCreateBuffer(d->device, &buffer, NULL, &s->buffer);

    if (result >= 0)
        result = vkr_host_memory(s->device, s->buffer, &s->memory, &s->mapped);
    if (result >= 0)
        result = d->f.vkCreateCommandPool(d->device, &pool, NULL, &s->pool);
    commands.commandPool = s->pool;
    if (result >= 0)
        result = d->f.vkAllocateCommandBuffers(d->device, &commands, &s->commands);
    return result >= 0 ? d->f.vkBeginCommandBuffer(s->commands, &info) : result;
}

/* Layouts that nothing can be copied from, or into which there is no way back, stay. */
static bool is_fixed(VkImageLayout layout)
{
    return layout == VK_IMAGE_LAYOUT_UNDEFINED || layout == VK_IMAGE_LAYOUT_PREINITIALIZED ||
           layout == VK_IMAGE_LAYOUT_GENERAL || layout == VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
}

static void change_layout(const struct read *s, const struct vkr_image *image,
                          VkImageSubresourceRange range, VkImageLayout from, VkImageLayout to)
{
    VkImageMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                    .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                                    .dstAccessMask =
                                        VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
                                    .oldLayout = from,
                                    .newLayout = to,
                                    .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                    .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                    .image = image->raw,
                                    .subresourceRange = range};

    s->d->f.vkCmdPipelineBarrier(s->commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                 VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0,
                                 0, NULL, 0, NULL, 1, &barrier);
}

VkExtent3D vkr_level_extent(VkExtent3D e, uint32_t level)
{
    VkExtent3D at = {e.width >> level, e.height >> level, e.depth >> level};

    return (VkExtent3D){at.width ? at.width : 1, at.height ? at.height : 1,
                        at.depth ? at.depth : 1};
}

static VkResult copy(struct read *s, const struct vkr_image *image, uint32_t level, uint32_t layer,
                     VkImageAspectFlags aspect)
{
    const struct vk_device_dispatch *d = s->d;
    VkImageSubresourceRange range = {vk_aspects_of(image->format), level, 1, layer, 1};
    VkBufferImageCopy region = {.imageSubresource = {aspect, level, layer, 1},
                                .imageExtent = vkr_level_extent(image->extent, level)};
    VkImageLayout layout =
        is_fixed(image->layout) ? image->layout : VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                           .commandBufferCount = 1,
                           .pCommandBuffers = &s->commands};
    VkResult result;

    if (layout == VK_IMAGE_LAYOUT_UNDEFINED || layout == VK_IMAGE_LAYOUT_PREINITIALIZED)
        layout = VK_IMAGE_LAYOUT_GENERAL;
    change_layout(s, image, range, image->layout, layout);
    d->f.vkCmdCopyImageToBuffer(s->commands, image->raw, layout, s->buffer, 1, &region);
    if (!is_fixed(image->layout))
        change_layout(s, image, range, layout, image->layout);
    result = d->f.vkEndCommandBuffer(s->commands);
    if (result >= 0)
        result = d->f.vkQueueSubmit(s->device->queue.raw, 1, &submit, VK_NULL_HANDLE);
    return result >= 0 ? d->f.vkQueueWaitIdle(s->device->queue.raw) : result;
}

int vkr_image_read(struct vkr_device *device, const struct vkr_image *image, uint32_t level,
                   uint32_t layer, VkImageAspectFlags aspect, uint8_t **out, uint64_t *size)
{
    struct read s = {.device = device, .d = &device->dispatch};
    VkExtent3D e = vkr_level_extent(image->extent, level);
    struct vk_block block;
    VkResult result;

    if (!vk_block_of(&block, image->format, aspect))
        return tsm_fail(TSM_E_UNSUPPORTED, "no way is known to copy its format");
    *size = (uint64_t)((e.width + block.width - 1) / block.width) *
            ((e.height + block.height - 1) / block.height) * e.depth * block.bytes;
    *out = malloc(*size);
    if (!*out || !device->queue.raw) {
        free(*out);
        return tsm_fail(*out ? TSM_E_UNSUPPORTED : TSM_E_MEMORY, "an image cannot be copied");
    }
    result = begin(&s, *size);
    if (result >= 0)
        result = copy(&s, image, level, layer, aspect);
    if (result >= 0)
        memcpy(*out, s.mapped, *size);
    else
        free(*out);
    finish(&s);
    return result >= 0 ? 0 : vkr_fail("copying an image", result);
}
