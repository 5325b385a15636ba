/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions between the lanes of a warp.
 */
#include "emu/ptx/decode/decode.h"

/* d or d|p */
static void parse_pair(struct ptx_parser *p, ptx_type type, bool takes_sink, ptx_op *first,
                       ptx_op *second)
{
    const struct ptx_operand *d = ptx_operand_at(p, 0);
    const struct ptx_operand *one = d->kind == PTX_OPERAND_PAIR ? ptx_operand_at(p, d->first) : d;

    *first =
        one->kind == PTX_OPERAND_SINK && takes_sink ? PTX_OP_NONE : ptx_dest(p, one, type, false);
    *second = PTX_OP_NONE;
    if (d->kind != PTX_OPERAND_PAIR)
        return;
    const struct ptx_operand *two = ptx_operand_at(p, d->count);
    if (two->kind != PTX_OPERAND_SINK)
        *second = ptx_dest(p, two, PTX_PRED, false);
}

/* Since PTX 6.4 sm_70 and later have only the .sync forms. */
static bool is_sync_needed(const struct ptx_parser *p)
{
    return p->target >= 70 && p->version >= 64;
}

static bool decode_shuffle(struct ptx_parser *p, const struct ptx_row *row)
{
    static const enum ptx_modifier modes[] = {MOD_up, MOD_down, MOD_bfly, MOD_idx, MOD_COUNT};
    bool sync = ptx_take(p, MOD_sync);
    int mode = ptx_take_one(p, modes);
    ptx_op dst;
    ptx_op dst2;
    ptx_op src[4] = {0, 0, 0, PTX_OP_NONE};

    if (mode < 0 || !ptx_take(p, PTX_B32) || (!sync && is_sync_needed(p)))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, sync ? 5 : 4, sync ? 5 : 4))
        return false;
    parse_pair(p, PTX_B32, false, &dst, &dst2);
    for (unsigned k = 0; k < (sync ? 4u : 3u); k++)
        src[k] = ptx_source(p, ptx_operand_at(p, k + 1), PTX_B32, false);
    struct ptx_insn *i = ptx_emit(p, ptx_run_shuffle);
    i->dst = dst;
    i->dst2 = dst2;
    for (unsigned k = 0; k < 4; k++)
        i->src[k] = src[k];
    i->flags = (uint32_t)mode << PTX_F_MODE_SHIFT;
    return true;
}

static bool decode_vote(struct ptx_parser *p, const struct ptx_row *row)
{
    static const enum ptx_modifier modes[] = {MOD_all, MOD_any, MOD_uni, MOD_ballot, MOD_COUNT};
    bool sync = ptx_take(p, MOD_sync);
    int mode = ptx_take_one(p, modes);
    ptx_type type = ptx_take_type(p);

    if (mode < 0 || type != (mode == PTX_VOTE_BALLOT ? PTX_B32 : PTX_PRED) ||
        (!sync && is_sync_needed(p)))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, sync ? 3 : 2, sync ? 3 : 2))
        return false;
    ptx_op dst = ptx_dest(p, ptx_operand_at(p, 0), type, false);
    ptx_op a = ptx_source(p, ptx_operand_at(p, 1), PTX_PRED, false);
    ptx_op members = sync ? ptx_source(p, ptx_operand_at(p, 2), PTX_B32, false) : PTX_OP_NONE;
    struct ptx_insn *i = ptx_emit(p, ptx_run_vote);
    i->dst = dst;
    i->src[0] = a;
    i->src[1] = members;
    i->flags = (uint32_t)mode << PTX_F_MODE_SHIFT;
    return true;
}

static bool emit_members(struct ptx_parser *p, ptx_fn fn, ptx_type type, uint32_t mode)
{
    ptx_op dst;
    ptx_op dst2;

    if (!ptx_want_operands(p, 3, 3))
        return false;
    parse_pair(p, type == PTX_F32 ? PTX_F32 : PTX_B32,
               ptx_operand_at(p, 0)->kind == PTX_OPERAND_PAIR, &dst, &dst2);
    ptx_op a = ptx_source(p, ptx_operand_at(p, 1), type, false);
    ptx_op members = ptx_source(p, ptx_operand_at(p, 2), PTX_U32, false);
    struct ptx_insn *i = ptx_emit(p, fn);
    i->dst = dst;
    i->dst2 = dst2;
    i->src[0] = a;
    i->src[1] = members;
    i->type = type;
    i->flags = mode << PTX_F_MODE_SHIFT;
    return true;
}

