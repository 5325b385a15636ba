/* SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic on ramps (emu/ptx/exec/ramp.h). Where a source is no ramp, or the result is none, the
 * instruction is executed lane by lane, as without a plan.
 */
#include "emu/ptx/handlers/ramp.h"
#include "emu/ptx/handlers/memory.h"

#include <string.h>

/* A ramp's numbers are written one by one and read at once: as a pair they would be read before
 * they have arrived. */
#ifndef __clang__
#pragma GCC optimize("no-tree-slp-vectorize")
#endif

/* ---- lanes ---- */

static void spread_words(const struct ptx_run *run, const struct ptx_ramp *r, uint32_t *d)
{
    uint32_t base = (uint32_t)r->base, x = (uint32_t)r->x, y = (uint32_t)r->y;

    if (ptx_ramp_is_same(r))
        for (unsigned l = 0; l < PTX_LANES; l++)
            d[l] = base;
    else
        PTX_INDEPENDENT for (unsigned l = 0; l < PTX_LANES; l++) d[l] =
            base + x * run->columns[l] + y * run->rows[l];
}

static void spread_wide(const struct ptx_run *run, const struct ptx_ramp *r, uint64_t *d)
{
    uint64_t x = (uint64_t)r->x, y = (uint64_t)r->y;

    if (ptx_ramp_is_same(r))
        for (unsigned l = 0; l < PTX_LANES; l++)
            d[l] = r->base;
    else
        PTX_INDEPENDENT for (unsigned l = 0; l < PTX_LANES; l++) d[l] =
            r->base + x * run->columns[l] + y * run->rows[l];
}

void ptx_ramp_spread(const struct ptx_warp *w, struct ptx_ramp *r)
{
    void *lanes = ptx_lanes(w, r->op);
    uint16_t *d = lanes;

    r->state |= PTX_RAMP_SPREAD;
    if (r->size == 4)
        spread_words(w->run, r, lanes);
    else if (r->size == 8)
        spread_wide(w->run, r, lanes);
    else
        for (unsigned l = 0; l < PTX_LANES; l++)
            d[l] = (uint16_t)(r->base + (uint64_t)r->x * w->run->columns[l] +
                              (uint64_t)r->y * w->run->rows[l]);
}

void ptx_ramp_run_spread(struct ptx_warp *w, const struct ptx_insn *i)
{
    const struct ptx_step *s = ptx_step_of(w, i);
    bool keeps = !ptx_ramp_is_whole(w) || s->may_wait; /* lanes that do not write */
    unsigned count = keeps ? s->reads + s->writes : s->reads;

    for (unsigned k = 0; k < count; k++) {
        struct ptx_ramp *r = &w->ramps[s->slots[k]];
        if (!(r->state & PTX_RAMP_SPREAD))
            ptx_ramp_spread(w, r);
    }
    for (unsigned k = s->reads; k < s->reads + s->writes; k++)
        w->ramps[s->slots[k]].state = PTX_RAMP_SPREAD;
    i->fn(w, i);
}

/* ---- sums and products ---- */

#define SOURCES(w, i)                                                                              \
    const struct ptx_step *s = ptx_step_of(w, i);                                                  \
    struct ptx_ramp *d = &(w)->ramps[s->d];                                                        \
    const struct ptx_ramp *a = &(w)->ramps[s->a];                                                  \
    const struct ptx_ramp *b = &(w)->ramps[s->b];                                                  \
    const struct ptx_ramp *c = &(w)->ramps[s->c];                                                  \
    (void)b, (void)c

/* The bits of all three states are 1 where all are ramps. */
#define RAMPS(w, states) (((states)&PTX_RAMP_KNOWN) && ptx_ramp_is_whole(w))

#define SUM(name, U, S, OP)                                                                        \
    static void name(struct ptx_warp *w, const struct ptx_insn *i)                                 \
    {                                                                                              \
        SOURCES(w, i);                                                                             \
        if (RAMPS(w, a->state & b->state))                                                         \
            ptx_ramp_set(d, (U)(a->base OP b->base), (S)((uint64_t)a->x OP(uint64_t) b->x),        \
                         (S)((uint64_t)a->y OP(uint64_t) b->y));                                   \
        else                                                                                       \
            ptx_ramp_run_spread(w, i);                                                             \
    }
