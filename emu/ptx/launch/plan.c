/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans: which registers of a kernel may be ramps: those that are written by instructions which
 * know ramps alone, and make ramps of what their sources may be. Whether a register is a ramp shows
 * when the instruction is executed. Registers that cannot be ramps cost nothing.
 */
#include "emu/ptx/launch/plan.h"

#include "base/array.h"
#include "emu/ptx/handlers/handler.h"
#include "emu/ptx/handlers/memory.h"
#include "emu/ptx/parse/module.h"

#include <stdlib.h>
#include <string.h>

/* Says how good a register may be. */
enum kind { LANES, RAMP, SAME };

#define OPERANDS_MAX (PTX_STEP_SLOTS)

struct operands {
    ptx_op reads[OPERANDS_MAX], writes[OPERANDS_MAX];
    unsigned read_count, write_count;
    bool is_known;
};

struct cell {
    uint8_t kind;      /* enum kind */
    uint8_t size;      /* of a lane; 0: not known */
    bool is_written;   /* before it is read, by all threads: its first value does not matter */
    bool is_used;      /* before */
    bool is_lanes;     /* something writes it that knows no ramps */
    bool is_wanted;    /* something reads it as a ramp */
    bool is_of_launch; /* the same in all blocks */
    bool is_named;     /* some instruction has to do with it */
    uint32_t writers;
    uint16_t slot;
};

/* A slot of a special register or of a constant, by its lanes and their size. */
struct fixed {
    ptx_op op;
    uint8_t size;
};

struct planner {
    const struct ptx_module *module;
    const struct ptx_code *code;
    struct cell *cells; /* of the frame, one a unit; a register is at its first one */
    uint32_t cell_count;
    struct fixed *fixed;
    size_t fixed_count, fixed_capacity;
    uint32_t reset_end;    /* slots of registers that begin as zeros end here */
    uint32_t register_end; /* slots of registers; specials follow, then constants */
    uint32_t special_launch, special_end;
    bool has_calls;
};

/* ---- operands ---- */

static void add(struct operands *o, ptx_op op, bool is_write)
{
    unsigned *count = is_write ? &o->write_count : &o->read_count;

    if (o->read_count + o->write_count == OPERANDS_MAX)
        o->is_known = false;
    else
        (is_write ? o->writes : o->reads)[(*count)++] = op;
}

/* Instructions whose registers are in the fields of the instruction alone. */
static bool has_fields_only(ptx_fn fn)
{
    static const ptx_fn fns[] = {
        ptx_run_branch,        ptx_run_branch_table,   ptx_run_join,         ptx_run_end,
        ptx_run_exit,          ptx_run_trap,           ptx_run_nothing,      ptx_run_pause,
        ptx_run_fetch,         ptx_run_local_address,  ptx_run_cvta,         ptx_run_isspacep,
        ptx_run_const_address, ptx_run_istypep,        ptx_run_shuffle,      ptx_run_vote,
        ptx_run_match,         ptx_run_reduce,         ptx_run_reduce_float, ptx_run_warp_sync,
        ptx_run_active_mask,   ptx_run_elect,          ptx_run_barrier,      ptx_run_atomic,
        ptx_run_rounded,       ptx_run_map_address,    ptx_run_block_rank,   ptx_run_is_shared,
        ptx_run_atomic_wide,   ptx_run_cluster_arrive, ptx_run_cluster_wait,
    };

    for (size_t k = 0; k < sizeof(fns) / sizeof(fns[0]); k++)
        if (fns[k] == fn)
            return true;
    return ptx_handler_is(fn);
}

static bool is_access(const struct ptx_insn *i, bool *is_store)
{
    const struct ptx_ramp_entry *e = ptx_ramp_handler(i->fn);

    *is_store = i->fn == ptx_run_store || (e && e->rule == PTX_RAMP_STORE);
    return *is_store || i->fn == ptx_run_load || i->fn == ptx_run_load_param ||
           (e && e->rule == PTX_RAMP_LOAD);
}

/* The values of a store come first, and the results of a load are alone: their handlers count on
 * it. */
static void add_access(struct operands *o, const struct ptx_insn *i, bool is_store)
{
    for (unsigned k = 0; k < i->count; k++)
        add(o, i->count > 1 ? ((const ptx_op *)i->extra)[k] : i->dst, !is_store);
    add(o, i->src[0], false);
}

