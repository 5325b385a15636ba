/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vulkan/replay/timing.h"

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/memory/copy.h"
#include "api/vulkan/replay/replay.h"
#include "api/vulkan/tables/submit.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define PER_GROUP 32u
#define NOT_YET   UINT64_MAX /* ticks that were not written */

struct time_result {
    uint64_t ticks, available;
};

/* Around one batch. */
struct vkr_time_slot {
    struct vkr_time_slot *next;
    struct vkr_time_group *group;
    VkCommandBuffer first, last; /* recorded once */
    uint32_t query;
    struct time_result *results; /* two; the device writes them */
    uint64_t seq, position;
    uint32_t stream, part;
};

/* The slots of a family of queues. */
struct vkr_time_group {
    struct vkr_time_group *next;
    struct vkr_device *device;
    uint32_t family;
    uint64_t mask, origin; /* ticks of the first batch in this run; NOT_YET: none so far */
    VkQueryPool queries;
    VkCommandPool commands;
    VkBuffer buffer;
    VkDeviceMemory memory;
    struct time_result *results;
    struct vkr_time_slot *free;
    struct vkr_time_slot slots[PER_GROUP];
};

/* ---- queues -------------------------------------------------------------------------------- */

/* vkCmdResetQueryPool wants a queue that can compute or draw. */
static uint64_t valid_mask(const struct vkr_device *d, uint32_t family)
{
    VkQueueFamilyProperties list[32];
    uint32_t count = 32, bits;

    d->instance->dispatch.f.vkGetPhysicalDeviceQueueFamilyProperties(d->dispatch.physical_device,
                                                                     &count, list);
    if (family >= count ||
        !(list[family].queueFlags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT)))
        return 0;
    bits = list[family].timestampValidBits;
    return bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
}

static const struct vkr_timed_queue *find_queue(const struct vkr *r, VkQueue raw)
{
    for (size_t i = 0; i < r->timing.queue_count; i++)
        if (r->timing.queues[i].raw == raw)
            return &r->timing.queues[i];
    return NULL;
}

void vkr_timing_queue(struct vkr *r, struct vkr_device *device, VkQueue raw, uint32_t family)
{
    struct vkr_timing *t = &r->timing;
    const struct vkr_timed_queue queue = {raw, device, family, valid_mask(device, family)};

    if (raw && queue.mask && !find_queue(r, raw)) /* out of memory: it is not timed */
        (void)!TSM_ARRAY_PUSH(t->queues, t->queue_count, t->queue_capacity, queue);
}

/* ---- slots --------------------------------------------------------------------------------- */

static bool record_slot(const struct vkr_time_group *g, const struct vkr_time_slot *s)
{
    const struct vk_device_functions *f = &g->device->dispatch.f;
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};
    const VkMemoryBarrier to_host = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                     .dstAccessMask = VK_ACCESS_HOST_READ_BIT};

    if (f->vkBeginCommandBuffer(s->first, &info) < 0 || f->vkBeginCommandBuffer(s->last, &info) < 0)
        return false;
    f->vkCmdResetQueryPool(s->first, g->queries, s->query, 2);
    f->vkCmdWriteTimestamp(s->first, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, g->queries, s->query);
    f->vkCmdWriteTimestamp(s->last, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, g->queries, s->query + 1);
    f->vkCmdCopyQueryPoolResults(s->last, g->queries, s->query, 2, g->buffer,
                                 s->query * sizeof(struct time_result), sizeof(struct time_result),
                                 VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT |
                                     VK_QUERY_RESULT_WAIT_BIT);
    f->vkCmdPipelineBarrier(s->last, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0,
                            1, &to_host, 0, NULL, 0, NULL);
    return f->vkEndCommandBuffer(s->first) >= 0 && f->vkEndCommandBuffer(s->last) >= 0;
}

static bool make_results(struct vkr_time_group *g)
{
    const struct vk_device_dispatch *d = &g->device->dispatch;
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = 2 * PER_GROUP * sizeof(struct time_result),
                                     .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    uint8_t *mapped = NULL;

    if (d->f.vkCreateBuffer(d->device, &info, NULL, &g->buffer) < 0 ||
        vkr_host_memory(g->device, g->buffer, &g->memory, &mapped) < 0)
        return false;
    g->results = (void *)mapped;
    return true;
}

