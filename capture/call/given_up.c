/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that the program gives up while results there are pending. They are taken before the call,
 * as far as they are complete; after it others' bytes may be in their place.
 */
#include "capture/call/readback.h"

#include "capture/call/readbacks.h"
#include "capture/parts.h"

static bool is_in(const struct tsm_pending *p, uint64_t from, uint64_t to)
{
    const uint64_t start = (uint64_t)(uintptr_t)p->box.data;

    return !p->is_announced && start < to && from < start + tsm_box_extent(&p->box);
}

/* Marks what is pending there, or tells that there is something. */
static bool mark_leaving(struct tsm_readbacks *r, uint64_t from, uint64_t to, bool marks)
{
    bool found = false;

    tsm_lock_take(&r->lock);
    for (uint32_t i = 0; i < r->count; i++) {
        if (!is_in(&r->all[i], from, to))
            continue;
        found = true;
        r->all[i].is_leaving |= marks;
    }
    tsm_lock_give(&r->lock);
    return found;
}

static void leave(uint64_t from, uint64_t to)
{
    struct tsm_session *s = tsm_session_current();
    struct tsm_lane *lane;

    if (!s || __atomic_load_n(&s->readbacks->count, __ATOMIC_ACQUIRE) == 0 ||
        !mark_leaving(s->readbacks, from, to, false))
        return;
    tsm_inside_enter();
    lane = tsm_thread_lane(s);
    if (lane)
        tsm_readbacks_ask(lane);
    tsm_inside_leave();
    mark_leaving(s->readbacks, from, to, true);
}

static void left(uint64_t from, uint64_t to, bool is_gone)
{
    struct tsm_session *s = tsm_session_current();
    struct tsm_readbacks *r = s ? s->readbacks : NULL;
    uint32_t kept = 0;
    bool lacks = false;

    if (!r || __atomic_load_n(&r->count, __ATOMIC_ACQUIRE) == 0)
        return;
    tsm_lock_take(&r->lock);
    for (uint32_t i = 0; i < r->count; i++) {
        struct tsm_pending *p = &r->all[i];
        if (is_gone && p->is_leaving && is_in(p, from, to)) {
            lacks |= p->owes == TSM_OWES_BYTES;
            continue;
        }
        if (is_in(p, from, to))
            p->is_leaving = false;
        r->all[kept++] = *p;
    }
    tsm_readbacks_set_count(r, kept);
    tsm_lock_give(&r->lock);
    if (lacks)
        tsm_session_unmodelled(TSM_NOT_SEEN, true);
}

void tsm_memory_leaves(uint64_t start)
{
    const uint64_t end = tsm_hostmem_leaves(start);

    if (end)
        leave(start, end);
}

void tsm_memory_left(uint64_t start, bool is_gone)
{
    const uint64_t end = tsm_hostmem_left(start, is_gone);

    if (end)
        left(start, end, is_gone);
}
