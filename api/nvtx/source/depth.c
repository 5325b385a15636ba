/* SPDX-License-Identifier: Apache-2.0
 *
 * Levels of ranges by thread and domain: what NVTX gives back. Records need none of it.
 *
 * Ranges of the domain without a name are counted in memory of the thread. For other domains a
 * thread has a slot while ranges are open there: it alone writes it, and others only take one that
 * is free. A thread that ends with ranges open leaves its slot behind.
 */
#include "api/nvtx/source/source.h"

#include <stdatomic.h>

#define SLOT_COUNT (1u << 16)
#define NEAR       16u /* slots where one can be */

static struct {
    _Atomic uint64_t key;
    atomic_int depth;
} slots[SLOT_COUNT];

static __thread struct {
    uint32_t number; /* of the thread in the process's life, from 1 */
    int depth;
} own __attribute__((tls_model("initial-exec")));
static atomic_uint thread_count;
static atomic_bool was_full;

static uint32_t thread_number(void)
{
    if (!own.number)
        own.number = atomic_fetch_add(&thread_count, 1) + 1;
    return own.number;
}

static uint32_t place_of(uint64_t key)
{
    return (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 48);
}

/* The thread's slot, or a free one if `take`; SLOT_COUNT: none. */
static uint32_t find(uint64_t key, bool take)
{
    const uint32_t first = place_of(key);

    for (uint32_t i = 0; i < NEAR; i++)
        if (atomic_load_explicit(&slots[(first + i) % SLOT_COUNT].key, memory_order_relaxed) == key)
            return (first + i) % SLOT_COUNT;
    for (uint32_t i = 0; take && i < NEAR; i++) {
        uint64_t free = 0;

        if (atomic_compare_exchange_strong(&slots[(first + i) % SLOT_COUNT].key, &free, key))
            return (first + i) % SLOT_COUNT;
    }
    return SLOT_COUNT;
}

int nvtx_depth_begin(uint32_t domain)
{
    uint32_t at;

    if (!domain)
        return own.depth < INT32_MAX ? own.depth++ : own.depth;
    at = find((uint64_t)domain << 32 | thread_number(), true);
    if (at < SLOT_COUNT)
        return atomic_fetch_add_explicit(&slots[at].depth, 1, memory_order_relaxed);
    atomic_store(&was_full, true);
    tsm_session_unmodelled("more open ranges of NVTX domains than are counted", false);
    return NVTX_NOT_COUNTED;
}

int nvtx_depth_end(uint32_t domain)
{
    uint32_t at;
    int depth;

    if (!domain)
        return own.depth > 0 ? --own.depth : NVTX_ERROR;
    at = find((uint64_t)domain << 32 | thread_number(), false);
    if (at == SLOT_COUNT)
        return atomic_load(&was_full) ? NVTX_NOT_COUNTED : NVTX_ERROR;
    depth = atomic_fetch_sub_explicit(&slots[at].depth, 1, memory_order_relaxed) - 1;
    if (depth <= 0) { /* below: a signal handler has come between */
        atomic_store(&slots[at].depth, 0);
        atomic_store(&slots[at].key, 0);
    }
    return depth < 0 ? NVTX_ERROR : depth;
}

/* docs/FORMAT.md 10, "mark". */
uint64_t nvtx_nest_id(uint32_t domain)
{
    return domain ? (UINT64_C(1) << 52) + ((uint64_t)domain << 22) +
                        (thread_number() & ((1u << 22) - 1))
                  : 0;
}
