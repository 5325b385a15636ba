/* SPDX-License-Identifier: Apache-2.0
 *
 * Branches, calls, returns, exits.
 */
#include "emu/ptx/exec/barrier.h"
#include "emu/ptx/exec/exec.h"
#include "emu/ptx/handlers/builtin.h"
#include "emu/ptx/handlers/memory.h"
#include "emu/ptx/parse/module.h"

#include <fenv.h>
#include <string.h>

#define POLLS_MAX 32

static const struct ptx_insn *insn_at(const struct ptx_warp *w, uint64_t index)
{
    return w->frame->code->insns + index;
}

static void jump(struct ptx_warp *w, const struct ptx_insn *from, const struct ptx_insn *to)
{
    w->pc = to;
    if (to <= from && (w->steps >= w->slice_end || w->polls >= POLLS_MAX))
        ptx_warp_yield(w);
}

/* imm: the target; rejoin: where both ways meet. */
void ptx_run_branch(struct ptx_warp *w, const struct ptx_insn *i)
{
    const struct ptx_insn *target = insn_at(w, (uint64_t)i->imm);

    if (w->mask != w->active)
        ptx_warp_split(w, w->mask, i + 1, insn_at(w, i->rejoin));
    jump(w, i, target);
}

/* brx.idx: extra: the count, then the targets; src[0]: the index; imm: where the ways meet. */
void ptx_run_branch_table(struct ptx_warp *w, const struct ptx_insn *i)
{
    const uint32_t *targets = i->extra;
    const uint32_t *index = ptx_lanes(w, i->src[0]);
    unsigned first = (unsigned)__builtin_ctz(w->mask);
    uint32_t same = 0;

    if (index[first] >= targets[0]) {
        ptx_stop_fault(w, i, first, PTX_FAULT_TRAP, index[first], 0);
        return;
    }
    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctz(left);
        same |= (uint32_t)(index[l] == index[first]) << l;
    }
    if (same != w->active) /* the others come back to this instruction */
        ptx_warp_split(w, same, i, insn_at(w, (uint64_t)i->imm));
    jump(w, i, insn_at(w, targets[1 + index[first]]));
}

void ptx_run_join(struct ptx_warp *w, const struct ptx_insn *i)
{
    ptx_warp_join(w, i);
}

static uint8_t *local_at(const struct ptx_warp *w, const struct ptx_frame *frame, unsigned lane,
                         uint32_t offset)
{
    return w->local + lane * w->run->local_stride + frame->local_base + offset;
}

/* Arguments that are predicates have size 0: a bit of a mask. */
static void copy_pred(const uint8_t *from_base, ptx_op from, uint8_t *to_base, ptx_op to,
                      uint32_t lanes)
{
    uint32_t bits = *(const uint32_t *)(const void *)(from_base + (from & ~63u));
    uint32_t *d = (uint32_t *)(void *)(to_base + (to & ~63u));

    if (from & PTX_OP_NOT)
        bits = ~bits;
    *d = (*d & ~lanes) | (bits & lanes);
}

struct place {
    struct ptx_frame *frame;
    const struct ptx_arg *arg;
};

static uint8_t *place_lane(const struct ptx_warp *w, struct place at, unsigned lane)
{
    if (at.arg->reg == PTX_OP_NONE)
        return local_at(w, at.frame, lane, at.arg->offset);
    uint8_t *base = (at.arg->reg & PTX_OP_BASE_MASK) == PTX_BASE_FRAME
                        ? at.frame->registers
                        : w->base[at.arg->reg & PTX_OP_BASE_MASK];
    return base + (at.arg->reg & ~63u) + lane * at.arg->size;
}

static void copy_arg(struct ptx_warp *w, struct place from, struct place to, uint32_t lanes)
{
    uint32_t size = from.arg->size < to.arg->size ? from.arg->size : to.arg->size;

    if (size == 0 && from.arg->reg != PTX_OP_NONE && to.arg->reg != PTX_OP_NONE) {
        uint8_t *base = (from.arg->reg & PTX_OP_BASE_MASK) == PTX_BASE_FRAME
                            ? from.frame->registers
                            : w->base[from.arg->reg & PTX_OP_BASE_MASK];
        copy_pred(base, from.arg->reg, to.frame->registers, to.arg->reg, lanes);
        return;
    }
    for (uint32_t left = lanes; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctz(left);
        memcpy(place_lane(w, to, l), place_lane(w, from, l), size);
        if (w->run->observer)
            w->run->observer->pass(w, place_lane(w, to, l), size);
    }
}

static void enter(struct ptx_warp *w, const struct ptx_insn *i, const struct ptx_code *code,
                  const struct ptx_call *call)
{
    struct ptx_frame *caller = w->frame;
    struct ptx_frame *frame = ptx_frame_create(w, code, i, w->active);
    unsigned first = (unsigned)__builtin_ctz(w->active);

    if (!frame) {
        ptx_stop_fault(w, i, first, PTX_FAULT_NO_MEMORY, 0, 0);
        return;
    }
    ptx_warp_set_frame(w, frame);
    if (frame->local_base + (uint64_t)code->local_frame > w->run->local_stride) {
        ptx_stop_fault(w, i, first, PTX_FAULT_STACK, PTX_LOCAL_WINDOW + frame->local_base,
                       code->local_frame);
        return;
    }
    if (w->run->observer)
        w->run->observer->enter(w);
    uint32_t count = call->arg_count < code->param_count ? call->arg_count : code->param_count;
    for (uint32_t k = 0; k < count; k++)
        copy_arg(w, (struct place){caller, &call->args[k]},
                 (struct place){frame, &code->params[code->result_count + k]}, w->active);
    w->pc = code->insns;
}

