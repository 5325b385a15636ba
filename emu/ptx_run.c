/* SPDX-License-Identifier: Apache-2.0
 *
 * A launch: blocks are started in order and run warp by warp. A block whose warps all poll memory,
 * or that has had a long turn, lets another one run, so that blocks may wait for each other; more
 * blocks are started only then.
 */
#include "emu/ptx_exec.h"
#include "emu/ptx_module.h"
#include "emu/ptx_texture.h"

#include <stdlib.h>
#include <string.h>

#define SLICE_STEPS  4000 /* of a warp, in instructions */
#define ROUNDS_MAX   64   /* of a block's turn */
#define RESIDENT_MAX 512  /* blocks at a time, unless the launch is cooperative */
#define NWARPS_OF(n) (((n) + PTX_LANES - 1) / PTX_LANES)
#define PROCESSORS   16 /* %nsmid */

struct grid {
    struct ptx_run *run;
    uint64_t count;
    uint64_t started;
    uint64_t resident_max;
    uint64_t stride; /* random order: coprime to count */
    uint64_t origin;
    struct ptx_block **blocks; /* resident */
    size_t block_count;
    size_t capacity;
};

static uint64_t next_random(struct ptx_run *run)
{
    uint64_t x = run->random;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    run->random = x;
    return x * 0x2545f4914f6cdd1dull;
}

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

static void fill_specials(struct ptx_warp *w, uint64_t block)
{
    const struct ptx_run *run = w->run;
    static const uint32_t ones[3] = {1, 1, 1};
    uint64_t *grid_id = (uint64_t *)(void *)(w->specials + PTX_SPECIAL_GRIDID * 128u);

    memset(w->specials, 0, sizeof(w->specials));
    fill_lanes(w);
    fill3(w, PTX_SPECIAL_NTID_X, run->launch->block);
    fill3(w, PTX_SPECIAL_CTAID_X, w->block->id);
    fill3(w, PTX_SPECIAL_NCTAID_X, run->launch->grid);
    fill3(w, PTX_SPECIAL_CLUSTERID_X, w->block->id);
    fill3(w, PTX_SPECIAL_NCLUSTERID_X, run->launch->grid);
    fill3(w, PTX_SPECIAL_CLUSTER_NCTAID_X, ones);
    fill32(w, PTX_SPECIAL_CLUSTER_NCTARANK, 1);
    fill32(w, PTX_SPECIAL_WARPID, w->index);
    fill32(w, PTX_SPECIAL_NWARPID, NWARPS_OF(run->threads));
    fill32(w, PTX_SPECIAL_SMID, (uint32_t)(block % PROCESSORS));
    fill32(w, PTX_SPECIAL_NSMID, PROCESSORS);
    fill32(w, PTX_SPECIAL_TOTAL_SMEM_SIZE, run->shared_size);
    fill32(w, PTX_SPECIAL_AGGR_SMEM_SIZE, run->shared_size);
    fill32(w, PTX_SPECIAL_DYNAMIC_SMEM_SIZE, run->launch->dynamic_shared_size);
    fill32(w, PTX_SPECIAL_DYNAMIC_SHARED, run->shared_static);
    for (unsigned l = 0; l < PTX_LANES; l++)
        grid_id[l] = run->grid_id;
}

static void drop_frames(struct ptx_frame *f, uint32_t lanes)
{
    while (f) {
        struct ptx_frame *parent = f->parent;
        f->inside &= ~lanes;
        if (!f->inside)
            ptx_frame_destroy(f);
        f = parent;
    }
}

/* Frames are left only by a launch that was ended early; every lane is in a group or in a join. */
static void warp_destroy(struct ptx_warp *w)
{
    if (!w)
        return;
    for (unsigned k = 0; k < PTX_JOIN_COUNT; k++)
        if (w->joins[k].arrived)
            drop_frames(w->joins[k].frame, w->joins[k].arrived);
    for (unsigned k = 0; k < PTX_LANES; k++)
        if (w->groups[k].state != PTX_GROUP_FREE)
            drop_frames(w->groups[k].frame, w->groups[k].mask);
    w->next_spare = w->run->spare_warps;
    w->run->spare_warps = w;
}

static struct ptx_warp *warp_new(struct ptx_run *run)
{
    struct ptx_warp *w = run->spare_warps;
    uint8_t *local = w ? w->local : NULL;

    if (w)
        run->spare_warps = w->next_spare;
    else
        w = aligned_alloc(64, (sizeof(*w) + 63) / 64 * 64);
    if (!w)
        return NULL;
    memset(w, 0, sizeof(*w));
    w->local = local;
    if (run->local_stride && !local)
        w->local = calloc(PTX_LANES, run->local_stride);
    w->run = run;
    return w;
}

static void free_spares(struct ptx_run *run)
{
    while (run->spare_warps) {
        struct ptx_warp *next = run->spare_warps->next_spare;
        free(run->spare_warps->local);
        free(run->spare_warps);
        run->spare_warps = next;
    }
}

