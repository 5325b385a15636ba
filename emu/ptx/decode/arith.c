/* SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic: add to tanh, setp.
 */
#include "emu/ptx/decode/decode.h"

/* The count of sources, in ptx_row.detail. */
enum { SOURCES = 3 };

/* Modifiers that a float operation may have. */
enum {
    NEAREST = 1 << 0, /* .rn */
    ROUND = 1 << 1,   /* any rounding */
    APPROX = 1 << 2,
    FULL = 1 << 3,
    NEED = 1 << 4, /* one of these must be there */
    FTZ = 1 << 5,
    SAT = 1 << 6,
    RELU = 1 << 7,
    NAN_TOO = 1 << 8, /* .NaN and .xorsign.abs */
};

static unsigned single_may(uint16_t op)
{
    switch (op) {
    case PTX_ALU_ADD:
    case PTX_ALU_SUB:
    case PTX_ALU_MUL:
        return ROUND | FTZ | SAT;
    case PTX_ALU_FMA:
    case PTX_ALU_MAD:
        return ROUND | FTZ | SAT | NEED;
    case PTX_ALU_DIV:
        return ROUND | APPROX | FULL | FTZ | NEED;
    case PTX_ALU_RCP:
    case PTX_ALU_SQRT:
        return ROUND | APPROX | FTZ | NEED;
    case PTX_ALU_ABS:
    case PTX_ALU_NEG:
        return FTZ;
    case PTX_ALU_MIN:
    case PTX_ALU_MAX:
        return FTZ | NAN_TOO;
    case PTX_ALU_TANH:
        return APPROX | NEED;
    default:
        return APPROX | FTZ | NEED;
    }
}

static unsigned double_may(uint16_t op)
{
    switch (op) {
    case PTX_ALU_ADD:
    case PTX_ALU_SUB:
    case PTX_ALU_MUL:
        return ROUND;
    case PTX_ALU_RCP:
        return ROUND | APPROX | FTZ | NEED;
    case PTX_ALU_RSQRT:
        return APPROX | FTZ | NEED;
    case PTX_ALU_FMA:
    case PTX_ALU_MAD:
    case PTX_ALU_DIV:
    case PTX_ALU_SQRT:
        return ROUND | NEED;
    default:
        return 0;
    }
}

static unsigned half_may(uint16_t op, bool brain)
{
    switch (op) {
    case PTX_ALU_ADD:
    case PTX_ALU_SUB:
    case PTX_ALU_MUL:
        return brain ? NEAREST : NEAREST | FTZ | SAT;
    case PTX_ALU_FMA:
        return brain ? NEAREST | RELU | NEED : NEAREST | RELU | NEED | FTZ | SAT;
    case PTX_ALU_ABS:
    case PTX_ALU_NEG:
        return brain ? 0 : FTZ;
    case PTX_ALU_MIN:
    case PTX_ALU_MAX:
        return brain ? NAN_TOO : NAN_TOO | FTZ;
    case PTX_ALU_EX2:
        return brain ? APPROX | FTZ | NEED : APPROX | NEED;
    default:
        return APPROX | NEED;
    }
}

static unsigned may_have(uint16_t op, ptx_type type)
{
    switch (type) {
    case PTX_F32:
    case PTX_F32X2:
        return single_may(op) & ~(type == PTX_F32X2 ? (unsigned)SAT : 0);
    case PTX_F64:
        return double_may(op);
    default:
        return half_may(op, type == PTX_BF16 || type == PTX_BF16X2);
    }
}

/* Tests for what sm_1x lacks: roundings of f32 but .rn and .rz of sums and products, fma of f32,
 * and, also those of later texts, roundings of f64 in divisions. `round`: enum ptx_round, or -1. */