static bool decode_match(struct ptx_parser *p, const struct ptx_row *row)
{
    static const enum ptx_modifier modes[] = {MOD_any, MOD_all, MOD_COUNT};
    int mode = ptx_take_one(p, modes);
    ptx_type type = ptx_take_type(p);

    if (mode < 0 || !ptx_take(p, MOD_sync) || (type != PTX_B32 && type != PTX_B64))
        return ptx_unsupported(p);
    if (mode == 0 && ptx_operand_at(p, 0)->kind == PTX_OPERAND_PAIR)
        return ptx_bad_operands(p);
    return emit_members(p, ptx_run_match, type, (uint32_t)mode);
}

/* redux.sync.min{.abs}{.NaN}.f32, of sm_100. */
static bool decode_redux_float(struct ptx_parser *p, int op)
{
    uint32_t flags =
        (ptx_take(p, MOD_abs) ? PTX_F_ABS : 0) | (ptx_take(p, MOD_NaN) ? PTX_F_NAN : 0);

    if ((op != PTX_ATOM_MIN && op != PTX_ATOM_MAX) || p->target < 100)
        return ptx_unsupported(p);
    if (!emit_members(p, ptx_run_reduce_float, PTX_F32, (uint32_t)op))
        return false;
    struct ptx_insn *last = (struct ptx_insn *)p->insns.items + p->insns.count - 1;
    last->flags |= flags;
    return true;
}

static bool decode_redux(struct ptx_parser *p, const struct ptx_row *row)
{
    static const enum ptx_modifier ops[] = {MOD_add, MOD_min, MOD_max,  MOD_and,
                                            MOD_or,  MOD_xor, MOD_COUNT};
    int op = ptx_take_one(p, ops);
    ptx_type type = ptx_take_type(p);

    bool logic = op >= PTX_ATOM_AND;
    if (op < 0 || !ptx_take(p, MOD_sync))
        return ptx_unsupported(p);
    if (type == PTX_F32)
        return decode_redux_float(p, op);
    if (logic ? type != PTX_B32 : type != PTX_U32 && type != PTX_S32)
        return ptx_unsupported(p);
    if (ptx_operand_at(p, 0)->kind != PTX_OPERAND_REG)
        return ptx_bad_operands(p);
    return emit_members(p, ptx_run_reduce, type, (uint32_t)op);
}

static bool decode_activemask(struct ptx_parser *p, const struct ptx_row *row)
{
    if (!ptx_take(p, PTX_B32))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 1, 1))
        return false;
    ptx_op dst = ptx_dest(p, ptx_operand_at(p, 0), PTX_B32, false);
    ptx_emit(p, ptx_run_active_mask)->dst = dst;
    return true;
}

static bool decode_elect(struct ptx_parser *p, const struct ptx_row *row)
{
    ptx_op dst;
    ptx_op dst2;

    if (!ptx_take(p, MOD_sync))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 2, 2))
        return false;
    if (ptx_operand_at(p, 0)->kind != PTX_OPERAND_PAIR)
        return ptx_bad_operands(p);
    parse_pair(p, PTX_B32, true, &dst, &dst2);
    if (dst2 == PTX_OP_NONE)
        return ptx_bad_operands(p);
    ptx_op members = ptx_source(p, ptx_operand_at(p, 1), PTX_B32, false);
    struct ptx_insn *i = ptx_emit(p, ptx_run_elect);
    i->dst = dst;
    i->dst2 = dst2;
    i->src[0] = members;
    return true;
}

const struct ptx_row ptx_rows_warp[] = {
    {"shfl", decode_shuffle, 0, 0},
    {"vote", decode_vote, 0, 0},
    {"match", decode_match, 0, 0},
    {"redux", decode_redux, 0, 0},
    {"activemask", decode_activemask, 0, 0},
    {"elect", decode_elect, 0, 0},
    {0},
};
