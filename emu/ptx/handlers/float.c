/* SPDX-License-Identifier: Apache-2.0
 *
 * f32 and f64. Results are IEEE's, correctly rounded, where PTX asks for it; .approx forms go
 * through libm, which is at least as exact as the hardware.
 */
#include "emu/ptx/handlers/handler.h"
#include "emu/ptx/real.h"

#include <math.h>

#define IN(x) ptx_in32(flags, x)

/* The plain form has no flags at all and becomes a single vector instruction and a NaN test. */
#define F32_BINARY(name, ...)                                                                      \
    PTX_BINARY(name##_plain, float, float, float, ptx_out32(0, __VA_ARGS__))                       \
    static void name##_f32(struct ptx_warp *w, const struct ptx_insn *i)                           \
    {                                                                                              \
        const uint32_t flags = i->flags;                                                           \
        float *d = ptx_lanes(w, i->dst);                                                           \
        const float *pa = ptx_lanes(w, i->src[0]);                                                 \
        const float *pb = ptx_lanes(w, i->src[1]);                                                 \
        if (!(flags & (PTX_F_FTZ | PTX_F_SAT))) {                                                  \
            name##_plain(w, i);                                                                    \
            return;                                                                                \
        }                                                                                          \
        PTX_EACH(w, float a = IN(pa[l]); float b = IN(pb[l]);                                      \
                 d[l] = ptx_out32(flags, (__VA_ARGS__)));                                          \
    }
#define F32_UNARY(name, ...)                                                                       \
    static void name##_f32(struct ptx_warp *w, const struct ptx_insn *i)                           \
    {                                                                                              \
        const uint32_t flags = i->flags;                                                           \
        float *d = ptx_lanes(w, i->dst);                                                           \
        const float *pa = ptx_lanes(w, i->src[0]);                                                 \
        PTX_EACH(w, float a = IN(pa[l]); d[l] = ptx_out32(flags, (__VA_ARGS__)));                  \
    }
#define F64_BINARY(name, ...)                                                                      \
    PTX_BINARY(name##_f64, double, double, double, ptx_out64(i->flags, __VA_ARGS__))
#define F64_UNARY(name, ...) PTX_UNARY(name##_f64, double, double, ptx_out64(i->flags, __VA_ARGS__))

F32_BINARY(add, a + b)
F32_BINARY(sub, a - b)
F32_BINARY(mul, a *b)
F32_BINARY(div, a / b)
F64_BINARY(add, a + b)
F64_BINARY(sub, a - b)
F64_BINARY(mul, a *b)
F64_BINARY(div, a / b)

PTX_TERNARY(fma_plain, float, float, float, float, ptx_out32(0, __builtin_fmaf(a, b, c)))
static void fma_f32(struct ptx_warp *w, const struct ptx_insn *i)
{
    const uint32_t flags = i->flags;
    float *d = ptx_lanes(w, i->dst);
    const float *a = ptx_lanes(w, i->src[0]);
    const float *b = ptx_lanes(w, i->src[1]);
    const float *c = ptx_lanes(w, i->src[2]);

    if (!(flags & (PTX_F_FTZ | PTX_F_SAT))) {
        fma_plain(w, i);
        return;
    }
    PTX_EACH(w, d[l] = ptx_out32(flags, __builtin_fmaf(IN(a[l]), IN(b[l]), IN(c[l]))));
}
PTX_TERNARY(fma_f64, double, double, double, double, ptx_out64(0, __builtin_fma(a, b, c)))

/* Pairs of f32 in a register of 64 bits. */
#define F32X2(name, ...)                                                                           \
    static void name##_f32x2(struct ptx_warp *w, const struct ptx_insn *i)                         \
    {                                                                                              \
        const uint32_t flags = i->flags;                                                           \
        float *d = ptx_lanes(w, i->dst);                                                           \
        const float *pa = ptx_lanes(w, i->src[0]);                                                 \
        const float *pb = ptx_lanes(w, i->src[1]);                                                 \
        const float *pc = ptx_lanes(w, i->src[2]);                                                 \
        PTX_EACH(                                                                                  \
            w, for (unsigned k = 2 * l; k < 2 * l + 2; k++) {                                      \
                float a = IN(pa[k]);                                                               \
                float b = IN(pb[k]);                                                               \
                float c = IN(pc[k]);                                                               \
                (void)c;                                                                           \
                d[k] = ptx_out32(flags, (__VA_ARGS__));                                            \
            });                                                                                    \
    }
F32X2(add, a + b)
F32X2(sub, a - b)
F32X2(mul, a *b)
F32X2(fma, __builtin_fmaf(a, b, c))

F32_UNARY(rcp, 1.0f / a)
F32_UNARY(sqrt, __builtin_sqrtf(a))
F32_UNARY(rsqrt, (float)(1.0 / __builtin_sqrt((double)a)))
F32_UNARY(sin, sinf(a))
F32_UNARY(cos, cosf(a))
F32_UNARY(ex2, exp2f(a))
F32_UNARY(lg2, log2f(a))
F32_UNARY(tanh, tanhf(a))
/* .approx.ftz.f64 looks at the upper half of its operand and writes the upper half of the result;
 * .approx.f64 is precise. */
static inline double upper(double v)
{
    return ptx_f64(ptx_f64_bits(v) & 0xffffffff00000000ull);
}
static inline double flush64(double v)
{
    return __builtin_fabs(v) < 0x1p-1022 ? __builtin_copysign(0.0, v) : v;
}
F64_UNARY(rcp, i->flags &PTX_F_FTZ ? upper(flush64(1.0 / flush64(upper(a)))) : 1.0 / a)
F64_UNARY(sqrt, __builtin_sqrt(a))
F64_UNARY(rsqrt, i->flags &PTX_F_FTZ ? upper(1.0 / __builtin_sqrt(flush64(upper(a))))
                                     : 1.0 / __builtin_sqrt(a))

/* abs and neg keep a NaN's payload; only .ftz touches the value. */
PTX_UNARY(abs_f32, float, float, __builtin_fabsf(ptx_in32(i->flags, a)))
PTX_UNARY(neg_f32, float, float, -ptx_in32(i->flags, a))
PTX_UNARY(abs_f64, uint64_t, uint64_t, a & ~(1ull << 63))
PTX_UNARY(neg_f64, uint64_t, uint64_t, a ^ 1ull << 63)

/* -0 is less than +0; a NaN loses, unless .NaN was asked for. */
#define ORDERED(T, a, b, less)                                                                     \
    ((a) != (a)   ? (b)                                                                            \
     : (b) != (b) ? (a)                                                                            \
     : (a) == (b)                                                                                  \
         ? (less ? (__builtin_signbit(a) ? (a) : (b)) : (__builtin_signbit(a) ? (b) : (a)))        \
     : ((a) < (b)) == (less) ? (a)                                                                 \
                             : (b))
static inline float order32(uint32_t flags, float a, float b, bool less)
{
    a = IN(a);
    b = IN(b);
    if (flags & PTX_F_NAN && (a != a || b != b))
        return PTX_NAN32;
    if (flags & PTX_F_ABS) {
        uint32_t sign = (ptx_f32_bits(a) ^ ptx_f32_bits(b)) & 0x80000000u;
        a = __builtin_fabsf(a);
        b = __builtin_fabsf(b);
        return ptx_f32(ptx_f32_bits(ptx_out32(0, ORDERED(float, a, b, less))) | sign);
    }
    return ptx_out32(0, ORDERED(float, a, b, less));
}
static inline double order64(double a, double b, bool less)
{
    return ptx_out64(0, ORDERED(double, a, b, less));
}
PTX_BINARY(min_f32, float, float, float, order32(i->flags, a, b, true))
PTX_BINARY(max_f32, float, float, float, order32(i->flags, a, b, false))
PTX_BINARY(min_f64, double, double, double, order64(a, b, true))
PTX_BINARY(max_f64, double, double, double, order64(a, b, false))

/* copysign d, a, b: the sign of a, the size of b. */
PTX_BINARY(copysign_f32, uint32_t, uint32_t, uint32_t, (a & 0x80000000u) | (b & 0x7fffffffu))
PTX_BINARY(copysign_f64, uint64_t, uint64_t, uint64_t, (a & 1ull << 63) | (b & ~(1ull << 63)))

enum { FINITE, INFINITE, NUMBER, NOT_A_NUMBER, NORMAL, SUBNORMAL };

static bool test(unsigned what, int kind)
{
    switch (what) {
    case FINITE:
        return kind != FP_INFINITE && kind != FP_NAN;
    case INFINITE:
        return kind == FP_INFINITE;
    case NUMBER:
        return kind != FP_NAN;
    case NOT_A_NUMBER:
        return kind == FP_NAN;
    case NORMAL:
        return kind == FP_NORMAL;
    default:
        return kind == FP_SUBNORMAL;
    }
}

#define TESTP(name, T)                                                                             \
    static void name(struct ptx_warp *w, const struct ptx_insn *i)                                 \
    {                                                                                              \
        const T *a = ptx_lanes(w, i->src[0]);                                                      \
        uint32_t bits = 0;                                                                         \
        for (unsigned l = 0; l < PTX_LANES; l++)                                                   \
            bits |= (uint32_t)test(PTX_MODE(i), fpclassify(a[l])) << l;                            \
        ptx_set_pred(w, i->dst, bits);                                                             \
    }
TESTP(testp_f32, float)
TESTP(testp_f64, double)

#define BOTH(OP, fn)                                                                               \
    {PTX_ALU_##OP, PTX_F32, fn##_f32},                                                             \
    {                                                                                              \
        PTX_ALU_##OP, PTX_F64, fn##_f64                                                            \
    }

const struct ptx_entry PTX_TABLE(ptx_float_entries)[] = {
    BOTH(ADD, add),
    BOTH(SUB, sub),
    BOTH(MUL, mul),
    BOTH(DIV, div),
    BOTH(FMA, fma),
    BOTH(MAD, fma),
    {PTX_ALU_ADD, PTX_F32X2, add_f32x2},
    {PTX_ALU_SUB, PTX_F32X2, sub_f32x2},
    {PTX_ALU_MUL, PTX_F32X2, mul_f32x2},
    {PTX_ALU_FMA, PTX_F32X2, fma_f32x2},
    BOTH(RCP, rcp),
    BOTH(SQRT, sqrt),
    BOTH(RSQRT, rsqrt),
    {PTX_ALU_SIN, PTX_F32, sin_f32},
    {PTX_ALU_COS, PTX_F32, cos_f32},
    {PTX_ALU_EX2, PTX_F32, ex2_f32},
    {PTX_ALU_LG2, PTX_F32, lg2_f32},
    {PTX_ALU_TANH, PTX_F32, tanh_f32},
    BOTH(ABS, abs),
    BOTH(NEG, neg),
    BOTH(MIN, min),
    BOTH(MAX, max),
    BOTH(COPYSIGN, copysign),
    BOTH(TESTP, testp),
    {0, 0, 0},
};
