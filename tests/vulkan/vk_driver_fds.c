/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/vulkan/vk_driver_fds.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define ALIAS_COUNT 64u

static struct alias {
    uint64_t from, to;
} aliases[ALIAS_COUNT];

/* What is in the file. */
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

VkResult fds_get_semaphore(VkDevice device, const VkSemaphoreGetFdInfoKHR *info, int *out)
{
    return give((uint64_t)(uintptr_t)info->semaphore, out);
}

VkResult fds_import_semaphore(VkDevice device, const VkImportSemaphoreFdInfoKHR *info)
{
    return take((uint64_t)(uintptr_t)info->semaphore, info->fd);
}

VkResult fds_get_fence(VkDevice device, const VkFenceGetFdInfoKHR *info, int *out)
{
    return give((uint64_t)(uintptr_t)info->fence, out);
}

VkResult fds_import_fence(VkDevice device, const VkImportFenceFdInfoKHR *info)
{
    return take((uint64_t)(uintptr_t)info->fence, info->fd);
}