static void add_call(struct operands *o, const struct ptx_insn *i)
{
    const struct ptx_call *call = i->extra;

    for (uint32_t k = 0; k < call->arg_count + call->result_count; k++)
        add(o, call->args[k].reg, k >= call->arg_count);
    add(o, i->src[0], false);
}

static void add_pack(struct operands *o, const struct ptx_insn *i)
{
    const struct ptx_pack *pack = i->extra;
    bool is_unpack = i->fn == ptx_run_unpack;

    for (uint32_t k = 0; k < pack->count; k++)
        add(o, pack->elements[k], is_unpack);
    add(o, is_unpack ? i->src[0] : i->dst, !is_unpack);
}

static struct operands operands_of(const struct ptx_insn *i)
{
    struct operands o = {.is_known = true};
    bool is_store;

    if (is_access(i, &is_store)) {
        add_access(&o, i, is_store);
    } else if (i->fn == ptx_run_call) {
        add_call(&o, i);
    } else if (i->fn == ptx_run_pack || i->fn == ptx_run_unpack) {
        add_pack(&o, i);
    } else {
        o.is_known = has_fields_only(i->fn);
        for (unsigned k = 0; k < 4; k++)
            if (i->src[k] != PTX_OP_NONE && (k == 0 || i->src[k] != i->src[0]))
                add(&o, i->src[k], false);
        if (i->dst != PTX_OP_NONE)
            add(&o, i->dst, true);
        if (i->dst2 != PTX_OP_NONE)
            add(&o, i->dst2, true);
    }
    return o;
}

/* ---- kinds ---- */

static bool is_in(ptx_op op, enum ptx_base base)
{
    return op != PTX_OP_NONE && (op & PTX_OP_BASE_MASK) == base;
}

static struct cell *cell_of(const struct planner *p, ptx_op op)
{
    return is_in(op, PTX_BASE_FRAME) ? &p->cells[op / PTX_OP_UNIT] : NULL;
}

static enum kind kind_of_special(ptx_op op)
{
    unsigned id = ptx_special_of(op);

    if (id >= PTX_SPECIAL_COUNT || id == PTX_SPECIAL_IS_EXPLICIT_CLUSTER ||
        (id >= PTX_SPECIAL_LANEMASK_EQ && id <= PTX_SPECIAL_LANEMASK_GT))
        return LANES;
    return id <= PTX_SPECIAL_TID_Z || id == PTX_SPECIAL_LANEID ? RAMP : SAME;
}

static enum kind kind_of(const struct planner *p, ptx_op op)
{
    const struct cell *c = cell_of(p, op);

    if (c)
        return c->kind;
    if (is_in(op, PTX_BASE_SPECIAL))
        return kind_of_special(op);
    return SAME; /* a constant, or none */
}

/* The source's sizes of an instruction that knows ramps, and the result's; false: it is executed
 * lane by lane. */
static bool sizes_of(const struct ptx_insn *i, const struct ptx_ramp_entry *e, uint8_t size[4])
{
    unsigned to = ptx_type_size(i->type), from = ptx_type_size(i->type2);

    memcpy(size, e->size, 4);
    if (e->rule == PTX_RAMP_LOAD || e->rule == PTX_RAMP_STORE) {
        size[0] = i->flags >> PTX_F_MODE_SHIFT & 0xff;
        size[1] = i->type2 == PTX_U32 && i->src[0] != PTX_OP_NONE ? 4 : 8;
        return i->space <= PTX_SPACE_SHARED;
    }
    if (e->rule != PTX_RAMP_CONVERT)
        return true;
    size[0] = (uint8_t)to;
    size[1] = (uint8_t)from;
    bool is_integer = ptx_type_class(i->type2) == 'u' || ptx_type_class(i->type2) == 's';
    return !(i->flags & ~PTX_F_LAST) && is_integer && ptx_type_class(i->type) != 'f' &&
           ((to == 8 && from == 4) || (to == 4 && from == 8) || (to == 4 && from == 2) ||
            (to == 2 && from == 4));
}

static enum kind least(enum kind a, enum kind b)
{
    return a < b ? a : b;
}

