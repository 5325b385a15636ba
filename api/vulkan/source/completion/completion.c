/* SPDX-License-Identifier: Apache-2.0
 *
 * Tracks completed work: where each queue is, which command a fence or a timeline semaphore stands
 * for, and what a wait says. When nothing is under way, the device's bytes in mapped memory are the
 * result of what was sent; before that they may be half a result.
 */
#include "api/vulkan/source/completion/completion.h"

#include "api/vulkan/vulkan_args.h"
#include "api/vulkan/source/completion/timeline.h"
#include "api/vulkan/source/source.h"
#include "api/vulkan/source/layer.h"
#include "api/vulkan/source/lock.h"
#include "api/vulkan/tables/submit.h"
#include "api/vulkan/vulkan_ids.h"
#include "capture/call/sync_fd.h"

#define QUEUE_COUNT_MAX 256u
#define AFTER_COUNT_MAX 16u
#define VALUE_COUNT_MAX 64u

/* How far a queue is: a point, which is a command's position and the batch in it. A semaphore that
 * an early batch of a submit signals says nothing of later batches. */
#define BATCH_BITS 12u
#define ALL_OF_IT  ((1u << BATCH_BITS) - 1)

/* Queues to which work was sent. More than so many: nothing is known to be complete. */
static struct queue {
    struct tsm_stream *stream;
    const struct vk_device_state *device;
    uint64_t sent;      /* position */
    uint64_t completed; /* point */
    uint64_t learnt;    /* ... of which the program has learnt by a sync file */
    uint64_t when;      /* work was sent there last: counts */
    /* Points of other queues that are complete when this one has reached `at`; of more than these,
     * the last. */
    struct after {
        uint64_t at, point;
        struct tsm_stream *stream;
    } after[AFTER_COUNT_MAX];
    uint32_t after_count;
} queues[QUEUE_COUNT_MAX];
static uint32_t queue_count;
static uint64_t now;
static uint64_t sends; /* submits to all devices that were begun; atomic */
static uint64_t seen;  /* ... that were seen here; fewer while one is being sent */
static struct tsm_lock lock;

/* A batch that makes a timeline semaphore reach a value, or waits for that. */
struct value {
    const struct tsm_handle *handle; /* NULL: none */
    uint32_t id;                     /* of the handle, which may become another object's */
    uint64_t value, point;
    struct tsm_stream *stream;
    const struct vk_device_state *device;
};

/* The newest ones are kept. */
struct values {
    uint32_t live, next;
    struct value all[VALUE_COUNT_MAX];
};

/* Waits whose signals have not been seen, and signals for which their semaphores do not stand,
 * because others have been seen since. */
static struct values awaited, signalled;

/* Kinds of semaphores: `incarnation` of the handle, which has no other use there. */
enum { UNKNOWN, BINARY, TIMELINE };
#define STAGED 1u /* value of a BINARY one that is signalled when some stages are complete */

void vk_completion_forget(void)
{
    queue_count = 0;
    awaited = signalled = (struct values){0};
    seen = vk_completion_sends();
    lock = (struct tsm_lock){0};
}

void vk_completion_begin_send(struct vk_device_state *device)
{
    __atomic_fetch_add(&device->sends, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&sends, 1, __ATOMIC_SEQ_CST);
}

uint64_t vk_completion_sends(void)
{
    return __atomic_load_n(&sends, __ATOMIC_SEQ_CST);
}

/* The lock is held. A queue's stream outlives its device, and may become another one's. */
static struct queue *queue_of(struct tsm_stream *stream, const struct vk_device_state *device)
{
    for (uint32_t i = 0; i < queue_count; i++)
        if (queues[i].stream == stream && queues[i].device == device)
            return &queues[i];
    if (queue_count == QUEUE_COUNT_MAX)
        return NULL;
    queues[queue_count] = (struct queue){.stream = stream, .device = device};
    return &queues[queue_count++];
}

/* The lock is held. So many submits more were seen. */
static void see(struct vk_device_state *device, uint64_t count)
{
    device->seen += count;
    seen += count;
}

/* The lock is held. Also those that were sent while nothing was recorded. */
static void see_all(struct vk_device_state *device)
{
    see(device, __atomic_load_n(&device->sends, __ATOMIC_SEQ_CST) - device->seen);
}

/* ---- values of semaphores, under the lock ---------------------------------------------------- */

static void add_value(struct values *v, const struct value *value)
{
    struct value *at = &v->all[v->next++ % VALUE_COUNT_MAX];

    v->live += !at->handle;
    *at = *value;
}

static void take_value(struct values *v, struct value *at)
{
    at->handle = NULL;
    v->live--;
}

