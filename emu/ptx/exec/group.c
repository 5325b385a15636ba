/* SPDX-License-Identifier: Apache-2.0
 *
 * Groups of lanes: splitting, meeting, exiting, taking turns. See exec.h.
 */
#include "emu/ptx/exec/exec.h"
#include "emu/ptx/exec/ramp.h"
#include "emu/ptx/parse/module.h"

#include <stdlib.h>
#include <string.h>

/* After so many slices of nothing but polling, lanes that wait in a join for the polling ones are
 * let go, as threads of sm_70 and later always make progress. */
#define SPINS_MAX 8

#define SPARE_FRAMES_MAX 8
#define FRAME_HEAD       (sizeof(struct ptx_frame) / 64 * 64 + 64)

/* Calls come and go all the time: a frame that was left is used again. */
static struct ptx_frame *frame_take(struct ptx_warp *w, size_t size)
{
    for (struct ptx_frame **at = &w->spare_frames; *at; at = &(*at)->parent) {
        struct ptx_frame *frame = *at;
        if (frame->capacity < size)
            continue;
        *at = frame->parent;
        w->spare_frame_count--;
        return frame;
    }
    struct ptx_frame *frame = aligned_alloc(64, FRAME_HEAD + size);
    if (frame)
        frame->capacity = size;
    return frame;
}

struct ptx_frame *ptx_frame_create(struct ptx_warp *w, const struct ptx_code *code,
                                   const struct ptx_insn *call, uint32_t lanes)
{
    size_t size = ((size_t)code->frame_size + 127) & ~(size_t)63;
    struct ptx_frame *frame = frame_take(w, size);

    if (!frame)
        return NULL;
    *frame = (struct ptx_frame){.parent = call ? w->frame : NULL,
                                .code = code,
                                .call = call,
                                .inside = lanes,
                                .capacity = frame->capacity};
    frame->registers = (uint8_t *)frame + FRAME_HEAD;
    memset(frame->registers, 0, size);
    frame->local_base = w->run->launch->module->local_size;
    /* Each level takes something, as a return address would, so that no recursion is endless. */
    if (call)
        frame->local_base =
            (w->frame->local_base + w->frame->code->local_frame + w->frame->taken + 31) & ~15u;
    return frame;
}

void ptx_frame_destroy(struct ptx_warp *w, struct ptx_frame *frame)
{
    if (!frame || frame->is_first)
        return;
    if (w->spare_frame_count == SPARE_FRAMES_MAX) {
        free(frame);
        return;
    }
    frame->parent = w->spare_frames;
    w->spare_frames = frame;
    w->spare_frame_count++;
}

void ptx_spare_frames_free(struct ptx_warp *w)
{
    while (w->spare_frames) {
        struct ptx_frame *next = w->spare_frames->parent;
        free(w->spare_frames);
        w->spare_frames = next;
    }
    w->spare_frame_count = 0;
}

void ptx_warp_count(struct ptx_warp *w)
{
    uint64_t steps = w->steps - w->counted;

    if (!steps)
        return;
    w->run->instructions += steps * ptx_lane_count(w->active);
    w->counted = w->steps;
}

void ptx_warp_set_frame(struct ptx_warp *w, struct ptx_frame *frame)
{
    w->frame = frame;
    w->base[PTX_BASE_FRAME] = frame ? frame->registers : NULL;
    w->to_step = w->ramps && frame == w->first
                     ? (uintptr_t)w->run->plan->steps - (uintptr_t)w->run->code->insns
                     : 0;
}

static void take(struct ptx_warp *w, int index)
{
    const struct ptx_group *g = &w->groups[index];

    ptx_warp_count(w);
    w->current = (int8_t)index;
    w->pc = g->pc;
    w->active = g->mask;
    w->join = g->join;
    ptx_warp_set_frame(w, g->frame);
}

void ptx_warp_park(struct ptx_warp *w, enum ptx_group_state state, uint32_t wait)
{
    w->groups[w->current] = (struct ptx_group){.pc = w->pc,
                                               .frame = w->frame,
                                               .mask = w->active,
                                               .wait = wait,
                                               .state = (uint8_t)state,
                                               .join = w->join};
}

