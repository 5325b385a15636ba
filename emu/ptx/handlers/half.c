/* SPDX-License-Identifier: Apache-2.0
 *
 * f16, bf16 and their packed pairs. A double holds the exact result of an operation on two of them,
 * so rounding that once is exact; fused sums keep a bit that says whether something was lost.
 */
#include "emu/ptx/handlers/handler.h"
#include "emu/ptx/real.h"

#include <math.h>

static inline uint16_t out_half(uint32_t flags, double v)
{
    if (flags & PTX_F_SAT)
        v = v > 0.0 ? (v < 1.0 ? v : 1.0) : 0.0;
    if (flags & PTX_F_RELU && v <= 0.0)
        v = 0.0;
    uint16_t h = ptx_to_half(v);
    if (flags & PTX_F_FTZ && !(h & 0x7c00))
        h &= 0x8000;
    return h;
}

static inline double in_half(uint32_t flags, uint16_t h)
{
    if (flags & PTX_F_FTZ && !(h & 0x7c00))
        h &= 0x8000;
    return (double)ptx_from_half(h);
}

static inline uint16_t out_bf16(uint32_t flags, double v)
{
    if (flags & PTX_F_SAT)
        v = v > 0.0 ? (v < 1.0 ? v : 1.0) : 0.0;
    if (flags & PTX_F_RELU && v <= 0.0)
        v = 0.0;
    return ptx_to_bf16(v);
}

static inline double in_bf16(uint32_t flags, uint16_t h)
{
    (void)flags;
    return (double)ptx_from_bf16(h);
}

static double lesser(uint32_t flags, double a, double b, bool less)
{
    if (flags & PTX_F_ABS) {
        bool minus = __builtin_signbit(a) != __builtin_signbit(b);
        double v = lesser(flags & ~(uint32_t)PTX_F_ABS, fabs(a), fabs(b), less);
        return minus && v == v ? -v : v;
    }
    if (a != a || b != b)
        return flags & PTX_F_NAN || (a != a && b != b) ? PTX_NAN64 : a != a ? b : a;
    if (a == b)
        return (__builtin_signbit(a) != 0) == less ? a : b;
    return (a < b) == less ? a : b;
}

/* a + b rounded to odd: what a later rounding to fewer bits makes of it is what it would make of
 * the exact sum. */
