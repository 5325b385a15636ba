/* SPDX-License-Identifier: Apache-2.0
 *
 * Follows memory, semaphores and fences that the program exports and imports through file
 * descriptors.
 */
#include "api/vulkan/vulkan_args.h"
#include "api/vulkan/vulkan_hooks.h"
#include "api/vulkan/source/completion/sync_fd.h"
#include "api/vulkan/source/completion/timeline.h"
#include "api/vulkan/source/layer.h"
#include "api/vulkan/source/memory/memory.h"
#include "api/vulkan/source/origin.h"
#include "api/vulkan/source/source.h"

void vk_memory_given(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkGetMemoryFdKHR *a = args;

    if (result < 0)
        return;
    vk_origin_give(*a->pFd, VK_OBJECT_VkDeviceMemory,
                   vk_id(VK_OBJECT_VkDeviceMemory, VK_RAW(a->pGetFdInfo->memory)));
    vk_memory_exported(vk_state_of(a->device), a->pGetFdInfo->memory);
}

void vk_semaphore_given(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkGetSemaphoreFdKHR *a = args;

    if (result < 0)
        return;
    vk_origin_give(*a->pFd, VK_OBJECT_VkSemaphore,
                   vk_id(VK_OBJECT_VkSemaphore, VK_RAW(a->pGetFdInfo->semaphore)));
    vk_timeline_shared(a->pGetFdInfo->semaphore);
    if (a->pGetFdInfo->handleType == VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT)
        vk_sync_fd_given(VK_OBJECT_VkSemaphore, VK_RAW(a->pGetFdInfo->semaphore), *a->pFd);
}

void vk_fence_given(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkGetFenceFdKHR *a = args;

    if (result < 0)
        return;
    vk_origin_give(*a->pFd, VK_OBJECT_VkFence,
                   vk_id(VK_OBJECT_VkFence, VK_RAW(a->pGetFdInfo->fence)));
    if (a->pGetFdInfo->handleType == VK_EXTERNAL_FENCE_HANDLE_TYPE_SYNC_FD_BIT)
        vk_sync_fd_given(VK_OBJECT_VkFence, VK_RAW(a->pGetFdInfo->fence), *a->pFd);
}

/* A sync file of -1 is one that is signalled: replay can have that, too. */
void vk_semaphore_taken(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkImportSemaphoreFdKHR *a = args;
    const VkImportSemaphoreFdInfoKHR *info = a->pImportSemaphoreFdInfo;

    vk_timeline_shared(info->semaphore);
    if (info->fd >= 0)
        vk_origin_describe(VK_OBJECT_VkSemaphore,
                           vk_id(VK_OBJECT_VkSemaphore, VK_RAW(info->semaphore)),
                           vk_origin_of(info->fd, VK_OBJECT_VkSemaphore));
}

void vk_fence_taken(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkImportFenceFdKHR *a = args;
    const VkImportFenceFdInfoKHR *info = a->pImportFenceFdInfo;

    if (info->fd >= 0)
        vk_origin_describe(VK_OBJECT_VkFence, vk_id(VK_OBJECT_VkFence, VK_RAW(info->fence)),
                           vk_origin_of(info->fd, VK_OBJECT_VkFence));
}
