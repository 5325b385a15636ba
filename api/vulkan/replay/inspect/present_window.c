/* SPDX-License-Identifier: Apache-2.0
 *
 * --present: windows that show what was presented. The images of the replay stay our own; each is
 * copied into an image of a real swapchain, one window for each surface of the recording.
 * Presenting is done on the one queue that windows and copies use, and waited for.
 */
#include "api/vulkan/replay/inspect/present_window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/device.h"
#include "api/vulkan/replay/inspect/image.h"
#include "api/vulkan/replay/inspect/inspect.h"
#include "api/vulkan/replay/inspect/xcb_window.h"
#include "api/vulkan/replay/loader.h"
#include "api/vulkan/replay/object.h"
#include "api/vulkan/replay/replay.h"
#include "api/vulkan/replay/swapchain.h"

#define IMAGE_MAX  16u
#define FORMAT_MAX 128u
#define ACQUIRE_NS 5000000000u

struct window {
    struct window *next;
    uint64_t surface_id; /* as recorded */
    xcb_window_t xcb;
    struct vkr_instance *instance;
    VkSurfaceKHR surface;
    struct vkr_device *device; /* of all below; NULL: there is no swapchain */
    VkSwapchainKHR swapchain;
    VkExtent2D extent;
    VkFormat format;
    VkImage images[IMAGE_MAX];
    uint32_t image_count;
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkFence fence;
};

struct vkr_present_window {
    struct vk_xcb *xcb;
    struct window *windows;
};

/* ---- extensions -------------------------------------------------------------------------- */

int vkr_present_window_extend(struct vkr_call *c, const char *const **names, uint32_t *count,
                              const char *const *more, bool (*has)(struct vkr_call *, const char *))
{
    uint32_t more_count = 0, used = *count;
    const char **list;

    if (!c->r->inspect || !c->r->inspect->wanted->present)
        return 0;
    while (more[more_count])
        more_count++;
    list = vkr_call_take(c, (*count + more_count + 1) * sizeof(*list));
    if (!list)
        return tsm_fail(TSM_E_MEMORY, "no memory for names of extensions");
    for (uint32_t i = 0; i < *count; i++)
        list[i] = (*names)[i];
    for (uint32_t i = 0; i < more_count; i++) {
        bool is_there = false;
        for (uint32_t k = 0; k < *count; k++)
            is_there |= strcmp(list[k], more[i]) == 0;
        if (!is_there && !has(c, more[i]))
            return tsm_fail(TSM_E_UNSUPPORTED, "no window can be shown: there is no %s here",
                            more[i]);
        if (!is_there)
            list[used++] = more[i];
    }
    *names = list;
    *count = used;
    return 0;
}

/* ---- swapchains -------------------------------------------------------------------------- */

static void drop_swapchain(struct window *w)
{
    const struct vk_device_dispatch *d = w->device ? &w->device->dispatch : NULL;

    if (!d)
        return;
    d->f.vkDeviceWaitIdle(d->device);
    d->f.vkDestroyFence(d->device, w->fence, NULL);
    d->f.vkDestroyCommandPool(d->device, w->pool, NULL);
    d->f.vkDestroySwapchainKHR(d->device, w->swapchain, NULL);
    w->fence = VK_NULL_HANDLE;
    w->pool = VK_NULL_HANDLE;
    w->swapchain = VK_NULL_HANDLE;
    w->device = NULL;
}

/* The recorded format if the surface has it: then texels are copied as they are. */
static VkResult choose_format(const struct window *w, const struct vkr_device *device,
                              VkFormat wanted, VkSurfaceFormatKHR *out)
{
    const struct vk_instance_dispatch *i = &w->instance->dispatch;
    VkSurfaceFormatKHR list[FORMAT_MAX];
    uint32_t count = FORMAT_MAX;
    VkResult result = i->f.vkGetPhysicalDeviceSurfaceFormatsKHR(device->dispatch.physical_device,
                                                                w->surface, &count, list);

    if (result < 0 || !count)
        return result < 0 ? result : VK_ERROR_FORMAT_NOT_SUPPORTED;
    *out = list[0];
    for (uint32_t k = 0; k < count; k++)
        if (list[k].format == wanted)
            *out = list[k];
    return VK_SUCCESS;
}

