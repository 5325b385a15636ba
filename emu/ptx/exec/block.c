/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks and their warps, made once and used again: a launch of many small blocks costs little more
 * than their instructions.
 */
#include "emu/ptx/exec/exec.h"
#include "emu/ptx/exec/ramp.h"
#include "emu/ptx/exec/tensor_memory.h"
#include "emu/ptx/parse/module.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define NWARPS_OF(n) (((n) + PTX_LANES - 1) / PTX_LANES)
#define PROCESSORS   16 /* %nsmid */

static void fill32(struct ptx_warp *w, enum ptx_special id, uint32_t value)
{
    uint32_t *lanes = (uint32_t *)(void *)(w->specials + (size_t)id * 128);

    for (unsigned l = 0; l < PTX_LANES; l++)
        lanes[l] = value;
}

static void fill3(struct ptx_warp *w, enum ptx_special first, const uint32_t v[3])
{
    for (unsigned k = 0; k < 3; k++)
        fill32(w, first + k, v[k]);
}

static void fill_lanes(struct ptx_warp *w)
{
    const uint32_t *dim = w->run->launch->block;
    uint32_t(*s)[PTX_LANES] = (uint32_t(*)[PTX_LANES])(void *)w->specials;

    for (unsigned l = 0; l < PTX_LANES; l++) {
        uint32_t thread = w->index * PTX_LANES + l;
        s[PTX_SPECIAL_TID_X][l] = thread % dim[0];
        s[PTX_SPECIAL_TID_Y][l] = thread / dim[0] % dim[1];
        s[PTX_SPECIAL_TID_Z][l] = thread / dim[0] / dim[1];
        s[PTX_SPECIAL_LANEID][l] = l;
        s[PTX_SPECIAL_LANEMASK_EQ][l] = 1u << l;
        s[PTX_SPECIAL_LANEMASK_LT][l] = (1u << l) - 1;
        s[PTX_SPECIAL_LANEMASK_LE][l] = (2u << l) - 1;
        s[PTX_SPECIAL_LANEMASK_GE][l] = ~((1u << l) - 1);
        s[PTX_SPECIAL_LANEMASK_GT][l] = ~((2u << l) - 1);
    }
}

/* The first half of what is reserved is the one area, the second the other. */
static void fill_reserved(struct ptx_warp *w, uint32_t begin, uint32_t end)
{
    fill32(w, PTX_SPECIAL_RESERVED_SMEM_BEGIN, begin);
    fill32(w, PTX_SPECIAL_RESERVED_SMEM_END, end);
    fill32(w, PTX_SPECIAL_RESERVED_SMEM_CAP, end);
    fill32(w, PTX_SPECIAL_RESERVED_SMEM_0, begin);
    fill32(w, PTX_SPECIAL_RESERVED_SMEM_1, begin + (end - begin) / 2);
}

/* Fills in the values that are the same in every block. */
static void fill_launch(struct ptx_warp *w)
{
    const struct ptx_run *run = w->run;
    uint32_t clusters[3];
    uint64_t *grid_id = (uint64_t *)(void *)(w->specials + PTX_SPECIAL_GRIDID * 128u);

    for (unsigned k = 0; k < 3; k++)
        clusters[k] = run->launch->grid[k] / run->cluster[k];
    fill_lanes(w);
    fill3(w, PTX_SPECIAL_NTID_X, run->launch->block);
    fill3(w, PTX_SPECIAL_NCTAID_X, run->launch->grid);
    fill3(w, PTX_SPECIAL_NCLUSTERID_X, clusters);
    fill3(w, PTX_SPECIAL_CLUSTER_NCTAID_X, run->cluster);
    fill32(w, PTX_SPECIAL_CLUSTER_NCTARANK, run->cluster_count);
    fill32(w, PTX_SPECIAL_CLUSTER_CTARANK, w->block->rank);
    fill32(w, PTX_SPECIAL_IS_EXPLICIT_CLUSTER, run->launch->cluster[0] ? 0xffffffffu : 0);
    fill32(w, PTX_SPECIAL_WARPID, w->index);
    fill32(w, PTX_SPECIAL_NWARPID, NWARPS_OF(run->threads));
    fill32(w, PTX_SPECIAL_NSMID, PROCESSORS);
    fill32(w, PTX_SPECIAL_TOTAL_SMEM_SIZE, run->shared_static + run->launch->dynamic_shared_size);
    fill32(w, PTX_SPECIAL_AGGR_SMEM_SIZE, run->shared_size);
    fill32(w, PTX_SPECIAL_DYNAMIC_SMEM_SIZE, run->launch->dynamic_shared_size);
    fill32(w, PTX_SPECIAL_DYNAMIC_SHARED, run->shared_static);
    fill_reserved(w, run->shared_reserved, run->shared_size);
    fill32(w, PTX_SPECIAL_ENVREG, 0);
    fill32(w, PTX_SPECIAL_ENVREG_1, (uint32_t)((uint64_t)(uintptr_t)run->workspace >> 32));
    fill32(w, PTX_SPECIAL_ENVREG_2, (uint32_t)(uintptr_t)run->workspace);
    for (unsigned l = 0; l < PTX_LANES; l++)
        grid_id[l] = run->grid_id;
}