static struct ptx_warp *warp_create(struct ptx_run *run, struct ptx_block *block, uint32_t index,
                                    uint64_t linear)
{
    struct ptx_warp *w = warp_new(run);
    uint32_t threads = run->threads - index * PTX_LANES;
    struct ptx_frame *frame;

    if (!w)
        return NULL;
    w->block = block;
    w->index = index;
    w->base[PTX_BASE_POOL] = run->launch->module->pool_lanes;
    w->base[PTX_BASE_SPECIAL] = w->specials;
    w->join = PTX_JOIN_NONE;
    uint32_t lanes = threads >= PTX_LANES ? 0xffffffffu : (1u << threads) - 1;
    frame = ptx_frame_create(w, run->code, NULL, lanes);
    if (!frame || (run->local_stride && !w->local)) {
        ptx_frame_destroy(frame);
        warp_destroy(w);
        return NULL;
    }
    w->alive = lanes;
    w->groups[0] = (struct ptx_group){.pc = run->code->insns,
                                      .frame = frame,
                                      .mask = lanes,
                                      .state = PTX_GROUP_READY,
                                      .join = PTX_JOIN_NONE};
    fill_specials(w, linear);
    return w;
}

static void block_destroy(struct ptx_block *block)
{
    if (!block)
        return;
    for (uint32_t k = 0; block->warps && k < block->warp_count; k++)
        warp_destroy(block->warps[k]);
    free(block->warps);
    free(block->shared);
    free(block);
}

static struct ptx_block *block_create(struct ptx_run *run, uint64_t linear)
{
    const uint32_t *grid = run->launch->grid;
    struct ptx_block *block = calloc(1, sizeof(*block));
    size_t shared = (run->shared_size + 127u) & ~(size_t)63;

    if (!block)
        return NULL;
    block->id[0] = (uint32_t)(linear % grid[0]);
    block->id[1] = (uint32_t)(linear / grid[0] % grid[1]);
    block->id[2] = (uint32_t)(linear / grid[0] / grid[1]);
    block->warp_count = NWARPS_OF(run->threads);
    block->alive = run->threads;
    block->warps = calloc(block->warp_count, sizeof(*block->warps));
    block->shared = aligned_alloc(64, shared);
    bool ok = block->warps && block->shared;
    if (ok)
        memset(block->shared, 0, shared);
    for (uint32_t k = 0; ok && k < block->warp_count; k++) {
        block->warps[k] = warp_create(run, block, k, linear);
        ok = block->warps[k] != NULL;
    }
    if (ok)
        return block;
    block_destroy(block);
    return NULL;
}

static void execute(struct ptx_warp *w)
{
    while (w->stop == PTX_STOP_NONE) {
        const struct ptx_insn *i = w->pc++;
        uint32_t mask = w->active;
        w->steps++;
        if (i->guard != PTX_OP_NONE) {
            mask &= ptx_pred(w, i->guard);
            if (!mask)
                continue;
        }
        w->mask = mask;
        i->fn(w, i);
    }
}

static bool run_slice(struct ptx_warp *w)
{
    uint64_t before = w->steps;

    if (!ptx_warp_resume(w))
        return false;
    w->polls = 0;
    w->slice_end = w->steps + SLICE_STEPS;
    execute(w);
    if (w->stop == PTX_STOP_FAULT && w->active) {
        ptx_warp_count(w);
        ptx_warp_park(w, PTX_GROUP_READY, 0);
    }
    w->run->steps += w->steps - before;
    return true;
}

static void hang(struct ptx_block *block)
{
    for (uint32_t k = 0; k < block->warp_count; k++) {
        struct ptx_warp *w = block->warps[k];
        for (unsigned n = 0; n < PTX_LANES; n++) {
            const struct ptx_group *g = &w->groups[n];
            if (!(g->mask & w->alive) || g->state == PTX_GROUP_FREE)
                continue;
            const struct ptx_insn *i = g->state == PTX_GROUP_BARRIER ? g->pc - 1 : g->pc;
            ptx_stop_fault(w, i, (unsigned)__builtin_ctz(g->mask), PTX_FAULT_HANG, 0, 0);
            return;
        }
    }
}

static uint32_t warp_in_order(struct ptx_run *run, uint32_t k, uint32_t count, uint32_t shift)
{
    switch (run->launch->schedule) {
    case PTX_SCHEDULE_REVERSE:
        return count - 1 - k;
    case PTX_SCHEDULE_RANDOM:
        return (k + shift) % count;
    default:
        return k;
    }
}

/* Every warp once; false when none could run. */
static bool run_round(struct ptx_run *run, struct ptx_block *block)
{
    uint32_t shift = run->launch->schedule == PTX_SCHEDULE_RANDOM
                         ? (uint32_t)(next_random(run) % block->warp_count)
                         : 0;
    bool ran = false;

    block->polled = true;
    for (uint32_t k = 0; k < block->warp_count && !run->faulted; k++) {
        struct ptx_warp *w = block->warps[warp_in_order(run, k, block->warp_count, shift)];
        if (!w->alive || w->waits || !run_slice(w))
            continue;
        ran = true;
        if (w->stop == PTX_STOP_YIELD && !w->polls)
            block->polled = false;
    }
    return ran;
}