static VkPresentModeKHR choose_mode(const struct window *w, const struct vkr_device *device)
{
    VkPresentModeKHR list[16];
    uint32_t count = 16;

    if (w->instance->dispatch.f.vkGetPhysicalDeviceSurfacePresentModesKHR(
            device->dispatch.physical_device, w->surface, &count, list) < 0)
        return VK_PRESENT_MODE_FIFO_KHR;
    for (uint32_t k = 0; k < count; k++)
        if (list[k] == VK_PRESENT_MODE_IMMEDIATE_KHR)
            return list[k];
    return VK_PRESENT_MODE_FIFO_KHR;
}

static VkResult make_swapchain(struct window *w, struct vkr_device *device, VkFormat wanted)
{
    const struct vk_device_dispatch *d = &device->dispatch;
    VkSurfaceCapabilitiesKHR can;
    VkSurfaceFormatKHR format = {0};
    VkSwapchainCreateInfoKHR info = {.sType = VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR,
                                     .surface = w->surface,
                                     .imageExtent = w->extent,
                                     .imageArrayLayers = 1,
                                     .imageUsage = VK_IMAGE_USAGE_TRANSFER_DST_BIT,
                                     .preTransform = VK_SURFACE_TRANSFORM_IDENTITY_BIT_KHR,
                                     .compositeAlpha = VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR,
                                     .presentMode = choose_mode(w, device),
                                     .clipped = VK_FALSE};
    VkResult result = w->instance->dispatch.f.vkGetPhysicalDeviceSurfaceCapabilitiesKHR(
        d->physical_device, w->surface, &can);

    if (result >= 0)
        result = choose_format(w, device, wanted, &format);
    if (result < 0)
        return result;
    info.minImageCount = can.minImageCount;
    info.imageFormat = w->format = format.format;
    info.imageColorSpace = format.colorSpace;
    if (!(can.supportedCompositeAlpha & info.compositeAlpha))
        info.compositeAlpha = VK_COMPOSITE_ALPHA_INHERIT_BIT_KHR;
    result = d->f.vkCreateSwapchainKHR(d->device, &info, NULL, &w->swapchain);
    w->image_count = IMAGE_MAX;
    if (result >= 0)
        result = d->f.vkGetSwapchainImagesKHR(d->device, w->swapchain, &w->image_count, w->images);
    return result == VK_INCOMPLETE ? VK_ERROR_FEATURE_NOT_PRESENT : result;
}

static VkResult make_commands(struct window *w)
{
    const struct vk_device_dispatch *d = &w->device->dispatch;
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                    .queueFamilyIndex = w->device->queue.family};
    VkCommandBufferAllocateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandBufferCount = 1};
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkResult result = d->f.vkCreateCommandPool(d->device, &pool, NULL, &w->pool);

    commands.commandPool = w->pool;
    if (result >= 0)
        result = d->f.vkAllocateCommandBuffers(d->device, &commands, &w->commands);
    return result >= 0 ? d->f.vkCreateFence(d->device, &fence, NULL, &w->fence) : result;
}

static int ensure_swapchain(struct vkr_present_window *show, struct window *w,
                            struct vkr_device *device, const struct vkr_image *image)
{
    VkExtent2D extent = {image->extent.width, image->extent.height};
    VkBool32 supported = VK_FALSE;
    VkResult result;

    if (w->device == device && !memcmp(&w->extent, &extent, sizeof(extent)))
        return 0;
    drop_swapchain(w);
    if (w->extent.width != extent.width || w->extent.height != extent.height)
        vk_xcb_resize(show->xcb, w->xcb, extent.width, extent.height);
    w->extent = extent;
    w->instance->dispatch.f.vkGetPhysicalDeviceSurfaceSupportKHR(
        device->dispatch.physical_device, device->queue.family, w->surface, &supported);
    if (!supported)
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "no window can be shown: queue family %u cannot present to the X server",
                        device->queue.family);
    w->device = device;
    result = make_swapchain(w, device, image->format);
    if (result >= 0)
        result = make_commands(w);
    return result >= 0 ? 0 : vkr_fail("making a window's swapchain", result);
}

/* ---- windows ----------------------------------------------------------------------------- */

