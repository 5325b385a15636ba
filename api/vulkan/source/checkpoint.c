/* SPDX-License-Identifier: Apache-2.0
 *
 * Saves the checkpoint of a Vulkan program: the memory of its devices. No driver can be asked
 * for other state that commands leave (signalled fences, layouts); replay follows it from the
 * records.
 *
 * The program's threads are held back while quiet() and save() run, so that queues are ours and
 * memory is neither mapped nor freed. Memory that the host cannot map is copied by commands of our
 * own on one of the program's queues.
 */
#include "api/vulkan/source/checkpoint.h"

#include "api/vulkan/source/memory/memory.h"

#include "api/vulkan/source/completion/pending.h"
#include "api/vulkan/source/layer.h"
#include "api/vulkan/source/source.h"
#include "base/clock.h"

#include <string.h>

#define STAGE_SIZE ((uint64_t)4 << 20)

/* ---- idle? ---------------------------------------------------------------------------------- */

static bool send_fence(void *user, const struct tsm_handle *handle)
{
    return vk_pending_send((VkQueue)(uintptr_t)handle->raw);
}

bool vk_checkpoint_quiet(uint64_t until_ns)
{
    return vk_pending_wait(until_ns) &&
           tsm_handle_each(SBT_API_VULKAN, VK_OBJECT_VkQueue, send_fence, NULL) &&
           vk_pending_wait(until_ns) && vk_memory_idle(until_ns);
}

/* ---- memory that the host cannot map -------------------------------------------------------- */

/* Objects of ours, for one memory. */
struct stage {
    const struct vk_device_state *d;
    VkDevice device;
    VkQueue queue;
    VkBuffer alias; /* over all of it */
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkCommandPool pool;
    VkCommandBuffer commands;
    void *mapped;
};

static VkBuffer make_buffer(const struct stage *s, uint64_t size, VkMemoryRequirements *needs)
{
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = size,
                               .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                        VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkBuffer buffer = VK_NULL_HANDLE;

    if (s->d->below.vkCreateBuffer(s->device, &info, NULL, &buffer) < 0)
        return VK_NULL_HANDLE;
    s->d->below.vkGetBufferMemoryRequirements(s->device, buffer, needs);
    return buffer;
}

/* Memory made for one image or buffer takes no other one. */
static bool make_alias(struct stage *s, const struct vk_memory *m)
{
    VkMemoryRequirements needs;

    if (m->is_dedicated)
        return false;
    s->alias = make_buffer(s, m->size, &needs);
    return s->alias && needs.size <= m->size && (needs.memoryTypeBits >> m->type & 1) &&
           s->d->below.vkBindBufferMemory(s->device, s->alias, m->handle, 0) >= 0;
}

static bool make_mapped(struct stage *s)
{
    const VkMemoryPropertyFlags wanted =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkMemoryRequirements needs;

    s->buffer = make_buffer(s, STAGE_SIZE, &needs);
    info.allocationSize = needs.size;
    while (info.memoryTypeIndex < s->d->memory.memoryTypeCount &&
           (!(needs.memoryTypeBits >> info.memoryTypeIndex & 1) ||
            (s->d->memory.memoryTypes[info.memoryTypeIndex].propertyFlags & wanted) != wanted))
        info.memoryTypeIndex++;
    return s->buffer && info.memoryTypeIndex < s->d->memory.memoryTypeCount &&
           s->d->below.vkAllocateMemory(s->device, &info, NULL, &s->memory) >= 0 &&
           s->d->below.vkBindBufferMemory(s->device, s->buffer, s->memory, 0) >= 0 &&
           s->d->below.vkMapMemory(s->device, s->memory, 0, VK_WHOLE_SIZE, 0, &s->mapped) >= 0;
}

/* The loader gives dispatchable handles that it sees the key of their device; this one it does not
 * see. */
static bool make_commands(struct stage *s)
{
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                    .queueFamilyIndex = s->d->queue_family};
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandBufferCount = 1};

    if (!s->d->has_queue || s->d->below.vkCreateCommandPool(s->device, &pool, NULL, &s->pool) < 0)
        return false;
    info.commandPool = s->pool;
    if (s->d->below.vkAllocateCommandBuffers(s->device, &info, &s->commands) < 0)
        return false;
    memcpy(s->commands, s->device, sizeof(void *));
    s->d->below.vkGetDeviceQueue(s->device, s->d->queue_family, 0, &s->queue);
    memcpy(s->queue, s->device, sizeof(void *));
    return true;
}

