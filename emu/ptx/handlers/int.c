/* SPDX-License-Identifier: Apache-2.0
 *
 * Integer arithmetic. Sums and products are computed unsigned, so that they wrap as PTX says.
 */
#include "emu/ptx/handlers/handler.h"

#define WRAP_OPS(N, U, S)                                                                          \
    PTX_BINARY(add_##N, U, U, U, a + b)                                                            \
    PTX_BINARY(sub_##N, U, U, U, a - b)                                                            \
    PTX_TERNARY(mad_##N, U, U, U, U, (uint64_t)a *b + c)                                           \
    PTX_BINARY(mul_##N, U, U, U, (uint64_t)a *b)                                                   \
    PTX_UNARY(neg_##N, U, U, 0 - (uint64_t)a)                                                      \
    PTX_UNARY(abs_##N, U, S, a < 0 ? 0 - (uint64_t)(int64_t)a : (uint64_t)(int64_t)a)
WRAP_OPS(16, uint16_t, int16_t)
WRAP_OPS(32, uint32_t, int32_t)
WRAP_OPS(64, uint64_t, int64_t)

/* Division by zero gives all ones, and the dividend as the remainder, as GPUs do; INT_MIN / -1
 * wraps. */
#define ORDER_OPS(N, T)                                                                            \
    PTX_BINARY(min_##N, T, T, T, a < b ? a : b)                                                    \
    PTX_BINARY(max_##N, T, T, T, a > b ? a : b)                                                    \
    PTX_TERNARY(sad_##N, T, T, T, T,                                                               \
                (uint64_t)c + (a < b ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b))
ORDER_OPS(u16, uint16_t)
ORDER_OPS(u32, uint32_t)
ORDER_OPS(u64, uint64_t)
ORDER_OPS(s16, int16_t)
ORDER_OPS(s32, int32_t)
ORDER_OPS(s64, int64_t)

#define UNSIGNED_DIVISION(N, T)                                                                    \
    PTX_BINARY_EACH(div_##N, T, T, T, b ? a / b : (T)-1)                                           \
    PTX_BINARY_EACH(rem_##N, T, T, T, b ? a % b : a)
#define SIGNED_DIVISION(N, T)                                                                      \
    PTX_BINARY_EACH(div_##N, T, T, T,                                                              \
                    b == 0    ? (T)-1                                                              \
                    : b == -1 ? (T)(0 - (uint64_t)a)                                               \
                              : (T)(a / b))                                                        \
    PTX_BINARY_EACH(rem_##N, T, T, T, b == 0 ? a : b == -1 ? (T)0 : (T)(a % b))
UNSIGNED_DIVISION(u16, uint16_t)
UNSIGNED_DIVISION(u32, uint32_t)
UNSIGNED_DIVISION(u64, uint64_t)
SIGNED_DIVISION(s16, int16_t)
SIGNED_DIVISION(s32, int32_t)
SIGNED_DIVISION(s64, int64_t)

#define WIDE_OPS(N, T, W, UW, BITS)                                                                \
    PTX_BINARY(mul_hi_##N, T, T, T, (W)a *(W)b >> BITS)                                            \
    PTX_TERNARY(mad_hi_##N, T, T, T, T, (uint64_t)((W)a * (W)b >> BITS) + (uint64_t)c)             \
    PTX_BINARY(mul_wide_##N, UW, T, T, (W)a *(W)b)                                                 \
    PTX_TERNARY(mad_wide_##N, UW, T, T, UW, (UW)((W)a * (W)b) + c)
WIDE_OPS(u16, uint16_t, uint32_t, uint32_t, 16)
WIDE_OPS(s16, int16_t, int32_t, uint32_t, 16)
WIDE_OPS(u32, uint32_t, uint64_t, uint64_t, 32)
WIDE_OPS(s32, int32_t, int64_t, uint64_t, 32)

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;
PTX_BINARY(mul_hi_u64, uint64_t, uint64_t, uint64_t, (uint128)a *b >> 64)
PTX_BINARY(mul_hi_s64, uint64_t, int64_t, int64_t, (int128)a *b >> 64)
PTX_TERNARY(mad_hi_u64, uint64_t, uint64_t, uint64_t, uint64_t, (uint64_t)((uint128)a *b >> 64) + c)
PTX_TERNARY(mad_hi_s64, uint64_t, int64_t, int64_t, uint64_t, (uint64_t)((int128)a *b >> 64) + c)

static inline int32_t clamp32(int64_t v)
{
    return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;
}
PTX_BINARY(add_sat_s32, int32_t, int32_t, int32_t, clamp32((int64_t)a + b))
PTX_BINARY(sub_sat_s32, int32_t, int32_t, int32_t, clamp32((int64_t)a - b))
PTX_TERNARY(mad_hi_sat_s32, int32_t, int32_t, int32_t, int32_t, clamp32(((int64_t)a * b >> 32) + c))

/* 24-bit products: the low 32 or the bits 16 to 47 of the 48-bit product. */
#define LOW24U(x) ((uint64_t)((x)&0xffffff))
#define LOW24S(x) ((int64_t)((int32_t)((uint32_t)(x) << 8) >> 8))
PTX_BINARY(mul24_u32, uint32_t, uint32_t, uint32_t, LOW24U(a) * LOW24U(b))
PTX_BINARY(mul24_s32, uint32_t, int32_t, int32_t, LOW24S(a) * LOW24S(b))
PTX_BINARY(mul24_hi_u32, uint32_t, uint32_t, uint32_t, LOW24U(a) * LOW24U(b) >> 16)
PTX_BINARY(mul24_hi_s32, uint32_t, int32_t, int32_t, LOW24S(a) * LOW24S(b) >> 16)
PTX_TERNARY(mad24_u32, uint32_t, uint32_t, uint32_t, uint32_t, LOW24U(a) * LOW24U(b) + c)
PTX_TERNARY(mad24_s32, uint32_t, int32_t, int32_t, uint32_t, (uint64_t)(LOW24S(a) * LOW24S(b)) + c)
PTX_TERNARY(mad24_hi_u32, uint32_t, uint32_t, uint32_t, uint32_t, (LOW24U(a) * LOW24U(b) >> 16) + c)
PTX_TERNARY(mad24_hi_s32, uint32_t, int32_t, int32_t, uint32_t,
            (uint64_t)(LOW24S(a) * LOW24S(b) >> 16) + c)
PTX_TERNARY(mad24_hi_sat_s32, int32_t, int32_t, int32_t, int32_t,
            clamp32((int64_t)(int32_t)(LOW24S(a) * LOW24S(b) >> 16) + c))

static inline void set_carry(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane,
                             bool carry)
{
    if (i->flags & PTX_F_CARRY_OUT)
        w->carry = (w->carry & ~(1u << lane)) | (uint32_t)carry << lane;
}

static inline uint32_t carry_in(const struct ptx_warp *w, const struct ptx_insn *i, unsigned lane)
{
    return i->flags & PTX_F_CARRY_IN ? w->carry >> lane & 1 : 0;
}

/* A subtraction adds the complement: its carry is set when nothing was borrowed. Code that mixes
 * sub.cc with addc, as the 128-bit division of NVIDIA's compiler does, sees that. */
static inline uint32_t unborrowed(const struct ptx_warp *w, const struct ptx_insn *i, unsigned lane)
{
    return i->flags & PTX_F_CARRY_IN ? w->carry >> lane & 1 : 1;
}

/* One lane at a time: CC.CF is a bit mask. */
#define EACH_LANE(w)                                                                               \
    for (uint32_t left = (w)->mask, l; left && (l = (uint32_t)__builtin_ctz(left), true);          \
         left &= left - 1)

#define CARRY_OPS(N, T, WIDE)                                                                      \
    static void addc_##N(struct ptx_warp *w, const struct ptx_insn *i)                             \
    {                                                                                              \
        T *d = ptx_lanes(w, i->dst);                                                               \
        const T *a = ptx_lanes(w, i->src[0]);                                                      \
        const T *b = ptx_lanes(w, i->src[1]);                                                      \
        EACH_LANE(w)                                                                               \
        {                                                                                          \
            WIDE sum = (WIDE)a[l] + b[l] + carry_in(w, i, l);                                      \
            d[l] = (T)sum;                                                                         \
            set_carry(w, i, l, sum >> N);                                                          \
        }                                                                                          \
    }                                                                                              \
    static void subc_##N(struct ptx_warp *w, const struct ptx_insn *i)                             \
    {                                                                                              \
        T *d = ptx_lanes(w, i->dst);                                                               \
        const T *a = ptx_lanes(w, i->src[0]);                                                      \
        const T *b = ptx_lanes(w, i->src[1]);                                                      \
        EACH_LANE(w)                                                                               \
        {                                                                                          \
            WIDE sum = (WIDE)a[l] + (T)~b[l] + unborrowed(w, i, l);                                \
            d[l] = (T)sum;                                                                         \
            set_carry(w, i, l, sum >> N);                                                          \
        }                                                                                          \
    }
CARRY_OPS(32, uint32_t, uint64_t)
CARRY_OPS(64, uint64_t, uint128)

#define MADC_OP(name, N, T, A, WIDE, SHIFT)                                                        \
    static void name(struct ptx_warp *w, const struct ptx_insn *i)                                 \
    {                                                                                              \
        T *d = ptx_lanes(w, i->dst);                                                               \
        const A *a = ptx_lanes(w, i->src[0]);                                                      \
        const A *b = ptx_lanes(w, i->src[1]);                                                      \
        const T *c = ptx_lanes(w, i->src[2]);                                                      \
        EACH_LANE(w)                                                                               \
        {                                                                                          \
            T product = (T)((WIDE)a[l] * (WIDE)b[l] >> (SHIFT));                                   \
            uint128 sum = (uint128)product + c[l] + carry_in(w, i, l);                             \
            d[l] = (T)sum;                                                                         \
            set_carry(w, i, l, (bool)(sum >> N & 1));                                              \
        }                                                                                          \
    }
MADC_OP(madc_32, 32, uint32_t, uint32_t, uint64_t, 0)
MADC_OP(madc_64, 64, uint64_t, uint64_t, uint128, 0)
MADC_OP(madc_hi_u32, 32, uint32_t, uint32_t, uint64_t, 32)
MADC_OP(madc_hi_s32, 32, uint32_t, int32_t, int64_t, 32)
MADC_OP(madc_hi_u64, 64, uint64_t, uint64_t, uint128, 64)
MADC_OP(madc_hi_s64, 64, uint64_t, int64_t, int128, 64)

/* Packed 16-bit lanes of a 32-bit register. */
#define PACK(lo, hi)  ((uint32_t)(uint16_t)(lo) | (uint32_t)(uint16_t)(hi) << 16)
#define LOW(x)        ((int16_t)(x))
#define HIGH(x)       ((int16_t)((x) >> 16))
#define LESS(a, b, T) ((T)(a) < (T)(b) ? (a) : (b))
#define MORE(a, b, T) ((T)(a) > (T)(b) ? (a) : (b))
PTX_BINARY(add_16x2, uint32_t, uint32_t, uint32_t, PACK(LOW(a) + LOW(b), HIGH(a) + HIGH(b)))
PTX_BINARY(min_u16x2, uint32_t, uint32_t, uint32_t,
           PACK(LESS(LOW(a), LOW(b), uint16_t), LESS(HIGH(a), HIGH(b), uint16_t)))
PTX_BINARY(max_u16x2, uint32_t, uint32_t, uint32_t,
           PACK(MORE(LOW(a), LOW(b), uint16_t), MORE(HIGH(a), HIGH(b), uint16_t)))
PTX_BINARY(min_s16x2, uint32_t, uint32_t, uint32_t,
           PACK(LESS(LOW(a), LOW(b), int16_t), LESS(HIGH(a), HIGH(b), int16_t)))
PTX_BINARY(max_s16x2, uint32_t, uint32_t, uint32_t,
           PACK(MORE(LOW(a), LOW(b), int16_t), MORE(HIGH(a), HIGH(b), int16_t)))

#define BOTH(OP, N, fn)                                                                            \
    {PTX_ALU_##OP, PTX_U##N, fn},                                                                  \
    {                                                                                              \
        PTX_ALU_##OP, PTX_S##N, fn                                                                 \
    }
#define ALL_SIZES(OP, fn) BOTH(OP, 16, fn##_16), BOTH(OP, 32, fn##_32), BOTH(OP, 64, fn##_64)
#define EACH_TYPE(OP, fn)                                                                          \
    {PTX_ALU_##OP, PTX_U16, fn##_u16}, {PTX_ALU_##OP, PTX_U32, fn##_u32},                          \
        {PTX_ALU_##OP, PTX_U64, fn##_u64}, {PTX_ALU_##OP, PTX_S16, fn##_s16},                      \
        {PTX_ALU_##OP, PTX_S32, fn##_s32},                                                         \
    {                                                                                              \
        PTX_ALU_##OP, PTX_S64, fn##_s64                                                            \
    }

const struct ptx_entry PTX_TABLE(ptx_int_entries)[] = {
    ALL_SIZES(ADD, add),
    ALL_SIZES(SUB, sub),
    ALL_SIZES(MUL, mul),
    ALL_SIZES(MAD, mad),
    {PTX_ALU_NEG, PTX_S16, neg_16},
    {PTX_ALU_NEG, PTX_S32, neg_32},
    {PTX_ALU_NEG, PTX_S64, neg_64},
    {PTX_ALU_ABS, PTX_S16, abs_16},
    {PTX_ALU_ABS, PTX_S32, abs_32},
    {PTX_ALU_ABS, PTX_S64, abs_64},
    EACH_TYPE(MIN, min),
    EACH_TYPE(MAX, max),
    EACH_TYPE(SAD, sad),
    EACH_TYPE(DIV, div),
    EACH_TYPE(REM, rem),
    EACH_TYPE(MUL_HI, mul_hi),
    EACH_TYPE(MAD_HI, mad_hi),
    {PTX_ALU_MUL_WIDE, PTX_U16, mul_wide_u16},
    {PTX_ALU_MUL_WIDE, PTX_S16, mul_wide_s16},
    {PTX_ALU_MUL_WIDE, PTX_U32, mul_wide_u32},
    {PTX_ALU_MUL_WIDE, PTX_S32, mul_wide_s32},
    {PTX_ALU_MAD_WIDE, PTX_U16, mad_wide_u16},
    {PTX_ALU_MAD_WIDE, PTX_S16, mad_wide_s16},
    {PTX_ALU_MAD_WIDE, PTX_U32, mad_wide_u32},
    {PTX_ALU_MAD_WIDE, PTX_S32, mad_wide_s32},
    {PTX_ALU_ADD_SAT, PTX_S32, add_sat_s32},
    {PTX_ALU_SUB_SAT, PTX_S32, sub_sat_s32},
    {PTX_ALU_MAD_HI_SAT, PTX_S32, mad_hi_sat_s32},
    {PTX_ALU_MUL24, PTX_U32, mul24_u32},
    {PTX_ALU_MUL24, PTX_S32, mul24_s32},
    {PTX_ALU_MUL24_HI, PTX_U32, mul24_hi_u32},
    {PTX_ALU_MUL24_HI, PTX_S32, mul24_hi_s32},
    {PTX_ALU_MAD24, PTX_U32, mad24_u32},
    {PTX_ALU_MAD24, PTX_S32, mad24_s32},
    {PTX_ALU_MAD24_HI, PTX_U32, mad24_hi_u32},
    {PTX_ALU_MAD24_HI, PTX_S32, mad24_hi_s32},
    {PTX_ALU_MAD24_HI_SAT, PTX_S32, mad24_hi_sat_s32},
    BOTH(ADDC, 32, addc_32),
    BOTH(ADDC, 64, addc_64),
    BOTH(SUBC, 32, subc_32),
    BOTH(SUBC, 64, subc_64),
    BOTH(MADC, 32, madc_32),
    BOTH(MADC, 64, madc_64),
    {PTX_ALU_MADC_HI, PTX_U32, madc_hi_u32},
    {PTX_ALU_MADC_HI, PTX_S32, madc_hi_s32},
    {PTX_ALU_MADC_HI, PTX_U64, madc_hi_u64},
    {PTX_ALU_MADC_HI, PTX_S64, madc_hi_s64},
    {PTX_ALU_ADD, PTX_U16X2, add_16x2},
    {PTX_ALU_ADD, PTX_S16X2, add_16x2},
    {PTX_ALU_MIN, PTX_U16X2, min_u16x2},
    {PTX_ALU_MAX, PTX_U16X2, max_u16x2},
    {PTX_ALU_MIN, PTX_S16X2, min_s16x2},
    {PTX_ALU_MAX, PTX_S16X2, max_s16x2},
    {0, 0, 0},
};
