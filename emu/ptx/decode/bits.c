/* SPDX-License-Identifier: Apache-2.0
 *
 * Logic, shifts, bit fields, selection.
 */
#include "emu/ptx/decode/decode.h"

/* Types of the destination and of each source, by row. */
struct shape {
    ptx_type dst;
    ptx_type src[4];
};

static struct ptx_insn *emit_shape(struct ptx_parser *p, ptx_fn fn, struct shape s,
                                   unsigned sources)
{
    ptx_op src[4] = {PTX_OP_NONE, PTX_OP_NONE, PTX_OP_NONE, PTX_OP_NONE};
    ptx_op dst = ptx_dest(p, ptx_operand_at(p, 0), s.dst, false);

    for (unsigned k = 0; k < sources; k++)
        src[k] = ptx_source(p, ptx_operand_at(p, 1 + k), s.src[k], false);
    struct ptx_insn *i = ptx_emit(p, fn);
    i->dst = dst;
    for (unsigned k = 0; k < 4; k++)
        i->src[k] = src[k];
    return i;
}

/* The bit type of the same size. */
static ptx_type bits_of(ptx_type type)
{
    if (type == PTX_PRED || type == PTX_TYPE_COUNT)
        return type;
    switch (ptx_type_size(type)) {
    case 2:
        return PTX_B16;
    case 4:
        return PTX_B32;
    case 8:
        return PTX_B64;
    default:
        return type;
    }
}

static bool decode_logic(struct ptx_parser *p, const struct ptx_row *row)
{
    ptx_type type = ptx_take_type(p);

    if (type == PTX_TYPE_COUNT || (type != PTX_PRED && ptx_type_class(type) != 'b'))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, row->detail + 1, row->detail + 1))
        return false;
    struct shape s = {type, {type, type}};
    emit_shape(p, ptx_handler(row->op, bits_of(type)), s, row->detail);
    return true;
}

static bool decode_shift(struct ptx_parser *p, const struct ptx_row *row)
{
    ptx_type type = ptx_take_type(p);

    if (type == PTX_TYPE_COUNT || (row->op == PTX_ALU_SHL && ptx_type_class(type) != 'b'))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 3, 3))
        return false;
    ptx_type kind = row->op == PTX_ALU_SHL ? bits_of(type) : type;
    emit_shape(p, ptx_handler(row->op, kind), (struct shape){type, {type, PTX_U32}}, 2);
    return true;
}

static bool decode_funnel(struct ptx_parser *p, const struct ptx_row *row)
{
    bool left = ptx_take(p, MOD_l);
    bool clamp;

    if (!left && !ptx_take(p, MOD_r))
        return ptx_unsupported(p);
    clamp = ptx_take(p, MOD_clamp);
    if ((!clamp && !ptx_take(p, MOD_wrap)) || !ptx_take(p, PTX_B32))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 4, 4))
        return false;
    struct shape s = {PTX_B32, {PTX_B32, PTX_B32, PTX_U32}};
    enum ptx_alu op = left ? PTX_ALU_SHF_L : PTX_ALU_SHF_R;
    emit_shape(p, ptx_handler(op, PTX_B32), s, 3)->flags = clamp ? PTX_F_CLAMP : 0;
    return true;
}

/* lop3.or d|p, a, b, c, table, q: p is whether d is not zero, or (and) q. */
static bool decode_lop3_test(struct ptx_parser *p, enum ptx_alu combine, int64_t table)
{
    struct ptx_operand *d = ptx_operand_at(p, 0);

    if (d->kind != PTX_OPERAND_PAIR)
        return ptx_bad_operands(p);
    ptx_op q = ptx_source(p, ptx_operand_at(p, 5), PTX_PRED, false);
    ptx_op out = ptx_dest(p, ptx_operand_at(p, d->count), PTX_PRED, false);
    ptx_op test = ptx_register_new(p, PTX_PRED, 1);
    ptx_op zero = ptx_pool_value(p, 0, 4);
    *d = *ptx_operand_at(p, d->first);
    struct shape s = {PTX_B32, {PTX_B32, PTX_B32, PTX_B32}};
    struct ptx_insn *i = emit_shape(p, ptx_handler(PTX_ALU_LOP3, PTX_B32), s, 3);
    i->imm = table;
    ptx_op value = i->dst;
    i = ptx_emit(p, ptx_handler(PTX_ALU_SETP, PTX_B32));
    i->dst = test;
    i->src[0] = value;
    i->src[1] = zero;
    i->flags = PTX_CMP_NE << PTX_F_MODE_SHIFT;
    i = ptx_emit(p, ptx_handler(combine, PTX_PRED));
    i->dst = out;
    i->src[0] = test;
    i->src[1] = q;
    return true;
}