static bool is_old_enough(struct ptx_parser *p, uint16_t op, ptx_type type, int round)
{
    bool divides = op == PTX_ALU_DIV || op == PTX_ALU_RCP || op == PTX_ALU_SQRT;

    if (type == PTX_F64 && op == PTX_ALU_RCP && p->version < 14)
        return false;
    if (type == PTX_F64 && divides && round > 0)
        return ptx_check_world(p, 20, 0, "rounding");
    if (type != PTX_F32 || !p->target || p->target >= 20)
        return true;
    if (op == PTX_ALU_FMA)
        return false;
    return round < 0 || (op != PTX_ALU_MAD && !divides && round <= PTX_ROUND_ZERO);
}

/* Tests whether a text may leave out how to round: before PTX 1.4, and in mad.f32 before PTX 3.2
 * and on sm_1x. */
static bool may_leave_out(const struct ptx_parser *p, uint16_t op, ptx_type type)
{
    return p->version < 14 ||
           (op == PTX_ALU_MAD && type == PTX_F32 && (p->target < 20 || p->version < 32));
}

/* The oldest texts leave out .approx; then they say nothing of .ftz either, and mean both. */
static bool take_flags(struct ptx_parser *p, uint16_t op, ptx_type type, uint32_t *flags)
{
    static const enum ptx_modifier rounds[] = {MOD_rn, MOD_rz, MOD_rm, MOD_rp, MOD_COUNT};
    unsigned may = may_have(op, type);
    int round = ptx_take_one(p, rounds);
    bool approx = ptx_take(p, MOD_approx);
    bool full = ptx_take(p, MOD_full);
    bool old = may_leave_out(p, op, type);
    unsigned has = (round > 0    ? ROUND
                    : round == 0 ? (may & ROUND ? ROUND : NEAREST)
                                 : 0) |
                   (approx ? APPROX : 0) | (full ? FULL : 0);

    if ((may & NEED && !has && !old) || (has & (has - 1)) || !is_old_enough(p, op, type, round))
        return false;
    has |= (ptx_take(p, MOD_ftz) ? FTZ : 0) | (ptx_take(p, MOD_sat) ? SAT : 0) |
           (ptx_take(p, MOD_relu) ? RELU : 0);
    *flags = ptx_take(p, MOD_NaN) ? PTX_F_NAN : 0;
    if (ptx_has(p, MOD_abs) && ptx_take(p, MOD_xorsign))
        *flags |= ptx_take(p, MOD_abs) ? PTX_F_ABS : 0; /* alone it stays, and is refused */
    if ((has & ~may) || (*flags && !(may & NAN_TOO)) || (has & SAT && has & RELU))
        return false;
    *flags |= (round > 0 ? (uint32_t)round << PTX_F_ROUND_SHIFT : 0) | (has & FTZ ? PTX_F_FTZ : 0) |
              (has & SAT ? PTX_F_SAT : 0) | (has & RELU ? PTX_F_RELU : 0) |
              (approx || full ? PTX_F_APPROX : 0);
    /* sm_1x has no subnormal f32. */
    if (type == PTX_F32 && p->target && p->target < 20)
        *flags |= PTX_F_FTZ;
    return true;
}

/* dst and sources, all of one type, into an instruction of `fn`. */
static struct ptx_insn *emit_simple(struct ptx_parser *p, ptx_fn fn, ptx_type type,
                                    unsigned sources)
{
    ptx_op dst = ptx_dest(p, ptx_operand_at(p, 0), type, false);
    ptx_op src[4];

    for (unsigned k = 0; k < sources; k++)
        src[k] = ptx_source(p, ptx_operand_at(p, 1 + k), type, false);
    struct ptx_insn *i = ptx_emit(p, fn);
    i->dst = dst;
    i->type = type;
    for (unsigned k = 0; k < 4; k++)
        i->src[k] = k < sources ? src[k] : src[0];
    return i;
}

static void wrap_rounding(struct ptx_insn *i)
{
    if (!(i->flags >> PTX_F_ROUND_SHIFT & 3))
        return;
    i->inner = i->fn;
    i->fn = ptx_run_rounded;
}

