/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs after calls that send work, or by which the program learns that work is done: notes what is
 * complete (completion.c), and records what the device has written if all of it is. This file calls
 * the rooms that do so; none of them calls it.
 */
#include "api/vulkan/vulkan_args.h"
#include "api/vulkan/source/completion/completion.h"
#include "api/vulkan/source/completion/pending.h"
#include "api/vulkan/source/completion/timeline.h"
#include "api/vulkan/vulkan_hooks.h"
#include "api/vulkan/source/gpu_time/time.h"
#include "api/vulkan/source/layer.h"
#include "api/vulkan/source/memory/memory.h"
#include "api/vulkan/source/source.h"
#include "api/vulkan/tables/chain.h"
#include "api/vulkan/tables/submit.h"
#include "api/vulkan/vulkan_ids.h"

static void report(struct vk_device_state *device)
{
    vk_time_collect();
    if (tsm_session_settings()->readback != TSM_READBACK_OFF)
        vk_memory_report(device);
}

/* ---- what is sent --------------------------------------------------------------------------- */

/* With TS_CHECKSUM=submit: records what the submit has written before the next one is sent, if it
 * can end. */
static void check_each(const struct tsm_call *call, VkQueue queue)
{
    if (tsm_session_settings()->checksum != TSM_CHECKSUM_COMMAND ||
        !vk_pending_look(queue, call->stream, call->position))
        return;
    vk_memory_pull();
    vk_completion_complete(call->stream, call->position);
    vk_hidden_report(queue);
    report(vk_state_of(queue));
}

static void submitted(struct tsm_call *call, uint32_t type, const void *args, int64_t result)
{
    struct vk_submit submit;

    if (!vk_submit_of(&submit, type, args))
        return;
    if (result < 0) {
        vk_completion_not_sent(submit.queue);
        return;
    }
    vk_time_sent(call);
    vk_completion_sent(call, submit.queue, submit.fence, true);
    vk_completion_sent_batches(call, &submit);
    check_each(call, submit.queue);
    vk_time_collect_some();
    tsm_checkpoint_point(false);
}

void vk_submitted(struct tsm_call *call, const void *args, int64_t result)
{
    submitted(call, TYPE_vkQueueSubmit, args, result);
}

void vk_submitted2(struct tsm_call *call, const void *args, int64_t result)
{
    submitted(call, TYPE_vkQueueSubmit2, args, result);
}

void vk_sparse_bound(struct tsm_call *call, const void *args, int64_t result)
{
    struct vk_submit submit;

    if (result < 0 || !vk_submit_of(&submit, TYPE_vkQueueBindSparse, args))
        return;
    vk_completion_sent(call, submit.queue, submit.fence, false);
    vk_completion_sent_batches(call, &submit);
}

/* ---- what the program learns ---------------------------------------------------------------- */

/* The program has waited. */
static void waited(struct vk_device_state *device)
{
    report(device);
    tsm_checkpoint_point(true);
}

void vk_queue_waited(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkQueueWaitIdle *a = args;

    if (result != VK_SUCCESS)
        return;
    vk_completion_complete(call->stream, call->position);
    vk_hidden_report(a->queue);
    waited(vk_state_of(a->queue));
}

void vk_device_waited(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkDeviceWaitIdle *a = args;

    if (result != VK_SUCCESS)
        return;
    vk_completion_device_complete(vk_state_of(a->device));
    vk_hidden_report_device(vk_state_of(a->device));
    waited(vk_state_of(a->device));
}

/* Learns nothing of several fences when one is enough: which one it was is not known. */
void vk_fences_waited(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkWaitForFences *a = args;

    if (result != VK_SUCCESS || (a->fenceCount > 1 && !a->waitAll))
        return;
    for (uint32_t i = 0; i < a->fenceCount; i++)
        vk_completion_reached(VK_OBJECT_VkFence, VK_RAW(a->pFences[i]), 0);
    waited(vk_state_of(a->device));
}

void vk_fence_asked(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkGetFenceStatus *a = args;

    if (result != VK_SUCCESS)
        return;
    vk_completion_reached(VK_OBJECT_VkFence, VK_RAW(a->fence), 0);
    waited(vk_state_of(a->device));
}

void vk_semaphores_waited(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkWaitSemaphores *a = args;
    const VkSemaphoreWaitInfo *info = a->pWaitInfo;

    if (result != VK_SUCCESS ||
        (info->semaphoreCount > 1 && (info->flags & VK_SEMAPHORE_WAIT_ANY_BIT)))
        return;
    for (uint32_t i = 0; i < info->semaphoreCount; i++)
        vk_completion_reached(VK_OBJECT_VkSemaphore, VK_RAW(info->pSemaphores[i]),
                              info->pValues[i]);
    waited(vk_state_of(a->device));
}

void vk_semaphore_asked(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkGetSemaphoreCounterValue *a = args;

    if (result != VK_SUCCESS)
        return;
    vk_completion_reached(VK_OBJECT_VkSemaphore, VK_RAW(a->semaphore), *a->pValue);
    waited(vk_state_of(a->device));
}

/* ---- semaphores ----------------------------------------------------------------------------- */

void vk_semaphore_created(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkCreateSemaphore *a = args;
    const VkSemaphoreTypeCreateInfo *type =
        vk_chain_find(a->pCreateInfo->pNext, VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);

    if (result < 0)
        return;
    vk_completion_semaphore_created(*a->pSemaphore,
                                    type && type->semaphoreType == VK_SEMAPHORE_TYPE_TIMELINE);
    vk_timeline_created(*a->pSemaphore, type);
}
