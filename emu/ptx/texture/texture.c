/* SPDX-License-Identifier: Apache-2.0
 *
 * The sampler: tex and tld4. From a point to a level, in the level to texels, and their mean.
 */
#include "emu/ptx/texture/texture.h"
#include "emu/ptx/handlers/memory.h"
#include "emu/ptx/real.h"

#include <math.h>
#include <string.h>

/* Far outside of any image, and exact as a 64-bit integer. */
#define FAR 0x1p40

/* ---- a level ---- */

/* One sample: where in which image. */
struct sample {
    const struct ptx_image *image;
    const struct ptx_sampler *sampler;
    const struct ptx_mip_level *level;
    const struct ptx_point *point;
    unsigned dimensions;
    uint64_t layer; /* or face */
    double coord[3];
};

static enum ptx_address_mode mode_of(const struct sample *s, unsigned axis)
{
    enum ptx_address_mode mode = (enum ptx_address_mode)s->sampler->address[axis];

    if (s->image->is_cube)
        return PTX_ADDRESS_CLAMP;
    if (!s->sampler->is_normalized && (mode == PTX_ADDRESS_WRAP || mode == PTX_ADDRESS_MIRROR))
        return PTX_ADDRESS_CLAMP;
    return mode;
}

/* The texel's place on an axis of `size` texels; -1: outside. */
static int64_t settle(enum ptx_address_mode mode, int64_t at, int64_t size)
{
    int64_t turn;

    if (at >= 0 && at < size)
        return at;
    switch (mode) {
    case PTX_ADDRESS_WRAP:
        at %= size;
        return at < 0 ? at + size : at;
    case PTX_ADDRESS_MIRROR:
        turn = at % (2 * size);
        turn = turn < 0 ? turn + 2 * size : turn;
        return turn < size ? turn : 2 * size - 1 - turn;
    case PTX_ADDRESS_CLAMP:
        return at < 0 ? 0 : size - 1;
    default:
        return -1;
    }
}

static int64_t size_of(const struct ptx_mip_level *level, unsigned axis)
{
    return axis == 0 ? level->width : axis == 1 ? level->height : level->depth;
}

/* A texel by its unsettled place; the border outside. */
static void texel_at(const struct sample *s, const int64_t at[3], double out[4])
{
    const struct ptx_mip_level *l = s->level;
    enum ptx_channel channel = (enum ptx_channel)s->image->channel;
    unsigned side = ptx_element_side(channel);
    uint64_t where[3] = {0};

    for (unsigned k = 0; k < s->dimensions; k++) {
        int64_t place = s->image->is_buffer && (at[k] < 0 || at[k] >= size_of(l, k))
                            ? -1
                            : settle(mode_of(s, k), at[k], size_of(l, k));
        if (place < 0) {
            for (unsigned c = 0; c < 4; c++)
                out[c] = s->image->is_buffer ? 0 : (double)s->sampler->border[c];
            return;
        }
        where[k] = (uint64_t)place;
    }
    uint64_t address = l->address + (s->layer * l->depth + where[2]) * l->slice +
                       where[1] / side * l->pitch +
                       where[0] / side * ptx_element_size(channel, s->image->channel_count);
    ptx_texel_load(s->image, (const void *)(uintptr_t)address, where[0] % side, where[1] % side,
                   out);
}

static double bounded(double v)
{
    return v != v ? 0 : v < -FAR ? -FAR : v > FAR ? FAR : v;
}

/* The coordinate in texels. */
static double texels_of(const struct sample *s, unsigned axis)
{
    double v = s->coord[axis];

    if (s->sampler->is_normalized)
        v *= (double)size_of(s->level, axis);
    return bounded(v) + s->point->offset[axis];
}

static void compare_texel(const struct sample *s, double v[4])
{
    if (!s->point->has_compare)
        return;
    v[0] = s->point->compare <= v[0];
    v[1] = v[2] = 0;
    v[3] = 1;
}

static void sample_nearest(const struct sample *s, double out[4])
{
    int64_t at[3] = {0};

    for (unsigned k = 0; k < s->dimensions; k++)
        at[k] = (int64_t)floor(texels_of(s, k));
    texel_at(s, at, out);
    compare_texel(s, out);
}

/* The lower texel of the pair that a coordinate lies between, and the upper one's weight in 256ths.
 */
static int64_t pair_of(const struct sample *s, unsigned axis, unsigned *weight)
{
    double v = texels_of(s, axis) - 0.5;
    double low = floor(v);

    *weight = (unsigned)floor((v - low) * 256 + 0.5);
    return (int64_t)low;
}

