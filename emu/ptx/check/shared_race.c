/* SPDX-License-Identifier: Apache-2.0
 *
 * Races in shared memory: two threads of a cluster touch a byte, one of them writes, and nothing
 * orders the two. Order comes from barriers (vector clocks, a component per warp), from volatile
 * and atomic accesses (each address passes on what its writers knew), and inside a warp from
 * bar.warp.sync. Before sm_70 a warp runs in lockstep, so only lanes of one instruction can race.
 *
 * Where the bookkeeping is coarser than the truth it takes threads for ordered: what is reported is
 * a race, what is not reported may be one.
 */
#include "emu/ptx/check/watching.h"
#include "emu/ptx/handlers/handler.h"
#include "emu/ptx/handlers/memory.h"
#include "emu/ptx/parse/module.h"

#include <stdlib.h>
#include <string.h>

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

/* State for a cluster. Warps are numbered through its blocks. */
struct ptx_shared_race {
    uint32_t warps;
    uint32_t size;      /* bytes of a block's shared memory */
    uint32_t *clocks;   /* warps * warps: what each knows of each; its own component counts */
    uint32_t *epochs;   /* of each warp */
    uint32_t *seen;     /* of its own component, what each warp's strong reads have found again */
    uint32_t *passed;   /* PTX_SYNC_SLOTS * warps, by address: what its strong writers knew */
    struct cell *cells; /* a byte each, block by block */
};

static struct ptx_shared_race *race_new(const struct ptx_cluster *cluster)
{
    struct ptx_shared_race *r = calloc(1, sizeof(*r));
    uint32_t warps = cluster->count * cluster->blocks[0]->warp_count;

    if (!r)
        return NULL;
    r->warps = warps;
    r->size = cluster->blocks[0]->warps[0]->run->shared_size;
    r->clocks = calloc((size_t)warps * warps, sizeof(*r->clocks));
    r->epochs = calloc(warps, sizeof(*r->epochs));
    r->seen = calloc(warps, sizeof(*r->seen));
    r->passed = calloc((size_t)PTX_SYNC_SLOTS * warps, sizeof(*r->passed));
    r->cells = calloc((size_t)cluster->count * r->size + 1, sizeof(*r->cells));
    if (!r->clocks || !r->epochs || !r->seen || !r->passed || !r->cells) {
        ptx_shared_race_destroy(r);
        return NULL;
    }
    for (uint32_t k = 0; k < warps; k++)
        r->clocks[k * warps + k] = 1;
    return r;
}

static struct ptx_shared_race *race_of(struct ptx_cluster *cluster)
{
    if (!cluster->race)
        cluster->race = race_new(cluster);
    return cluster->race;
}

void ptx_shared_race_destroy(struct ptx_shared_race *race)
{
    if (!race)
        return;
    free(race->clocks);
    free(race->epochs);
    free(race->seen);
    free(race->passed);
    free(race->cells);
    free(race);
}

static uint32_t number(const struct ptx_warp *w)
{
    return w->block->rank * w->block->warp_count + w->index;
}

static uint32_t *clock_of(const struct ptx_shared_race *r, uint32_t warp)
{
    return r->clocks + (size_t)warp * r->warps;
}

static void join(const struct ptx_shared_race *r, uint32_t *into, const uint32_t *from)
{
    for (uint32_t k = 0; k < r->warps; k++)
        into[k] = from[k] > into[k] ? from[k] : into[k];
}

/* ---- what orders ---- */

void ptx_shared_race_barrier(struct ptx_cluster *cluster, unsigned id, uint32_t first,
                             uint32_t count)
{
    struct ptx_shared_race *r = race_of(cluster);
    uint32_t all[PTX_CLUSTER_MAX * 32] = {0};

    if (!r)
        return;
    uint32_t each = r->warps / cluster->count;
    for (uint32_t k = first * each; k < (first + count) * each; k++)
        if (cluster->blocks[k / each]->barriers[id].arrived[k % each])
            join(r, all, clock_of(r, k));
    for (uint32_t k = first * each; k < (first + count) * each; k++) {
        if (!cluster->blocks[k / each]->barriers[id].arrived[k % each])
            continue;
        join(r, clock_of(r, k), all);
        clock_of(r, k)[k]++;
        r->epochs[k]++;
    }
}