static bool decode_lop3(struct ptx_parser *p, const struct ptx_row *row)
{
    bool with_or = ptx_take(p, MOD_or);
    bool tests = with_or || ptx_take(p, MOD_and);

    if (!ptx_take(p, PTX_B32))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 5u + tests, 5u + tests))
        return false;
    const struct ptx_operand *table = ptx_operand_at(p, 4);
    if (table->kind != PTX_OPERAND_INT)
        return ptx_bad_operands(p);
    if (tests)
        return decode_lop3_test(p, with_or ? PTX_ALU_OR : PTX_ALU_AND,
                                (int64_t)(table->value & 255));
    struct shape s = {PTX_B32, {PTX_B32, PTX_B32, PTX_B32}};
    emit_shape(p, ptx_handler(row->op, PTX_B32), s, 3)->imm = (int64_t)(table->value & 255);
    return true;
}

static bool decode_prmt(struct ptx_parser *p, const struct ptx_row *row)
{
    static const enum ptx_modifier modes[] = {MOD_f4e, MOD_b4e,  MOD_rc8,  MOD_ecl,
                                              MOD_ecr, MOD_rc16, MOD_COUNT};

    if (!ptx_take(p, PTX_B32))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 4, 4))
        return false;
    uint32_t mode = (uint32_t)(ptx_take_one(p, modes) + 1);
    struct shape s = {PTX_B32, {PTX_B32, PTX_B32, PTX_B32}};
    emit_shape(p, ptx_handler(row->op, PTX_B32), s, 3)->flags = mode << PTX_F_MODE_SHIFT;
    return true;
}

/* Places and lengths of fields are bytes. */
static bool is_byte(const struct ptx_operand *o)
{
    return o->kind != PTX_OPERAND_INT || o->value < 256;
}

static bool decode_field(struct ptx_parser *p, const struct ptx_row *row)
{
    ptx_type type = ptx_take_type(p);
    bool insert = row->op == PTX_ALU_BFI;
    unsigned sources = insert ? 4 : 3;

    if (type == PTX_TYPE_COUNT)
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, sources + 1, sources + 1))
        return false;
    if (!is_byte(ptx_operand_at(p, sources - 1)) || !is_byte(ptx_operand_at(p, sources)))
        return ptx_bad_operands(p);
    struct shape s = {type, {type, insert ? type : PTX_U32, PTX_U32, PTX_U32}};
    emit_shape(p, ptx_handler(row->op, type), s, sources);
    return true;
}

/* Results of 32 bits from a source of 32 or 64. */
static bool decode_count(struct ptx_parser *p, const struct ptx_row *row)
{
    ptx_type type = ptx_take_type(p);
    bool shift = row->op == PTX_ALU_BFIND && ptx_take(p, MOD_shiftamt);

    if (type == PTX_TYPE_COUNT)
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 2, 2))
        return false;
    ptx_type to = row->op == PTX_ALU_BREV ? type : PTX_U32;
    emit_shape(p, ptx_handler(row->op, type), (struct shape){to, {type}}, 1)->flags =
        (uint32_t)shift << PTX_F_MODE_SHIFT;
    return true;
}

static bool decode_mask(struct ptx_parser *p, const struct ptx_row *row)
{
    bool clamp = ptx_take(p, MOD_clamp);
    ptx_type type;

    if (!clamp && !ptx_take(p, MOD_wrap))
        return ptx_unsupported(p);
    type = ptx_take_type(p);
    if (type == PTX_TYPE_COUNT)
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 3, 3))
        return false;
    struct shape s = {type, {type, PTX_U32}};
    emit_shape(p, ptx_handler(row->op, type), s, 2)->flags = clamp ? PTX_F_CLAMP : 0;
    return true;
}