static bool decode_float(struct ptx_parser *p, const struct ptx_row *row, ptx_type type)
{
    unsigned sources = row->detail & SOURCES;
    uint32_t flags;

    /* The generator of one program writes rcp.approx.f64 without .ftz, and works. */
    if (!take_flags(p, row->op, type, &flags))
        return ptx_unsupported(p);
    if (type == PTX_F64 && flags & PTX_F_FTZ &&
        (!(flags & PTX_F_APPROX) ||
         !ptx_check_world(p, 20, row->op == PTX_ALU_RCP ? 21 : 40, "ftz")))
        return ptx_unsupported(p);
    if (row->op == PTX_ALU_EX2 && (type == PTX_BF16 || type == PTX_BF16X2) && !(flags & PTX_F_FTZ))
        return ptx_unsupported(p);
    struct ptx_insn *i = emit_simple(p, ptx_handler(row->op, type), type, sources);
    i->flags = flags;
    if (!(flags & PTX_F_APPROX))
        wrap_rounding(i);
    return true;
}

/* add.f32.f16 and the like: halves in, f32 out; `halves` sources of the narrow type come first. */
static bool decode_mixed(struct ptx_parser *p, const struct ptx_row *row, ptx_type half,
                         unsigned halves)
{
    unsigned sources = row->detail & SOURCES;
    ptx_op src[3] = {PTX_OP_NONE, PTX_OP_NONE, PTX_OP_NONE};
    uint32_t flags;

    if ((half != PTX_F16 && half != PTX_BF16) || p->target < 100 ||
        !take_flags(p, row->op, PTX_F32, &flags) || flags & PTX_F_FTZ)
        return ptx_unsupported(p);
    ptx_op dst = ptx_dest(p, ptx_operand_at(p, 0), PTX_F32, false);
    for (unsigned k = 0; k < sources; k++) {
        ptx_op op = ptx_source(p, ptx_operand_at(p, k + 1),
                               k >= halves        ? PTX_F32
                               : half == PTX_BF16 ? PTX_B16
                                                  : half,
                               false);
        src[k] = op;
        if (k >= halves)
            continue;
        src[k] = ptx_register_new(p, PTX_F32, 1);
        struct ptx_insn *c = ptx_emit(p, ptx_handler(PTX_ALU_CVT, PTX_B32));
        c->dst = src[k];
        c->src[0] = op;
        c->type = PTX_F32;
        c->type2 = half;
    }
    struct ptx_insn *i = ptx_emit(p, ptx_handler(row->op, PTX_F32));
    i->dst = dst;
    for (unsigned k = 0; k < sources; k++)
        i->src[k] = src[k];
    i->type = PTX_F32;
    i->flags = flags;
    wrap_rounding(i);
    return true;
}

/* .cc, and the forms that read it. */
static bool decode_carry(struct ptx_parser *p, enum ptx_alu op, ptx_type type, unsigned sources,
                         uint32_t flags)
{
    if (ptx_take(p, MOD_cc))
        flags |= PTX_F_CARRY_OUT;
    if (flags & PTX_F_CARRY_OUT && ptx_type_size(type) == 8 &&
        !ptx_check_world(p, 20, 43, ".cc of 64 bits"))
        return false;
    struct ptx_insn *i = emit_simple(p, ptx_handler(op, type), type, sources);
    i->flags = flags;
    return true;
}

static bool decode_add(struct ptx_parser *p, const struct ptx_row *row)
{
    ptx_type type = ptx_take_type(p);
    bool add = row->op == PTX_ALU_ADD;

    if (type == PTX_TYPE_COUNT || !ptx_want_operands(p, 3, 3))
        return p->status == PTX_OK ? ptx_unsupported(p) : false;
    if (ptx_type_class(type) == 'f') {
        ptx_type half = type == PTX_F32 ? ptx_take_type(p) : PTX_TYPE_COUNT;
        return half == PTX_TYPE_COUNT ? decode_float(p, row, type) : decode_mixed(p, row, half, 1);
    }
    if (ptx_has(p, MOD_cc))
        return decode_carry(p, add ? PTX_ALU_ADDC : PTX_ALU_SUBC, type, 2, 0);
    bool sat = ptx_take(p, MOD_sat);
    emit_simple(p, ptx_handler(sat ? add ? PTX_ALU_ADD_SAT : PTX_ALU_SUB_SAT : row->op, type), type,
                2);
    return true;
}

