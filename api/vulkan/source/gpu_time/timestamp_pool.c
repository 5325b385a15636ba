/* SPDX-License-Identifier: Apache-2.0
 *
 * Command buffers are recorded once: the first resets the queries and writes one timestamp, the
 * last writes the other and copies both into mapped memory. The driver is never asked for them:
 * some wait then for all that was sent to the device, which may wait for the program. Slots are
 * used again when their results were read.
 */
#include "api/vulkan/source/gpu_time/timestamp_pool.h"

#include "api/vulkan/source/source.h"
#include "api/vulkan/source/gpu_time/clock.h"
#include "api/vulkan/source/gpu_time/time.h"
#include "api/vulkan/source/layer.h"
#include "base/arena.h"
#include "api/vulkan/source/lock.h"

#include <string.h>

#define PER_GROUP 32u
#define GROUP_MAX 128u /* of all devices: more batches under way are not timed */
#define LOOK_MAX  8u   /* slots that are checked after each submit */
#define PAIR_SIZE (2 * sizeof(struct vk_timestamp_slot_result))
#define NOT_YET   UINT64_MAX /* ticks that were not written */

/* The slots of a family of queues. */
struct slot_group {
    struct vk_device_state *device; /* NULL: the group is free */
    uint32_t family;
    uint64_t mask; /* valid bits of a timestamp */
    VkQueryPool queries;
    VkCommandPool commands;
    VkBuffer buffer; /* of results */
    VkDeviceMemory memory;
    struct vk_timestamp_slot_result *results; /* mapped */
    struct vk_timestamp_slot *free;
    struct vk_timestamp_slot slots[PER_GROUP];
};

static struct tsm_arena arena;
static struct tsm_lock lock; /* of all below */
static struct slot_group *groups[GROUP_MAX];
static uint32_t group_count;
static struct vk_timestamp_slot *oldest, **newest = &oldest;

/* Slot of this thread's last submit, until its place in the order is known. */
static __thread struct vk_timestamp_slot *pending __attribute__((tls_model("initial-exec")));

void vk_timestamp_pool_forget(void)
{
    lock = (struct tsm_lock){0};
    group_count = 0;
    oldest = pending = NULL;
    newest = &oldest;
}

/* ---- making --------------------------------------------------------------------------------- */

/* The results go into memory when both are there, and are to be seen by the host then. */
static void record_copy(const struct slot_group *g, const struct vk_timestamp_slot *s)
{
    const struct vk_device_functions *f = &g->device->below;
    const VkMemoryBarrier to_host = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                     .dstAccessMask = VK_ACCESS_HOST_READ_BIT};

    f->vkCmdCopyQueryPoolResults(s->last, g->queries, s->query, 2, g->buffer,
                                 s->query / 2 * PAIR_SIZE, sizeof(struct vk_timestamp_slot_result),
                                 VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT |
                                     VK_QUERY_RESULT_WAIT_BIT);
    f->vkCmdPipelineBarrier(s->last, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0,
                            1, &to_host, 0, NULL, 0, NULL);
}

static bool record_slot(const struct slot_group *g, const struct vk_timestamp_slot *s)
{
    const struct vk_device_functions *f = &g->device->below;
    VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};

    if (f->vkBeginCommandBuffer(s->first, &info) < 0 || f->vkBeginCommandBuffer(s->last, &info) < 0)
        return false;
    f->vkCmdResetQueryPool(s->first, g->queries, s->query, 2);
    f->vkCmdWriteTimestamp(s->first, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, g->queries, s->query);
    f->vkCmdWriteTimestamp(s->last, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, g->queries, s->query + 1);
    record_copy(g, s);
    return f->vkEndCommandBuffer(s->first) >= 0 && f->vkEndCommandBuffer(s->last) >= 0;
}

