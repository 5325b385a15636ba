/* SPDX-License-Identifier: Apache-2.0
 *
 * Acquiring and presenting images of windows. Replay shows nothing by itself (but see
 * api/vulkan/replay/inspect/present_window.c): acquiring and presenting signal and wait for the
 * recorded semaphores on a queue.
 */
#include "api/vulkan/replay/window.h"

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/device.h"
#include "api/vulkan/replay/inspect/present_window.h"
#include "api/vulkan/replay/loader.h"
#include "api/vulkan/replay/state/tracker.h"
#include "api/vulkan/replay/sync.h"
#include "api/vulkan/tables/chain.h"

static int signal_acquired(struct vkr_call *c, VkSemaphore semaphore, VkFence fence)
{
    const struct vkr_device *device = c->owner ? c->owner->device : NULL;
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .signalSemaphoreCount = semaphore ? 1 : 0,
                         .pSignalSemaphores = &semaphore};
    VkResult result;

    if (!device || !device->queue.raw)
        return tsm_fail(TSM_E_FORMAT, "belongs to no device with a queue");
    vkr_note_acquired(c->r, semaphore, fence);
    if (c->r->is_early)
        return 0;
    result = device->dispatch.f.vkQueueSubmit(device->queue.raw, 1, &info, fence);
    return result >= 0 ? 0 : vkr_fail("vkQueueSubmit, to acquire an image,", result);
}

int vkr_acquire_image(struct vkr_call *c)
{
    const struct vk_args_vkAcquireNextImageKHR *a = (const void *)c->args;

    return c->record->result < 0 || c->record->result == VK_TIMEOUT ||
                   c->record->result == VK_NOT_READY
               ? 0
               : signal_acquired(c, a->semaphore, a->fence);
}

int vkr_acquire_image2(struct vkr_call *c)
{
    const struct vk_args_vkAcquireNextImage2KHR *a = (const void *)c->args;

    return c->record->result < 0 || c->record->result == VK_TIMEOUT ||
                   c->record->result == VK_NOT_READY
               ? 0
               : signal_acquired(c, a->pAcquireInfo->semaphore, a->pAcquireInfo->fence);
}

/* VK_EXT_swapchain_maintenance1: fences that the program waits for before it uses again what it has
 * presented. */
static int signal_presented(struct vkr_call *c, VkQueue queue, const VkPresentInfoKHR *info)
{
    const VkSwapchainPresentFenceInfoEXT *fences =
        vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_SWAPCHAIN_PRESENT_FENCE_INFO_EXT);
    VkResult result = VK_SUCCESS;

    for (uint32_t i = 0; fences && i < fences->swapchainCount && result >= 0; i++) {
        if (!fences->pFences[i])
            continue;
        vkr_state_tracker_fence(c->r, fences->pFences[i], true);
        if (!c->r->is_early)
            result = c->owner->device->dispatch.f.vkQueueSubmit(queue, 0, NULL, fences->pFences[i]);
    }
    return result >= 0 ? 0 : vkr_fail("vkQueueSubmit, to present,", result);
}

int vkr_present(struct vkr_call *c)
{
    const struct vk_args_vkQueuePresentKHR *a = (const void *)c->args;

    int error = vkr_submit_waits(c, a->queue, a->pPresentInfo->waitSemaphoreCount,
                                 a->pPresentInfo->pWaitSemaphores);

    if (!error)
        error = signal_presented(c, a->queue, a->pPresentInfo);
    return error ? error : vkr_present_window_show(c, a->queue, a->pPresentInfo);
}
