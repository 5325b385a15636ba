/* SPDX-License-Identifier: Apache-2.0
 *
 * cvt: every source becomes an integer of 64 bits or a double, which holds all of them exactly, and
 * is rounded once to the destination. The most frequent conversions have loops of their own.
 */
#include "emu/ptx/handlers/handler.h"
#include "emu/ptx/real.h"

#include <math.h>

#define LOAD_CASE(T, type, E)                                                                      \
    case PTX_##T: {                                                                                \
        const type *a = ptx_lanes(w, op);                                                          \
        for (unsigned l = 0; l < PTX_LANES; l++)                                                   \
            out[l] = E;                                                                            \
        break;                                                                                     \
    }

static void load_ints(struct ptx_warp *w, ptx_op op, ptx_type type, int64_t *out)
{
    switch (type) {
        LOAD_CASE(U8, uint16_t, (uint8_t)a[l])
        LOAD_CASE(S8, uint16_t, (int8_t)a[l])
        LOAD_CASE(U16, uint16_t, a[l])
        LOAD_CASE(S16, int16_t, a[l])
        LOAD_CASE(U32, uint32_t, a[l])
        LOAD_CASE(S32, int32_t, a[l])
    default: {
        const int64_t *a = ptx_lanes(w, op);
        for (unsigned l = 0; l < PTX_LANES; l++)
            out[l] = a[l];
    }
    }
}

static void load_reals(struct ptx_warp *w, const struct ptx_insn *i, double *out)
{
    ptx_op op = i->src[0];

    switch (i->type2) {
        LOAD_CASE(F16, uint16_t, (double)ptx_from_half(a[l]))
        LOAD_CASE(BF16, uint16_t, (double)ptx_from_bf16(a[l]))
        LOAD_CASE(F32, float, (double)ptx_in32(i->flags, a[l]))
    default: {
        const double *a = ptx_lanes(w, op);
        for (unsigned l = 0; l < PTX_LANES; l++)
            out[l] = a[l];
    }
    }
}

#define STORE_CASE(size, type)                                                                     \
    case size: {                                                                                   \
        type *d = ptx_lanes(w, i->dst);                                                            \
        PTX_EACH(w, d[l] = (type)in[l]);                                                           \
        break;                                                                                     \
    }

static void store_ints(struct ptx_warp *w, const struct ptx_insn *i, const int64_t *in)
{
    switch (i->type) {
    case PTX_U8: {
        uint16_t *d = ptx_lanes(w, i->dst);
        PTX_EACH(w, d[l] = (uint8_t)in[l]);
        break;
    }
    case PTX_S8: {
        uint16_t *d = ptx_lanes(w, i->dst);
        PTX_EACH(w, d[l] = (uint16_t)(int8_t)in[l]);
        break;
    }
    default:
        switch (ptx_type_size(i->type)) {
            STORE_CASE(2, uint16_t)
            STORE_CASE(4, uint32_t)
        default: {
            int64_t *d = ptx_lanes(w, i->dst);
            PTX_EACH(w, d[l] = in[l]);
        }
        }
    }
}

static int64_t clamp_int(int64_t v, bool from_unsigned, ptx_type type)
{
    unsigned bits = ptx_type_size(type) * 8;
    bool to_unsigned = ptx_type_class(type) == 'u';
    uint64_t top =
        to_unsigned ? (bits == 64 ? ~0ull : (1ull << bits) - 1) : (1ull << (bits - 1)) - 1;

    if (from_unsigned || v >= 0)
        return (uint64_t)v > top ? (int64_t)top : v;
    int64_t bottom = to_unsigned ? 0 : -(int64_t)top - 1;
    return v < bottom ? bottom : v;
}

static void int_to_int(struct ptx_warp *w, const struct ptx_insn *i)
{
    int64_t v[PTX_LANES];

    load_ints(w, i->src[0], i->type2, v);
    if (i->flags & PTX_F_SAT)
        for (unsigned l = 0; l < PTX_LANES; l++)
            v[l] = clamp_int(v[l], i->type2 == PTX_U64, i->type);
    store_ints(w, i, v);
}

/* The mode that a .rn .rz .rm .rp asks for is set around the handler: see ptx_exec_round.c. */
static double to_integral(uint32_t flags, double v)
{
    switch (flags >> PTX_F_ROUND_SHIFT & 3) {
    case PTX_ROUND_ZERO:
        return trunc(v);
    case PTX_ROUND_DOWN:
        return floor(v);
    case PTX_ROUND_UP:
        return ceil(v);
    default:
        return nearbyint(v);
    }
}

/* Out of range clamps; NaN becomes 0, or the top bit alone when a side of the conversion has 64
 * bits. */
