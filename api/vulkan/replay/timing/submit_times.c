/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vulkan/replay/timing/submit_times.h"

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/memory/copy.h"
#include "api/vulkan/replay/replay.h"
#include "api/vulkan/replay/timing/command_times.h"
#include "api/vulkan/tables/submit.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define PER_GROUP 32u
#define NOT_YET   UINT64_MAX /* ticks that were not written */

/* Around one batch. */
struct vkr_time_slot {
    struct vkr_time_slot *next;
    struct vkr_time_group *group;
    VkCommandBuffer first, end, copy; /* recorded once */
    struct vkr_command_use *uses;     /* command buffers of the batch whose commands are timed */
    uint32_t query;
    struct vkr_time_result *results; /* two; the device writes them */
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
    struct vkr_time_result *results;
    struct vkr_time_slot *free;
    struct vkr_time_slot slots[PER_GROUP];
};

/* ---- queues -------------------------------------------------------------------------------- */

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
    const struct vkr_timed_queue queue = {raw, device, family, vkr_time_mask(device, family)};

    if (raw && queue.mask && !find_queue(r, raw)) /* out of memory: it is not timed */
        (void)!TSM_ARRAY_PUSH(t->queues, t->queue_count, t->queue_capacity, queue);
}

/* ---- slots --------------------------------------------------------------------------------- */

static bool record_slot(const struct vkr_time_group *g, const struct vkr_time_slot *s)
{
    const struct vk_device_functions *f = &g->device->dispatch.f;
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};
    const VkMemoryBarrier in_turn = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                     .dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT};
    const VkMemoryBarrier to_host = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                     .dstAccessMask = VK_ACCESS_HOST_READ_BIT};

    if (f->vkBeginCommandBuffer(s->first, &info) < 0 ||
        f->vkBeginCommandBuffer(s->end, &info) < 0 || f->vkBeginCommandBuffer(s->copy, &info) < 0)
        return false;
    f->vkCmdResetQueryPool(s->first, g->queries, s->query, 2);
    f->vkCmdWriteTimestamp(s->first, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, g->queries, s->query);
    f->vkCmdWriteTimestamp(s->end, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, g->queries, s->query + 1);
    /* When these results are there, so are those of commands, which were copied before. */
    f->vkCmdPipelineBarrier(s->copy, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT,
                            0, 1, &in_turn, 0, NULL, 0, NULL);
    f->vkCmdCopyQueryPoolResults(s->copy, g->queries, s->query, 2, g->buffer,
                                 s->query * sizeof(*s->results), sizeof(*s->results),
                                 VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT |
                                     VK_QUERY_RESULT_WAIT_BIT);
    f->vkCmdPipelineBarrier(s->copy, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0,
                            1, &to_host, 0, NULL, 0, NULL);
    return f->vkEndCommandBuffer(s->first) >= 0 && f->vkEndCommandBuffer(s->end) >= 0 &&
           f->vkEndCommandBuffer(s->copy) >= 0;
}

