/* SPDX-License-Identifier: Apache-2.0
 *
 * Submits and waits. A recorded wait waits for the same thing; a poll that was answered "done"
 * becomes a wait, for what the program did next may depend on it; other polls are left out.
 */
#include "api/vulkan/replay/sync.h"

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/completed.h"
#include "api/vulkan/replay/inspect/partial_submit.h"
#include "api/vulkan/replay/poll.h"
#include "api/vulkan/replay/replay.h"
#include "api/vulkan/replay/semaphore.h"
#include "api/vulkan/replay/share.h"
#include "api/vulkan/replay/state/tracker.h"
#include "api/vulkan/replay/stream.h"
#include "api/vulkan/tables/submit.h"

#define FOREVER UINT64_MAX

/* ---- submits ----------------------------------------------------------------------------- */

/* A submit to `queue` waits for it. What others signal is signalled there before. */
static int meet_wait(struct vkr_call *c, VkQueue queue, VkSemaphore raw, uint64_t value)
{
    struct vkr_semaphore *s = vkr_semaphore_find(c->r, raw);
    int error = vkr_share_before_wait(c, queue, s, raw, value);

    vkr_semaphore_note_binary(c->r, raw, false);
    if (error || !s || !s->is_timeline)
        return error;
    if (s->is_outside && s->value < value)
        error = vkr_note_timeline(c->r, queue, s, value);
    return error ? error : vkr_timeline_wait(c->r, queue, s, value);
}

static int meet_signal(struct vkr_call *c, VkQueue queue, VkSemaphore raw, uint64_t value)
{
    struct vkr_semaphore *s = vkr_semaphore_find(c->r, raw);
    int error = vkr_share_before_signal(c, queue, s, raw);

    vkr_semaphore_note_binary(c->r, raw, true);
    return error || !s || !s->is_timeline ? error : vkr_note_timeline(c->r, queue, s, value);
}

static int meet_submit(struct vkr_call *c, const struct vk_submit *submit)
{
    int error = 0;

    for (uint32_t i = 0; i < submit->count && !error; i++) {
        const struct vk_batch batch = vk_submit_batch(submit, i);
        for (uint32_t k = 0; k < batch.wait_count && !error; k++) {
            const struct vk_batch_semaphore s = vk_batch_wait(&batch, k);
            error = meet_wait(c, submit->queue, s.semaphore, s.value);
        }
        for (uint32_t k = 0; k < batch.signal_count && !error; k++) {
            const struct vk_batch_semaphore s = vk_batch_signal(&batch, k);
            error = meet_signal(c, submit->queue, s.semaphore, s.value);
        }
    }
    return error;
}

void vkr_note_acquired(struct vkr *r, VkSemaphore semaphore, VkFence fence)
{
    if (semaphore) {
        vkr_semaphore_note_binary(r, semaphore, true);
        vkr_semaphore_note_window(r, semaphore);
    }
    vkr_state_tracker_fence(r, fence, true);
}

static int send_all(struct vkr_call *c, uint32_t *sent)
{
    int error = vkr_completed_send_parts(c, sent);

    return error ? error : vkr_call_driver(c);
}

/* Sends the work of a submit: all, up to the command that is inspected, or, before a checkpoint,
 * nothing. Where the recording waited for each submit, so does this: the program went on only then.
 */
static int send(struct vkr_call *c, VkQueue queue)
{
    struct vkr_stream stream;
    uint32_t sent = 0;
    int error;

    if (c->r->is_early)
        return 0;
    error = vkr_partial_submit_wanted(c) ? vkr_partial_submit(c) : send_all(c, &sent);
    if (!error)
        error = vkr_completed_sent(c, queue, sent);
    if (error || !c->r->waits_each || !vkr_wait_wanted(c->r, c->record->stream, &stream))
        return error;
    return vkr_wait_queue(c->r, &stream);
}

int vkr_submit(struct vkr_call *c)
{
    const struct vkr_submit_end cut = vkr_partial_submit_end(c);
    struct vk_submit submit;
    int error;

    if (!vk_submit_of(&submit, c->record->type, c->args))
        return 0;
    error = c->r->is_early ? 0 : vkr_stream_note_submit(c, submit.queue);
    if (c->r->is_hollow)
        vk_submit_empty(&submit); /* in our arena */
    if (!error)
        error = meet_submit(c, &submit);
    vkr_state_tracker_submit(c->r, &submit, &cut);
    if (!error && !c->r->is_early)
        vkr_timing_submit(c);
    return error ? error : send(c, submit.queue);
}

/* Early: the memory is bound, but nothing is waited for or signalled. */
static void bind_early(struct vk_args_vkQueueBindSparse *a, VkBindSparseInfo *infos)
{
    for (uint32_t i = 0; i < a->bindInfoCount; i++) {
        infos[i] = a->pBindInfo[i];
        infos[i].pNext = NULL;
        infos[i].waitSemaphoreCount = infos[i].signalSemaphoreCount = 0;
    }
    a->pBindInfo = infos;
    a->fence = VK_NULL_HANDLE;
}

int vkr_bind_sparse(struct vkr_call *c)
{
    struct vk_args_vkQueueBindSparse *a = (void *)c->args;
    VkBindSparseInfo *early =
        c->r->is_early ? vkr_call_take(c, (a->bindInfoCount + 1) * sizeof(*early)) : NULL;
    struct vk_submit submit;
    uint32_t sent = 0;
    int error = vkr_stream_note_submit(c, a->queue);

    if (!error && vk_submit_of(&submit, c->record->type, c->args))
        error = meet_submit(c, &submit);
    vkr_state_tracker_fence(c->r, a->fence, true);
    if (c->r->is_early && !early)
        return tsm_fail(TSM_E_MEMORY, "no memory to bind memory");
    if (early)
        bind_early(a, early);
    if (!error)
        error = early ? vkr_call_driver(c) : send_all(c, &sent);
    return error || early ? error : vkr_completed_sent(c, a->queue, sent);
}