/* Returns what an instruction can make of its result; of a store or a comparison, LANES says that
 * no ramps come in. */
static enum kind kind_of_result(const struct planner *p, const struct ptx_insn *i,
                                const struct ptx_ramp_entry *e)
{
    uint8_t size[4];

    if (!sizes_of(i, e, size))
        return LANES;
    enum kind a = size[1] ? kind_of(p, i->src[0]) : SAME;
    enum kind b = size[2] ? kind_of(p, i->src[1]) : SAME;
    enum kind c = size[3] ? kind_of(p, i->src[2]) : SAME;
    switch ((enum ptx_ramp_rule)e->rule) {
    case PTX_RAMP_PRODUCT:
        return least(a == SAME ? b : b == SAME ? a : LANES, c);
    case PTX_RAMP_SHIFT:
        return b == SAME ? a : LANES;
    case PTX_RAMP_SAME:
        return least(a, least(b, c)) == SAME ? SAME : LANES;
    case PTX_RAMP_LOAD:
        return a == SAME ? SAME : LANES;
    default:
        return least(a, least(b, c));
    }
}

/* An entry for cvta, which is not in the table: between global and generic addresses it does
 * nothing. */
static const struct ptx_ramp_entry *entry_of(const struct ptx_insn *i)
{
    if (i->fn == ptx_run_cvta && i->imm == 0)
        return ptx_ramp_handler(ptx_handler(PTX_ALU_MOV, PTX_B64));
    return ptx_ramp_handler(i->fn);
}

/* A shuffle may read lanes that have exited, or never were: what they have is what they had. */
static void keep_shuffled(struct planner *p)
{
    for (uint32_t k = 0; k < p->code->insn_count; k++) {
        const struct ptx_insn *i = &p->code->insns[k];
        if (i->fn == ptx_run_shuffle && cell_of(p, i->src[0]))
            cell_of(p, i->src[0])->is_lanes = true;
    }
}

/* Begins with the best: what is written may be the same in all lanes, if instructions that know
 * ramps write it. */
static void assume_best(struct planner *p)
{
    for (uint32_t k = 0; k < p->code->insn_count; k++) {
        const struct ptx_insn *i = &p->code->insns[k];
        const struct ptx_ramp_entry *e = entry_of(i);
        struct operands o = operands_of(i);
        uint8_t size[4] = {0};
        bool knows = e && sizes_of(i, e, size) && size[0];
        for (unsigned n = 0; n < o.write_count; n++) {
            struct cell *c = cell_of(p, o.writes[n]);
            if (!c)
                continue;
            c->is_lanes |= !knows;
            c->kind = c->is_lanes ? LANES : SAME;
            c->size = knows ? size[0] : 0;
        }
    }
}

/* Looks at every instruction once. Returns whether a register is less than it was: look again. */
static bool lower_kinds(struct planner *p)
{
    bool any = false;

    for (uint32_t k = 0; k < p->code->insn_count; k++) {
        const struct ptx_insn *i = &p->code->insns[k];
        const struct ptx_ramp_entry *e = entry_of(i);
        struct operands o = operands_of(i);
        if (!e || !o.write_count)
            continue;
        enum kind kind = kind_of_result(p, i, e);
        for (unsigned n = 0; n < o.write_count; n++) {
            struct cell *c = cell_of(p, o.writes[n]);
            if (!c || kind >= c->kind)
                continue;
            c->kind = (uint8_t)kind;
            any = true;
        }
    }
    return any;
}

/* Tests whether an instruction is executed by its handler of ramps. */
static bool uses_ramps(const struct planner *p, const struct ptx_insn *i)
{
    const struct ptx_ramp_entry *e = entry_of(i);
    const struct cell *to = cell_of(p, i->dst);
    uint8_t size[4];

    if (!e || !sizes_of(i, e, size))
        return false;
    if (e->rule == PTX_RAMP_LOAD)
        return kind_of(p, i->src[0]) != LANES;
    return kind_of_result(p, i, e) != LANES &&
           (e->rule > PTX_RAMP_LOAD || (to && to->kind != LANES));
}

/* Marks what such an instruction reads as ramps; of a store, not the values. */
static void mark_wanted(struct planner *p, const struct ptx_insn *i)
{
    for (unsigned k = 0; k < 3; k++)
        if (cell_of(p, i->src[k]))
            cell_of(p, i->src[k])->is_wanted = true;
}

