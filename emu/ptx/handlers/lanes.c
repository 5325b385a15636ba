/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions in which lanes of a warp see each other.
 */
#include "emu/ptx/handlers/memory.h"
#include "emu/ptx/real.h"

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

/* dst, dst2: value, in range; src: value, b, c, members. */
void ptx_run_shuffle(struct ptx_warp *w, const struct ptx_insn *i)
{
    uint32_t values[PTX_LANES];
    uint32_t in_range = 0;
    uint32_t run = ptx_warp_gather(w, i, i->src[3]);
    uint32_t *d = ptx_lanes(w, i->dst == PTX_OP_NONE ? i->src[0] : i->dst);
    const uint32_t *a = ptx_lanes(w, i->src[0]);
    const uint32_t *b = ptx_lanes(w, i->src[1]);
    const uint32_t *c = ptx_lanes(w, i->src[2]);

    if (!run)
        return;
    w->mask = run;
    for (unsigned l = 0; l < PTX_LANES; l++) {
        bool ok;
        values[l] = a[source_lane(PTX_MODE(i), l, b[l], c[l], &ok)];
        in_range |= (uint32_t)ok << l;
    }
    if (i->dst != PTX_OP_NONE)
        PTX_EACH(w, d[l] = values[l]);
    ptx_set_pred(w, i->dst2, in_range);
}

/* For each set of lanes that name the same members. */
static void each_part(struct ptx_warp *w, const struct ptx_insn *i, ptx_op members,
                      void (*run_part)(struct ptx_warp *w, const struct ptx_insn *i, uint32_t run))
{
    uint32_t part;

    for (uint32_t run = ptx_warp_gather(w, i, members); run; run &= ~part) {
        part = ptx_warp_part(w, members, run);
        w->mask = part;
        run_part(w, i, part);
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
    each_part(w, i, i->src[1], vote);
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
    each_part(w, i, i->src[1], match);
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
    each_part(w, i, i->src[1], reduce_part);
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
    each_part(w, i, i->src[1], reduce_float);
}

void ptx_run_warp_sync(struct ptx_warp *w, const struct ptx_insn *i)
{
    ptx_warp_gather(w, i, i->src[0]);
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
    each_part(w, i, i->src[0], elect);
}