static int make_window(struct vkr_present_window *show, struct window *w,
                       const struct vkr_image *image)
{
    VkXcbSurfaceCreateInfoKHR info = {.sType = VK_STRUCTURE_TYPE_XCB_SURFACE_CREATE_INFO_KHR,
                                      .connection = vk_xcb_connection(show->xcb)};
    const struct vk_instance_dispatch *i = &w->instance->dispatch;
    VkResult result;
    int error =
        w->xcb ? 0 : vk_xcb_window(show->xcb, image->extent.width, image->extent.height, &w->xcb);

    if (error)
        return error;
    w->extent = (VkExtent2D){image->extent.width, image->extent.height};
    info.window = w->xcb;
    result = i->f.vkCreateXcbSurfaceKHR
                 ? i->f.vkCreateXcbSurfaceKHR(i->instance, &info, NULL, &w->surface)
                 : VK_ERROR_EXTENSION_NOT_PRESENT;
    return result >= 0 ? 0 : vkr_fail("vkCreateXcbSurfaceKHR", result);
}

static int find_window(struct vkr *r, const struct vkr_object *chain, const struct vkr_image *image,
                       struct window **out)
{
    uint64_t id = vkr_swapchain_surface(chain);
    struct window *w;
    int error = 0;

    if (!r->show)
        r->show = calloc(1, sizeof(*r->show));
    if (!r->show)
        return tsm_fail(TSM_E_MEMORY, "no memory for a window");
    if (!r->show->xcb)
        error = vk_xcb_create(&r->show->xcb);
    for (w = r->show->windows; w && w->surface_id != id; w = w->next)
        ;
    if (!error && !w) {
        w = calloc(1, sizeof(*w));
        if (!w)
            return tsm_fail(TSM_E_MEMORY, "no memory for a window");
        w->surface_id = id;
        w->next = r->show->windows;
        r->show->windows = w;
    }
    if (!error && !w->surface) {
        w->instance = chain->device->instance;
        error = make_window(r->show, w, image);
    }
    *out = w;
    return error;
}

/* ---- presenting -------------------------------------------------------------------------- */

static void to_layout(const struct window *w, VkImage image, VkImageLayout from, VkImageLayout to)
{
    VkImageMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                    .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                                    .dstAccessMask =
                                        VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
                                    .oldLayout = from,
                                    .newLayout = to,
                                    .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                    .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                    .image = image,
                                    .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};

    w->device->dispatch.f.vkCmdPipelineBarrier(w->commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                               VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0,
                                               NULL, 1, &barrier);
}