/* Lowers registers that nobody reads as ramps. Returns whether there was one: look again. */
static bool drop_unwanted(struct planner *p)
{
    bool any = false;

    for (uint32_t k = 0; k < p->cell_count; k++)
        p->cells[k].is_wanted = false;
    for (uint32_t k = 0; k < p->code->insn_count; k++)
        if (uses_ramps(p, &p->code->insns[k]))
            mark_wanted(p, &p->code->insns[k]);
    for (uint32_t k = 0; k < p->cell_count; k++) {
        struct cell *c = &p->cells[k];
        any |= c->kind != LANES && !c->is_wanted;
        c->kind = c->is_wanted ? c->kind : LANES;
    }
    return any;
}

/* ---- first values ---- */

static bool ends_the_beginning(ptx_fn fn)
{
    return fn == ptx_run_branch || fn == ptx_run_branch_table || fn == ptx_run_join ||
           fn == ptx_run_call || fn == ptx_run_end;
}

/* Marks what the kernel's first instructions, up to where ways part, write before they read it. */
static void mark_written(struct planner *p)
{
    for (uint32_t k = 0; k < p->code->insn_count; k++) {
        const struct ptx_insn *i = &p->code->insns[k];
        const struct ptx_ramp_entry *e = entry_of(i);
        struct operands o = operands_of(i);
        uint8_t size[4] = {0};
        if (ends_the_beginning(i->fn))
            return;
        for (unsigned n = 0; n < o.read_count; n++)
            if (cell_of(p, o.reads[n]))
                cell_of(p, o.reads[n])->is_used = true;
        for (unsigned n = 0; n < o.write_count; n++) {
            struct cell *c = cell_of(p, o.writes[n]);
            if (c && !c->is_used && i->guard == PTX_OP_NONE && e && sizes_of(i, e, size) &&
                size[0]) {
                c->is_written = true;
                c->size = size[0];
            } else if (c) {
                c->is_used = true;
            }
        }
    }
}

/* ---- the lead ---- */

/* Instructions that write registers and do nothing else. */
static bool only_computes(const struct ptx_insn *i)
{
    bool is_store;

    return ptx_handler_is(i->fn) && !is_access(i, &is_store) && i->guard == PTX_OP_NONE &&
           !(i->flags & (PTX_F_CARRY_IN | PTX_F_CARRY_OUT));
}

/* Is it the same in all blocks? Of registers: one instruction alone writes it, before it is read.
 */
static bool is_of_launch(const struct planner *p, ptx_op op)
{
    const struct cell *c = cell_of(p, op);

    if (c)
        return c->is_of_launch;
    return !is_in(op, PTX_BASE_SPECIAL) || !ptx_special_is_of_block(ptx_special_of(op));
}

/* Finds out how long the lead is, and which of its instructions are to be executed for each block:
 * those whose numbers are in `again`, which has room for all. */
static uint32_t find_lead(struct planner *p, uint32_t *again, uint32_t *again_count)
{
    uint32_t k;

    for (k = 0; k < p->code->insn_count; k++) {
        struct operands o = operands_of(&p->code->insns[k]);
        for (unsigned n = 0; n < o.write_count; n++)
            if (cell_of(p, o.writes[n]))
                cell_of(p, o.writes[n])->writers++;
    }
    *again_count = 0;
    for (k = 0; k < p->code->insn_count && only_computes(&p->code->insns[k]); k++) {
        struct operands o = operands_of(&p->code->insns[k]);
        struct cell *c = o.write_count == 1 ? cell_of(p, o.writes[0]) : NULL;
        bool is_same = c && c->is_written && c->writers == 1;
        for (unsigned n = 0; n < o.read_count; n++)
            is_same = is_same && is_of_launch(p, o.reads[n]);
        if (is_same)
            c->is_of_launch = true;
        else
            again[(*again_count)++] = k;
    }
    return k;
}

/* ---- slots ---- */

static uint32_t number_registers(struct planner *p, uint32_t slot, bool are_written)
{
    for (uint32_t k = 0; k < p->cell_count; k++)
        if (p->cells[k].kind != LANES && p->cells[k].is_written == are_written)
            p->cells[k].slot = (uint16_t)slot++;
    return slot;
}