static uint32_t block_value(const struct ptx_warp *w, enum ptx_special id)
{
    const uint32_t *size = w->run->cluster;
    const uint32_t *at = w->block->id;

    if (id == PTX_SPECIAL_SMID)
        return (uint32_t)(ptx_block_linear(w->block) % PROCESSORS);
    if (id <= PTX_SPECIAL_CTAID_Z)
        return at[id - PTX_SPECIAL_CTAID_X];
    if (id <= PTX_SPECIAL_CLUSTERID_Z)
        return at[id - PTX_SPECIAL_CLUSTERID_X] / size[id - PTX_SPECIAL_CLUSTERID_X];
    return at[id - PTX_SPECIAL_CLUSTER_CTAID_X] % size[id - PTX_SPECIAL_CLUSTER_CTAID_X];
}

static void fill_block(struct ptx_warp *w)
{
    for (unsigned id = 0; id < PTX_SPECIAL_COUNT; id++)
        if (ptx_special_is_of_block(id))
            fill32(w, id, block_value(w, id));
}

/* ---- ramps ---- */

/* Finds out whether lanes that were filled in form a ramp. */
static void measure_special(const struct ptx_warp *w, struct ptx_ramp *r)
{
    const struct ptx_run *run = w->run;
    const uint32_t *lanes = ptx_lanes(w, r->op);

    r->base = lanes[0];
    r->x = run->row > 1 ? (int32_t)(lanes[1] - lanes[0]) : 0;
    r->y = run->row < PTX_LANES ? (int32_t)(lanes[run->row] - lanes[0]) : 0;
    r->state = PTX_RAMP_SPREAD | PTX_RAMP_KNOWN;
    for (unsigned l = 0; l < PTX_LANES; l++)
        if (lanes[l] !=
            (uint32_t)(r->base + (uint64_t)r->x * run->columns[l] + (uint64_t)r->y * run->rows[l]))
            r->state = PTX_RAMP_SPREAD;
}

static bool ramps_new(struct ptx_warp *w)
{
    const struct ptx_plan *plan = w->run->plan;

    if (!plan)
        return true;
    w->ramps = malloc(plan->ramp_count * sizeof(*w->ramps));
    if (!w->ramps)
        return false;
    memcpy(w->ramps, plan->ramps, plan->ramp_count * sizeof(*w->ramps));
    for (uint32_t k = plan->special_launch; k < plan->special_end; k++)
        measure_special(w, &w->ramps[k]);
    return true;
}

static void ramps_start(struct ptx_warp *w)
{
    const struct ptx_plan *plan = w->run->plan;

    memcpy(w->ramps + PTX_SLOT_FIRST, plan->ramps + PTX_SLOT_FIRST,
           plan->reset_count * sizeof(*w->ramps));
    for (uint32_t k = plan->special_first; k < plan->special_launch; k++) {
        struct ptx_ramp *r = &w->ramps[k];
        r->base = block_value(w, ptx_special_of(r->op));
        r->x = r->y = 0;
        r->state = PTX_RAMP_KNOWN;
    }
    w->repeats = w->block->cluster->is_used;
}

static void drop_frames(struct ptx_warp *w, struct ptx_frame *f, uint32_t lanes)
{
    while (f) {
        struct ptx_frame *parent = f->parent;
        f->inside &= ~lanes;
        if (!f->inside)
            ptx_frame_destroy(w, f);
        f = parent;
    }
}

/* Frames are left only by a launch that was ended early; every lane is in a group or in a join. */
static void warp_free(struct ptx_warp *w)
{
    if (!w)
        return;
    for (unsigned k = 0; k < PTX_JOIN_COUNT; k++)
        if (w->joins[k].arrived)
            drop_frames(w, w->joins[k].frame, w->joins[k].arrived);
    for (unsigned k = 0; k < PTX_LANES; k++)
        if (w->groups[k].state != PTX_GROUP_FREE)
            drop_frames(w, w->groups[k].frame, w->groups[k].mask);
    if (w->first)
        w->first->is_first = false;
    ptx_frame_destroy(w, w->first);
    ptx_spare_frames_free(w);
    free(w->local);
    free(w->ramps);
    free(w);
}

static struct ptx_warp *warp_new(struct ptx_run *run, struct ptx_block *block, uint32_t index)
{
    struct ptx_warp *w = aligned_alloc(64, (sizeof(*w) + 63) / 64 * 64);