static int64_t real_to_int(double v, ptx_type type, ptx_type from)
{
    unsigned bits = ptx_type_size(type) * 8;
    bool to_unsigned = ptx_type_class(type) == 'u';

    if (v != v)
        return bits == 64 || from == PTX_F64 ? (int64_t)(~0ull << (bits - 1)) : 0;
    double top = ldexp(1.0, (int)bits - !to_unsigned);
    if (v >= top)
        return to_unsigned ? (bits == 64 ? -1 : (int64_t)((1ull << bits) - 1))
                           : (int64_t)((1ull << (bits - 1)) - 1);
    if (to_unsigned)
        return v <= 0.0 ? 0 : (int64_t)(uint64_t)v;
    return v <= -top ? (bits == 64 ? INT64_MIN : -(1ll << (bits - 1))) : (int64_t)v;
}

static void float_to_int(struct ptx_warp *w, const struct ptx_insn *i)
{
    double v[PTX_LANES];
    int64_t out[PTX_LANES];

    load_reals(w, i, v);
    for (unsigned l = 0; l < PTX_LANES; l++)
        out[l] = real_to_int(to_integral(i->flags, v[l]), i->type, i->type2);
    store_ints(w, i, out);
}

static uint32_t narrow(const struct ptx_insn *i, double v, unsigned fraction, unsigned exponent)
{
    uint32_t flags = i->flags;

    if (flags & PTX_F_SAT)
        v = v > 0.0 ? (v < 1.0 ? v : 1.0) : 0.0;
    if (flags & PTX_F_RELU && v <= 0.0)
        v = 0.0;
    uint32_t out =
        ptx_narrow(v, fraction, exponent, flags >> PTX_F_ROUND_SHIFT & 3, flags & PTX_F_ROUND_AWAY);
    uint32_t infinity = ((1u << exponent) - 1) << fraction;
    if (flags & PTX_F_SATFINITE && (out & ((1u << (fraction + exponent)) - 1)) == infinity)
        out--;
    return out;
}

static void store_reals(struct ptx_warp *w, const struct ptx_insn *i, const double *v)
{
    uint16_t *d16 = ptx_lanes(w, i->dst);
    uint32_t *d32 = ptx_lanes(w, i->dst);
    float *f = ptx_lanes(w, i->dst);
    double *d = ptx_lanes(w, i->dst);
    /* .ftz was applied to an f32 source; here it is about an f32 result. */
    uint32_t flags = i->flags;

    switch (i->type) {
    case PTX_F16:
        PTX_EACH(w, d16[l] = (uint16_t)narrow(i, v[l], 10, 5));
        break;
    case PTX_BF16:
        PTX_EACH(w, d16[l] = (uint16_t)narrow(i, v[l], 7, 8));
        break;
    case PTX_TF32:
        PTX_EACH(w, d32[l] = narrow(i, v[l], 10, 8) << 13);
        break;
    case PTX_F32:
        PTX_EACH(w, f[l] = ptx_out32(flags, (float)v[l]));
        break;
    default:
        PTX_EACH(w, d[l] = ptx_out64(flags, v[l]));
    }
}

/* 64-bit integers do not fit a double: to f32 and f64 they are converted directly, under the
 * rounding mode set around the handler. To 16-bit formats, values beyond 2^53 overflow f16 anyway
 * and bf16 sees a sticky low bit. */
static double sticky(int64_t v, bool is_unsigned)
{
    uint64_t size = is_unsigned || v >= 0 ? (uint64_t)v : 0 - (uint64_t)v;
    double out = (double)(int64_t)size;

    if (size >> 53)
        out = (double)(int64_t)(size >> 11 | ((size & 0x7ff) != 0)) * 2048.0;
    return is_unsigned || v >= 0 ? out : -out;
}

/* Compilers convert unsigned numbers by a subtraction whose zero is -0 when rounding downwards; so
 * all is converted as signed. Half of a large number, with a sticky low bit, rounds as the whole.
 */
static int64_t halved(uint64_t v)
{
    return (int64_t)(v >> 1 | (v & 1));
}

static float f32_of(int64_t v, bool is_unsigned)
{
    return is_unsigned && v < 0 ? 2.0f * (float)halved((uint64_t)v) : (float)v;
}

static double f64_of(int64_t v, bool is_unsigned)
{
    return is_unsigned && v < 0 ? 2.0 * (double)halved((uint64_t)v) : (double)v;
}