void ptx_shared_race_warp_sync(struct ptx_warp *w)
{
    struct ptx_shared_race *r = race_of(w->block->cluster);

    if (r)
        r->epochs[number(w)]++;
}

void ptx_shared_race_strong(struct ptx_warp *w, uint64_t address, bool reads, bool writes)
{
    struct ptx_shared_race *r = race_of(w->block->cluster);

    if (!r)
        return;
    uint32_t *passed = r->passed + address / 4 % PTX_SYNC_SLOTS * r->warps;
    uint32_t *clock = clock_of(r, number(w));
    if (reads) {
        uint32_t own = passed[number(w)];
        join(r, clock, passed);
        r->seen[number(w)] = own > r->seen[number(w)] ? own : r->seen[number(w)];
    }
    if (writes) {
        join(r, passed, clock);
        clock[number(w)]++;
    }
}

static bool is_ordered(const struct ptx_shared_race *r, const struct access *earlier,
                       const struct access *now, unsigned target)
{
    uint32_t from = earlier->thread / PTX_LANES;
    uint32_t to = now->thread / PTX_LANES;

    if (!earlier->clock || earlier->thread == now->thread || (earlier->is_strong && now->is_strong))
        return true;
    if (from != to)
        return clock_of(r, to)[from] >= earlier->clock;
    /* Lanes of a warp may pass something on, too. */
    return earlier->epoch < now->epoch || r->seen[from] >= earlier->clock ||
           (target < 70 && earlier->step != now->step);
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
                          const struct access *now, const uint8_t *theirs, uint32_t offset)
{
    const uint8_t *mine = stored_byte(t->warp, t->insn, t->lane, offset);

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
    uint32_t per_block = t->warp->block->warp_count * PTX_LANES;
    uint32_t thread = earlier->thread % per_block;
    struct ptx_finding f = {
        .check = PTX_CHECK_RACE, .space = "shared", .address = offset, .bad = 1};

    f.has_other = true;
    for (unsigned k = 0; k < 3; k++)
        f.other.block[k] = t->warp->block->cluster->blocks[earlier->thread / per_block]->id[k];
    f.other.thread[0] = thread % dim[0];
    f.other.thread[1] = thread / dim[0] % dim[1];
    f.other.thread[2] = thread / dim[0] / dim[1];
    f.other.depth = 1;
    f.other.stack[0] =
        (struct ptx_level){.function = code ? code->info.name : "?", .line = earlier->insn->line};
    f.other_access = ptx_access_of(earlier->insn, earlier_writes);
    ptx_watch_found(t, &f);
}

/* A reader that is ordered before this one is not needed any more; else two of different warps say
 * more than two of one. */
static void remember_read(const struct ptx_shared_race *r, struct cell *c, const struct access *now,
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

/* Byte `offset` of the access, which is byte `shared` of the owner's. False: a race, and it was
 * reported. */
static bool check_byte(const struct ptx_touch *t, struct ptx_shared_race *r,
                       const struct access *now, const struct ptx_block *owner, uint32_t shared,
                       uint32_t offset)
{
    unsigned target = t->warp->run->code->info.target;
    struct cell *c = &r->cells[(size_t)owner->rank * r->size + shared];
    const struct access *bad = NULL;
    bool bad_writes = true;

    if (!is_ordered(r, &c->write, now, target) &&
        !(t->writes && is_same_value(t, &c->write, now, owner->shared + shared, offset)))
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

void ptx_shared_race_access(const struct ptx_touch *t, const struct ptx_block *owner,
                            uint32_t offset)
{
    struct ptx_warp *w = t->warp;
    struct ptx_shared_race *r = race_of(w->block->cluster);
    struct access now = {.insn = t->insn,
                         .step = w->steps,
                         .thread = (uint16_t)(number(w) * PTX_LANES + t->lane),
                         .is_strong = t->is_strong};
    uint64_t place = (uint64_t)owner->rank * w->run->shared_size + offset;
    bool clean = true;

    if (!r)
        return;
    if (t->is_strong)
        ptx_shared_race_strong(w, place, true, false);
    now.clock = clock_of(r, number(w))[number(w)];
    now.epoch = r->epochs[number(w)];
    for (uint32_t k = 0; k < t->size && clean; k++)
        clean = check_byte(t, r, &now, owner, offset + k, k);
    if (t->is_strong && t->writes)
        ptx_shared_race_strong(w, place, false, true);
}
