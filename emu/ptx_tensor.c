/* SPDX-License-Identifier: Apache-2.0
 *
 * mma, ldmatrix.
 *
 * Fragments. With g = lane / 4 and t = lane % 4, and e elements of A or B in a register, register r
 * of A holds row g + 8 * (r odd) and columns t * e + 4 * e * (r / 2) and on (for 16 rows; 8 rows
 * use every r for columns); register r of B holds rows t * e + 4 * e * r and on of column g;
 * element i of C and D is row g + 8 * (i / 2), column 2 * t + i % 2. This covers every shape from
 * m8n8k16 on.
 */
#include "emu/ptx_memory.h"
#include "emu/ptx_real.h"

#include <math.h>
#include <string.h>

struct matrices {
    double a[16][32];
    double b[32][8];
};

static double element(ptx_type type, uint64_t word, unsigned j)
{
    switch (type) {
    case PTX_F16:
        return (double)ptx_from_half((uint16_t)(word >> 16 * j));
    case PTX_BF16:
        return (double)ptx_from_bf16((uint16_t)(word >> 16 * j));
    case PTX_TF32:
        return (double)ptx_f32((uint32_t)word & 0xffffe000u);
    case PTX_U8:
        return (uint8_t)(word >> 8 * j);
    case PTX_S8:
        return (int8_t)(word >> 8 * j);
    default:
        return ptx_f64(word);
    }
}

static uint64_t word_at(const struct ptx_warp *w, ptx_op op, bool wide, unsigned lane)
{
    const void *lanes = ptx_lanes(w, op);

    return wide ? ((const uint64_t *)lanes)[lane] : ((const uint32_t *)lanes)[lane];
}

static void load_operands(const struct ptx_warp *w, const struct ptx_mma *x, struct matrices *out)
{
    const ptx_op *a = x->ops + x->d_count;
    const ptx_op *b = a + x->a_count;
    unsigned per = x->bits == 64 ? 1 : 32 / x->bits;
    bool tall = x->m == 16;

    for (unsigned l = 0; l < PTX_LANES; l++) {
        unsigned g = l / 4;
        unsigned t = l % 4;
        for (unsigned r = 0; r < x->a_count; r++) {
            uint64_t word = word_at(w, a[r], x->bits == 64, l);
            unsigned row = g + (tall && r % 2 ? 8 : 0);
            unsigned column = t * per + 4 * per * (tall ? r / 2 : r);
            for (unsigned j = 0; j < per; j++)
                out->a[row][column + j] = element(x->a_type, word, j);
        }
        for (unsigned r = 0; r < x->b_count; r++) {
            uint64_t word = word_at(w, b[r], x->bits == 64, l);
            for (unsigned j = 0; j < per; j++)
                out->b[t * per + 4 * per * r + j][g] = element(x->b_type, word, j);
        }
    }
}

static double load_c(const struct ptx_warp *w, const struct ptx_mma *x, unsigned i, unsigned l)
{
    const ptx_op *c = x->ops + x->d_count + x->a_count + x->b_count;

    switch (x->c_type) {
    case PTX_F16:
        return element(PTX_F16, word_at(w, c[i / 2], false, l), i % 2);
    case PTX_F32:
        return (double)ptx_f32((uint32_t)word_at(w, c[i], false, l));
    case PTX_S32:
        return (int32_t)word_at(w, c[i], false, l);
    default:
        return ptx_f64(word_at(w, c[i], true, l));
    }
}

static void store_d(struct ptx_warp *w, const struct ptx_mma *x, unsigned i, unsigned l, double v)
{
    void *lanes = ptx_lanes(w, x->ops[x->d_type == PTX_F16 ? i / 2 : i]);

    switch (x->d_type) {
    case PTX_F16:
        ((uint16_t *)lanes)[2 * l + i % 2] = ptx_to_half(v);
        break;
    case PTX_F32:
        ((float *)lanes)[l] = ptx_out32(0, (float)v);
        break;
    case PTX_S32:
        if (x->saturates)
            v = v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
        ((uint32_t *)lanes)[l] = (uint32_t)(int64_t)v;
        break;
    default:
        ((double *)lanes)[l] = v;
    }
}

/* Sums are kept in a double: exact for integers; for floats, exact products added in order of k and
 * rounded once at the end, where the hardware's own order and truncation are not documented. */
void ptx_run_mma(struct ptx_warp *w, const struct ptx_insn *i)
{
    const struct ptx_mma *x = i->extra;
    struct matrices in;
    double out[PTX_LANES][4];
    unsigned count = x->m == 16 ? 4 : 2;

    memset(&in, 0, sizeof(in));
    load_operands(w, x, &in);
    for (unsigned l = 0; l < PTX_LANES; l++)
        for (unsigned e = 0; e < count; e++) {
            const double *row = in.a[l / 4 + 8 * (e / 2)];
            double sum = load_c(w, x, e, l);
            for (unsigned k = 0; k < x->k; k++)
                sum = x->bits == 64 ? fma(row[k], in.b[k][2 * (l % 4) + e % 2], sum)
                                    : sum + row[k] * in.b[k][2 * (l % 4) + e % 2];
            out[l][e] = sum;
        }
    for (unsigned l = 0; l < PTX_LANES; l++)
        for (unsigned e = 0; e < count; e++)
            store_d(w, x, e, l, out[l][e]);
}

/* ldmatrix: lanes 8 m to 8 m + 7 give the addresses of the rows of matrix m; each lane gets two
 * elements of each. extra: registers; count: matrices; PTX_MODE: 1 for .trans. */
void ptx_run_load_matrix(struct ptx_warp *w, const struct ptx_insn *i)
{
    uint64_t address[PTX_LANES];
    uint16_t rows[32][8];
    const ptx_op *ops = i->extra;

    ptx_address_lanes(w, i, address);
    for (unsigned l = 0; l < 8u * i->count; l++) {
        const uint8_t *p = ptx_resolve(w, i, l, i->space, address[l], 16, false);
        if (!p)
            return;
        memcpy(rows[l], p, 16);
    }
    for (unsigned m = 0; m < i->count; m++) {
        uint32_t *d = ptx_lanes(w, ops[m]);
        for (unsigned l = 0; l < PTX_LANES; l++) {
            unsigned a = l / 4;
            unsigned b = 2 * (l % 4);
            uint32_t low = PTX_MODE(i) ? rows[8 * m + b][a] : rows[8 * m + a][b];
            uint32_t high = PTX_MODE(i) ? rows[8 * m + b + 1][a] : rows[8 * m + a][b + 1];
            d[l] = low | high << 16;
        }
    }
}
