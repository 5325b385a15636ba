/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the driver of the tests (vk_driver.c).
 */
#ifndef TESTS_VULKAN_VK_DRIVER_H
#define TESTS_VULKAN_VK_DRIVER_H

#include <stdbool.h>
#include <vulkan/vulkan.h>

/* ---- vk_driver.c ---- */

/* A function of the real driver. */
PFN_vkVoidFunction driver_real(const char *name);
#define REAL(name) ((PFN_##name)driver_real(#name))
/* Finds a function that may exist as an extension only. */
#define REAL_KHR(name)                                                                             \
    ((PFN_##name)(driver_real(#name) ? driver_real(#name) : driver_real(#name "KHR")))

/* To the one queue that there is. */
VkResult driver_submit(VkDevice device, const VkSubmitInfo *info, VkFence fence);

/* ---- vk_driver_fds.c: semaphores and fences after file descriptors ----
 *
 * One that was imported stands for the one that was exported. Of another process's nothing is
 * known: it is left out. A sync file is an eventfd, written when the work is done. */

/* Returns the real semaphore. VK_NULL_HANDLE: another process's. */
VkSemaphore fds_semaphore(VkSemaphore semaphore);
VkFence fds_fence(VkFence fence);
/* It is destroyed: it stands for itself again. */
void fds_forget(uint64_t handle);
/* A fence in place of a semaphore that a batch signals which is not its submit's last. */
VkFence fds_early(VkDevice device, VkSemaphore semaphore);

VkResult VKAPI_CALL fds_get_semaphore(VkDevice device, const VkSemaphoreGetFdInfoKHR *info,
                                      int *out);
VkResult VKAPI_CALL fds_import_semaphore(VkDevice device, const VkImportSemaphoreFdInfoKHR *info);
VkResult VKAPI_CALL fds_get_fence(VkDevice device, const VkFenceGetFdInfoKHR *info, int *out);
VkResult VKAPI_CALL fds_import_fence(VkDevice device, const VkImportFenceFdInfoKHR *info);

/* Waits for what looks after sync files. */
void fds_device_destroyed(void);

/* ---- vk_driver_mirror.c ---- */

bool mirror_is_asked(void);
VkResult mirror_give(VkDevice device, VkSemaphore semaphore, int *out);
/* It is about to be destroyed. */
void mirror_end(VkSemaphore semaphore);

/* ---- vk_driver_late.c ---- */

/* Makes the next submit begin late. */
void late_begin(VkDevice device);
void late_device_gone(VkDevice device);

/* ---- vk_driver_dedicated.c ---- */

VkResult dedicated_allocate(VkDevice device, const VkMemoryAllocateInfo *info,
                            const VkAllocationCallbacks *a, VkDeviceMemory *out);
void dedicated_gone(VkDeviceMemory memory);
/* In the chain of what a resource needs, if TS_TEST_DRIVER says so. */
void dedicated_require(void *chain);

VkResult VKAPI_CALL dedicated_bind_buffer(VkDevice device, VkBuffer buffer, VkDeviceMemory memory,
                                          VkDeviceSize offset);
VkResult VKAPI_CALL dedicated_bind_image(VkDevice device, VkImage image, VkDeviceMemory memory,
                                         VkDeviceSize offset);
VkResult VKAPI_CALL dedicated_bind_buffers(VkDevice device, uint32_t count,
                                           const VkBindBufferMemoryInfo *infos);
VkResult VKAPI_CALL dedicated_bind_images(VkDevice device, uint32_t count,
                                          const VkBindImageMemoryInfo *infos);

/* ---- vk_driver_rays.c ---- */

VkResult VKAPI_CALL rays_create(VkDevice device, const VkAccelerationStructureCreateInfoKHR *info,
                                const VkAllocationCallbacks *a, VkAccelerationStructureKHR *out);
void VKAPI_CALL rays_destroy(VkDevice device, VkAccelerationStructureKHR structure,
                             const VkAllocationCallbacks *a);
void VKAPI_CALL rays_build(VkCommandBuffer commands, uint32_t count,
                           const VkAccelerationStructureBuildGeometryInfoKHR *infos,
                           const VkAccelerationStructureBuildRangeInfoKHR *const *ranges);

#endif