static inline double odd_sum(double a, double b)
{
    double sum = a + b;
    double from_b = sum - a;
    double lost = (a - (sum - from_b)) + (b - from_b);
    uint64_t bits = ptx_f64_bits(sum);

    if (lost == 0 || lost != lost || bits & 1)
        return sum;
    return ptx_f64((lost > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

/* One handler a kind: the operation is chosen per lane, which costs less than it seems beside the
 * conversions, and keeps this file short. */
static inline double apply(uint16_t op, uint32_t flags, double a, double b, double c)
{
    switch (op) {
    case PTX_ALU_ADD:
        return a + b;
    case PTX_ALU_SUB:
        return a - b;
    case PTX_ALU_MUL:
        return a * b;
    case PTX_ALU_FMA:
        return odd_sum(a * b, c);
    case PTX_ALU_MIN:
        return lesser(flags, a, b, true);
    case PTX_ALU_MAX:
        return lesser(flags, a, b, false);
    case PTX_ALU_EX2:
        return exp2(a);
    default:
        return tanh(a);
    }
}

#define SCALAR(kind, OP, name)                                                                     \
    static void name##_##kind(struct ptx_warp *w, const struct ptx_insn *i)                        \
    {                                                                                              \
        const uint32_t f = i->flags;                                                               \
        uint16_t *d = ptx_lanes(w, i->dst);                                                        \
        const uint16_t *a = ptx_lanes(w, i->src[0]);                                               \
        const uint16_t *b = ptx_lanes(w, i->src[1]);                                               \
        const uint16_t *c = ptx_lanes(w, i->src[2]);                                               \
        PTX_EACH(w, d[l] = out_##kind(f, apply(OP, f, in_##kind(f, a[l]), in_##kind(f, b[l]),      \
                                               in_##kind(f, c[l]))));                              \
    }                                                                                              \
    static void name##_##kind##x2(struct ptx_warp *w, const struct ptx_insn *i)                    \
    {                                                                                              \
        const uint32_t f = i->flags;                                                               \
        uint32_t *d = ptx_lanes(w, i->dst);                                                        \
        const uint32_t *a = ptx_lanes(w, i->src[0]);                                               \
        const uint32_t *b = ptx_lanes(w, i->src[1]);                                               \
        const uint32_t *c = ptx_lanes(w, i->src[2]);                                               \
        PTX_EACH(w, uint32_t low = out_##kind(f, apply(OP, f, in_##kind(f, (uint16_t)a[l]),        \
                                                       in_##kind(f, (uint16_t)b[l]),               \
                                                       in_##kind(f, (uint16_t)c[l])));             \
                 uint32_t high = out_##kind(f, apply(OP, f, in_##kind(f, (uint16_t)(a[l] >> 16)),  \
                                                     in_##kind(f, (uint16_t)(b[l] >> 16)),         \
                                                     in_##kind(f, (uint16_t)(c[l] >> 16))));       \
                 d[l] = low | high << 16);                                                         \
    }
#define BOTH_KINDS(OP, name) SCALAR(half, OP, name) SCALAR(bf16, OP, name)
BOTH_KINDS(PTX_ALU_ADD, add)
BOTH_KINDS(PTX_ALU_SUB, sub)
BOTH_KINDS(PTX_ALU_MUL, mul)
BOTH_KINDS(PTX_ALU_FMA, fma)
BOTH_KINDS(PTX_ALU_MIN, min)
BOTH_KINDS(PTX_ALU_MAX, max)
BOTH_KINDS(PTX_ALU_EX2, ex2)
BOTH_KINDS(PTX_ALU_TANH, tanh)

static inline uint32_t flush_pair(uint32_t flags, uint32_t a)
{
    if (!(flags & PTX_F_FTZ))
        return a;
    if (!(a & 0x7c00))
        a &= 0xffff8000u;
    if (!(a & 0x7c000000u))
        a &= 0x8000ffffu;
    return a;
}
PTX_UNARY(neg_h, uint16_t, uint16_t, flush_pair(i->flags, a) ^ 0x8000)
PTX_UNARY(abs_h, uint16_t, uint16_t, flush_pair(i->flags, a) & 0x7fff)
PTX_UNARY(neg_hx2, uint32_t, uint32_t, flush_pair(i->flags, a) ^ 0x80008000u)
PTX_UNARY(abs_hx2, uint32_t, uint32_t, flush_pair(i->flags, a) & 0x7fff7fffu)
PTX_UNARY(neg_b, uint16_t, uint16_t, a ^ 0x8000)
PTX_UNARY(abs_b, uint16_t, uint16_t, a & 0x7fff)
PTX_UNARY(neg_bx2, uint32_t, uint32_t, a ^ 0x80008000u)
PTX_UNARY(abs_bx2, uint32_t, uint32_t, a & 0x7fff7fffu)

#define FOUR(OP, name)                                                                             \
    {PTX_ALU_##OP, PTX_F16, name##_half}, {PTX_ALU_##OP, PTX_F16X2, name##_halfx2},                \
        {PTX_ALU_##OP, PTX_BF16, name##_bf16},                                                     \
    {                                                                                              \
        PTX_ALU_##OP, PTX_BF16X2, name##_bf16x2                                                    \
    }

const struct ptx_entry PTX_TABLE(ptx_half_entries)[] = {
    FOUR(ADD, add),
    FOUR(SUB, sub),
    FOUR(MUL, mul),
    FOUR(FMA, fma),
    FOUR(MIN, min),
    FOUR(MAX, max),
    FOUR(EX2, ex2),
    FOUR(TANH, tanh),
    {PTX_ALU_NEG, PTX_F16, neg_h},
    {PTX_ALU_NEG, PTX_F16X2, neg_hx2},
    {PTX_ALU_NEG, PTX_BF16, neg_b},
    {PTX_ALU_NEG, PTX_BF16X2, neg_bx2},
    {PTX_ALU_ABS, PTX_F16, abs_h},
    {PTX_ALU_ABS, PTX_F16X2, abs_hx2},
    {PTX_ALU_ABS, PTX_BF16, abs_b},
    {PTX_ALU_ABS, PTX_BF16X2, abs_bx2},
    {0, 0, 0},
};
