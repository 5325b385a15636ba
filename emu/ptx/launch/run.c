/* SPDX-License-Identifier: Apache-2.0
 *
 * A launch: clusters of blocks are started in order and run warp by warp. A block whose warps all
 * poll memory or wait, or that has had a long turn, lets another one run, so that blocks may wait
 * for each other; more clusters are started only then.
 */
#include "base/clock.h"
#include "base/array.h"
#include "emu/ptx/exec/exec.h"
#include "emu/ptx/exec/grid.h"
#include "emu/ptx/exec/heap.h"
#include "emu/ptx/exec/ramp.h"
#include "emu/ptx/launch/plan.h"
#include "emu/ptx/parse/module.h"
#include "emu/ptx/launch/parallel_launch.h"
#include "emu/ptx/check/watching.h"
#include "emu/ptx/texture/texture.h"

#include <stdlib.h>
#include <string.h>

#define SLICE_STEPS  4000 /* of a warp, in instructions */
#define ROUNDS_MAX   64   /* of a block's turn */
#define RESIDENT_MAX 512  /* blocks at a time, unless the launch is cooperative */

static _Atomic uint64_t progress;

struct ptx_grid {
    struct ptx_run *run;
    uint64_t count; /* of clusters */
    uint64_t resident_max;
    struct ptx_cluster **clusters; /* resident */
    size_t resident;
    size_t capacity;
};

/* Passes over the kernel's first instructions in a warp that has executed them for another block.
 */
static void repeat_lead(struct ptx_warp *w)
{
    const struct ptx_plan *plan = w->run->plan;
    const struct ptx_insn *insns = w->run->code->insns;

    w->mask = w->active;
    for (uint32_t k = 0; k < plan->again_count; k++)
        plan->steps[plan->again[k]].fn(w, insns + plan->again[k]);
    w->pc += plan->lead;
    w->steps += plan->lead;
    w->repeats = false;
}

/* Steps that go on to the next one, or end the launch; pc and steps are past the first already. */
static inline void execute_row(struct ptx_warp *w, const struct ptx_insn *i,
                               const struct ptx_step *step)
{
    uint32_t left = step->row;

    w->pc = i + left;
    w->steps += left - 1;
    for (; left && w->stop == PTX_STOP_NONE; left--, i++, step++)
        step->fn(w, i);
    w->pc -= left;
    w->steps -= left;
}

/* In the kernel itself, by its plan. */
static void execute_plan(struct ptx_warp *w)
{
    const uintptr_t to_step = w->to_step;

    if (w->repeats)
        repeat_lead(w);
    do {
        const struct ptx_insn *i = w->pc;
        const struct ptx_step *step = (const struct ptx_step *)((uintptr_t)i + to_step);
        uint32_t mask = w->active;
        if (step->guard != PTX_OP_NONE)
            mask &= ptx_pred(w, step->guard);
        w->mask = mask;
        w->pc = i + 1;
        w->steps++;
        if (step->row > 1)
            execute_row(w, i, step);
        else if (mask)
            step->fn(w, i);
    } while (w->stop == PTX_STOP_NONE && w->to_step == to_step);
}

/* In functions that the kernel calls, and where there is no plan. */
static void execute_plain(struct ptx_warp *w)
{
    do {
        const struct ptx_insn *i = w->pc++;
        uint32_t mask = w->active;
        w->steps++;
        if (i->guard != PTX_OP_NONE)
            mask &= ptx_pred(w, i->guard);
        w->mask = mask;
        if (mask)
            i->fn(w, i);
    } while (w->stop == PTX_STOP_NONE && !w->to_step);
}

static void execute(struct ptx_warp *w)
{
    while (w->stop == PTX_STOP_NONE)
        if (w->to_step)
            execute_plan(w);
        else
            execute_plain(w);
}

uint64_t ptx_progress(void)
{
    return atomic_load_explicit(&progress, memory_order_relaxed);
}

