/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/ptx/exec/grid.h"

uint64_t ptx_grid_random(struct ptx_run *run)
{
    uint64_t x = run->random;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    run->random = x;
    return x * 0x2545f4914f6cdd1dull;
}

static uint64_t greatest_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

void ptx_grid_init(struct ptx_run *run)
{
    uint64_t count = run->blocks->count;

    run->random = run->launch->seed * 0x9e3779b97f4a7c15ull | 1;
    run->order.origin = ptx_grid_random(run) % count;
    /* Products stay below 2^64: a launch has fewer than 2^63 blocks only in theory, so cap. */
    do
        run->order.stride = ptx_grid_random(run) % 0x7fffffff | 1;
    while (greatest_divisor(run->order.stride, count) != 1);
}

static uint64_t cluster_in_order(const struct ptx_run *run, uint64_t k)
{
    const struct ptx_order *order = &run->order;
    uint64_t count = run->blocks->count;

    switch (run->launch->schedule) {
    case PTX_SCHEDULE_REVERSE:
        return count - 1 - k;
    case PTX_SCHEDULE_RANDOM:
        return (order->origin + (k % count) * (order->stride % count)) % count;
    default:
        return k;
    }
}

bool ptx_grid_take(struct ptx_run *run, uint64_t *order, uint64_t *linear)
{
    *order = atomic_fetch_add(&run->blocks->next, 1);
    if (*order >= run->blocks->count)
        return false;
    *linear = cluster_in_order(run, *order);
    return true;
}

bool ptx_grid_cancel(struct ptx_run *run, uint32_t first[3])
{
    uint64_t order, linear;
    bool is_taken = ptx_grid_take(run, &order, &linear);

    if (is_taken)
        ptx_cluster_place(run, linear, 0, first);
    return is_taken;
}