static bool decode_add_carry(struct ptx_parser *p, const struct ptx_row *row)
{
    ptx_type type = ptx_take_type(p);

    if (type == PTX_TYPE_COUNT)
        return ptx_unsupported(p);
    return ptx_want_operands(p, 3, 3) && decode_carry(p, row->op, type, 2, PTX_F_CARRY_IN);
}

/* d = a op b where d and c are twice as wide. */
static bool decode_wide(struct ptx_parser *p, enum ptx_alu op, ptx_type type, bool mad)
{
    static const uint8_t wide[PTX_TYPE_COUNT] = {
        [PTX_U16] = PTX_U32, [PTX_S16] = PTX_S32, [PTX_U32] = PTX_U64, [PTX_S32] = PTX_S64};
    ptx_fn fn = ptx_handler(op, type);

    if (!fn)
        return ptx_unsupported(p);
    ptx_op dst = ptx_dest(p, ptx_operand_at(p, 0), wide[type], false);
    ptx_op a = ptx_source(p, ptx_operand_at(p, 1), type, false);
    ptx_op b = ptx_source(p, ptx_operand_at(p, 2), type, false);
    ptx_op c = mad ? ptx_source(p, ptx_operand_at(p, 3), wide[type], false) : a;
    struct ptx_insn *i = ptx_emit(p, fn);
    i->dst = dst;
    i->src[0] = a;
    i->src[1] = b;
    i->src[2] = c;
    return true;
}

static bool decode_mul(struct ptx_parser *p, const struct ptx_row *row)
{
    ptx_type type = ptx_take_type(p);
    bool mad = row->op == PTX_ALU_MAD;
    unsigned sources = mad ? 3 : 2;

    if (type == PTX_TYPE_COUNT)
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, sources + 1, sources + 1))
        return false;
    if (ptx_type_class(type) == 'f')
        return mad && type != PTX_F32 && type != PTX_F64 ? ptx_unsupported(p)
                                                         : decode_float(p, row, type);
    if (ptx_take(p, MOD_wide))
        return decode_wide(p, mad ? PTX_ALU_MAD_WIDE : PTX_ALU_MUL_WIDE, type, mad);
    bool hi = ptx_take(p, MOD_hi);
    if (!hi && !ptx_take(p, MOD_lo))
        return ptx_unsupported(p);
    if (mad && ptx_has(p, MOD_cc))
        return decode_carry(p, hi ? PTX_ALU_MADC_HI : PTX_ALU_MADC, type, 3, 0);
    enum ptx_alu op = mad ? hi ? PTX_ALU_MAD_HI : PTX_ALU_MAD : hi ? PTX_ALU_MUL_HI : PTX_ALU_MUL;
    if (mad && hi && ptx_take(p, MOD_sat))
        op = PTX_ALU_MAD_HI_SAT;
    emit_simple(p, ptx_handler(op, type), type, sources);
    return true;
}

static bool decode_mad_carry(struct ptx_parser *p, const struct ptx_row *row)
{
    ptx_type type = ptx_take_type(p);
    bool hi = ptx_take(p, MOD_hi);

    if (type == PTX_TYPE_COUNT || (!hi && !ptx_take(p, MOD_lo)))
        return ptx_unsupported(p);
    return ptx_want_operands(p, 4, 4) &&
           decode_carry(p, hi ? PTX_ALU_MADC_HI : PTX_ALU_MADC, type, 3, PTX_F_CARRY_IN);
}