static bool fill_group(struct vkr_time_group *g)
{
    const struct vk_device_dispatch *d = &g->device->dispatch;
    const VkQueryPoolCreateInfo queries = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                           .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                           .queryCount = 2 * PER_GROUP};
    const VkCommandPoolCreateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                              .queueFamilyIndex = g->family};
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandBufferCount = 2 * PER_GROUP};
    VkCommandBuffer list[2 * PER_GROUP];
    bool ok = d->f.vkCreateQueryPool(d->device, &queries, NULL, &g->queries) >= 0 &&
              d->f.vkCreateCommandPool(d->device, &commands, NULL, &g->commands) >= 0 &&
              make_results(g);

    allocate.commandPool = g->commands;
    ok = ok && d->f.vkAllocateCommandBuffers(d->device, &allocate, list) >= 0;
    for (uint32_t i = 0; i < PER_GROUP && ok; i++) {
        struct vkr_time_slot *s = &g->slots[i];

        *s = (struct vkr_time_slot){.group = g,
                                    .next = g->free,
                                    .first = list[2 * i],
                                    .last = list[2 * i + 1],
                                    .query = 2 * i,
                                    .results = &g->results[2 * i]};
        g->free = s;
        ok = record_slot(g, s);
    }
    return ok;
}

static void free_group(struct vkr_time_group *g)
{
    const struct vk_device_dispatch *d = &g->device->dispatch;

    if (g->commands)
        d->f.vkDestroyCommandPool(d->device, g->commands, NULL);
    if (g->queries)
        d->f.vkDestroyQueryPool(d->device, g->queries, NULL);
    if (g->buffer)
        d->f.vkDestroyBuffer(d->device, g->buffer, NULL);
    if (g->memory)
        d->f.vkFreeMemory(d->device, g->memory, NULL);
    free(g);
}

static struct vkr_time_group *make_group(struct vkr *r, const struct vkr_timed_queue *queue)
{
    struct vkr_time_group *g = calloc(1, sizeof(*g));

    if (!g)
        return NULL;
    g->device = queue->device;
    g->family = queue->family;
    g->mask = queue->mask;
    g->origin = NOT_YET;
    if (!fill_group(g)) {
        free_group(g);
        return NULL;
    }
    g->next = r->timing.groups;
    r->timing.groups = g;
    return g;
}

static struct vkr_time_group *find_free(const struct vkr *r, const struct vkr_timed_queue *queue)
{
    struct vkr_time_group *g = r->timing.groups;

    while (g && (g->device != queue->device || g->family != queue->family || !g->free))
        g = g->next;
    return g;
}

/* ---- results ------------------------------------------------------------------------------- */

/* Reads both timestamps. Returns false while the device has not written both. */
static bool read_ticks(const struct vkr_time_slot *s, uint64_t ticks[2])
{
    for (uint32_t i = 0; i < 2; i++) {
        if (!__atomic_load_n(&s->results[i].available, __ATOMIC_ACQUIRE))
            return false;
        ticks[i] = __atomic_load_n(&s->results[i].ticks, __ATOMIC_RELAXED);
    }
    return ticks[0] != NOT_YET && ticks[1] != NOT_YET;
}

static uint64_t nanoseconds(const struct vkr_time_group *g, uint64_t from, uint64_t to)
{
    return (uint64_t)((double)((to - from) & g->mask) * (double)g->device->limits.timestampPeriod);
}

/* All groups of a device count from one tick. */
static uint64_t origin_of(struct vkr *r, struct vkr_time_group *g, uint64_t ticks)
{
    for (const struct vkr_time_group *other = r->timing.groups; other && g->origin == NOT_YET;
         other = other->next)
        if (other->device == g->device)
            g->origin = other->origin;
    if (g->origin == NOT_YET)
        g->origin = ticks;
    return g->origin;
}

static void add_time(struct vkr *r, const struct vkr_time_slot *s, const uint64_t ticks[2])
{
    const uint64_t origin = origin_of(r, s->group, ticks[0]);
    const bool is_before = ((ticks[0] - origin) & s->group->mask) > s->group->mask / 2;
    const struct tsm_replay_time time = {
        .seq = s->seq,
        .position = s->position,
        .stream = s->stream,
        .part = s->part,
        .start_ns = is_before ? 0 : nanoseconds(s->group, origin, ticks[0]),
        .duration_ns = nanoseconds(s->group, ticks[0], ticks[1]),
        .error_ns = (uint64_t)s->group->device->limits.timestampPeriod + 1,
    };

    tsm_time_list_add(&r->timing.done, &time);
}

/* Takes those that are complete; `device` (NULL: any) goes: its others have no time. */
static void take_complete(struct vkr *r, const struct vkr_device *device)
{
    struct vkr_time_slot *s = r->timing.oldest, *next;

    r->timing.oldest = r->timing.newest = NULL;
    for (; s; s = next) {
        uint64_t ticks[2];
        const bool is_complete = read_ticks(s, ticks);

        next = s->next;
        s->next = NULL;
        if (is_complete)
            add_time(r, s, ticks);
        if (is_complete || s->group->device == device) {
            s->next = s->group->free;
            s->group->free = s;
        } else if (r->timing.newest) {
            r->timing.newest = r->timing.newest->next = s;
        } else {
            r->timing.oldest = r->timing.newest = s;
        }
    }
}

/* ---- submits ------------------------------------------------------------------------------- */

