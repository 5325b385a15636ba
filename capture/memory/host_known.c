/* SPDX-License-Identifier: Apache-2.0
 *
 * Marks host memory shared with the program that the device has written: as recorded, as unknown,
 * or as held back.
 */
#include "capture/memory/host_memory.h"
#include "capture/call/readbacks.h"
#include "capture/memory/gaps.h"
#include "capture/memory/host_changes.h"

#include <string.h>

#define PAGE    TSM_PAGE_SIZE
#define UNKNOWN 0x6b6e6f776e6f7468u /* in place of a hash: equal to none */

#define KNOWN_STEP (16u * PAGE)

/* Puts [from, to) among the gaps. False: somebody else writes a part of it. */
static bool add_own_gap(struct tsm_hostmem *h, uint64_t from, uint64_t to)
{
    bool has_own = false;

    for (uint32_t i = 0; i < h->gap_count; i++) {
        const struct tsm_gap *gap = &h->gaps[i];
        if (gap->end <= from || gap->start >= to)
            continue;
        if (has_own || gap->start != from || gap->end != to)
            return false;
        has_own = true;
    }
    if (!has_own && h->gap_count == TSM_GAP_COUNT_MAX)
        return false;
    if (!has_own)
        h->gaps[h->gap_count++] = (struct tsm_gap){from, to};
    tsm_gaps_sort(h->gaps, h->gap_count);
    return true;
}

/* Whole pages [base, base + size): what the program has changed around [from, to) is written down,
 * and the bytes there count as recorded. All is read once, so that what changes later is a change.
 */
static void take_known(struct tsm_lane *lane, struct tsm_hostmem *h, struct tsm_hostmem_range *r,
                       uint64_t base, size_t size, uint64_t from, uint64_t to)
{
    uint64_t hashes[KNOWN_STEP / PAGE];

    from = from < base ? base : from;
    to = to > base + size ? base + size : to;
    if (from >= to || tsm_memory_try(h->block, base, size))
        return;
    h->bytes = h->block;
    h->gap_count =
        tsm_readback_gaps(lane->session, base, base + size, h->writers, h->writer_count, h->gaps);
    r->is_mixed |= h->gap_count > 0;
    h->is_held |= h->gap_count > 0;
    if (!add_own_gap(h, from, to))
        return;
    r->had_gaps = true;
    tsm_hostmem_blank_outside(h, r, base, size);
    for (uint32_t i = 0; i < h->gap_count; i++)
        if (h->gaps[i].start != from)
            tsm_hostmem_blank_gap(h, base, &h->gaps[i]);
    for (size_t i = 0; i < size / PAGE; i++)
        hashes[i] = tsm_page_hash(h->bytes + i * PAGE);
    tsm_hostmem_blank_gap(h, base, &(struct tsm_gap){from, to});
    tsm_hostmem_write_changes(lane, h, r, base, size);
    memcpy(&r->hashes[(base - r->first_page) / PAGE], hashes, size / PAGE * sizeof(hashes[0]));
}

static void know_range(struct tsm_lane *lane, struct tsm_hostmem *h, struct tsm_hostmem_range *r,
                       uint64_t from, uint64_t to)
{
    const uint64_t first = from < r->first_page ? r->first_page : from & ~(uint64_t)(PAGE - 1);
    const uint64_t last = to > tsm_hostmem_end_of(r) ? tsm_hostmem_end_of(r) : to;

    from = from < r->start ? r->start : from;
    to = to > r->end ? r->end : to;
    h->is_held = r->is_held || r->is_mixed;
    h->device = r->device;
    for (uint64_t at = first, size; at < last; at += size) {
        const uint64_t left = (last - at + PAGE - 1) & ~(uint64_t)(PAGE - 1);
        size = left < KNOWN_STEP ? left : KNOWN_STEP;
        take_known(lane, h, r, at, size, from, to);
    }
    h->is_held = false;
    h->device = (struct tsm_gap){0};
}

void tsm_hostmem_known(struct tsm_lane *lane, uint64_t from, uint64_t to)
{
    const struct tsm_running thread = {SBT_STREAM_NONE, 0};
    struct tsm_hostmem *h = lane->session->hostmem;

    if (!tsm_hostmem_any() || tsm_session_waiting())
        return;
    tsm_lock_take(&h->lock);
    tsm_hostmem_add_writer(h, thread);
    for (uint32_t i = 0; i < h->range_count; i++) {
        struct tsm_hostmem_range *r = &h->ranges[i];
        if (r->start < to && from < r->end && !r->is_leaving && !r->fresh)
            know_range(lane, h, r, from, to);
    }
    tsm_hostmem_remove_writer(h, thread);
    tsm_lock_give(&h->lock);
}

void tsm_hostmem_mixed(struct tsm_session *s, uint64_t start, uint64_t end)
{
    struct tsm_hostmem *h = s->hostmem;

    if (__atomic_load_n(&h->range_count, __ATOMIC_ACQUIRE) == 0)
        return;
    tsm_lock_take(&h->lock);
    for (uint32_t i = 0; i < h->range_count; i++)
        if (start < h->ranges[i].end && end > h->ranges[i].start)
            h->ranges[i].is_mixed = true;
    tsm_lock_give(&h->lock);
}

void tsm_hostmem_unknown(struct tsm_session *s, uint64_t start, uint64_t end)
{
    struct tsm_hostmem *h = s->hostmem;

    if (__atomic_load_n(&h->range_count, __ATOMIC_ACQUIRE) == 0)
        return;
    tsm_lock_take(&h->lock);
    for (uint32_t i = 0; i < h->range_count; i++) {
        struct tsm_hostmem_range *r = &h->ranges[i];
        uint64_t from = start < r->start ? r->start : start, to = end > r->end ? r->end : end;
        r->is_mixed |= from < to;
        tsm_hostmem_add_device(r, from, to);
        for (uint64_t at = from & ~(uint64_t)(PAGE - 1); at < to; at += PAGE)
            r->hashes[(at - r->first_page) / PAGE] = UNKNOWN;
    }
    tsm_lock_give(&h->lock);
}

bool tsm_hostmem_holds(struct tsm_session *s, uint64_t start, uint64_t size)
{
    struct tsm_hostmem *h = s->hostmem;
    bool found = false;

    if (__atomic_load_n(&h->range_count, __ATOMIC_ACQUIRE) == 0)
        return false;
    tsm_lock_take(&h->lock);
    for (uint32_t i = 0; i < h->range_count && !found; i++)
        found = start >= h->ranges[i].start && start + size <= h->ranges[i].end;
    tsm_lock_give(&h->lock);
    return found;
}

void tsm_hostmem_held(struct tsm_session *s, uint64_t start, uint64_t end, uint64_t from,
                      bool is_contested)
{
    struct tsm_hostmem *h = s->hostmem;

    tsm_lock_take(&h->lock);
    for (uint32_t i = 0; i < h->range_count; i++) {
        struct tsm_hostmem_range *r = &h->ranges[i];
        if (r->start >= end || start >= r->end)
            continue;
        r->is_held = true;
        r->is_contested |= is_contested;
        if (from)
            tsm_hostmem_add_device(r, from, end);
        __atomic_store_n(&h->has_held, true, __ATOMIC_RELEASE);
    }
    tsm_lock_give(&h->lock);
}
