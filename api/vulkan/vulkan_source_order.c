/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known to be complete: where each queue is, which command a fence or a timeline semaphore
 * stands for, and what a wait says. When nothing is under way, what the device has written into
 * mapped memory is the result of what was sent; before that it may be half a result.
 */
#include "api/vulkan/vulkan_args.h"
#include "api/vulkan/vulkan_hooks.h"
#include "api/vulkan/vulkan_source.h"
#include "api/vulkan/vulkan_source_memory.h"
#include "api/vulkan/vulkan_source_time.h"
#include "capture/lock.h"

#define QUEUE_COUNT_MAX 256u

/* Queues to which work was sent. More than so many: nothing is known to be complete. */
static struct queue {
    struct tsm_stream *stream;
    uint64_t sent, completed; /* positions */
} queues[QUEUE_COUNT_MAX];
static uint32_t queue_count;
static uint64_t submits; /* seen here; behind vk_memory_sends() while one is being sent */
static uint32_t last;    /* the queue to which work was sent last */
static struct tsm_lock lock;

void vk_order_forget(void)
{
    queue_count = 0;
    submits = vk_memory_sends();
    lock = (struct tsm_lock){0};
}

/* The lock is held. */
static struct queue *queue_of(struct tsm_stream *stream)
{
    for (uint32_t i = 0; i < queue_count; i++)
        if (queues[i].stream == stream)
            return &queues[i];
    if (queue_count == QUEUE_COUNT_MAX)
        return NULL;
    queues[queue_count] = (struct queue){stream, 0, 0};
    return &queues[queue_count++];
}

/* ---- what is sent --------------------------------------------------------------------------- */

static struct tsm_handle *handle_of(enum vk_object type, uint64_t raw)
{
    return raw ? tsm_handle_find(SBT_API_VULKAN, type, raw) : NULL;
}

/* The fence or semaphore stands for this command; a semaphore for reaching `value`. */
static void stands_for(struct tsm_handle *handle, const struct tsm_call *call, uint64_t value)
{
    if (!handle)
        return;
    handle->stream = call->stream;
    handle->position = call->position;
    handle->user = (void *)(uintptr_t)value; /* NOLINT: a number */
}

static void sent(const struct tsm_call *call, VkFence fence, bool is_submit)
{
    struct queue *queue;

    tsm_lock_take(&lock);
    queue = queue_of(call->stream);
    submits += is_submit;
    if (queue) {
        queue->sent = call->position;
        last = (uint32_t)(queue - queues);
    }
    tsm_lock_give(&lock);
    stands_for(handle_of(VK_OBJECT_VkFence, VK_RAW(fence)), call, 0);
}

/* The device refused it. */
static void not_sent(void)
{
    tsm_lock_take(&lock);
    submits++;
    tsm_lock_give(&lock);
}

static const VkTimelineSemaphoreSubmitInfo *timeline(const void *chain)
{
    const VkBaseInStructure *s = chain;

    while (s && s->sType != VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO)
        s = s->pNext;
    return (const void *)s;
}

/* Sent: with TS_CHECKSUM=submit it is complete by now. */
static void check_each(void);

void vk_submitted(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkQueueSubmit *a = args;

    if (result < 0) {
        not_sent();
        return;
    }
    vk_time_sent(call);
    sent(call, a->fence, true);
    for (uint32_t i = 0; i < a->submitCount; i++) {
        const VkSubmitInfo *s = &a->pSubmits[i];
        const VkTimelineSemaphoreSubmitInfo *t = timeline(s->pNext);
        for (uint32_t j = 0; t && j < t->signalSemaphoreValueCount; j++)
            stands_for(handle_of(VK_OBJECT_VkSemaphore, VK_RAW(s->pSignalSemaphores[j])), call,
                       t->pSignalSemaphoreValues[j]);
    }
    check_each();
    vk_time_collect_some();
    tsm_checkpoint_point(false);
}

void vk_submitted2(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkQueueSubmit2 *a = args;

    if (result < 0) {
        not_sent();
        return;
    }
    vk_time_sent(call);
    sent(call, a->fence, true);
    for (uint32_t i = 0; i < a->submitCount; i++) {
        const VkSubmitInfo2 *s = &a->pSubmits[i];
        for (uint32_t j = 0; j < s->signalSemaphoreInfoCount; j++)
            stands_for(
                handle_of(VK_OBJECT_VkSemaphore, VK_RAW(s->pSignalSemaphoreInfos[j].semaphore)),
                call, s->pSignalSemaphoreInfos[j].value);
    }
    check_each();
    vk_time_collect_some();
    tsm_checkpoint_point(false);
}

void vk_sparse_bound(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkQueueBindSparse *a = args;

    if (result >= 0)
        sent(call, a->fence, false);
}

/* ---- what is only written ------------------------------------------------------------------- */

