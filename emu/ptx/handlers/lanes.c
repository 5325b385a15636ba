/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions in which lanes of a warp see each other.
 */
#include "emu/ptx/handlers/memory.h"
#include "emu/ptx/real.h"

#include <string.h>

/* The lane that shfl reads, and whether it is in range. */
static unsigned source_lane(enum ptx_shuffle mode, unsigned lane, uint32_t b, uint32_t c, bool *ok)
{
    unsigned clamp = c & 31;
    unsigned segment = c >> 8 & 31;
    unsigned top = (lane & segment) | (clamp & ~segment);
    unsigned bottom = lane & segment;
    int from;

    b &= 31;
    switch (mode) {
    case PTX_SHFL_UP:
        from = (int)lane - (int)b;
        *ok = from >= (int)top;
        break;
    case PTX_SHFL_DOWN:
        from = (int)(lane + b);
        *ok = from <= (int)top;
        break;
    case PTX_SHFL_BFLY:
        from = (int)(lane ^ b);
        *ok = from <= (int)top;
        break;
    default:
        from = (int)(bottom | (b & ~segment));
        *ok = from <= (int)top;
    }
    return *ok ? (unsigned)from : lane;
}

/* ---- lanes that come together ---- */

typedef void (*part_fn)(struct ptx_warp *w, const struct ptx_insn *i, uint32_t run);

/* Operands of an instruction that lanes execute together in several places, with registers of each
 * place's own: they are copied here, and what comes out is copied back. */
struct stage {
    uint64_t slots[6][PTX_LANES]; /* src, dst, dst2 */
} __attribute__((aligned(PTX_OP_UNIT)));

enum { STAGE_DST = 4, STAGE_DST2 = 5 };

static ptx_op staged(ptx_op op, unsigned slot)
{
    return op == PTX_OP_NONE ? op : (ptx_op)(slot * sizeof(uint64_t[PTX_LANES])) | PTX_BASE_STAGE;
}

/* Predicates are a bit for each lane. */
static bool is_predicate(const struct ptx_insn *i, unsigned slot)
{
    const bool is_vote = i->fn == ptx_run_vote;

    return slot == STAGE_DST2 || (is_vote && slot == 0) ||
           (is_vote && slot == STAGE_DST && PTX_MODE(i) != PTX_VOTE_BALLOT);
}

static size_t size_of(const struct ptx_insn *i, unsigned slot)
{
    return slot == 0 && i->fn == ptx_run_match ? ptx_type_size(i->type) : 4;
}

/* Copies what `lanes` have in `from` to `to`, two places of one operand. */
static void copy_lanes(const struct ptx_insn *i, unsigned slot, void *to, const void *from,
                       uint32_t lanes, bool is_negated)
{
    const size_t size = size_of(i, slot);
    uint32_t *bits = to;

    if (is_predicate(i, slot)) {
        *bits = (*bits & ~lanes) | ((*(const uint32_t *)from ^ (is_negated ? ~0u : 0)) & lanes);
        return;
    }
    for (uint32_t left = lanes; left; left &= left - 1) {
        const size_t at = (unsigned)__builtin_ctz(left) * size;

        memcpy((uint8_t *)to + at, (const uint8_t *)from + at, size);
    }
}

static void take_operands(struct ptx_warp *w, struct stage *stage, const struct ptx_group *g,
                          const struct ptx_insn *i, uint32_t lanes)
{
    for (unsigned k = 0; k < sizeof(i->src) / sizeof(i->src[0]); k++)
        if (i->src[k] != PTX_OP_NONE)
            copy_lanes(i, k, stage->slots[k], ptx_group_lanes(w, g, i->src[k]), lanes,
                       i->src[k] & PTX_OP_NOT);
}

static void give_results(struct ptx_warp *w, struct stage *stage, const struct ptx_group *g,
                         const struct ptx_insn *i, uint32_t lanes)
{
    if (i->dst != PTX_OP_NONE)
        copy_lanes(i, STAGE_DST, ptx_group_lanes(w, g, i->dst), stage->slots[STAGE_DST], lanes,
                   false);
    if (i->dst2 != PTX_OP_NONE)
        copy_lanes(i, STAGE_DST2, ptx_group_lanes(w, g, i->dst2), stage->slots[STAGE_DST2], lanes,
                   false);
}

static void run_parts(struct ptx_warp *w, const struct ptx_insn *i, ptx_op members, uint32_t run,
                      part_fn run_part)
{
    uint32_t part;

    for (; run; run &= ~part) {
        part = ptx_warp_part(w, members, run);
        w->mask = part;
        run_part(w, i, part);
    }
}

