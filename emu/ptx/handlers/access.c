/* SPDX-License-Identifier: Apache-2.0
 *
 * ld and st where all lanes find their memory in one place that is known to be accessible: lanes
 * side by side, lanes at one address, or lanes anywhere in it. All else is left to the general
 * handlers in memory.c, which see one lane at a time and know how to fault.
 */
#include "emu/ptx/handlers/handler.h"
#include "emu/ptx/handlers/memory.h"
#include "emu/ptx/handlers/ramp.h"

#include <string.h>

enum shape {
    SHAPE_OTHER,   /* not for us */
    SHAPE_UNIFORM, /* one address */
    SHAPE_ROW,     /* lane after lane */
    SHAPE_MIXED,
};

struct place {
    uint8_t *base;               /* what the addresses are added to */
    uint64_t address[PTX_LANES]; /* those of lanes that are not active are somebody else's */
    bool is_whole;               /* all lanes are active */
};

static void read_addresses(const struct ptx_warp *w, const struct ptx_insn *i, uint64_t *out)
{
    uint64_t imm = (uint64_t)i->imm;

    if (i->type2 == PTX_U32) {
        const uint32_t *a = ptx_lanes(w, i->src[0]);
        for (unsigned l = 0; l < PTX_LANES; l++)
            out[l] = (uint32_t)(a[l] + (uint32_t)imm);
    } else {
        const uint64_t *a = ptx_lanes(w, i->src[0]);
        for (unsigned l = 0; l < PTX_LANES; l++)
            out[l] = a[l] + imm;
    }
}

/* Lanes that are not active get the address of the first one that is. */
static void fill_inactive(uint64_t *address, uint32_t mask, unsigned first)
{
    uint64_t other = address[first];

    for (unsigned l = 0; l < PTX_LANES; l++)
        address[l] = mask >> l & 1 ? address[l] : other;
}

static enum shape shape_of_all(const uint64_t *address, unsigned size)
{
    uint64_t differs = 0;
    uint64_t from_row = 0;

    for (unsigned l = 0; l < PTX_LANES; l++) {
        differs |= address[l] ^ address[0];
        from_row |= address[l] ^ (address[0] + (uint64_t)l * size);
    }
    return !differs ? SHAPE_UNIFORM : !from_row ? SHAPE_ROW : SHAPE_MIXED;
}

static enum shape shape_of_some(const uint64_t *address, uint32_t mask, unsigned first,
                                unsigned size)
{
    uint64_t at_row = address[first] - (uint64_t)first * size;
    uint64_t differs = 0;
    uint64_t from_row = 0;

    for (unsigned l = 0; l < PTX_LANES; l++) {
        differs |= address[l] ^ address[first];
        from_row |= mask >> l & 1 ? address[l] ^ (at_row + (uint64_t)l * size) : 0;
    }
    return !differs ? SHAPE_UNIFORM : !from_row ? SHAPE_ROW : SHAPE_MIXED;
}

/* The addresses that the shape needs: of all lanes, or of the first when all are active. */
static enum shape read_shape(const struct ptx_warp *w, const struct ptx_insn *i, unsigned size,
                             uint64_t *address)
{
    uint32_t mask = w->mask;
    unsigned first = (unsigned)__builtin_ctz(mask);
    const uint64_t *wide = ptx_lanes(w, i->src[0]);

    if (mask == 0xffffffffu && i->type2 == PTX_U64) {
        enum shape shape = shape_of_all(wide, size);
        if (shape != SHAPE_MIXED) {
            address[0] = wide[0] + (uint64_t)i->imm;
            return shape;
        }
    }
    read_addresses(w, i, address);
    if (mask == 0xffffffffu)
        return shape_of_all(address, size);
    fill_inactive(address, mask, first);
    return shape_of_some(address, mask, first, size);
}

static void find_bounds(const uint64_t *address, uint64_t *low_out, uint64_t *high_out,
                        uint64_t *bits_out)
{
    /* Compared as signed numbers, for which there are vector instructions; where the top bit is
     * set, the caller's look at `bits` ends it. */
    int64_t low = INT64_MAX;
    int64_t high = INT64_MIN;
    uint64_t bits = 0;

    for (unsigned l = 0; l < PTX_LANES; l++) {
        int64_t a = (int64_t)address[l];
        low = a < low ? a : low;
        high = a > high ? a : high;
        bits |= address[l];
    }
    *low_out = (uint64_t)low;
    *high_out = (uint64_t)high;
    *bits_out = bits;
}