static void sample_linear(const struct sample *s, double out[4])
{
    unsigned weight[3] = {0};
    int64_t low[3] = {0};
    double sum[4] = {0};
    unsigned corners = 1u << s->dimensions;

    for (unsigned k = 0; k < s->dimensions; k++)
        low[k] = pair_of(s, k, &weight[k]);
    for (unsigned corner = 0; corner < corners; corner++) {
        double share = 1, v[4];
        int64_t at[3] = {0};
        for (unsigned k = 0; k < s->dimensions; k++) {
            unsigned upper = corner >> k & 1;
            at[k] = low[k] + upper;
            share *= (upper ? weight[k] : 256 - weight[k]) / 256.0;
        }
        if (share == 0) /* so that an infinity there does not count */
            continue;
        texel_at(s, at, v);
        compare_texel(s, v);
        for (unsigned c = 0; c < 4; c++)
            sum[c] += share * v[c];
    }
    memcpy(out, sum, sizeof(sum));
}

/* Integers of 32 bits have no mean; those of 8 and 16 are rounded to nearest. */
static void sample_level(const struct sample *s, double out[4])
{
    const struct ptx_image *image = s->image;
    bool is_wide = image->channel == PTX_CHANNEL_U32 || image->channel == PTX_CHANNEL_S32;

    if (!s->sampler->is_linear || is_wide || image->is_buffer) {
        sample_nearest(s, out);
        return;
    }
    sample_linear(s, out);
    for (unsigned c = 0; c < 4 && !ptx_image_is_float(image); c++)
        out[c] = floor(out[c] + 0.5);
}

/* One component of the four texels of a linear filter's footprint, from the lower left one
 * counterclockwise. */
static void gather(const struct sample *s, unsigned component, double out[4])
{
    static const uint8_t corners[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};

    for (unsigned k = 0; k < 4; k++) {
        double v[4];
        int64_t at[3] = {(int64_t)floor(texels_of(s, 0) - 0.5) + corners[k][0],
                         (int64_t)floor(texels_of(s, 1) - 0.5) + corners[k][1], 0};
        texel_at(s, at, v);
        compare_texel(s, v);
        out[k] = v[component];
    }
}

/* ---- cubes ---- */

/* From a direction to a face and a place on it. Also gives the length along the major axis. */
static unsigned face_of(double coord[3], double *major)
{
    double x = coord[0], y = coord[1], z = coord[2];
    double ax = fabs(x), ay = fabs(y), az = fabs(z);
    unsigned face;
    double s, t;

    if (az >= ax && az >= ay) {
        face = z < 0 ? 5 : 4;
        s = z < 0 ? -x : x;
        t = -y;
        *major = az;
    } else if (ay >= ax) {
        face = y < 0 ? 3 : 2;
        s = x;
        t = y < 0 ? -z : z;
        *major = ay;
    } else {
        face = x < 0 ? 1 : 0;
        s = x < 0 ? z : -z;
        t = -y;
        *major = ax;
    }
    coord[0] = (s / *major + 1) / 2;
    coord[1] = (t / *major + 1) / 2;
    coord[2] = 0;
    return face;
}

/* ---- levels ---- */

/* log2 of the longer of both steps in texels of the first level. */
static double lod_of_grad(const struct sample *s, const struct ptx_point *p, double major)
{
    double longest = 0;

    for (unsigned k = 0; k < 2; k++) {
        double sum = 0;
        for (unsigned c = 0; c < 3; c++) {
            double scale = s->image->is_cube ? (double)s->image->levels[0].width / 2 / major
                           : s->sampler->is_normalized ? (double)size_of(&s->image->levels[0], c)
                                                       : 1;
            double step = p->grad[k][c] * scale;
            sum += step * step;
        }
        longest = sum > longest ? sum : longest;
    }
    return longest > 0 ? log2(longest) / 2 : -FAR;
}

static double clamped_lod(const struct sample *s, double lod)
{
    const struct ptx_sampler *sampler = s->sampler;
    double top = s->image->level_count - 1;

    lod = (lod != lod ? 0 : lod) + (double)sampler->lod_bias;
    lod = lod < (double)sampler->lod_min ? (double)sampler->lod_min : lod;
    lod = lod > (double)sampler->lod_max ? (double)sampler->lod_max : lod;
    return lod < 0 ? 0 : lod > top ? top : lod;
}

static void sample_levels(struct sample *s, double lod, double out[4])
{
    double low = s->sampler->is_mip_linear ? floor(lod) : floor(lod + 0.5);
    double share = s->sampler->is_mip_linear ? floor((lod - low) * 256 + 0.5) / 256 : 0;
    double upper[4];

    s->level = &s->image->levels[(unsigned)low];
    sample_level(s, out);
    if (share == 0)
        return;
    s->level++;
    sample_level(s, upper);
    for (unsigned c = 0; c < 4; c++)
        out[c] += share * (upper[c] - out[c]);
}

