/* SPDX-License-Identifier: Apache-2.0
 *
 * Images that the program presents, hashed: the first of a swapchain, the second, fourth, eighth,
 * ... They are copied, by commands of ours on the queue that presents, right before. These wait for
 * the semaphores that presenting waits for, and signal them again.
 */
#include "api/vulkan/vulkan_args.h"
#include "api/vulkan/vulkan_hooks.h"
#include "api/vulkan/vulkan_source.h"
#include "api/vulkan/vulkan_source_memory.h"
#include "capture/lock.h"

#include <string.h>

#define CHAIN_COUNT_MAX 32u
#define WAIT_COUNT_MAX  16u
#define WAIT_NS         ((uint64_t)1000000000)
#define SIZE_MAX_COPIED ((uint64_t)256 << 20)
#define IMAGE_ID_MAX    ((1u << 22) - 1)

/* A swapchain whose images can be copied. */
static struct chain {
    const struct vk_device_state *device; /* NULL: none */
    VkSwapchainKHR handle;
    VkExtent2D extent;
    uint32_t texel_size;
    uint64_t present_count;
} chains[CHAIN_COUNT_MAX];
static struct tsm_lock lock; /* of the list */

void vk_present_forget(void)
{
    lock = (struct tsm_lock){0};
    memset(chains, 0, sizeof(chains));
}

/* ---- swapchains ----------------------------------------------------------------------------- */

static bool is_on(void)
{
    const struct tsm_settings *s = tsm_session_settings();

    return s->enabled && s->vk_results && s->readback != TSM_READBACK_OFF;
}

/* Of formats that windows have; 0: it is none of them. */
static uint32_t texel_size(VkFormat format)
{
    switch (format) {
    case VK_FORMAT_R5G6B5_UNORM_PACK16:
    case VK_FORMAT_B5G6R5_UNORM_PACK16:
        return 2;
    case VK_FORMAT_R8G8B8A8_UNORM:
    case VK_FORMAT_R8G8B8A8_SRGB:
    case VK_FORMAT_B8G8R8A8_UNORM:
    case VK_FORMAT_B8G8R8A8_SRGB:
    case VK_FORMAT_A8B8G8R8_UNORM_PACK32:
    case VK_FORMAT_A8B8G8R8_SRGB_PACK32:
    case VK_FORMAT_A2R10G10B10_UNORM_PACK32:
    case VK_FORMAT_A2B10G10R10_UNORM_PACK32:
        return 4;
    case VK_FORMAT_R16G16B16A16_SFLOAT:
        return 8;
    default:
        return 0;
    }
}

static bool is_shared(VkPresentModeKHR mode)
{
    return mode == VK_PRESENT_MODE_SHARED_DEMAND_REFRESH_KHR ||
           mode == VK_PRESENT_MODE_SHARED_CONTINUOUS_REFRESH_KHR;
}

static bool can_copy(const struct vk_device_state *d, const VkSwapchainCreateInfoKHR *info)
{
    PFN_vkGetPhysicalDeviceSurfaceCapabilitiesKHR ask =
        d->dispatch.instance->f.vkGetPhysicalDeviceSurfaceCapabilitiesKHR;
    VkSurfaceCapabilitiesKHR can;

    if (!is_on() || !texel_size(info->imageFormat) || is_shared(info->presentMode) ||
        (info->flags & VK_SWAPCHAIN_CREATE_PROTECTED_BIT_KHR))
        return false;
    if (info->imageUsage & VK_IMAGE_USAGE_TRANSFER_SRC_BIT)
        return true;
    return ask && ask(d->dispatch.physical_device, info->surface, &can) >= 0 &&
           (can.supportedUsageFlags & VK_IMAGE_USAGE_TRANSFER_SRC_BIT);
}

static void add_chain(const struct vk_device_state *d, VkSwapchainKHR handle,
                      const VkSwapchainCreateInfoKHR *info)
{
    tsm_lock_take(&lock);
    for (struct chain *c = chains; c < chains + CHAIN_COUNT_MAX; c++)
        if (!c->device) {
            *c = (struct chain){d, handle, info->imageExtent, texel_size(info->imageFormat), 0};
            break;
        }
    tsm_lock_give(&lock);
}

