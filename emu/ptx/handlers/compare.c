/* SPDX-License-Identifier: Apache-2.0
 *
 * setp and set. The comparison is a vector loop to one byte a lane, then the bytes become a mask.
 */
#include "emu/ptx/handlers/handler.h"
#include "emu/ptx/real.h"

#include <string.h>

static inline uint32_t gather_bits(const uint8_t *bytes)
{
    uint32_t bits = 0;

    /* The product's top byte has bit i of byte i. */
    for (unsigned k = 0; k < PTX_LANES / 8; k++) {
        uint64_t eight;
        memcpy(&eight, bytes + k * 8, sizeof(eight));
        bits |= (uint32_t)(eight * 0x0102040810204080ull >> 56) << k * 8;
    }
    return bits;
}

#define LOOP(...)                                                                                  \
    PTX_INDEPENDENT for (unsigned l = 0; l < PTX_LANES; l++)                                       \
    {                                                                                              \
        bytes[l] = (__VA_ARGS__);                                                                  \
    }                                                                                              \
    break;

#define COMPARE_INT(N, T)                                                                          \
    static uint32_t compare_##N(struct ptx_warp *w, const struct ptx_insn *i)                      \
    {                                                                                              \
        const T *a = ptx_lanes(w, i->src[0]);                                                      \
        const T *b = ptx_lanes(w, i->src[1]);                                                      \
        uint8_t bytes[PTX_LANES];                                                                  \
        switch (PTX_MODE(i) & 15) {                                                                \
        case PTX_CMP_EQ:                                                                           \
            LOOP(a[l] == b[l])                                                                     \
        case PTX_CMP_NE:                                                                           \
            LOOP(a[l] != b[l])                                                                     \
        case PTX_CMP_LT:                                                                           \
            LOOP(a[l] < b[l])                                                                      \
        case PTX_CMP_LE:                                                                           \
            LOOP(a[l] <= b[l])                                                                     \
        case PTX_CMP_GT:                                                                           \
            LOOP(a[l] > b[l])                                                                      \
        default:                                                                                   \
            LOOP(a[l] >= b[l])                                                                     \
        }                                                                                          \
        return gather_bits(bytes);                                                                 \
    }
COMPARE_INT(u16, uint16_t)
COMPARE_INT(u32, uint32_t)
COMPARE_INT(u64, uint64_t)
COMPARE_INT(s16, int16_t)
COMPARE_INT(s32, int32_t)
COMPARE_INT(s64, int64_t)

/* Ordered comparisons are false on NaN, the unordered are the negation of the opposite one. */
#define COMPARE_FLOAT(N, T, LOAD)                                                                  \
    static uint32_t compare_##N(struct ptx_warp *w, const struct ptx_insn *i)                      \
    {                                                                                              \
        const uint32_t flags = i->flags;                                                           \
        T a[PTX_LANES];                                                                            \
        T b[PTX_LANES];                                                                            \
        uint8_t bytes[PTX_LANES];                                                                  \
        (void)flags;                                                                               \
        for (unsigned l = 0; l < PTX_LANES; l++)                                                   \
            a[l] = LOAD(i->src[0]), b[l] = LOAD(i->src[1]);                                        \
        switch (PTX_MODE(i) & 15) {                                                                \
        case PTX_CMP_EQ:                                                                           \
            LOOP(a[l] == b[l])                                                                     \
        case PTX_CMP_NE:                                                                           \
            LOOP(a[l]<b[l] || a[l]> b[l])                                                          \
        case PTX_CMP_LT:                                                                           \
            LOOP(a[l] < b[l])                                                                      \
        case PTX_CMP_LE:                                                                           \
            LOOP(a[l] <= b[l])                                                                     \
        case PTX_CMP_GT:                                                                           \
            LOOP(a[l] > b[l])                                                                      \
        case PTX_CMP_GE:                                                                           \
            LOOP(a[l] >= b[l])                                                                     \
        case PTX_CMP_NUM:                                                                          \
            LOOP(a[l] == a[l] && b[l] == b[l])                                                     \
        case PTX_CMP_NAN:                                                                          \
            LOOP(a[l] != a[l] || b[l] != b[l])                                                     \
        case PTX_CMP_EQ | PTX_CMP_UNORDERED:                                                       \
            LOOP(!(a[l] < b[l] || a[l] > b[l]))                                                    \
        case PTX_CMP_NE | PTX_CMP_UNORDERED:                                                       \
            LOOP(a[l] != b[l])                                                                     \
        case PTX_CMP_LT | PTX_CMP_UNORDERED:                                                       \
            LOOP(!(a[l] >= b[l]))                                                                  \
        case PTX_CMP_LE | PTX_CMP_UNORDERED:                                                       \
            LOOP(!(a[l] > b[l]))                                                                   \
        case PTX_CMP_GT | PTX_CMP_UNORDERED:                                                       \
            LOOP(!(a[l] <= b[l]))                                                                  \
        default:                                                                                   \
            LOOP(!(a[l] < b[l]))                                                                   \
        }                                                                                          \
        return gather_bits(bytes);                                                                 \
    }
static inline float from_half(uint32_t flags, uint16_t h)
{
    return ptx_from_half(flags & PTX_F_FTZ && !(h & 0x7c00) ? h & 0x8000 : h);
}

