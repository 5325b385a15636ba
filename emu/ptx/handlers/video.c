/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/ptx/handlers/video.h"
#include "emu/ptx/handlers/handler.h"

__extension__ typedef __int128 int128;

static int64_t extract(uint32_t v, unsigned size, unsigned at, bool is_signed)
{
    unsigned bits = size * 8;
    uint64_t field = (uint64_t)v >> bits * at & ((1ull << bits) - 1);

    return is_signed && field >> (bits - 1) ? (int64_t)field - (1ll << bits) : (int64_t)field;
}

static int64_t clamp(int64_t v, unsigned bits, bool is_signed)
{
    int64_t top = is_signed ? (1ll << (bits - 1)) - 1 : (1ll << bits) - 1;
    int64_t bottom = is_signed ? -top - 1 : 0;

    return v > top ? top : v < bottom ? bottom : v;
}

static bool compare(unsigned how, int64_t a, int64_t b)
{
    switch (how) {
    case PTX_CMP_EQ:
        return a == b;
    case PTX_CMP_NE:
        return a != b;
    case PTX_CMP_LT:
        return a < b;
    case PTX_CMP_LE:
        return a <= b;
    case PTX_CMP_GT:
        return a > b;
    default:
        return a >= b;
    }
}

static int64_t shift(const struct ptx_video *v, int64_t a, int64_t b)
{
    unsigned amount = v->clamps ? (b > 32 ? 32 : (unsigned)b) : (unsigned)b & 31;

    return v->op == PTX_VIDEO_SHL ? (int64_t)((uint64_t)a << amount) : a >> amount;
}

static int64_t compute(const struct ptx_video *v, int64_t a, int64_t b)
{
    switch (v->op) {
    case PTX_VIDEO_ADD:
        return a + b;
    case PTX_VIDEO_SUB:
        return a - b;
    case PTX_VIDEO_ABSDIFF:
        return a > b ? a - b : b - a;
    case PTX_VIDEO_MIN:
        return a < b ? a : b;
    case PTX_VIDEO_MAX:
        return a > b ? a : b;
    case PTX_VIDEO_SET:
        return compare(v->compare, a, b);
    case PTX_VIDEO_AVRG: /* halves round away from zero */
        return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
    default:
        return shift(v, a, b);
    }
}

static uint32_t lesser(const struct ptx_video *v, uint32_t a, uint32_t b, bool less)
{
    bool is_less = v->is_signed ? (int32_t)a < (int32_t)b : a < b;

    return is_less == less ? a : b;
}

static uint32_t finish(const struct ptx_video *v, uint32_t r, uint32_t c)
{
    uint32_t mask;

    switch (v->second) {
    case PTX_SECOND_ADD:
        return r + c;
    case PTX_SECOND_MIN:
        return lesser(v, r, c, true);
    case PTX_SECOND_MAX:
        return lesser(v, r, c, false);
    case PTX_SECOND_MERGE:
        mask = (uint32_t)((1ull << v->to.size * 8) - 1) << v->to.size * 8 * v->to.at;
        return (r << v->to.size * 8 * v->to.at & mask) | (c & ~mask);
    default:
        return r;
    }
}

void ptx_run_video(struct ptx_warp *w, const struct ptx_insn *i)
{
    const struct ptx_video *v = i->extra;
    const uint32_t *a = ptx_lanes(w, i->src[0]);
    const uint32_t *b = ptx_lanes(w, i->src[1]);
    const uint32_t *c = ptx_lanes(w, i->src[2]);
    uint32_t *d = ptx_lanes(w, i->dst);

    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctz(left);
        int64_t r = compute(v, extract(a[l], v->a.size, v->a.at, v->a.is_signed),
                            extract(b[l], v->b.size, v->b.at, v->b.is_signed));
        if (v->saturates)
            r = clamp(r, v->to.size * 8u, v->is_signed);
        d[l] = finish(v, (uint32_t)r, c[l]);
    }
}

/* (a * b + c) >> scale, where a minus is taken of the product or of c. */
void ptx_run_video_mad(struct ptx_warp *w, const struct ptx_insn *i)
{
    const struct ptx_video *v = i->extra;
    const uint32_t *a = ptx_lanes(w, i->src[0]);
    const uint32_t *b = ptx_lanes(w, i->src[1]);
    const uint32_t *c = ptx_lanes(w, i->src[2]);
    uint32_t *d = ptx_lanes(w, i->dst);

    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctz(left);
        int128 product = (int128)extract(a[l], v->a.size, v->a.at, v->a.is_signed) *
                         extract(b[l], v->b.size, v->b.at, v->b.is_signed);
        int128 addend = v->is_signed ? (int128)(int32_t)c[l] : (int128)c[l];
        int128 sum =
            (v->minus_product ? -product : product) + (v->minus_c ? -addend : addend) + v->plus_one;
        int128 r = sum >> v->scale;
        int128 top = v->is_signed ? INT32_MAX : UINT32_MAX;
        int128 bottom = v->is_signed ? INT32_MIN : 0;
        if (v->saturates)
            r = r > top ? top : r < bottom ? bottom : r;
        d[l] = (uint32_t)r;
    }
}

static int64_t pick(uint32_t a, uint32_t b, unsigned size, unsigned at, bool is_signed)
{
    unsigned per = 4 / size;

    return extract(at < per ? a : b, size, at % per, is_signed);
}

static uint32_t simd(const struct ptx_video *v, uint32_t a, uint32_t b, uint32_t c)
{
    unsigned size = 4u / v->lanes;
    uint32_t ones = (uint32_t)((1ull << size * 8) - 1);
    uint32_t out = c;

    for (unsigned k = 0; k < v->lanes; k++) {
        int64_t r = compute(v, pick(a, b, size, v->a_lanes[k], v->a.is_signed),
                            pick(a, b, size, v->b_lanes[k], v->b.is_signed));
        if (v->saturates)
            r = clamp(r, size * 8, v->is_signed);
        if (!(v->mask >> k & 1))
            continue;
        if (v->second == PTX_SECOND_ADD)
            out += (uint32_t)r;
        else
            out = (out & ~(ones << k * size * 8)) | ((uint32_t)r & ones) << k * size * 8;
    }
    return out;
}

void ptx_run_video_simd(struct ptx_warp *w, const struct ptx_insn *i)
{
    const struct ptx_video *v = i->extra;
    const uint32_t *a = ptx_lanes(w, i->src[0]);
    const uint32_t *b = ptx_lanes(w, i->src[1]);
    const uint32_t *c = ptx_lanes(w, i->src[2]);
    uint32_t *d = ptx_lanes(w, i->dst);

    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctz(left);
        d[l] = simd(v, a[l], b[l], c[l]);
    }
}
