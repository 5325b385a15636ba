/* SPDX-License-Identifier: Apache-2.0
 *
 * At a checkpoint: what was followed becomes so, and memory gets its content. First the layouts: a
 * driver may write into an image's memory when it gets its first one, and what the checkpoint says
 * of that memory has to be there afterwards.
 *
 * Results of queries are not restored: a query that was available is so again, with another result.
 */
#include "api/vulkan/replay/state/restore.h"

#include <string.h>

#include "api/vulkan/replay/device.h"
#include "api/vulkan/replay/loader.h"
#include "api/vulkan/replay/memory/copy.h"
#include "api/vulkan/replay/memory/host_write.h"
#include "api/vulkan/replay/memory/memory.h"
#include "api/vulkan/replay/object.h"
#include "api/vulkan/replay/replay.h"
#include "api/vulkan/replay/semaphore.h"
#include "api/vulkan/replay/state/tracker.h"

/* ---- commands: layouts, events, queries -------------------------------------------------- */

/* All levels and layers from here on that are in the same layout and make a rectangle: whole
 * levels, or layers of one. */
static struct vkr_part take_part(const struct vkr_fact_image *fact, uint32_t plane, uint32_t level,
                                 uint32_t layer)
{
    const uint32_t *at =
        &fact->layouts[((size_t)plane * fact->levels + level) * fact->layers + layer];
    struct vkr_part part = {.aspects = vkr_plane_aspects(fact->aspects, plane),
                            .level = level,
                            .level_count = 1,
                            .layer = layer,
                            .layer_count = 1};

    while (layer + part.layer_count < fact->layers && at[part.layer_count] == *at)
        part.layer_count++;
    return part;
}

void vkr_each_layout(const struct vkr_fact_image *fact,
                     void (*visit)(void *user, const struct vkr_part *part, VkImageLayout layout),
                     void *user)
{
    for (uint32_t plane = 0; plane < vkr_plane_count(fact->aspects); plane++)
        for (uint32_t level = 0; level < fact->levels; level++)
            for (uint32_t layer = 0; layer < fact->layers;) {
                struct vkr_part part = take_part(fact, plane, level, layer);
                uint32_t layout =
                    fact->layouts[((size_t)plane * fact->levels + level) * fact->layers + layer];
                if (layout != VK_IMAGE_LAYOUT_UNDEFINED)
                    visit(user, &part, (VkImageLayout)layout);
                layer += part.layer_count;
            }
}

struct target {
    const struct vk_device_dispatch *d;
    VkCommandBuffer commands;
    VkImage image;
};

static void put_layout(void *user, const struct vkr_part *part, VkImageLayout layout)
{
    const struct target *t = user;
    VkImageMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
        .oldLayout = VK_IMAGE_LAYOUT_UNDEFINED,
        .newLayout = layout,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = t->image,
        .subresourceRange = {part->aspects, part->level, part->level_count, part->layer,
                             part->layer_count}};

    t->d->f.vkCmdPipelineBarrier(t->commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                 VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0, NULL, 1,
                                 &barrier);
}

static void put_image(const struct target *target, const struct vkr_object *o)
{
    struct target t = *target;

    if (!o->memory && !o->is_swapchain_image)
        return; /* no driver lets an image without memory have a layout */
    t.image = (VkImage)(uintptr_t)o->raw;
    vkr_each_layout(o->fact, put_layout, &t);
}

static void put_query(const struct target *t, VkQueryPool pool, VkQueryType type, uint32_t query)
{
    if (type == VK_QUERY_TYPE_TIMESTAMP) {
        t->d->f.vkCmdWriteTimestamp(t->commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, pool, query);
    } else if (type == VK_QUERY_TYPE_OCCLUSION || type == VK_QUERY_TYPE_PIPELINE_STATISTICS) {
        t->d->f.vkCmdBeginQuery(t->commands, pool, query, 0);
        t->d->f.vkCmdEndQuery(t->commands, pool, query);
    }
}

static void put_queries(const struct target *t, const struct vkr_object *o)
{
    const struct vkr_fact_queries *fact = o->fact;
    VkQueryPool pool = (VkQueryPool)(uintptr_t)o->raw;

    for (uint32_t i = 0; i < fact->count; i++) {
        if (fact->states[i] == VKR_QUERY_UNKNOWN)
            continue;
        t->d->f.vkCmdResetQueryPool(t->commands, pool, i, 1);
        if (fact->states[i] == VKR_QUERY_AVAILABLE)
            put_query(t, pool, fact->type, i);
    }
}