#define LOAD_F32(op)   ptx_in32(flags, ((const float *)ptx_lanes(w, op))[l])
#define LOAD_F64(op)   ((const double *)ptx_lanes(w, op))[l]
#define LOAD_F16(op)   from_half(flags, ((const uint16_t *)ptx_lanes(w, op))[l])
#define LOAD_BF16(op)  ptx_from_bf16(((const uint16_t *)ptx_lanes(w, op))[l])
#define LOAD_LOW(op)   from_half(flags, (uint16_t)((const uint32_t *)ptx_lanes(w, op))[l])
#define LOAD_HIGH(op)  from_half(flags, (uint16_t)(((const uint32_t *)ptx_lanes(w, op))[l] >> 16))
#define LOAD_BLOW(op)  ptx_from_bf16((uint16_t)((const uint32_t *)ptx_lanes(w, op))[l])
#define LOAD_BHIGH(op) ptx_from_bf16((uint16_t)(((const uint32_t *)ptx_lanes(w, op))[l] >> 16))
COMPARE_FLOAT(f32, float, LOAD_F32)
COMPARE_FLOAT(f64, double, LOAD_F64)
COMPARE_FLOAT(f16, float, LOAD_F16)
COMPARE_FLOAT(bf16, float, LOAD_BF16)
COMPARE_FLOAT(low, float, LOAD_LOW)
COMPARE_FLOAT(high, float, LOAD_HIGH)
COMPARE_FLOAT(blow, float, LOAD_BLOW)
COMPARE_FLOAT(bhigh, float, LOAD_BHIGH)

static inline uint32_t combine(const struct ptx_warp *w, const struct ptx_insn *i, uint32_t bits)
{
    unsigned how = PTX_MODE(i) >> 4;
    uint32_t other = how ? ptx_pred(w, i->src[2]) : 0;

    return how == PTX_COMBINE_AND   ? bits & other
           : how == PTX_COMBINE_OR  ? bits | other
           : how == PTX_COMBINE_XOR ? bits ^ other
                                    : bits;
}

/* setp p|q: q is the combination with the comparison's negation. */
#define SETP(N)                                                                                    \
    static void setp_##N(struct ptx_warp *w, const struct ptx_insn *i)                             \
    {                                                                                              \
        uint32_t bits = compare_##N(w, i);                                                         \
        uint32_t first = combine(w, i, bits);                                                      \
        uint32_t second = combine(w, i, ~bits);                                                    \
        ptx_set_pred(w, i->dst, first);                                                            \
        ptx_set_pred(w, i->dst2, second);                                                          \
    }                                                                                              \
    static void set_##N(struct ptx_warp *w, const struct ptx_insn *i)                              \
    {                                                                                              \
        write_set(w, i, combine(w, i, compare_##N(w, i)));                                         \
    }

/* type2: what set writes: 1.0, or all ones. */
static void write_set(struct ptx_warp *w, const struct ptx_insn *i, uint32_t bits)
{
    uint32_t *d = ptx_lanes(w, i->dst);
    uint16_t *d16 = ptx_lanes(w, i->dst);

    if (i->type2 == PTX_F32)
        PTX_EACH(w, d[l] = bits >> l & 1 ? 0x3f800000u : 0);
    else if (i->type2 == PTX_F16)
        PTX_EACH(w, d16[l] = bits >> l & 1 ? 0x3c00 : 0);
    else if (i->type2 == PTX_BF16)
        PTX_EACH(w, d16[l] = bits >> l & 1 ? 0x3f80 : 0);
    else if (i->type2 == PTX_U16)
        PTX_EACH(w, d16[l] = bits >> l & 1 ? 0xffff : 0);
    else
        PTX_EACH(w, d[l] = bits >> l & 1 ? 0xffffffffu : 0);
}

SETP(u16)
SETP(u32)
SETP(u64)
SETP(s16)
SETP(s32)
SETP(s64)
SETP(f32)
SETP(f64)
SETP(f16)
SETP(bf16)

/* setp.f16x2 p|q: p for the low halves, q for the high ones. */
#define SETP_PAIR(name, low, high, one)                                                            \
    static void setp_##name(struct ptx_warp *w, const struct ptx_insn *i)                          \
    {                                                                                              \
        uint32_t first = combine(w, i, compare_##low(w, i));                                       \
        uint32_t second = combine(w, i, compare_##high(w, i));                                     \
        ptx_set_pred(w, i->dst, first);                                                            \
        ptx_set_pred(w, i->dst2, second);                                                          \
    }                                                                                              \
    static void set_##name(struct ptx_warp *w, const struct ptx_insn *i)                           \
    {                                                                                              \
        uint32_t first = combine(w, i, compare_##low(w, i));                                       \
        uint32_t second = combine(w, i, compare_##high(w, i));                                     \
        uint32_t yes = i->type2 == PTX_U32 || i->type2 == PTX_S32 ? 0xffff : one;                  \
        uint32_t *d = ptx_lanes(w, i->dst);                                                        \
        PTX_EACH(w, d[l] = (first >> l & 1 ? yes : 0) | (second >> l & 1 ? yes << 16 : 0));        \
    }
SETP_PAIR(f16x2, low, high, 0x3c00)
SETP_PAIR(bf16x2, blow, bhigh, 0x3f80)

#define ROW(T, N)                                                                                  \
    {PTX_ALU_SETP, PTX_##T, setp_##N},                                                             \
    {                                                                                              \
        PTX_ALU_SET, PTX_##T, set_##N                                                              \
    }

const struct ptx_entry PTX_TABLE(ptx_compare_entries)[] = {
    ROW(U16, u16),   ROW(U32, u32),     ROW(U64, u64),       ROW(B16, u16),
    ROW(B32, u32),   ROW(B64, u64),     ROW(S16, s16),       ROW(S32, s32),
    ROW(S64, s64),   ROW(F32, f32),     ROW(F64, f64),       ROW(F16, f16),
    ROW(BF16, bf16), ROW(F16X2, f16x2), ROW(BF16X2, bf16x2), {0, 0, 0},
};