SUM(add_32, uint32_t, int32_t, +)
SUM(add_64, uint64_t, int64_t, +)
SUM(sub_32, uint32_t, int32_t, -)
SUM(sub_64, uint64_t, int64_t, -)

/* a: the one that is multiplied by b, which is the same in all lanes; false: neither is. */
static inline bool order(const struct ptx_ramp **a, const struct ptx_ramp **b)
{
    const struct ptx_ramp *other = *a;

    if (ptx_ramp_is_same(*b))
        return true;
    *a = *b;
    *b = other;
    return ptx_ramp_is_same(other);
}

#define PRODUCT(name, U, S, STATES, BASE, X, Y)                                                    \
    static void name(struct ptx_warp *w, const struct ptx_insn *i)                                 \
    {                                                                                              \
        SOURCES(w, i);                                                                             \
        if (RAMPS(w, STATES) && order(&a, &b)) {                                                   \
            uint64_t k = b->base;                                                                  \
            ptx_ramp_set(d, (U)(a->base * k + BASE), (S)((uint64_t)a->x * k + (uint64_t)X),        \
                         (S)((uint64_t)a->y * k + (uint64_t)Y));                                   \
        } else {                                                                                   \
            ptx_ramp_run_spread(w, i);                                                             \
        }                                                                                          \
    }
PRODUCT(mul_32, uint32_t, int32_t, a->state & b->state, 0, 0, 0)
PRODUCT(mul_64, uint64_t, int64_t, a->state & b->state, 0, 0, 0)
PRODUCT(mad_32, uint32_t, int32_t, a->state & b->state & c->state, c->base, c->x, c->y)
PRODUCT(mad_64, uint64_t, int64_t, a->state & b->state & c->state, c->base, c->x, c->y)

/* The least and the greatest lane of a 32-bit ramp, as numbers; false: some lanes wrap. */
static inline __attribute__((always_inline)) bool bounds32(const struct ptx_warp *w,
                                                           const struct ptx_ramp *r, bool is_signed,
                                                           int64_t *low, int64_t *high)
{
    const int64_t first = is_signed ? (int32_t)r->base : (int64_t)r->base;
    const int64_t across = r->x * (int64_t)w->run->last_column;
    const int64_t down = r->y * (int64_t)w->run->last_row;
    const uint64_t offset = is_signed ? 1ull << 31 : 0;

    *low = first + (across < 0 ? across : 0) + (down < 0 ? down : 0);
    *high = first + (across > 0 ? across : 0) + (down > 0 ? down : 0);
    return (((uint64_t)*low + offset) | ((uint64_t)*high + offset)) >> 32 == 0;
}

/* The lanes of a 32-bit ramp, as numbers, are a ramp of 64 bits if none of them wraps. */
static inline __attribute__((always_inline)) bool
widen(const struct ptx_warp *w, const struct ptx_ramp *r, bool is_signed, uint64_t *base)
{
    int64_t low, high;

    *base = is_signed ? (uint64_t)(int32_t)r->base : r->base;
    return bounds32(w, r, is_signed, &low, &high);
}

#define WIDE(name, IS_SIGNED, STATES, BASE, X, Y)                                                  \
    static void name(struct ptx_warp *w, const struct ptx_insn *i)                                 \
    {                                                                                              \
        uint64_t first;                                                                            \
        SOURCES(w, i);                                                                             \
        if (RAMPS(w, STATES) && order(&a, &b) && widen(w, a, IS_SIGNED, &first)) {                 \
            uint64_t k = IS_SIGNED ? (uint64_t)(int32_t)b->base : b->base;                         \
            ptx_ramp_set(d, first *k + BASE, (int64_t)((uint64_t)a->x * k + (uint64_t)X),          \
                         (int64_t)((uint64_t)a->y * k + (uint64_t)Y));                             \
        } else {                                                                                   \
            ptx_ramp_run_spread(w, i);                                                             \
        }                                                                                          \
    }
WIDE(mul_wide_u32, false, a->state & b->state, 0, 0, 0)
WIDE(mul_wide_s32, true, a->state & b->state, 0, 0, 0)
WIDE(mad_wide_u32, false, a->state & b->state & c->state, c->base, c->x, c->y)
WIDE(mad_wide_s32, true, a->state & b->state & c->state, c->base, c->x, c->y)

