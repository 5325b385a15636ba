/* SPDX-License-Identifier: Apache-2.0
 *
 * Queues that can be timed, and submits with ours around them.
 */
#include "api/vulkan/source/gpu_time/time.h"

#include "api/vulkan/source/source.h"
#include "api/vulkan/source/gpu_time/clock.h"
#include "api/vulkan/source/gpu_time/command_time.h"
#include "api/vulkan/source/gpu_time/timestamp_pool.h"
#include "api/vulkan/source/layer.h"
#include "api/vulkan/source/lock.h"
#include "api/vulkan/tables/submit.h"
#include "api/vulkan/vulkan_args.h"
#include "api/vulkan/vulkan_ids.h"

#include <string.h>

#define QUEUE_MAX 256u

/* A queue of a family that can be timed. Used by one thread at a time, as the program must. */
struct queue {
    VkQueue handle;
    struct vk_device_state *device; /* NULL: it is destroyed */
    uint32_t family;
    uint64_t mask;
    bool is_protected; /* its batches have no time */
    void *scratch;     /* for lists that are longer than the program's */
    size_t scratch_size;
};

static struct tsm_lock lock; /* of the list */
static struct queue queues[QUEUE_MAX];
static uint32_t queue_count;

void vk_time_forget(void)
{
    lock = (struct tsm_lock){0};
    queue_count = 0;
    vk_timestamp_pool_forget();
    vk_commands_forget();
    vk_clock_forget();
}

static bool is_on(void)
{
    return tsm_session_settings()->gpu_time;
}

/* Tests whether the call that this thread is in is recorded. */
static bool is_recorded(void)
{
    return is_on() && tsm_inside();
}

/* ---- queues -------------------------------------------------------------------------------- */

static void note_queue(struct vk_device_state *device, VkQueue handle, uint32_t family,
                       bool is_protected)
{
    uint64_t mask = is_on() && handle ? vk_query_mask(device, family) : 0;
    uint32_t i = 0;

    if (!mask)
        return;
    vk_lock_take(&lock);
    while (i < queue_count && queues[i].device && queues[i].handle != handle)
        i++;
    if (i < QUEUE_MAX) {
        queues[i].handle = handle;
        queues[i].device = device;
        queues[i].family = family;
        queues[i].mask = mask;
        queues[i].is_protected = is_protected;
        queue_count = i < queue_count ? queue_count : i + 1;
    }
    vk_lock_give(&lock);
}

static struct queue *find_queue(VkQueue handle)
{
    struct queue *found = NULL;

    vk_lock_take(&lock);
    for (uint32_t i = 0; i < queue_count && !found; i++)
        if (queues[i].handle == handle && queues[i].device)
            found = &queues[i];
    vk_lock_give(&lock);
    return found;
}

static VKAPI_ATTR void VKAPI_CALL get_queue(VkDevice device, uint32_t family, uint32_t index,
                                            VkQueue *out)
{
    struct vk_device_state *state = vk_state_of(device);

    state->get_queue(device, family, index, out);
    note_queue(state, *out, family, false);
}

/* Protected queues would want protected command buffers: they are not timed. */
static VKAPI_ATTR void VKAPI_CALL get_queue2(VkDevice device, const VkDeviceQueueInfo2 *info,
                                             VkQueue *out)
{
    struct vk_device_state *state = vk_state_of(device);

    state->get_queue2(device, info, out);
    note_queue(state, *out, info->queueFamilyIndex, info->flags != 0);
}

void vk_time_patch(struct vk_device_state *device)
{
    struct vk_device_functions *f = &device->dispatch.f;

    device->get_queue = f->vkGetDeviceQueue;
    device->get_queue2 = f->vkGetDeviceQueue2;
    f->vkGetDeviceQueue = get_queue;
    if (f->vkGetDeviceQueue2)
        f->vkGetDeviceQueue2 = get_queue2;
    if (!tsm_session_settings()->gpu_time_commands)
        return;
    vk_timed_buffers_patch(device);
    vk_timed_patch(f);
}

/* ---- submits ------------------------------------------------------------------------------- */

/* Room that lives until the queue's next submit. NULL: none. */
static void *scratch(struct queue *q, size_t size)
{
    if (q->scratch_size < size) {
        if (q->scratch)
            tsm_memory_unmap(q->scratch, q->scratch_size);
        q->scratch_size = (size + 0xffff) & ~(size_t)0xffff;
        q->scratch = tsm_memory_map(q->scratch_size);
        if (!q->scratch)
            q->scratch_size = 0;
    }
    return q->scratch;
}

