/* SPDX-License-Identifier: Apache-2.0
 *
 * Fences, clusters, the stack, and hints to the machine that change nothing a program can see.
 */
#include "emu/ptx/decode/decode.h"

/* ---- fences ---- */

static bool take_scope(struct ptx_parser *p)
{
    static const enum ptx_modifier scopes[] = {MOD_cta, MOD_cluster, MOD_gpu, MOD_sys, MOD_COUNT};

    return ptx_take_one(p, scopes) >= 0;
}

/* fence.proxy...: only one way to memory exists here. */
static bool decode_proxy(struct ptx_parser *p)
{
    static const enum ptx_modifier kinds[] = {MOD_alias, MOD_async, MOD_async_generic,
                                              MOD_tensormap_generic, MOD_COUNT};
    static const enum ptx_modifier spaces[] = {MOD_global, MOD_shared_cta, MOD_shared_cluster,
                                               MOD_COUNT};
    static const enum ptx_modifier orders[] = {MOD_acquire, MOD_release, MOD_COUNT};
    static const enum ptx_modifier limits[] = {MOD_sync_cta, MOD_sync_cluster, MOD_COUNT};
    int kind = ptx_take_one(p, kinds);
    unsigned operands = 0;

    if (kind < 0)
        return ptx_unsupported(p);
    if (kind == 1)
        ptx_take_one(p, spaces);
    if (kind >= 2) {
        int order = ptx_take_one(p, orders);
        bool has_scope = (kind == 2 && ptx_take_one(p, limits) >= 0 && take_scope(p)) ||
                         (kind == 3 && take_scope(p));
        if (order < 0 || !has_scope)
            return ptx_unsupported(p);
        operands = kind == 3 && order == 0 ? 2 : 0;
    }
    ptx_emit(p, ptx_run_pause);
    return ptx_want_operands(p, operands, operands);
}

static bool decode_fence(struct ptx_parser *p, const struct ptx_row *row)
{
    static const enum ptx_modifier orders[] = {MOD_sc, MOD_acq_rel, MOD_acquire, MOD_release,
                                               MOD_COUNT};

    if (ptx_take(p, MOD_proxy))
        return decode_proxy(p);
    bool is_init = ptx_take(p, MOD_mbarrier_init);
    int order = ptx_take_one(p, orders);
    if (is_init && (order != 3 || !ptx_take(p, MOD_cluster)))
        return ptx_unsupported(p);
    if (!ptx_take(p, MOD_sync_cta))
        ptx_take(p, MOD_sync_cluster);
    if (!is_init && !take_scope(p))
        return ptx_unsupported(p);
    ptx_emit(p, ptx_run_pause);
    return ptx_want_operands(p, 0, 0);
}

static bool decode_membar(struct ptx_parser *p, const struct ptx_row *row)
{
    static const enum ptx_modifier levels[] = {MOD_cta, MOD_gl, MOD_sys, MOD_COUNT};

    if (ptx_take(p, MOD_proxy))
        return decode_proxy(p);
    if (ptx_take_one(p, levels) < 0)
        return ptx_unsupported(p);
    ptx_emit(p, ptx_run_pause);
    return ptx_want_operands(p, 0, 0);
}

/* ---- clusters ---- */

static bool decode_mapa(struct ptx_parser *p, const struct ptx_row *row)
{
    enum ptx_space space = ptx_take_space(p);
    ptx_type type = ptx_take_type(p);
    bool rank = row->op;

    if ((type != PTX_U32 && type != PTX_U64) ||
        (space != PTX_SPACE_CLUSTER && !(space == PTX_SPACE_GENERIC && type == PTX_U64)))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, rank ? 2 : 3, rank ? 2 : 3))
        return false;
    const struct ptx_operand *from = ptx_operand_at(p, 1);
    if (from->kind == PTX_OPERAND_SYMBOL && !ptx_check_symbol(p, from, PTX_SPACE_SHARED))
        return false;
    ptx_op dst = ptx_dest(p, ptx_operand_at(p, 0), rank ? PTX_U32 : type, false);
    ptx_op a = ptx_source(p, ptx_operand_at(p, 1), type, false);
    ptx_op to = rank ? PTX_OP_NONE : ptx_source(p, ptx_operand_at(p, 2), PTX_U32, false);
    struct ptx_insn *i = ptx_emit(p, rank ? ptx_run_block_rank : ptx_run_map_address);
    i->dst = dst;
    i->src[0] = a;
    i->src[1] = to;
    i->type = type;
    return true;
}