static int next_ready(const struct ptx_warp *w, int after)
{
    if (w->used_groups == 1)
        return w->groups[0].state == PTX_GROUP_READY ? 0 : -1;
    unsigned start = (unsigned)(after + 1) % PTX_LANES;
    /* From `start` upwards and around. */
    uint64_t turned = ((uint64_t)w->used_groups << PTX_LANES | w->used_groups) >> start;

    for (uint32_t left = (uint32_t)turned; left; left &= left - 1) {
        unsigned at = (start + (unsigned)__builtin_ctz(left)) % PTX_LANES;
        if (w->groups[at].state == PTX_GROUP_READY)
            return (int)at;
    }
    return -1;
}

void ptx_warp_switch(struct ptx_warp *w)
{
    int next = next_ready(w, w->current);

    if (next >= 0) {
        take(w, next);
        return;
    }
    ptx_warp_count(w);
    w->active = 0;
    w->waits = true;
    w->stop = PTX_STOP_SWITCH;
}

bool ptx_warp_resume(struct ptx_warp *w)
{
    int next = next_ready(w, w->current);

    if (next < 0)
        return false;
    w->waits = false;
    w->stop = PTX_STOP_NONE;
    take(w, next);
    return true;
}

/* Groups are disjoint and not empty, so 32 lanes never need more than 32. */
static void add_group(struct ptx_warp *w, const struct ptx_insn *pc, struct ptx_frame *frame,
                      uint32_t lanes, uint8_t join)
{
    unsigned at = (unsigned)__builtin_ctz(~w->used_groups);

    w->used_groups |= 1u << at;
    w->groups[at] = (struct ptx_group){
        .pc = pc, .frame = frame, .mask = lanes, .state = PTX_GROUP_READY, .join = join};
}

static void drop_current(struct ptx_warp *w)
{
    w->groups[w->current].state = PTX_GROUP_FREE;
    w->used_groups &= ~(1u << w->current);
}

static uint8_t open_join(struct ptx_warp *w, const struct ptx_insn *rejoin)
{
    unsigned at = ~w->open_joins ? (unsigned)__builtin_ctzll(~w->open_joins) : PTX_JOIN_COUNT - 1;

    w->open_joins |= 1ull << at;
    w->joins[at] = (struct ptx_join){
        .pc = rejoin, .frame = w->frame, .expected = w->active, .parent = w->join};
    return (uint8_t)at;
}

void ptx_warp_split(struct ptx_warp *w, uint32_t lanes, const struct ptx_insn *pc,
                    const struct ptx_insn *rejoin)
{
    const struct ptx_join *j = w->join == PTX_JOIN_NONE ? NULL : &w->joins[w->join];

    if (!j || j->pc != rejoin || j->frame != w->frame)
        w->join = open_join(w, rejoin);
    add_group(w, pc, w->frame, w->active & ~lanes, w->join);
    ptx_warp_count(w);
    w->active = lanes;
}

bool ptx_warp_join(struct ptx_warp *w, const struct ptx_insn *i)
{
    while (w->join != PTX_JOIN_NONE) {
        struct ptx_join *j = &w->joins[w->join];
        if (j->pc != i || j->frame != w->frame)
            return true;
        j->arrived |= w->active;
        if (j->arrived != j->expected) {
            drop_current(w);
            ptx_warp_switch(w);
            return false;
        }
        ptx_warp_count(w);
        w->active = w->mask = j->expected;
        w->open_joins &= ~(1ull << w->join);
        w->join = j->parent;
        j->expected = j->arrived = 0;
    }
    return true;
}

/* Lanes that wait in a join get a group of their own again; it stands at the join's instruction. */
static void release_join(struct ptx_warp *w, unsigned index, uint8_t join)
{
    struct ptx_join *j = &w->joins[index];

    add_group(w, j->pc, j->frame, j->arrived, join);
    j->arrived = 0;
}

