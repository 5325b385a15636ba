/* SPDX-License-Identifier: Apache-2.0
 *
 * Video instructions.
 */
#include "emu/ptx/decode/decode.h"
#include "emu/ptx/handlers/video.h"

static const enum ptx_modifier compares[] = {MOD_eq, MOD_ne, MOD_lt,   MOD_le,
                                             MOD_gt, MOD_ge, MOD_COUNT};

static bool is_word(ptx_type type)
{
    return type == PTX_U32 || type == PTX_S32;
}

/* A selector of at most one element; none: the whole register. */
static bool take_part(struct ptx_parser *p, struct ptx_operand *o, ptx_type type,
                      struct ptx_video_part *part)
{
    *part = (struct ptx_video_part){.size = 4, .is_signed = type == PTX_S32};
    if (!o->selector_size)
        return true;
    if (o->selector_count != 1 || o->selector >= 4u / o->selector_size)
        return ptx_bad_operands(p);
    part->size = o->selector_size;
    part->at = (uint8_t)o->selector;
    o->selector_size = 0;
    return true;
}

static struct ptx_insn *emit(struct ptx_parser *p, ptx_fn fn, struct ptx_video *v, bool has_c)
{
    ptx_op src[3];

    for (unsigned k = 0; k < 3; k++)
        src[k] = k < 2 || has_c ? ptx_source(p, ptx_operand_at(p, k + 1), PTX_U32, false) : src[0];
    ptx_op dst = ptx_dest(p, ptx_operand_at(p, 0), PTX_U32, false);
    struct ptx_insn *i = ptx_emit(p, fn);
    i->dst = dst;
    i->extra = v;
    for (unsigned k = 0; k < 3; k++)
        i->src[k] = src[k];
    return i;
}

/* Types, in the order of the text: result, a, b; a comparison's result has none. */
static bool take_types(struct ptx_parser *p, struct ptx_video *v, ptx_type *a, ptx_type *b)
{
    ptx_type d = v->op == PTX_VIDEO_SET ? PTX_U32 : ptx_take_type(p);
    bool shift = v->op == PTX_VIDEO_SHL || v->op == PTX_VIDEO_SHR;

    *a = ptx_take_type(p);
    *b = ptx_take_type(p);
    v->is_signed = d == PTX_S32;
    return is_word(d) && is_word(*a) && is_word(*b) && (!shift || *b == PTX_U32);
}

/* The comparison, or how a shift treats large amounts. */
static bool take_mode(struct ptx_parser *p, struct ptx_video *v)
{
    if (v->op == PTX_VIDEO_SET) {
        int how = ptx_take_one(p, compares);
        v->compare = (uint8_t)(how < 0 ? 0 : how);
        return how >= 0;
    }
    v->saturates = ptx_take(p, MOD_sat);
    if (v->op != PTX_VIDEO_SHL && v->op != PTX_VIDEO_SHR)
        return true;
    v->clamps = ptx_take(p, MOD_clamp);
    return v->clamps || ptx_take(p, MOD_wrap);
}

static bool decode_scalar(struct ptx_parser *p, const struct ptx_row *row)
{
    static const enum ptx_modifier seconds[] = {MOD_add, MOD_min, MOD_max, MOD_COUNT};
    struct ptx_video *v = ptx_extra(p, sizeof(*v));
    ptx_type a;
    ptx_type b;

    if (!v)
        return false;
    v->op = row->op;
    if (!take_types(p, v, &a, &b) || !take_mode(p, v))
        return ptx_unsupported(p);
    v->second = (enum ptx_video_second)(ptx_take_one(p, seconds) + 1);
    if (!take_part(p, ptx_operand_at(p, 0), PTX_U32, &v->to))
        return false;
    if (v->to.size != 4) {
        if (v->second != PTX_SECOND_NONE)
            return ptx_bad_operands(p);
        v->second = PTX_SECOND_MERGE;
    }
    bool has_c = v->second != PTX_SECOND_NONE; /* else a fourth operand is ignored */
    if (!ptx_want_operands(p, 3u + has_c, 4) || !take_part(p, ptx_operand_at(p, 1), a, &v->a) ||
        !take_part(p, ptx_operand_at(p, 2), b, &v->b))
        return false;
    if (!has_c && p->statement.operand_count == 4)
        ptx_source(p, ptx_operand_at(p, 3), PTX_U32, false);
    emit(p, ptx_run_video, v, has_c);
    return true;
}

static bool take_minus(struct ptx_parser *p, unsigned operand)
{
    struct ptx_operand *o = ptx_operand_at(p, operand);
    bool minus = o->is_minus;

    o->is_minus = false;
    return minus;
}

