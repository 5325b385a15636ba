/* SPDX-License-Identifier: Apache-2.0
 *
 * Going back: what memory held and what is followed is kept at one moment, and made so again later,
 * with the same objects. What the program does in between must neither make nor end any, nor change
 * what no checkpoint knows: vkr_loop_snapshot_allows() says which records keep to that.
 */
#include "api/vulkan/replay/state/loop_snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/loader.h"
#include "api/vulkan/replay/memory/copy.h"
#include "api/vulkan/replay/memory/memory.h"
#include "api/vulkan/replay/object.h"
#include "api/vulkan/replay/replay.h"
#include "api/vulkan/replay/semaphore.h"
#include "api/vulkan/replay/state/restore.h"
#include "api/vulkan/replay/state/tracker.h"
#include "api/vulkan/replay/stream.h"

struct vkr_loop_snapshot {
    struct vkr_loop_snapshot *next;
    uint32_t type; /* of the object; 0: memory */
    uint64_t id;   /* or the memory's place */
    size_t size;
    uint8_t bytes[];
};

/* ---- keeping ----------------------------------------------------------------------------- */

static int keep(struct vkr *r, uint32_t type, uint64_t id, const void *bytes, size_t size)
{
    struct vkr_loop_snapshot *held = malloc(sizeof(*held) + size);

    if (!held)
        return tsm_fail(TSM_E_MEMORY, "no memory to keep %zu bytes of the device", size);
    *held = (struct vkr_loop_snapshot){r->held, type, id, size};
    if (bytes)
        memcpy(held->bytes, bytes, size);
    r->held = held;
    return 0;
}

static size_t fact_size(const struct vkr_object *o)
{
    const struct vkr_fact_image *image = o->fact;
    const struct vkr_fact_queries *queries = o->fact;

    switch (o->type) {
    case VK_OBJECT_VkFence:
    case VK_OBJECT_VkEvent:
        return sizeof(struct vkr_fact_flag);
    case VK_OBJECT_VkQueryPool:
        return sizeof(*queries) + queries->count;
    case VK_OBJECT_VkImage:
        return sizeof(*image) + (size_t)image->levels * image->layers *
                                    vkr_plane_count(image->aspects) * sizeof(image->layouts[0]);
    default:
        return 0;
    }
}

static int keep_object(struct vkr *r, const struct vkr_object *o)
{
    if (o->type == VK_OBJECT_VkSemaphore && o->user)
        return keep(r, o->type, o->id, o->user, sizeof(struct vkr_semaphore));
    return o->fact && fact_size(o) ? keep(r, o->type, o->id, o->fact, fact_size(o)) : 0;
}

static int keep_memory(struct vkr *r, const struct vkr_memory *m)
{
    if (!m->mapped && !m->alias)
        return tsm_fail(TSM_E_UNSUPPORTED, "memory can neither be mapped nor copied");
    int error = keep(r, 0, m->place, NULL, m->size);
    return error ? error : vkr_read(r, m->place, r->held->bytes, m->size);
}

int vkr_loop_snapshot_take(struct vkr *r)
{
    int error = 0;

    if (vkr_is_gated(r))
        return tsm_fail(TSM_E_UNSUPPORTED, "work is under way that waits for a signal of the host");
    for (const struct vkr_object *o = r->objects.first; o && !error; o = o->next)
        error = keep_object(r, o);
    for (size_t i = 0; i < r->memories.count && !error; i++)
        error = keep_memory(r, r->memories.list[i]);
    return error;
}

void vkr_loop_snapshot_finish(struct vkr *r)
{
    while (r->held) {
        struct vkr_loop_snapshot *held = r->held;
        r->held = held->next;
        free(held);
    }
    tsm_map_finish(&r->repeated);
}

/* ---- going back -------------------------------------------------------------------------- */

/* A counter does not go back: another semaphore takes its place. */
static VkResult renew_timeline(struct vkr *r, struct vkr_object *o, uint64_t value)
{
    const struct vk_device_dispatch *d = &o->device->dispatch;
    VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
                                      .initialValue = value};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    VkSemaphore semaphore;
    VkResult result = d->f.vkCreateSemaphore(d->device, &info, NULL, &semaphore);

    if (result < 0)
        return result;
    d->f.vkDestroySemaphore(d->device, (VkSemaphore)(uintptr_t)o->raw, NULL);
    return vkr_object_set_raw(r, o, VKR_RAW(semaphore)) ? VK_SUCCESS : VK_ERROR_OUT_OF_HOST_MEMORY;
}