/* A submit, as it is and as it will be. */
struct sending {
    struct queue *queue;
    struct vk_submit submit;
    bool is_recorded;
    VkCommandBuffer *list;   /* for what a batch consists of, one batch after the other ... */
    VkCommandBuffer *resets; /* ... and what is to be sent before all, behind each other */
    uint32_t reset_count;
    uint32_t buffer_count; /* of the program's, so far */
};

static uint32_t recordings_of(const struct vk_batch *batch)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < batch->buffer_count; i++)
        count += vk_commands_count(vk_batch_buffer(batch, i));
    return count;
}

static bool allows_buffers(const struct vk_batch *batch, uint32_t kind_flags, const void *chain)
{
    return batch->buffer_count && !kind_flags && vk_chain_allows_buffers(chain);
}

/* Reads results that the batch will overwrite. */
static void read_before(const struct vk_batch *batch)
{
    bool waits = false;

    for (uint32_t i = 0; i < batch->buffer_count && !waits; i++)
        waits = vk_commands_wait(vk_batch_buffer(batch, i));
    if (waits)
        vk_time_collect();
}

/* Tests whether the command buffer stands in the batch before that place, too. */
static bool is_repeated(const struct vk_batch *batch, uint32_t place)
{
    const VkCommandBuffer commands = vk_batch_buffer(batch, place);

    for (uint32_t i = 0; i < place; i++)
        if (vk_batch_buffer(batch, i) == commands)
            return vk_commands_count(commands) != 0;
    return false;
}

/* Puts ours around what is there: nothing between the program's command buffers, which may go on
 * with each other's render pass, but for one that is carried out again. Returns how many there are.
 */
static uint32_t surround(struct sending *s, const struct vk_batch *batch, VkCommandBuffer *out,
                         struct vk_timestamp_slot *slot, bool has_commands)
{
    const VkCommandBuffer *first = out;

    for (uint32_t i = 0; has_commands && i < batch->buffer_count; i++)
        if (!is_repeated(batch, i))
            out = vk_commands_resets(vk_batch_buffer(batch, i), out);
    *out++ = slot->first;
    for (uint32_t i = 0; i < batch->buffer_count; i++) {
        if (has_commands && is_repeated(batch, i))
            out = vk_commands_resets(vk_batch_buffer(batch, i), out);
        *out++ = vk_batch_buffer(batch, i);
    }
    *out++ = has_commands ? slot->end : slot->last;
    for (uint32_t i = 0; i < batch->buffer_count; i++) {
        out = vk_commands_copies(vk_batch_buffer(batch, i), out);
        vk_commands_use(&slot->uses, s->submit.queue, vk_batch_buffer(batch, i),
                        s->buffer_count + i);
    }
    if (has_commands)
        *out++ = slot->copy;
    return (uint32_t)(out - first);
}

/* Makes the list of a batch. Returns 0 where it remains as it is: queries in it are reset before
 * all of the submit. */
static uint32_t change_batch(struct sending *s, const struct vk_batch *batch, uint32_t part,
                             bool may_change)
{
    const uint32_t count = recordings_of(batch);
    struct vk_timestamp_slot *slot = NULL;
    VkCommandBuffer *resets = s->resets + s->reset_count;
    uint32_t made = 0;

    if (count)
        read_before(batch);
    if (may_change && s->is_recorded && !s->queue->is_protected)
        slot = vk_timestamp_pool_take(s->queue->device, s->queue->family, s->queue->mask, part);
    if (slot)
        made = surround(s, batch, s->list, slot, count != 0);
    for (uint32_t i = 0; !slot && count && i < batch->buffer_count; i++) {
        resets = vk_commands_resets(vk_batch_buffer(batch, i), resets);
        vk_commands_lose(vk_batch_buffer(batch, i));
    }
    s->reset_count = (uint32_t)(resets - s->resets);
    s->buffer_count += batch->buffer_count;
    return made;
}

/* Returns how many command buffers the batches can become; 0: the submit remains as it is. */
static size_t count_buffers(const struct sending *s)
{
    size_t count = 0, recordings = 0;

    for (uint32_t i = 0; i < s->submit.count; i++) {
        const struct vk_batch batch = vk_submit_batch(&s->submit, i);
        const uint32_t more = recordings_of(&batch);
        count += batch.buffer_count ? batch.buffer_count + 2 * (size_t)more + 3 : 0;
        recordings += more;
    }
    return s->is_recorded || recordings ? count : 0;
}

static void send_resets(const struct sending *s)
{
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .commandBufferCount = s->reset_count,
                               .pCommandBuffers = s->resets};

    if (s->reset_count)
        vk_state_of(s->submit.queue)->below.vkQueueSubmit(s->submit.queue, 1, &info, NULL);
}

static VkResult settle(VkResult result)
{
    if (result < 0)
        vk_timestamp_pool_queue(VK_TIMESTAMP_SLOT_FREE, NULL);
    return result;
}

