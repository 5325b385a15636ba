/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vulkan/source/memory/report.h"

#include "base/hash.h"
#include "base/touched.h"
#include "capture/capture.h"

#include <string.h>

#define END_MAX ((uint64_t)32 << 20) /* bytes that are hashed at each end of a memory */

/* ---- times ---------------------------------------------------------------------------------- */

void vk_times_add(struct vk_times *t, uint64_t from, uint64_t size)
{
    struct vk_times_part *last = &t->list[VK_TIMES_MAX - 1];
    uint64_t to = from + size;

    for (uint32_t i = 0; i < t->count; i++)
        if (t->list[i].from <= from && to <= t->list[i].to)
            return;
    if (t->count < VK_TIMES_MAX) {
        t->list[t->count++] = (struct vk_times_part){from, to};
        return;
    }
    last->from = from < last->from ? from : last->from;
    last->to = to > last->to ? to : last->to;
}

void vk_times_copy(const struct vk_times *from, uint64_t from_offset, struct vk_times *to,
                   uint64_t to_offset, uint64_t size)
{
    const struct vk_times source = *from; /* may be the same */

    for (uint32_t i = 0; i < source.count; i++) {
        uint64_t start = source.list[i].from, end = source.list[i].to;
        start = start < from_offset ? from_offset : start;
        end = end > from_offset + size ? from_offset + size : end;
        if (start < end)
            vk_times_add(to, to_offset + (start - from_offset), end - start);
    }
}

/* Returns where a part with timestamps next begins or ends after `at`, up to `end`. */
static uint64_t next_edge(const struct vk_times *t, uint64_t at, uint64_t end)
{
    for (uint32_t i = 0; i < t->count; i++) {
        const struct vk_times_part *p = &t->list[i];
        if (p->from > at && p->from < end)
            end = p->from;
        if (p->to > at && p->to < end)
            end = p->to;
    }
    return end;
}

/* ---- records -------------------------------------------------------------------------------- */

/* docs/FORMAT.md 10: bit 63, the memory's id from bit 40 on, the offset. */
static void report_bytes(const struct vk_report *r, uint64_t from, const void *bytes, uint64_t size)
{
    struct sbt_key key = tsm_hash_key(bytes, size);
    struct tsm_call call;

    if (!tsm_call_begin(&call, SBT_TYPE(SBT_API_CORE, SBT_CORE_CHECKSUM)))
        return;
    tsm_call_returned(&call, 0, false);
    tsm_call_slot(&call, r->stream);
    tsm_call_slot(&call, r->position);
    tsm_call_slot(&call, (uint64_t)1 << 63 | r->memory << 40 | from);
    tsm_call_slot(&call, size);
    tsm_call_bytes(&call, &key, sizeof(key));
    tsm_call_commit(&call);
}

void vk_report_change(void *user, uint64_t offset, const void *bytes, uint64_t size)
{
    const struct vk_report *r = user;
    uint64_t at = offset < r->from ? r->from : offset;
    uint64_t to = offset + size > r->to ? r->to : offset + size;

    if (tsm_session_waiting())
        return;
    for (uint64_t next; at < to; at = next) {
        next = next_edge(r->times, at, to);
        report_bytes(r, at, (const uint8_t *)bytes + (at - offset), next - at);
    }
}

/* ---- all of it ------------------------------------------------------------------------------ */

struct whole {
    struct vk_report report;
    const uint8_t *real;
    bool zeros;
};

static bool is_zero(const uint8_t *bytes, uint64_t size)
{
    return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, (size_t)size - 1) == 0);
}

static void report_part(void *user, uint64_t offset, uint64_t size)
{
    struct whole *w = user;
    uint64_t from = offset < w->report.from ? w->report.from : offset;
    uint64_t to = offset + size > w->report.to ? w->report.to : offset + size;

    if (from < to && (w->zeros || !is_zero(w->real + from, to - from)))
        vk_report_change(&w->report, from, w->real + from, to - from);
}

void vk_report_whole(const struct vk_report *report, const void *real, uint64_t size, bool zeros)
{
    struct whole w = {.report = *report, .real = real, .zeros = zeros};

    w.report.from = 0;
    w.report.to = size > 2 * END_MAX ? END_MAX : size;
    tsm_touched(real, size, report_part, &w);
    if (w.report.to == size)
        return;
    w.report.from = size - END_MAX;
    w.report.to = size;
    tsm_touched(real, size, report_part, &w);
}