#define SHIFT(name, U, S, BITS)                                                                    \
    static void name(struct ptx_warp *w, const struct ptx_insn *i)                                 \
    {                                                                                              \
        SOURCES(w, i);                                                                             \
        if (RAMPS(w, a->state & b->state) && ptx_ramp_is_same(b)) {                                \
            uint64_t k = b->base < BITS ? 1ull << b->base : 0;                                     \
            ptx_ramp_set(d, (U)(a->base * k), (S)((uint64_t)a->x * k), (S)((uint64_t)a->y * k));   \
        } else {                                                                                   \
            ptx_ramp_run_spread(w, i);                                                             \
        }                                                                                          \
    }
SHIFT(shl_32, uint32_t, int32_t, 32)
SHIFT(shl_64, uint64_t, int64_t, 64)

static void mov(struct ptx_warp *w, const struct ptx_insn *i)
{
    SOURCES(w, i);

    if (RAMPS(w, a->state))
        ptx_ramp_set(d, a->base, a->x, a->y);
    else
        ptx_ramp_run_spread(w, i);
}

/* Between integers of 32 and 64 bits; of 16 bits, what is the same in all lanes. */
static void convert(struct ptx_warp *w, const struct ptx_insn *i)
{
    bool is_signed = ptx_type_class(i->type2) == 's';
    uint64_t base;
    SOURCES(w, i);

    if (!RAMPS(w, a->state))
        ptx_ramp_run_spread(w, i);
    else if (d->size == 4 && a->size == 8)
        ptx_ramp_set(d, (uint32_t)a->base, (int32_t)a->x, (int32_t)a->y);
    else if (d->size == 8 && a->size == 4 && widen(w, a, is_signed, &base))
        ptx_ramp_set(d, base, a->x, a->y);
    else if (d->size == 2 && ptx_ramp_is_same(a))
        ptx_ramp_set(d, (uint16_t)a->base, 0, 0);
    else if (d->size == 4 && a->size == 2 && ptx_ramp_is_same(a))
        ptx_ramp_set(d, is_signed ? (uint32_t)(int16_t)a->base : (uint16_t)a->base, 0, 0);
    else
        ptx_ramp_run_spread(w, i);
}

/* ---- what is the same in all lanes ---- */

static void put_first(const struct ptx_warp *w, const struct ptx_ramp *r)
{
    if (!(r->state & PTX_RAMP_SPREAD))
        memcpy(ptx_lanes(w, r->op), &r->base, r->size);
}

/* Computed once, by the handler of lanes, in lane 0. */
static void same(struct ptx_warp *w, const struct ptx_insn *i)
{
    uint32_t mask = w->mask;
    uint64_t base = 0;
    SOURCES(w, i);

    if (!RAMPS(w, a->state & b->state & c->state) || !ptx_ramp_is_same(a) || !ptx_ramp_is_same(b) ||
        !ptx_ramp_is_same(c)) {
        ptx_ramp_run_spread(w, i);
        return;
    }
    put_first(w, a);
    put_first(w, b);
    put_first(w, c);
    w->mask = 1;
    i->fn(w, i);
    w->mask = mask;
    memcpy(&base, ptx_lanes(w, d->op), d->size);
    ptx_ramp_set(d, base, 0, 0);
}

static void param(struct ptx_warp *w, const struct ptx_insn *i)
{
    struct ptx_ramp *d = &w->ramps[ptx_step_of(w, i)->d];
    uint64_t base = 0;

    if (!ptx_ramp_is_whole(w)) {
        ptx_ramp_run_spread(w, i);
        return;
    }
    memcpy(&base, (const uint8_t *)w->run->launch->params + i->imm, d->size);
    ptx_ramp_set(d, base, 0, 0);
}

/* ---- comparisons ---- */