static bool is_held(struct ptx_warp *w, const struct ptx_insn *i, bool write, uint64_t low,
                    uint64_t end)
{
    const struct ptx_run *run = w->run;

    if (i->space == PTX_SPACE_SHARED)
        return end <= run->shared_size;
    return !run->launch->is_accessible || ptx_extent_find(run, write, low, end);
}

/* Element size `size`, all elements of a lane `whole` bytes. */
static inline enum shape place(struct ptx_warp *w, const struct ptx_insn *i, unsigned whole,
                               bool write, struct place *at)
{
    uint32_t mask = w->mask;
    unsigned first = (unsigned)__builtin_ctz(mask);
    uint64_t low, high, bits;

    if (i->space > PTX_SPACE_SHARED || i->src[0] == PTX_OP_NONE || w->run->is_observed)
        return SHAPE_OTHER;
    enum shape shape = read_shape(w, i, whole, at->address);
    if (shape == SHAPE_UNIFORM) {
        low = high = bits = at->address[first];
    } else if (shape == SHAPE_ROW) {
        unsigned last = 31 - (unsigned)__builtin_clz(mask);
        low = bits = at->address[first];
        high = low + (uint64_t)(last - first) * whole;
    } else {
        find_bounds(at->address, &low, &high, &bits);
    }
    if (bits & (whole - 1) || (bits | high) >> 60 || !is_held(w, i, write, low, high + whole))
        return SHAPE_OTHER;
    at->base = i->space == PTX_SPACE_SHARED ? w->block->shared : NULL;
    at->is_whole = mask == 0xffffffffu;
    return shape;
}

static inline uint8_t *at_lane(const struct place *at, unsigned l)
{
    return (uint8_t *)((uintptr_t)at->base + (uintptr_t)at->address[l]);
}

static inline ptx_op element(const struct ptx_insn *i, unsigned k)
{
    return i->count > 1 ? ((const ptx_op *)i->extra)[k] : i->dst;
}

static __attribute__((noinline)) bool find_extent(struct ptx_warp *w, struct ptx_ramp *r,
                                                  bool write, uint64_t low, uint64_t end)
{
    const struct ptx_run *run = w->run;

    for (unsigned k = 0; k < PTX_EXTENT_COUNT; k++) {
        const struct ptx_extent *e = &run->extents[write][k];
        if (low >= e->start && end <= e->end) {
            r->extent[write] = (uint8_t)k;
            return true;
        }
    }
    return !run->launch->is_accessible && !((low | end) >> 60);
}

/* Tests whether the launch may access [low, end). Mostly it is where this register pointed before.
 */
static inline bool is_held_again(struct ptx_warp *w, struct ptx_ramp *r, bool write, uint64_t low,
                                 uint64_t end)
{
    const struct ptx_extent *e = &w->run->extents[write][r->extent[write]];

    return (low >= e->start && end <= e->end) || find_extent(w, r, write, low, end);
}

/* Host memory of lane 0's address, where the addresses are a ramp and all that they span is
 * accessible; NULL: look at each lane. */
static inline __attribute__((always_inline)) uint8_t *place_ramp(struct ptx_warp *w,
                                                                 const struct ptx_insn *i,
                                                                 struct ptx_ramp *r, unsigned whole,
                                                                 bool write)
{
    uint64_t first = r->base + (uint64_t)i->imm;
    int64_t low = 0, high = 0;

    if (!(r->state & PTX_RAMP_KNOWN) || !ptx_ramp_is_whole(w) ||
        (write && (w->mask != 0xffffffffu || w->run->launch->drop)))
        return NULL;
    if (!ptx_ramp_is_same(r) && !ptx_ramp_reach(w, r, &low, &high))
        return NULL;
    if (((first | (uint64_t)r->x | (uint64_t)r->y) & (whole - 1)) | first >> 60 |
        ((first + (uint64_t)low) >> 63))
        return NULL;
    if (i->space == PTX_SPACE_SHARED)
        return first + (uint64_t)high + whole <= w->run->shared_size ? w->block->shared + first
                                                                     : NULL;
    if (i->type2 == PTX_U32 ||
        !is_held_again(w, r, write, first + (uint64_t)low, first + (uint64_t)high + whole))
        return NULL;
    return (uint8_t *)(uintptr_t)first;
}