/* Creates the buffers. The loader must initialise handles that a layer allocates itself. */
static bool make_buffers(struct slot_group *g, VkCommandBuffer list[2 * PER_GROUP])
{
    const struct vk_device_state *d = g->device;
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = g->commands,
                                        .commandBufferCount = 2 * PER_GROUP};

    if (d->below.vkAllocateCommandBuffers(d->dispatch.device, &info, list) < 0)
        return false;
    for (uint32_t i = 0; d->set_loader_data && i < 2 * PER_GROUP; i++)
        if (d->set_loader_data(d->dispatch.device, list[i]) < 0)
            return false;
    return true;
}

/* Returns a type of host-visible and coherent memory among `bits`; each device has one. */
static uint32_t memory_type(const struct vk_device_state *d, uint32_t bits)
{
    const VkMemoryPropertyFlags wanted =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    uint32_t type = 0;

    while (type + 1 < d->memory.memoryTypeCount &&
           (!(bits >> type & 1) || (d->memory.memoryTypes[type].propertyFlags & wanted) != wanted))
        type++;
    return type;
}

static bool make_memory(struct slot_group *g)
{
    const struct vk_device_functions *f = &g->device->below;
    const VkDevice device = g->device->dispatch.device;
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = PER_GROUP * PAIR_SIZE,
                               .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkMemoryRequirements needs;
    void *mapped;

    if (f->vkCreateBuffer(device, &info, NULL, &g->buffer) < 0)
        return false;
    f->vkGetBufferMemoryRequirements(device, g->buffer, &needs);
    allocate.allocationSize = needs.size;
    allocate.memoryTypeIndex = memory_type(g->device, needs.memoryTypeBits);
    if (f->vkAllocateMemory(device, &allocate, NULL, &g->memory) < 0 ||
        f->vkBindBufferMemory(device, g->buffer, g->memory, 0) < 0 ||
        f->vkMapMemory(device, g->memory, 0, VK_WHOLE_SIZE, 0, &mapped) < 0)
        return false;
    g->results = mapped;
    return true;
}

static void free_group(struct slot_group *g)
{
    const struct vk_device_state *d = g->device;

    if (g->buffer)
        d->below.vkDestroyBuffer(d->dispatch.device, g->buffer, NULL);
    if (g->memory)
        d->below.vkFreeMemory(d->dispatch.device, g->memory, NULL);
    if (g->queries)
        d->below.vkDestroyQueryPool(d->dispatch.device, g->queries, NULL);
    if (g->commands)
        d->below.vkDestroyCommandPool(d->dispatch.device, g->commands, NULL);
    memset(g, 0, sizeof(*g));
}

static bool fill_group(struct slot_group *g)
{
    const struct vk_device_state *d = g->device;
    VkQueryPoolCreateInfo queries = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                     .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                     .queryCount = 2 * PER_GROUP};
    VkCommandPoolCreateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                        .queueFamilyIndex = g->family};
    VkCommandBuffer list[2 * PER_GROUP];
    bool done =
        d->below.vkCreateQueryPool(d->dispatch.device, &queries, NULL, &g->queries) >= 0 &&
        d->below.vkCreateCommandPool(d->dispatch.device, &commands, NULL, &g->commands) >= 0 &&
        make_memory(g) && make_buffers(g, list);

    for (uint32_t i = 0; i < PER_GROUP && done; i++) {
        struct vk_timestamp_slot *s = &g->slots[i];
        *s = (struct vk_timestamp_slot){.group = g,
                                        .next = g->free,
                                        .first = list[2 * i],
                                        .last = list[2 * i + 1],
                                        .query = 2 * i,
                                        .results = &g->results[2 * i]};
        g->free = s;
        done = record_slot(g, s);
    }
    return done;
}

/* The lock is held. One with a free slot; a new one where there is none. NULL: not timed. */
static struct slot_group *find_group(struct vk_device_state *device, uint32_t family, uint64_t mask)
{
    struct slot_group *empty = NULL;