/* The same for any ramp. Numbers of 64 bits are below 2^62. */
static inline __attribute__((always_inline)) bool bounds(const struct ptx_warp *w,
                                                         const struct ptx_ramp *r, bool is_wide,
                                                         bool is_signed, int64_t *low,
                                                         int64_t *high)
{
    if (!is_wide)
        return bounds32(w, r, is_signed, low, high);
    if (r->base >> 62 || !ptx_ramp_reach(w, r, low, high) || (int64_t)r->base + *low < 0)
        return false;
    *low += (int64_t)r->base;
    *high += (int64_t)r->base;
    return true;
}

/* 1 or 0: of all lanes; -1: it depends on the lane. */
static inline int compare(unsigned how, int64_t a_low, int64_t a_high, int64_t b_low,
                          int64_t b_high)
{
    bool less = a_high<b_low, more = a_low> b_high;
    bool at_most = a_high <= b_low, at_least = a_low >= b_high;
    bool equal = at_most && at_least;

    switch (how) {
    case PTX_CMP_EQ:
        return equal ? 1 : less || more ? 0 : -1;
    case PTX_CMP_NE:
        return equal ? 0 : less || more ? 1 : -1;
    case PTX_CMP_LT:
        return less ? 1 : at_least ? 0 : -1;
    case PTX_CMP_LE:
        return at_most ? 1 : more ? 0 : -1;
    case PTX_CMP_GT:
        return more ? 1 : at_most ? 0 : -1;
    default:
        return at_least ? 1 : less ? 0 : -1;
    }
}

static inline bool compare_same(unsigned how, uint64_t a, uint64_t b, bool is_wide, bool is_signed)
{
    bool less = !is_signed ? a < b : is_wide ? (int64_t)a < (int64_t)b : (int32_t)a < (int32_t)b;

    switch (how) {
    case PTX_CMP_EQ:
        return a == b;
    case PTX_CMP_NE:
        return a != b;
    case PTX_CMP_LT:
        return less;
    case PTX_CMP_LE:
        return less || a == b;
    case PTX_CMP_GT:
        return !less && a != b;
    default:
        return !less;
    }
}

static uint32_t combined(unsigned how, uint32_t bits, uint32_t other)
{
    return how == PTX_COMBINE_AND   ? bits & other
           : how == PTX_COMBINE_OR  ? bits | other
           : how == PTX_COMBINE_XOR ? bits ^ other
                                    : bits;
}

static inline __attribute__((always_inline)) void setp(struct ptx_warp *w, const struct ptx_insn *i,
                                                       bool is_wide, bool is_signed)
{
    const struct ptx_step *s = ptx_step_of(w, i);
    const struct ptx_ramp *a = &w->ramps[s->a];
    const struct ptx_ramp *b = &w->ramps[s->b];
    int64_t a_low, a_high, b_low, b_high;
    unsigned how = PTX_MODE(i) >> 4;
    int all = -1;

    if (!(a->state & b->state & PTX_RAMP_KNOWN))
        all = -1;
    else if (ptx_ramp_is_same(a) && ptx_ramp_is_same(b))
        all = compare_same(PTX_MODE(i) & 15, a->base, b->base, is_wide, is_signed);
    else if (bounds(w, a, is_wide, is_signed, &a_low, &a_high) &&
             bounds(w, b, is_wide, is_signed, &b_low, &b_high))
        all = compare(PTX_MODE(i) & 15, a_low, a_high, b_low, b_high);
    if (all < 0) {
        ptx_ramp_run_spread(w, i);
        return;
    }
    uint32_t bits = all ? 0xffffffffu : 0;
    uint32_t other = how ? ptx_pred(w, i->src[2]) : 0;
    ptx_set_pred(w, i->dst, combined(how, bits, other));
    ptx_set_pred(w, i->dst2, combined(how, ~bits, other));
}

static void setp_u32(struct ptx_warp *w, const struct ptx_insn *i)
{
    setp(w, i, false, false);
}

static void setp_s32(struct ptx_warp *w, const struct ptx_insn *i)
{
    setp(w, i, false, true);
}

static void setp_u64(struct ptx_warp *w, const struct ptx_insn *i)
{
    setp(w, i, true, false);
}

static void setp_s64(struct ptx_warp *w, const struct ptx_insn *i)
{
    setp(w, i, true, true);
}

/* ---- the table ---- */

#define ROW(OP, TYPE, RULE, fn, ...)                                                               \
    {                                                                                              \
        PTX_ALU_##OP, PTX_##TYPE, PTX_RAMP_##RULE, {__VA_ARGS__}, fn                               \
    }
