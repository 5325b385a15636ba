/* SPDX-License-Identifier: Apache-2.0
 *
 * The program's own memory that agents may use: locked, registered, or shared. It can be locked
 * again, in part or with more around it, and is locked until it was unlocked as often. Locks that
 * overlap count as one allocation.
 */
#include "api/hsa/source/source.h"

#include "api/hsa/hsa_hooks.h"
#include "api/hsa/source/encode.h"
#include "capture/lock.h"

#include <string.h>

#define LOCK_MAX 65536u

struct range {
    uint64_t start, end;
    bool is_inside; /* of memory that is known without the lock */
    bool is_svm;    /* shared by its attributes: no unlock ends that */
};

static struct {
    struct tsm_lock lock;
    struct range *all; /* oldest first; LOCK_MAX places */
    uint32_t count;
} locks;

void hsa_locks_forked(void)
{
    memset(&locks, 0, sizeof(locks));
}

/* ---- the lock is held --------------------------------------------------------------------------
 */

static bool push(const struct range *range)
{
    if (!locks.all)
        locks.all = hsa_keep(LOCK_MAX * sizeof(*locks.all));
    if (!locks.all || locks.count == LOCK_MAX)
        return false;
    locks.all[locks.count++] = *range;
    return true;
}

/* The newest lock that begins there, and can be given back. */
static bool pop(uint64_t start, struct range *out)
{
    for (uint32_t i = locks.count; i-- > 0;) {
        if (locks.all[i].start != start || locks.all[i].is_svm)
            continue;
        *out = locks.all[i];
        memmove(&locks.all[i], &locks.all[i + 1], (locks.count - i - 1) * sizeof(*locks.all));
        locks.count--;
        return true;
    }
    return false;
}

static bool is_svm_already(uint64_t start, uint64_t end)
{
    for (uint32_t i = 0; i < locks.count; i++)
        if (locks.all[i].is_svm && locks.all[i].start <= start && locks.all[i].end >= end)
            return true;
    return false;
}

/* All that `range` is connected with by locks that overlap. */
static void grow(struct range *range)
{
    for (uint32_t i = 0; i < locks.count; i++) {
        const struct range *other = &locks.all[i];
        if (other->is_inside || other->start >= range->end || other->end <= range->start ||
            (other->start >= range->start && other->end <= range->end))
            continue;
        range->start = other->start < range->start ? other->start : range->start;
        range->end = other->end > range->end ? other->end : range->end;
        i = UINT32_MAX; /* from the first one again */
    }
}

/* The first one in `within` from `from` on, with all that it is connected with. */
static bool next_part(const struct range *within, uint64_t from, struct range *out)
{
    bool found = false;

    for (uint32_t i = 0; i < locks.count; i++) {
        const struct range *lock = &locks.all[i];
        if (lock->is_inside || lock->start < from || lock->end > within->end ||
            (found && lock->start >= out->start))
            continue;
        *out = *lock;
        found = true;
    }
    if (found)
        grow(out);
    return found;
}

/* ---- */

/* Changes so far are recorded, and what is there then: zeros of memory that is tracked again count
 * as none. The record of the call is written. */
static void lock_range(uint64_t start, uint64_t size, bool is_svm)
{
    struct range range = {start, start + size, hsa_memory_in_one(start, size), is_svm};
    struct range whole = range;
    bool ok, is_new;

    tsm_lock_take(&locks.lock);
    if (is_svm && is_svm_already(start, start + size)) {
        tsm_lock_give(&locks.lock);
        return;
    }
    is_new = !range.is_inside;
    if (is_new)
        grow(&whole);
    /* Inside of other locks it is one of them. */
    for (uint32_t i = 0; i < locks.count && range.is_inside; i++)
        range.is_inside = locks.all[i].is_inside || locks.all[i].start >= range.end ||
                          locks.all[i].end <= range.start;
    ok = push(&range);
    if (is_new) {
        tsm_hostmem_publish();
        for (uint32_t i = 0; i < locks.count; i++)
            if (!locks.all[i].is_inside && locks.all[i].start >= whole.start &&
                locks.all[i].end <= whole.end)
                hsa_memory_destroyed(locks.all[i].start);
        hsa_memory_add_hosts(whole.start, whole.end - whole.start);
        tsm_hostmem_publish();
    }
    tsm_lock_give(&locks.lock);
    if (!ok)
        tsm_session_unmodelled("more than 65536 locks of memory", true);
}

void hsa_then_lock(void *host_ptr, size_t size)
{
    lock_range(HSA_SLOT(host_ptr), size, false);
}

/* Nothing tells when such memory goes: what comes to the same address is watched, too. */
void hsa_then_svm(void *ptr, size_t size)
{
    lock_range(HSA_SLOT(ptr), size, true);
}

void hsa_then_unlock(void *host_ptr)
{
    struct range gone, whole, part = {0};
    bool found, is_whole;

    hsa_look_around();
    tsm_lock_take(&locks.lock);
    found = pop(HSA_SLOT(host_ptr), &gone) && !gone.is_inside;
    if (found) {
        whole = gone;
        grow(&whole);
        is_whole = next_part(&whole, whole.start, &part) && part.start == whole.start &&
                   part.end == whole.end;
        if (!is_whole) {
            tsm_hostmem_publish();
            hsa_memory_given_up(whole.start);
        }
        for (uint64_t from = whole.start; !is_whole && next_part(&whole, from, &part);
             from = part.end)
            hsa_memory_add_hosts(part.start, part.end - part.start);
        if (!is_whole)
            tsm_hostmem_publish();
    }
    tsm_lock_give(&locks.lock);
}