static bool make_results(struct vkr_time_group *g)
{
    const struct vk_device_dispatch *d = &g->device->dispatch;
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = 2 * PER_GROUP * sizeof(struct vkr_time_result),
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
                                            .commandBufferCount = 3 * PER_GROUP};
    VkCommandBuffer list[3 * PER_GROUP];
    bool ok = d->f.vkCreateQueryPool(d->device, &queries, NULL, &g->queries) >= 0 &&
              d->f.vkCreateCommandPool(d->device, &commands, NULL, &g->commands) >= 0 &&
              make_results(g);

    allocate.commandPool = g->commands;
    ok = ok && d->f.vkAllocateCommandBuffers(d->device, &allocate, list) >= 0;
    for (uint32_t i = 0; i < PER_GROUP && ok; i++) {
        struct vkr_time_slot *s = &g->slots[i];

        *s = (struct vkr_time_slot){.group = g,
                                    .next = g->free,
                                    .first = list[3 * i],
                                    .end = list[3 * i + 1],
                                    .copy = list[3 * i + 2],
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
static void set_origin(struct vkr *r, struct vkr_time_group *g, uint64_t ticks)
{
    for (const struct vkr_time_group *other = r->timing.groups; other && g->origin == NOT_YET;
         other = other->next)
        if (other->device == g->device)
            g->origin = other->origin;
    if (g->origin == NOT_YET)
        g->origin = ticks;
}

/* Time of a batch, or of a command in it, of these ticks. */
static struct tsm_replay_time time_of(const struct vkr_time_slot *s, uint64_t from, uint64_t to)
{
    const struct vkr_time_group *g = s->group;
    const bool is_before = ((from - g->origin) & g->mask) > g->mask / 2;

    return (struct tsm_replay_time){
        .seq = s->seq,
        .position = s->position,
        .stream = s->stream,
        .part = s->part,
        .start_ns = is_before ? 0 : nanoseconds(g, g->origin, from),
        .duration_ns = nanoseconds(g, from, to),
        .error_ns = (uint64_t)g->device->limits.timestampPeriod + 1,
    };
}

/* Times of the commands of a batch. */
struct inner_times {
    struct vkr *r;
    const struct vkr_time_slot *slot;
    uint64_t sum_ns;
};

static void add_command_time(void *user, const struct vkr_command_use *use,
                             const struct vkr_timed_command *command,
                             const struct vkr_time_result results[2])
{
    struct inner_times *inner = user;
    struct tsm_replay_time time = time_of(inner->slot, results[0].ticks, results[1].ticks);

    time.buffer = use->buffer;
    time.command = use->base + command->number;
    time.of_type = command->type;
    time.object = command->object;
    inner->sum_ns += time.duration_ns;
    tsm_time_list_add(&inner->r->timing.done, &time);
}

static void add_times(struct vkr *r, const struct vkr_time_slot *s, const uint64_t ticks[2])
{
    struct inner_times inner = {r, s, 0};
    struct tsm_replay_time time;

    set_origin(r, s->group, ticks[0]);
    vkr_command_uses_each(s->uses, add_command_time, &inner);
    time = time_of(s, ticks[0], ticks[1]);
    time.inner_ns = inner.sum_ns;
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
            add_times(r, s, ticks);
        if (is_complete || s->group->device == device) {
            vkr_command_uses_drop(s->uses);
            s->uses = NULL;
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
    s->results[0] = s->results[1] = (struct vkr_time_result){NOT_YET, 0};
    if (t->newest)
        t->newest->next = s;
    else
        t->oldest = s;
    t->newest = s;
    return s;
}

/* Tests whether the command buffer stands in the batch before that place, too. */
static bool is_repeated(const struct vk_batch *batch, uint32_t place)
{
    const VkCommandBuffer commands = vk_batch_buffer(batch, place);

    for (uint32_t i = 0; i < place; i++)
        if (vk_batch_buffer(batch, i) == commands)
            return true;
    return false;
}

/* A submit, as it will be. */
struct sending {
    struct vkr_call *call;
    const struct vkr_timed_queue *queue; /* NULL: it cannot be timed */
    VkQueue raw;
    uint32_t buffer_count; /* of the trace's, so far */
};

/* Puts ours around what is there: nothing between the trace's command buffers, which may go on with
 * each other's render pass, but for one that is carried out again. Returns what is behind them. */
static VkCommandBuffer *surround(const struct sending *s, const struct vk_batch *batch,
                                 struct vkr_time_slot *slot, VkCommandBuffer *out)
{
    const struct vkr *r = s->call->r;

    for (uint32_t i = 0; i < batch->buffer_count; i++)
        if (!is_repeated(batch, i))
            out = vkr_command_resets(r, vk_batch_buffer(batch, i), out);
    if (slot)
        *out++ = slot->first;
    for (uint32_t i = 0; i < batch->buffer_count; i++) {
        if (is_repeated(batch, i))
            out = vkr_command_resets(r, vk_batch_buffer(batch, i), out);
        *out++ = vk_batch_buffer(batch, i);
    }
    if (!slot)
        return out;
    *out++ = slot->end;
    for (uint32_t i = 0; i < batch->buffer_count; i++) {
        out = vkr_command_copies(r, vk_batch_buffer(batch, i), out);
        vkr_command_uses_add(r, &slot->uses, vk_batch_buffer(batch, i), s->buffer_count + i);
    }
    *out++ = slot->copy;
    return out;
}

/* Resets queries of a batch that must stay as it is. */
static void send_resets(const struct sending *s, const struct vk_batch *batch, uint32_t count)
{
    VkCommandBuffer *list = vkr_call_take(s->call, count * sizeof(*list)), *end = list;
    const struct vkr_object *o = s->call->owner;

    for (uint32_t i = 0; list && i < batch->buffer_count; i++)
        end = vkr_command_resets(s->call->r, vk_batch_buffer(batch, i), end);
    if (list && o && o->device)
        o->device->dispatch.f.vkQueueSubmit(
            s->raw, 1,
            &(VkSubmitInfo){.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                            .commandBufferCount = (uint32_t)(end - list),
                            .pCommandBuffers = list},
            VK_NULL_HANDLE);
}

/* Makes the list of a batch. Returns how many there are; 0: it remains as it is. */
static uint32_t change(struct sending *s, const struct vk_batch *batch, uint32_t part,
                       bool may_change, VkCommandBuffer **out)
{
    const struct vkr *r = s->call->r;
    const uint32_t count = vkr_command_times_count(r, batch);
    const bool is_timed = r->timing.is_on && s->call->record->seq >= r->timing.seq_first;
    struct vkr_time_slot *slot = NULL;
    VkCommandBuffer *list = NULL;
    uint32_t made = 0;

    if (!batch->buffer_count)
        return 0;
    if (count && vkr_command_times_wait(r, batch))
        take_complete(s->call->r, NULL);
    if (may_change && (is_timed || count))
        list =
            vkr_call_take(s->call, (batch->buffer_count + 2 * (uint64_t)count + 3) * sizeof(*list));
    if (list && is_timed && s->queue)
        slot = take(s->call, s->queue, part);
    if (list && (slot || count))
        made = (uint32_t)(surround(s, batch, slot, list) - list);
    else if (count)
        send_resets(s, batch, count);
    s->buffer_count += batch->buffer_count;
    *out = list;
    return made;
}

static void change_info(struct sending *s, const struct vk_submit *submit, VkSubmitInfo *info,
                        uint32_t part)
{
    const struct vk_batch batch = vk_submit_batch(submit, part);
    VkCommandBuffer *list;
    const uint32_t made = change(s, &batch, part, vk_chain_allows_buffers(info->pNext), &list);

    if (!made)
        return;
    info->pCommandBuffers = list;
    info->commandBufferCount = made;
}

/* Leaves those of the batch as they were; ours get the mask of its devices. */
static void change_info2(struct sending *s, const struct vk_submit *submit, VkSubmitInfo2 *info,
                         uint32_t part)
{
    const struct vk_batch batch = vk_submit_batch(submit, part);
    const bool may_change = !info->flags && vk_chain_allows_buffers(info->pNext);
    VkCommandBuffer *list;
    const uint32_t made = change(s, &batch, part, may_change, &list);
    VkCommandBufferSubmitInfo *infos = made ? vkr_call_take(s->call, made * sizeof(*infos)) : NULL;
    uint32_t next = 0;

    for (uint32_t i = 0; infos && i < made; i++) {
        const bool is_theirs = next < info->commandBufferInfoCount &&
                               info->pCommandBufferInfos[next].commandBuffer == list[i];
        infos[i] =
            (VkCommandBufferSubmitInfo){.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                        .commandBuffer = list[i],
                                        .deviceMask = info->pCommandBufferInfos[0].deviceMask};
        if (is_theirs)
            infos[i] = info->pCommandBufferInfos[next++];
    }
    if (!infos)
        return;
    info->pCommandBufferInfos = infos;
    info->commandBufferInfoCount = made;
}

/* The arguments were decoded into an arena of ours. */
void vkr_timing_submit(struct vkr_call *c)
{
    const struct vk_args_vkQueueSubmit *a = (const void *)c->args;
    const struct vk_args_vkQueueSubmit2 *b = (const void *)c->args;
    const bool is_first = c->record->type == TYPE_vkQueueSubmit;
    struct sending s = {.call = c};
    struct vk_submit submit;

    if (!c->r->options->timed_runs || c->r->is_hollow ||
        !vk_submit_of(&submit, c->record->type, c->args))
        return;
    s.raw = submit.queue;
    s.queue = find_queue(c->r, s.raw);
    for (uint32_t i = 0; is_first && i < a->submitCount; i++)
        change_info(&s, &submit, &((VkSubmitInfo *)(uintptr_t)a->pSubmits)[i], i);
    for (uint32_t i = 0; !is_first && i < b->submitCount; i++)
        change_info2(&s, &submit, &((VkSubmitInfo2 *)(uintptr_t)b->pSubmits)[i], i);
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
    vkr_time_families_drop(r, device);
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