/* M: the element in memory, R: the register's. */
#define LOAD(M, R)                                                                                 \
    static void spread_##M##_##R(struct ptx_warp *w, ptx_op op, M value)                           \
    {                                                                                              \
        R *d = ptx_lanes(w, op);                                                                   \
        uint32_t mask = w->mask;                                                                   \
        R v = (R)value;                                                                            \
        if (mask == 0xffffffffu)                                                                   \
            for (unsigned l = 0; l < PTX_LANES; l++)                                               \
                d[l] = v;                                                                          \
        else                                                                                       \
            for (unsigned l = 0; l < PTX_LANES; l++)                                               \
                d[l] = mask >> l & 1 ? v : d[l];                                                   \
    }                                                                                              \
    static void row_##M##_##R(struct ptx_warp *w, ptx_op op, const uint8_t *from, unsigned step)   \
    {                                                                                              \
        R *d = ptx_lanes(w, op);                                                                   \
        const M *m = (const M *)(const void *)from;                                                \
        if (step == 1)                                                                             \
            PTX_INDEPENDENT for (unsigned l = 0; l < PTX_LANES; l++) d[l] = (R)m[l];               \
        else                                                                                       \
            for (unsigned l = 0; l < PTX_LANES; l++)                                               \
                d[l] = (R)m[l * step];                                                             \
    }                                                                                              \
    static void each_##M##_##R(struct ptx_warp *w, ptx_op op, const struct place *at,              \
                               unsigned offset)                                                    \
    {                                                                                              \
        R *d = ptx_lanes(w, op);                                                                   \
        PTX_EACH(w, d[l] = (R) * (const M *)(const void *)(at_lane(at, l) + offset));              \
    }                                                                                              \
    static void load_##M##_##R(struct ptx_warp *w, const struct ptx_insn *i)                       \
    {                                                                                              \
        struct place at;                                                                           \
        unsigned count = i->count;                                                                 \
        enum shape shape = place(w, i, (unsigned)sizeof(M) * count, false, &at);                   \
        if (shape == SHAPE_OTHER) {                                                                \
            ptx_run_load(w, i);                                                                    \
            return;                                                                                \
        }                                                                                          \
        const uint8_t *from = at_lane(&at, (unsigned)__builtin_ctz(w->mask));                      \
        for (unsigned k = 0; k < count; k++) {                                                     \
            ptx_op op = element(i, k);                                                             \
            if (op == PTX_OP_NONE)                                                                 \
                continue;                                                                          \
            if (shape == SHAPE_UNIFORM)                                                            \
                spread_##M##_##R(w, op, ((const M *)(const void *)from)[k]);                       \
            else if (shape == SHAPE_ROW && at.is_whole)                                            \
                row_##M##_##R(w, op, from + k * sizeof(M), count);                                 \
            else                                                                                   \
                each_##M##_##R(w, op, &at, k *(unsigned)sizeof(M));                                \
        }                                                                                          \
    }                                                                                              \
    static inline void line_##M##_##R(R *d, const uint8_t *from, int64_t x, unsigned count)        \
    {                                                                                              \
        const M *m = (const M *)(const void *)from;                                                \
        R first = (R)m[0];                                                                         \
        if (x == (int64_t)sizeof(M))                                                               \
            PTX_INDEPENDENT for (unsigned l = 0; l < count; l++) d[l] = (R)m[l];                   \
        else if (x == 0)                                                                           \
            for (unsigned l = 0; l < count; l++)                                                   \
                d[l] = first;                                                                      \
        else if (x == 2 * (int64_t)sizeof(M))                                                      \
            PTX_INDEPENDENT for (unsigned l = 0; l < count; l++) d[l] = (R)m[2 * l];               \
        else                                                                                       \
            for (unsigned l = 0; l < count; l++)                                                   \
                d[l] = (R) * (const M *)(const void *)(from + (int64_t)l * x);                     \
    }                                                                                              \
    static __attribute__((noinline)) void lines_##M##_##R(unsigned row, R *d, const uint8_t *from, \
                                                          const struct ptx_ramp *r)                \
    {                                                                                              \
        if (row == PTX_LANES) {                                                                    \
            line_##M##_##R(d, from, r->x, PTX_LANES);                                              \
        } else if (row == 16) {                                                                    \
            line_##M##_##R(d, from, r->x, 16);                                                     \
            line_##M##_##R(d + 16, from + r->y, r->x, 16);                                         \
        } else {                                                                                   \
            for (unsigned l = 0; l < PTX_LANES; l += row, from += r->y)                            \
                line_##M##_##R(d + l, from, r->x, row);                                            \
        }                                                                                          \
    }                                                                                              \
    static __attribute__((noinline)) void row_of_##M##_##R(R *d, const uint8_t *from)              \
    {                                                                                              \
        line_##M##_##R(d, from, (int64_t)sizeof(M), PTX_LANES);                                    \
    }                                                                                              \
    static __attribute__((noinline)) void same_of_##M##_##R(R *d, const uint8_t *from)             \
    {                                                                                              \
        line_##M##_##R(d, from, 0, PTX_LANES);                                                     \
    }                                                                                              \
    static inline void ramp_element_##M##_##R(struct ptx_warp *w, unsigned slot, ptx_op op,        \
                                              const uint8_t *from, const struct ptx_ramp *r)       \
    {                                                                                              \
        unsigned row = w->run->row;                                                                \
        R *d = ptx_lanes(w, op);                                                                   \
        if (ptx_ramp_is_same(r) && slot != PTX_SLOT_LANES) {                                       \
            ptx_ramp_set(&w->ramps[slot], (R) * (const M *)(const void *)from, 0, 0);              \
            return;                                                                                \
        }                                                                                          \
        w->ramps[slot].state = PTX_RAMP_SPREAD;                                                    \
        if (ptx_ramp_is_same(r))                                                                   \
            same_of_##M##_##R(d, from);                                                            \
        else if (r->x == (int64_t)sizeof(M) && (row == PTX_LANES || r->y == r->x * row))           \
            row_of_##M##_##R(d, from);                                                             \
        else                                                                                       \
            lines_##M##_##R(row, d, from, r);                                                      \
    }                                                                                              \
    static __attribute__((noinline)) void ramp_elements_##M##_##R(                                 \
        struct ptx_warp *w, const struct ptx_insn *i, const uint8_t *from)                         \
    {                                                                                              \
        const struct ptx_step *s = ptx_step_of(w, i);                                              \
        const struct ptx_ramp r = w->ramps[s->a]; /* it may be among what is written */            \
        for (unsigned k = 0; k < i->count; k++)                                                    \
            if (element(i, k) != PTX_OP_NONE)                                                      \
                ramp_element_##M##_##R(w, s->slots[1 + k], element(i, k), from + k * sizeof(M),    \
                                       &r);                                                        \
    }                                                                                              \
    static void ramp_load_##M##_##R(struct ptx_warp *w, const struct ptx_insn *i)                  \
    {                                                                                              \
        const struct ptx_step *s = ptx_step_of(w, i);                                              \
        struct ptx_ramp *r = &w->ramps[s->a];                                                      \
        const uint8_t *from = place_ramp(w, i, r, (unsigned)sizeof(M) * i->count, false);          \
        bool makes_ramp = ptx_ramp_is_same(r) && s->slots[1] != PTX_SLOT_LANES && i->count == 1;   \
        if (!from || (w->mask != 0xffffffffu && !makes_ramp))                                      \
            ptx_ramp_run_spread(w, i);                                                             \
        else if (i->count == 1 && i->dst != PTX_OP_NONE)                                           \
            ramp_element_##M##_##R(w, s->slots[1], i->dst, from, r);                               \
        else                                                                                       \
            ramp_elements_##M##_##R(w, i, from);                                                   \
    }

