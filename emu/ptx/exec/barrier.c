/* SPDX-License-Identifier: Apache-2.0
 *
 * Barriers. Threads arrive; a barrier opens when as many threads as it expects have come, or,
 * without a count, all threads of the block that have not exited.
 */
#include "emu/ptx/exec/barrier.h"

#include <string.h>

/* Tests whether everything that barrier `id` waits for has come, as far as this block's threads are
 * concerned. */
static bool is_complete(const struct ptx_block *block, unsigned id)
{
    const struct ptx_barrier *b = &block->barriers[id];
    uint32_t first = id < PTX_BAR_WARPGROUP ? 0 : 4 * (id - PTX_BAR_WARPGROUP);
    uint32_t end = id < PTX_BAR_WARPGROUP ? block->warp_count : first + 4;
    uint32_t threads = 0;
    bool all = true;

    for (uint32_t k = first; k < end && k < block->warp_count; k++) {
        uint32_t alive = block->warps[k]->alive;
        uint32_t arrived = b->arrived[k];
        bool whole = (arrived & alive) == alive;
        /* Counts are in whole warps, also where the last warp of a block is not full. */
        threads += arrived && whole ? PTX_LANES : (uint32_t)__builtin_popcount(arrived);
        all = all && whole;
    }
    return b->expected ? threads >= b->expected : all;
}

static void write_result(const struct ptx_barrier *b, const struct ptx_group *g)
{
    const struct ptx_insn *i = g->pc - 1;
    uint32_t *d = (uint32_t *)(void *)(g->frame->registers + (i->dst & ~(PTX_OP_UNIT - 1)));
    bool truth = PTX_MODE(i) == PTX_BARRIER_AND ? !b->not_all : b->any;

    if (PTX_MODE(i) == PTX_BARRIER_AND || PTX_MODE(i) == PTX_BARRIER_OR)
        *d = truth ? *d | g->mask : *d & ~g->mask;
    else if (PTX_MODE(i) == PTX_BARRIER_POPC)
        for (uint32_t left = g->mask; left; left &= left - 1)
            d[__builtin_ctz(left)] = b->popc;
}

static void open_barrier(struct ptx_block *block, unsigned id)
{
    struct ptx_barrier *b = &block->barriers[id];
    const struct ptx_observer *observer = block->warps[0]->run->observer;

    if (observer && id < PTX_BAR_WARPGROUP) /* a warpgroup's orders no memory */
        observer->barrier(block, id);
    for (uint32_t k = 0; k < block->warp_count; k++) {
        struct ptx_warp *w = block->warps[k];
        for (uint32_t left = w->used_groups; left; left &= left - 1) {
            struct ptx_group *g = &w->groups[__builtin_ctz(left)];
            if (g->state != PTX_GROUP_BARRIER || g->wait != id)
                continue;
            write_result(b, g);
            g->state = PTX_GROUP_READY;
            w->waits = false;
        }
    }
    memset(b, 0, sizeof(*b));
    block->open_barriers &= ~(1u << id);
}

void ptx_barrier_check_cluster(struct ptx_cluster *cluster)
{
    for (uint32_t k = 0; k < cluster->count; k++)
        if (!is_complete(cluster->blocks[k], PTX_BAR_CLUSTER))
            return;
    const struct ptx_observer *observer = cluster->blocks[0]->warps[0]->run->observer;
    cluster->is_arrived = false;
    if (observer)
        observer->cluster_barrier(cluster);
    for (uint32_t k = 0; k < cluster->count; k++)
        open_barrier(cluster->blocks[k], PTX_BAR_CLUSTER);
}

void ptx_barrier_check(struct ptx_block *block)
{
    for (uint32_t left = block->open_barriers; left; left &= left - 1) {
        unsigned id = (unsigned)__builtin_ctz(left);
        if (id != PTX_BAR_CLUSTER && is_complete(block, id))
            open_barrier(block, id);
    }
    if (block->cluster->is_arrived)
        ptx_barrier_check_cluster(block->cluster);
}
