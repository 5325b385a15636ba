/* SPDX-License-Identifier: Apache-2.0
 *
 * A *slot* is two queries and two command buffers that are recorded once: the first resets the
 * queries and writes one timestamp, the last writes the other. Slots are used again when their
 * results were read. The reset happens on the device: until it has come there, the results of the
 * use before are still to be seen, and are known by being equal to what was read then.
 */
#include "api/vulkan/vulkan_source_time.h"

#include "api/vulkan/vulkan_source.h"
#include "api/vulkan/vulkan_source_clock.h"
#include "base/arena.h"
#include "capture/lock.h"

#include <string.h>

#define QUEUE_MAX     256u
#define SLOTS_A_GROUP 32u
#define GROUP_MAX     128u /* of all devices: more batches under way are not timed */
#define LOOK_MAX      8u   /* slots that are looked at after each submit */

enum slot_state { SLOT_FREE, SLOT_SENT, SLOT_KNOWN, SLOT_ABANDONED };

struct slot {
    struct group *group;
    struct slot *next; /* of those that are under way, the oldest first; of those that are free */
    VkCommandBuffer first, last;
    uint64_t seen[2]; /* read at its last use */
    uint64_t position;
    uint32_t stream, part, query;
    enum slot_state state;
};

/* The slots of a family of queues. */
struct group {
    struct vk_device_state *device; /* NULL: the group is free */
    uint32_t family;
    uint64_t mask; /* valid bits of a timestamp */
    VkQueryPool queries;
    VkCommandPool commands;
    struct slot *free;
    struct slot slots[SLOTS_A_GROUP];
};

/* A queue of a family that can be timed. Used by one thread at a time, as the program must. */
struct queue {
    VkQueue handle;
    struct vk_device_state *device;
    uint32_t family;
    uint64_t mask;
    void *scratch; /* for lists that are longer than the program's */
    size_t scratch_size;
};

static struct tsm_arena arena;
static struct tsm_lock lock; /* of all below */
static struct queue queues[QUEUE_MAX];
static uint32_t queue_count;
static struct group *groups[GROUP_MAX];
static uint32_t group_count;
static struct slot *oldest, **newest = &oldest;

/* What this thread has sent last, until its place in the order is known. */
static __thread struct slot *pending __attribute__((tls_model("initial-exec")));

void vk_time_forget(void)
{
    lock = (struct tsm_lock){0};
    queue_count = group_count = 0;
    oldest = pending = NULL;
    newest = &oldest;
}

static bool is_on(void)
{
    return tsm_session_settings()->gpu_time;
}

/* Is the call that we are in recorded? */
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
    tsm_lock_take(&lock);
    while (i < queue_count && queues[i].device && queues[i].handle != handle)
        i++;
    if (i < QUEUE_MAX) {
        queues[i].handle = handle;
        queues[i].device = device;
        queues[i].family = family;
        queues[i].mask = mask;
        queue_count = i < queue_count ? queue_count : i + 1;
    }
    tsm_lock_give(&lock);
}

static struct queue *find_queue(VkQueue handle)
{
    struct queue *found = NULL;

    tsm_lock_take(&lock);
    for (uint32_t i = 0; i < queue_count && !found; i++)
        if (queues[i].handle == handle && queues[i].device)
            found = &queues[i];
    tsm_lock_give(&lock);
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

/* ---- slots --------------------------------------------------------------------------------- */

static bool record_slot(const struct group *g, const struct slot *s)
{
    const struct vk_device_functions *f = &g->device->below;
    VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};

    if (f->vkBeginCommandBuffer(s->first, &info) < 0 || f->vkBeginCommandBuffer(s->last, &info) < 0)
        return false;
    f->vkCmdResetQueryPool(s->first, g->queries, s->query, 2);
    f->vkCmdWriteTimestamp(s->first, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, g->queries, s->query);
    f->vkCmdWriteTimestamp(s->last, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, g->queries, s->query + 1);
    return f->vkEndCommandBuffer(s->first) >= 0 && f->vkEndCommandBuffer(s->last) >= 0;
}

/* What a layer allocates itself the loader must be told of. */
static bool make_buffers(struct group *g, VkCommandBuffer list[2 * SLOTS_A_GROUP])
{
    const struct vk_device_state *d = g->device;
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = g->commands,
                                        .commandBufferCount = 2 * SLOTS_A_GROUP};

    if (d->below.vkAllocateCommandBuffers(d->dispatch.device, &info, list) < 0)
        return false;
    for (uint32_t i = 0; d->set_loader_data && i < 2 * SLOTS_A_GROUP; i++)
        if (d->set_loader_data(d->dispatch.device, list[i]) < 0)
            return false;
    return true;
}