#define STORE(M, R)                                                                                \
    static void store_##M##_##R(struct ptx_warp *w, const struct ptx_insn *i)                      \
    {                                                                                              \
        struct place at;                                                                           \
        unsigned count = i->count;                                                                 \
        enum shape shape = w->run->launch->drop                                                    \
                               ? SHAPE_OTHER                                                       \
                               : place(w, i, (unsigned)sizeof(M) * count, true, &at);              \
        if (shape == SHAPE_OTHER) {                                                                \
            ptx_run_store(w, i);                                                                   \
            return;                                                                                \
        }                                                                                          \
        for (unsigned k = 0; k < count; k++) {                                                     \
            const R *a = ptx_lanes(w, element(i, k));                                              \
            M *row = (M *)(void *)at_lane(&at, (unsigned)__builtin_ctz(w->mask));                  \
            if (shape == SHAPE_ROW && at.is_whole && count == 1)                                   \
                PTX_INDEPENDENT for (unsigned l = 0; l < PTX_LANES; l++) row[l] = (M)a[l];         \
            else if (shape == SHAPE_ROW && at.is_whole)                                            \
                for (unsigned l = 0; l < PTX_LANES; l++)                                           \
                    row[l * count + k] = (M)a[l];                                                  \
            else if (shape == SHAPE_UNIFORM) /* the last one wins */                               \
                row[k] = (M)a[31 - (unsigned)__builtin_clz(w->mask)];                              \
            else                                                                                   \
                for (uint32_t left = w->mask; left; left &= left - 1) {                            \
                    unsigned l = (unsigned)__builtin_ctz(left);                                    \
                    ((M *)(void *)at_lane(&at, l))[k] = (M)a[l];                                   \
                }                                                                                  \
        }                                                                                          \
    }                                                                                              \
    static inline void put_line_##M##_##R(uint8_t *to, const R *a, int64_t x, unsigned count)      \
    {                                                                                              \
        M *m = (M *)(void *)to;                                                                    \
        if (x == (int64_t)sizeof(M))                                                               \
            PTX_INDEPENDENT for (unsigned l = 0; l < count; l++) m[l] = (M)a[l];                   \
        else                                                                                       \
            for (unsigned l = 0; l < count; l++)                                                   \
                *(M *)(void *)(to + (int64_t)l * x) = (M)a[l];                                     \
    }                                                                                              \
    static __attribute__((noinline)) void put_lines_##M##_##R(                                     \
        unsigned row, uint8_t *to, const R *a, const struct ptx_ramp *r)                           \
    {                                                                                              \
        if (row == PTX_LANES) {                                                                    \
            put_line_##M##_##R(to, a, r->x, PTX_LANES);                                            \
        } else if (row == 16) {                                                                    \
            put_line_##M##_##R(to, a, r->x, 16);                                                   \
            put_line_##M##_##R(to + r->y, a + 16, r->x, 16);                                       \
        } else {                                                                                   \
            for (unsigned l = 0; l < PTX_LANES; l += row, to += r->y)                              \
                put_line_##M##_##R(to, a + l, r->x, row);                                          \
        }                                                                                          \
    }                                                                                              \
    static void ramp_put_##M##_##R(struct ptx_warp *w, struct ptx_ramp *value, ptx_op op,          \
                                   uint8_t *to, const struct ptx_ramp *r)                          \
    {                                                                                              \
        unsigned row = w->run->row;                                                                \
        if (!(value->state & PTX_RAMP_SPREAD))                                                     \
            ptx_ramp_spread(w, value);                                                             \
        if (r->x == (int64_t)sizeof(M) && (row == PTX_LANES || r->y == r->x * row))                \
            put_line_##M##_##R(to, ptx_lanes(w, op), (int64_t)sizeof(M), PTX_LANES);               \
        else                                                                                       \
            put_lines_##M##_##R(row, to, ptx_lanes(w, op), r);                                     \
    }                                                                                              \
    static void put_pairs_##M##_##R(struct ptx_warp *w, const struct ptx_insn *i, uint8_t *to)     \
    {                                                                                              \
        const R *a = ptx_lanes(w, element(i, 0));                                                  \
        const R *b = ptx_lanes(w, element(i, 1));                                                  \
        M *m = (M *)(void *)to;                                                                    \
        PTX_INDEPENDENT for (unsigned l = 0; l < PTX_LANES; l++)                                   \
        {                                                                                          \
            m[2 * l] = (M)a[l];                                                                    \
            m[2 * l + 1] = (M)b[l];                                                                \
        }                                                                                          \
    }                                                                                              \
    static __attribute__((noinline)) void ramp_puts_##M##_##R(                                     \
        struct ptx_warp *w, const struct ptx_insn *i, uint8_t *to, const struct ptx_ramp *r)       \
    {                                                                                              \
        const struct ptx_step *s = ptx_step_of(w, i);                                              \
        unsigned row = w->run->row, whole = (unsigned)sizeof(M) * i->count;                        \
        for (unsigned k = 0; k < i->count; k++)                                                    \
            if (!(w->ramps[s->slots[k]].state & PTX_RAMP_SPREAD))                                  \
                ptx_ramp_spread(w, &w->ramps[s->slots[k]]);                                        \
        if (i->count == 2 && r->x == whole && (row == PTX_LANES || r->y == r->x * row)) {          \
            put_pairs_##M##_##R(w, i, to);                                                         \
            return;                                                                                \
        }                                                                                          \
        for (unsigned k = 0; k < i->count; k++)                                                    \
            put_lines_##M##_##R(row, to + k * sizeof(M), ptx_lanes(w, element(i, k)), r);          \
    }                                                                                              \
    static void ramp_store_##M##_##R(struct ptx_warp *w, const struct ptx_insn *i)                 \
    {                                                                                              \
        const struct ptx_step *s = ptx_step_of(w, i);                                              \
        struct ptx_ramp *r = &w->ramps[s->a];                                                      \
        uint8_t *to = place_ramp(w, i, r, (unsigned)sizeof(M) * i->count, true);                   \
        if (!to)                                                                                   \
            ptx_ramp_run_spread(w, i);                                                             \
        else if (i->count == 1)                                                                    \
            ramp_put_##M##_##R(w, &w->ramps[s->slots[0]], i->dst, to, r);                          \
        else                                                                                       \
            ramp_puts_##M##_##R(w, i, to, r);                                                      \
    }