#define SAME2(OP, TYPE, N) ROW(OP, TYPE, SAME, same, N, N, N)
#define SAME_SIGNS(OP)                                                                             \
    SAME2(OP, U16, 2), SAME2(OP, S16, 2), SAME2(OP, U32, 4), SAME2(OP, S32, 4), SAME2(OP, U64, 8), \
        SAME2(OP, S64, 8)
#define SAME_BITS(OP) SAME2(OP, B16, 2), SAME2(OP, B32, 4), SAME2(OP, B64, 8)
#define SAME_SHIFT(OP)                                                                             \
    ROW(OP, U32, SAME, same, 4, 4, 4), ROW(OP, S32, SAME, same, 4, 4, 4),                          \
        ROW(OP, U64, SAME, same, 8, 8, 4), ROW(OP, S64, SAME, same, 8, 8, 4)
#define SAME_REAL(OP) SAME2(OP, F32, 4), SAME2(OP, F64, 8)

const struct ptx_ramp_entry PTX_TABLE(ptx_ramp_entries)[] = {
    ROW(ADD, U32, SUM, add_32, 4, 4, 4),
    ROW(ADD, U64, SUM, add_64, 8, 8, 8),
    ROW(SUB, U32, SUM, sub_32, 4, 4, 4),
    ROW(SUB, U64, SUM, sub_64, 8, 8, 8),
    ROW(MUL, U32, PRODUCT, mul_32, 4, 4, 4),
    ROW(MUL, U64, PRODUCT, mul_64, 8, 8, 8),
    ROW(MAD, U32, PRODUCT, mad_32, 4, 4, 4, 4),
    ROW(MAD, U64, PRODUCT, mad_64, 8, 8, 8, 8),
    ROW(MUL_WIDE, U32, PRODUCT, mul_wide_u32, 8, 4, 4),
    ROW(MUL_WIDE, S32, PRODUCT, mul_wide_s32, 8, 4, 4),
    ROW(MAD_WIDE, U32, PRODUCT, mad_wide_u32, 8, 4, 4, 8),
    ROW(MAD_WIDE, S32, PRODUCT, mad_wide_s32, 8, 4, 4, 8),
    ROW(SHL, B32, SHIFT, shl_32, 4, 4, 4),
    ROW(SHL, B64, SHIFT, shl_64, 8, 8, 4),
    ROW(MOV, B32, SUM, mov, 4, 4),
    ROW(MOV, B64, SUM, mov, 8, 8),
    ROW(MOV, B16, SAME, same, 2, 2),
    ROW(CVT, B32, CONVERT, convert, 0),
    ROW(EXTEND, B32, CONVERT, convert, 0),
    ROW(EXTEND, B64, CONVERT, convert, 0),
    ROW(PARAM, U32, PARAM, param, 4),
    ROW(PARAM, U64, PARAM, param, 8),
    SAME_SIGNS(DIV),
    SAME_SIGNS(REM),
    SAME_SIGNS(MIN),
    SAME_SIGNS(MAX),
    SAME_BITS(AND),
    SAME_BITS(OR),
    SAME_BITS(XOR),
    ROW(NOT, B32, SAME, same, 4, 4),
    ROW(NOT, B64, SAME, same, 8, 8),
    ROW(NEG, S32, SAME, same, 4, 4),
    ROW(NEG, S64, SAME, same, 8, 8),
    ROW(NEG, F32, SAME, same, 4, 4),
    SAME_SHIFT(SHR),
    SAME_REAL(ADD),
    SAME_REAL(SUB),
    SAME_REAL(MUL),
    ROW(FMA, F32, SAME, same, 4, 4, 4, 4),
    ROW(FMA, F64, SAME, same, 8, 8, 8, 8),
    ROW(SETP, U32, COMPARE, setp_u32, 0, 4, 4),
    ROW(SETP, S32, COMPARE, setp_s32, 0, 4, 4),
    ROW(SETP, U64, COMPARE, setp_u64, 0, 8, 8),
    ROW(SETP, S64, COMPARE, setp_s64, 0, 8, 8),
    {.op = PTX_ALU_COUNT},
};
