/* SPDX-License-Identifier: Apache-2.0
 *
 * The registers of A and D of a warp are laid out as those of mma with 16 rows: see tensor.c. Sums
 * are kept in a double, begin with D, get exact products in order of K, and are rounded once.
 */
#include "emu/ptx/handlers/matrix/wgmma.h"
#include "emu/ptx/handlers/matrix/tile.h"

#include <string.h>

#define ROWS  16u /* of a warp */
#define N_MAX 256
#define K_MAX 64

/* Elements as they lie in registers or memory; single bits in words of 32. */
struct raw {
    uint32_t a[ROWS][K_MAX];
    uint32_t b[N_MAX][K_MAX];
};

/* Numbers: every element of A and B is exact in a float. */
struct numbers {
    float a[ROWS][K_MAX];
    float b[K_MAX][N_MAX];
};

static unsigned element_bits(const struct ptx_mma *x)
{
    return x->bits == 1 ? 32 : x->bits;
}

static unsigned depth_of(const struct ptx_mma *x)
{
    return x->bits == 1 ? x->k / 32u : x->k;
}

/* Elements of a line of A that are stored. */
static unsigned stored_of(const struct ptx_mma *x)
{
    return depth_of(x) / (x->is_sparse ? 2 : 1);
}

static void read_registers(const struct ptx_warp *w, const struct ptx_wgmma *x,
                           uint32_t a[ROWS][K_MAX])
{
    unsigned bits = element_bits(&x->mma);
    unsigned per = 32 / bits;

    for (unsigned r = 0; r < 4; r++) {
        const uint32_t *words = ptx_lanes(w, x->a[r]);
        for (unsigned l = 0; l < PTX_LANES; l++)
            for (unsigned j = 0; j < per; j++)
                a[l / 4 + 8 * (r % 2)][(l % 4 + 4 * (r / 2)) * per + j] =
                    (uint32_t)(words[l] >> bits * j & ((1ull << bits) - 1));
    }
}

static struct ptx_tile tile_at(const struct ptx_warp *w, const struct ptx_wgmma *x, ptx_op op,
                               bool is_k_major)
{
    static const uint8_t swizzles[] = {PTX_TILE_PLAIN, PTX_TILE_128, PTX_TILE_64, PTX_TILE_32};
    uint64_t descriptor = ((const uint64_t *)ptx_lanes(w, op))[__builtin_ctz(w->mask)];
    uint8_t bits = (uint8_t)element_bits(&x->mma);
    struct ptx_tile t = {.bits = bits,
                         .unit = bits,
                         .is_k_major = is_k_major,
                         .swizzle = swizzles[descriptor >> 62]};

    ptx_tile_describe(&t, descriptor);
    return t;
}

static bool read_a(struct ptx_warp *w, const struct ptx_insn *i, const struct ptx_wgmma *x,
                   uint32_t a[ROWS][K_MAX])
{
    struct ptx_tile_part part = {w->index % 4 * ROWS, ROWS, stored_of(&x->mma)};

    if (x->a_in_registers) {
        read_registers(w, x, a);
        return true;
    }
    struct ptx_tile t = tile_at(w, x, x->a_desc, x->a_is_k_major);
    return ptx_tile_read(w, i, &t, part, a[0], K_MAX);
}

static bool read_operands(struct ptx_warp *w, const struct ptx_insn *i, const struct ptx_wgmma *x,
                          struct raw *raw)
{
    struct ptx_tile t = tile_at(w, x, x->b_desc, x->b_is_k_major);
    struct ptx_tile_part part = {0, x->n, depth_of(&x->mma)};

    return read_a(w, i, x, raw->a) && ptx_tile_read(w, i, &t, part, raw->b[0], K_MAX);
}

static float number_of(ptx_type type, uint32_t raw, bool is_negated)
{
    float v = (float)ptx_matrix_element(type, raw);

    return is_negated ? -v : v;
}

static void to_numbers(const struct ptx_wgmma *x, const struct raw *raw, struct numbers *out)
{
    const struct ptx_mma *m = &x->mma;

    for (unsigned row = 0; row < ROWS; row++)
        for (unsigned k = 0; k < stored_of(m); k++)
            out->a[row][k] = number_of(m->a_type, raw->a[row][k], x->a_is_negated);
    for (unsigned n = 0; n < x->n; n++)
        for (unsigned k = 0; k < m->k; k++)
            out->b[k][n] = number_of(m->b_type, raw->b[n][k], x->b_is_negated);
}

/* An element of D: its register's lanes, and which of them; a half of it where D is f16. */
static void *place_of(const struct ptx_warp *w, const struct ptx_wgmma *x, unsigned row, unsigned n)
{
    unsigned lane = row % 8 * 4 + n % 8 / 2;
    unsigned e = 4 * (n / 8) + 2 * (row / 8) + n % 2;

    if (x->mma.d_type == PTX_F16)
        return (uint16_t *)ptx_lanes(w, x->d[e / 2]) + 2 * lane + e % 2;
    return (uint32_t *)ptx_lanes(w, x->d[e]) + lane;
}

static double read_d(const struct ptx_warp *w, const struct ptx_wgmma *x, unsigned row, unsigned n)
{
    const void *p = place_of(w, x, row, n);
    uint32_t raw = x->mma.d_type == PTX_F16 ? *(const uint16_t *)p : *(const uint32_t *)p;

    return ptx_matrix_element(x->mma.d_type, raw);
}

static void write_d(const struct ptx_warp *w, const struct ptx_wgmma *x, unsigned row, unsigned n,
                    double v)
{
    void *p = place_of(w, x, row, n);
    uint64_t out = ptx_matrix_result(x->mma.d_type, v, x->mma.saturates);

    if (x->mma.d_type == PTX_F16)
        *(uint16_t *)p = (uint16_t)out;
    else
        *(uint32_t *)p = (uint32_t)out;
}

static void add_row(const struct ptx_warp *w, const struct ptx_wgmma *x, const struct numbers *in,
                    unsigned row, double *sums)
{
    const struct ptx_mma *m = &x->mma;

    for (unsigned k = 0; k < stored_of(m); k++) {
        const float *b = in->b[m->is_sparse ? ptx_mma_column(w, m, row, k) : k];
        double a = (double)in->a[row][k];
        for (unsigned n = 0; n < x->n; n++)
            sums[n] += a * (double)b[n];
    }
}

static void count_bits(const struct ptx_wgmma *x, const struct raw *raw, unsigned row, double *sums)
{
    for (unsigned n = 0; n < x->n; n++)
        for (unsigned k = 0; k < depth_of(&x->mma); k++)
            sums[n] += __builtin_popcount(raw->a[row][k] & raw->b[n][k]);
}

void ptx_run_wgmma(struct ptx_warp *w, const struct ptx_insn *i)
{
    const struct ptx_wgmma *x = i->extra;
    bool adds = ptx_pred(w, x->adds) >> __builtin_ctz(w->mask) & 1;
    struct raw raw;
    struct numbers in;
    double sums[N_MAX];

    if (!read_operands(w, i, x, &raw))
        return;
    if (x->mma.bits != 1)
        to_numbers(x, &raw, &in);
    for (unsigned row = 0; row < ROWS; row++) {
        for (unsigned n = 0; n < x->n; n++)
            sums[n] = adds ? read_d(w, x, row, n) : 0;
        if (x->mma.bits == 1)
            count_bits(x, &raw, row, sums);
        else
            add_row(w, x, &in, row, sums);
        for (unsigned n = 0; n < x->n; n++)
            write_d(w, x, row, n, sums[n]);
    }
}