/* A few are found at once; beyond that, what is read is no ramp. */
#define FIXED_MAX 1024

/* Returns the slot of a special register or a constant. */
static uint16_t fixed_slot(struct planner *p, ptx_op op, unsigned size)
{
    size_t k = 0;

    while (k < p->fixed_count && (p->fixed[k].op != op || p->fixed[k].size != size))
        k++;
    if (k == FIXED_MAX || !TSM_ARRAY_RESERVE(p->fixed, p->fixed_capacity, k + 1))
        return PTX_SLOT_LANES;
    if (k == p->fixed_count)
        p->fixed[p->fixed_count++] = (struct fixed){op, (uint8_t)size};
    return (uint16_t)(p->register_end + k);
}

static bool is_ramp_special(ptx_op op)
{
    return is_in(op, PTX_BASE_SPECIAL) && kind_of_special(op) != LANES;
}

/* Returns the slot of an operand that is not to be read by its lanes. */
static uint16_t slot_of(struct planner *p, ptx_op op, unsigned size)
{
    if (op == PTX_OP_NONE || !size)
        return PTX_SLOT_ZERO;
    if (cell_of(p, op))
        return cell_of(p, op)->slot;
    if (is_ramp_special(op))
        return fixed_slot(p, op, 4);
    return is_in(op, PTX_BASE_POOL) ? fixed_slot(p, op, size) : PTX_SLOT_LANES;
}

/* Returns the slot of an operand whose lanes are wanted. */
static uint16_t lanes_slot(struct planner *p, ptx_op op)
{
    if (cell_of(p, op))
        return cell_of(p, op)->slot;
    return is_ramp_special(op) ? fixed_slot(p, op, 4) : PTX_SLOT_LANES;
}

static void number_specials(struct planner *p, bool are_of_block)
{
    for (uint32_t k = 0; k < p->code->insn_count; k++) {
        struct operands o = operands_of(&p->code->insns[k]);
        for (unsigned n = 0; n < o.read_count; n++)
            if (is_ramp_special(o.reads[n]) &&
                ptx_special_is_of_block(ptx_special_of(o.reads[n])) == are_of_block)
                lanes_slot(p, o.reads[n]);
    }
}

static void number_all(struct planner *p)
{
    p->reset_end = number_registers(p, PTX_SLOT_FIRST, false);
    p->register_end = number_registers(p, p->reset_end, true);
    number_specials(p, true);
    p->special_launch = p->register_end + (uint32_t)p->fixed_count;
    number_specials(p, false);
    p->special_end = p->register_end + (uint32_t)p->fixed_count;
}

/* ---- steps ---- */

static void fill_slots(struct planner *p, const struct ptx_insn *i, struct ptx_step *step)
{
    struct operands o = operands_of(i);
    bool is_store;
    bool has_all = is_access(i, &is_store); /* its handler counts on their order */

    for (unsigned n = 0; n < o.read_count; n++) {
        uint16_t slot = lanes_slot(p, o.reads[n]);
        if (slot != PTX_SLOT_LANES || has_all)
            step->slots[step->reads++] = slot;
    }
    for (unsigned n = 0; n < o.write_count; n++) {
        uint16_t slot = lanes_slot(p, o.writes[n]);
        if (slot != PTX_SLOT_LANES || has_all)
            step->slots[step->reads + step->writes++] = slot;
    }
}

static bool touches_ramps(const struct ptx_step *step)
{
    for (unsigned n = 0; n < (unsigned)step->reads + step->writes; n++)
        if (step->slots[n] != PTX_SLOT_LANES)
            return true;
    return false;
}

static void make_step(struct planner *p, const struct ptx_insn *i, struct ptx_step *step)
{
    const struct ptx_ramp_entry *e = entry_of(i);
    uint8_t size[4];

    *step = (struct ptx_step){.fn = i->fn, .guard = i->guard, .may_wait = !ptx_handler_is(i->fn)};
    fill_slots(p, i, step);
    if (touches_ramps(step))
        step->fn = ptx_ramp_spread_handler();
    if (!uses_ramps(p, i))
        return;
    sizes_of(i, e, size);
    step->d = cell_of(p, i->dst) ? cell_of(p, i->dst)->slot : PTX_SLOT_LANES;
    step->a = slot_of(p, e->rule == PTX_RAMP_PARAM ? PTX_OP_NONE : i->src[0], size[1]);
    step->b = slot_of(p, i->src[1], size[2]);
    step->c = slot_of(p, i->src[2], size[3]);
    step->fn = e->fn;
}