/* The first at or after `from` that is of this semaphore; NULL: none. */
static struct value *next_value(struct values *v, const struct tsm_handle *handle,
                                struct value *from)
{
    struct value *at = from ? from : v->all;

    while (v->live && at < v->all + VALUE_COUNT_MAX) {
        if (at->handle == handle && at->id == handle->id)
            return at;
        at++;
    }
    return NULL;
}

static void forget_values(struct values *v, const struct vk_device_state *device)
{
    for (struct value *at = v->all; v->live && at < v->all + VALUE_COUNT_MAX; at++)
        if (at->handle && at->device == device)
            take_value(v, at);
}

void vk_completion_device_destroyed(struct vk_device_state *device)
{
    uint32_t kept = 0;

    vk_lock_take(&lock);
    see_all(device);
    for (uint32_t i = 0; i < queue_count; i++)
        if (queues[i].device != device)
            queues[kept++] = queues[i];
    queue_count = kept;
    forget_values(&awaited, device);
    forget_values(&signalled, device);
    vk_lock_give(&lock);
}

/* ---- what is sent --------------------------------------------------------------------------- */

static struct tsm_handle *handle_of(uint32_t type, uint64_t raw)
{
    return raw ? tsm_handle_find(SBT_API_VULKAN, type, raw) : NULL;
}

/* A batch of a command. */
struct batch {
    const struct tsm_call *call;
    uint32_t index, count;
};

/* When this batch is complete, which includes those before it, its queue has come there. */
static uint64_t point_of(const struct batch *b)
{
    bool is_last = b->index + 1 >= b->count;
    uint64_t index = b->index < ALL_OF_IT - 1 ? b->index : ALL_OF_IT - 1;

    return b->call->position << BATCH_BITS | (is_last ? ALL_OF_IT : index);
}

/* When its queue has come there, this batch is complete. */
static uint64_t point_behind(const struct batch *b)
{
    uint64_t index = b->index < ALL_OF_IT - 1 ? b->index : ALL_OF_IT;

    return b->call->position << BATCH_BITS | index;
}

static uint64_t end_of(uint64_t position)
{
    return position << BATCH_BITS | ALL_OF_IT;
}

/* The fence or semaphore stands for this batch; a semaphore for reaching `value`. */
static void stands_for(struct tsm_handle *handle, const struct batch *b, uint64_t value)
{
    if (!handle)
        return;
    vk_lock_take(&lock);
    handle->stream = b->call->stream;
    handle->position = point_of(b);
    handle->user = (void *)(uintptr_t)value; /* NOLINT: a number */
    vk_lock_give(&lock);
}

void vk_completion_sent(const struct tsm_call *call, VkQueue to, VkFence fence, bool is_submit)
{
    struct vk_device_state *device = vk_state_of(to);
    struct queue *queue;

    vk_lock_take(&lock);
    queue = queue_of(call->stream, device);
    see(device, is_submit);
    if (queue) {
        queue->sent = call->position;
        queue->when = ++now;
    }
    vk_lock_give(&lock);
    stands_for(handle_of(VK_OBJECT_VkFence, VK_RAW(fence)), &(struct batch){call, 0, 1}, 0);
}

void vk_completion_not_sent(VkQueue to)
{
    vk_lock_take(&lock);
    see(vk_state_of(to), 1);
    vk_lock_give(&lock);
}

/* A signal that waits for some stages only comes before the batch is complete. */
static bool is_behind_all(VkPipelineStageFlags2 stages)
{
    return stages & (VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_2_BOTTOM_OF_PIPE_BIT);
}

void vk_completion_semaphore_created(VkSemaphore semaphore, bool is_timeline)
{
    struct tsm_handle *handle = handle_of(VK_OBJECT_VkSemaphore, VK_RAW(semaphore));

    if (handle)
        handle->incarnation = is_timeline ? TIMELINE : BINARY;
}

static void note_complete(struct tsm_stream *stream, uint64_t point);

/* The lock is held. What is complete when the queue has come to `at`, where it may be already. */
static void add_after(struct queue *q, uint64_t at, struct tsm_stream *stream, uint64_t point)
{
    q->after[q->after_count++ % AFTER_COUNT_MAX] = (struct after){at, point, stream};
    if (q->completed >= at)
        note_complete(stream, point);
}

/* The lock is held. The waits for this value that were sent before it. */
static void link_waits(const struct value *signal)
{
    struct value *wait = next_value(&awaited, signal->handle, NULL);

    for (; wait; wait = next_value(&awaited, signal->handle, wait + 1)) {
        struct queue *q = queues;
        if (wait->value != signal->value)
            continue;
        while (q < queues + queue_count && (q->stream != wait->stream || q->device != wait->device))
            q++;
        if (q < queues + queue_count && wait->stream != signal->stream)
            add_after(q, wait->point, signal->stream, signal->point);
        take_value(&awaited, wait);
    }
}

