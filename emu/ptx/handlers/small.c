/* SPDX-License-Identifier: Apache-2.0
 *
 * Conversions of floats of 4, 6 and 8 bits, which are always saturated, and cvt.pack.
 */
#include "emu/ptx/handlers/small.h"
#include "emu/ptx/handlers/memory.h"
#include "emu/ptx/real.h"

#include <math.h>

static const struct ptx_small_format formats[] = {
    [PTX_E4M3X2 - PTX_E4M3X2] = {3, 4, 0x7e, 0x7f, 8},
    [PTX_E5M2X2 - PTX_E4M3X2] = {2, 5, 0x7b, 0x7f, 8},
    [PTX_E2M1X2 - PTX_E4M3X2] = {1, 2, 0x07, 0x07, 4},
    [PTX_E2M3X2 - PTX_E4M3X2] = {3, 2, 0x1f, 0x1f, 8},
    [PTX_E3M2X2 - PTX_E4M3X2] = {2, 3, 0x1f, 0x1f, 8},
};

static uint8_t encode(const struct ptx_small_format *f, double v, bool relu)
{
    int bias = (1 << (f->exponent - 1)) - 1;
    double size = fabs(v);
    unsigned sign = signbit(v) ? 1u << (f->fraction + f->exponent) : 0;
    int e;

    if (isnan(v))
        return f->nan;
    if (relu && sign)
        return 0;
    if (isinf(v))
        return (uint8_t)(sign | f->max);
    if (size == 0)
        return (uint8_t)sign;
    frexp(size, &e);
    e = e - 1 < 1 - bias ? 1 - bias : e - 1;
    /* In units of the last place the value is exact in a double; nearbyint rounds ties to even. */
    double units = nearbyint(ldexp(size, f->fraction - e));
    double code = units + ldexp(e + bias - 1, f->fraction);
    return (uint8_t)(sign | (code > f->max ? f->max : (unsigned)code));
}

static double decode(const struct ptx_small_format *f, unsigned code)
{
    unsigned sign = code >> (f->fraction + f->exponent) & 1;
    unsigned e = code >> f->fraction & ((1u << f->exponent) - 1);
    unsigned m = code & ((1u << f->fraction) - 1);
    unsigned size = code & ((1u << (f->fraction + f->exponent)) - 1);
    int bias = (1 << (f->exponent - 1)) - 1;
    double v = e ? ldexp(m + (1u << f->fraction), (int)e - bias - f->fraction)
                 : ldexp(m, 1 - bias - f->fraction);

    if (size > f->max && f->nan != f->max)
        v = f->exponent == 5 && m == 0 ? INFINITY : NAN;
    return sign ? -v : v;
}

const struct ptx_small_format *ptx_small_format(ptx_type type)
{
    return &formats[type - PTX_E4M3X2];
}

double ptx_small_value(ptx_type type, unsigned code)
{
    return decode(&formats[type - PTX_E4M3X2], code);
}

double ptx_from_small(ptx_type type, unsigned code)
{
    return ptx_small_value(type == PTX_E5M2 ? PTX_E5M2X2 : PTX_E4M3X2, code);
}

/* ue8m0: the exponent alone, of the size of the number; 0xff is NaN. */
static uint8_t encode_scale(const struct ptx_insn *i, float v)
{
    uint32_t bits = ptx_f32_bits(v) & 0x7fffffffu;
    bool up = (i->flags >> PTX_F_ROUND_SHIFT & 3) == PTX_ROUND_UP;

    if (bits > 0x7f800000u)
        return 0xff;
    /* 2^-127 is the least: rounding up, what is above it becomes 2^-126. */
    uint32_t code = bits >> 23;
    if (up && bits < 0x7f800000u && (bits & 0x7fffffu) && bits > 0x400000u)
        code++;
    return (uint8_t)(code == 0xff && i->flags & PTX_F_SATFINITE ? 0xfe : code);
}

