/* SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic: add to tanh, setp.
 */
#include "emu/ptx_decode.h"

/* What an operation may carry, in ptx_row.detail beside its count of sources. */
enum {
    SOURCES = 3,
    WITH_FLOAT = 1 << 2,
    WITH_HALF = 1 << 3,
    WITH_APPROX = 1 << 4,    /* must be .approx or rounded */
    WITH_SIGN_ONLY = 1 << 5, /* abs, neg */
};

static bool is_half(ptx_type type)
{
    return type == PTX_F16 || type == PTX_F16X2 || type == PTX_BF16 || type == PTX_BF16X2;
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
    uint32_t flags = ptx_take_float_flags(p);

    if (is_half(type)) {
        ptx_take(p, MOD_noftz);
        if (!(row->detail & WITH_HALF) || flags >> PTX_F_ROUND_SHIFT & 3)
            return ptx_unsupported(p);
    }
    if (type == PTX_F64 && flags & (PTX_F_SAT | PTX_F_RELU | PTX_F_NAN))
        return ptx_unsupported(p);
    /* The generator of one program writes rcp.approx.f64 without .ftz, and works. */
    struct ptx_insn *i = emit_simple(p, ptx_handler(row->op, type), type, sources);
    i->flags = type == PTX_F64 ? flags & ~(uint32_t)PTX_F_FTZ : flags;
    if (!(flags & PTX_F_APPROX))
        wrap_rounding(i);
    return true;
}

/* .cc, and the forms that read it. */
static bool decode_carry(struct ptx_parser *p, enum ptx_alu op, ptx_type type, unsigned sources,
                         uint32_t flags)
{
    if (ptx_take(p, MOD_cc))
        flags |= PTX_F_CARRY_OUT;
    struct ptx_insn *i = emit_simple(p, ptx_handler(op, type), type, sources);
    i->flags = flags;
    return true;
}

static bool has_mod(const struct ptx_parser *p, enum ptx_mod mod)
{
    for (unsigned k = 0; k < p->statement.mod_count; k++)
        if (p->statement.mods[k] == mod)
            return true;
    return false;
}

static bool decode_add(struct ptx_parser *p, const struct ptx_row *row)
{
    ptx_type type = ptx_take_type(p);
    bool add = row->op == PTX_ALU_ADD;

    if (type == PTX_TYPE_COUNT || !ptx_want_operands(p, 3, 3))
        return p->status == PTX_OK ? ptx_unsupported(p) : false;
    if (ptx_type_class(type) == 'f')
        return decode_float(p, row, type);
    if (has_mod(p, MOD_cc))
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
        return mad && is_half(type) ? ptx_unsupported(p) : decode_float(p, row, type);
    if (ptx_take(p, MOD_wide))
        return decode_wide(p, mad ? PTX_ALU_MAD_WIDE : PTX_ALU_MUL_WIDE, type, mad);
    bool hi = ptx_take(p, MOD_hi);
    if (!hi && !ptx_take(p, MOD_lo))
        return ptx_unsupported(p);
    if (mad && has_mod(p, MOD_cc))
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
    if (ptx_type_class(type) == 'f' && row->op != PTX_ALU_COPYSIGN)
        return decode_float(p, row, type);
    emit_simple(p, ptx_handler(row->op, type), type, sources);
    return true;
}

static bool decode_min(struct ptx_parser *p, const struct ptx_row *row)
{
    ptx_type type = ptx_take_type(p);

    if (type == PTX_TYPE_COUNT)
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 3, 3))
        return false;
    if (ptx_type_class(type) == 'f')
        return decode_float(p, row, type);
    emit_simple(p, ptx_handler(row->op, type), type, 2);
    return true;
}