#define ROW_MAX 64 /* of steps: a launch is stopped between rows */

/* Finds the rows, from their ends: of instructions of the table, which have no other effect than on
 * registers and memory. */
static void find_rows(const struct planner *p, struct ptx_step *steps)
{
    unsigned row = 0;

    for (uint32_t k = p->code->insn_count; k-- > 0;) {
        const struct ptx_insn *i = &p->code->insns[k];
        bool fits = i->guard == PTX_OP_NONE && ptx_handler_is(i->fn);
        row = !fits ? 0 : row < ROW_MAX ? row + 1 : 1;
        steps[k].row = (uint8_t)row;
    }
}

/* ---- the whole ---- */

static bool fits(const struct planner *p)
{
    for (uint32_t k = 0; k < p->code->insn_count; k++)
        if (!operands_of(&p->code->insns[k]).is_known)
            return false;
    return p->code->insn_count > 0;
}

static uint64_t constant_value(const struct planner *p, const struct fixed *f)
{
    uint64_t value = 0;

    memcpy(&value, p->module->pool_lanes + (f->op & ~(PTX_OP_UNIT - 1)), f->size);
    return value;
}

static void fill_ramps(const struct planner *p, struct ptx_plan *plan)
{
    plan->ramps[PTX_SLOT_LANES].state = PTX_RAMP_SPREAD;
    plan->ramps[PTX_SLOT_ZERO].state = PTX_RAMP_SPREAD | PTX_RAMP_KNOWN;
    for (uint32_t k = 0; k < p->cell_count; k++)
        if (p->cells[k].slot)
            plan->ramps[p->cells[k].slot] =
                (struct ptx_ramp){.op = k * PTX_OP_UNIT | PTX_BASE_FRAME,
                                  .size = p->cells[k].size,
                                  .state = PTX_RAMP_KNOWN};
    for (size_t k = 0; k < p->fixed_count; k++) {
        bool is_constant = is_in(p->fixed[k].op, PTX_BASE_POOL);
        plan->ramps[p->register_end + k] =
            (struct ptx_ramp){.op = p->fixed[k].op,
                              .size = p->fixed[k].size,
                              .base = is_constant ? constant_value(p, &p->fixed[k]) : 0,
                              .state = PTX_RAMP_SPREAD | (is_constant ? PTX_RAMP_KNOWN : 0)};
    }
}

/* Marks the registers that instructions have something to do with. */
static void mark_named(struct planner *p)
{
    for (uint32_t k = 0; k < p->code->insn_count; k++) {
        const struct ptx_insn *i = &p->code->insns[k];
        struct operands o = operands_of(i);
        if (cell_of(p, i->guard))
            cell_of(p, i->guard)->is_named = true;
        for (unsigned n = 0; n < o.read_count; n++)
            if (cell_of(p, o.reads[n]))
                cell_of(p, o.reads[n])->is_named = true;
        for (unsigned n = 0; n < o.write_count; n++)
            if (cell_of(p, o.writes[n]))
                cell_of(p, o.writes[n])->is_named = true;
    }
}

/* Returns the units of the register at `k`, whose size may not be known: up to the next one then.
 */
static uint32_t units_at(const struct planner *p, uint32_t k)
{
    uint32_t end = k + 1;

    if (p->cells[k].size)
        return p->cells[k].size * PTX_LANES / PTX_OP_UNIT;
    while (end < p->cell_count && !p->cells[end].is_named)
        end++;
    return end - k;
}

/* Lanes in the frame that must begin as zeros: of registers that are never ramps. */
static void fill_clears(struct planner *p, struct ptx_plan *plan)
{
    uint32_t units;

    mark_named(p);
    for (uint32_t k = 0; k < p->cell_count; k += units) {
        const struct cell *c = &p->cells[k];
        units = c->is_named ? units_at(p, k) : 1;
        if (!c->is_named || c->slot || c->is_written)
            continue;
        struct ptx_stretch *last = plan->clear_count ? &plan->clears[plan->clear_count - 1] : NULL;
        if (last && last->start + last->size == k * PTX_OP_UNIT)
            last->size += units * PTX_OP_UNIT;
        else
            plan->clears[plan->clear_count++] =
                (struct ptx_stretch){k * PTX_OP_UNIT, units * PTX_OP_UNIT};
    }
}