/* NULL handle: all of the device. */
static void remove_chains(const struct vk_device_state *d, VkSwapchainKHR handle)
{
    tsm_lock_take(&lock);
    for (struct chain *c = chains; c < chains + CHAIN_COUNT_MAX; c++)
        if (c->device == d && (!handle || c->handle == handle))
            c->device = NULL;
    tsm_lock_give(&lock);
}

static VKAPI_ATTR VkResult VKAPI_CALL create(VkDevice device, const VkSwapchainCreateInfoKHR *info,
                                             const VkAllocationCallbacks *allocator,
                                             VkSwapchainKHR *out)
{
    const struct vk_device_state *d = vk_state_of(device);
    VkSwapchainCreateInfoKHR own = *info;
    VkResult result;

    if (!can_copy(d, info))
        return d->below.vkCreateSwapchainKHR(device, info, allocator, out);
    own.imageUsage |= VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    result = d->below.vkCreateSwapchainKHR(device, &own, allocator, out);
    if (result >= 0)
        add_chain(d, *out, info);
    return result;
}

static VKAPI_ATTR void VKAPI_CALL destroy(VkDevice device, VkSwapchainKHR handle,
                                          const VkAllocationCallbacks *allocator)
{
    const struct vk_device_state *d = vk_state_of(device);

    if (handle)
        remove_chains(d, handle);
    d->below.vkDestroySwapchainKHR(device, handle, allocator);
}

void vk_present_device_gone(const struct vk_device_state *device)
{
    remove_chains(device, VK_NULL_HANDLE);
}

void vk_present_patch(struct vk_device_state *device)
{
    struct vk_device_functions *f = &device->dispatch.f;

    if (f->vkCreateSwapchainKHR)
        f->vkCreateSwapchainKHR = create;
    if (f->vkDestroySwapchainKHR)
        f->vkDestroySwapchainKHR = destroy;
}

/* ---- one image ------------------------------------------------------------------------------ */

/* Objects of ours, for one copy: there are few. */
struct shot {
    const struct vk_device_state *d;
    VkDevice device;
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkFence fence;
    void *mapped;
};

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

static bool make_buffer(struct shot *s, uint64_t size)
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
static bool make_commands(struct shot *s, uint32_t family)
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

static void shot_finish(const struct shot *s)
{
    const struct vk_device_functions *f = &s->d->below;

    f->vkDestroyFence(s->device, s->fence, NULL);
    f->vkDestroyCommandPool(s->device, s->pool, NULL);
    f->vkDestroyBuffer(s->device, s->buffer, NULL);
    f->vkFreeMemory(s->device, s->memory, NULL);
}

static void change_layout(const struct shot *s, VkImage image, VkImageLayout from, VkImageLayout to)
{
    VkImageMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                    .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                                    .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT,
                                    .oldLayout = from,
                                    .newLayout = to,
                                    .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                    .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                    .image = image,
                                    .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};

    s->d->below.vkCmdPipelineBarrier(s->commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                     VK_PIPELINE_STAGE_ALL_COMMANDS_BIT |
                                         VK_PIPELINE_STAGE_HOST_BIT,
                                     0, 0, NULL, 0, NULL, 1, &barrier);
}

static bool record(const struct shot *s, VkImage image, VkExtent2D extent)
{
    const struct vk_device_functions *f = &s->d->below;
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                .imageExtent = {extent.width, extent.height, 1}};
    VkMemoryBarrier to_host = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                               .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                               .dstAccessMask = VK_ACCESS_HOST_READ_BIT};

    if (f->vkBeginCommandBuffer(s->commands, &begin) < 0)
        return false;
    change_layout(s, image, VK_IMAGE_LAYOUT_PRESENT_SRC_KHR, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    f->vkCmdCopyImageToBuffer(s->commands, image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, s->buffer,
                              1, &region);
    change_layout(s, image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, VK_IMAGE_LAYOUT_PRESENT_SRC_KHR);
    f->vkCmdPipelineBarrier(s->commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT,
                            0, 1, &to_host, 0, NULL, 0, NULL);
    return f->vkEndCommandBuffer(s->commands) >= 0;
}