#define BY_REGISTER(ACCESS)                                                                        \
    ACCESS(uint8_t, uint16_t)                                                                      \
    ACCESS(uint8_t, uint32_t)                                                                      \
    ACCESS(uint8_t, uint64_t)                                                                      \
    ACCESS(uint16_t, uint16_t)                                                                     \
    ACCESS(uint16_t, uint32_t)                                                                     \
    ACCESS(uint16_t, uint64_t)                                                                     \
    ACCESS(uint32_t, uint32_t)                                                                     \
    ACCESS(uint32_t, uint64_t)                                                                     \
    ACCESS(uint64_t, uint64_t)
BY_REGISTER(LOAD)
BY_REGISTER(STORE)
LOAD(int8_t, uint16_t)
LOAD(int8_t, uint32_t)
LOAD(int8_t, uint64_t)
LOAD(int16_t, uint32_t)
LOAD(int16_t, uint64_t)
LOAD(int32_t, uint64_t)

/* Kernel parameters at a constant offset: one value for all lanes. */
#define LOAD_PARAM(M, R)                                                                           \
    static void param_##M##_##R(struct ptx_warp *w, const struct ptx_insn *i)                      \
    {                                                                                              \
        const uint8_t *from = (const uint8_t *)w->run->launch->params + i->imm;                    \
        M value;                                                                                   \
        memcpy(&value, from, sizeof(value));                                                       \
        spread_##M##_##R(w, i->dst, value);                                                        \
    }
