/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory and semaphores that pass through file descriptors.
 */
#ifndef API_VULKAN_REPLAY_SHARE_H
#define API_VULKAN_REPLAY_SHARE_H

#include "api/vulkan/replay/common.h"
#include "api/api.h"
#include "api/vulkan/replay/memory/memory.h"
#include "replay/backend.h"

struct vkr_share {
    struct tsm_map numbers; /* type << 32 | recorded descriptor -> place in the list, + 1 */
    struct vkr_given {
        uint64_t id; /* of the object */
        uint32_t type;
        int fd;       /* ours; -1: it was a sync file of what is signalled */
        bool is_copy; /* a sync file: what the object had then */
    } * list;
    size_t count;
    struct tsm_map planned; /* type << 32 | descriptor -> id */
    struct tsm_map inside;  /* ids of semaphores that the trace imports again */
};

struct vkr_semaphore;
int vkr_share_plan(struct vkr *r, struct vkr_call *c);
/* Tests whether the trace says from which object this one imports; 0: from outside. */
bool vkr_share_said(const struct vkr *r, uint32_t type, uint64_t id, uint64_t *from);
int vkr_get_memory_fd(struct vkr_call *c);
int vkr_get_semaphore_fd(struct vkr_call *c);
int vkr_get_fence_fd(struct vkr_call *c);
int vkr_import_semaphore_fd(struct vkr_call *c);
int vkr_import_fence_fd(struct vkr_call *c);
/* Imports memory from a descriptor of ours, m->shared_fd, which the driver owns once it has
 * allocated the memory; memory from outside becomes ordinary memory. */
void vkr_share_memory(struct vkr_call *c, VkMemoryAllocateInfo *info, struct vkr_memory *m);
/* Do what others did before a submit waits for a semaphore, or signals it, to `value`; `s` may be
 * NULL. */
int vkr_share_before_wait(struct vkr_call *c, VkQueue queue, const struct vkr_semaphore *s,
                          VkSemaphore semaphore, uint64_t value);
int vkr_share_before_signal(struct vkr_call *c, VkQueue queue, const struct vkr_semaphore *s,
                            VkSemaphore semaphore);
/* Do what others did before the host waits for a fence, or for a counter. */
int vkr_share_before_fence(struct vkr_call *c, VkFence fence);
int vkr_share_before_value(struct vkr_call *c, VkSemaphore semaphore, uint64_t value);
/* Implements tsm_backend.give. */
int vkr_share_give(struct vkr *r, enum tsm_shared kind, uint64_t id, int *fd);
/* Implements tsm_backend.use. */
int vkr_share_use(struct vkr *r, const struct tsm_semaphore_use *use);
void vkr_share_finish(struct vkr *r);

#endif