/* Returns a slot for a batch, under way from now on; NULL: it is not timed. */
static struct vkr_time_slot *take(struct vkr_call *c, const struct vkr_timed_queue *queue,
                                  uint32_t part)
{
    struct vkr_timing *t = &c->r->timing;
    struct vkr_time_group *g = find_free(c->r, queue);
    struct vkr_time_slot *s;

    if (!g) {
        take_complete(c->r, NULL);
        g = find_free(c->r, queue);
    }
    if (!g)
        g = make_group(c->r, queue);
    if (!g)
        return NULL;
    s = g->free;
    g->free = s->next;
    s->next = NULL;
    s->seq = c->record->seq;
    s->position = c->record->position;
    s->stream = c->record->stream;
    s->part = part;
    s->results[0] = s->results[1] = (struct time_result){NOT_YET, 0};
    if (t->newest)
        t->newest->next = s;
    else
        t->oldest = s;
    t->newest = s;
    return s;
}

static void surround(struct vkr_call *c, const struct vkr_timed_queue *queue, VkSubmitInfo *info,
                     uint32_t part)
{
    const uint32_t count = info->commandBufferCount;
    VkCommandBuffer *list =
        count && vk_chain_allows_buffers(info->pNext) ? vkr_call_take(c, (count + 2) * sizeof(*list)) : NULL;
    const struct vkr_time_slot *s = list ? take(c, queue, part) : NULL;

    if (!s)
        return;
    list[0] = s->first;
    memcpy(list + 1, info->pCommandBuffers, count * sizeof(*list));
    list[count + 1] = s->last;
    info->pCommandBuffers = list;
    info->commandBufferCount = count + 2;
}

static void surround2(struct vkr_call *c, const struct vkr_timed_queue *queue, VkSubmitInfo2 *info,
                      uint32_t part)
{
    const uint32_t count = info->commandBufferInfoCount;
    VkCommandBufferSubmitInfo *list = count && !info->flags && vk_chain_allows_buffers(info->pNext)
                                          ? vkr_call_take(c, (count + 2) * sizeof(*list))
                                          : NULL;
    const struct vkr_time_slot *s = list ? take(c, queue, part) : NULL;

    if (!s)
        return;
    list[0] = (VkCommandBufferSubmitInfo){
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
        .commandBuffer = s->first,
        .deviceMask = info->pCommandBufferInfos[0].deviceMask,
    };
    memcpy(list + 1, info->pCommandBufferInfos, count * sizeof(*list));
    list[count + 1] = list[0];
    list[count + 1].commandBuffer = s->last;
    info->pCommandBufferInfos = list;
    info->commandBufferInfoCount = count + 2;
}

/* The arguments were decoded into an arena of ours. */
void vkr_timing_submit(struct vkr_call *c)
{
    const struct vk_args_vkQueueSubmit *a = (const void *)c->args;
    const struct vk_args_vkQueueSubmit2 *b = (const void *)c->args;
    const bool is_first = c->record->type == TYPE_vkQueueSubmit;
    const struct vkr_timed_queue *queue;

    if (!c->r->timing.is_on || c->record->seq < c->r->timing.seq_first || c->r->is_hollow)
        return;
    queue = find_queue(c->r, is_first ? a->queue : b->queue);
    if (!queue)
        return;
    for (uint32_t i = 0; is_first && i < a->submitCount; i++)
        surround(c, queue, &((VkSubmitInfo *)(uintptr_t)a->pSubmits)[i], i);
    for (uint32_t i = 0; !is_first && i < b->submitCount; i++)
        surround2(c, queue, &((VkSubmitInfo2 *)(uintptr_t)b->pSubmits)[i], i);
}

/* ---- runs ---------------------------------------------------------------------------------- */

void vkr_timing_drop(struct vkr *r, const struct vkr_device *device)
{
    struct vkr_timing *t = &r->timing;
    struct vkr_time_group **at = &t->groups;

    take_complete(r, device);
    while (*at) {
        struct vkr_time_group *g = *at;

        if (g->device != device) {
            at = &g->next;
            continue;
        }
        *at = g->next;
        free_group(g);
    }
    for (size_t i = t->queue_count; i-- > 0;)
        if (t->queues[i].device == device)
            TSM_ARRAY_REMOVE(t->queues, t->queue_count, i);
}

int vkr_timing_start(struct vkr *r, uint64_t seq_first)
{
    r->timing.is_on = true;
    r->timing.seq_first = seq_first;
    for (struct vkr_time_group *g = r->timing.groups; g; g = g->next)
        g->origin = NOT_YET;
    return 0;
}

int vkr_timing_report(struct vkr *r, tsm_time_user report, void *user)
{
    take_complete(r, NULL);
    r->timing.is_on = false;
    return tsm_time_list_report(&r->timing.done, report, user);
}

void vkr_timing_finish(struct vkr *r)
{
    free(r->timing.queues);
    tsm_time_list_finish(&r->timing.done);
}