/* The lanes that call the same function go together; the others come back to this instruction. */
static const struct ptx_code *indirect_target(struct ptx_warp *w, const struct ptx_insn *i)
{
    const uint64_t *pointers = ptx_lanes(w, i->src[0]);
    unsigned first = (unsigned)__builtin_ctz(w->mask);
    uint64_t index = (pointers[first] - PTX_CODE_WINDOW) / 16;
    const struct ptx_module *module = w->run->launch->module;
    uint32_t same = 0;

    const struct ptx_code *target = index < module->codes.count ? ptx_code_at(module, index) : NULL;
    if (target && target->alias)
        target = target->alias;
    if (pointers[first] < PTX_CODE_WINDOW || !target || !target->insns) {
        ptx_stop_fault(w, i, first, PTX_FAULT_PC, pointers[first], 0);
        return NULL;
    }
    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctz(left);
        same |= (uint32_t)(pointers[l] == pointers[first]) << l;
    }
    if (same != w->active)
        ptx_warp_split(w, same, i, insn_at(w, (uint64_t)i->imm));
    return target;
}

/* extra: struct ptx_call. Never guarded: a guarded call is decoded as a branch around one. */
void ptx_run_call(struct ptx_warp *w, const struct ptx_insn *i)
{
    const struct ptx_call *call = i->extra;
    const struct ptx_code *code = call->target;

    if (!code && call->target_name) {
        ptx_builtin_run(w, i, call);
        return;
    }
    if (!code)
        code = indirect_target(w, i);
    if (code)
        enter(w, i, code, call);
}

static void leave(struct ptx_warp *w)
{
    struct ptx_frame *frame = w->frame;
    struct ptx_frame *caller = frame->parent;
    const struct ptx_code *code = frame->code;
    const struct ptx_call *call = frame->call->extra;
    uint32_t count =
        call->result_count < code->result_count ? call->result_count : code->result_count;

    for (uint32_t k = 0; k < count; k++)
        copy_arg(w, (struct place){frame, &code->params[k]},
                 (struct place){caller, &call->args[call->arg_count + k]}, w->active);
    w->pc = frame->call + 1;
    ptx_warp_set_frame(w, caller);
    frame->inside &= ~w->active;
    if (!frame->inside)
        ptx_frame_destroy(w, frame);
}

/* A barrier may have waited for these lanes only. */
static void exit_lanes(struct ptx_warp *w, uint32_t lanes)
{
    ptx_warp_exit(w, lanes);
    if (w->block->open_barriers || w->block->cluster->is_arrived)
        ptx_barrier_check(w->block);
}

void ptx_run_end(struct ptx_warp *w, const struct ptx_insn *i)
{
    if (w->join != PTX_JOIN_NONE && !ptx_warp_join(w, i))
        return;
    if (w->frame->parent)
        leave(w);
    else
        exit_lanes(w, w->active);
}

void ptx_run_exit(struct ptx_warp *w, const struct ptx_insn *i)
{
    exit_lanes(w, w->mask);
}

void ptx_run_trap(struct ptx_warp *w, const struct ptx_insn *i)
{
    ptx_stop_fault(w, i, (unsigned)__builtin_ctz(w->mask), PTX_FAULT_TRAP, 0, 0);
}

void ptx_run_nothing(struct ptx_warp *w, const struct ptx_insn *i)
{
    (void)w;
    (void)i;
}

void ptx_run_pause(struct ptx_warp *w, const struct ptx_insn *i)
{
    w->polls++;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Clocks count executed instructions, so that runs are repeatable. */
static uint64_t read_clock(const struct ptx_warp *w, unsigned mode)
{
    const struct ptx_launch *l = w->run->launch;
    const bool is_timer = mode == PTX_FETCH_GLOBALTIMER || mode == PTX_FETCH_GLOBALTIMER_LO ||
                          mode == PTX_FETCH_GLOBALTIMER_HI;

    if (is_timer && l->timer_ps)
        return l->timer_ns + (w->steps - w->first_step) * l->timer_ps / 1000;
    return (w->run->steps + w->steps) * 4;
}

/* PTX_MODE: enum ptx_fetch. */
void ptx_run_fetch(struct ptx_warp *w, const struct ptx_insn *i)
{
    static const uint8_t shifts[] = {
        [PTX_FETCH_CLOCK_HI] = 32, [PTX_FETCH_GLOBALTIMER_HI] = 32, [PTX_FETCH_PM] = 0};
    uint64_t v = read_clock(w, PTX_MODE(i)) >> shifts[PTX_MODE(i)];
    uint32_t *d32 = ptx_lanes(w, i->dst);
    uint64_t *d64 = ptx_lanes(w, i->dst);

    w->polls++;
    w->changes++;
    if (ptx_type_size(i->type) == 4)
        PTX_EACH(w, d32[l] = (uint32_t)v);
    else
        PTX_EACH(w, d64[l] = v);
}

/* inner: a handler that is to run under the rounding mode of the flags. */
void ptx_set_rounding(unsigned round)
{
    static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

    fesetround(modes[round]);
}

void ptx_run_rounded(struct ptx_warp *w, const struct ptx_insn *i)
{
    ptx_set_rounding(i->flags >> PTX_F_ROUND_SHIFT & 3);
    i->inner(w, i);
    ptx_set_rounding(PTX_ROUND_NEAREST);
}
