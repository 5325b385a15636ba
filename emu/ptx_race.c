/* SPDX-License-Identifier: Apache-2.0
 *
 * Races in shared memory: two threads of a block touch a byte, one of them writes, and nothing
 * orders the two. Order comes from barriers (vector clocks, a component per warp), from volatile
 * and atomic accesses (each address passes on what its writers knew), and inside a warp from
 * bar.warp.sync. Before sm_70 a warp runs in lockstep, so only lanes of one instruction can race.
 *
 * Where the bookkeeping is coarser than the truth it takes threads for ordered: what is reported is
 * a race, what is not reported may be one.
 */
#include "emu/ptx_handler.h"
#include "emu/ptx_memory.h"
#include "emu/ptx_module.h"
#include "emu/ptx_watching.h"

#include <stdlib.h>
#include <string.h>

#define WARPS   32
#define READERS 2

/* One remembered access of a byte. clock 0: none. */
struct access {
    const struct ptx_insn *insn;
    uint64_t step; /* of the warp: tells lanes of one instruction from lanes of two */
    uint32_t clock;
    uint32_t epoch; /* of the warp, moved by bar.warp.sync */
    uint16_t thread;
    bool is_strong;
};

struct cell {
    struct access write;
    struct access reads[READERS];
};

struct ptx_race {
    uint32_t clocks[WARPS][WARPS]; /* what each warp knows of each; its own component counts */
    uint32_t epochs[WARPS];
    uint32_t passed[PTX_SYNC_SLOTS][WARPS]; /* by address: what its strong writers knew */
    struct cell cells[];                    /* a byte each */
};

static struct ptx_race *race_of(struct ptx_block *block)
{
    struct ptx_block_watching *b = ptx_watching_block(block);
    uint32_t size = block->warps[0]->run->shared_size;

    if (!b || b->race)
        return b ? b->race : NULL;
    b->race = calloc(1, sizeof(*b->race) + size * sizeof(struct cell));
    for (unsigned k = 0; b->race && k < WARPS; k++)
        b->race->clocks[k][k] = 1;
    return b->race;
}

void ptx_race_destroy(struct ptx_race *race)
{
    free(race);
}

static void join(uint32_t *into, const uint32_t *from)
{
    for (unsigned k = 0; k < WARPS; k++)
        into[k] = from[k] > into[k] ? from[k] : into[k];
}

/* ---- what orders ---- */

void ptx_race_barrier(struct ptx_block *block, const struct ptx_barrier *barrier)
{
    struct ptx_race *r = race_of(block);
    uint32_t all[WARPS] = {0};

    if (!r)
        return;
    for (uint32_t k = 0; k < block->warp_count; k++)
        if (barrier->arrived[k])
            join(all, r->clocks[k]);
    for (uint32_t k = 0; k < block->warp_count; k++) {
        if (!barrier->arrived[k])
            continue;
        join(r->clocks[k], all);
        r->clocks[k][k]++;
        r->epochs[k]++;
    }
}

void ptx_race_warp_sync(struct ptx_warp *w)
{
    struct ptx_race *r = race_of(w->block);

    if (r)
        r->epochs[w->index]++;
}

void ptx_race_strong(struct ptx_warp *w, uint64_t address, bool reads, bool writes)
{
    struct ptx_race *r = race_of(w->block);
    uint32_t *passed = r ? r->passed[address / 4 % PTX_SYNC_SLOTS] : NULL;

    if (!r)
        return;
    if (reads)
        join(r->clocks[w->index], passed);
    if (writes) {
        join(passed, r->clocks[w->index]);
        r->clocks[w->index][w->index]++;
    }
}

static bool is_ordered(const struct ptx_race *r, const struct access *earlier,
                       const struct access *now, unsigned target)
{
    unsigned from = earlier->thread / PTX_LANES;
    unsigned to = now->thread / PTX_LANES;

    if (!earlier->clock || earlier->thread == now->thread || (earlier->is_strong && now->is_strong))
        return true;
    if (from != to)
        return r->clocks[to][from] >= earlier->clock;
    return earlier->epoch < now->epoch || (target < 70 && earlier->step != now->step);
}

/* ---- equal values ---- */

/* The byte that a lane is about to store at `offset` of its access; NULL: not known. */
static const uint8_t *stored_byte(const struct ptx_warp *w, const struct ptx_insn *i, unsigned lane,
                                  uint32_t offset)
{
    unsigned size = ptx_type_size(i->type);
    unsigned reg = i->flags >> PTX_F_MODE_SHIFT & 0xff;
    ptx_op op;

    if ((i->fn != ptx_run_store && !ptx_handler_is(i->fn)) || !size || !reg)
        return NULL;
    op = i->count > 1 ? ((const ptx_op *)i->extra)[offset / size] : i->dst;
    return (const uint8_t *)ptx_lanes(w, op) + lane * reg + offset % size;
}

