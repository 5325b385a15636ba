/* SPDX-License-Identifier: Apache-2.0
 *
 * Float formats narrower than f32, and the rules that PTX adds to IEEE arithmetic: flushed
 * subnormals, saturation to [0, 1], one NaN.
 */
#ifndef EMU_PTX_REAL_H
#define EMU_PTX_REAL_H

#include "emu/ptx/insn.h"

#include <string.h>

static inline float ptx_f32(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof(v));
    return v;
}

static inline uint32_t ptx_f32_bits(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof(bits));
    return bits;
}

static inline double ptx_f64(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof(v));
    return v;
}

static inline uint64_t ptx_f64_bits(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    return bits;
}

/* Exact. */
static inline float ptx_from_half(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16;
    uint32_t rest = h & 0x7fff;

    if (rest >= 0x7c00)
        return ptx_f32(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    /* Multiplying by 2^112 moves the exponent's bias, subnormals included. */
    return ptx_f32(sign | ptx_f32_bits(ptx_f32(rest << 13) * 0x1p112f));
}

static inline float ptx_from_bf16(uint16_t h)
{
    return ptx_f32((uint32_t)h << 16);
}

/* v rounded to a format of `fraction` and `exponent` bits, right-aligned. away: ties go away from
 * zero. NaN becomes the format's all-ones positive NaN. */
static inline uint32_t ptx_narrow(double v, unsigned fraction, unsigned exponent,
                                  enum ptx_round round, bool away)
{
    uint64_t bits = ptx_f64_bits(v);
    uint32_t sign = (uint32_t)(bits >> 63) << (fraction + exponent);
    uint32_t infinity = ((1u << exponent) - 1) << fraction;
    int e = (int)(bits >> 52 & 0x7ff) - 1023;
    int least = 2 - (1 << (exponent - 1));
    uint64_t m = (bits & 0xfffffffffffffull) | (e > -1023 ? 1ull << 52 : 0);
    unsigned shift = 52 - fraction;

    if (e == 1024)
        return m & 0xfffffffffffffull ? (1u << (fraction + exponent)) - 1 : sign | infinity;
    if (e < least)
        shift = least - e > 63 - (int)shift ? 63 : shift + (unsigned)(least - e);
    uint64_t q = m >> shift;
    uint64_t rest = m & ((1ull << shift) - 1);
    uint64_t half = 1ull << (shift - 1);
    bool up = round == PTX_ROUND_NEAREST ? rest > half || (rest == half && (away || (q & 1)))
              : round == PTX_ROUND_DOWN  ? sign && rest
              : round == PTX_ROUND_UP    ? !sign && rest
                                         : false;
    uint32_t out = (uint32_t)(q + up) + (e > least ? (uint32_t)(e - least) << fraction : 0);
    if (out < infinity)
        return sign | out;
    bool to_infinity = round == PTX_ROUND_NEAREST || (round == PTX_ROUND_DOWN && sign) ||
                       (round == PTX_ROUND_UP && !sign);
    return sign | (to_infinity ? infinity : infinity - 1);
}

static inline uint16_t ptx_to_half(double v)
{
    return (uint16_t)ptx_narrow(v, 10, 5, PTX_ROUND_NEAREST, false);
}

static inline uint16_t ptx_to_bf16(double v)
{
    return (uint16_t)ptx_narrow(v, 7, 8, PTX_ROUND_NEAREST, false);
}

static inline float ptx_flush(float v)
{
    float size = __builtin_fabsf(v);
    return size < 0x1p-126f ? __builtin_copysignf(0.0f, v) : v;
}

/* NaN becomes +0, as .sat says. */
static inline float ptx_saturate(float v)
{
    return v > 0.0f ? (v < 1.0f ? v : 1.0f) : 0.0f;
}

#define PTX_NAN32 ptx_f32(0x7fffffffu)
#define PTX_NAN64 ptx_f64(0x7ff8000000000000ull)

static inline float ptx_out32(uint32_t flags, float v)
{
    if (flags & PTX_F_FTZ)
        v = ptx_flush(v);
    if (flags & PTX_F_SAT)
        return ptx_saturate(v);
    return v == v ? v : PTX_NAN32;
}

static inline double ptx_out64(uint32_t flags, double v)
{
    if (flags & PTX_F_SAT)
        return v > 0.0 ? (v < 1.0 ? v : 1.0) : 0.0;
    return v == v ? v : PTX_NAN64;
}

static inline float ptx_in32(uint32_t flags, float v)
{
    return flags & PTX_F_FTZ ? ptx_flush(v) : v;
}

#endif
