/* SPDX-License-Identifier: Apache-2.0
 *
 * A launch on several host threads. Only for kernels whose blocks can see nothing of one another
 * but plain memory: then the order of blocks changes no result of a program without data races.
 *
 * The launch begins on one thread; others come when it has run for a while, so that small ones cost
 * nothing. Threads live as long as the launch.
 */
#include "emu/ptx/launch/parallel_launch.h"

#include "base/thread.h"
#include "emu/ptx/handlers/handler.h"
#include "emu/ptx/handlers/memory.h"

#include <pthread.h>
#include <stdlib.h>

#define STEPS_ALONE 20000 /* warp-instructions before others are called: some 200 us */
#define THREADS_MAX 64

struct member {
    pthread_t thread;
    struct ptx_run run;
    struct ptx_fault fault;
    bool ok;
};

struct ptx_parallel_launch {
    unsigned count;
    struct member members[];
};

/* ---- which kernels ---- */

/* Adding and the like without looking at the old value: any order gives the same sum. */
static bool is_commutative(const struct ptx_insn *i)
{
    unsigned op = PTX_MODE(i);

    return i->dst == PTX_OP_NONE && op <= PTX_ATOM_XOR && ptx_type_class(i->type) != 'f';
}

static bool is_of_lanes(ptx_fn fn)
{
    static const ptx_fn fns[] = {
        ptx_run_branch,     ptx_run_branch_table,   ptx_run_join,
        ptx_run_end,        ptx_run_exit,           ptx_run_trap,
        ptx_run_nothing,    ptx_run_rounded,        ptx_run_load,
        ptx_run_load_param, ptx_run_store,          ptx_run_local_address,
        ptx_run_cvta,       ptx_run_isspacep,       ptx_run_shuffle,
        ptx_run_vote,       ptx_run_match,          ptx_run_reduce,
        ptx_run_warp_sync,  ptx_run_active_mask,    ptx_run_elect,
        ptx_run_barrier,    ptx_run_pack,           ptx_run_unpack,
        ptx_run_mma,        ptx_run_load_matrix,    ptx_run_map_address,
        ptx_run_block_rank, ptx_run_cluster_arrive, ptx_run_cluster_wait,
        ptx_run_is_shared,  ptx_run_const_address,  ptx_run_istypep,
    };

    for (size_t k = 0; k < sizeof(fns) / sizeof(fns[0]); k++)
        if (fns[k] == fn)
            return true;
    return ptx_handler_is(fn);
}

/* A cluster is one thread's. */
static bool is_shared(const struct ptx_insn *i)
{
    return i->space == PTX_SPACE_SHARED || i->space == PTX_SPACE_CLUSTER;
}

/* Instructions that are not known to stay within their block do not. */
static bool is_alone(const struct ptx_insn *i)
{
    if (i->fn == ptx_run_atomic)
        return is_shared(i) || is_commutative(i);
    if (i->fn == ptx_run_call)
        return ((const struct ptx_call *)i->extra)->target != NULL;
    if (i->fn == ptx_run_load || i->fn == ptx_run_store)
        return is_shared(i) || !(i->flags & PTX_F_POLL);
    return is_of_lanes(i->fn);
}

/* The answer is kept; two launches that look for it at once find the same. A function that is being
 * looked at counts as alone: its other instructions decide. */
enum { UNKNOWN, ALONE, TOGETHER };

static bool is_code_alone(struct ptx_code *code)
{
    uint8_t known = __atomic_load_n(&code->is_alone, __ATOMIC_RELAXED);

    if (known != UNKNOWN)
        return known == ALONE;
    bool alone = code->used_code_count == 0 && !code->calls_unknown;
    for (uint32_t k = 0; alone && k < code->insn_count; k++)
        alone = is_alone(&code->insns[k]);
    __atomic_store_n(&code->is_alone, alone ? ALONE : TOGETHER, __ATOMIC_RELAXED);
    return alone;
}

static bool may_share(const struct ptx_run *run)
{
    const struct ptx_launch *l = run->launch;

    return l->threads > 1 && l->schedule == PTX_SCHEDULE_FIFO && !l->cooperative &&
           !run->is_observed && is_code_alone((struct ptx_code *)(uintptr_t)run->code);
}

/* ---- threads ---- */

static void *work(void *user)
{
    struct member *m = user;

    m->ok = ptx_run_blocks(&m->run);
    return NULL;
}

static bool start_member(struct member *m, const struct ptx_run *first)
{
    m->run = *first;
    m->run.fault = &m->fault;
    m->run.instructions = m->run.steps = 0;
    m->run.spare_clusters = NULL;
    m->run.team = NULL;
    m->run.is_helper = true;
    return tsm_thread_create_blocked(&m->thread, work, m) == 0;
}

void ptx_parallel_launch_call(struct ptx_run *run)
{
    const struct ptx_launch *l = run->launch;
    uint64_t left = run->blocks->count - atomic_load(&run->blocks->next);
    unsigned count = (l->threads < THREADS_MAX ? l->threads : THREADS_MAX) - 1;

    if (run->is_helper || run->team || run->steps < STEPS_ALONE || left < 2 || !may_share(run))
        return;
    count = left < count ? (unsigned)left : count;
    run->team = calloc(1, sizeof(*run->team) + count * sizeof(run->team->members[0]));
    if (!run->team)
        return;
    while (run->team->count < count && start_member(&run->team->members[run->team->count], run))
        run->team->count++;
}

bool ptx_parallel_launch_finish(struct ptx_run *run)
{
    bool ok = true;

    for (unsigned k = 0; run->team && k < run->team->count; k++) {
        struct member *m = &run->team->members[k];
        pthread_join(m->thread, NULL);
        ok = ok && m->ok;
        run->instructions += m->run.instructions;
        run->steps += m->run.steps;
        if (m->run.faulted && (!run->faulted || m->run.fault_order < run->fault_order)) {
            *run->fault = m->fault;
            run->faulted = true;
            run->fault_order = m->run.fault_order;
        }
    }
    free(run->team);
    run->team = NULL;
    return ok;
}