static void put_event(const struct target *t, const struct vkr_object *o)
{
    const struct vkr_fact_flag *fact = o->fact;
    VkEvent event = (VkEvent)(uintptr_t)o->raw;

    if (fact->is_set)
        t->d->f.vkCmdSetEvent(t->commands, event, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
    else
        t->d->f.vkCmdResetEvent(t->commands, event, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
}

static int put_by_commands(struct vkr *r, struct vkr_device *device)
{
    struct target t = {.d = &device->dispatch};
    VkResult result = vkr_commands_begin(device, &t.commands);

    if (result < 0)
        return vkr_fail("making commands to restore a checkpoint", result);
    for (const struct vkr_object *o = r->objects.first; o; o = o->next) {
        if (o->device != device || !o->fact)
            continue;
        if (o->type == VK_OBJECT_VkImage)
            put_image(&t, o);
        else if (o->type == VK_OBJECT_VkQueryPool)
            put_queries(&t, o);
        else if (o->type == VK_OBJECT_VkEvent)
            put_event(&t, o);
    }
    result = vkr_commands_run(device, t.commands);
    return result >= 0 ? 0 : vkr_fail("restoring a checkpoint", result);
}

/* ---- fences and semaphores --------------------------------------------------------------- */

static VkResult put_fence(struct vkr_device *device, const struct vkr_object *o)
{
    const struct vk_device_dispatch *d = &device->dispatch;
    const struct vkr_fact_flag *fact = o->fact;
    VkFence fence = (VkFence)(uintptr_t)o->raw;
    bool is_set = d->f.vkGetFenceStatus(d->device, fence) == VK_SUCCESS;

    if (fact->is_set == is_set)
        return VK_SUCCESS;
    return fact->is_set ? d->f.vkQueueSubmit(device->queue.raw, 0, NULL, fence)
                        : d->f.vkResetFences(d->device, 1, &fence);
}

static VkResult put_timeline(struct vkr_device *device, VkSemaphore semaphore, uint64_t value)
{
    const struct vk_device_dispatch *d = &device->dispatch;
    PFN_vkGetSemaphoreCounterValue get = d->f.vkGetSemaphoreCounterValue
                                             ? d->f.vkGetSemaphoreCounterValue
                                             : d->f.vkGetSemaphoreCounterValueKHR;
    PFN_vkSignalSemaphore signal =
        d->f.vkSignalSemaphore ? d->f.vkSignalSemaphore : d->f.vkSignalSemaphoreKHR;
    VkSemaphoreSignalInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = semaphore, .value = value};
    uint64_t now = 0;
    VkResult result = get && signal ? get(d->device, semaphore, &now) : VK_SUCCESS;

    return result < 0 || now >= value || !signal ? result : signal(d->device, &info);
}

static VkResult put_semaphore(struct vkr_device *device, const struct vkr_object *o)
{
    const struct vkr_semaphore *s = o->user;
    VkSemaphore semaphore = (VkSemaphore)(uintptr_t)o->raw;
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .signalSemaphoreCount = 1,
                         .pSignalSemaphores = &semaphore};

    if (s->is_timeline)
        return put_timeline(device, semaphore, s->value);
    return s->is_signalled
               ? device->dispatch.f.vkQueueSubmit(device->queue.raw, 1, &info, VK_NULL_HANDLE)
               : VK_SUCCESS;
}

static int put_by_submits(struct vkr *r, struct vkr_device *device)
{
    VkResult result = VK_SUCCESS;

    for (const struct vkr_object *o = r->objects.first; o && result >= 0; o = o->next) {
        if (o->device != device)
            continue;
        if (o->type == VK_OBJECT_VkFence && o->fact)
            result = put_fence(device, o);
        else if (o->type == VK_OBJECT_VkSemaphore && o->user)
            result = put_semaphore(device, o);
    }
    if (result >= 0)
        result = device->dispatch.f.vkQueueWaitIdle(device->queue.raw);
    return result >= 0 ? 0 : vkr_fail("signalling what was signalled at a checkpoint", result);
}

int vkr_restore(struct vkr *r)
{
    int error = 0;

    for (struct vkr_object *o = r->objects.first; o && !error; o = o->next) {
        if (o->type != VK_OBJECT_VkDevice || !o->device || !o->device->queue.raw)
            continue;
        error = put_by_commands(r, o->device);
        if (!error)
            error = put_by_submits(r, o->device);
    }
    return error;
}

/* ---- records ----------------------------------------------------------------------------- */

