/* SPDX-License-Identifier: Apache-2.0
 *
 * Submits and waits. A recorded wait waits for the same thing; a poll that was answered "done"
 * becomes a wait, for what the program did next may depend on it; other polls are left out. A queue
 * is waited for as a whole only as far as it can get by itself: work that waits for a signal of the
 * host, which comes later, would never end.
 */
#include "api/vulkan/replay/inspect/inspect.h"
#include "api/vulkan/replay/state/tracker.h"
#include <stdlib.h>
#include <string.h>

#include "api/vulkan/tables/submit.h"
#include "base/array.h"
#include "base/text.h"

#define FOREVER UINT64_MAX

/* ---- semaphores -------------------------------------------------------------------------- */

static struct vkr_semaphore *find_semaphore(const struct vkr *r, VkSemaphore raw)
{
    struct vkr_object *o = vkr_object_of(r, VK_OBJECT_VkSemaphore, VKR_RAW(raw));

    return o ? o->user : NULL;
}

static uint64_t number_of(const struct vkr_semaphore *s)
{
    return (uint64_t)(uintptr_t)s;
}

static int check_memory(bool is_noted)
{
    return is_noted ? 0 : tsm_fail(TSM_E_MEMORY, "no memory to follow semaphores");
}

int vkr_set_timeline(struct vkr *r, struct vkr_semaphore *s, uint64_t value)
{
    s->value = value;
    return check_memory(vk_timelines_set(&r->timelines, number_of(s), value));
}

int vkr_note_timeline(struct vkr *r, VkQueue queue, struct vkr_semaphore *s, uint64_t value)
{
    s->value = value > s->value ? value : s->value;
    return check_memory(vk_timelines_signal(&r->timelines, VKR_RAW(queue), number_of(s), value));
}

void vkr_semaphore_drop(struct vkr *r, struct vkr_semaphore *s)
{
    if (s->more) { /* another object's, too */
        s->more--;
        return;
    }
    vk_timelines_forget(&r->timelines, number_of(s));
    free(s);
}