static void stage_finish(const struct stage *s)
{
    s->d->below.vkDestroyCommandPool(s->device, s->pool, NULL);
    s->d->below.vkDestroyBuffer(s->device, s->alias, NULL);
    s->d->below.vkDestroyBuffer(s->device, s->buffer, NULL);
    s->d->below.vkFreeMemory(s->device, s->memory, NULL);
}

static bool copy(const struct stage *s, VkBufferCopy region)
{
    const struct vk_device_functions *f = &s->d->below;
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                               .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                               .dstAccessMask =
                                   VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_HOST_READ_BIT};
    const VkPipelineStageFlags all =
        VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT;
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                           .commandBufferCount = 1,
                           .pCommandBuffers = &s->commands};

    if (f->vkBeginCommandBuffer(s->commands, &begin) < 0)
        return false;
    f->vkCmdPipelineBarrier(s->commands, all, all, 0, 1, &barrier, 0, NULL, 0, NULL);
    f->vkCmdCopyBuffer(s->commands, s->alias, s->buffer, 1, &region);
    f->vkCmdPipelineBarrier(s->commands, all, all, 0, 1, &barrier, 0, NULL, 0, NULL);
    return f->vkEndCommandBuffer(s->commands) >= 0 &&
           f->vkQueueSubmit(s->queue, 1, &submit, VK_NULL_HANDLE) >= 0 &&
           f->vkQueueWaitIdle(s->queue) >= 0;
}

static bool read_copied(const struct tsm_memory *m, uint64_t offset, void *out, size_t size)
{
    const struct stage *s = m->user;

    if (!copy(s, (VkBufferCopy){offset, 0, size}))
        return false;
    memcpy(out, s->mapped, size);
    return true;
}

static bool save_copied(const struct vk_memory *from, struct tsm_memory *m)
{
    struct stage s = {.d = from->device, .device = from->device->dispatch.device};
    bool ok = true;

    m->read = read_copied;
    m->user = &s;
    if (make_alias(&s, from) && make_mapped(&s) && make_commands(&s))
        ok = tsm_checkpoint_memory(m);
    else
        tsm_session_unmodelled("a checkpoint without memory that neither the host can map nor a "
                               "copy can reach",
                               true);
    stage_finish(&s);
    return ok;
}

/* ---- memory --------------------------------------------------------------------------------- */

static bool read_mapped(const struct tsm_memory *m, uint64_t offset, void *out, size_t size)
{
    memcpy(out, (const uint8_t *)m->user + offset, size);
    return true;
}

static void invalidate(const struct vk_memory *from, VkMemoryPropertyFlags flags)
{
    VkMappedMemoryRange range = {.sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE,
                                 .memory = from->handle,
                                 .size = VK_WHOLE_SIZE};

    if (!(flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT))
        from->device->below.vkInvalidateMappedMemoryRanges(from->device->dispatch.device, 1,
                                                           &range);
}

static bool save_memory(void *user, const struct vk_memory *from)
{
    const struct vk_device_state *d = from->device;
    VkMemoryPropertyFlags flags = from->type < d->memory.memoryTypeCount
                                      ? d->memory.memoryTypes[from->type].propertyFlags
                                      : 0;
    struct tsm_memory m = {
        .kind = SBT_MEMORY_DEVICE, .size = from->size, .read = read_mapped, .user = from->mapped};
    void *mapped = NULL;
    bool ok;

    m.address = (uint64_t)1 << 63 | vk_id(VK_OBJECT_VkDeviceMemory, VK_RAW(from->handle)) << 40;
    if (flags & (VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT | VK_MEMORY_PROPERTY_PROTECTED_BIT))
        return true; /* nobody can look into it */
    if (!from->is_mapped && (flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) &&
        d->below.vkMapMemory(d->dispatch.device, from->handle, 0, VK_WHOLE_SIZE, 0, &mapped) >= 0)
        m.user = mapped;
    if (!m.user)
        return save_copied(from, &m);
    invalidate(from, flags);
    ok = tsm_checkpoint_memory(&m);
    if (mapped)
        d->below.vkUnmapMemory(d->dispatch.device, from->handle);
    return ok;
}

bool vk_checkpoint_save(void)
{
    return vk_memory_each(save_memory, NULL);
}
