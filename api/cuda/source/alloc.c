/* SPDX-License-Identifier: Apache-2.0
 *
 * The live allocations of device memory, for TS_CHECKSUM and checkpoints: a list without gaps,
 * found by address through a hash table with open addressing. An address is given out again as soon
 * as the driver has taken it back, which another thread may see before the call that released it
 * returns: so a call releases only what is older than itself.
 */
#include "api/cuda/source/source.h"

#include "api/cuda/cuda_hooks.h"
#include "api/cuda/source/encode.h"
#include "base/clock.h"
#include "capture/lock.h"

#define ALLOCATION_MAX 65536u
#define PLACE_COUNT    (2 * ALLOCATION_MAX)

struct allocation {
    CUdeviceptr start;
    uint64_t size;
    const struct cuda_context *context; /* that it was made in */
    uint64_t made;                      /* time stamp */
};

struct table {
    struct tsm_lock lock;
    uint32_t count;
    bool too_many;
    uint64_t bytes;               /* of all */
    uint32_t places[PLACE_COUNT]; /* 1 + index of an allocation, 0: free */
    struct allocation list[ALLOCATION_MAX];
};

static struct table *table;

static struct table *current(void)
{
    return __atomic_load_n(&table, __ATOMIC_ACQUIRE);
}

/* NULL: not wanted, or no memory. */
static struct table *make(void)
{
    struct table *there = current(), *made;

    if (there || (tsm_session_settings()->checksum == TSM_CHECKSUM_OFF &&
                  !tsm_checkpoint_possible() && !cuda_spot_checks_wanted()))
        return there;
    made = cuda_keep(sizeof(*made));
    if (!made)
        return NULL;
    return __atomic_compare_exchange_n(&table, &there, made, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE)
               ? made
               : there;
}

/* ---- by address, under the lock ------------------------------------------------------------- */

static uint32_t home(CUdeviceptr start)
{
    return (uint32_t)((start * 0x9e3779b97f4a7c15u) >> 32) % PLACE_COUNT;
}

/* Returns the place of `start`, or the free place where it would go. */
static uint32_t place_of(const struct table *t, CUdeviceptr start)
{
    uint32_t at = home(start);

    while (t->places[at] && t->list[t->places[at] - 1].start != start)
        at = (at + 1) % PLACE_COUNT;
    return at;
}

/* Frees a place. Later entries move up, so that no search ends too early. */
static void free_place(struct table *t, uint32_t at)
{
    uint32_t next = at;

    t->places[at] = 0;
    for (;;) {
        next = (next + 1) % PLACE_COUNT;
        if (!t->places[next])
            return;
        uint32_t wish = home(t->list[t->places[next] - 1].start);
        bool stays = at < next ? wish > at && wish <= next : wish > at || wish <= next;
        if (stays)
            continue;
        t->places[at] = t->places[next];
        t->places[next] = 0;
        at = next;
    }
}

static void drop(struct table *t, uint32_t index)
{
    uint32_t last = t->count - 1;

    t->bytes -= t->list[index].size;
    free_place(t, place_of(t, t->list[index].start));
    if (index != last) {
        t->places[place_of(t, t->list[last].start)] = index + 1;
        t->list[index] = t->list[last];
    }
    __atomic_store_n(&t->count, last, __ATOMIC_RELEASE);
}

static void put(struct table *t, const struct allocation *a)
{
    uint32_t at = place_of(t, a->start);

    if (t->places[at]) {
        t->bytes += a->size - t->list[t->places[at] - 1].size;
        t->list[t->places[at] - 1] = *a; /* the one before is gone */
        return;
    }
    if (t->count == ALLOCATION_MAX) {
        t->too_many = true;
        return;
    }
    t->bytes += a->size;
    t->list[t->count] = *a;
    t->places[at] = t->count + 1;
    __atomic_store_n(&t->count, t->count + 1, __ATOMIC_RELEASE);
}

/* ---- calls ---------------------------------------------------------------------------------- */

void cuda_after_alloc(struct tsm_call *call, bool ok, CUdeviceptr start, uint64_t size)
{
    struct table *t = ok && start && size ? make() : NULL;
    struct allocation a;

    if (!t)
        return;
    a = (struct allocation){start, size, cuda_context_current(), tsm_ticks()};
    tsm_lock_take(&t->lock);
    put(t, &a);
    tsm_lock_give(&t->lock);
}

void cuda_after_free(struct tsm_call *call, bool ok, CUdeviceptr start)
{
    struct table *t = ok ? current() : NULL;
    uint32_t at;

    if (!t)
        return;
    tsm_lock_take(&t->lock);
    at = t->places[place_of(t, start)];
    if (at && t->list[at - 1].made <= tsm_call_began(call))
        drop(t, at - 1);
    tsm_lock_give(&t->lock);
}

void cuda_after_free_all(struct tsm_call *call, bool ok, CUdeviceptr start, uint64_t size)
{
    struct table *t = ok ? current() : NULL;

    if (!t)
        return;
    tsm_lock_take(&t->lock);
    for (uint32_t i = t->count; i-- > 0;)
        if (t->list[i].start - start < size && t->list[i].made <= tsm_call_began(call))
            drop(t, i);
    tsm_lock_give(&t->lock);
}

void cuda_allocations_destroyed(const struct cuda_context *context)
{
    struct table *t = current();

    if (!t)
        return;
    tsm_lock_take(&t->lock);
    for (uint32_t i = t->count; i-- > 0;)
        if (t->list[i].context == context)
            drop(t, i);
    tsm_lock_give(&t->lock);
}

/* ---- all of them ---------------------------------------------------------------------------- */

uint32_t cuda_allocation_count(void)
{
    const struct table *t = current();

    return t ? __atomic_load_n(&t->count, __ATOMIC_ACQUIRE) : 0;
}

uint64_t cuda_allocation_bytes(void)
{
    struct table *t = current();
    uint64_t bytes;

    if (!t)
        return 0;
    tsm_lock_take(&t->lock);
    bytes = t->bytes;
    tsm_lock_give(&t->lock);
    return bytes;
}

static bool look(uint32_t index, struct allocation *out)
{
    struct table *t = current();
    bool there;

    if (!t)
        return false;
    tsm_lock_take(&t->lock);
    there = index < t->count;
    if (there)
        *out = t->list[index];
    tsm_lock_give(&t->lock);
    return there;
}

bool cuda_allocation_at(uint32_t index, CUdeviceptr *start, uint64_t *size)
{
    struct allocation a;

    if (!look(index, &a))
        return false;
    *start = a.start;
    *size = a.size;
    return true;
}

bool cuda_allocations_each(bool (*visit)(CUdeviceptr start, uint64_t size,
                                         const struct cuda_context *context))
{
    struct allocation a;

    for (uint32_t i = 0; look(i, &a); i++)
        if (!visit(a.start, a.size, a.context))
            return false;
    return !current() || !current()->too_many;
}

void cuda_allocations_forked(void)
{
    __atomic_store_n(&table, NULL, __ATOMIC_RELEASE);
}