static void leave_joins(struct ptx_warp *w, uint32_t lanes)
{
    for (uint64_t left = w->open_joins; left; left &= left - 1) {
        unsigned k = (unsigned)__builtin_ctzll(left);
        struct ptx_join *j = &w->joins[k];
        if (!(j->expected & lanes))
            continue;
        j->expected &= ~lanes;
        if (!j->expected)
            w->open_joins &= ~(1ull << k);
        else if (j->arrived == j->expected)
            release_join(w, k, (uint8_t)k);
    }
}

static void leave_frames(struct ptx_warp *w, struct ptx_frame *frame, uint32_t lanes)
{
    while (frame) {
        struct ptx_frame *parent = frame->parent;
        frame->inside &= ~lanes;
        if (!frame->inside)
            ptx_frame_destroy(w, frame);
        frame = parent;
    }
}

/* Who waits at a .sync instruction looks again: the lanes it waits for may be gone. */
static void wake_syncs(struct ptx_warp *w)
{
    for (uint32_t left = w->used_groups; left; left &= left - 1) {
        struct ptx_group *g = &w->groups[__builtin_ctz(left)];
        if (g->state == PTX_GROUP_SYNC)
            g->state = PTX_GROUP_READY;
    }
}

/* The last lanes of a warp exit, and nothing of it is left: no group, no join, no frame but the
 * first. */
static void exit_last(struct ptx_warp *w)
{
    w->used_groups = 0;
    w->groups[0].state = PTX_GROUP_FREE;
    w->first->inside = 0;
    w->waits = true;
    w->stop = PTX_STOP_SWITCH;
}

void ptx_warp_exit(struct ptx_warp *w, uint32_t lanes)
{
    ptx_warp_count(w);
    w->active &= ~lanes;
    w->alive &= ~lanes;
    w->block->alive -= ptx_lane_count(lanes);
    w->block->cluster->alive -= ptx_lane_count(lanes);
    if (!w->alive && w->used_groups == 1 && !w->open_joins && w->frame == w->first) {
        exit_last(w);
        return;
    }
    if (!w->active)
        drop_current(w);
    leave_joins(w, lanes);
    leave_frames(w, w->frame, lanes);
    wake_syncs(w);
    if (!w->active)
        ptx_warp_switch(w);
}

static void leave_join(struct ptx_warp *w, unsigned k)
{
    uint32_t freed = w->joins[k].arrived;

    release_join(w, k, w->joins[k].parent);
    w->joins[k].expected &= ~freed;
    if (!w->joins[k].expected)
        w->open_joins &= ~(1ull << k);
}

static void let_waiting_go(struct ptx_warp *w)
{
    unsigned k = w->join;

    while (k != PTX_JOIN_NONE && !w->joins[k].arrived)
        k = w->joins[k].parent;
    if (k != PTX_JOIN_NONE)
        leave_join(w, k);
}

bool ptx_warp_let_go(struct ptx_warp *w)
{
    bool any = false;

    for (uint64_t left = w->open_joins; left; left &= left - 1) {
        unsigned k = (unsigned)__builtin_ctzll(left);
        if (!w->joins[k].arrived || w->joins[k].frame->code->info.target < 70)
            continue;
        leave_join(w, k);
        any = true;
    }
    w->waits &= !any;
    return any;
}

void ptx_warp_yield(struct ptx_warp *w)
{
    bool alone;

    ptx_warp_park(w, PTX_GROUP_READY, 0);
    alone = next_ready(w, w->current) == w->current;
    w->spins = alone && w->polls ? w->spins + 1 : 0;
    if (w->spins > SPINS_MAX && w->frame->code->info.target >= 70) {
        w->spins = 0;
        let_waiting_go(w);
    }
    ptx_warp_count(w);
    w->stop = PTX_STOP_YIELD;
}

static uint32_t member_lanes(const struct ptx_warp *w, ptx_op members)
{
    if (members == PTX_OP_NONE)
        return w->mask;
    unsigned first = (unsigned)__builtin_ctz(w->mask);
    return ((const uint32_t *)ptx_lanes(w, members))[first] & w->alive;
}