bool ptx_decode_cluster_barrier(struct ptx_parser *p)
{
    static const enum ptx_modifier orders[] = {MOD_acquire, MOD_release, MOD_relaxed, MOD_COUNT};
    bool arrive = ptx_take(p, MOD_arrive);

    if (!arrive && !ptx_take(p, MOD_wait))
        return ptx_unsupported(p);
    ptx_take_one(p, orders);
    ptx_take(p, MOD_aligned);
    if (!ptx_want_operands(p, 0, 0))
        return false;
    struct ptx_around around = ptx_around_begin(p);
    ptx_emit(p, arrive ? ptx_run_cluster_arrive : ptx_run_cluster_wait);
    ptx_around_end(p, around);
    return true;
}

/* try_cancel.async [response], [barrier] */
static bool decode_cancel(struct ptx_parser *p)
{
    struct ptx_address to;
    struct ptx_address barrier;

    if (!ptx_take(p, MOD_async))
        return ptx_unsupported(p);
    enum ptx_space space = ptx_take_space(p);
    if (!ptx_take(p, MOD_mbarrier_complete))
        return ptx_unsupported(p);
    bool all = ptx_take(p, MOD_multicast_all);
    if (!ptx_take(p, PTX_B128) || (space != PTX_SPACE_SHARED && space != PTX_SPACE_GENERIC))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 2, 2) || !ptx_parse_address(p, ptx_operand_at(p, 0), space, &to) ||
        !ptx_parse_address(p, ptx_operand_at(p, 1), space, &barrier))
        return false;
    ptx_op to_op = ptx_address_op(p, &to);
    ptx_op barrier_op = ptx_address_op(p, &barrier);
    struct ptx_insn *i = ptx_emit(p, ptx_run_cancel);
    i->src[0] = to_op;
    i->src[1] = barrier_op;
    i->flags = (uint32_t)all << PTX_F_MODE_SHIFT;
    return p->status == PTX_OK;
}

static void emit_component(struct ptx_parser *p, ptx_op dst, ptx_op a, unsigned component)
{
    struct ptx_insn *i = ptx_emit(p, ptx_run_cancelled_block);

    i->dst = dst;
    i->src[0] = a;
    i->flags = component << PTX_F_MODE_SHIFT;
}

/* query_cancel.get_first_ctaid: {x, y, z, _} or one of them. */
static bool decode_cancelled_block(struct ptx_parser *p, int component)
{
    const struct ptx_operand *d = ptx_operand_at(p, 0);
    bool all = component == 0;

    if ((all && ptx_take_vector(p) != 4) || !ptx_take(p, PTX_B32) || !ptx_take(p, PTX_B128))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 2, 2))
        return false;
    if (all != (d->kind == PTX_OPERAND_VECTOR) || (all && d->count != 4))
        return ptx_bad_operands(p);
    ptx_op a = ptx_source(p, ptx_operand_at(p, 1), PTX_B128, false);
    if (!all)
        emit_component(p, ptx_dest(p, d, PTX_B32, false), a, (unsigned)component - 1);
    for (unsigned k = 0; all && k < 3; k++) {
        const struct ptx_operand *e = ptx_operand_at(p, d->first + k);
        if (e->kind != PTX_OPERAND_SINK)
            emit_component(p, ptx_dest(p, e, PTX_B32, false), a, k);
    }
    return p->status == PTX_OK;
}

static bool decode_launch_control(struct ptx_parser *p, const struct ptx_row *row)
{
    static const enum ptx_modifier questions[] = {MOD_first_ctaid, MOD_first_ctaid_x,
                                                  MOD_first_ctaid_y, MOD_first_ctaid_z, MOD_COUNT};

    if (ptx_take(p, MOD_try_cancel))
        return decode_cancel(p);
    if (!ptx_take(p, MOD_query_cancel))
        return ptx_unsupported(p);
    int component = ptx_take_one(p, questions);
    if (component >= 0)
        return decode_cancelled_block(p, component);
    if (!ptx_take(p, MOD_is_canceled) || !ptx_take(p, PTX_PRED) || !ptx_take(p, PTX_B128))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 2, 2))
        return false;
    ptx_op dst = ptx_dest(p, ptx_operand_at(p, 0), PTX_PRED, false);
    ptx_op a = ptx_source(p, ptx_operand_at(p, 1), PTX_B128, false);
    struct ptx_insn *i = ptx_emit(p, ptx_run_cancelled);
    i->dst = dst;
    i->src[0] = a;
    return p->status == PTX_OK;
}

/* ---- the stack ---- */

