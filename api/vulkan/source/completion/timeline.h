/* SPDX-License-Identifier: Apache-2.0
 *
 * TS_CHECKSUM=submit: which work waits for the program.
 */
#ifndef API_VULKAN_SOURCE_COMPLETION_TIMELINE_H
#define API_VULKAN_SOURCE_COMPLETION_TIMELINE_H

#include "api/vulkan/source/layer.h"

/* In the child of a fork. */
void vk_timeline_forget(void);
/* Notes a new semaphore; `type`: of its chain, or NULL. */
void vk_timeline_created(VkSemaphore semaphore, const VkSemaphoreTypeCreateInfo *type);
/* Notes that the work sent to the queue waits for the semaphore; or signals it. */
void vk_timeline_waits(VkQueue queue, VkSemaphore semaphore, uint64_t value);
void vk_timeline_signals(VkQueue queue, VkSemaphore semaphore, uint64_t value);
/* Forgets a semaphore that others signal, too, unseen. */
void vk_timeline_shared(VkSemaphore semaphore);
/* Tests whether work that was sent to the queue waits for a signal by the program. */
bool vk_timeline_is_stuck(VkQueue queue);

#endif