static bool decode_fns(struct ptx_parser *p, const struct ptx_row *row)
{
    if (!ptx_take(p, PTX_B32))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 4, 4))
        return false;
    emit_shape(p, ptx_handler(row->op, PTX_B32),
               (struct shape){PTX_B32, {PTX_B32, PTX_B32, PTX_S32}}, 3);
    return true;
}

static bool decode_dot(struct ptx_parser *p, const struct ptx_row *row)
{
    bool high = row->op == PTX_ALU_DP2A && ptx_take(p, MOD_hi);
    bool low = row->op == PTX_ALU_DP2A && !high && ptx_take(p, MOD_lo);
    ptx_type a = ptx_take_type(p);
    ptx_type b = ptx_take_type(p);

    if ((row->op == PTX_ALU_DP2A && !high && !low) || (a != PTX_U32 && a != PTX_S32) ||
        (b != PTX_U32 && b != PTX_S32))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 4, 4))
        return false;
    uint32_t mode = (a == PTX_S32) | (b == PTX_S32) << 1 | (uint32_t)high << 2;
    struct shape s = {PTX_U32, {PTX_U32, PTX_U32, PTX_U32}};
    emit_shape(p, ptx_handler(row->op, PTX_B32), s, 3)->flags = mode << PTX_F_MODE_SHIFT;
    return true;
}

static bool is_selectable(ptx_type type)
{
    return (type <= PTX_B64 && ptx_type_size(type) > 1) || type == PTX_F32 || type == PTX_F64;
}

static bool decode_selp(struct ptx_parser *p, const struct ptx_row *row)
{
    ptx_type type = ptx_take_type(p);

    if (!is_selectable(type))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 4, 4))
        return false;
    emit_shape(p, ptx_handler(row->op, bits_of(type)), (struct shape){type, {type, type, PTX_PRED}},
               3);
    return true;
}

static bool decode_slct(struct ptx_parser *p, const struct ptx_row *row)
{
    ptx_type type = ptx_take_type(p);
    ptx_type by = ptx_take_type(p);
    uint32_t flags = ptx_take(p, MOD_ftz) ? PTX_F_FTZ : 0;

    if (!is_selectable(type) || (by != PTX_S32 && by != PTX_F32) || (flags && by != PTX_F32))
        return ptx_unsupported(p);
    if (p->target && p->target < 20)
        flags = PTX_F_FTZ; /* sm_1x has no subnormal f32 */
    if (!ptx_want_operands(p, 4, 4))
        return false;
    enum ptx_alu op = by == PTX_F32 ? PTX_ALU_SLCT_F : PTX_ALU_SLCT;
    emit_shape(p, ptx_handler(op, bits_of(type)), (struct shape){type, {type, type, by}}, 3)
        ->flags = flags;
    return true;
}

const struct ptx_row ptx_rows_bits[] = {
    {"and", decode_logic, PTX_ALU_AND, 2},     {"or", decode_logic, PTX_ALU_OR, 2},
    {"xor", decode_logic, PTX_ALU_XOR, 2},     {"not", decode_logic, PTX_ALU_NOT, 1},
    {"cnot", decode_logic, PTX_ALU_CNOT, 1},   {"shl", decode_shift, PTX_ALU_SHL, 0},
    {"shr", decode_shift, PTX_ALU_SHR, 0},     {"shf", decode_funnel, 0, 0},
    {"lop3", decode_lop3, PTX_ALU_LOP3, 0},    {"prmt", decode_prmt, PTX_ALU_PRMT, 0},
    {"bfe", decode_field, PTX_ALU_BFE, 0},     {"bfi", decode_field, PTX_ALU_BFI, 0},
    {"bfind", decode_count, PTX_ALU_BFIND, 0}, {"brev", decode_count, PTX_ALU_BREV, 0},
    {"clz", decode_count, PTX_ALU_CLZ, 0},     {"popc", decode_count, PTX_ALU_POPC, 0},
    {"bmsk", decode_mask, PTX_ALU_BMSK, 0},    {"szext", decode_mask, PTX_ALU_SZEXT, 0},
    {"fns", decode_fns, PTX_ALU_FNS, 0},       {"dp4a", decode_dot, PTX_ALU_DP4A, 0},
    {"dp2a", decode_dot, PTX_ALU_DP2A, 0},     {"selp", decode_selp, PTX_ALU_SELP, 0},
    {"slct", decode_slct, PTX_ALU_SLCT, 0},    {0},
};