/* A timeline semaphore stands for its highest value; values may be sent in another order, and come
 * from several queues. */
static void stands_for_value(struct tsm_handle *handle, const struct value *signal)
{
    const uint64_t highest = (uintptr_t)handle->user;
    struct value other = *signal;

    vk_lock_take(&lock);
    if (!handle->stream || highest < signal->value) {
        other.value = highest;
        other.stream = handle->stream;
        other.point = handle->position;
        handle->stream = signal->stream;
        handle->position = signal->point;
        handle->user = (void *)(uintptr_t)signal->value; /* NOLINT: a number */
    }
    if (other.stream && (other.stream != signal->stream || other.value == signal->value))
        add_value(&signalled, &other);
    link_waits(signal);
    vk_lock_give(&lock);
}

static void signals(const struct batch *b, VkQueue to, VkSemaphore semaphore, uint64_t value,
                    VkPipelineStageFlags2 stages)
{
    struct tsm_handle *handle = handle_of(VK_OBJECT_VkSemaphore, VK_RAW(semaphore));

    if (handle && handle->incarnation == TIMELINE && is_behind_all(stages))
        stands_for_value(handle, &(struct value){handle, handle->id, value, point_of(b),
                                                 b->call->stream, vk_state_of(to)});
    else if (handle && handle->incarnation == BINARY)
        stands_for(handle, b, is_behind_all(stages) ? 0 : STAGED);
    else if (handle && is_behind_all(stages))
        stands_for(handle, b, value);
    vk_timeline_signals(to, semaphore, value);
}

/* The lock is held. The signal that makes the semaphore reach the value that is waited for. False:
 * none was seen. */
static bool find_signal(const struct value *wait, struct value *out)
{
    const struct tsm_handle *handle = wait->handle;
    struct value *at = next_value(&signalled, handle, NULL);

    *out = *wait;
    if (handle->stream && (uintptr_t)handle->user == wait->value) {
        out->stream = handle->stream;
        out->point = handle->position;
        return true;
    }
    while (at && at->value != wait->value)
        at = next_value(&signalled, handle, at + 1);
    if (at)
        *out = *at;
    return at != NULL;
}

/* The batch waits for the semaphore, to reach `value`. */
static void waits_for(const struct batch *b, VkQueue to, VkSemaphore semaphore, uint64_t value)
{
    const struct tsm_handle *handle = handle_of(VK_OBJECT_VkSemaphore, VK_RAW(semaphore));
    struct value wait = {handle, 0, value, point_behind(b), b->call->stream, vk_state_of(to)};
    struct value signal;
    struct queue *q = queues;

    vk_timeline_waits(to, semaphore, value);
    if (!handle)
        return;
    wait.id = handle->id;
    wait.value = handle->incarnation == BINARY ? 0 : value;
    vk_lock_take(&lock);
    while (q < queues + queue_count && (q->stream != wait.stream || q->device != wait.device))
        q++;
    if (q < queues + queue_count && find_signal(&wait, &signal)) {
        if (signal.stream != q->stream)
            add_after(q, wait.point, signal.stream, signal.point);
    } else if (handle->incarnation == TIMELINE && value) {
        add_value(&awaited, &wait);
    }
    vk_lock_give(&lock);
}

void vk_completion_sent_batches(const struct tsm_call *call, const struct vk_submit *submit)
{
    for (uint32_t i = 0; i < submit->count; i++) {
        const struct batch b = {call, i, submit->count};
        const struct vk_batch batch = vk_submit_batch(submit, i);
        for (uint32_t k = 0; k < batch.wait_count; k++) {
            const struct vk_batch_semaphore s = vk_batch_wait(&batch, k);
            waits_for(&b, submit->queue, s.semaphore, s.value);
        }
        for (uint32_t k = 0; k < batch.signal_count; k++) {
            const struct vk_batch_semaphore s = vk_batch_signal(&batch, k);
            signals(&b, submit->queue, s.semaphore, s.value, s.stages);
        }
    }
}

/* ---- what is complete ----------------------------------------------------------------------- */

/* The lock is held. With a batch all that was sent to its queue before is complete, and what that
 * has waited for. */
static void note_complete(struct tsm_stream *stream, uint64_t point)
{
    for (uint32_t i = 0; i < queue_count; i++) {
        struct queue *q = &queues[i];
        if (q->stream != stream || q->completed >= point)
            continue;
        q->completed = point;
        for (uint32_t j = 0; j < AFTER_COUNT_MAX && j < q->after_count; j++)
            if (q->after[j].at <= point)
                note_complete(q->after[j].stream, q->after[j].point);
    }
}

