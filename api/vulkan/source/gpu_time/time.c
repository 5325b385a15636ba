/* SPDX-License-Identifier: Apache-2.0
 *
 * Queues that can be timed, and submits with ours around them.
 */
#include "api/vulkan/source/gpu_time/time.h"

#include "api/vulkan/source/source.h"
#include "api/vulkan/source/gpu_time/timestamp_pool.h"
#include "api/vulkan/source/layer.h"
#include "api/vulkan/source/lock.h"
#include "api/vulkan/tables/submit.h"

#include <string.h>

#define QUEUE_MAX 256u

/* A queue of a family that can be timed. Used by one thread at a time, as the program must. */
struct queue {
    VkQueue handle;
    struct vk_device_state *device; /* NULL: it is destroyed */
    uint32_t family;
    uint64_t mask;
    void *scratch; /* for lists that are longer than the program's */
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

/* vkCmdResetQueryPool wants a queue that can compute or draw. */
static uint64_t valid_mask(const struct vk_device_state *device, uint32_t family)
{
    VkQueueFamilyProperties list[32];
    uint32_t count = 32;

    device->dispatch.instance->f.vkGetPhysicalDeviceQueueFamilyProperties(
        device->dispatch.physical_device, &count, list);
    if (family >= count ||
        !(list[family].queueFlags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT)))
        return 0;
    return list[family].timestampValidBits >= 64
               ? UINT64_MAX
               : ((uint64_t)1 << list[family].timestampValidBits) - 1;
}

static void note_queue(struct vk_device_state *device, VkQueue handle, uint32_t family)
{
    uint64_t mask = is_on() && handle ? valid_mask(device, family) : 0;
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
    note_queue(state, *out, family);
}

/* Protected queues would want protected command buffers: they are not timed. */
static VKAPI_ATTR void VKAPI_CALL get_queue2(VkDevice device, const VkDeviceQueueInfo2 *info,
                                             VkQueue *out)
{
    struct vk_device_state *state = vk_state_of(device);

    state->get_queue2(device, info, out);
    if (!info->flags)
        note_queue(state, *out, info->queueFamilyIndex);
}

void vk_time_patch(struct vk_device_state *device)
{
    struct vk_device_functions *f = &device->dispatch.f;

    device->get_queue = f->vkGetDeviceQueue;
    device->get_queue2 = f->vkGetDeviceQueue2;
    f->vkGetDeviceQueue = get_queue;
    if (f->vkGetDeviceQueue2)
        f->vkGetDeviceQueue2 = get_queue2;
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

/* `list` has room for two more; they are put around what is there. */
static VkCommandBuffer *surround(const struct queue *q, VkSubmitInfo *info, uint32_t part,
                                 VkCommandBuffer *list)
{
    const struct vk_timestamp_slot *s =
        info->commandBufferCount && vk_chain_allows_buffers(info->pNext)
            ? vk_timestamp_pool_take(q->device, q->family, q->mask, part)
            : NULL;

    if (!s)
        return list;
    list[0] = s->first;
    memcpy(list + 1, info->pCommandBuffers, info->commandBufferCount * sizeof(*list));
    list[info->commandBufferCount + 1] = s->last;
    info->pCommandBuffers = list;
    info->commandBufferCount += 2;
    return list + info->commandBufferCount;
}

static VkResult settle(VkResult result)
{
    if (result < 0)
        vk_timestamp_pool_queue(VK_TIMESTAMP_SLOT_FREE, NULL);
    return result;
}

VkResult vk_time_submit(VkQueue queue, uint32_t count, const VkSubmitInfo *submits, VkFence fence)
{
    PFN_vkQueueSubmit next = vk_state_of(queue)->below.vkQueueSubmit;
    struct queue *q = is_recorded() ? find_queue(queue) : NULL;
    size_t buffers = 0;
    VkSubmitInfo *own;
    VkCommandBuffer *list;

    vk_timestamp_pool_queue(VK_TIMESTAMP_SLOT_ABANDONED,
                            NULL); /* of a submit that was not recorded */
    for (uint32_t i = 0; q && i < count; i++)
        buffers += submits[i].commandBufferCount + 2u;
    own = buffers ? scratch(q, count * sizeof(*own) + buffers * sizeof(*list)) : NULL;
    if (!own)
        return next(queue, count, submits, fence);
    memcpy(own, submits, count * sizeof(*own));
    list = (VkCommandBuffer *)(own + count);
    for (uint32_t i = 0; i < count; i++)
        list = surround(q, &own[i], i, list);
    return settle(next(queue, count, own, fence));
}

static VkCommandBufferSubmitInfo *surround2(const struct queue *q, VkSubmitInfo2 *info,
                                            uint32_t part, VkCommandBufferSubmitInfo *list)
{
    VkCommandBufferSubmitInfo ours = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO};
    const struct vk_timestamp_slot *s =
        info->commandBufferInfoCount && !info->flags && vk_chain_allows_buffers(info->pNext)
            ? vk_timestamp_pool_take(q->device, q->family, q->mask, part)
            : NULL;

    if (!s)
        return list;
    ours.deviceMask = info->pCommandBufferInfos[0].deviceMask;
    list[0] = list[info->commandBufferInfoCount + 1] = ours;
    list[0].commandBuffer = s->first;
    memcpy(list + 1, info->pCommandBufferInfos, info->commandBufferInfoCount * sizeof(*list));
    list[info->commandBufferInfoCount + 1].commandBuffer = s->last;
    info->pCommandBufferInfos = list;
    info->commandBufferInfoCount += 2;
    return list + info->commandBufferInfoCount;
}

VkResult vk_time_submit2(VkQueue queue, uint32_t count, const VkSubmitInfo2 *submits, VkFence fence,
                         PFN_vkQueueSubmit2 next)
{
    struct queue *q = is_recorded() ? find_queue(queue) : NULL;
    size_t buffers = 0;
    VkSubmitInfo2 *own;
    VkCommandBufferSubmitInfo *list;

    vk_timestamp_pool_queue(VK_TIMESTAMP_SLOT_ABANDONED, NULL);
    for (uint32_t i = 0; q && i < count; i++)
        buffers += submits[i].commandBufferInfoCount + 2u;
    own = buffers ? scratch(q, count * sizeof(*own) + buffers * sizeof(*list)) : NULL;
    if (!own)
        return next(queue, count, submits, fence);
    memcpy(own, submits, count * sizeof(*own));
    list = (VkCommandBufferSubmitInfo *)(own + count);
    for (uint32_t i = 0; i < count; i++)
        list = surround2(q, &own[i], i, list);
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
    vk_lock_take(&lock);
    for (uint32_t i = 0; i < queue_count; i++)
        if (queues[i].device == device)
            queues[i].device = NULL;
    vk_lock_give(&lock);
}