/* Once, after the states and before the first memory: other APIs' records may be between. */
static int settle(struct vkr *r)
{
    bool must = r->must_restore;

    r->must_restore = false;
    return must ? vkr_restore(r) : 0;
}

static int load_memory(struct vkr *r, const struct sbt_record *record)
{
    const uint64_t *s = record->slots;
    struct vkr_memory *m;
    struct sbt_blob blob;
    uint64_t offset = 0;

    if (record->slot_count < 8 || !sbt_record_blob(record, 7, &blob) || blob.size != s[6])
        return tsm_fail(TSM_E_FORMAT, "is malformed");
    if (s[1] != SBT_MEMORY_HOST && (s[1] != SBT_MEMORY_DEVICE || !(s[4] & VKR_PLACE)))
        return 0; /* of another API */
    m = s[1] == SBT_MEMORY_HOST ? vkr_memory_written(r, s[4] + s[5], &offset)
                                : vkr_memory_find(r, s[4]);
    if (s[1] != SBT_MEMORY_HOST)
        offset = s[5];
    if (!m || offset > m->size)
        return s[1] == SBT_MEMORY_HOST
                   ? 0 /* of another API */
                   : tsm_fail(TSM_E_FORMAT, "speaks of memory at 0x%llx, which no record made",
                              (unsigned long long)s[4]);
    int error = settle(r);
    return error ? error : vkr_memory_write(r, m, &blob, offset, record->seq);
}

static const uint32_t types_of_states[] = {
    [SBT_STATE_FENCE] = VK_OBJECT_VkFence,        [SBT_STATE_SEMAPHORE] = VK_OBJECT_VkSemaphore,
    [SBT_STATE_TIMELINE] = VK_OBJECT_VkSemaphore, [SBT_STATE_EVENT] = VK_OBJECT_VkEvent,
    [SBT_STATE_QUERY] = VK_OBJECT_VkQueryPool,    [SBT_STATE_LAYOUT] = VK_OBJECT_VkImage,
};

static void set_queries(struct vkr_fact_queries *fact, uint64_t first, uint64_t count,
                        uint64_t value)
{
    for (uint64_t i = first; i < fact->count && i - first < count; i++)
        fact->states[i] = value ? VKR_QUERY_AVAILABLE : VKR_QUERY_RESET;
}

static int set_semaphore(struct vkr *r, struct vkr_semaphore *s, uint64_t kind, uint64_t value)
{
    if (s->is_timeline != (kind == SBT_STATE_TIMELINE))
        return 0;
    if (s->is_timeline)
        return vkr_set_timeline(r, s, value);
    s->is_signalled = value;
    return 0;
}

static int set_state(struct vkr *r, const struct sbt_record *record)
{
    const uint64_t *s = record->slots;
    uint64_t kind = record->slot_count >= 9 ? s[1] : 0;
    const struct vkr_object *o = kind && kind < sizeof(types_of_states) / sizeof(types_of_states[0])
                                     ? vkr_object_find(r, types_of_states[kind], s[2])
                                     : NULL;
    struct vkr_part part = {.image = o ? o->id : 0};

    if (kind == SBT_STATE_SIGNAL)
        return 0; /* of another API */
    if (!o || !(o->type == VK_OBJECT_VkSemaphore ? o->user : o->fact))
        return tsm_fail(TSM_E_FORMAT, "speaks of an object that no record made");
    if (o->type == VK_OBJECT_VkSemaphore)
        return set_semaphore(r, o->user, kind, s[3]);
    if (kind == SBT_STATE_QUERY) {
        set_queries(o->fact, s[5], s[6], s[3]);
    } else if (kind == SBT_STATE_LAYOUT) {
        part.aspects = (VkImageAspectFlags)s[4];
        part.level = (uint32_t)s[5];
        part.level_count = (uint32_t)s[6];
        part.layer = (uint32_t)s[7];
        part.layer_count = (uint32_t)s[8];
        vkr_state_tracker_layout(r, &part, (VkImageLayout)s[3]);
    } else {
        ((struct vkr_fact_flag *)o->fact)->is_set = s[3];
    }
    return 0;
}

int vkr_checkpoint(struct vkr *r, const struct sbt_record *record)
{
    switch (SBT_TYPE_CALL(record->type)) {
    case SBT_CORE_CHECKPOINT_BEGIN:
        r->must_restore = true;
        return 0;
    case SBT_CORE_STATE:
        return set_state(r, record);
    case SBT_CORE_MEMORY:
        return load_memory(r, record);
    default:
        return settle(r);
    }
}
