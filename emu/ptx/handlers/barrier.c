/* SPDX-License-Identifier: Apache-2.0
 *
 * bar and barrier: arrivals.
 */
#include "emu/ptx/exec/barrier.h"
#include "emu/ptx/exec/exec.h"
#include "emu/ptx/handlers/memory.h"

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

/* The warps of a group compute their rows one by one: none goes on before all of them have. */
void ptx_run_warpgroup_wait(struct ptx_warp *w, const struct ptx_insn *i)
{
    unsigned id = PTX_BAR_WARPGROUP + w->index / 4;

    w->block->open_barriers |= 1u << id;
    w->block->barriers[id].arrived[w->index] |= w->active;
    ptx_warp_park(w, PTX_GROUP_BARRIER, id);
    ptx_barrier_check(w->block);
    ptx_warp_switch(w);
}

void ptx_run_cluster_arrive(struct ptx_warp *w, const struct ptx_insn *i)
{
    struct ptx_barrier *b = &w->block->barriers[PTX_BAR_CLUSTER];

    w->block->open_barriers |= 1u << PTX_BAR_CLUSTER;
    w->block->cluster->is_arrived = true;
    b->arrived[w->index] |= w->active;
    ptx_barrier_check_cluster(w->block->cluster);
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