    if (!w)
        return NULL;
    memset(w, 0, offsetof(struct ptx_warp, specials)); /* these are all filled below */
    w->run = run;
    w->block = block;
    w->index = index;
    w->base[PTX_BASE_POOL] = run->launch->module->pool_lanes;
    w->base[PTX_BASE_SPECIAL] = w->specials;
    w->first = ptx_frame_create(w, run->code, NULL, 0);
    if (run->local_stride)
        w->local = calloc(PTX_LANES, run->local_stride);
    if (!w->first || (run->local_stride && !w->local)) {
        warp_free(w);
        return NULL;
    }
    w->first->is_first = true;
    fill_launch(w);
    if (ramps_new(w))
        return w;
    warp_free(w);
    return NULL;
}

/* A warp whose lanes have all exited has no group, no join and no frame but the first. */
static void warp_start(struct ptx_warp *w)
{
    const struct ptx_run *run = w->run;
    uint32_t threads = run->threads - w->index * PTX_LANES;
    uint32_t lanes = threads >= PTX_LANES ? 0xffffffffu : (1u << threads) - 1;

    w->alive = w->first->inside = lanes;
    w->join = PTX_JOIN_NONE;
    w->first_step = w->steps;
    w->carry = w->polls = w->changes = w->spins = 0;
    w->waits = false;
    w->stop = PTX_STOP_NONE;
    w->used_groups = 1;
    w->groups[0] = (struct ptx_group){.pc = run->code->insns,
                                      .frame = w->first,
                                      .mask = lanes,
                                      .state = PTX_GROUP_READY,
                                      .join = PTX_JOIN_NONE};
    if (w->ramps)
        ramps_start(w);
    if (!w->ramps || run->plan->shows_specials)
        fill_block(w);
}

void ptx_block_destroy(struct ptx_block *block)
{
    if (!block)
        return;
    for (uint32_t k = 0; block->warps && k < block->warp_count; k++)
        warp_free(block->warps[k]);
    free(block->warps);
    free(block->shared);
    free(block->tensor_memory);
    free(block);
}

struct ptx_block *ptx_block_create(struct ptx_run *run, struct ptx_cluster *cluster, uint32_t rank)
{
    struct ptx_block *block = calloc(1, sizeof(*block));

    if (!block)
        return NULL;
    block->cluster = cluster;
    block->rank = rank;
    block->warp_count = NWARPS_OF(run->threads);
    block->warps = calloc(block->warp_count, sizeof(*block->warps));
    block->shared = aligned_alloc(64, (run->shared_size + 127u) & ~(size_t)63);
    bool ok = block->warps && block->shared;
    for (uint32_t k = 0; ok && k < block->warp_count; k++) {
        block->warps[k] = warp_new(run, block, k);
        ok = block->warps[k] != NULL;
    }
    if (ok)
        return block;
    ptx_block_destroy(block);
    return NULL;
}

/* The kernel's registers and variables begin as zeros, so that a program that reads what it has not
 * written does so in the same way each time; deeper in the stack lies what was there. */
static void clear_registers(const struct ptx_run *run, uint8_t *registers)
{
    const struct ptx_plan *plan = run->plan;

    if (!plan)
        memset(registers, 0, run->code->frame_size);
    for (uint32_t k = 0; plan && k < plan->clear_count; k++)
        memset(registers + plan->clears[k].start, 0, plan->clears[k].size);
}

static void clear(struct ptx_run *run, struct ptx_block *block)
{
    if (block->open_barriers)
        memset(block->barriers, 0, sizeof(block->barriers));
    block->open_barriers = 0;
    for (uint32_t k = 0; k < block->warp_count; k++) {
        struct ptx_warp *w = block->warps[k];
        clear_registers(run, w->first->registers);
        for (unsigned l = 0; l < PTX_LANES && run->code->local_frame; l++)
            memset(w->local + l * run->local_stride, 0,
                   run->launch->module->local_size + run->code->local_frame);
    }
}

uint64_t ptx_block_linear(const struct ptx_block *block)
{
    const uint32_t *grid = block->warps[0]->run->launch->grid;

    return block->id[0] + (uint64_t)grid[0] * (block->id[1] + (uint64_t)grid[1] * block->id[2]);
}

void ptx_block_start(struct ptx_block *block, const uint32_t id[3])
{
    struct ptx_run *run = block->warps[0]->run;

    if (block->cluster->is_used)
        clear(run, block);
    if (run->shared_size)
        memset(block->shared, 0, run->shared_size);
    ptx_tensor_memory_reset(block);
    memcpy(block->id, id, sizeof(block->id));
    block->alive = run->threads;
    for (uint32_t k = 0; k < block->warp_count; k++)
        warp_start(block->warps[k]);
}