void vk_completion_complete(struct tsm_stream *stream, uint64_t position)
{
    vk_lock_take(&lock);
    note_complete(stream, end_of(position));
    vk_lock_give(&lock);
}

bool vk_completion_point(uint32_t type, uint64_t raw, struct tsm_sync_point *out, bool *is_staged)
{
    const struct tsm_handle *handle = handle_of(type, raw);

    if (!handle)
        return false;
    vk_lock_take(&lock);
    *out = (struct tsm_sync_point){handle->stream, handle->position};
    *is_staged = handle->incarnation == BINARY && (uintptr_t)handle->user == STAGED;
    vk_lock_give(&lock);
    return out->stream != NULL;
}

void vk_completion_stands_for(uint32_t type, uint64_t raw, const struct tsm_sync_point *point)
{
    struct tsm_handle *handle = handle_of(type, raw);

    if (!handle)
        return;
    vk_lock_take(&lock);
    handle->stream = point->stream;
    handle->position = point->point;
    handle->user = NULL;
    vk_lock_give(&lock);
}

bool vk_completion_learn(const struct tsm_sync_point *point, struct vk_learnt *out)
{
    bool is_news = false;

    vk_lock_take(&lock);
    for (uint32_t i = 0; i < queue_count && !is_news; i++) {
        struct queue *q = &queues[i];
        is_news = q->stream == point->stream && q->learnt < point->point;
        if (!is_news)
            continue;
        q->learnt = point->point;
        *out = (struct vk_learnt){.device = (struct vk_device_state *)(uintptr_t)q->device,
                                  .position = point->point >> BATCH_BITS,
                                  .parts = (uint32_t)(point->point + 1) & ALL_OF_IT};
        out->is_exact = out->parts != ALL_OF_IT;
    }
    if (is_news)
        note_complete(point->stream, point->point);
    vk_lock_give(&lock);
    return is_news;
}

/* The lock is held. The device's queue to which work was sent last; NULL: something of the device
 * is under way. A submit that has not been seen here, because it is just being sent or was not
 * recorded, is one under way. */
static const struct queue *idle(const struct vk_device_state *device)
{
    const struct queue *last = NULL;

    if (queue_count == QUEUE_COUNT_MAX ||
        device->seen != __atomic_load_n(&device->sends, __ATOMIC_SEQ_CST))
        return NULL;
    for (uint32_t i = 0; i < queue_count; i++) {
        const struct queue *q = &queues[i];
        if (q->device != device)
            continue;
        if (q->completed < end_of(q->sent))
            return NULL;
        last = last && last->when > q->when ? last : q;
    }
    return last;
}

/* The lock is held. */
static bool all_idle(void)
{
    bool all = seen == vk_completion_sends();

    for (uint32_t i = 0; i < queue_count && all; i++)
        all = queues[i].completed >= end_of(queues[i].sent);
    return all;
}

bool vk_completion_idle(const struct vk_device_state *device, struct vk_idle *out)
{
    const struct queue *last;

    vk_lock_take(&lock);
    last = idle(device);
    if (last)
        *out = (struct vk_idle){tsm_stream_number(last->stream), last->sent, all_idle()};
    vk_lock_give(&lock);
    return last != NULL;
}

bool vk_completion_last(const struct vk_device_state *device, struct vk_idle *out)
{
    const struct queue *last = NULL;

    vk_lock_take(&lock);
    for (uint32_t i = 0; i < queue_count; i++)
        if (queues[i].device == device && (!last || queues[i].when > last->when))
            last = &queues[i];
    if (last)
        *out = (struct vk_idle){tsm_stream_number(last->stream), last->sent, false};
    vk_lock_give(&lock);
    return last != NULL;
}

void vk_completion_device_complete(struct vk_device_state *device)
{
    vk_lock_take(&lock);
    see_all(device);
    for (uint32_t i = 0; i < queue_count; i++)
        if (queues[i].device == device)
            queues[i].completed = end_of(queues[i].sent);
    vk_lock_give(&lock);
}

void vk_completion_reached(uint32_t type, uint64_t raw, uint64_t value)
{
    const struct tsm_handle *handle = handle_of(type, raw);
    struct value *at;

    if (!handle)
        return;
    vk_lock_take(&lock);
    if (handle->stream && (uintptr_t)handle->user <= value)
        note_complete(handle->stream, handle->position);
    for (at = next_value(&signalled, handle, NULL); at;
         at = next_value(&signalled, handle, at + 1)) {
        if (at->value > value)
            continue;
        note_complete(at->stream, at->point);
        take_value(&signalled, at);
    }
    vk_lock_give(&lock);
}
