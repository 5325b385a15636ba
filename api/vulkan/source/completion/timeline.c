/* SPDX-License-Identifier: Apache-2.0
 *
 * With TS_CHECKSUM=submit: which work cannot end before the program signals a timeline semaphore,
 * so that nobody waits for it. What happened while nothing was recorded is not known here: before a
 * queue is said to be stuck, the driver is asked how far the semaphore is.
 */
#include "api/vulkan/source/completion/timeline.h"

#include "api/vulkan/vulkan_args.h"
#include "api/vulkan/vulkan_hooks.h"
#include "api/vulkan/source/source.h"
#include "api/vulkan/source/layer.h"
#include "api/vulkan/tables/timeline.h"
#include "api/vulkan/source/lock.h"

#include <string.h>

static struct vk_timelines timelines;
static struct tsm_lock lock;

void vk_timeline_forget(void)
{
    memset(&timelines, 0, sizeof(timelines)); /* what the parent may have been changing */
    lock = (struct tsm_lock){0};
}

static bool is_wanted(void)
{
    return tsm_session_settings()->checksum == TSM_CHECKSUM_COMMAND;
}

/* ---- semaphores ----------------------------------------------------------------------------- */

static bool is_timeline(const VkSemaphoreTypeCreateInfo *type)
{
    return type && type->semaphoreType == VK_SEMAPHORE_TYPE_TIMELINE;
}

static void set(VkSemaphore semaphore, const VkSemaphoreTypeCreateInfo *type)
{
    vk_lock_take(&lock);
    if (is_timeline(type))
        vk_timelines_set(&timelines, VK_RAW(semaphore), type->initialValue);
    else
        vk_timelines_forget(&timelines, VK_RAW(semaphore));
    vk_lock_give(&lock);
}

void vk_timeline_created(VkSemaphore semaphore, const VkSemaphoreTypeCreateInfo *type)
{
    if (is_wanted())
        set(semaphore, type);
}

void vk_semaphore_destroyed(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkDestroySemaphore *a = args;

    if (is_wanted())
        set(a->semaphore, NULL);
}

void vk_timeline_shared(VkSemaphore semaphore)
{
    if (is_wanted())
        set(semaphore, NULL);
}

void vk_semaphore_signalled(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkSignalSemaphore *a = args;

    if (result < 0 || !is_wanted())
        return;
    vk_lock_take(&lock);
    vk_timelines_host(&timelines, VK_RAW(a->pSignalInfo->semaphore), a->pSignalInfo->value);
    vk_lock_give(&lock);
}

/* ---- queues --------------------------------------------------------------------------------- */

void vk_timeline_waits(VkQueue queue, VkSemaphore semaphore, uint64_t value)
{
    if (!is_wanted())
        return;
    vk_lock_take(&lock);
    vk_timelines_wait(&timelines, VK_RAW(queue), VK_RAW(semaphore), value);
    vk_lock_give(&lock);
}

void vk_timeline_signals(VkQueue queue, VkSemaphore semaphore, uint64_t value)
{
    if (!is_wanted())
        return;
    vk_lock_take(&lock);
    vk_timelines_signal(&timelines, VK_RAW(queue), VK_RAW(semaphore), value);
    vk_lock_give(&lock);
}

/* How far the semaphore is. */
static uint64_t ask(const struct vk_device_state *d, uint64_t semaphore)
{
    PFN_vkGetSemaphoreCounterValue get = d->below.vkGetSemaphoreCounterValue;
    uint64_t value = 0;

    get = get ? get : d->below.vkGetSemaphoreCounterValueKHR;
    if (!get || get(d->dispatch.device, (VkSemaphore)(uintptr_t)semaphore, &value) < 0)
        value = 0;
    return value;
}

bool vk_timeline_is_stuck(VkQueue queue)
{
    uint64_t semaphore = 0, asked = 0;
    bool is_stuck;

    vk_lock_take(&lock);
    while ((is_stuck = vk_timelines_is_stuck(&timelines, VK_RAW(queue), &semaphore)) &&
           semaphore != asked) {
        vk_timelines_host(&timelines, semaphore, ask(vk_state_of(queue), semaphore));
        asked = semaphore;
    }
    vk_lock_give(&lock);
    return is_stuck;
}