static void copy(const struct window *w, const struct vkr_image *from, VkImage to)
{
    const struct vk_device_dispatch *d = &w->device->dispatch;
    const VkImageSubresourceLayers layer = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    VkOffset3D end = {(int32_t)w->extent.width, (int32_t)w->extent.height, 1};
    VkImageCopy region = {.srcSubresource = layer,
                          .dstSubresource = layer,
                          .extent = {w->extent.width, w->extent.height, 1}};
    VkImageBlit blit = {.srcSubresource = layer,
                        .srcOffsets = {{0, 0, 0}, end},
                        .dstSubresource = layer,
                        .dstOffsets = {{0, 0, 0}, end}};

    if (from->format == w->format)
        d->f.vkCmdCopyImage(w->commands, from->raw, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, to,
                            VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
    else
        d->f.vkCmdBlitImage(w->commands, from->raw, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, to,
                            VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &blit, VK_FILTER_NEAREST);
}

static VkResult record(const struct window *w, const struct vkr_image *from, VkImage to)
{
    const struct vk_device_dispatch *d = &w->device->dispatch;
    VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkResult result = d->f.vkBeginCommandBuffer(w->commands, &info);

    if (result < 0)
        return result;
    to_layout(w, from->raw, from->layout, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    to_layout(w, to, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    copy(w, from, to);
    to_layout(w, from->raw, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, from->layout);
    to_layout(w, to, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_PRESENT_SRC_KHR);
    return d->f.vkEndCommandBuffer(w->commands);
}

static VkResult show_image(const struct window *w, const struct vkr_image *image)
{
    const struct vk_device_dispatch *d = &w->device->dispatch;
    VkQueue queue = w->device->queue.raw;
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                           .commandBufferCount = 1,
                           .pCommandBuffers = &w->commands};
    uint32_t index = 0;
    VkPresentInfoKHR present = {.sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR,
                                .swapchainCount = 1,
                                .pSwapchains = &w->swapchain,
                                .pImageIndices = &index};
    VkResult result = d->f.vkAcquireNextImageKHR(d->device, w->swapchain, ACQUIRE_NS,
                                                 VK_NULL_HANDLE, w->fence, &index);

    if (result == VK_TIMEOUT || result == VK_NOT_READY)
        return VK_ERROR_SURFACE_LOST_KHR;
    if (result >= 0)
        result = d->f.vkWaitForFences(d->device, 1, &w->fence, VK_TRUE, UINT64_MAX);
    if (result >= 0)
        result = d->f.vkResetFences(d->device, 1, &w->fence);
    if (result >= 0)
        result = record(w, image, w->images[index]);
    if (result >= 0)
        result = d->f.vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE);
    if (result >= 0)
        result = d->f.vkQueueWaitIdle(queue);
    return result >= 0 ? d->f.vkQueuePresentKHR(queue, &present) : result;
}

static int show_one(struct vkr *r, const struct vkr_object *chain, const struct vkr_image *image)
{
    struct window *w = NULL;
    VkResult result = VK_ERROR_OUT_OF_DATE_KHR;
    int error = chain->device->queue.raw
                    ? find_window(r, chain, image, &w)
                    : tsm_fail(TSM_E_UNSUPPORTED, "no window can be shown: no queue to present on");

    for (int round = 0; round < 2 && !error && result == VK_ERROR_OUT_OF_DATE_KHR; round++) {
        error = ensure_swapchain(r->show, w, chain->device, image);
        if (error)
            return error;
        result = show_image(w, image);
        if (result == VK_ERROR_OUT_OF_DATE_KHR)
            drop_swapchain(w);
    }
    return error || result >= 0 ? error : vkr_fail("presenting to a window", result);
}

int vkr_present_window_show(struct vkr_call *c, VkQueue queue, const VkPresentInfoKHR *info)
{
    int error = 0;

    if (!c->r->inspect || !c->r->inspect->wanted->present || !c->owner || !c->owner->device)
        return 0;
    if (c->owner->device->dispatch.f.vkQueueWaitIdle(queue) < 0)
        return tsm_fail(TSM_E_DEVICE, "what is to be presented does not get done");
    for (uint32_t i = 0; i < info->swapchainCount && !error; i++) {
        const struct vkr_object *chain =
            vkr_object_of(c->r, VK_OBJECT_VkSwapchainKHR, VKR_RAW(info->pSwapchains[i]));
        struct vkr_image image;
        if (chain && vkr_swapchain_image(chain, info->pImageIndices[i], &image))
            error = show_one(c->r, chain, &image);
    }
    return error;
}

/* ---- the end ----------------------------------------------------------------------------- */

void vkr_present_window_device_destroyed(struct vkr *r, const struct vkr_device *device)
{
    for (struct window *w = r->show ? r->show->windows : NULL; w; w = w->next)
        if (w->device == device)
            drop_swapchain(w);
}

/* The window stays, with what it shows. */
void vkr_present_window_instance_destroyed(struct vkr *r, const struct vkr_instance *instance)
{
    for (struct window *w = r->show ? r->show->windows : NULL; w; w = w->next)
        if (w->surface && w->instance == instance) {
            drop_swapchain(w);
            instance->dispatch.f.vkDestroySurfaceKHR(instance->dispatch.instance, w->surface, NULL);
            w->surface = VK_NULL_HANDLE;
        }
}

void vkr_present_window_linger(const struct vkr *r)
{
    uint64_t ns = r->show ? r->inspect->wanted->present_hold_ns : 0;
    struct timespec left = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        ;
}

/* After all devices and instances. */
void vkr_present_window_finish(struct vkr *r)
{
    if (!r->show)
        return;
    while (r->show->windows) {
        struct window *next = r->show->windows->next;
        free(r->show->windows);
        r->show->windows = next;
    }
    vk_xcb_destroy(r->show->xcb);
    free(r->show);
    r->show = NULL;
}