/* A binary one that is signalled is waited for; the restoring signals those that are to be. */
static int put_semaphore_back(struct vkr *r, struct vkr_object *o, const struct vkr_semaphore *want)
{
    struct vkr_semaphore *now = o->user;
    VkSemaphore semaphore = (VkSemaphore)(uintptr_t)o->raw;
    VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkSubmitInfo wait = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .waitSemaphoreCount = 1,
                         .pWaitSemaphores = &semaphore,
                         .pWaitDstStageMask = &stage};
    VkResult result = VK_SUCCESS;

    if (now->is_timeline && now->value != want->value)
        result = renew_timeline(r, o, want->value);
    else if (!now->is_timeline && now->is_signalled)
        result =
            o->device->dispatch.f.vkQueueSubmit(o->device->queue.raw, 1, &wait, VK_NULL_HANDLE);
    *now = *want;
    if (result < 0)
        return vkr_fail("setting a semaphore back", result);
    return now->is_timeline ? vkr_set_timeline(r, now, want->value) : 0;
}

static int put_object_back(struct vkr *r, const struct vkr_loop_snapshot *held)
{
    struct vkr_object *o = vkr_object_find(r, held->type, held->id);

    if (!o || !o->device)
        return tsm_fail(TSM_E_STATE, "%s #%llu is gone", vk_name(vk_objects[held->type]),
                        (unsigned long long)held->id);
    if (o->type == VK_OBJECT_VkSemaphore)
        return put_semaphore_back(r, o, (const void *)held->bytes);
    if (o->fact && fact_size(o) == held->size)
        memcpy(o->fact, held->bytes, held->size);
    return 0;
}

int vkr_loop_snapshot_restore(struct vkr *r)
{
    int error = 0;

    for (const struct vkr_loop_snapshot *held = r->held; held && !error; held = held->next)
        if (held->type)
            error = put_object_back(r, held);
    if (!error)
        error = vkr_restore(r);
    for (const struct vkr_loop_snapshot *held = r->held; held && !error; held = held->next) {
        struct vkr_memory *m = held->type ? NULL : vkr_memory_find(r, held->id);
        if (m && m->mapped)
            vkr_memory_put(m, held->bytes);
        else if (m)
            error = vkr_copy_in(m, 0, held->bytes, held->size);
    }
    return error;
}

/* ---- what can be repeated ---------------------------------------------------------------- */

enum command_buffer {
    USED = 1, /* as it was when the part began */
    RENEWED = 2,
};

/* The planned handle of an object is its id. */
static bool note_used(void *user, VkCommandBuffer buffer)
{
    struct vkr *r = user;
    bool added;
    uint64_t *known = tsm_map_insert(&r->repeated, VKR_RAW(buffer), &added);

    if (known && !*known)
        *known = USED;
    return known;
}

static bool submit_repeats(struct vkr *r, const struct sbt_record *record)
{
    struct vk_submit submit;
    struct vkr_call c;
    bool ok = vkr_call_begin(&c, r, record, &r->arena, true) == 1 &&
              vk_submit_of(&submit, record->type, c.args) &&
              vk_submit_each_buffer(&submit, note_used, r);

    vkr_call_finish(&c);
    vk_arena_reset(&r->arena);
    return ok;
}

/* Content that was sent as it was at first must not be filled again: the next time it would
 * differ. */
static bool begin_repeats(struct vkr *r, const struct sbt_record *record)
{
    bool added;
    uint64_t *known =
        record->slot_count ? tsm_map_insert(&r->repeated, record->slots[0], &added) : NULL;

    if (!known || *known == USED)
        return false;
    *known = RENEWED;
    return true;
}

bool vkr_loop_snapshot_allows(struct vkr *r, const struct sbt_record *record)
{
    const struct vk_command *command = vk_command_of(SBT_TYPE_CALL(record->type));
    const char *name = command ? vk_name(command->name) : "";

    switch (record->type) {
    case TYPE_vkQueueSubmit:
    case TYPE_vkQueueSubmit2:
    case TYPE_vkQueueSubmit2KHR:
        return submit_repeats(r, record);
    case TYPE_vkBeginCommandBuffer:
    case TYPE_vkResetCommandBuffer:
        return begin_repeats(r, record);
    case TYPE_vkCmdExecuteCommands: /* the same question about those, which nobody has asked */
    case TYPE_vkQueueBindSparse:
        return false;
    case TYPE_vkEndCommandBuffer:
    case TYPE_vkQueuePresentKHR:
    case TYPE_vkAcquireNextImageKHR:
    case TYPE_vkAcquireNextImage2KHR:
    case TYPE_vkResetFences:
    case TYPE_vkSetEvent:
    case TYPE_vkResetEvent:
    case TYPE_vkResetQueryPool:
    case TYPE_vkResetQueryPoolEXT:
    case TYPE_vkSignalSemaphore:
    case TYPE_vkSignalSemaphoreKHR:
    case TYPE_vkMapMemory:
    case TYPE_vkUnmapMemory:
    case TYPE_vkFlushMappedMemoryRanges:
    case TYPE_vkInvalidateMappedMemoryRanges:
        return true;
    default:
        return command && (command->kind == SBT_KIND_QUERY || command->kind == SBT_KIND_SYNC ||
                           strncmp(name, "vkCmd", 5) == 0 || strncmp(name, "vkQueue", 7) == 0);
    }
}