int vkr_submit_waits(struct vkr_call *c, VkQueue queue, uint32_t count,
                     const VkSemaphore *semaphores)
{
    VkPipelineStageFlags *stages = vkr_call_take(c, (count + 1) * sizeof(*stages));
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .waitSemaphoreCount = count,
                         .pWaitSemaphores = semaphores,
                         .pWaitDstStageMask = stages};
    VkResult result;
    int error = c->r->is_early ? 0 : vkr_stream_note_submit(c, queue);

    for (uint32_t i = 0; i < count; i++) {
        vkr_semaphore_note_binary(c->r, semaphores[i], false);
        vkr_semaphore_note_window(c->r, semaphores[i]);
    }
    if (c->r->is_early)
        return 0;
    if (error || !stages || !c->owner || !c->owner->device)
        return error ? error : tsm_fail(TSM_E_FORMAT, "belongs to no queue that is there");
    for (uint32_t i = 0; i < count; i++)
        stages[i] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    result = c->owner->device->dispatch.f.vkQueueSubmit(queue, 1, &info, VK_NULL_HANDLE);
    return result >= 0 ? 0 : vkr_fail_wait(c->r, "vkQueueSubmit, to present,", result);
}

/* ---- waits of the program ---------------------------------------------------------------- */

static bool is_poll(uint32_t type)
{
    return type == TYPE_vkGetFenceStatus || type == TYPE_vkGetSemaphoreCounterValue ||
           type == TYPE_vkGetSemaphoreCounterValueKHR || type == TYPE_vkGetQueryPoolResults ||
           type == TYPE_vkGetEventStatus;
}

bool vkr_owns_sync(const struct sbt_record *record)
{
    return record->type == TYPE_vkWaitForFences || record->type == TYPE_vkWaitSemaphores ||
           record->type == TYPE_vkWaitSemaphoresKHR || is_poll(record->type);
}

static int wait_fence(struct vkr_call *c)
{
    const struct vk_args_vkGetFenceStatus *a = (const void *)c->args;
    const struct vk_device_dispatch *d = &c->owner->device->dispatch;
    int error = vkr_share_before_fence(c, a->fence);
    VkResult result;

    if (error)
        return error;
    result = d->f.vkWaitForFences(d->device, 1, &a->fence, VK_TRUE, FOREVER);
    return result >= 0 ? 0 : vkr_fail_wait(c->r, "vkWaitForFences", result);
}

/* The program saw this value: it is waited for. */
static int wait_value(struct vkr_call *c)
{
    const struct vk_args_vkGetSemaphoreCounterValue *a = (const void *)c->args;
    const struct vk_device_dispatch *d = &c->owner->device->dispatch;
    PFN_vkWaitSemaphores wait =
        d->f.vkWaitSemaphores ? d->f.vkWaitSemaphores : d->f.vkWaitSemaphoresKHR;
    uint64_t value = c->record->slot_count > 2 ? c->record->slots[2] : 0;
    VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                .semaphoreCount = 1,
                                .pSemaphores = &a->semaphore,
                                .pValues = &value};
    int error = vkr_share_before_value(c, a->semaphore, value);
    VkResult result;

    if (error)
        return error;
    result = wait ? wait(d->device, &info, FOREVER) : VK_SUCCESS;
    return result >= 0 ? 0 : vkr_fail_wait(c->r, "vkWaitSemaphores", result);
}

static int wait_fences(struct vkr_call *c)
{
    struct vk_args_vkWaitForFences *a = (void *)c->args;
    int error = 0;

    for (uint32_t i = 0; i < a->fenceCount && !error; i++)
        error = vkr_share_before_fence(c, a->pFences[i]);
    a->timeout = FOREVER;
    return error ? error : vkr_call_driver(c);
}

static int wait_values(struct vkr_call *c)
{
    struct vk_args_vkWaitSemaphores *a = (void *)c->args;
    int error = 0;

    for (uint32_t i = 0; i < a->pWaitInfo->semaphoreCount && !error; i++)
        error = vkr_share_before_value(c, a->pWaitInfo->pSemaphores[i], a->pWaitInfo->pValues[i]);
    a->timeout = FOREVER;
    return error ? error : vkr_call_driver(c);
}

int vkr_sync(struct vkr_call *c)
{
    VkResult done = c->record->type == TYPE_vkGetEventStatus ? VK_EVENT_SET : VK_SUCCESS;

    if (c->is_window || c->record->result != done)
        return 0; /* it did not come to pass: a time-out, "not yet" */
    if (!c->owner || !c->owner->device)
        return tsm_fail(TSM_E_FORMAT, "belongs to no device that is there");
    switch (c->record->type) {
    case TYPE_vkGetFenceStatus:
        return wait_fence(c);
    case TYPE_vkGetSemaphoreCounterValue:
    case TYPE_vkGetSemaphoreCounterValueKHR:
        return wait_value(c);
    case TYPE_vkGetQueryPoolResults:
        return vkr_poll_queries(c);
    case TYPE_vkGetEventStatus:
        return vkr_poll_event(c);
    case TYPE_vkWaitForFences:
        return wait_fences(c);
    default:
        return wait_values(c);
    }
}