static void free_group(struct group *g)
{
    const struct vk_device_state *d = g->device;

    if (g->queries)
        d->below.vkDestroyQueryPool(d->dispatch.device, g->queries, NULL);
    if (g->commands)
        d->below.vkDestroyCommandPool(d->dispatch.device, g->commands, NULL);
    memset(g, 0, sizeof(*g));
}

static bool fill_group(struct group *g)
{
    const struct vk_device_state *d = g->device;
    VkQueryPoolCreateInfo queries = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                     .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                     .queryCount = 2 * SLOTS_A_GROUP};
    VkCommandPoolCreateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                        .queueFamilyIndex = g->family};
    VkCommandBuffer list[2 * SLOTS_A_GROUP];
    bool done =
        d->below.vkCreateQueryPool(d->dispatch.device, &queries, NULL, &g->queries) >= 0 &&
        d->below.vkCreateCommandPool(d->dispatch.device, &commands, NULL, &g->commands) >= 0 &&
        make_buffers(g, list);

    for (uint32_t i = 0; i < SLOTS_A_GROUP && done; i++) {
        struct slot *s = &g->slots[i];
        *s = (struct slot){.group = g,
                           .next = g->free,
                           .first = list[2 * i],
                           .last = list[2 * i + 1],
                           .query = 2 * i};
        g->free = s;
        done = record_slot(g, s);
    }
    return done;
}

/* The lock is held. One with a free slot; a new one where there is none. NULL: not timed. */
static struct group *find_group(const struct queue *q)
{
    struct group *empty = NULL;

    for (uint32_t i = 0; i < group_count; i++) {
        if (groups[i]->device == q->device && groups[i]->family == q->family && groups[i]->free)
            return groups[i];
        if (!groups[i]->device)
            empty = groups[i];
    }
    if (!empty && group_count < GROUP_MAX) {
        empty = tsm_arena_take(&arena, sizeof(*empty));
        if (empty)
            groups[group_count++] = empty;
    }
    if (!empty)
        return NULL;
    empty->device = q->device;
    empty->family = q->family;
    empty->mask = q->mask;
    if (fill_group(empty))
        return empty;
    free_group(empty);
    return NULL;
}

static struct slot *take_slot(const struct queue *q, uint32_t part)
{
    struct slot *s = NULL;
    struct group *g;

    tsm_lock_take(&lock);
    g = find_group(q);
    if (g) {
        s = g->free;
        g->free = s->next;
        s->part = part;
        s->state = SLOT_SENT;
        s->next = pending;
        pending = s;
    }
    tsm_lock_give(&lock);
    if (!s)
        tsm_session_unmodelled("TS_GPU_TIME: too many batches under way, some are not timed",
                               false);
    return s;
}

/* The lock is held. */
static void give_slot(struct slot *s)
{
    s->state = SLOT_FREE;
    s->next = s->group->free;
    s->group->free = s;
}

/* The lock is held. Results will come. */
static void queue_slot(struct slot *s, enum slot_state state)
{
    s->state = state;
    s->next = NULL;
    *newest = s;
    newest = &s->next;
}

/* What this thread sent is under way, in this state; or it was not sent at all. */
static void settle_pending(enum slot_state state, const struct tsm_call *call)
{
    struct slot *s, *next;

    if (!pending)
        return;
    tsm_lock_take(&lock);
    for (s = pending; s; s = next) {
        next = s->next;
        if (call) {
            s->stream = tsm_stream_number(call->stream);
            s->position = call->position;
        }
        if (state == SLOT_FREE)
            give_slot(s);
        else
            queue_slot(s, state);
    }
    pending = NULL;
    tsm_lock_give(&lock);
}

