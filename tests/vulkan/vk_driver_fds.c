/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/vulkan/vk_driver.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#define ALIAS_COUNT 64u

static struct alias {
    uint64_t from, to;
} aliases[ALIAS_COUNT];

/* Content of the file. */
struct content {
    uint64_t handle;
    pid_t process;
};

static uint64_t find(uint64_t handle)
{
    for (struct alias *a = aliases; a < aliases + ALIAS_COUNT; a++)
        if (a->from == handle)
            return a->to;
    return handle;
}

void fds_forget(uint64_t handle)
{
    for (struct alias *a = aliases; a < aliases + ALIAS_COUNT; a++)
        if (a->from == handle)
            a->from = 0;
}

static VkResult give(uint64_t handle, int *out)
{
    struct content content = {find(handle), getpid()};

    *out = memfd_create("fds", MFD_CLOEXEC);
    if (*out < 0 || write(*out, &content, sizeof(content)) != sizeof(content))
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    return VK_SUCCESS;
}

static VkResult take(uint64_t handle, int fd)
{
    struct alias *a = aliases;
    struct content content;

    if (pread(fd, &content, sizeof(content), 0) != sizeof(content))
        return VK_ERROR_INVALID_EXTERNAL_HANDLE;
    fds_forget(handle);
    while (a->from)
        if (++a == aliases + ALIAS_COUNT)
            abort();
    *a = (struct alias){handle, content.process == getpid() ? content.handle : 0};
    close(fd);
    return VK_SUCCESS;
}

VkSemaphore fds_semaphore(VkSemaphore semaphore)
{
    return (VkSemaphore)(uintptr_t)find((uint64_t)(uintptr_t)semaphore);
}

VkFence fds_fence(VkFence fence)
{
    return (VkFence)(uintptr_t)find((uint64_t)(uintptr_t)fence);
}

/* ---- sync files ------------------------------------------------------------------------------ */

/* Writes the eventfd when the fence is signalled. */
struct watch {
    VkDevice device;
    VkFence fence;
    int fd;
};
static _Atomic int watch_count;

static void *watch(void *user)
{
    struct watch *w = user;
    const uint64_t one = 1;

    REAL(vkWaitForFences)(w->device, 1, &w->fence, VK_TRUE, UINT64_MAX);
    if (write(w->fd, &one, sizeof(one)) != sizeof(one))
        abort();
    close(w->fd);
    REAL(vkDestroyFence)(w->device, w->fence, NULL);
    free(w);
    watch_count--;
    return NULL;
}

void fds_device_destroyed(void)
{
    while (watch_count)
        usleep(1000);
}

/* Signal of a batch that is not its submit's last: a fence in the semaphore's place. */
static struct {
    VkSemaphore semaphore;
    VkFence fence;
} early;

VkFence fds_early(VkDevice device, VkSemaphore semaphore)
{
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};

    if (REAL(vkCreateFence)(device, &info, NULL, &early.fence) < 0)
        abort();
    early.semaphore = semaphore;
    return early.fence;
}

/* Sends a fence behind all that was sent to the queue, and behind the semaphore's signal. */
static VkFence send_fence(VkDevice device, VkSemaphore semaphore)
{
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .waitSemaphoreCount = 1,
                         .pWaitSemaphores = &semaphore,
                         .pWaitDstStageMask = &stage};
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkFence out;

    if (semaphore && early.semaphore == semaphore) {
        early.semaphore = VK_NULL_HANDLE;
        return early.fence;
    }
    if (REAL(vkCreateFence)(device, &fence, NULL, &out) < 0 ||
        driver_submit(device, semaphore ? &info : NULL, out) < 0)
        abort();
    return out;
}

/* All that was sent to the queue is done, and the semaphore's signal with it. */
static VkResult give_sync(VkDevice device, VkSemaphore semaphore, int *out)
{
    struct watch *w = malloc(sizeof(*w));
    pthread_t thread;

    if (!w)
        abort();
    w->fence = send_fence(device, semaphore);
    w->device = device;
    *out = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    w->fd = dup(*out);
    if (w->fd < 0)
        abort();
    watch_count++;
    if (pthread_create(&thread, NULL, watch, w) != 0)
        abort();
    pthread_detach(thread);
    return VK_SUCCESS;
}

/* The semaphore or fence is signalled when the descriptor is ready. */
static VkResult take_sync(VkDevice device, VkSemaphore semaphore, VkFence fence, int fd)
{
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .signalSemaphoreCount = 1,
                         .pSignalSemaphores = &semaphore};
    struct pollfd p = {fd, POLLIN, 0};

    if (fd >= 0 && poll(&p, 1, -1) != 1)
        return VK_ERROR_INVALID_EXTERNAL_HANDLE;
    if (fd >= 0)
        close(fd);
    return driver_submit(device, semaphore ? &info : NULL, fence);
}

/* ---- functions of the driver ----------------------------------------------------------------- */

VkResult fds_get_semaphore(VkDevice device, const VkSemaphoreGetFdInfoKHR *info, int *out)
{
    if (info->handleType == VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT)
        return give_sync(device, fds_semaphore(info->semaphore), out);
    if (mirror_is_asked())
        return mirror_give(device, info->semaphore, out);
    return give((uint64_t)(uintptr_t)info->semaphore, out);
}

VkResult fds_import_semaphore(VkDevice device, const VkImportSemaphoreFdInfoKHR *info)
{
    if (info->handleType == VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT)
        return take_sync(device, fds_semaphore(info->semaphore), VK_NULL_HANDLE, info->fd);
    return take((uint64_t)(uintptr_t)info->semaphore, info->fd);
}

VkResult fds_get_fence(VkDevice device, const VkFenceGetFdInfoKHR *info, int *out)
{
    if (info->handleType == VK_EXTERNAL_FENCE_HANDLE_TYPE_SYNC_FD_BIT)
        return give_sync(device, VK_NULL_HANDLE, out);
    return give((uint64_t)(uintptr_t)info->fence, out);
}

VkResult fds_import_fence(VkDevice device, const VkImportFenceFdInfoKHR *info)
{
    if (info->handleType == VK_EXTERNAL_FENCE_HANDLE_TYPE_SYNC_FD_BIT)
        return take_sync(device, VK_NULL_HANDLE, fds_fence(info->fence), info->fd);
    return take((uint64_t)(uintptr_t)info->fence, info->fd);
}