static bool decode_alloca(struct ptx_parser *p, const struct ptx_row *row)
{
    ptx_type type = ptx_take_type(p);

    if (type != PTX_U32 && type != PTX_U64)
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 2, 3))
        return false;
    const struct ptx_operand *align = ptx_operand_at(p, 2);
    bool aligned = p->statement.operand_count > 2;
    if (aligned && (align->kind != PTX_OPERAND_INT || !align->value ||
                    align->value & (align->value - 1) || align->value > 1024))
        return ptx_bad_operands(p);
    ptx_op dst = ptx_dest(p, ptx_operand_at(p, 0), type, false);
    ptx_op size = ptx_source(p, ptx_operand_at(p, 1), type, false);
    struct ptx_insn *i = ptx_emit(p, ptx_run_alloca);
    i->dst = dst;
    i->src[0] = size;
    i->type = type;
    i->imm = aligned && align->value > 16 ? (int64_t)align->value : 16;
    p->code->calls_unknown = true; /* the stack is as large as for recursion */
    return true;
}

static bool decode_stack(struct ptx_parser *p, const struct ptx_row *row)
{
    ptx_type type = ptx_take_type(p);
    ptx_op op;

    if (type != PTX_U32 && type != PTX_U64)
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 1, 1))
        return false;
    if (row->op && ptx_operand_at(p, 0)->kind != PTX_OPERAND_REG)
        return ptx_bad_operands(p);
    op = row->op ? ptx_source(p, ptx_operand_at(p, 0), type, false)
                 : ptx_dest(p, ptx_operand_at(p, 0), type, false);
    struct ptx_insn *i = ptx_emit(p, row->op ? ptx_run_stack_restore : ptx_run_stack_save);
    *(row->op ? &i->src[0] : &i->dst) = op;
    i->type = type;
    return true;
}

/* ---- hints ---- */

static bool decode_nanosleep(struct ptx_parser *p, const struct ptx_row *row)
{
    if (!ptx_take(p, PTX_U32))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 1, 1))
        return false;
    ptx_source(p, ptx_operand_at(p, 0), PTX_U32, false);
    ptx_emit(p, ptx_run_pause);
    return true;
}

static bool decode_grid_control(struct ptx_parser *p, const struct ptx_row *row)
{
    if (!ptx_take(p, MOD_launch_dependents) && !ptx_take(p, MOD_wait))
        return ptx_unsupported(p);
    ptx_emit(p, ptx_run_pause);
    return ptx_want_operands(p, 0, 0);
}

static bool decode_registers(struct ptx_parser *p, const struct ptx_row *row)
{
    if ((!ptx_take(p, MOD_inc) && !ptx_take(p, MOD_dec)) || !ptx_take(p, MOD_sync) ||
        !ptx_take(p, MOD_aligned) || !ptx_take(p, PTX_U32))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 1, 1))
        return false;
    const struct ptx_operand *count = ptx_operand_at(p, 0);
    if (count->kind != PTX_OPERAND_INT || count->value < 24 || count->value > 256 ||
        count->value % 8)
        return ptx_bad_operands(p);
    ptx_emit(p, ptx_run_nothing);
    return true;
}

/* The modifiers of prefetch: a level, or for L2 of global memory how to evict. */
static bool take_prefetch(struct ptx_parser *p, enum ptx_space space)
{
    static const enum ptx_modifier evicts[] = {MOD_l2_evict_last, MOD_l2_evict_normal, MOD_COUNT};
    bool has_level = ptx_take(p, MOD_L1) || ptx_take(p, MOD_L2);
    bool evicts_so = ptx_take_one(p, evicts) >= 0;

    if (space != PTX_SPACE_GENERIC && space != PTX_SPACE_GLOBAL && space != PTX_SPACE_LOCAL)
        return false;
    return evicts_so ? !has_level && space != PTX_SPACE_LOCAL : has_level;
}

enum { PREFETCH, PREFETCH_UNIFORM, PRIORITY, DISCARD };

/* prefetch, prefetchu, applypriority, discard: an address, and the size of a line. */
static bool decode_hint(struct ptx_parser *p, const struct ptx_row *row)
{
    struct ptx_address a;
    bool is_const = ptx_take(p, MOD_const);
    enum ptx_space space = ptx_take_space(p);
    bool is_global = !is_const && (space == PTX_SPACE_GENERIC || space == PTX_SPACE_GLOBAL);
    unsigned count = row->op >= PRIORITY ? 2 : 1;
    bool ok = row->op == PREFETCH           ? !is_const && take_prefetch(p, space)
              : row->op == PREFETCH_UNIFORM ? space == PTX_SPACE_GENERIC && ptx_take(p, MOD_L1)
              : row->op == PRIORITY         ? is_global && ptx_take(p, MOD_l2_evict_normal)
                                            : is_global && ptx_take(p, MOD_L2);

    if (!ok || (space == PTX_SPACE_GENERIC && !ptx_check_generic(p)))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, count, count))
        return false;
    if (count == 2 &&
        (ptx_operand_at(p, 1)->kind != PTX_OPERAND_INT || ptx_operand_at(p, 1)->value != 128))
        return ptx_bad_operands(p);
    if (!ptx_parse_address(p, ptx_operand_at(p, 0), space, &a))
        return false;
    ptx_emit(p, ptx_run_nothing);
    return p->status == PTX_OK;
}