static bool decode_mad(struct ptx_parser *p, const struct ptx_row *row)
{
    struct ptx_video *v = ptx_extra(p, sizeof(*v));
    ptx_type a;
    ptx_type b;

    if (!v)
        return false;
    v->op = PTX_VIDEO_MAD;
    if (!take_types(p, v, &a, &b))
        return ptx_unsupported(p);
    v->plus_one = ptx_take(p, MOD_po);
    v->saturates = ptx_take(p, MOD_sat);
    v->scale = ptx_take(p, MOD_shr7) ? 7 : ptx_take(p, MOD_shr15) ? 15 : 0;
    if (!ptx_want_operands(p, 4, 4) || !take_part(p, ptx_operand_at(p, 1), a, &v->a) ||
        !take_part(p, ptx_operand_at(p, 2), b, &v->b))
        return false;
    bool minus_a = take_minus(p, 1);
    bool minus_b = take_minus(p, 2);
    v->minus_product = minus_a != minus_b;
    v->minus_c = take_minus(p, 3);
    if ((v->minus_product && v->minus_c) || (v->plus_one && (minus_a || minus_b || v->minus_c)))
        return ptx_bad_operands(p);
    v->is_signed = v->a.is_signed || v->b.is_signed || v->minus_product || v->minus_c;
    emit(p, ptx_run_video_mad, v, true);
    return true;
}

/* Which lanes of {b, a} an operand gives, lowest first; from `first` on without a selector. */
static bool take_lanes(struct ptx_parser *p, struct ptx_operand *o, unsigned lanes, unsigned first,
                       uint8_t *out)
{
    for (unsigned k = 0; k < lanes; k++)
        out[k] = (uint8_t)(first + k);
    if (!o->selector_size)
        return o->kind == PTX_OPERAND_REG || ptx_bad_operands(p);
    if (o->selector_size != 4 / lanes || o->selector_count != lanes)
        return ptx_bad_operands(p);
    for (unsigned k = 0; k < lanes; k++) {
        out[k] = o->selector >> 4 * k & 15;
        if (out[k] >= 2 * lanes)
            return ptx_bad_operands(p);
    }
    o->selector_size = 0;
    return true;
}

static bool take_mask(struct ptx_parser *p, struct ptx_video *v)
{
    struct ptx_operand *o = ptx_operand_at(p, 0);

    v->mask = (uint8_t)((1u << v->lanes) - 1);
    if (!o->selector_size)
        return true;
    v->mask = 0;
    for (unsigned k = 0; k < o->selector_count; k++)
        v->mask |= (uint8_t)(1u << (o->selector >> 4 * k & 15));
    if (o->selector_size != 4 / v->lanes || v->mask >> v->lanes)
        return ptx_bad_operands(p);
    o->selector_size = 0;
    return true;
}

static bool decode_simd(struct ptx_parser *p, const struct ptx_row *row)
{
    struct ptx_video *v = ptx_extra(p, sizeof(*v));
    ptx_type a;
    ptx_type b;

    if (!v)
        return false;
    v->op = row->op;
    v->lanes = (uint8_t)row->detail;
    if (!take_types(p, v, &a, &b) || !take_mode(p, v))
        return ptx_unsupported(p);
    v->second = ptx_take(p, MOD_add) ? PTX_SECOND_ADD : PTX_SECOND_MERGE;
    if (v->second == PTX_SECOND_ADD && v->saturates)
        return ptx_unsupported(p);
    v->a.is_signed = a == PTX_S32;
    v->b.is_signed = b == PTX_S32;
    if (!ptx_want_operands(p, 4, 4) || !take_mask(p, v) ||
        !take_lanes(p, ptx_operand_at(p, 1), v->lanes, 0, v->a_lanes) ||
        !take_lanes(p, ptx_operand_at(p, 2), v->lanes, v->lanes, v->b_lanes))
        return false;
    emit(p, ptx_run_video_simd, v, true);
    return true;
}

const struct ptx_row ptx_rows_video[] = {
    {"vadd", decode_scalar, PTX_VIDEO_ADD, 0},
    {"vsub", decode_scalar, PTX_VIDEO_SUB, 0},
    {"vabsdiff", decode_scalar, PTX_VIDEO_ABSDIFF, 0},
    {"vmin", decode_scalar, PTX_VIDEO_MIN, 0},
    {"vmax", decode_scalar, PTX_VIDEO_MAX, 0},
    {"vshl", decode_scalar, PTX_VIDEO_SHL, 0},
    {"vshr", decode_scalar, PTX_VIDEO_SHR, 0},
    {"vset", decode_scalar, PTX_VIDEO_SET, 0},
    {"vmad", decode_mad, PTX_VIDEO_MAD, 0},
    {"vadd2", decode_simd, PTX_VIDEO_ADD, 2},
    {"vsub2", decode_simd, PTX_VIDEO_SUB, 2},
    {"vavrg2", decode_simd, PTX_VIDEO_AVRG, 2},
    {"vabsdiff2", decode_simd, PTX_VIDEO_ABSDIFF, 2},
    {"vmin2", decode_simd, PTX_VIDEO_MIN, 2},
    {"vmax2", decode_simd, PTX_VIDEO_MAX, 2},
    {"vset2", decode_simd, PTX_VIDEO_SET, 2},
    {"vadd4", decode_simd, PTX_VIDEO_ADD, 4},
    {"vsub4", decode_simd, PTX_VIDEO_SUB, 4},
    {"vavrg4", decode_simd, PTX_VIDEO_AVRG, 4},
    {"vabsdiff4", decode_simd, PTX_VIDEO_ABSDIFF, 4},
    {"vmin4", decode_simd, PTX_VIDEO_MIN, 4},
    {"vmax4", decode_simd, PTX_VIDEO_MAX, 4},
    {"vset4", decode_simd, PTX_VIDEO_SET, 4},
    {0},
};