/* Two stores of the same value: a common way of raising a flag, and without harm. */
static bool is_same_value(const struct ptx_touch *t, const struct access *earlier,
                          const struct access *now, uint32_t shared, uint32_t offset)
{
    const uint8_t *mine = stored_byte(t->warp, t->insn, t->lane, offset);
    const uint8_t *theirs = t->warp->block->shared + shared;

    if (earlier->insn == now->insn && earlier->step == now->step &&
        earlier->thread / PTX_LANES == now->thread / PTX_LANES) /* not in memory yet */
        theirs = stored_byte(t->warp, t->insn, earlier->thread % PTX_LANES, offset);
    return mine && theirs && *mine == *theirs;
}

/* ---- accesses ---- */

static const struct ptx_code *code_of(const struct ptx_module *m, const struct ptx_insn *i)
{
    for (size_t k = 0; k < m->codes.count; k++) {
        const struct ptx_code *code = ptx_code_at(m, k);
        if (ptx_code_holds(code, i))
            return code;
    }
    return NULL;
}

static void report(const struct ptx_touch *t, const struct access *earlier, bool earlier_writes,
                   uint32_t offset)
{
    const struct ptx_run *run = t->warp->run;
    const struct ptx_code *code = code_of(run->launch->module, earlier->insn);
    const uint32_t *dim = run->launch->block;
    struct ptx_finding f = {
        .check = PTX_CHECK_RACE, .space = "shared", .address = offset, .bad = 1};

    f.has_other = true;
    for (unsigned k = 0; k < 3; k++)
        f.other.block[k] = t->warp->block->id[k];
    f.other.thread[0] = earlier->thread % dim[0];
    f.other.thread[1] = earlier->thread / dim[0] % dim[1];
    f.other.thread[2] = earlier->thread / dim[0] / dim[1];
    f.other.depth = 1;
    f.other.stack[0] =
        (struct ptx_level){.function = code ? code->info.name : "?", .line = earlier->insn->line};
    f.other_access = ptx_access_of(earlier->insn, earlier_writes);
    ptx_watch_found(t, &f);
}

/* A reader that is ordered before this one is not needed any more; else two of different warps say
 * more than two of one. */
static void remember_read(const struct ptx_race *r, struct cell *c, const struct access *now,
                          unsigned target)
{
    unsigned at = 0;

    while (at < READERS && c->reads[at].thread != now->thread &&
           !is_ordered(r, &c->reads[at], now, target))
        at++;
    if (at == READERS)
        at = c->reads[0].thread / PTX_LANES == c->reads[1].thread / PTX_LANES;
    c->reads[at] = *now;
}

/* False: a race, and it was reported. */
static bool check_byte(const struct ptx_touch *t, struct ptx_race *r, const struct access *now,
                       uint32_t shared, uint32_t offset)
{
    unsigned target = t->warp->run->code->info.target;
    struct cell *c = &r->cells[shared];
    const struct access *bad = NULL;
    bool bad_writes = true;

    if (!is_ordered(r, &c->write, now, target) &&
        !(t->writes && is_same_value(t, &c->write, now, shared, offset)))
        bad = &c->write;
    for (unsigned k = 0; !bad && t->writes && k < READERS; k++)
        if (!is_ordered(r, &c->reads[k], now, target)) {
            bad = &c->reads[k];
            bad_writes = false;
        }
    if (bad)
        report(t, bad, bad_writes, shared - offset);
    if (t->writes)
        *c = (struct cell){.write = *now};
    else
        remember_read(r, c, now, target);
    return !bad;
}

void ptx_race_touch(const struct ptx_touch *t, uint32_t offset)
{
    struct ptx_warp *w = t->warp;
    struct ptx_race *r = race_of(w->block);
    struct access now = {.insn = t->insn,
                         .step = w->steps,
                         .thread = (uint16_t)(w->index * PTX_LANES + t->lane),
                         .is_strong = t->is_strong};
    bool clean = true;

    if (!r)
        return;
    if (t->is_strong)
        ptx_race_strong(w, offset, true, false);
    now.clock = r->clocks[w->index][w->index];
    now.epoch = r->epochs[w->index];
    for (uint32_t k = 0; k < t->size && clean; k++)
        clean = check_byte(t, r, &now, offset + k, k);
    if (t->is_strong && t->writes)
        ptx_race_strong(w, offset, false, true);
}