static uint8_t encode_any(const struct ptx_insn *i, double v)
{
    if (i->type == PTX_UE8M0X2)
        return encode_scale(i, (float)v);
    return encode(&formats[i->type - PTX_E4M3X2], v, i->flags & PTX_F_RELU);
}

static double half_of(const struct ptx_insn *i, uint32_t word, unsigned k)
{
    uint16_t h = (uint16_t)(word >> 16 * k);

    return (double)(i->type2 == PTX_F16X2 ? ptx_from_half(h) : ptx_from_bf16(h));
}

/* Two f32, the first of which goes up, or a pair of 16-bit floats. */
void ptx_run_to_small(struct ptx_warp *w, const struct ptx_insn *i)
{
    uint16_t *d = ptx_lanes(w, i->dst);
    const uint32_t *a = ptx_lanes(w, i->src[0]);
    const uint32_t *b = i->src[1] == PTX_OP_NONE ? NULL : ptx_lanes(w, i->src[1]);
    unsigned bits = i->type == PTX_E2M1X2 ? 4 : 8;

    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctz(left);
        double high = b ? (double)ptx_f32(a[l]) : half_of(i, a[l], 1);
        double low = b ? (double)ptx_f32(b[l]) : half_of(i, a[l], 0);
        d[l] = (uint16_t)(encode_any(i, low) | (unsigned)encode_any(i, high) << bits);
    }
}

static uint16_t widen(const struct ptx_insn *i, unsigned code)
{
    if (i->type2 == PTX_UE8M0X2) /* 2^(code - 127), a subnormal for 0 */
        return (uint16_t)(code == 0xff ? 0x7fff : code ? code << 7 : 0x40);
    double v = decode(&formats[i->type2 - PTX_E4M3X2], code);
    if (i->flags & PTX_F_RELU && signbit(v) && !isnan(v))
        v = 0;
    return ptx_to_half(v);
}

void ptx_run_from_small(struct ptx_warp *w, const struct ptx_insn *i)
{
    uint32_t *d = ptx_lanes(w, i->dst);
    const uint16_t *a = ptx_lanes(w, i->src[0]);
    unsigned bits = i->type2 == PTX_E2M1X2 ? 4 : 8;

    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctz(left);
        unsigned mask = (1u << bits) - 1;
        d[l] = widen(i, a[l] & mask) | (uint32_t)widen(i, a[l] >> bits & mask) << 16;
    }
}

static uint32_t clamp_to(ptx_type type, int32_t v, unsigned bits)
{
    bool is_signed = type == PTX_S16 || type == PTX_S8 || type == PTX_S4 || type == PTX_S2;
    int32_t top = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
    int32_t bottom = is_signed ? -top - 1 : 0;

    v = v > top ? top : v < bottom ? bottom : v;
    return (uint32_t)v & ((1u << bits) - 1);
}

/* type2: what a and b become; they fill the low end of the result, above them the low end of c. */
void ptx_run_cvt_pack(struct ptx_warp *w, const struct ptx_insn *i)
{
    uint32_t *d = ptx_lanes(w, i->dst);
    const int32_t *a = ptx_lanes(w, i->src[0]);
    const int32_t *b = ptx_lanes(w, i->src[1]);
    const uint32_t *c = i->src[2] == PTX_OP_NONE ? NULL : ptx_lanes(w, i->src[2]);
    unsigned bits = i->type2 == PTX_U16 || i->type2 == PTX_S16 ? 16
                    : i->type2 == PTX_U8 || i->type2 == PTX_S8 ? 8
                    : i->type2 == PTX_U4 || i->type2 == PTX_S4 ? 4
                                                               : 2;

    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctz(left);
        uint32_t low = clamp_to(i->type2, b[l], bits) | clamp_to(i->type2, a[l], bits) << bits;
        d[l] = low | (c ? c[l] << 2 * bits : 0);
    }
}
