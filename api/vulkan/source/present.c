/* SPDX-License-Identifier: Apache-2.0
 *
 * Images that the program presents, hashed: the first of a swapchain, the second, fourth, eighth,
 * ... They are copied, by commands of ours on the queue that presents, right before. These wait for
 * the semaphores that presenting waits for, and signal them again.
 */
#include "api/vulkan/source/present.h"

#include "api/vulkan/vulkan_args.h"
#include "api/vulkan/source/completion/completion.h"
#include "api/vulkan/source/completion/timeline.h"
#include "api/vulkan/source/layer.h"
#include "api/vulkan/vulkan_hooks.h"
#include "api/vulkan/source/source.h"
#include "api/vulkan/source/memory/stage.h"
#include "api/vulkan/source/lock.h"
#include "base/hash.h"

#include <string.h>

#define CHAIN_COUNT_MAX 32u
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

/* Returns the texel size of formats that windows have; 0: it is none of them. */
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
    vk_lock_take(&lock);
    for (struct chain *c = chains; c < chains + CHAIN_COUNT_MAX; c++)
        if (!c->device) {
            *c = (struct chain){d, handle, info->imageExtent, texel_size(info->imageFormat), 0};
            break;
        }
    vk_lock_give(&lock);
}

/* NULL handle: all of the device. */
static void remove_chains(const struct vk_device_state *d, VkSwapchainKHR handle)
{
    vk_lock_take(&lock);
    for (struct chain *c = chains; c < chains + CHAIN_COUNT_MAX; c++)
        if (c->device == d && (!handle || c->handle == handle))
            c->device = NULL;
    vk_lock_give(&lock);
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

void vk_present_device_destroyed(const struct vk_device_state *device)
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

static void change_layout(const struct vk_stage *s, VkImage image, VkImageLayout from,
                          VkImageLayout to)
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

static bool record(const struct vk_stage *s, VkImage image, VkExtent2D extent)
{
    const struct vk_device_functions *f = &s->d->below;
    VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                .imageExtent = {extent.width, extent.height, 1}};

    if (!vk_stage_begin(s))
        return false;
    change_layout(s, image, VK_IMAGE_LAYOUT_PRESENT_SRC_KHR, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    f->vkCmdCopyImageToBuffer(s->commands, image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, s->buffer,
                              1, &region);
    change_layout(s, image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, VK_IMAGE_LAYOUT_PRESENT_SRC_KHR);
    return vk_stage_end(s);
}

static void report(const struct vk_stage *s, uint32_t image, uint64_t size)
{
    struct sbt_key key = tsm_hash_key(s->mapped, size);
    struct vk_idle last;
    struct tsm_call call;

    if (!vk_completion_last(s->d, &last) ||
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

/* Takes a picture. One that does not come in a second, perhaps because it waits for the program, is
 * left alone, and the swapchain is not read again. */
static bool take_shot(struct vk_stage *s, VkQueue queue, const struct chain *c, VkImage image,
                      const VkPresentInfoKHR *info)
{
    const struct tsm_handle *q = tsm_handle_find(SBT_API_VULKAN, VK_OBJECT_VkQueue, VK_RAW(queue));
    const struct tsm_handle *i = tsm_handle_find(SBT_API_VULKAN, VK_OBJECT_VkImage, VK_RAW(image));
    uint64_t size = (uint64_t)c->extent.width * c->extent.height * c->texel_size;
    bool done;

    if (!q || !q->user || !i || !i->id || i->id > IMAGE_ID_MAX || !size || size > SIZE_MAX_COPIED)
        return true;
    if (!vk_stage_make(s, size, (uint32_t)(uintptr_t)q->user - 1) || !record(s, image, c->extent) ||
        !vk_stage_send(s, queue, info->waitSemaphoreCount, info->pWaitSemaphores)) {
        vk_stage_finish(s);
        return false;
    }
    done = vk_stage_wait(s, WAIT_NS);
    if (done)
        report(s, i->id, size);
    if (done)
        vk_stage_finish(s);
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

    vk_lock_take(&lock);
    for (struct chain *c = chains; c < chains + CHAIN_COUNT_MAX; c++) {
        if (c->device != d || c->handle != handle)
            continue;
        c->present_count++;
        sample = (c->present_count & (c->present_count - 1)) == 0;
        *out = *c;
    }
    vk_lock_give(&lock);
    return sample;
}

void vk_presents(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkQueuePresentKHR *a = args;
    const VkPresentInfoKHR *info = a->pPresentInfo;
    const struct vk_device_state *d = vk_state_of(a->queue);
    struct chain c = {0};
    VkImage image;

    if (!is_on() || tsm_session_waiting() || info->waitSemaphoreCount > VK_STAGE_WAITS_MAX ||
        vk_timeline_is_stuck(a->queue))
        return;
    for (uint32_t i = 0; i < info->swapchainCount; i++) {
        struct vk_stage s = {.d = d, .device = d->dispatch.device};
        if (is_sample(d, info->pSwapchains[i], &c) &&
            find_image(&c, info->pImageIndices[i], &image) &&
            !take_shot(&s, a->queue, &c, image, info))
            remove_chains(d, c.handle);
    }
}