void ptx_texture_sample(const struct ptx_image *image, const struct ptx_sampler *sampler,
                        const struct ptx_fetch_insn *f, struct ptx_point *point, double out[4])
{
    struct sample s = {.image = image,
                       .sampler = sampler,
                       .level = &image->levels[0],
                       .point = point,
                       .dimensions = f->place.dimensions};
    struct ptx_sampler plain = *sampler;
    double major = 1;
    unsigned face = 0;
    uint32_t layers = image->layers;

    memcpy(s.coord, point->coord, sizeof(s.coord));
    if (f->place.is_cube && image->is_cube) {
        face = face_of(s.coord, &major);
        layers /= 6;
        s.dimensions = 2;
        plain.is_normalized = true;
        s.sampler = &plain;
    }
    s.layer = f->place.is_layered ? (point->layer < layers ? point->layer : layers - 1) : 0;
    if (image->is_cube)
        s.layer = s.layer * 6 + face;
    if (f->is_integer) { /* the texel itself: no scale, no filter */
        plain.is_normalized = plain.is_linear = false;
        s.sampler = &plain;
    }
    if (f->is_gather) {
        gather(&s, f->component, out);
    } else if (f->lod_mode == PTX_LOD_BASE) {
        sample_level(&s, out);
    } else {
        double lod = f->lod_mode == PTX_LOD_GRAD ? lod_of_grad(&s, point, major) : point->lod;
        sample_levels(&s, clamped_lod(&s, lod), out);
    }
}

/* ---- the instructions ---- */

static double real_at(const struct ptx_warp *w, ptx_op op, unsigned lane)
{
    return op == PTX_OP_NONE ? 0 : (double)((const float *)ptx_lanes(w, op))[lane];
}

static int32_t int_at(const struct ptx_warp *w, ptx_op op, unsigned lane)
{
    return op == PTX_OP_NONE ? 0 : ((const int32_t *)ptx_lanes(w, op))[lane];
}

static void read_point(const struct ptx_warp *w, const struct ptx_fetch_insn *f, unsigned lane,
                       struct ptx_point *out)
{
    for (unsigned k = 0; k < 3; k++) {
        out->coord[k] = f->is_integer ? int_at(w, f->place.coord[k], lane)
                                      : real_at(w, f->place.coord[k], lane);
        out->offset[k] = int_at(w, f->offset[k], lane);
        out->grad[0][k] = real_at(w, f->grad[0][k], lane);
        out->grad[1][k] = real_at(w, f->grad[1][k], lane);
    }
    out->layer = (uint32_t)int_at(w, f->place.layer, lane);
    out->lod = f->is_integer ? int_at(w, f->lod, lane) : real_at(w, f->lod, lane);
    out->compare = real_at(w, f->compare, lane);
    out->has_compare = f->compare != PTX_OP_NONE;
}

static uint16_t half_of(double v, bool is_float)
{
    return is_float ? ptx_to_half((double)(float)v) : (uint16_t)(int64_t)v;
}

static void write_result(struct ptx_warp *w, const struct ptx_fetch_insn *f, unsigned lane,
                         const double v[4], bool is_float)
{
    for (unsigned k = 0; k < f->count; k++) {
        if (f->dst[k] == PTX_OP_NONE)
            continue;
        void *d = ptx_lanes(w, f->dst[k]);
        if (f->type == PTX_F16)
            ((uint16_t *)d)[lane] = half_of(v[k], is_float);
        else if (f->type == PTX_F16X2)
            ((uint32_t *)d)[lane] =
                half_of(v[2 * k], is_float) | (uint32_t)half_of(v[2 * k + 1], is_float) << 16;
        else
            ((uint32_t *)d)[lane] = is_float ? ptx_f32_bits((float)v[k]) : (uint32_t)(int64_t)v[k];
    }
}

void ptx_run_texture(struct ptx_warp *w, const struct ptx_insn *i)
{
    const struct ptx_fetch_insn *f = i->extra;
    const uint64_t *handle = ptx_lanes(w, f->handle);
    const uint64_t *sampler_at = f->sampler == PTX_OP_NONE ? NULL : ptx_lanes(w, f->sampler);

    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctz(left);
        const struct ptx_image *image = ptx_image_find(w, i, l, handle[l], false);
        const struct ptx_sampler *sampler = image ? &image->sampler : NULL;
        struct ptx_point point;
        double v[4];
        if (!image)
            return;
        if (sampler_at) {
            sampler = (void *)ptx_locate(w, l, sampler_at[l], sizeof(*sampler), false);
            if (!sampler || sampler_at[l] % _Alignof(struct ptx_sampler)) {
                ptx_stop_fault(w, i, l, PTX_FAULT_HANDLE, sampler_at[l], sizeof(*sampler));
                return;
            }
        }
        read_point(w, f, l, &point);
        ptx_texture_sample(image, sampler, f, &point, v);
        write_result(w, f, l, v, ptx_image_is_float(image));
    }
    ptx_set_pred(w, i->dst2, ~0u); /* every texel is resident */
}
