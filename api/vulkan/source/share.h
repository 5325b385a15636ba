/* SPDX-License-Identifier: Apache-2.0
 *
 * Follows memory, semaphores and fences that the program exports and imports through file
 * descriptors.
 */
#ifndef API_VULKAN_SOURCE_SHARE_H
#define API_VULKAN_SOURCE_SHARE_H

#include <stdbool.h>
#include <stdint.h>

/* Behind which object of this program's a descriptor is, by its id. 0: another process's, or
 * another API's. */
struct vk_origin {
    uint64_t id;
    bool renumbered; /* the descriptor has another number than the one that the driver gave */
};

/* `type`: enum vk_object. Before the driver takes the descriptor over. */
struct vk_origin vk_origin_of(int fd, uint32_t type);

/* For the trace: what this object imports comes from `from`. Said where the number of the
 * descriptor does not tell. */
void vk_origin_describe(uint32_t type, uint64_t id, struct vk_origin from);

/* The program has got a sync file of a semaphore or fence, -1: of one that is signalled. After commit. */
void vk_sync_fd_given(uint32_t type, uint64_t raw, int fd);
struct vk_device_state;
/* Part of vk_memory_patch(), in api/vulkan/source/completion/sync_fd.c. */
void vk_sync_fd_patch(struct vk_device_state *device);

#endif