/* Runs it for the lanes of this group and of others, which have come to instructions like it. */
static void run_together(struct ptx_warp *w, const struct ptx_insn *i, unsigned members,
                         uint32_t run, uint32_t others, part_fn run_part)
{
    const struct ptx_group own = {.frame = w->frame};
    struct stage stage = {0};
    struct ptx_insn merged = *i;
    uint32_t all = run, left;

    for (unsigned k = 0; k < sizeof(i->src) / sizeof(i->src[0]); k++)
        merged.src[k] = staged(i->src[k], k);
    /* One place may want a result that another one leaves away. */
    merged.dst = staged(0, STAGE_DST);
    merged.dst2 = staged(0, STAGE_DST2);
    take_operands(w, &stage, &own, i, run);
    for (left = others; left; left &= left - 1) {
        const struct ptx_group *g = &w->groups[__builtin_ctz(left)];
        const uint32_t lanes = ptx_group_guarded(w, g, g->pc - 1);

        take_operands(w, &stage, g, g->pc - 1, lanes);
        all |= lanes;
    }
    w->base[PTX_BASE_STAGE] = (uint8_t *)&stage;
    run_parts(w, &merged, merged.src[members], all, run_part);
    give_results(w, &stage, &own, i, run);
    for (left = others; left; left &= left - 1) {
        const struct ptx_group *g = &w->groups[__builtin_ctz(left)];

        give_results(w, &stage, g, g->pc - 1, ptx_group_guarded(w, g, g->pc - 1));
    }
}

/* Runs the instruction for each set of lanes that name the same members, its operand `members`. */
static void run_collective(struct ptx_warp *w, const struct ptx_insn *i, unsigned members,
                           part_fn run_part)
{
    uint32_t others;
    uint32_t run = ptx_warp_gather(w, i, i->src[members], &others);

    if (others)
        run_together(w, i, members, run, others, run_part);
    else
        run_parts(w, i, i->src[members], run, run_part);
}

/* ---- instructions ---- */

static void shuffle(struct ptx_warp *w, const struct ptx_insn *i, uint32_t run)
{
    uint32_t values[PTX_LANES];
    uint32_t in_range = 0;
    uint32_t *d = ptx_lanes(w, i->dst == PTX_OP_NONE ? i->src[0] : i->dst);
    const uint32_t *a = ptx_lanes(w, i->src[0]);
    const uint32_t *b = ptx_lanes(w, i->src[1]);
    const uint32_t *c = ptx_lanes(w, i->src[2]);

    (void)run;
    for (unsigned l = 0; l < PTX_LANES; l++) {
        bool ok;
        values[l] = a[source_lane(PTX_MODE(i), l, b[l], c[l], &ok)];
        in_range |= (uint32_t)ok << l;
    }
    if (i->dst != PTX_OP_NONE)
        PTX_EACH(w, d[l] = values[l]);
    ptx_set_pred(w, i->dst2, in_range);
}

/* dst, dst2: value, in range; src: value, b, c, members. */
void ptx_run_shuffle(struct ptx_warp *w, const struct ptx_insn *i)
{
    uint32_t others;
    uint32_t run = ptx_warp_gather(w, i, i->src[3], &others);

    if (others) {
        run_together(w, i, 3, run, others, shuffle);
    } else if (run) {
        w->mask = run;
        shuffle(w, i, run);
    }
}

static void vote(struct ptx_warp *w, const struct ptx_insn *i, uint32_t run)
{
    uint32_t bits = ptx_pred(w, i->src[0]) & run;

    if (PTX_MODE(i) == PTX_VOTE_BALLOT) {
        uint32_t *d = ptx_lanes(w, i->dst);
        PTX_EACH(w, d[l] = bits);
        return;
    }
    bool all = bits == run;
    bool truth = PTX_MODE(i) == PTX_VOTE_ALL   ? all
                 : PTX_MODE(i) == PTX_VOTE_ANY ? bits != 0
                                               : all || bits == 0;
    ptx_set_pred(w, i->dst, truth ? 0xffffffffu : 0);
}

/* src: predicate, members. dst: a predicate, or 32 bits for ballot. */
void ptx_run_vote(struct ptx_warp *w, const struct ptx_insn *i)
{
    run_collective(w, i, 1, vote);
}

static uint64_t value_at(const struct ptx_warp *w, const struct ptx_insn *i, unsigned l)
{
    const void *a = ptx_lanes(w, i->src[0]);

    return ptx_type_size(i->type) == 8 ? ((const uint64_t *)a)[l] : ((const uint32_t *)a)[l];
}