static bool decode_mul24(struct ptx_parser *p, const struct ptx_row *row)
{
    ptx_type type = ptx_take_type(p);
    bool hi = ptx_take(p, MOD_hi);
    bool mad = row->op == PTX_ALU_MAD24;

    if (type == PTX_TYPE_COUNT || (!hi && !ptx_take(p, MOD_lo)))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, mad ? 4 : 3, mad ? 4 : 3))
        return false;
    enum ptx_alu op = hi ? mad ? PTX_ALU_MAD24_HI : PTX_ALU_MUL24_HI : row->op;
    if (mad && hi && ptx_take(p, MOD_sat))
        op = PTX_ALU_MAD24_HI_SAT;
    emit_simple(p, ptx_handler(op, type), type, mad ? 3 : 2);
    return true;
}

/* Operations of one type, integer or float: the table says which types there are. */
static bool decode_plain(struct ptx_parser *p, const struct ptx_row *row)
{
    ptx_type type = ptx_take_type(p);
    unsigned sources = row->detail & SOURCES;

    if (type == PTX_TYPE_COUNT)
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, sources + 1, sources + 1))
        return false;
    if (row->op == PTX_ALU_FMA && type == PTX_F32) {
        ptx_type half = ptx_take_type(p);
        if (half != PTX_TYPE_COUNT)
            return decode_mixed(p, row, half, 2);
    }
    if (ptx_type_class(type) == 'f' && row->op != PTX_ALU_COPYSIGN)
        return decode_float(p, row, type);
    emit_simple(p, ptx_handler(row->op, type), type, sources);
    return true;
}

/* min(min(a, b), c), of sm_100. */
static ptx_op emit_two(struct ptx_parser *p, uint16_t op, ptx_op dst, ptx_op a, ptx_op b,
                       uint32_t flags)
{
    struct ptx_insn *i = ptx_emit(p, ptx_handler(op, PTX_F32));

    i->dst = dst;
    i->src[0] = a;
    i->src[1] = b;
    i->type = PTX_F32;
    i->flags = flags;
    return dst;
}

static bool decode_min_of_three(struct ptx_parser *p, const struct ptx_row *row, ptx_type type)
{
    uint32_t flags;

    if (type != PTX_F32 || !ptx_check_world(p, 100, 88, "a third source") ||
        !take_flags(p, row->op, type, &flags) || flags & PTX_F_ABS)
        return ptx_unsupported(p);
    bool sizes = ptx_take(p, MOD_abs);
    ptx_op src[3];
    for (unsigned k = 0; k < 3; k++) {
        src[k] = ptx_source(p, ptx_operand_at(p, k + 1), type, false);
        if (sizes)
            src[k] = emit_two(p, PTX_ALU_ABS, ptx_register_new(p, type, 1), src[k], src[k], 0);
    }
    ptx_op dst = ptx_dest(p, ptx_operand_at(p, 0), type, false);
    ptx_op half = emit_two(p, row->op, ptx_register_new(p, type, 1), src[0], src[1], flags);
    emit_two(p, row->op, dst, half, src[2], flags);
    return true;
}

static bool decode_min(struct ptx_parser *p, const struct ptx_row *row)
{
    ptx_type type = ptx_take_type(p);

    if (type == PTX_TYPE_COUNT)
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 3, ptx_type_class(type) == 'f' ? 4 : 3))
        return false;
    if (p->statement.operand_count == 4)
        return decode_min_of_three(p, row, type);
    if (ptx_type_class(type) == 'f')
        return decode_float(p, row, type);
    bool relu = (type == PTX_S32 || type == PTX_S16X2) && ptx_take(p, MOD_relu);
    ptx_op dst = emit_simple(p, ptx_handler(row->op, type), type, 2)->dst;
    if (!relu)
        return true;
    ptx_op zero = ptx_pool_value(p, 0, 4);
    struct ptx_insn *i = ptx_emit(p, ptx_handler(PTX_ALU_MAX, type));
    i->dst = i->src[0] = dst;
    i->src[1] = zero;
    return true;
}

