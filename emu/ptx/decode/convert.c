/* SPDX-License-Identifier: Apache-2.0
 *
 * cvt.
 */
#include "emu/ptx/decode/decode.h"

/* Modifiers that a conversion may have. */
enum {
    PLAIN = 1 << 0,    /* no rounding */
    INTEGRAL = 1 << 1, /* .rni and the like */
    ROUNDED = 1 << 2,  /* .rn and the like */
    SAT = 1 << 3,
    FTZ = 1 << 4,
    RELU = 1 << 5,
    FINITE = 1 << 6,
};

struct words {
    int integral; /* 0 to 3, or -1 */
    int rounded;
    bool away;
    bool sat;
    bool ftz;
    bool relu;
    bool satfinite;
};

static struct words take_words(struct ptx_parser *p)
{
    static const enum ptx_modifier integral[] = {MOD_rni, MOD_rzi, MOD_rmi, MOD_rpi, MOD_COUNT};
    static const enum ptx_modifier rounded[] = {MOD_rn, MOD_rz, MOD_rm, MOD_rp, MOD_COUNT};

    return (struct words){.integral = ptx_take_one(p, integral),
                          .rounded = ptx_take_one(p, rounded),
                          .away = ptx_take(p, MOD_rna),
                          .sat = ptx_take(p, MOD_sat),
                          .ftz = ptx_take(p, MOD_ftz),
                          .relu = ptx_take(p, MOD_relu),
                          .satfinite = ptx_take(p, MOD_satfinite)};
}

static uint32_t flags_of(const struct words *m)
{
    int round = m->integral >= 0 ? m->integral : m->rounded >= 0 ? m->rounded : 0;

    return (uint32_t)round << PTX_F_ROUND_SHIFT | (m->integral >= 0 ? PTX_F_TO_INT : 0) |
           (m->away ? PTX_F_ROUND_AWAY : 0) | (m->sat ? PTX_F_SAT : 0) | (m->ftz ? PTX_F_FTZ : 0) |
           (m->relu ? PTX_F_RELU : 0) | (m->satfinite ? PTX_F_SATFINITE : 0);
}

static bool is_real(ptx_type type)
{
    return type == PTX_F16 || type == PTX_BF16 || type == PTX_F32 || type == PTX_F64;
}

/* Conversions of which some value may lie outside the result's range. */
static bool may_clamp(ptx_type to, ptx_type from)
{
    bool to_signed = ptx_type_class(to) == 's';
    bool from_signed = ptx_type_class(from) == 's';

    if (from_signed != to_signed && from_signed)
        return true;
    return ptx_type_size(from) > ptx_type_size(to) ||
           (from_signed != to_signed && ptx_type_size(from) == ptx_type_size(to));
}

static unsigned allowed(ptx_type to, ptx_type from)
{
    if (!is_real(to) && !is_real(from))
        return PLAIN | (may_clamp(to, from) ? SAT : 0);
    if (!is_real(to))
        return INTEGRAL | (from != PTX_BF16 ? SAT : 0) | (from == PTX_F32 ? FTZ : 0);
    if (!is_real(from))
        return ROUNDED | (to != PTX_BF16 ? SAT : 0) | (to == PTX_F32 ? FTZ : 0);
    if (to == from)
        return PLAIN | INTEGRAL | (to != PTX_BF16 ? SAT : 0) | (to == PTX_F32 ? FTZ : 0);
    if (from == PTX_F32 && to == PTX_F16)
        return ROUNDED | SAT | FTZ | RELU | FINITE;
    if (from == PTX_F32 && to == PTX_BF16)
        return ROUNDED | FTZ | RELU | FINITE;
    if (from == PTX_F64)
        return ROUNDED | (to != PTX_BF16 ? SAT : 0) | (to == PTX_F32 ? FTZ : 0);
    if (from == PTX_BF16 && to == PTX_F32)
        return PLAIN | ROUNDED | FTZ;
    if (from == PTX_BF16 && to == PTX_F64)
        return PLAIN | ROUNDED;
    if (from == PTX_BF16 || to == PTX_BF16)
        return ROUNDED;
    return PLAIN | SAT | (from == PTX_F32 || to == PTX_F32 ? FTZ : 0);
}

static bool are_allowed(const struct words *m, unsigned may)
{
    bool integral = m->integral >= 0;
    bool rounded = m->rounded >= 0;

    if (m->away || (integral && rounded))
        return false;
    if (!(integral ? may & INTEGRAL : rounded ? may & ROUNDED : may & PLAIN))
        return false;
    if ((m->relu || m->satfinite) && m->rounded > PTX_ROUND_ZERO)
        return false;
    return (!m->sat || may & SAT) && (!m->ftz || may & FTZ) && (!m->relu || may & RELU) &&
           (!m->satfinite || may & FINITE);
}

static struct ptx_insn *emit(struct ptx_parser *p, ptx_fn fn, ptx_type to, ptx_type from,
                             unsigned sources, uint32_t flags, bool relaxed)
{
    ptx_op src[3] = {PTX_OP_NONE, PTX_OP_NONE, PTX_OP_NONE};
    ptx_op dst = ptx_dest(p, ptx_operand_at(p, 0), to, relaxed);

    for (unsigned k = 0; k < sources; k++)
        src[k] = ptx_source(p, ptx_operand_at(p, k + 1), k < 2 ? from : PTX_B32, relaxed);
    struct ptx_insn *i = ptx_emit(p, fn);
    i->dst = dst;
    for (unsigned k = 0; k < 3; k++)
        i->src[k] = src[k];
    i->type = to;
    i->type2 = from;
    i->flags = flags;
    return i;
}

