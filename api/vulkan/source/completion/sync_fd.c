/* SPDX-License-Identifier: Apache-2.0
 *
 * Follows sync files that the driver gives to the program. When the program finds one ready, which
 * capture/call/sync_fd.h reports, it knows as much as after a wait for the fence or semaphore: its
 * mapped memory gets what the device has written, and the trace gets a COMPLETE record.
 */
#include "api/vulkan/source/completion/sync_fd.h"

#include "api/vulkan/source/completion/completion.h"
#include "api/vulkan/source/gpu_time/time.h"
#include "api/vulkan/source/layer.h"
#include "api/vulkan/source/lock.h"
#include "api/vulkan/source/memory/memory.h"
#include "api/vulkan/source/source.h"
#include "capture/call/sync_fd.h"

#include <errno.h>

__thread uint32_t vk_locks_held __attribute__((tls_model("initial-exec")));

/* ---- the program has learnt that work is done -------------------------------------------------
 */

/* All before the point is complete. */
static void learn(const struct tsm_sync_point *p)
{
    struct vk_learnt learnt;

    if (!vk_completion_learn(p, &learnt))
        return;
    tsm_stream_completed_parts(p->stream, learnt.position, learnt.parts);
    if (!learnt.is_exact)
        tsm_session_unmodelled("a sync file of a submit of thousands of batches was found ready",
                               true);
    vk_time_collect();
    if (tsm_session_settings()->readback != TSM_READBACK_OFF)
        vk_memory_report(learnt.device);
}

/* Some stages of a batch are complete, and what came before them. */
static void ready_stages(const struct tsm_sync_points *points)
{
    int saved_errno = errno;

    if (vk_locks_held)
        return;
    vk_memory_pull();
    tsm_session_unmodelled("a sync file of a signal that waits for some stages only was found "
                           "ready: replay does not wait for them",
                           true);
    errno = saved_errno;
}

/* A signal handler that interrupts this thread while it holds one of our locks learns nothing. */
static void ready(const struct tsm_sync_points *points)
{
    int saved_errno = errno;

    if (vk_locks_held)
        return;
    vk_memory_pull();
    for (uint32_t i = 0; i < points->count; i++)
        learn(&points->all[i]);
    errno = saved_errno;
}

/* ---- giving out -------------------------------------------------------------------------------
 */

/* Below the wrappers: the program needs what the device has written also where nothing is recorded.
 * -1: it is done already. */
static void given(int fd)
{
    const struct tsm_sync_points none = {.count = 0};

    if (fd >= 0)
        tsm_sync_fd_follow(fd, ready, &none);
    else
        vk_memory_pull();
}

static VKAPI_ATTR VkResult VKAPI_CALL get_semaphore(VkDevice device,
                                                    const VkSemaphoreGetFdInfoKHR *info, int *fd)
{
    VkResult result = vk_state_of(device)->below.vkGetSemaphoreFdKHR(device, info, fd);

    if (result >= 0 && info->handleType == VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT)
        given(*fd);
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL get_fence(VkDevice device, const VkFenceGetFdInfoKHR *info,
                                                int *fd)
{
    VkResult result = vk_state_of(device)->below.vkGetFenceFdKHR(device, info, fd);

    if (result >= 0 && info->handleType == VK_EXTERNAL_FENCE_HANDLE_TYPE_SYNC_FD_BIT)
        given(*fd);
    return result;
}

void vk_sync_fd_given(uint32_t type, uint64_t raw, int fd)
{
    struct tsm_sync_points points = {.count = 1};
    bool is_staged = false;
    tsm_sync_ready *then;

    if (!vk_completion_point(type, raw, &points.all[0], &is_staged))
        return;
    points.count = !is_staged;
    then = is_staged ? ready_stages : ready;
    if (fd >= 0)
        tsm_sync_fd_follow(fd, then, &points);
    else
        then(&points);
}

/* ---- taking in --------------------------------------------------------------------------------
 */

/* The descriptor is the driver's afterwards. */
static VKAPI_ATTR VkResult VKAPI_CALL import_semaphore(VkDevice device,
                                                       const VkImportSemaphoreFdInfoKHR *info)
{
    struct tsm_sync_points points = {.count = 0};
    bool is_ours = tsm_sync_fd_find(info->fd, &points);
    VkResult result = vk_state_of(device)->below.vkImportSemaphoreFdKHR(device, info);

    if (result >= 0 && is_ours && points.count == 1)
        vk_completion_stands_for(VK_OBJECT_VkSemaphore, VK_RAW(info->semaphore), &points.all[0]);
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL import_fence(VkDevice device,
                                                   const VkImportFenceFdInfoKHR *info)
{
    struct tsm_sync_points points = {.count = 0};
    bool is_ours = tsm_sync_fd_find(info->fd, &points);
    VkResult result = vk_state_of(device)->below.vkImportFenceFdKHR(device, info);

    if (result >= 0 && is_ours && points.count == 1)
        vk_completion_stands_for(VK_OBJECT_VkFence, VK_RAW(info->fence), &points.all[0]);
    return result;
}

void vk_sync_fd_patch(struct vk_device_state *device)
{
    struct vk_device_functions *f = &device->dispatch.f;

    if (f->vkGetSemaphoreFdKHR)
        f->vkGetSemaphoreFdKHR = get_semaphore;
    if (f->vkGetFenceFdKHR)
        f->vkGetFenceFdKHR = get_fence;
    if (f->vkImportSemaphoreFdKHR)
        f->vkImportSemaphoreFdKHR = import_semaphore;
    if (f->vkImportFenceFdKHR)
        f->vkImportFenceFdKHR = import_fence;
}