/* Counts a slice, unless the warp has only waited in it for memory to change. */
static void note_progress(const struct ptx_warp *w, uint64_t before)
{
    if (w->stop != PTX_STOP_YIELD || !w->polls || w->changes)
        w->run->progress += w->steps - before;
}

static void publish_progress(struct ptx_run *run)
{
    atomic_fetch_add_explicit(&progress, run->progress, memory_order_relaxed);
    run->progress = 0;
}

static bool run_slice(struct ptx_warp *w)
{
    uint64_t before = w->steps;

    if (!ptx_warp_resume(w))
        return false;
    w->polls = w->changes = 0;
    w->slice_end = w->steps + SLICE_STEPS;
    if (w->run->observer)
        ptx_watch_execute(w);
    else
        execute(w);
    if (w->stop == PTX_STOP_FAULT && w->active) {
        ptx_warp_count(w);
        ptx_warp_park(w, PTX_GROUP_READY, 0);
    }
    w->run->steps += w->steps - before;
    note_progress(w, before);
    return true;
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
                         ? (uint32_t)(ptx_grid_random(run) % block->warp_count)
                         : 0;
    bool ran = false;

    block->polled = true;
    for (uint32_t k = 0; k < block->warp_count && !run->faulted; k++) {
        struct ptx_warp *w = block->warps[warp_in_order(run, k, block->warp_count, shift)];
        if (!w->alive || w->waits || !run_slice(w))
            continue;
        ran = true;
        /* Who has come to a barrier has got somewhere; a spin loop with barriers in it is bounded
         * by the length of a turn. */
        if (w->stop != PTX_STOP_YIELD || !w->polls)
            block->polled = false;
    }
    publish_progress(run);
    return ran;
}

/* A cluster of another thread that comes first in order has failed. */
static bool is_overtaken(const struct ptx_run *run, const struct ptx_cluster *cluster)
{
    return atomic_load_explicit(&run->blocks->fault_order, memory_order_relaxed) < cluster->order;
}

static bool is_stopped(struct ptx_run *run, struct ptx_block *block)
{
    const struct ptx_launch *l = run->launch;

    if (l->stop && *l->stop)
        ptx_stop_standing(block, PTX_FAULT_STOPPED);
    else if (l->deadline_ns && tsm_monotonic_ns() > l->deadline_ns)
        ptx_stop_standing(block, PTX_FAULT_TIMEOUT);
    return run->faulted;
}

/* Lets lanes go on that wait for others of their warp, when all wait. */
static bool let_go(struct ptx_block *block)
{
    bool any = false;

    for (uint32_t k = 0; k < block->warp_count; k++)
        any |= block->warps[k]->alive && ptx_warp_let_go(block->warps[k]);
    return any;
}

/* A block's turn: until it is finished, a fault, or others ought to run. */
static void run_turn(struct ptx_run *run, struct ptx_block *block)
{
    for (unsigned round = 0; round < ROUNDS_MAX && block->alive && !run->faulted; round++) {
        if (is_overtaken(run, block->cluster) || is_stopped(run, block))
            return;
        uint32_t alive = block->alive;
        if (!run_round(run, block)) {
            if (!ptx_cluster_is_ready(block->cluster) && !let_go(block))
                ptx_stop_standing(block, PTX_FAULT_HANG);
            return;
        }
        if (block->polled && round > 0 && alive == block->alive)
            return;
    }
}

static bool is_one_left(const struct ptx_grid *g)
{
    uint64_t next = atomic_load_explicit(&g->run->blocks->next, memory_order_relaxed);

    return next < g->count && next < atomic_load(&g->run->blocks->fault_order);
}

