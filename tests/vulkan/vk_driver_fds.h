/* SPDX-License-Identifier: Apache-2.0
 *
 * Semaphores and fences behind file descriptors, for the driver of the tests: one that was imported
 * stands for the one that was exported. Of another process's nothing is known: it is left out.
 */
#ifndef TESTS_VULKAN_VK_DRIVER_FDS_H
#define TESTS_VULKAN_VK_DRIVER_FDS_H

#include <vulkan/vulkan.h>

/* What stands for it. VK_NULL_HANDLE: another process's. */
VkSemaphore fds_semaphore(VkSemaphore semaphore);
VkFence fds_fence(VkFence fence);
/* It is destroyed: it stands for itself again. */
void fds_forget(uint64_t handle);

VkResult VKAPI_CALL fds_get_semaphore(VkDevice device, const VkSemaphoreGetFdInfoKHR *info,
                                      int *out);
VkResult VKAPI_CALL fds_import_semaphore(VkDevice device, const VkImportSemaphoreFdInfoKHR *info);
VkResult VKAPI_CALL fds_get_fence(VkDevice device, const VkFenceGetFdInfoKHR *info, int *out);
VkResult VKAPI_CALL fds_import_fence(VkDevice device, const VkImportFenceFdInfoKHR *info);

#endif