/* The operands of createpolicy, after the result: [range], primary size, whole size; a fraction,
 * which may be missing; a property of an access. */
static bool check_policy(struct ptx_parser *p, int kind)
{
    struct ptx_address a;
    unsigned count = p->statement.operand_count;

    if (kind == 0)
        return ptx_want_operands(p, 1, 2) &&
               (count == 1 || ptx_source(p, ptx_operand_at(p, 1), PTX_F32, false) != PTX_OP_NONE);
    if (kind == 2)
        return ptx_want_operands(p, 2, 2) &&
               ptx_source(p, ptx_operand_at(p, 1), PTX_B64, false) != PTX_OP_NONE;
    return ptx_want_operands(p, 4, 4) &&
           ptx_parse_address(p, ptx_operand_at(p, 1), PTX_SPACE_GENERIC, &a) &&
           ptx_source(p, ptx_operand_at(p, 2), PTX_B32, false) != PTX_OP_NONE &&
           ptx_source(p, ptx_operand_at(p, 3), PTX_B32, false) != PTX_OP_NONE;
}

/* A policy is 64 opaque bits, and no instruction here looks at them. */
static bool decode_policy(struct ptx_parser *p, const struct ptx_row *row)
{
    static const enum ptx_modifier kinds[] = {MOD_fractional, MOD_range, MOD_cvt, MOD_COUNT};
    static const enum ptx_modifier evicts[] = {MOD_l2_evict_last, MOD_l2_evict_normal,
                                               MOD_l2_evict_first, MOD_l2_evict_unchanged,
                                               MOD_COUNT};
    static const enum ptx_modifier seconds[] = {MOD_l2_evict_first, MOD_l2_evict_unchanged,
                                                MOD_COUNT};
    int kind = ptx_take_one(p, kinds);

    if (kind == 1)
        ptx_take(p, MOD_global);
    if (kind == 2 ? !ptx_take(p, MOD_L2) : kind < 0 || ptx_take_one(p, evicts) < 0)
        return ptx_unsupported(p);
    if (kind != 2)
        ptx_take_one(p, seconds);
    if (!ptx_take(p, PTX_B64))
        return ptx_unsupported(p);
    if (!check_policy(p, kind))
        return false;
    ptx_op dst = ptx_dest(p, ptx_operand_at(p, 0), PTX_B64, false);
    ptx_op zero = ptx_pool_value(p, 0, 8);
    struct ptx_insn *i = ptx_emit(p, ptx_handler(PTX_ALU_MOV, PTX_B64));
    i->dst = dst;
    i->src[0] = zero;
    return true;
}

static bool decode_pmevent(struct ptx_parser *p, const struct ptx_row *row)
{
    const uint64_t most = ptx_take(p, MOD_mask) ? 65535 : 15;
    const struct ptx_operand *event = ptx_operand_at(p, 0);

    ptx_emit(p, ptx_run_nothing);
    return ptx_want_operands(p, 1, 1) &&
           ((event->kind == PTX_OPERAND_INT && event->value <= most) || ptx_bad_operands(p));
}

const struct ptx_row ptx_rows_sync[] = {
    {"membar", decode_membar, 0, 0},
    {"fence", decode_fence, 0, 0},
    {"mapa", decode_mapa, 0, 0},
    {"getctarank", decode_mapa, 1, 0},
    {"clusterlaunchcontrol", decode_launch_control, 0, 0},
    {"alloca", decode_alloca, 0, 0},
    {"stacksave", decode_stack, 0, 0},
    {"stackrestore", decode_stack, 1, 0},
    {"nanosleep", decode_nanosleep, 0, 0},
    {"griddepcontrol", decode_grid_control, 0, 0},
    {"setmaxnreg", decode_registers, 0, 0},
    {"prefetch", decode_hint, PREFETCH, 0},
    {"prefetchu", decode_hint, PREFETCH_UNIFORM, 0},
    {"applypriority", decode_hint, PRIORITY, 0},
    {"discard", decode_hint, DISCARD, 0},
    {"createpolicy", decode_policy, 0, 0},
    {"pmevent", decode_pmevent, 0, 0},
    {0},
};
