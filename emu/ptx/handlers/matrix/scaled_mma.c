/* SPDX-License-Identifier: Apache-2.0
 *
 * mma with .kind. Sums are kept in a double, as in tensor.c: they begin with C, get exact products in
 * order of K, and are rounded once.
 */
#include "emu/ptx/handlers/matrix/scaled_mma.h"

#include <math.h>

#include "emu/ptx/exec/exec.h"
#include "emu/ptx/handlers/memory.h"
#include "emu/ptx/handlers/small.h"

enum { M = 16, N = 8, K_MAX = 64 };

struct operands {
    double a[M][K_MAX];
    double b[N][K_MAX];
};

/* An element that has a byte lies at its low end, but for one of four bits: in the middle. */
static double element(ptx_type type, uint32_t word, unsigned size, unsigned j)
{
    unsigned code = word >> size * j & ((1u << size) - 1);

    if (type == PTX_E2M1X2)
        return ptx_small_value(type, (size == 8 ? code >> 2 : code) & 15);
    return ptx_small_value(type, code & (type == PTX_E2M3X2 || type == PTX_E3M2X2 ? 63 : 255));
}

static double scale(const struct ptx_scaled_mma *x, uint32_t word, unsigned byte)
{
    unsigned code = word >> 8 * (byte & 3) & 255;

    if (x->has_short_scales)
        return ptx_small_value(PTX_E4M3X2, code & 127);
    return code == 255 ? NAN : ldexp(1, (int)code - 127);
}

/* Lane 4 g + t: of each row of A, g and g + 8, and of column g of B, the elements of two words. */
static void read_elements(const struct ptx_warp *w, const struct ptx_scaled_mma *x,
                          struct operands *out)
{
    unsigned size = x->k == 64 ? 4 : 8;
    unsigned per = 32 / size;

    for (unsigned l = 0; l < PTX_LANES; l++)
        for (unsigned r = 0; r < 4; r++) {
            unsigned k = l % 4 * per + r / 2 * 4 * per;
            uint32_t a = ((const uint32_t *)ptx_lanes(w, x->a[r]))[l];
            uint32_t b = ((const uint32_t *)ptx_lanes(w, x->b[r / 2]))[l];
            for (unsigned j = 0; j < per; j++) {
                out->a[l / 4 + r % 2 * 8][k + j] = element(x->a_type, a, size, j);
                out->b[l / 4][k + j] = element(x->b_type, b, size, j);
            }
        }
}

/* Two lanes of four have scales of A: the first one those of row g, the other of row g + 8. */
static void scale_elements(const struct ptx_warp *w, const struct ptx_scaled_mma *x,
                           struct operands *o)
{
    const uint32_t *a = ptx_lanes(w, x->a_scales);
    const uint32_t *b = ptx_lanes(w, x->b_scales);
    unsigned block = x->k / x->scales;

    for (unsigned l = 0; l < PTX_LANES; l++) {
        unsigned a_byte = ((const uint16_t *)ptx_lanes(w, x->a_at[0]))[l];
        unsigned b_byte = ((const uint16_t *)ptx_lanes(w, x->b_at[0]))[l];
        unsigned a_pair = ((const uint16_t *)ptx_lanes(w, x->a_at[1]))[l] & 1;
        unsigned b_lane = ((const uint16_t *)ptx_lanes(w, x->b_at[1]))[l] & 3;
        for (unsigned k = 0; k < x->k; k++) {
            if (l % 4 / 2 == a_pair)
                o->a[l / 4 + l % 2 * 8][k] *= scale(x, a[l], a_byte + k / block);
            if (l % 4 == b_lane)
                o->b[l / 4][k] *= scale(x, b[l], b_byte + k / block);
        }
    }
}

static double read_c(const struct ptx_warp *w, const struct ptx_scaled_mma *x, unsigned l,
                     unsigned e)
{
    if (x->d_type == PTX_F32)
        return ptx_matrix_element(PTX_F32, ((const uint32_t *)ptx_lanes(w, x->c[e]))[l]);
    return ptx_matrix_element(PTX_F16,
                              ((const uint16_t *)ptx_lanes(w, x->c[e / 2]))[2 * l + e % 2]);
}

static void write_d(struct ptx_warp *w, const struct ptx_scaled_mma *x, unsigned l, unsigned e,
                    double v)
{
    uint64_t out = ptx_matrix_result(x->d_type, v, false);

    if (x->d_type == PTX_F32)
        ((uint32_t *)ptx_lanes(w, x->d[e]))[l] = (uint32_t)out;
    else
        ((uint16_t *)ptx_lanes(w, x->d[e / 2]))[2 * l + e % 2] = (uint16_t)out;
}

void ptx_run_scaled_mma(struct ptx_warp *w, const struct ptx_insn *i)
{
    const struct ptx_scaled_mma *x = i->extra;
    double sums[PTX_LANES][4];
    struct operands o;

    read_elements(w, x, &o);
    if (x->scales)
        scale_elements(w, x, &o);
    for (unsigned l = 0; l < PTX_LANES; l++)
        for (unsigned e = 0; e < 4; e++) {
            sums[l][e] = read_c(w, x, l, e);
            for (unsigned k = 0; k < x->k; k++)
                sums[l][e] += o.a[l / 4 + e / 2 * 8][k] * o.b[l % 4 * 2 + e % 2][k];
        }
    for (unsigned l = 0; l < PTX_LANES; l++)
        for (unsigned e = 0; e < 4; e++)
            write_d(w, x, l, e, sums[l][e]);
}
