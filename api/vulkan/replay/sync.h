/* SPDX-License-Identifier: Apache-2.0
 *
 * Submits, and waits of the program.
 */
#ifndef API_VULKAN_REPLAY_SYNC_H
#define API_VULKAN_REPLAY_SYNC_H

#include "api/vulkan/replay/common.h"
#include "api/vulkan/replay/device.h"

int vkr_submit(struct vkr_call *c);
int vkr_bind_sparse(struct vkr_call *c);
/* Notes that acquiring an image signals these. */
void vkr_note_acquired(struct vkr *r, VkSemaphore semaphore, VkFence fence);
/* Submits nothing but waiting, in place of a present. */
int vkr_submit_waits(struct vkr_call *c, VkQueue queue, uint32_t count,
                     const VkSemaphore *semaphores);
/* Tests whether vkr_sync() carries the record out: a wait of the program, or a poll. */
bool vkr_owns_sync(const struct sbt_record *record);
int vkr_sync(struct vkr_call *c);

#endif