/* Prepares for a submit. Returns room for `size` bytes, followed by that of command buffers of
 * `buffer_size` bytes each; NULL: it remains as it is. */
static void *prepare(struct sending *s, size_t size, size_t buffer_size)
{
    size_t buffers;
    char *room;

    vk_timestamp_pool_queue(VK_TIMESTAMP_SLOT_ABANDONED,
                            NULL); /* of a submit that was not recorded */
    s->queue = is_on() ? find_queue(s->submit.queue) : NULL;
    s->is_recorded = is_recorded();
    buffers = s->queue ? count_buffers(s) : 0;
    room =
        buffers ? scratch(s->queue, size + buffers * (2 * sizeof(*s->list) + buffer_size)) : NULL;
    if (!room)
        return NULL;
    s->list = (VkCommandBuffer *)(room + size);
    s->resets = s->list + buffers;
    return room;
}

VkResult vk_time_submit(VkQueue queue, uint32_t count, const VkSubmitInfo *submits, VkFence fence)
{
    PFN_vkQueueSubmit next = vk_state_of(queue)->below.vkQueueSubmit;
    struct vk_args_vkQueueSubmit args = {queue, count, submits, fence};
    struct sending s = {0};
    VkSubmitInfo *own;

    vk_submit_of(&s.submit, TYPE_vkQueueSubmit, &args);
    own = prepare(&s, count * sizeof(*own), 0);
    if (!own)
        return next(queue, count, submits, fence);
    memcpy(own, submits, count * sizeof(*own));
    for (uint32_t i = 0; i < count; i++) {
        const struct vk_batch batch = vk_submit_batch(&s.submit, i);
        const uint32_t made =
            change_batch(&s, &batch, i, allows_buffers(&batch, 0, submits[i].pNext));
        if (!made)
            continue;
        own[i].commandBufferCount = made;
        own[i].pCommandBuffers = s.list;
        s.list += made;
    }
    send_resets(&s);
    return settle(next(queue, count, own, fence));
}

/* Leaves those of the batch as they were; ours get the mask of its devices. */
static void fill_infos(VkCommandBufferSubmitInfo *out, const VkCommandBuffer *list, uint32_t count,
                       const VkSubmitInfo2 *batch)
{
    uint32_t next = 0;

    for (uint32_t i = 0; i < count; i++) {
        const bool is_theirs = next < batch->commandBufferInfoCount &&
                               batch->pCommandBufferInfos[next].commandBuffer == list[i];
        out[i] =
            (VkCommandBufferSubmitInfo){.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                        .commandBuffer = list[i],
                                        .deviceMask = batch->pCommandBufferInfos[0].deviceMask};
        if (is_theirs)
            out[i] = batch->pCommandBufferInfos[next++];
    }
}

VkResult vk_time_submit2(VkQueue queue, uint32_t count, const VkSubmitInfo2 *submits, VkFence fence,
                         PFN_vkQueueSubmit2 next)
{
    struct vk_args_vkQueueSubmit2 args = {queue, count, submits, fence};
    struct sending s = {0};
    VkCommandBufferSubmitInfo *infos;
    VkSubmitInfo2 *own;

    vk_submit_of(&s.submit, TYPE_vkQueueSubmit2, &args);
    own = prepare(&s, count * sizeof(*own), sizeof(*infos));
    if (!own)
        return next(queue, count, submits, fence);
    memcpy(own, submits, count * sizeof(*own));
    infos = (VkCommandBufferSubmitInfo *)(s.resets + (s.resets - s.list));
    for (uint32_t i = 0; i < count; i++) {
        const struct vk_batch batch = vk_submit_batch(&s.submit, i);
        const uint32_t made =
            change_batch(&s, &batch, i, allows_buffers(&batch, submits[i].flags, submits[i].pNext));
        if (!made)
            continue;
        fill_infos(infos, s.list, made, &submits[i]);
        own[i].commandBufferInfoCount = made;
        own[i].pCommandBufferInfos = infos;
        infos += made;
    }
    send_resets(&s);
    return settle(next(queue, count, own, fence));
}

void vk_time_sent(const struct tsm_call *call)
{
    vk_timestamp_pool_queue(VK_TIMESTAMP_SLOT_KNOWN, call);
}

void vk_time_device_destroyed(struct vk_device_state *device)
{
    vk_time_collect();
    vk_timestamp_pool_device_destroyed(device);
    vk_timed_buffers_device_destroyed(device);
    vk_lock_take(&lock);
    for (uint32_t i = 0; i < queue_count; i++)
        if (queues[i].device == device)
            queues[i].device = NULL;
    vk_lock_give(&lock);
}