/* Division and roots: f32 may be .approx, .full or rounded; sm_1x code says nothing at all. */
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
    static const enum ptx_mod tests[] = {MOD_finite, MOD_infinite,  MOD_number, MOD_notanumber,
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
    static const enum ptx_mod words[] = {
        MOD_eq,  MOD_ne,  MOD_lt,  MOD_le,  MOD_gt, MOD_ge, MOD_num, MOD_nan, MOD_equ,  MOD_neu,
        MOD_ltu, MOD_leu, MOD_gtu, MOD_geu, MOD_lo, MOD_ls, MOD_hi,  MOD_hs,  MOD_COUNT};
    static const enum ptx_mod combines[] = {MOD_and, MOD_or, MOD_xor, MOD_COUNT};
    int word = ptx_take_one(p, words);
    int combine = ptx_take_one(p, combines);

    *make_unsigned = word >= 14;
    if (word < 0)
        return -1;
    int compare = word >= 14 ? PTX_CMP_LT + word - 14 : word;
    return compare | (combine + 1) << 4;
}

static ptx_type unsigned_of(ptx_type type)
{
    return type == PTX_S16 ? PTX_U16 : type == PTX_S32 ? PTX_U32 : type == PTX_S64 ? PTX_U64 : type;
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

    if (mode < 0 || type == PTX_TYPE_COUNT || to == PTX_TYPE_COUNT)
        return ptx_unsupported(p);
    if (ptx_type_class(type) != 'f' && (mode & 15) > PTX_CMP_GE)
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, combines ? 4 : 3, combines ? 4 : 3))
        return false;
    if (make_unsigned)
        type = unsigned_of(type);
    struct ptx_operand *d = ptx_operand_at(p, 0);
    bool pair = d->kind == PTX_OPERAND_PAIR && !is_set;
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
    {"add", decode_add, PTX_ALU_ADD, 2 | WITH_HALF},
    {"sub", decode_add, PTX_ALU_SUB, 2 | WITH_HALF},
    {"addc", decode_add_carry, PTX_ALU_ADDC, 2},
    {"subc", decode_add_carry, PTX_ALU_SUBC, 2},
    {"mul", decode_mul, PTX_ALU_MUL, 2 | WITH_HALF},
    {"mad", decode_mul, PTX_ALU_MAD, 3},
    {"madc", decode_mad_carry, PTX_ALU_MADC, 3},
    {"mul24", decode_mul24, PTX_ALU_MUL24, 2},
    {"mad24", decode_mul24, PTX_ALU_MAD24, 3},
    {"fma", decode_plain, PTX_ALU_FMA, 3 | WITH_HALF},
    {"div", decode_plain, PTX_ALU_DIV, 2},
    {"rem", decode_plain, PTX_ALU_REM, 2},
    {"abs", decode_plain, PTX_ALU_ABS, 1 | WITH_HALF},
    {"neg", decode_plain, PTX_ALU_NEG, 1 | WITH_HALF},
    {"min", decode_min, PTX_ALU_MIN, 2 | WITH_HALF},
    {"max", decode_min, PTX_ALU_MAX, 2 | WITH_HALF},
    {"sad", decode_sad, PTX_ALU_SAD, 3},
    {"rcp", decode_plain, PTX_ALU_RCP, 1},
    {"sqrt", decode_plain, PTX_ALU_SQRT, 1},
    {"rsqrt", decode_plain, PTX_ALU_RSQRT, 1},
    {"sin", decode_plain, PTX_ALU_SIN, 1},
    {"cos", decode_plain, PTX_ALU_COS, 1},
    {"ex2", decode_plain, PTX_ALU_EX2, 1 | WITH_HALF},
    {"lg2", decode_plain, PTX_ALU_LG2, 1},
    {"tanh", decode_plain, PTX_ALU_TANH, 1 | WITH_HALF},
    {"copysign", decode_plain, PTX_ALU_COPYSIGN, 2},
    {"testp", decode_testp, PTX_ALU_TESTP, 1},
    {"setp", decode_compare, PTX_ALU_SETP, 0},
    {"set", decode_compare, PTX_ALU_SET, 0},
    {0},
};