LOAD_PARAM(uint32_t, uint32_t)
LOAD_PARAM(uint64_t, uint64_t)

const struct ptx_entry PTX_TABLE(ptx_access_entries)[] = {
    {PTX_ALU_LOAD_16, PTX_U8, load_uint8_t_uint16_t},
    {PTX_ALU_LOAD_32, PTX_U8, load_uint8_t_uint32_t},
    {PTX_ALU_LOAD_64, PTX_U8, load_uint8_t_uint64_t},
    {PTX_ALU_LOAD_16, PTX_U16, load_uint16_t_uint16_t},
    {PTX_ALU_LOAD_32, PTX_U16, load_uint16_t_uint32_t},
    {PTX_ALU_LOAD_64, PTX_U16, load_uint16_t_uint64_t},
    {PTX_ALU_LOAD_32, PTX_U32, load_uint32_t_uint32_t},
    {PTX_ALU_LOAD_64, PTX_U32, load_uint32_t_uint64_t},
    {PTX_ALU_LOAD_64, PTX_U64, load_uint64_t_uint64_t},
    {PTX_ALU_LOAD_16, PTX_S8, load_int8_t_uint16_t},
    {PTX_ALU_LOAD_32, PTX_S8, load_int8_t_uint32_t},
    {PTX_ALU_LOAD_64, PTX_S8, load_int8_t_uint64_t},
    {PTX_ALU_LOAD_16, PTX_S16, load_uint16_t_uint16_t},
    {PTX_ALU_LOAD_32, PTX_S16, load_int16_t_uint32_t},
    {PTX_ALU_LOAD_64, PTX_S16, load_int16_t_uint64_t},
    {PTX_ALU_LOAD_32, PTX_S32, load_uint32_t_uint32_t},
    {PTX_ALU_LOAD_64, PTX_S32, load_int32_t_uint64_t},
    {PTX_ALU_LOAD_64, PTX_S64, load_uint64_t_uint64_t},
    {PTX_ALU_STORE_16, PTX_U8, store_uint8_t_uint16_t},
    {PTX_ALU_STORE_32, PTX_U8, store_uint8_t_uint32_t},
    {PTX_ALU_STORE_64, PTX_U8, store_uint8_t_uint64_t},
    {PTX_ALU_STORE_16, PTX_U16, store_uint16_t_uint16_t},
    {PTX_ALU_STORE_32, PTX_U16, store_uint16_t_uint32_t},
    {PTX_ALU_STORE_64, PTX_U16, store_uint16_t_uint64_t},
    {PTX_ALU_STORE_32, PTX_U32, store_uint32_t_uint32_t},
    {PTX_ALU_STORE_64, PTX_U32, store_uint32_t_uint64_t},
    {PTX_ALU_STORE_64, PTX_U64, store_uint64_t_uint64_t},
    {PTX_ALU_PARAM, PTX_U32, param_uint32_t_uint32_t},
    {PTX_ALU_PARAM, PTX_U64, param_uint64_t_uint64_t},
    {0, 0, 0},
};