/* False when out of memory; true and no cluster more when another thread took the last one. */
static bool start_cluster(struct ptx_grid *g)
{
    uint64_t order, linear;

    if (!TSM_ARRAY_RESERVE(g->clusters, g->capacity, g->resident + 1) ||
        !ptx_cluster_reserve(g->run))
        return false;
    if (!ptx_grid_take(g->run, &order, &linear))
        return true;
    struct ptx_cluster *cluster = ptx_cluster_create(g->run, linear);
    cluster->order = order;
    g->clusters[g->resident++] = cluster;
    return true;
}

static void remove_cluster(struct ptx_grid *g, size_t at)
{
    ptx_cluster_destroy(g->run, g->clusters[at]);
    TSM_ARRAY_REMOVE(g->clusters, g->resident, at);
}

static void note_fault(struct ptx_run *run, const struct ptx_cluster *cluster)
{
    uint64_t first = atomic_load(&run->blocks->fault_order);

    run->fault_order = cluster->order;
    while (cluster->order < first &&
           !atomic_compare_exchange_weak(&run->blocks->fault_order, &first, cluster->order))
        ;
}

/* A turn of each block of the cluster at `at`; false when this thread has nothing more to do. */
static bool run_one(struct ptx_grid *g, size_t at)
{
    struct ptx_cluster *cluster = g->clusters[at];
    struct ptx_run *run = g->run;

    for (uint32_t k = 0; k < cluster->count && !run->faulted; k++) {
        uint32_t rank = warp_in_order(run, k, cluster->count, 0);
        if (cluster->blocks[rank]->alive)
            run_turn(run, cluster->blocks[rank]);
    }
    if (run->faulted)
        note_fault(run, cluster);
    if (run->faulted || is_overtaken(run, cluster))
        return false;
    if (!cluster->alive)
        remove_cluster(g, at);
    return true;
}

/* Runs the grid. Returns false if out of memory with nothing resident that could go on alone. */
static bool run_grid(struct ptx_grid *g)
{
    size_t at = 0;

    while (is_one_left(g) || g->resident) {
        if (g->resident == 0 && !start_cluster(g))
            return false;
        if (g->resident == 0)
            return true;
        at %= g->resident;
        size_t before = g->resident;
        if (!run_one(g, at))
            return true;
        ptx_parallel_launch_call(g->run);
        if (g->resident < before)
            continue;
        at++;
        /* A new cluster goes to the end, and is next when `at` stands there. */
        if (is_one_left(g) && g->resident < g->resident_max && at == g->resident)
            start_cluster(g);
    }
    return true;
}

static bool is_valid(const struct ptx_launch *l)
{
    for (unsigned k = 0; k < 3; k++)
        if (!l->grid[k] || !l->block[k] || l->block[k] > 1024)
            return false;
    return l->function && l->function->is_entry &&
           (uint64_t)l->block[0] * l->block[1] * l->block[2] <= 1024;
}

/* The shape of its clusters; false when the grid does not consist of such. */
static bool take_cluster(struct ptx_run *run)
{
    const struct ptx_launch *l = run->launch;

    run->cluster_count = 1;
    for (unsigned k = 0; k < 3; k++) {
        uint32_t size = l->cluster[0] ? l->cluster[k] : 1;
        if (!size || size > PTX_CLUSTER_MAX || l->grid[k] % size)
            return false;
        run->cluster[k] = size;
        run->cluster_count *= size;
    }
    return run->cluster_count <= PTX_CLUSTER_MAX;
}

static uint32_t align_up(uint32_t v, uint32_t to)
{
    return (v + to - 1) & ~(to - 1);
}

bool ptx_run_blocks(struct ptx_run *run)
{
    struct ptx_grid g = {.run = run, .count = run->blocks->count};

    g.resident_max = run->launch->cooperative ? g.count : RESIDENT_MAX / run->cluster_count;
    ptx_grid_init(run);
    bool ok = run_grid(&g);
    while (g.resident)
        remove_cluster(&g, g.resident - 1);
    ptx_spare_clusters_free(run);
    ptx_images_drop(run);
    free(g.clusters);
    return ok;
}

