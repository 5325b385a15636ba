/* SPDX-License-Identifier: Apache-2.0
 *
 * bar and barrier. Threads arrive; a barrier opens when as many threads as it expects have come,
 * or, without a count, all threads of the block that have not exited.
 */
#include "emu/ptx/check/watching.h"
#include "emu/ptx/handlers/memory.h"

#include <string.h>

bool ptx_barrier_is_complete(const struct ptx_block *block, unsigned id)
{
    const struct ptx_barrier *b = &block->barriers[id];
    uint32_t threads = 0;
    bool all = true;

    for (uint32_t k = 0; k < block->warp_count; k++) {
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

void ptx_barrier_open(struct ptx_block *block, unsigned id)
{
    struct ptx_barrier *b = &block->barriers[id];

    if (block->warps[0]->run->watching)
        ptx_watch_barrier(block, id);
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

void ptx_barrier_check(struct ptx_block *block)
{
    for (uint32_t left = block->open_barriers; left; left &= left - 1) {
        unsigned id = (unsigned)__builtin_ctz(left);
        if (id != PTX_BAR_CLUSTER && ptx_barrier_is_complete(block, id))
            ptx_barrier_open(block, id);
    }
    if (block->cluster->is_arrived)
        ptx_cluster_check(block->cluster);
}

static uint32_t first_value(const struct ptx_warp *w, ptx_op op, uint32_t none)
{
    if (op == PTX_OP_NONE)
        return none;
    return ((const uint32_t *)ptx_lanes(w, op))[__builtin_ctz(w->mask)];
}

/* src[0]: which; src[1]: threads, or none; src[2]: predicate of a reduction; dst: its result.
 * Never guarded: a guarded one is decoded as a branch around it. */
void ptx_run_barrier(struct ptx_warp *w, const struct ptx_insn *i)
{
    uint32_t id = first_value(w, i->src[0], 0);
    enum ptx_barrier_mode mode = PTX_MODE(i);

    if (id >= PTX_BAR_CLUSTER) {
        ptx_stop_fault(w, i, (unsigned)__builtin_ctz(w->mask), PTX_FAULT_TRAP, id, 0);
        return;
    }
    struct ptx_barrier *b = &w->block->barriers[id];
    w->block->open_barriers |= 1u << id;
    b->expected = first_value(w, i->src[1], 0);
    b->arrived[w->index] |= w->active;
    if (mode >= PTX_BARRIER_POPC) {
        uint32_t bits = ptx_pred(w, i->src[2]) & w->active;
        b->popc += (uint32_t)__builtin_popcount(bits);
        b->any |= bits != 0;
        b->not_all |= bits != w->active;
    }
    if (mode != PTX_BARRIER_ARRIVE)
        ptx_warp_park(w, PTX_GROUP_BARRIER, id);
    ptx_barrier_check(w->block);
    if (mode != PTX_BARRIER_ARRIVE)
        ptx_warp_switch(w);
}

void ptx_run_cluster_arrive(struct ptx_warp *w, const struct ptx_insn *i)
{
    struct ptx_barrier *b = &w->block->barriers[PTX_BAR_CLUSTER];

    w->block->open_barriers |= 1u << PTX_BAR_CLUSTER;
    w->block->cluster->is_arrived = true;
    b->arrived[w->index] |= w->active;
    ptx_cluster_check(w->block->cluster);
}

/* An arrival of this phase that the barrier still keeps: the phase is not over. */
void ptx_run_cluster_wait(struct ptx_warp *w, const struct ptx_insn *i)
{
    const struct ptx_block *block = w->block;

    if (!(block->open_barriers >> PTX_BAR_CLUSTER & 1) ||
        !(block->barriers[PTX_BAR_CLUSTER].arrived[w->index] & w->active))
        return;
    ptx_warp_park(w, PTX_GROUP_BARRIER, PTX_BAR_CLUSTER);
    ptx_warp_switch(w);
}