static void match(struct ptx_warp *w, const struct ptx_insn *i, uint32_t run)
{
    uint32_t masks[PTX_LANES] = {0};
    bool all = true;

    for (uint32_t x = run; x; x &= x - 1) {
        unsigned l = (unsigned)__builtin_ctz(x);
        for (uint32_t y = run; y; y &= y - 1) {
            unsigned k = (unsigned)__builtin_ctz(y);
            masks[l] |= (uint32_t)(value_at(w, i, l) == value_at(w, i, k)) << k;
        }
        all = all && masks[l] == run;
    }
    uint32_t *d = ptx_lanes(w, i->dst == PTX_OP_NONE ? i->src[0] : i->dst);
    bool wants_all = PTX_MODE(i) == 1;
    if (i->dst != PTX_OP_NONE)
        PTX_EACH(w, d[l] = wants_all ? (all ? run : 0) : masks[l]);
    ptx_set_pred(w, i->dst2, all ? 0xffffffffu : 0);
}

/* src: value, members. PTX_MODE: 1 for .all. */
void ptx_run_match(struct ptx_warp *w, const struct ptx_insn *i)
{
    run_collective(w, i, 1, match);
}

static uint32_t reduce(unsigned op, bool is_signed, uint32_t a, uint32_t b)
{
    bool less = is_signed ? (int32_t)a < (int32_t)b : a < b;

    switch (op) {
    case PTX_ATOM_ADD:
        return a + b;
    case PTX_ATOM_MIN:
        return less ? a : b;
    case PTX_ATOM_MAX:
        return less ? b : a;
    case PTX_ATOM_AND:
        return a & b;
    case PTX_ATOM_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

static void reduce_part(struct ptx_warp *w, const struct ptx_insn *i, uint32_t run)
{
    const uint32_t *a = ptx_lanes(w, i->src[0]);
    uint32_t *d = ptx_lanes(w, i->dst);
    uint32_t rest = run & (run - 1);
    uint32_t out = a[__builtin_ctz(run)];
    for (; rest; rest &= rest - 1)
        out = reduce(PTX_MODE(i), i->type == PTX_S32, out, a[__builtin_ctz(rest)]);
    PTX_EACH(w, d[l] = out);
}

/* src: value, members. PTX_MODE: enum ptx_atomic. */
void ptx_run_reduce(struct ptx_warp *w, const struct ptx_insn *i)
{
    run_collective(w, i, 1, reduce_part);
}

static void reduce_float(struct ptx_warp *w, const struct ptx_insn *i, uint32_t run)
{
    const float *a = ptx_lanes(w, i->src[0]);
    float *d = ptx_lanes(w, i->dst);
    bool least = PTX_MODE(i) == PTX_ATOM_MIN;
    bool any_nan = false;
    float out = PTX_NAN32;

    for (uint32_t left = run; left; left &= left - 1) {
        float v = a[__builtin_ctz(left)];
        v = i->flags & PTX_F_ABS ? __builtin_fabsf(v) : v;
        any_nan |= v != v;
        bool better = v == out ? (__builtin_signbit(v) != 0) == least : (v < out) == least;
        if (v == v && (out != out || better))
            out = v;
    }
    if (any_nan && i->flags & PTX_F_NAN)
        out = PTX_NAN32;
    PTX_EACH(w, d[l] = out);
}

/* The same for min and max of f32. */
void ptx_run_reduce_float(struct ptx_warp *w, const struct ptx_insn *i)
{
    run_collective(w, i, 1, reduce_float);
}

void ptx_run_warp_sync(struct ptx_warp *w, const struct ptx_insn *i)
{
    uint32_t others;

    ptx_warp_gather(w, i, i->src[0], &others);
}

void ptx_run_active_mask(struct ptx_warp *w, const struct ptx_insn *i)
{
    uint32_t *d = ptx_lanes(w, i->dst);
    uint32_t bits = w->mask;

    PTX_EACH(w, d[l] = bits);
}

static void elect(struct ptx_warp *w, const struct ptx_insn *i, uint32_t run)
{
    uint32_t leader = (uint32_t)__builtin_ctz(run);

    if (i->dst != PTX_OP_NONE) {
        uint32_t *d = ptx_lanes(w, i->dst);
        PTX_EACH(w, d[l] = leader);
    }
    ptx_set_pred(w, i->dst2, 1u << leader);
}

/* dst: the leader's lane; dst2: whether this lane is it; src[0]: members. */
void ptx_run_elect(struct ptx_warp *w, const struct ptx_insn *i)
{
    run_collective(w, i, 0, elect);
}