/* Returns the stack's size. Calls that are known beforehand get what they need, whatever the limit
 * says. */
static uint32_t stack_size(const struct ptx_launch *launch, const struct ptx_code *code)
{
    bool is_open = code->stack_size >= PTX_STACK_OPEN;

    return is_open && launch->stack_limit > code->stack_size ? launch->stack_limit
                                                             : code->stack_size;
}

/* Memory that the system keeps for itself: cooperative groups of several warps meet there. Programs
 * that do not ask for it do not have it. */
#define RESERVED_SIZE 1024

static void place_reserved(struct ptx_run *run)
{
    run->shared_size = run->shared_static + run->launch->dynamic_shared_size;
    run->shared_reserved = run->shared_size;
    if (!run->launch->module->uses_reserved)
        return;
    run->shared_reserved = align_up(run->shared_size, 128);
    run->shared_size = run->shared_reserved + RESERVED_SIZE;
}

/* Workspace of cooperative_groups::this_grid(), where its blocks meet: its size, and a counter that
 * starts at 0. */
#define WORKSPACE_SIZE 8

static bool take_workspace(struct ptx_run *run)
{
    if (!run->launch->cooperative)
        return true;
    run->workspace = ptx_heap_alloc(WORKSPACE_SIZE);
    if (!run->workspace)
        return false;
    run->workspace[0] = WORKSPACE_SIZE;
    run->workspace[1] = 0;
    return true;
}

/* Rows of a block that are shorter than a warp are rows of its ramps, if they fit. */
static void set_rows(struct ptx_run *run)
{
    uint32_t x = run->launch->block[0];

    run->row = x < PTX_LANES && !(x & (x - 1)) ? x : PTX_LANES;
    run->last_column = run->row - 1;
    run->last_row = PTX_LANES / run->row - 1;
    for (unsigned l = 0; l < PTX_LANES; l++) {
        run->columns[l] = l % run->row;
        run->rows[l] = l / run->row;
    }
}

int ptx_run(const struct ptx_launch *launch, struct ptx_fault *fault, uint64_t *instructions_out)
{
    static uint64_t grid_ids;
    struct ptx_blocks blocks = {.fault_order = UINT64_MAX};
    struct ptx_run run = {.launch = launch, .fault = fault, .blocks = &blocks};

    memset(fault, 0, sizeof(*fault));
    if (instructions_out)
        *instructions_out = 0;
    if (!is_valid(launch) || !take_cluster(&run))
        return PTX_INVALID;
    int status =
        ptx_module_prepare((struct ptx_module *)(uintptr_t)launch->module, launch->function, NULL);
    if (status != PTX_OK)
        return status;
    run.code = (const struct ptx_code *)launch->function; /* info is its first member */
    run.threads = launch->block[0] * launch->block[1] * launch->block[2];
    set_rows(&run);
    run.shared_static = align_up(run.code->info.shared_size,
                                 run.code->dynamic_align > 16 ? run.code->dynamic_align : 16);
    place_reserved(&run);
    run.local_stride = align_up(stack_size(launch, run.code), 16);
    run.grid_id = __atomic_add_fetch(&grid_ids, 1, __ATOMIC_RELAXED);
    blocks.count =
        (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2] / run.cluster_count;
    bool ok = take_workspace(&run) && ptx_watching_begin(&run);
    run.plan = ok && !run.is_observed ? ptx_plan_of(&run) : NULL;
    ok = ok && ptx_run_blocks(&run);
    ptx_watching_end(&run);
    ok = ptx_parallel_launch_finish(&run) && ok;
    ptx_heap_free(run.workspace);
    if (!ok)
        fault->kind = PTX_FAULT_NO_MEMORY;
    if (instructions_out)
        *instructions_out = run.instructions;
    if (launch->warp_instructions)
        *launch->warp_instructions = run.steps;
    return !ok ? PTX_NO_MEMORY : run.faulted ? PTX_INVALID : PTX_OK;
}