/* A buffer into which the device only copies: its size, until it is bound. */
void vk_buffer_made(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkCreateBuffer *a = args;
    struct tsm_handle *handle;

    if (result < 0 || a->pCreateInfo->usage != VK_BUFFER_USAGE_TRANSFER_DST_BIT)
        return;
    handle = handle_of(VK_OBJECT_VkBuffer, VK_RAW(*a->pBuffer));
    if (handle)
        handle->position = a->pCreateInfo->size;
}

static void bound(VkDevice device, VkBuffer buffer, VkDeviceMemory memory, uint64_t offset)
{
    const struct tsm_handle *handle = handle_of(VK_OBJECT_VkBuffer, VK_RAW(buffer));

    if (handle && handle->position)
        vk_memory_gives(vk_state_of(device), memory, offset, handle->position);
}

void vk_buffer_bound(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkBindBufferMemory *a = args;

    if (result >= 0)
        bound(a->device, a->buffer, a->memory, a->memoryOffset);
}

void vk_buffers_bound(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkBindBufferMemory2 *a = args;

    for (uint32_t i = 0; result >= 0 && i < a->bindInfoCount; i++)
        bound(a->device, a->pBindInfos[i].buffer, a->pBindInfos[i].memory,
              a->pBindInfos[i].memoryOffset);
}

/* ---- what is complete ----------------------------------------------------------------------- */

static void complete(struct tsm_stream *stream, uint64_t position)
{
    tsm_lock_take(&lock);
    for (uint32_t i = 0; i < queue_count; i++)
        if (queues[i].stream == stream && queues[i].completed < position)
            queues[i].completed = position;
    tsm_lock_give(&lock);
}

/* Nothing under way: *stream and *position are those of the last command. A submit that has not
 * been seen here, because it is just being sent or was not recorded, is one under way. */
static bool idle(struct tsm_stream **stream, uint64_t *position, uint64_t sends)
{
    bool all = queue_count > 0 && queue_count < QUEUE_COUNT_MAX;

    tsm_lock_take(&lock);
    all = all && submits == sends;
    for (uint32_t i = 0; i < queue_count; i++)
        all = all && queues[i].completed >= queues[i].sent;
    *stream = queues[last].stream;
    *position = queues[last].sent;
    tsm_lock_give(&lock);
    return all;
}

static void report(void)
{
    struct tsm_stream *stream;
    uint64_t position, sends = vk_memory_sends();

    vk_time_collect();
    if (tsm_session_settings()->readback != TSM_READBACK_OFF && idle(&stream, &position, sends))
        vk_memory_report(tsm_stream_number(stream), position, sends);
}

/* The program has waited. */
static void waited(void)
{
    report();
    tsm_checkpoint_point(true);
}

void vk_queue_waited(struct tsm_call *call, const void *args, int64_t result)
{
    if (result != VK_SUCCESS)
        return;
    complete(call->stream, call->position);
    waited();
}

/* Also what was sent while nothing was recorded. */
static void all_complete(void)
{
    tsm_lock_take(&lock);
    submits = vk_memory_sends();
    for (uint32_t i = 0; i < queue_count; i++)
        queues[i].completed = queues[i].sent;
    tsm_lock_give(&lock);
}

/* Of all devices, where there are several: then a result may be recorded a little early. */
void vk_device_waited(struct tsm_call *call, const void *args, int64_t result)
{
    if (result != VK_SUCCESS)
        return;
    all_complete();
    waited();
}

static void reached(const struct tsm_handle *handle, uint64_t value)
{
    if (handle && handle->stream && (uintptr_t)handle->user <= value)
        complete(handle->stream, handle->position);
}

/* Which of several has come, nobody says. */
void vk_fences_waited(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkWaitForFences *a = args;

    if (result != VK_SUCCESS || (a->fenceCount > 1 && !a->waitAll))
        return;
    for (uint32_t i = 0; i < a->fenceCount; i++)
        reached(handle_of(VK_OBJECT_VkFence, VK_RAW(a->pFences[i])), 0);
    waited();
}

void vk_fence_asked(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkGetFenceStatus *a = args;

    if (result != VK_SUCCESS)
        return;
    reached(handle_of(VK_OBJECT_VkFence, VK_RAW(a->fence)), 0);
    waited();
}

void vk_semaphores_waited(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkWaitSemaphores *a = args;
    const VkSemaphoreWaitInfo *info = a->pWaitInfo;

    if (result != VK_SUCCESS ||
        (info->semaphoreCount > 1 && (info->flags & VK_SEMAPHORE_WAIT_ANY_BIT)))
        return;
    for (uint32_t i = 0; i < info->semaphoreCount; i++)
        reached(handle_of(VK_OBJECT_VkSemaphore, VK_RAW(info->pSemaphores[i])), info->pValues[i]);
    waited();
}

void vk_semaphore_asked(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkGetSemaphoreCounterValue *a = args;

    if (result != VK_SUCCESS)
        return;
    reached(handle_of(VK_OBJECT_VkSemaphore, VK_RAW(a->semaphore)), *a->pValue);
    waited();
}

static void check_each(void)
{
    if (tsm_session_settings()->checksum != TSM_CHECKSUM_COMMAND)
        return;
    all_complete();
    report();
}