#define RAMP(OP, TYPE, RULE, fn)                                                                   \
    {                                                                                              \
        PTX_ALU_##OP, PTX_##TYPE, PTX_RAMP_##RULE, {0}, ramp_##fn                                  \
    }

const struct ptx_ramp_entry PTX_TABLE(ptx_ramp_access_entries)[] = {
    RAMP(LOAD_16, U8, LOAD, load_uint8_t_uint16_t),
    RAMP(LOAD_32, U8, LOAD, load_uint8_t_uint32_t),
    RAMP(LOAD_64, U8, LOAD, load_uint8_t_uint64_t),
    RAMP(LOAD_16, U16, LOAD, load_uint16_t_uint16_t),
    RAMP(LOAD_32, U16, LOAD, load_uint16_t_uint32_t),
    RAMP(LOAD_64, U16, LOAD, load_uint16_t_uint64_t),
    RAMP(LOAD_32, U32, LOAD, load_uint32_t_uint32_t),
    RAMP(LOAD_64, U32, LOAD, load_uint32_t_uint64_t),
    RAMP(LOAD_64, U64, LOAD, load_uint64_t_uint64_t),
    RAMP(LOAD_16, S8, LOAD, load_int8_t_uint16_t),
    RAMP(LOAD_32, S8, LOAD, load_int8_t_uint32_t),
    RAMP(LOAD_64, S8, LOAD, load_int8_t_uint64_t),
    RAMP(LOAD_32, S16, LOAD, load_int16_t_uint32_t),
    RAMP(LOAD_64, S16, LOAD, load_int16_t_uint64_t),
    RAMP(LOAD_64, S32, LOAD, load_int32_t_uint64_t),
    RAMP(STORE_16, U8, STORE, store_uint8_t_uint16_t),
    RAMP(STORE_32, U8, STORE, store_uint8_t_uint32_t),
    RAMP(STORE_64, U8, STORE, store_uint8_t_uint64_t),
    RAMP(STORE_16, U16, STORE, store_uint16_t_uint16_t),
    RAMP(STORE_32, U16, STORE, store_uint16_t_uint32_t),
    RAMP(STORE_64, U16, STORE, store_uint16_t_uint64_t),
    RAMP(STORE_32, U32, STORE, store_uint32_t_uint32_t),
    RAMP(STORE_64, U32, STORE, store_uint32_t_uint64_t),
    RAMP(STORE_64, U64, STORE, store_uint64_t_uint64_t),
    {.op = PTX_ALU_COUNT},
};
