/* SPDX-License-Identifier: Apache-2.0
 *
 * Locks of the source. A signal handler of the program may find a sync file ready while its thread
 * holds one: then nothing is learnt (api/vulkan/source/completion/sync_fd.c).
 */
#ifndef API_VULKAN_SOURCE_LOCK_H
#define API_VULKAN_SOURCE_LOCK_H

#include "capture/lock.h"

/* How many the thread holds, or is about to take. */
extern _Thread_local uint32_t vk_locks_held __attribute__((tls_model("initial-exec")));

static inline void vk_lock_take(struct tsm_lock *lock)
{
    vk_locks_held++;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    tsm_lock_take(lock);
}

static inline void vk_lock_give(struct tsm_lock *lock)
{
    tsm_lock_give(lock);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    vk_locks_held--;
}

static inline bool vk_lock_try(struct tsm_lock *lock)
{
    vk_locks_held++;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (tsm_lock_try(lock))
        return true;
    vk_locks_held--;
    return false;
}

#endif