static bool is_stopped(struct ptx_run *run, struct ptx_block *block)
{
    if (!run->launch->stop || !*run->launch->stop)
        return false;
    ptx_stop_fault(block->warps[0], NULL, 0, PTX_FAULT_STOPPED, 0, 0);
    return true;
}

/* A block's turn: until it is finished, a fault, or others ought to run. */
static void run_turn(struct ptx_run *run, struct ptx_block *block)
{
    for (unsigned round = 0; round < ROUNDS_MAX && block->alive && !run->faulted; round++) {
        if (is_stopped(run, block))
            return;
        uint32_t alive = block->alive;
        if (!run_round(run, block)) {
            hang(block);
            return;
        }
        if (block->polled && round > 0 && alive == block->alive)
            return;
    }
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

static uint64_t block_in_order(struct grid *g, uint64_t k)
{
    switch (g->run->launch->schedule) {
    case PTX_SCHEDULE_REVERSE:
        return g->count - 1 - k;
    case PTX_SCHEDULE_RANDOM:
        return (g->origin + (k % g->count) * (g->stride % g->count)) % g->count;
    default:
        return k;
    }
}

static bool start_block(struct grid *g)
{
    if (g->block_count == g->capacity) {
        size_t capacity = g->capacity ? g->capacity * 2 : 16;
        struct ptx_block **blocks = realloc(g->blocks, capacity * sizeof(struct ptx_block *));
        if (!blocks)
            return false;
        g->blocks = blocks;
        g->capacity = capacity;
    }
    struct ptx_block *block = block_create(g->run, block_in_order(g, g->started));
    if (!block)
        return false;
    g->started++;
    g->blocks[g->block_count++] = block;
    return true;
}

static void remove_block(struct grid *g, size_t at)
{
    block_destroy(g->blocks[at]);
    g->block_count--;
    memmove(g->blocks + at, g->blocks + at + 1, (g->block_count - at) * sizeof(g->blocks[0]));
}

/* False: out of memory, and nothing resident that could go on alone. */
static bool run_grid(struct grid *g)
{
    size_t at = 0;

    while (g->started < g->count || g->block_count) {
        if (g->block_count == 0 && !start_block(g))
            return false;
        at %= g->block_count;
        run_turn(g->run, g->blocks[at]);
        if (g->run->faulted)
            return true;
        if (!g->blocks[at]->alive) {
            remove_block(g, at);
            continue;
        }
        at++;
        /* A new block goes to the end, and is next when `at` stands there. */
        if (g->started < g->count && g->block_count < g->resident_max && at == g->block_count)
            start_block(g);
    }
    return true;
}

static void choose_order(struct grid *g)
{
    g->run->random = g->run->launch->seed * 0x9e3779b97f4a7c15ull | 1;
    g->origin = next_random(g->run) % g->count;
    /* Products stay below 2^64: a launch has fewer than 2^63 blocks only in theory, so cap. */
    do
        g->stride = next_random(g->run) % 0x7fffffff | 1;
    while (greatest_divisor(g->stride, g->count) != 1);
}

static bool is_valid(const struct ptx_launch *l)
{
    for (unsigned k = 0; k < 3; k++)
        if (!l->grid[k] || !l->block[k] || l->block[k] > 1024)
            return false;
    return l->function && l->function->is_entry &&
           (uint64_t)l->block[0] * l->block[1] * l->block[2] <= 1024;
}

static uint32_t align_up(uint32_t v, uint32_t to)
{
    return (v + to - 1) & ~(to - 1);
}

int ptx_run(const struct ptx_launch *launch, struct ptx_fault *fault, uint64_t *instructions_out)
{
    static uint64_t grid_ids;
    struct ptx_run run = {.launch = launch, .fault = fault};
    struct grid g = {.run = &run};

    memset(fault, 0, sizeof(*fault));
    if (instructions_out)
        *instructions_out = 0;
    if (!is_valid(launch))
        return PTX_INVALID;
    run.code = (const struct ptx_code *)launch->function; /* info is its first member */
    run.threads = launch->block[0] * launch->block[1] * launch->block[2];
    run.shared_static = align_up(run.code->info.shared_size, 16);
    run.shared_size = run.shared_static + launch->dynamic_shared_size;
    run.local_stride = align_up(run.code->stack_size, 16);
    run.grid_id = __atomic_add_fetch(&grid_ids, 1, __ATOMIC_RELAXED);
    g.count = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    g.resident_max = launch->cooperative ? g.count : RESIDENT_MAX;
    choose_order(&g);
    bool ok = run_grid(&g);
    while (g.block_count)
        remove_block(&g, g.block_count - 1);
    free_spares(&run);
    ptx_images_drop(&run);
    free(g.blocks);
    if (!ok)
        fault->kind = PTX_FAULT_NO_MEMORY;
    if (instructions_out)
        *instructions_out = run.instructions;
    return !ok ? PTX_NO_MEMORY : run.faulted ? PTX_INVALID : PTX_OK;
}
