/* SPDX-License-Identifier: Apache-2.0
 *
 * Follows bytes that hold the device's times: results of timestamp queries that commands copied
 * into memory, and copies of those, until they are overwritten. Times differ in each run, so a
 * difference there says nothing. Bytes that another driver lays out in its own way are followed,
 * too.
 */
#include "api/vulkan/replay/state/timestamp_bytes.h"

#include <string.h>

#include "api/vulkan/replay/memory/memory.h"
#include "api/vulkan/replay/object.h"
#include "api/vulkan/replay/replay.h"
#include "api/vulkan/replay/state/tracker.h"

static void stamp(struct vkr *r, uint64_t start, uint64_t size)
{
    if (size)
        tsm_address_space_add(&r->stamps, start, start + size);
}

void vkr_timestamp_bytes_clear(struct vkr *r, uint64_t start, uint64_t size)
{
    if (size)
        tsm_address_space_remove(&r->stamps, start, start + size);
}

/* The place of a buffer's part, and how much of it there is; 0: it lies nowhere. */
static uint64_t place_of(const struct vkr *r, uint64_t buffer, uint64_t offset, uint64_t *size)
{
    const struct vkr_object *o = vkr_object_find(r, VK_OBJECT_VkBuffer, buffer);

    if (!o || !o->memory || offset >= o->memory_size)
        return 0;
    if (*size > o->memory_size - offset)
        *size = o->memory_size - offset;
    return o->memory + o->memory_offset + offset;
}

static void spread(struct vkr *r, const struct vkr_spread *s)
{
    uint64_t size = s->size, from = place_of(r, s->from, s->from_offset, &size);
    uint64_t to = place_of(r, s->to, s->to_offset, &size);
    struct tsm_address_space found = {0};

    for (size_t i = 0; from && to && i < r->stamps.count; i++) {
        uint64_t start = r->stamps.list[i].start < from ? from : r->stamps.list[i].start;
        uint64_t end = r->stamps.list[i].end > from + size ? from + size : r->stamps.list[i].end;
        if (start < end)
            tsm_address_space_add(&found, to + (start - from), to + (end - from));
    }
    for (size_t i = 0; i < found.count; i++)
        tsm_address_space_add(&r->stamps, found.list[i].start, found.list[i].end);
    tsm_address_space_finish(&found);
}

static void times(struct vkr *r, const struct vkr_spread *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        uint64_t size = s->size, place = place_of(r, s->to, s->to_offset + i * s->stride, &size);
        if (!place) /* after the buffer's end */
            return;
        stamp(r, place, size);
    }
}

void vkr_timestamp_bytes_apply(struct vkr *r, const struct vkr_spread *s)
{
    uint64_t size = s->size, place;

    if (s->kind == VKR_SPREAD_TIMES) {
        times(r, s);
        return;
    }
    place = place_of(r, s->to, s->to_offset, &size);
    if (place)
        vkr_timestamp_bytes_clear(r, place, size);
    if (s->kind == VKR_SPREAD_COPY)
        spread(r, s);
}

bool vkr_timestamp_bytes_results(struct vkr *r, const struct vk_args_vkCmdCopyQueryPoolResults *a,
                                 struct vkr_spread *out)
{
    const struct vkr_object *pool = vkr_object_of(r, VK_OBJECT_VkQueryPool, VKR_RAW(a->queryPool));
    const struct vkr_object *buffer = vkr_object_of(r, VK_OBJECT_VkBuffer, VKR_RAW(a->dstBuffer));
    const struct vkr_fact_queries *fact = pool ? pool->fact : NULL;
    uint64_t value = a->flags & VK_QUERY_RESULT_64_BIT ? 8 : 4;

    if (!fact || fact->type != VK_QUERY_TYPE_TIMESTAMP || !buffer || !a->queryCount)
        return false;
    if (a->flags & VK_QUERY_RESULT_WITH_AVAILABILITY_BIT)
        value *= 2;
    r->has_stamps = true;
    *out = (struct vkr_spread){.kind = VKR_SPREAD_TIMES,
                               .count = a->stride ? a->queryCount : 1,
                               .to = buffer->id,
                               .to_offset = a->dstOffset,
                               .size = value,
                               .stride = a->stride};
    return true;
}

/* Memory with images in it, on a device that lays them out as it likes. */
static bool is_foreign(const struct vkr *r, uint64_t address)
{
    const struct vkr_memory *m = vkr_memory_find(r, address);

    return m && m->has_image && m->device && !m->device->is_recorded;
}

bool vkr_ignore_timestamps(const struct vkr *r, uint64_t address, uint8_t *bytes, uint64_t size,
                           uint64_t *times)
{
    bool any = is_foreign(r, address);

    for (size_t i = 0; i < r->stamps.count; i++) {
        const struct tsm_address_range *s = &r->stamps.list[i];
        uint64_t start = s->start < address ? address : s->start;
        uint64_t end = s->end > address + size ? address + size : s->end;
        if (start >= end)
            continue;
        memset(bytes + (start - address), 0, end - start);
        *times += end - start;
        any = true;
    }
    return any;
}