static bool decode_sad(struct ptx_parser *p, const struct ptx_row *row)
{
    ptx_type type = ptx_take_type(p);

    if (type == PTX_TYPE_COUNT)
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 4, 4))
        return false;
    emit_simple(p, ptx_handler(row->op, type), type, 3);
    return true;
}

static bool decode_testp(struct ptx_parser *p, const struct ptx_row *row)
{
    static const enum ptx_modifier tests[] = {MOD_finite, MOD_infinite,  MOD_number, MOD_notanumber,
                                              MOD_normal, MOD_subnormal, MOD_COUNT};
    int test = ptx_take_one(p, tests);
    ptx_type type = ptx_take_type(p);

    if (test < 0 || type == PTX_TYPE_COUNT)
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 2, 2))
        return false;
    ptx_op dst = ptx_dest(p, ptx_operand_at(p, 0), PTX_PRED, false);
    ptx_op a = ptx_source(p, ptx_operand_at(p, 1), type, false);
    struct ptx_insn *i = ptx_emit(p, ptx_handler(row->op, type));
    i->dst = dst;
    i->src[0] = a;
    i->flags = (uint32_t)test << PTX_F_MODE_SHIFT;
    return true;
}

/* The comparison and the way to combine it, as the mode of setp and set. -1: none given. */
static int take_comparison(struct ptx_parser *p, bool *make_unsigned)
{
    static const enum ptx_modifier words[] = {
        MOD_eq,  MOD_ne,  MOD_lt,  MOD_le,  MOD_gt, MOD_ge, MOD_num, MOD_nan, MOD_equ,  MOD_neu,
        MOD_ltu, MOD_leu, MOD_gtu, MOD_geu, MOD_lo, MOD_ls, MOD_hi,  MOD_hs,  MOD_COUNT};
    static const enum ptx_modifier combines[] = {MOD_and, MOD_or, MOD_xor, MOD_COUNT};
    int word = ptx_take_one(p, words);
    int combine = ptx_take_one(p, combines);

    *make_unsigned = word >= 14;
    if (word < 0)
        return -1;
    int compare = word >= 14 ? PTX_CMP_LT + word - 14 : word;
    return compare | (combine + 1) << 4;
}

/* Tests the result type of set: a word, a float, or for 16-bit floats a half word. */
static bool is_set_result(ptx_type to, ptx_type type)
{
    bool half = type == PTX_F16 || type == PTX_BF16;
    bool pair = type == PTX_F16X2 || type == PTX_BF16X2;

    if (to == PTX_U32 || to == PTX_S32)
        return true;
    if (pair)
        return to == type;
    if (to == PTX_U16 || to == PTX_S16)
        return half;
    return to == PTX_F32 ? !half : to == PTX_BF16 || (to == PTX_F16 && type != PTX_BF16);
}

/* Only f32 and f16 have subnormals that a comparison may flush. */
static bool may_flush(ptx_type type)
{
    return type == PTX_F32 || type == PTX_F16 || type == PTX_F16X2;
}