    for (uint32_t i = 0; i < group_count; i++) {
        if (groups[i]->device == device && groups[i]->family == family && groups[i]->free)
            return groups[i];
        if (!groups[i]->device)
            empty = groups[i];
    }
    if (!empty && group_count < GROUP_MAX) {
        empty = tsm_session_keep(&arena, sizeof(*empty));
        if (empty)
            groups[group_count++] = empty;
    }
    if (!empty)
        return NULL;
    empty->device = device;
    empty->family = family;
    empty->mask = mask;
    if (fill_group(empty))
        return empty;
    free_group(empty);
    return NULL;
}

const struct vk_timestamp_slot *vk_timestamp_pool_take(struct vk_device_state *device,
                                                       uint32_t family, uint64_t mask,
                                                       uint32_t part)
{
    struct vk_timestamp_slot *s = NULL;
    struct slot_group *g;

    vk_lock_take(&lock);
    g = find_group(device, family, mask);
    if (g) {
        s = g->free;
        g->free = s->next;
        s->part = part;
        s->state = VK_TIMESTAMP_SLOT_SENT;
        s->results[0] = s->results[1] = (struct vk_timestamp_slot_result){NOT_YET, 0};
        s->next = pending;
        pending = s;
    }
    vk_lock_give(&lock);
    if (!s)
        tsm_session_unmodelled("TS_GPU_TIME: too many batches under way, some are not timed",
                               false);
    return s;
}

/* The lock is held. */
static void give_slot(struct vk_timestamp_slot *s)
{
    s->state = VK_TIMESTAMP_SLOT_FREE;
    s->next = s->group->free;
    s->group->free = s;
}

/* The lock is held. Results will come. */
static void queue_slot(struct vk_timestamp_slot *s, enum vk_timestamp_slot_state state)
{
    s->state = state;
    s->next = NULL;
    *newest = s;
    newest = &s->next;
}

/* Marks this thread's slots as under way in this state, or as not sent. */
void vk_timestamp_pool_queue(enum vk_timestamp_slot_state state, const struct tsm_call *call)
{
    struct vk_timestamp_slot *s, *next;

    if (!pending)
        return;
    vk_lock_take(&lock);
    for (s = pending; s; s = next) {
        next = s->next;
        if (call) {
            s->stream = tsm_stream_number(call->stream);
            s->position = call->position;
        }
        if (state == VK_TIMESTAMP_SLOT_FREE)
            give_slot(s);
        else
            queue_slot(s, state);
    }
    pending = NULL;
    vk_lock_give(&lock);
}

/* ---- results ------------------------------------------------------------------------------- */

/* Reads both timestamps. False: the device has not written both yet. */
static bool read_slot(const struct vk_timestamp_slot *s, uint64_t ticks[2])
{
    for (uint32_t i = 0; i < 2; i++) {
        if (!__atomic_load_n(&s->results[i].available, __ATOMIC_ACQUIRE))
            return false;
        ticks[i] = __atomic_load_n(&s->results[i].ticks, __ATOMIC_RELAXED);
        if (ticks[i] == NOT_YET)
            return false;
    }
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
    tsm_call_slot(&call, r->span.error_ns);
    tsm_call_slot(&call, 0); /* run */
    tsm_call_commit(&call);
}

/* The lock is held. Takes the first result out of the list, among the `*look` slots after `*at`.
 * False: no more. */
static bool take_result(struct vk_timestamp_slot ***at, uint32_t *look, struct result *out)
{
    while (**at && *look) {
        struct vk_timestamp_slot *s = **at;
        bool is_known = s->state == VK_TIMESTAMP_SLOT_KNOWN;
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
        struct vk_timestamp_slot **at = &oldest;
        count = 0;
        vk_lock_take(&lock);
        while (count < LOOK_MAX && take_result(&at, &look, &results[count]))
            count++;
        vk_lock_give(&lock);
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

void vk_timestamp_pool_device_destroyed(const struct vk_device_state *device)
{
    struct vk_timestamp_slot **at = &oldest;

    vk_lock_take(&lock);
    while (*at) {
        struct vk_timestamp_slot *s = *at;
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
    vk_lock_give(&lock);
}