/* In one piece, so that whoever frees the code needs not know what it is. */
static struct ptx_plan *plan_new(struct planner *p, const struct ptx_step *steps)
{
    size_t step_bytes = p->code->insn_count * sizeof(*steps);
    size_t ramp_count = p->register_end + p->fixed_count;
    size_t clears_max = (p->cell_count + 1) / 2 + 1;
    struct ptx_plan *plan = calloc(
        1, sizeof(*plan) + step_bytes + ramp_count * sizeof(struct ptx_ramp) +
               clears_max * sizeof(struct ptx_stretch) + p->code->insn_count * sizeof(uint32_t));

    if (!plan)
        return NULL;
    plan->steps = (struct ptx_step *)(plan + 1);
    plan->ramps = (struct ptx_ramp *)(plan->steps + p->code->insn_count);
    plan->clears = (struct ptx_stretch *)(plan->ramps + ramp_count);
    plan->again = (uint32_t *)(plan->clears + clears_max);
    memcpy(plan->steps, steps, step_bytes);
    plan->ramp_count = (uint32_t)ramp_count;
    plan->reset_count = p->reset_end - PTX_SLOT_FIRST;
    plan->special_first = p->register_end;
    plan->special_launch = p->special_launch;
    plan->special_end = p->special_end;
    plan->shows_specials = p->has_calls;
    fill_ramps(p, plan);
    fill_clears(p, plan);
    plan->lead = find_lead(p, plan->again, &plan->again_count);
    return plan;
}

static struct ptx_plan *make_plan(struct planner *p)
{
    struct ptx_step *steps;
    uint32_t count = 0;

    if (!fits(p))
        return NULL;
    keep_shuffled(p);
    assume_best(p);
    while (lower_kinds(p) || drop_unwanted(p))
        ;
    for (uint32_t k = 0; k < p->cell_count; k++)
        count += p->cells[k].kind != LANES;
    steps = malloc(p->code->insn_count * sizeof(*steps));
    if (!steps || count + PTX_SLOT_FIRST + FIXED_MAX > UINT16_MAX) {
        free(steps);
        return NULL;
    }
    mark_written(p);
    number_all(p);
    for (uint32_t k = 0; k < p->code->insn_count; k++) {
        make_step(p, &p->code->insns[k], &steps[k]);
        p->has_calls |= p->code->insns[k].fn == ptx_run_call;
    }
    find_rows(p, steps);
    struct ptx_plan *plan = plan_new(p, steps);
    free(steps);
    return plan;
}

/* Two launches may make it at once; one of the two plans stays. */
static struct ptx_plan *publish(struct ptx_code *code, struct ptx_plan *plan)
{
    struct ptx_plan *known = NULL;

    if (!plan)
        __atomic_store_n(&code->has_no_plan, 1, __ATOMIC_RELAXED);
    else if (!__atomic_compare_exchange_n(&code->plan, &known, plan, false, __ATOMIC_ACQ_REL,
                                          __ATOMIC_ACQUIRE))
        free(plan);
    return known ? known : plan;
}

const struct ptx_plan *ptx_plan_of(const struct ptx_run *run)
{
    struct ptx_code *code = (struct ptx_code *)(uintptr_t)run->code;
    struct ptx_plan *plan = __atomic_load_n(&code->plan, __ATOMIC_ACQUIRE);
    struct planner p = {.module = run->launch->module,
                        .code = code,
                        .cell_count = code->frame_size / PTX_OP_UNIT + 1};

    /* For tests: results must not differ. */
    if (plan || __atomic_load_n(&code->has_no_plan, __ATOMIC_RELAXED) || getenv("PTX_NO_RAMPS"))
        return getenv("PTX_NO_RAMPS") ? NULL : plan;
    p.cells = calloc(p.cell_count, sizeof(*p.cells));
    if (p.cells)
        plan = publish(code, make_plan(&p));
    free(p.cells);
    free(p.fixed);
    return plan;
}