static void int_to_float(struct ptx_warp *w, const struct ptx_insn *i)
{
    int64_t v[PTX_LANES];
    double r[PTX_LANES];
    bool is_unsigned = i->type2 == PTX_U64;
    float *f = ptx_lanes(w, i->dst);
    double *d = ptx_lanes(w, i->dst);

    load_ints(w, i->src[0], i->type2, v);
    if (i->type == PTX_F32) {
        uint32_t flags = i->flags & PTX_F_SAT;
        PTX_EACH(w, f[l] = ptx_out32(flags, f32_of(v[l], is_unsigned)));
    } else if (i->type == PTX_F64) {
        PTX_EACH(w, d[l] = ptx_out64(i->flags, f64_of(v[l], is_unsigned)));
    } else {
        for (unsigned l = 0; l < PTX_LANES; l++)
            r[l] = sticky(v[l], is_unsigned);
        store_reals(w, i, r);
    }
}

static void float_to_float(struct ptx_warp *w, const struct ptx_insn *i)
{
    double v[PTX_LANES];

    load_reals(w, i, v);
    if (i->flags & PTX_F_TO_INT)
        for (unsigned l = 0; l < PTX_LANES; l++)
            v[l] = to_integral(i->flags, v[l]);
    store_reals(w, i, v);
}

/* cvt.rn.f16x2.f32 d, a, b: a goes to the high half. */
static void pack_pair(struct ptx_warp *w, const struct ptx_insn *i)
{
    uint32_t *d = ptx_lanes(w, i->dst);
    const float *a = ptx_lanes(w, i->src[0]);
    const float *b = ptx_lanes(w, i->src[1]);
    unsigned fraction = i->type == PTX_F16X2 ? 10 : 7;
    unsigned exponent = i->type == PTX_F16X2 ? 5 : 8;

    PTX_EACH(w, d[l] = narrow(i, (double)a[l], fraction, exponent) << 16 |
                       narrow(i, (double)b[l], fraction, exponent));
}

PTX_UNARY(u32_to_u64, uint64_t, uint32_t, a)
PTX_UNARY(s32_to_s64, int64_t, int32_t, a)
PTX_UNARY(u64_to_u32, uint32_t, uint64_t, a)
PTX_UNARY(u16_to_u32, uint32_t, uint16_t, a)
PTX_UNARY(s16_to_s32, int32_t, int16_t, a)
PTX_UNARY(u32_to_u16, uint16_t, uint32_t, a)
PTX_UNARY(s32_to_f32, float, int32_t, (float)a)
PTX_UNARY(f32_to_f64, double, float, ptx_out64(0, (double)a))
PTX_UNARY(f64_to_f32, float, double, ptx_out32(0, (float)a))
PTX_UNARY(s32_to_f64, double, int32_t, (double)a)

#define QUICK_FLAGS (PTX_F_SAT | PTX_F_FTZ | PTX_F_TO_INT | PTX_F_RELU)

static ptx_fn quick(const struct ptx_insn *i)
{
    unsigned to = ptx_type_size(i->type);
    unsigned from = ptx_type_size(i->type2);
    bool is_signed = ptx_type_class(i->type2) == 's';
    bool ints = ptx_type_class(i->type) != 'f' && ptx_type_class(i->type2) != 'f';

    if (i->flags & QUICK_FLAGS)
        return NULL;
    if (ints && to == 8 && from == 4)
        return is_signed ? s32_to_s64 : u32_to_u64;
    if (ints && to == 4 && from == 8)
        return u64_to_u32;
    if (ints && to == 4 && from == 2)
        return is_signed ? s16_to_s32 : u16_to_u32;
    if (ints && to == 2 && from == 4)
        return u32_to_u16;
    if (i->type2 == PTX_S32)
        return i->type == PTX_F32 ? s32_to_f32 : i->type == PTX_F64 ? s32_to_f64 : NULL;
    if (i->type == PTX_F64 && i->type2 == PTX_F32)
        return f32_to_f64;
    return i->type == PTX_F32 && i->type2 == PTX_F64 ? f64_to_f32 : NULL;
}

static void convert(struct ptx_warp *w, const struct ptx_insn *i)
{
    bool from_float = ptx_type_class(i->type2) == 'f';
    ptx_fn fast = quick(i);

    if (fast)
        fast(w, i);
    else if (i->type == PTX_F16X2 || i->type == PTX_BF16X2)
        pack_pair(w, i);
    else if (ptx_type_class(i->type) == 'f')
        (from_float ? float_to_float : int_to_float)(w, i);
    else
        (from_float ? float_to_int : int_to_int)(w, i);
}

const struct ptx_entry PTX_TABLE(ptx_convert_entries)[] = {
    {PTX_ALU_CVT, PTX_B32, convert},
    {0, 0, 0},
};
