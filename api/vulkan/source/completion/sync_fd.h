/* SPDX-License-Identifier: Apache-2.0
 *
 * Sync files: semaphores and fences that the program exports and imports through file descriptors.
 */
#ifndef API_VULKAN_SOURCE_COMPLETION_SYNC_FD_H
#define API_VULKAN_SOURCE_COMPLETION_SYNC_FD_H

#include <stdbool.h>
#include <stdint.h>

/* Notes that the program has got a sync file of a semaphore or fence; -1: of one that is signalled.
 * Called after commit. */
void vk_sync_fd_given(uint32_t type, uint64_t raw, int fd);
struct vk_device_state;
/* Puts functions of ours in front of those that export and import. */
void vk_sync_fd_patch(struct vk_device_state *device);

#endif
