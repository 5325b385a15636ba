/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that are remembered until they are complete: what becomes of one without its bytes being
 * read.
 */
#include "capture/call/readback.h"

#include "capture/call/streams.h"
#include "capture/call/payload.h"
#include "capture/call/readbacks.h"
#include "capture/memory/gaps.h"

void tsm_readback_landed(const struct tsm_stream *stream, uint64_t position)
{
    struct tsm_session *s = tsm_session_current();
    struct tsm_readbacks *r = s ? s->readbacks : NULL;

    if (!r || __atomic_load_n(&r->count, __ATOMIC_ACQUIRE) == 0)
        return;
    tsm_lock_take(&r->lock);
    for (uint32_t i = 0; i < r->count; i++)
        if (r->all[i].stream == stream && r->all[i].position == position)
            r->all[i].has_landed = true;
    tsm_lock_give(&r->lock);
}

void tsm_readback_lost(const struct tsm_stream *stream, uint64_t position)
{
    struct tsm_session *s = tsm_session_current();
    struct tsm_readbacks *r = s ? s->readbacks : NULL;
    uint32_t kept = 0, count;

    if (!r || __atomic_load_n(&r->count, __ATOMIC_ACQUIRE) == 0)
        return;
    tsm_lock_take(&r->lock);
    count = r->count;
    for (uint32_t i = 0; i < count; i++)
        if (r->all[i].stream != stream || r->all[i].position != position)
            r->all[kept++] = r->all[i];
    tsm_readbacks_set_count(r, kept);
    tsm_lock_give(&r->lock);
    if (kept < count)
        tsm_session_unmodelled(TSM_NOT_SEEN, true);
}

void tsm_readback_overwritten(const struct tsm_call *call, uint64_t from, uint64_t to)
{
    const struct tsm_box box = {
        (const void *)(uintptr_t)from, to - from, 1, 1, to - from, to - from};
    struct tsm_session *s = tsm_session_current();
    struct tsm_readbacks *r = s ? s->readbacks : NULL;

    if (!r || !call->stream || __atomic_load_n(&r->count, __ATOMIC_ACQUIRE) == 0)
        return;
    tsm_lock_take(&r->lock);
    for (uint32_t i = 0; i < r->count; i++) {
        struct tsm_pending *p = &r->all[i];
        if (p->owes != TSM_OWES_BYTES || p->stream == call->stream ||
            !tsm_boxes_overlap(&p->box, &box))
            continue;
        p->over = call->stream;
        p->over_position = call->position;
        p->is_before_over =
            tsm_stream_is_behind(p->over, p->over_position, p->stream->number, p->position);
    }
    tsm_lock_give(&r->lock);
}

uint32_t tsm_readbacks_pending(void)
{
    const struct tsm_session *s = tsm_session_current();

    return s ? __atomic_load_n(&s->readbacks->count, __ATOMIC_ACQUIRE) : 0;
}

void tsm_readbacks_end(struct tsm_session *s)
{
    struct tsm_readbacks *r = s->readbacks;
    bool any = false;

    if (__atomic_load_n(&r->count, __ATOMIC_ACQUIRE) == 0)
        return;
    tsm_lock_take(&r->lock);
    for (uint32_t i = 0; i < r->count; i++)
        any |= r->all[i].owes == TSM_OWES_BYTES && !r->all[i].is_announced;
    tsm_readbacks_set_count(r, 0);
    tsm_lock_give(&r->lock);
    if (any && s->settings.readback != TSM_READBACK_OFF)
        tsm_session_unmodelled(TSM_NOT_SEEN, true);
}

bool tsm_readbacks_await(struct tsm_session *s, const struct tsm_stream *stream)
{
    struct tsm_readbacks *r = s->readbacks;
    bool found = false;

    if (__atomic_load_n(&r->count, __ATOMIC_ACQUIRE) == 0)
        return false;
    tsm_lock_take(&r->lock);
    for (uint32_t i = 0; i < r->count && !found; i++)
        found = r->all[i].stream == stream;
    tsm_lock_give(&r->lock);
    return found;
}

/* Tests whether the command has not begun, or has ended: a function of its stream runs, or one that
 * it waits for. */
static bool waits_for_function(const struct tsm_pending *p, const struct tsm_running *running,
                               uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (running[i].stream != SBT_STREAM_NONE &&
            (p->stream->number == running[i].stream ||
             tsm_stream_is_behind(p->stream, p->position, running[i].stream, running[i].position)))
            return true;
    return false;
}

uint32_t tsm_readback_gaps(struct tsm_session *s, uint64_t from, uint64_t to,
                           const struct tsm_running *running, uint32_t running_count,
                           struct tsm_gap gaps[TSM_GAP_COUNT_MAX])
{
    struct tsm_readbacks *r = s->readbacks;
    tsm_device_gaps *device = __atomic_load_n(&r->device, __ATOMIC_ACQUIRE);
    uint32_t count = device ? device(from, to, gaps, TSM_GAP_COUNT_MAX) : 0;

    if (__atomic_load_n(&r->count, __ATOMIC_ACQUIRE) == 0) {
        tsm_gaps_sort(gaps, count);
        return count;
    }
    tsm_lock_take(&r->lock);
    for (uint32_t i = 0; i < r->count; i++) {
        uint64_t start = (uint64_t)(uintptr_t)r->all[i].box.data;
        uint64_t end = start + tsm_box_extent(&r->all[i].box);

        start = start < r->all[i].from ? r->all[i].from : start;
        if (r->all[i].owes == TSM_MIGHT_WRITE || start >= to || end <= from ||
            waits_for_function(&r->all[i], running, running_count))
            continue;
        start = start < from ? from : start;
        end = end > to ? to : end;
        if (count < TSM_GAP_COUNT_MAX)
            gaps[count++] = (struct tsm_gap){start, end};
        else
            gaps[0] = (struct tsm_gap){from, to}; /* too many to tell apart: all of it */
    }
    tsm_lock_give(&r->lock);
    tsm_gaps_sort(gaps, count);
    return count;
}

void tsm_readbacks_gate(const struct tsm_call *call, const struct tsm_value *value)
{
    struct tsm_readbacks *r = call->lane->session->readbacks;

    tsm_lock_take(&r->lock);
    tsm_gates_add(&r->gates, call, value);
    tsm_lock_give(&r->lock);
}