/* The fence comes when the copy is done. `semaphores` are signalled as they were before. */
static bool send(const struct shot *s, VkQueue queue, uint32_t count, const VkSemaphore *semaphores)
{
    VkPipelineStageFlags stages[WAIT_COUNT_MAX];
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                           .waitSemaphoreCount = count,
                           .pWaitSemaphores = semaphores,
                           .pWaitDstStageMask = stages,
                           .commandBufferCount = 1,
                           .pCommandBuffers = &s->commands,
                           .signalSemaphoreCount = count,
                           .pSignalSemaphores = semaphores};

    for (uint32_t i = 0; i < WAIT_COUNT_MAX; i++)
        stages[i] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    return s->d->below.vkQueueSubmit(queue, 1, &submit, s->fence) >= 0;
}

static void report(const struct shot *s, uint32_t image, uint64_t size)
{
    struct sbt_key key = tsm_hash_key(s->mapped, size);
    struct vk_idle last;
    struct tsm_call call;

    if (!vk_order_last(s->d, &last) ||
        !tsm_call_begin(&call, SBT_TYPE(SBT_API_CORE, SBT_CORE_CHECKSUM)))
        return;
    tsm_call_returned(&call, 0, false);
    tsm_call_slot(&call, last.stream);
    tsm_call_slot(&call, last.position);
    tsm_call_slot(&call, (uint64_t)3 << 62 | (uint64_t)image << 40 | (uint64_t)1 << 39);
    tsm_call_slot(&call, size);
    tsm_call_bytes(&call, &key, sizeof(key));
    tsm_call_commit(&call);
}

/* What does not come in a second, since it waits for the program perhaps, stays as it is, and the
 * swapchain is not looked at again. */
static bool take_shot(struct shot *s, VkQueue queue, const struct chain *c, VkImage image,
                      const VkPresentInfoKHR *info)
{
    const struct tsm_handle *q = tsm_handle_find(SBT_API_VULKAN, VK_OBJECT_VkQueue, VK_RAW(queue));
    const struct tsm_handle *i = tsm_handle_find(SBT_API_VULKAN, VK_OBJECT_VkImage, VK_RAW(image));
    uint64_t size = (uint64_t)c->extent.width * c->extent.height * c->texel_size;
    bool done;

    if (!q || !q->user || !i || !i->id || i->id > IMAGE_ID_MAX || !size || size > SIZE_MAX_COPIED)
        return true;
    if (!make_buffer(s, size) || !make_commands(s, (uint32_t)(uintptr_t)q->user - 1) ||
        !record(s, image, c->extent) ||
        !send(s, queue, info->waitSemaphoreCount, info->pWaitSemaphores)) {
        shot_finish(s);
        return false;
    }
    done = s->d->below.vkWaitForFences(s->device, 1, &s->fence, VK_TRUE, WAIT_NS) == VK_SUCCESS;
    if (done)
        report(s, i->id, size);
    if (done)
        shot_finish(s);
    return done;
}

/* ---- presenting ----------------------------------------------------------------------------- */

static bool find_image(const struct chain *c, uint32_t index, VkImage *out)
{
    VkImage images[32];
    uint32_t count = 32;

    if (c->device->below.vkGetSwapchainImagesKHR(c->device->dispatch.device, c->handle, &count,
                                                 images) < 0 ||
        index >= count)
        return false;
    *out = images[index];
    return true;
}

/* The first times, and then ever fewer of them. */
static bool is_sample(const struct vk_device_state *d, VkSwapchainKHR handle, struct chain *out)
{
    bool sample = false;

    tsm_lock_take(&lock);
    for (struct chain *c = chains; c < chains + CHAIN_COUNT_MAX; c++) {
        if (c->device != d || c->handle != handle)
            continue;
        c->present_count++;
        sample = (c->present_count & (c->present_count - 1)) == 0;
        *out = *c;
    }
    tsm_lock_give(&lock);
    return sample;
}

void vk_presents(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkQueuePresentKHR *a = args;
    const VkPresentInfoKHR *info = a->pPresentInfo;
    const struct vk_device_state *d = vk_state_of(a->queue);
    struct chain c = {0};
    VkImage image;

    if (!is_on() || tsm_session_waiting() || info->waitSemaphoreCount > WAIT_COUNT_MAX ||
        vk_timeline_is_stuck(a->queue))
        return;
    for (uint32_t i = 0; i < info->swapchainCount; i++) {
        struct shot s = {.d = d, .device = d->dispatch.device};
        if (is_sample(d, info->pSwapchains[i], &c) &&
            find_image(&c, info->pImageIndices[i], &image) &&
            !take_shot(&s, a->queue, &c, image, info))
            remove_chains(d, c.handle);
    }
}