static bool decode_compare(struct ptx_parser *p, const struct ptx_row *row)
{
    bool is_set = row->op == PTX_ALU_SET;
    bool make_unsigned;
    int mode = take_comparison(p, &make_unsigned);
    ptx_type to = is_set ? ptx_take_type(p) : PTX_PRED;
    ptx_type type = ptx_take_type(p);
    uint32_t flags = ptx_take(p, MOD_ftz) ? PTX_F_FTZ : 0;
    bool combines = mode > 15;
    bool is_asked = flags != 0;

    if (mode < 0 || type == PTX_TYPE_COUNT || to == PTX_TYPE_COUNT)
        return ptx_unsupported(p);
    char kind = ptx_type_class(type);
    if (type == PTX_F32 && p->target && p->target < 20)
        flags = PTX_F_FTZ; /* sm_1x has no subnormal f32 */
    if ((kind != 'f' && (mode & 15) > PTX_CMP_GE) || (kind == 'b' && (mode & 15) > PTX_CMP_NE) ||
        (make_unsigned && kind != 'u') || (is_set && !is_set_result(to, type)) ||
        (is_asked && (!may_flush(type) || to == PTX_BF16)))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, combines ? 4 : 3, combines ? 4 : 3))
        return false;
    struct ptx_operand *d = ptx_operand_at(p, 0);
    bool pair = d->kind == PTX_OPERAND_PAIR && !is_set;
    if (pair && (type == PTX_F16 || type == PTX_BF16))
        return ptx_bad_operands(p);
    if (is_set && ptx_type_class(to) != 'f' && (type == PTX_F16 || type == PTX_F16X2) &&
        !ptx_check_world(p, 53, 65, "an integer result"))
        return false;
    ptx_op dst = ptx_dest(p, pair ? ptx_operand_at(p, d->first) : d, to, false);
    ptx_op dst2 = pair ? ptx_dest(p, ptx_operand_at(p, d->count), PTX_PRED, false) : PTX_OP_NONE;
    ptx_op a = ptx_source(p, ptx_operand_at(p, 1), type, false);
    ptx_op b = ptx_source(p, ptx_operand_at(p, 2), type, false);
    ptx_op c = combines ? ptx_source(p, ptx_operand_at(p, 3), PTX_PRED, false) : PTX_OP_NONE;
    struct ptx_insn *i = ptx_emit(p, ptx_handler(row->op, type));
    i->dst = dst;
    i->dst2 = dst2;
    i->src[0] = a;
    i->src[1] = b;
    i->src[2] = c;
    i->type = type;
    i->type2 = to == PTX_S32 || to == PTX_B32 ? PTX_U32 : to == PTX_S16 ? PTX_U16 : to;
    i->flags = flags | (uint32_t)mode << PTX_F_MODE_SHIFT;
    return true;
}

const struct ptx_row ptx_rows_arith[] = {
    {"add", decode_add, PTX_ALU_ADD, 2},         {"sub", decode_add, PTX_ALU_SUB, 2},
    {"addc", decode_add_carry, PTX_ALU_ADDC, 2}, {"subc", decode_add_carry, PTX_ALU_SUBC, 2},
    {"mul", decode_mul, PTX_ALU_MUL, 2},         {"mad", decode_mul, PTX_ALU_MAD, 3},
    {"madc", decode_mad_carry, PTX_ALU_MADC, 3}, {"mul24", decode_mul24, PTX_ALU_MUL24, 2},
    {"mad24", decode_mul24, PTX_ALU_MAD24, 3},   {"fma", decode_plain, PTX_ALU_FMA, 3},
    {"div", decode_plain, PTX_ALU_DIV, 2},       {"rem", decode_plain, PTX_ALU_REM, 2},
    {"abs", decode_plain, PTX_ALU_ABS, 1},       {"neg", decode_plain, PTX_ALU_NEG, 1},
    {"min", decode_min, PTX_ALU_MIN, 2},         {"max", decode_min, PTX_ALU_MAX, 2},
    {"sad", decode_sad, PTX_ALU_SAD, 3},         {"rcp", decode_plain, PTX_ALU_RCP, 1},
    {"sqrt", decode_plain, PTX_ALU_SQRT, 1},     {"rsqrt", decode_plain, PTX_ALU_RSQRT, 1},
    {"sin", decode_plain, PTX_ALU_SIN, 1},       {"cos", decode_plain, PTX_ALU_COS, 1},
    {"ex2", decode_plain, PTX_ALU_EX2, 1},       {"lg2", decode_plain, PTX_ALU_LG2, 1},
    {"tanh", decode_plain, PTX_ALU_TANH, 1},     {"copysign", decode_plain, PTX_ALU_COPYSIGN, 2},
    {"testp", decode_testp, PTX_ALU_TESTP, 1},   {"setp", decode_compare, PTX_ALU_SETP, 0},
    {"set", decode_compare, PTX_ALU_SET, 0},     {0},
};