int vkr_create_semaphore(struct vkr_call *c)
{
    const struct vk_args_vkCreateSemaphore *a = (const void *)c->args;
    const VkSemaphoreTypeCreateInfo *type =
        vkr_chain_find(a->pCreateInfo->pNext, VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
    uint64_t id = c->record->slot_count > 2 ? c->record->slots[2] : 0;
    int error = vkr_call_driver(c);
    struct vkr_object *o = error ? NULL : vkr_object_find(c->r, VK_OBJECT_VkSemaphore, id);
    struct vkr_semaphore *s;

    if (!o)
        return error;
    s = calloc(1, sizeof(*s));
    if (!s)
        return tsm_fail(TSM_E_MEMORY, "no memory for a semaphore");
    s->is_timeline = type && type->semaphoreType == VK_SEMAPHORE_TYPE_TIMELINE;
    free(o->user);
    o->user = s;
    return s->is_timeline ? vkr_set_timeline(c->r, s, type->initialValue) : 0;
}

/* The program knows when what it sent is done, and nothing of what stands for a present. */
int vkr_destroy_semaphore(struct vkr_call *c)
{
    const struct vk_args_vkDestroySemaphore *a = (const void *)c->args;
    const struct vkr_semaphore *s = a->semaphore ? find_semaphore(c->r, a->semaphore) : NULL;
    int error = s && s->is_window && !c->r->is_early ? vkr_wait_all(c->r) : 0;

    return error ? error : vkr_call_driver(c);
}

static void note_window(struct vkr *r, VkSemaphore raw)
{
    struct vkr_semaphore *s = find_semaphore(r, raw);

    if (s)
        s->is_window = true;
}

static void note_binary(struct vkr *r, VkSemaphore raw, bool is_signalled)
{
    struct vkr_semaphore *s = find_semaphore(r, raw);

    if (s)
        s->is_signalled = is_signalled && !s->is_timeline;
}

int vkr_signal_semaphore(struct vkr_call *c)
{
    const struct vk_args_vkSignalSemaphore *a = (const void *)c->args;
    struct vkr_semaphore *s = find_semaphore(c->r, a->pSignalInfo->semaphore);
    uint64_t value = a->pSignalInfo->value;

    if (s && s->value < value)
        s->value = value;
    vk_timelines_host(&c->r->timelines, number_of(s), value);
    return vkr_call_driver(c);
}

/* ---- streams ----------------------------------------------------------------------------- */

static struct vkr_stream *find_stream(struct vkr *r, uint32_t number)
{
    return TSM_ARRAY_EXTEND(r->streams, r->stream_count, (size_t)number + 1) ? &r->streams[number]
                                                                             : NULL;
}

/* The queue of a submit is its stream's from now on. */
static int note_submit(struct vkr_call *c, VkQueue queue)
{
    struct vkr_stream *s = find_stream(c->r, c->record->stream);

    if (!s)
        return tsm_fail(TSM_E_MEMORY, "no memory for stream %u", c->record->stream);
    c->r->sent_count++;
    s->queue = queue;
    s->device = c->owner ? c->owner->device : NULL;
    s->last_seq = c->record->seq;
    s->last_position = c->record->position;
    s->last_call = vk_name(c->command->name);
    return 0;
}

void vkr_describe_last(const struct vkr *r, char *out, size_t size)
{
    size_t used = 0;

    *out = 0;
    for (uint32_t i = 0; i < r->stream_count && used < size; i++) {
        const struct vkr_stream *s = &r->streams[i];
        if (s->last_call)
            used += tsm_format(out + used, size - used,
                               "%slast on stream %u: record %llu, %s (position %llu)",
                               used ? "; " : "", i, (unsigned long long)s->last_seq, s->last_call,
                               (unsigned long long)s->last_position);
    }
}

static int fail_wait(const struct vkr *r, const char *call, VkResult result)
{
    char last[320];

    vkr_describe_last(r, last, sizeof(last));
    return tsm_fail(TSM_E_DEVICE, "%s gave %s%s%s", call, vkr_result_name(result),
                    *last ? "; " : "", last);
}

/* ---- submits ----------------------------------------------------------------------------- */

/* A submit to `queue` waits for it. What others signal is signalled there before. */
static int meet_wait(struct vkr_call *c, VkQueue queue, VkSemaphore raw, uint64_t value)
{
    struct vkr_semaphore *s = find_semaphore(c->r, raw);
    int error = vkr_share_before_wait(c, queue, s, raw, value);

    note_binary(c->r, raw, false);
    if (error || !s || !s->is_timeline)
        return error;
    if (s->is_outside && s->value < value)
        error = vkr_note_timeline(c->r, queue, s, value);
    return error ? error
                 : check_memory(
                       vk_timelines_wait(&c->r->timelines, VKR_RAW(queue), number_of(s), value));
}

static int meet_signal(struct vkr_call *c, VkQueue queue, VkSemaphore raw, uint64_t value)
{
    struct vkr_semaphore *s = find_semaphore(c->r, raw);
    int error = vkr_share_before_signal(c, queue, s, raw);

    note_binary(c->r, raw, true);
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
        note_binary(r, semaphore, true);
        note_window(r, semaphore);
    }
    vkr_state_tracker_fence(r, fence, true);
}

/* Send work: whole, up to the command that is looked for, or, early, not at all. Where the
 * recording waited for each submit, so do we: the program did its next steps afterwards. */
static int send(struct vkr_call *c, VkQueue queue)
{
    struct vkr_stream stream;
    int error;

    if (c->r->is_early)
        return 0;
    error = vkr_partial_submit_wanted(c) ? vkr_partial_submit(c) : vkr_call_driver(c);
    if (!error)
        error = vkr_completed_sent(c, queue);
    if (error || !c->r->waits_each || !vkr_wait_wanted(c->r, c->record->stream, &stream))
        return error;
    return vkr_wait_queue(c->r, &stream);
}