void vk_time_sent(const struct tsm_call *call)
{
    settle_pending(SLOT_KNOWN, call);
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

/* Structs that go with the number of command buffers, or with what they may do. */
static bool is_special(const void *chain)
{
    const VkBaseInStructure *s = chain;

    for (; s; s = s->pNext)
        if (s->sType == VK_STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO ||
            s->sType == VK_STRUCTURE_TYPE_PROTECTED_SUBMIT_INFO ||
            s->sType == VK_STRUCTURE_TYPE_PERFORMANCE_QUERY_SUBMIT_INFO_KHR)
            return true;
    return false;
}

/* `list` has room for two more; they are put around what is there. */
static VkCommandBuffer *surround(const struct queue *q, VkSubmitInfo *info, uint32_t part,
                                 VkCommandBuffer *list)
{
    struct slot *s =
        info->commandBufferCount && !is_special(info->pNext) ? take_slot(q, part) : NULL;

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
        settle_pending(SLOT_FREE, NULL);
    return result;
}

VkResult vk_time_submit(VkQueue queue, uint32_t count, const VkSubmitInfo *submits, VkFence fence)
{
    PFN_vkQueueSubmit next = vk_state_of(queue)->below.vkQueueSubmit;
    struct queue *q = is_recorded() ? find_queue(queue) : NULL;
    size_t buffers = 0;
    VkSubmitInfo *own;
    VkCommandBuffer *list;

    settle_pending(SLOT_ABANDONED, NULL); /* of a submit that was not recorded */
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
    struct slot *s = info->commandBufferInfoCount && !info->flags && !is_special(info->pNext)
                         ? take_slot(q, part)
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

    settle_pending(SLOT_ABANDONED, NULL);
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

/* ---- results ------------------------------------------------------------------------------- */

/* Are both timestamps there, and of this use? */
static bool read_slot(struct slot *s, uint64_t ticks[2])
{
    const struct vk_device_state *d = s->group->device;
    struct {
        uint64_t ticks, available;
    } r[2] = {{0, 0}, {0, 0}};
    VkResult result = d->below.vkGetQueryPoolResults(
        d->dispatch.device, s->group->queries, s->query, 2, sizeof(r), r, sizeof(r[0]),
        VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);

    if (result < 0 || !r[0].available || !r[1].available ||
        (r[0].ticks == s->seen[0] && r[1].ticks == s->seen[1]))
        return false;
    ticks[0] = s->seen[0] = r[0].ticks;
    ticks[1] = s->seen[1] = r[1].ticks;
    return true;
}

struct result {
    struct vk_clock_span span;
    uint64_t position;
    uint32_t stream, part;
};

static void record_result(const struct result *r)
{
    struct tsm_call call;

    if (!tsm_call_begin(&call, SBT_TYPE(SBT_API_CORE, SBT_CORE_GPU_TIME)))
        return;
    tsm_call_returned(&call, 0, false);
    tsm_call_slot(&call, r->stream);
    tsm_call_slot(&call, r->position);
    tsm_call_slot(&call, r->part);
    tsm_call_slot(&call, r->span.start_ns);
    tsm_call_slot(&call, r->span.duration_ns);
    tsm_call_slot(&call, r->span.is_calibrated ? SBT_GPU_TIME_CALIBRATED : 0);
    tsm_call_commit(&call);
}

/* The lock is held. Takes the first result out of the list, among the `*look` slots behind `*at`.
 * False: no more. */
static bool take_result(struct slot ***at, uint32_t *look, struct result *out)
{
    while (**at && *look) {
        struct slot *s = **at;
        bool is_known = s->state == SLOT_KNOWN;
        uint64_t ticks[2];
        --*look;
        if (!read_slot(s, ticks)) {
            *at = &s->next;
            continue;
        }
        if (is_known)
            out->span = vk_clock_span(s->group->device, ticks[0], ticks[1], s->group->mask);
        out->stream = s->stream;
        out->position = s->position;
        out->part = s->part;
        **at = s->next;
        if (newest == &s->next)
            newest = *at;
        give_slot(s);
        if (is_known)
            return true;
    }
    return false;
}

static void collect(uint32_t look)
{
    struct result results[LOOK_MAX];
    uint32_t count;

    do { /* recording takes locks of its own */
        struct slot **at = &oldest;
        count = 0;
        tsm_lock_take(&lock);
        while (count < LOOK_MAX && take_result(&at, &look, &results[count]))
            count++;
        tsm_lock_give(&lock);
        for (uint32_t i = 0; i < count; i++)
            record_result(&results[i]);
    } while (count == LOOK_MAX && look);
}

void vk_time_collect(void)
{
    if (__atomic_load_n(&oldest, __ATOMIC_RELAXED))
        collect(UINT32_MAX);
}

void vk_time_collect_some(void)
{
    if (__atomic_load_n(&oldest, __ATOMIC_RELAXED))
        collect(LOOK_MAX);
}

void vk_time_device_gone(struct vk_device_state *device)
{
    struct slot **at = &oldest;

    vk_time_collect();
    tsm_lock_take(&lock);
    while (*at) {
        struct slot *s = *at;
        if (s->group->device == device) {
            *at = s->next;
            if (newest == &s->next)
                newest = at;
        } else {
            at = &s->next;
        }
    }
    for (uint32_t i = 0; i < group_count; i++)
        if (groups[i]->device == device)
            free_group(groups[i]);
    for (uint32_t i = 0; i < queue_count; i++)
        if (queues[i].device == device)
            queues[i].device = NULL;
    tsm_lock_give(&lock);
}
