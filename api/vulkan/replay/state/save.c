/* SPDX-License-Identifier: Apache-2.0
 *
 * Saves what a checkpoint at this moment would hold: the memory that lives, and what is followed.
 */
#include "api/vulkan/replay/state/save.h"

#include "api/vulkan/replay/memory/memory.h"
#include "api/vulkan/replay/object.h"
#include "api/vulkan/replay/replay.h"
#include "api/vulkan/replay/semaphore.h"
#include "api/vulkan/replay/state/liveness.h"
#include "api/vulkan/replay/state/restore.h"
#include "api/vulkan/replay/state/tracker.h"
#include "api/vulkan/replay/stream.h"

struct save {
    const struct tsm_saver *saver;
    const struct vkr_object *object; /* an image */
    int error;
};

/* ---- memory ------------------------------------------------------------------------------ */

struct place {
    struct vkr *r;
    uint64_t address;
};

static int read_place(const struct tsm_saved *saved, uint64_t offset, void *out, uint64_t size)
{
    const struct place *place = saved->user;

    return vkr_read(place->r, place->address + offset, out, size);
}

static int save_bytes(struct vkr *r, const struct tsm_saver *saver, const struct vkr_memory *m,
                      uint64_t offset, uint64_t size)
{
    const struct place place = {r, m->place};
    struct tsm_saved saved = {
        .kind = SBT_MEMORY_DEVICE,
        .owner = vk_name(
            vk_objects[m->place & VKR_PLACE_WINDOW ? VK_OBJECT_VkImage : VK_OBJECT_VkDeviceMemory]),
        .owner_id = m->place >> VKR_PLACE_ID_SHIFT & VKR_PLACE_ID_MAX,
        .address = m->place,
        .offset = offset,
        .size = size,
        .read = read_place,
        .user = &place};

    if (!m->mapped && !m->alias)
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "VkDeviceMemory #%llu can neither be mapped nor copied, so that it cannot "
                        "be saved",
                        (unsigned long long)saved.owner_id);
    return size ? saver->memory(saver->user, &saved) : 0;
}

/* Saves memory except the images that nobody reads. `stale` NULL: all of it. */
static int save_memory(struct vkr *r, const struct tsm_saver *saver, const struct vkr_memory *m,
                       const struct vkr_liveness *stale)
{
    uint64_t from = 0, offset = 0, size;
    int error = 0;

    while (stale && !error && vkr_liveness_next(stale, m, &offset, &size)) {
        error = save_bytes(r, saver, m, from, offset - from);
        from = offset += size;
    }
    return error ? error : save_bytes(r, saver, m, from, m->size - from);
}

/* ---- what is followed -------------------------------------------------------------------- */

static int put(const struct tsm_saver *saver, const struct vkr_object *o, enum sbt_state kind,
               uint64_t value)
{
    const uint64_t slots[8] = {kind, o->id, value};

    return saver->state(saver->user, vk_name(vk_objects[o->type]), slots);
}

static void save_layout(void *user, const struct vkr_part *part, VkImageLayout layout)
{
    struct save *s = user;
    const uint64_t slots[8] = {SBT_STATE_LAYOUT, s->object->id,    (uint64_t)layout,
                               part->aspects,    part->level,      part->level_count,
                               part->layer,      part->layer_count};

    if (!s->error)
        s->error = s->saver->state(s->saver->user, vk_name(vk_objects[s->object->type]), slots);
}

static int save_queries(const struct tsm_saver *saver, const struct vkr_object *o)
{
    const struct vkr_fact_queries *fact = o->fact;
    int error = 0;

    for (uint32_t i = 0, count; i < fact->count && !error; i += count) {
        for (count = 1; i + count < fact->count && fact->states[i + count] == fact->states[i];)
            count++;
        const uint64_t slots[8] = {
            SBT_STATE_QUERY, o->id, fact->states[i] == VKR_QUERY_AVAILABLE, 0, i, count};
        if (fact->states[i] != VKR_QUERY_UNKNOWN)
            error = saver->state(saver->user, vk_name(vk_objects[o->type]), slots);
    }
    return error;
}

static int save_semaphore(const struct tsm_saver *saver, const struct vkr_object *o)
{
    const struct vkr_semaphore *s = o->user;

    if (s->is_timeline)
        return put(saver, o, SBT_STATE_TIMELINE, s->value);
    return s->is_signalled ? put(saver, o, SBT_STATE_SEMAPHORE, 1) : 0;
}

static int save_object(const struct tsm_saver *saver, const struct vkr_object *o)
{
    struct save save = {saver, o, 0};

    if (o->type == VK_OBJECT_VkSemaphore && o->user)
        return save_semaphore(saver, o);
    if (!o->fact)
        return 0;
    switch (o->type) {
    case VK_OBJECT_VkFence:
        return put(saver, o, SBT_STATE_FENCE, ((const struct vkr_fact_flag *)o->fact)->is_set);
    case VK_OBJECT_VkEvent:
        return put(saver, o, SBT_STATE_EVENT, ((const struct vkr_fact_flag *)o->fact)->is_set);
    case VK_OBJECT_VkQueryPool:
        return save_queries(saver, o);
    case VK_OBJECT_VkImage:
        vkr_each_layout(o->fact, save_layout, &save);
        return save.error;
    default:
        return 0;
    }
}

int vkr_save(struct vkr *r, const struct tsm_saver *saver)
{
    struct vkr_liveness *stale = NULL;
    int error = 0;

    if (vkr_is_gated(r))
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "work is under way there that waits for a signal of the host; a submit "
                        "earlier or later it may not");
    if (saver->part_first)
        error = vkr_liveness_find(&stale, r, saver->part_first, saver->part_end);
    for (const struct vkr_object *o = r->objects.first; o && !error; o = o->next)
        error = save_object(saver, o);
    for (size_t i = 0; i < r->memories.count && !error; i++)
        error = save_memory(r, saver, r->memories.list[i], stale);
    vkr_liveness_destroy(stale);
    return error;
}