int vkr_submit(struct vkr_call *c)
{
    struct vk_submit submit;
    int error;

    if (!vk_submit_of(&submit, c->record->type, c->args))
        return 0;
    error = c->r->is_early ? 0 : note_submit(c, submit.queue);
    if (c->r->is_hollow)
        vk_submit_empty(&submit); /* in our arena */
    if (!error)
        error = meet_submit(c, &submit);
    vkr_state_tracker_submit(c, &submit);
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
    int error = note_submit(c, a->queue);

    if (!error && vk_submit_of(&submit, c->record->type, c->args))
        error = meet_submit(c, &submit);
    vkr_state_tracker_fence(c->r, a->fence, true);
    if (c->r->is_early && !early)
        return tsm_fail(TSM_E_MEMORY, "no memory to bind memory");
    if (early)
        bind_early(a, early);
    if (!error)
        error = vkr_call_driver(c);
    return error || c->r->is_early ? error : vkr_completed_sent(c, a->queue);
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
    int error = c->r->is_early ? 0 : note_submit(c, queue);

    for (uint32_t i = 0; i < count; i++) {
        note_binary(c->r, semaphores[i], false);
        note_window(c->r, semaphores[i]);
    }
    if (c->r->is_early)
        return 0;
    if (error || !stages || !c->owner || !c->owner->device)
        return error ? error : tsm_fail(TSM_E_FORMAT, "belongs to no queue that is there");
    for (uint32_t i = 0; i < count; i++)
        stages[i] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    result = c->owner->device->dispatch.f.vkQueueSubmit(queue, 1, &info, VK_NULL_HANDLE);
    return result >= 0 ? 0 : fail_wait(c->r, "vkQueueSubmit, to present,", result);
}

/* ---- waiting for all --------------------------------------------------------------------- */

bool vkr_is_gated(const struct vkr *r)
{
    return r->gate_count || vk_timelines_any_stuck(&r->timelines);
}

/* Work of a device may wait for any other of it. */
static bool can_end(const struct vkr *r, const struct vkr_device *device)
{
    bool is_stuck = r->gate_count > 0;

    for (uint32_t i = 0; i < r->stream_count && !is_stuck; i++)
        is_stuck = r->streams[i].device == device &&
                   vk_timelines_is_stuck(&r->timelines, VKR_RAW(r->streams[i].queue), NULL);
    return !is_stuck;
}

void vkr_drop_queues(struct vkr *r, const struct vkr_device *device)
{
    for (uint32_t i = 0; i < r->stream_count; i++)
        if (r->streams[i].device == device) {
            vk_timelines_drop(&r->timelines, VKR_RAW(r->streams[i].queue));
            r->streams[i].device = NULL;
        }
}

bool vkr_wait_wanted(const struct vkr *r, uint32_t number, struct vkr_stream *out)
{
    const struct vkr_stream *s = number < r->stream_count ? &r->streams[number] : NULL;

    if (!s || !s->device || !s->queue || !can_end(r, s->device))
        return false;
    *out = *s;
    return true;
}

int vkr_wait_queue(const struct vkr *r, const struct vkr_stream *s)
{
    VkResult result = s->device->dispatch.f.vkQueueWaitIdle(s->queue);

    return result >= 0 ? 0 : fail_wait(r, "vkQueueWaitIdle", result);
}

int vkr_wait_all(struct vkr *r)
{
    for (struct vkr_object *o = r->objects.first; o; o = o->next) {
        VkResult result = VK_SUCCESS;
        if (o->type == VK_OBJECT_VkDevice && o->device && can_end(r, o->device))
            result = o->device->dispatch.f.vkDeviceWaitIdle(o->device->dispatch.device);
        if (result < 0)
            return fail_wait(r, "vkDeviceWaitIdle", result);
    }
    return 0;
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
    return result >= 0 ? 0 : fail_wait(c->r, "vkWaitForFences", result);
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
    return result >= 0 ? 0 : fail_wait(c->r, "vkWaitSemaphores", result);
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