/* sm_1x has no subnormal f32. Up to PTX 1.4 what has 64 bits in the end was not flushed. */
static bool flushes(const struct ptx_parser *p, ptx_type to, ptx_type from)
{
    if (!p->target || p->target >= 20 || (to != PTX_F32 && from != PTX_F32))
        return false;
    return p->version > 14 || ptx_type_size(to) != 8;
}

static bool decode_plain(struct ptx_parser *p, ptx_type to, ptx_type from, struct words *m)
{
    bool to_int = !is_real(to) && is_real(from);

    /* The oldest texts leave the rounding out; it is towards zero. */
    if (to_int && m->integral < 0 && m->rounded < 0 && p->version < 20)
        m->integral = PTX_ROUND_ZERO;
    if (!are_allowed(m, allowed(to, from)))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 2, 2))
        return false;
    m->ftz |= flushes(p, to, from);
    struct ptx_insn *i = emit(p, ptx_handler(PTX_ALU_CVT, PTX_B32), to, from, 1, flags_of(m), true);
    if ((to == PTX_F32 || to == PTX_F64) && m->rounded > 0) {
        i->inner = i->fn;
        i->fn = ptx_run_rounded;
    }
    return true;
}

/* To tf32, and two f32 to a pair of 16-bit floats. */
static bool decode_from_single(struct ptx_parser *p, ptx_type to, const struct words *m)
{
    bool pair = to != PTX_TF32;
    bool rounded = m->rounded == PTX_ROUND_NEAREST || m->rounded == PTX_ROUND_ZERO;

    if (m->integral >= 0 || m->sat || m->ftz || m->away == rounded || (pair && m->away) ||
        (m->away && m->relu))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 2u + pair, 2u + pair))
        return false;
    emit(p, ptx_handler(PTX_ALU_CVT, PTX_B32), to, PTX_F32, 1u + pair, flags_of(m), false);
    return true;
}

static bool is_small(ptx_type type)
{
    return type >= PTX_E4M3X2 && type <= PTX_UE8M0X2;
}

/* .e4m3x2 and the other formats of 4 to 8 bits, from and to pairs. */
static bool decode_small(struct ptx_parser *p, ptx_type to, ptx_type from, const struct words *m)
{
    bool to_small = is_small(to);
    bool scale = (to_small ? to : from) == PTX_UE8M0X2;
    unsigned sources = from == PTX_F32 ? 2 : 1;
    bool byte = to == PTX_E4M3X2 || to == PTX_E5M2X2;
    bool ok = m->integral < 0 && !m->away && !m->sat && !m->ftz;

    if (to_small && scale)
        ok = ok && (m->rounded == PTX_ROUND_ZERO || m->rounded == PTX_ROUND_UP) && !m->relu &&
             (from == PTX_F32 || from == PTX_BF16X2);
    else if (to_small)
        ok = ok && m->rounded == PTX_ROUND_NEAREST && m->satfinite &&
             (from == PTX_F32 || (byte && from == PTX_F16X2));
    else
        ok = ok && m->rounded == PTX_ROUND_NEAREST && !m->satfinite && !(scale && m->relu) &&
             to == (scale ? PTX_BF16X2 : PTX_F16X2);
    if (!ok)
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, sources + 1, sources + 1))
        return false;
    emit(p, to_small ? ptx_run_to_small : ptx_run_from_small, to, from, sources, flags_of(m),
         false);
    return true;
}

static bool decode_pack(struct ptx_parser *p)
{
    bool sat = ptx_take(p, MOD_sat);
    ptx_type to = ptx_take_type(p);
    ptx_type from = ptx_take_type(p);
    ptx_type third = ptx_take_type(p);
    bool half = to == PTX_U16 || to == PTX_S16;
    bool less = to == PTX_U8 || to == PTX_S8 || (to >= PTX_S2 && to <= PTX_U4);

    if (!sat || from != PTX_S32 || third != (half ? PTX_TYPE_COUNT : PTX_B32) || !(half || less))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, half ? 3 : 4, half ? 3 : 4))
        return false;
    emit(p, ptx_run_cvt_pack, PTX_B32, from, half ? 2 : 3, 0, false)->type2 = to;
    return true;
}

static bool decode_cvt(struct ptx_parser *p, const struct ptx_row *row)
{
    if (ptx_take(p, MOD_pack))
        return decode_pack(p);
    if (ptx_take(p, MOD_rs))
        return ptx_decode_stochastic(p);
    struct words m = take_words(p);
    ptx_type to = ptx_take_type(p);
    ptx_type from = ptx_take_type(p);

    if (to == PTX_TYPE_COUNT || from == PTX_TYPE_COUNT)
        return ptx_unsupported(p);
    if (is_small(to) || is_small(from))
        return decode_small(p, to, from, &m);
    if (from == PTX_F32 && (to == PTX_TF32 || to == PTX_F16X2 || to == PTX_BF16X2))
        return decode_from_single(p, to, &m);
    if ((to <= PTX_S64 || is_real(to)) && (from <= PTX_S64 || is_real(from)))
        return decode_plain(p, to, from, &m);
    return ptx_unsupported(p);
}

const struct ptx_row ptx_rows_convert[] = {
    {"cvt", decode_cvt, PTX_ALU_CVT, 0},
    {0},
};
