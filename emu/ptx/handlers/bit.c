/* SPDX-License-Identifier: Apache-2.0
 *
 * Logic, shifts, bit fields, moves, selection.
 */
#include "emu/ptx/handlers/handler.h"

#define LOGIC_OPS(N, U, S)                                                                         \
    PTX_BINARY(and_##N, U, U, U, a &b)                                                             \
    PTX_BINARY(or_##N, U, U, U, a | b)                                                             \
    PTX_BINARY(xor_##N, U, U, U, a ^ b)                                                            \
    PTX_UNARY(not_##N, U, U, ~a)                                                                   \
    PTX_UNARY(cnot_##N, U, U, a == 0)                                                              \
    PTX_BINARY(shl_##N, U, U, uint32_t, b > N - 1 ? 0 : (uint64_t)a << (b & 63))                   \
    PTX_BINARY(shr_u##N, U, U, uint32_t, b > N - 1 ? 0 : a >> (b & (N - 1)))                       \
    PTX_BINARY(shr_s##N, S, S, uint32_t, a >> (b > N - 1 ? N - 1 : b))                             \
    PTX_UNARY(mov_##N, U, U, a)
LOGIC_OPS(16, uint16_t, int16_t)
LOGIC_OPS(32, uint32_t, int32_t)
LOGIC_OPS(64, uint64_t, int64_t)

__extension__ typedef unsigned __int128 uint128;
PTX_UNARY(mov_128, uint128, uint128, a)

/* Predicates are masks: one operation does a whole warp. */
#define PRED_OP(name, ...)                                                                         \
    static void name(struct ptx_warp *w, const struct ptx_insn *i)                                 \
    {                                                                                              \
        uint32_t a = ptx_pred(w, i->src[0]);                                                       \
        uint32_t b = i->src[1] == PTX_OP_NONE ? 0 : ptx_pred(w, i->src[1]);                        \
        (void)b;                                                                                   \
        ptx_set_pred(w, i->dst, __VA_ARGS__);                                                      \
    }
PRED_OP(and_pred, a &b)
PRED_OP(or_pred, a | b)
PRED_OP(xor_pred, a ^ b)
PRED_OP(not_pred, ~a)
PRED_OP(mov_pred, a)

static void lop3(struct ptx_warp *w, const struct ptx_insn *i)
{
    uint32_t *d = ptx_lanes(w, i->dst);
    const uint32_t *a = ptx_lanes(w, i->src[0]);
    const uint32_t *b = ptx_lanes(w, i->src[1]);
    const uint32_t *c = ptx_lanes(w, i->src[2]);
    uint32_t table[8];

    for (unsigned k = 0; k < 8; k++)
        table[k] = i->imm >> k & 1 ? 0xffffffffu : 0;
    PTX_EACH(w, uint32_t x = a[l]; uint32_t y = b[l]; uint32_t z = c[l];
             d[l] = (~x & ~y & ~z & table[0]) | (~x & ~y & z & table[1]) |
                    (~x & y & ~z & table[2]) | (~x & y & z & table[3]) | (x & ~y & ~z & table[4]) |
                    (x & ~y & z & table[5]) | (x & y & ~z & table[6]) | (x & y & z & table[7]));
}

/* Funnel shifts of b:a. */
static inline uint32_t funnel_amount(const struct ptx_insn *i, uint32_t amount)
{
    return i->flags & PTX_F_CLAMP ? (amount > 32 ? 32 : amount) : amount & 31;
}
PTX_TERNARY(shf_l, uint32_t, uint32_t, uint32_t, uint32_t,
            ((uint64_t)b << 32 | a) << funnel_amount(i, c) >> 32)
PTX_TERNARY(shf_r, uint32_t, uint32_t, uint32_t, uint32_t,
            ((uint64_t)b << 32 | a) >> funnel_amount(i, c))

/* The selector nibble for byte k of each special mode of prmt. */
static uint32_t permute_selector(unsigned mode, uint32_t c)
{
    static const uint16_t tables[7][4] = {
        {0},
        {0x3210, 0x4321, 0x5432, 0x6543}, /* f4e */
        {0x5670, 0x6701, 0x7012, 0x0123}, /* b4e */
        {0x0000, 0x1111, 0x2222, 0x3333}, /* rc8 */
        {0x3210, 0x3211, 0x3222, 0x3333}, /* ecl */
        {0x0000, 0x1110, 0x2210, 0x3210}, /* ecr */
        {0x1010, 0x3232, 0x1010, 0x3232}, /* rc16 */
    };

    return mode ? tables[mode][c & 3] : c;
}

static inline uint32_t permute(uint32_t a, uint32_t b, uint32_t selector)
{
    uint64_t bytes = (uint64_t)b << 32 | a;
    uint32_t out = 0;

    for (unsigned k = 0; k < 4; k++) {
        uint32_t nibble = selector >> 4 * k & 15;
        uint32_t byte = bytes >> 8 * (nibble & 7) & 0xff;
        if (nibble & 8)
            byte = byte & 0x80 ? 0xff : 0;
        out |= byte << 8 * k;
    }
    return out;
}

PTX_TERNARY(prmt, uint32_t, uint32_t, uint32_t, uint32_t,
            permute(a, b, permute_selector(PTX_MODE(i), c)))

static inline uint64_t field_mask(uint32_t length)
{
    return length >= 64 ? ~0ull : (1ull << length) - 1;
}

static inline uint64_t extract(uint64_t a, uint32_t b, uint32_t c, unsigned bits, bool is_signed)
{
    uint32_t start = b & 0xff;
    uint32_t length = c & 0xff;
    uint64_t value = start < bits ? a >> start & field_mask(length) : 0;

    if (!is_signed || length == 0)
        return value;
    uint32_t top = start + length - 1 < bits - 1 ? start + length - 1 : bits - 1;
    if (!(a >> top & 1))
        return value;
    uint32_t valid = start < bits ? (length < bits - start ? length : bits - start) : 0;
    return value | ~field_mask(valid);
}
PTX_TERNARY(bfe_u32, uint32_t, uint32_t, uint32_t, uint32_t, extract(a, b, c, 32, false))
PTX_TERNARY(bfe_s32, uint32_t, uint32_t, uint32_t, uint32_t, extract(a, b, c, 32, true))
PTX_TERNARY(bfe_u64, uint64_t, uint64_t, uint32_t, uint32_t, extract(a, b, c, 64, false))
PTX_TERNARY(bfe_s64, uint64_t, uint64_t, uint32_t, uint32_t, extract(a, b, c, 64, true))

static inline uint64_t insert(uint64_t a, uint64_t b, uint32_t c, uint32_t d, unsigned bits)
{
    uint32_t start = c & 0xff;

    if (start >= bits)
        return b;
    uint64_t mask = field_mask(d & 0xff) << start;
    return (b & ~mask) | (a << start & mask);
}
#define BFI(N, T)                                                                                  \
    static void bfi_##N(struct ptx_warp *w, const struct ptx_insn *i)                              \
    {                                                                                              \
        T *d = ptx_lanes(w, i->dst);                                                               \
        const T *a = ptx_lanes(w, i->src[0]);                                                      \
        const T *b = ptx_lanes(w, i->src[1]);                                                      \
        const uint32_t *s = ptx_lanes(w, i->src[2]);                                               \
        const uint32_t *n = ptx_lanes(w, i->src[3]);                                               \
        PTX_EACH(w, d[l] = (T)insert(a[l], b[l], s[l], n[l], N));                                  \
    }
BFI(32, uint32_t)
BFI(64, uint64_t)

static inline uint32_t find_top(const struct ptx_insn *i, uint64_t a, unsigned bits, bool is_signed)
{
    if (is_signed && a >> (bits - 1) & 1)
        a = ~a;
    if (bits == 32)
        a &= 0xffffffffu;
    if (!a)
        return 0xffffffffu;
    uint32_t at = 63 - (uint32_t)__builtin_clzll(a);
    return PTX_MODE(i) ? bits - 1 - at : at;
}
PTX_UNARY(bfind_u32, uint32_t, uint32_t, find_top(i, a, 32, false))
PTX_UNARY(bfind_s32, uint32_t, uint32_t, find_top(i, a, 32, true))
PTX_UNARY(bfind_u64, uint32_t, uint64_t, find_top(i, a, 64, false))
PTX_UNARY(bfind_s64, uint32_t, uint64_t, find_top(i, a, 64, true))

static inline uint64_t reverse(uint64_t v)
{
    v = (v >> 1 & 0x5555555555555555ull) | (v & 0x5555555555555555ull) << 1;
    v = (v >> 2 & 0x3333333333333333ull) | (v & 0x3333333333333333ull) << 2;
    v = (v >> 4 & 0x0f0f0f0f0f0f0f0full) | (v & 0x0f0f0f0f0f0f0f0full) << 4;
    return __builtin_bswap64(v);
}
PTX_UNARY(brev_32, uint32_t, uint32_t, reverse(a) >> 32)
PTX_UNARY(brev_64, uint64_t, uint64_t, reverse(a))
PTX_UNARY(clz_32, uint32_t, uint32_t, a ? __builtin_clz(a) : 32)
PTX_UNARY(clz_64, uint32_t, uint64_t, a ? __builtin_clzll(a) : 64)
PTX_UNARY(popc_32, uint32_t, uint32_t, __builtin_popcount(a))
PTX_UNARY(popc_64, uint32_t, uint64_t, __builtin_popcountll(a))

/* The offset-th set bit from `base` on, upwards, or downwards when negative; 0 asks about base. */
static uint32_t find_nth(uint32_t mask, uint32_t base, int32_t offset)
{
    int step = offset < 0 ? -1 : 1;
    int32_t left = offset == 0 ? 1 : offset < 0 ? -offset : offset;

    for (int at = (int)base; at >= 0 && at < 32; at += step) {
        if (mask >> at & 1 && --left == 0)
            return (uint32_t)at;
        if (offset == 0)
            break;
    }
    return 0xffffffffu;
}
PTX_TERNARY(fns, uint32_t, uint32_t, uint32_t, int32_t, find_nth(a, b, c))

PTX_BINARY(bmsk_clamp, uint32_t, uint32_t, uint32_t, a >= 32 ? 0 : field_mask(b > 32 ? 32 : b) << a)
PTX_BINARY(bmsk_wrap, uint32_t, uint32_t, uint32_t, field_mask(b & 31) << (a & 31))

static void bmsk(struct ptx_warp *w, const struct ptx_insn *i)
{
    (i->flags & PTX_F_CLAMP ? bmsk_clamp : bmsk_wrap)(w, i);
}

static inline uint32_t sign_extend_from(const struct ptx_insn *i, uint32_t a, uint32_t b,
                                        bool is_signed)
{
    if (i->flags & PTX_F_CLAMP ? b >= 32 : false)
        return a;
    b &= 31;
    if (b == 0)
        return 0;
    uint32_t low = a & (uint32_t)field_mask(b);
    return is_signed && low >> (b - 1) & 1 ? low | ~(uint32_t)field_mask(b) : low;
}
PTX_BINARY(szext_u32, uint32_t, uint32_t, uint32_t, sign_extend_from(i, a, b, false))
PTX_BINARY(szext_s32, uint32_t, uint32_t, uint32_t, sign_extend_from(i, a, b, true))

/* dp4a, dp2a: bit 0 of the mode: a is signed; bit 1: b is; bit 2: dp2a.hi. */
static inline int64_t part(uint32_t v, unsigned shift, unsigned bits, bool is_signed)
{
    uint32_t field = v >> shift & ((1u << bits) - 1);

    return is_signed && field >> (bits - 1) ? (int64_t)field - (1ll << bits) : (int64_t)field;
}

static inline uint32_t dot4(unsigned mode, uint32_t a, uint32_t b, uint32_t c)
{
    for (unsigned k = 0; k < 4; k++)
        c += (uint32_t)(part(a, 8 * k, 8, mode & 1) * part(b, 8 * k, 8, mode & 2));
    return c;
}

static inline uint32_t dot2(unsigned mode, uint32_t a, uint32_t b, uint32_t c)
{
    unsigned base = mode & 4 ? 16 : 0;

    for (unsigned k = 0; k < 2; k++)
        c += (uint32_t)(part(a, 16 * k, 16, mode & 1) * part(b, base + 8 * k, 8, mode & 2));
    return c;
}
PTX_TERNARY(dp4a, uint32_t, uint32_t, uint32_t, uint32_t, dot4(PTX_MODE(i), a, b, c))
PTX_TERNARY(dp2a, uint32_t, uint32_t, uint32_t, uint32_t, dot2(PTX_MODE(i), a, b, c))

#define SELECT(N, T)                                                                               \
    static void selp_##N(struct ptx_warp *w, const struct ptx_insn *i)                             \
    {                                                                                              \
        T *d = ptx_lanes(w, i->dst);                                                               \
        const T *a = ptx_lanes(w, i->src[0]);                                                      \
        const T *b = ptx_lanes(w, i->src[1]);                                                      \
        uint32_t p = ptx_pred(w, i->src[2]);                                                       \
        PTX_EACH(w, d[l] = p >> l & 1 ? a[l] : b[l]);                                              \
    }                                                                                              \
    PTX_TERNARY(slct_##N, T, T, T, int32_t, c >= 0 ? a : b)                                        \
    PTX_TERNARY(slct_f_##N, T, T, T, float,                                                        \
                (i->flags & PTX_F_FTZ && c < 0 && c > -0x1p-126f) || c >= 0 ? a : b)
SELECT(16, uint16_t)
SELECT(32, uint32_t)
SELECT(64, uint64_t)

/* type: of the destination register; type2: of the source; zero- or sign-extends, or truncates. */
#define EXTEND_FROM(S, T)                                                                          \
    {                                                                                              \
        const S *a = ptx_lanes(w, i->src[0]);                                                      \
        PTX_EACH(w, d[l] = (T)a[l]);                                                               \
        break;                                                                                     \
    }
#define EXTEND(N, T)                                                                               \
    static void extend_##N(struct ptx_warp *w, const struct ptx_insn *i)                           \
    {                                                                                              \
        T *d = ptx_lanes(w, i->dst);                                                               \
        switch (i->type2) {                                                                        \
        case PTX_S16:                                                                              \
            EXTEND_FROM(int16_t, T)                                                                \
        case PTX_S32:                                                                              \
            EXTEND_FROM(int32_t, T)                                                                \
        case PTX_U16:                                                                              \
            EXTEND_FROM(uint16_t, T)                                                               \
        case PTX_U32:                                                                              \
            EXTEND_FROM(uint32_t, T)                                                               \
        default:                                                                                   \
            EXTEND_FROM(uint64_t, T)                                                               \
        }                                                                                          \
    }
EXTEND(16, uint16_t)
EXTEND(32, uint32_t)
EXTEND(64, uint64_t)

#define SIZES(OP, fn)                                                                              \
    {PTX_ALU_##OP, PTX_B16, fn##_16}, {PTX_ALU_##OP, PTX_B32, fn##_32},                            \
    {                                                                                              \
        PTX_ALU_##OP, PTX_B64, fn##_64                                                             \
    }
#define TWO_SIZES(OP, fn)                                                                          \
    {PTX_ALU_##OP, PTX_B32, fn##_32},                                                              \
    {                                                                                              \
        PTX_ALU_##OP, PTX_B64, fn##_64                                                             \
    }
#define SIGNS(OP, fn)                                                                              \
    {PTX_ALU_##OP, PTX_U32, fn##_u32}, {PTX_ALU_##OP, PTX_S32, fn##_s32},                          \
        {PTX_ALU_##OP, PTX_U64, fn##_u64},                                                         \
    {                                                                                              \
        PTX_ALU_##OP, PTX_S64, fn##_s64                                                            \
    }

const struct ptx_entry PTX_TABLE(ptx_bit_entries)[] = {
    SIZES(AND, and),
    SIZES(OR, or),
    SIZES(XOR, xor),
    SIZES(NOT, not ),
    SIZES(CNOT, cnot),
    SIZES(SHL, shl),
    {PTX_ALU_SHR, PTX_B16, shr_u16},
    {PTX_ALU_SHR, PTX_B32, shr_u32},
    {PTX_ALU_SHR, PTX_B64, shr_u64},
    SIZES(MOV, mov),
    SIZES(SELP, selp),
    SIZES(SLCT, slct),
    SIZES(SLCT_F, slct_f),
    SIZES(EXTEND, extend),
    {PTX_ALU_SHR, PTX_U16, shr_u16},
    {PTX_ALU_SHR, PTX_U32, shr_u32},
    {PTX_ALU_SHR, PTX_U64, shr_u64},
    {PTX_ALU_SHR, PTX_S16, shr_s16},
    {PTX_ALU_SHR, PTX_S32, shr_s32},
    {PTX_ALU_SHR, PTX_S64, shr_s64},
    {PTX_ALU_MOV, PTX_B128, mov_128},
    {PTX_ALU_MOV, PTX_PRED, mov_pred},
    {PTX_ALU_AND, PTX_PRED, and_pred},
    {PTX_ALU_OR, PTX_PRED, or_pred},
    {PTX_ALU_XOR, PTX_PRED, xor_pred},
    {PTX_ALU_NOT, PTX_PRED, not_pred},
    {PTX_ALU_LOP3, PTX_B32, lop3},
    {PTX_ALU_SHF_L, PTX_B32, shf_l},
    {PTX_ALU_SHF_R, PTX_B32, shf_r},
    {PTX_ALU_PRMT, PTX_B32, prmt},
    SIGNS(BFE, bfe),
    TWO_SIZES(BFI, bfi),
    SIGNS(BFIND, bfind),
    TWO_SIZES(BREV, brev),
    TWO_SIZES(CLZ, clz),
    TWO_SIZES(POPC, popc),
    {PTX_ALU_FNS, PTX_B32, fns},
    {PTX_ALU_BMSK, PTX_B32, bmsk},
    {PTX_ALU_SZEXT, PTX_U32, szext_u32},
    {PTX_ALU_SZEXT, PTX_S32, szext_s32},
    {PTX_ALU_DP4A, PTX_B32, dp4a},
    {PTX_ALU_DP2A, PTX_B32, dp2a},
    {0, 0, 0},
};