uint32_t ptx_warp_part(const struct ptx_warp *w, ptx_op members, uint32_t run)
{
    uint32_t same = 0;

    if (members == PTX_OP_NONE || (members & PTX_OP_BASE_MASK) == PTX_BASE_POOL)
        return run;
    const uint32_t *values = ptx_lanes(w, members);
    uint32_t value = values[__builtin_ctz(run)];
    for (unsigned l = 0; l < PTX_LANES; l++)
        same |= (uint32_t)(values[l] == value) << l;
    return same & run;
}

/* Nobody in the group has to wait for a lane that is elsewhere. */
static bool is_complete(const struct ptx_warp *w, ptx_op members)
{
    const uint32_t *values = ptx_lanes(w, members);
    uint32_t part;

    for (uint32_t left = w->mask; left; left &= ~part) {
        part = ptx_warp_part(w, members, left);
        if (values[__builtin_ctz(left)] & w->alive & ~w->active)
            return false;
    }
    return true;
}

/* The lanes that name other members than the first become a group of their own. */
static void split_members(struct ptx_warp *w, const struct ptx_insn *i, ptx_op members)
{
    uint32_t same = ptx_warp_part(w, members, w->mask);
    uint32_t others = w->mask & ~same;

    if (!others || is_complete(w, members))
        return;
    add_group(w, i, w->frame, others, w->join);
    ptx_warp_count(w);
    w->active &= ~others;
    w->mask = same;
}

void *ptx_group_lanes(const struct ptx_warp *w, const struct ptx_group *g, ptx_op op)
{
    uint8_t *base = (op & PTX_OP_BASE_MASK) == PTX_BASE_FRAME ? g->frame->registers
                                                              : w->base[op & PTX_OP_BASE_MASK];

    return base + (op & ~(PTX_OP_UNIT - 1));
}

uint32_t ptx_group_guarded(const struct ptx_warp *w, const struct ptx_group *g,
                           const struct ptx_insn *i)
{
    uint32_t bits;

    if (i->guard == PTX_OP_NONE)
        return g->mask;
    bits = *(const uint32_t *)ptx_group_lanes(w, g, i->guard);
    return g->mask & (i->guard & PTX_OP_NOT ? ~bits : bits);
}

/* Tests whether lanes at both instructions may execute them together: by what the instruction does,
 * not by where it stands. */
static bool is_alike(const struct ptx_insn *a, const struct ptx_insn *b)
{
    return a->fn == b->fn &&
           (a->flags & PTX_F_ANYWHERE || (a->flags == b->flags && a->type == b->type));
}

/* Groups at the same instruction of the same call may be run together: their lanes are lanes of the
 * same registers. Of a plain bar.warp.sync elsewhere only the presence is needed. */
uint32_t ptx_warp_gather(struct ptx_warp *w, const struct ptx_insn *i, ptx_op members,
                         uint32_t *others)
{
    split_members(w, i, members);
    uint32_t need = member_lanes(w, members);
    uint32_t present = w->active;
    uint32_t run = w->mask;

    *others = 0;
    if (!(need & ~present))
        return run;
    for (unsigned k = 0; k < PTX_LANES; k++) {
        const struct ptx_group *g = &w->groups[k];
        if (g->state != PTX_GROUP_SYNC || g->wait != need || !is_alike(g->pc, i))
            continue;
        present |= g->mask;
        if (g->pc == i && g->frame == w->frame)
            run |= ptx_group_guarded(w, g, i);
        else if (!(i->flags & PTX_F_ANYWHERE))
            *others |= 1u << k;
    }
    if (need & ~present) {
        *others = 0;
        w->pc = i;
        ptx_warp_park(w, PTX_GROUP_SYNC, need);
        ptx_warp_switch(w);
        return 0;
    }
    for (unsigned k = 0; k < PTX_LANES; k++) {
        struct ptx_group *g = &w->groups[k];
        if (g->state != PTX_GROUP_SYNC || !(g->mask & present) || g->wait != need)
            continue;
        g->pc++;
        g->state = PTX_GROUP_READY;
    }
    return run;
}
