/* SPDX-License-Identifier: Apache-2.0
 *
 * mma, ldmatrix, stmatrix, movmatrix.
 *
 * Fragments. With g = lane / 4 and t = lane % 4, and e elements of A or B in a register, register r
 * of A holds row g + 8 * (r odd) and columns t * e + 4 * e * (r / 2) and on (for 16 rows; 8 rows
 * use every r for columns); register r of B holds rows t * e + 4 * e * r and on of column g;
 * element i of C and D is row g + 8 * (i / 2), column 2 * t + i % 2. This covers every shape but
 * m8n8k4 of f16, which is four products at once: see quad_at().
 *
 * Sparse A: the fragments hold half of the columns, as a dense A of half the width would, and the
 * metadata says two bits at a time which columns they are: see ptx_mma_column().
 */
#include "emu/ptx/handlers/memory.h"
#include "emu/ptx/handlers/small.h"
#include "emu/ptx/real.h"

#include <math.h>
#include <string.h>

#define K_MAX 128 /* single bits aside */

struct matrices {
    double a[16][K_MAX];
    uint8_t column[16][K_MAX]; /* of A, which is the row of B that an element meets */
    double b[K_MAX][8];
};

double ptx_matrix_element(ptx_type type, uint64_t v)
{
    switch (type) {
    case PTX_F16:
        return (double)ptx_from_half((uint16_t)v);
    case PTX_BF16:
        return (double)ptx_from_bf16((uint16_t)v);
    case PTX_TF32:
        return (double)ptx_f32((uint32_t)v & 0xffffe000u);
    case PTX_F32:
        return (double)ptx_f32((uint32_t)v);
    case PTX_E4M3:
    case PTX_E5M2:
        return ptx_from_small(type, (uint8_t)v);
    case PTX_U8:
        return (uint8_t)v;
    case PTX_S8:
        return (int8_t)v;
    case PTX_U4:
        return (double)(v & 15);
    case PTX_S4:
        return (double)((int)(v & 15) - (v & 8 ? 16 : 0));
    case PTX_B1:
        return (double)(v & 1);
    case PTX_S32:
        return (int32_t)v;
    default:
        return ptx_f64(v);
    }
}

uint64_t ptx_matrix_result(ptx_type type, double v, bool saturates)
{
    switch (type) {
    case PTX_F16:
        return ptx_to_half(v);
    case PTX_F32:
        return ptx_f32_bits(ptx_out32(0, (float)v));
    case PTX_S32:
        if (saturates)
            v = v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
        return (uint32_t)(int64_t)v;
    default:
        return ptx_f64_bits(ptx_out64(0, v));
    }
}

static uint64_t word_at(const struct ptx_warp *w, ptx_op op, bool wide, unsigned lane)
{
    const void *lanes = ptx_lanes(w, op);

    return wide ? ((const uint64_t *)lanes)[lane] : ((const uint32_t *)lanes)[lane];
}

static double part_of(const struct ptx_mma *x, ptx_type type, uint64_t word, unsigned j)
{
    return ptx_matrix_element(type, x->bits == 64 ? word : word >> x->bits * j);
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
            for (unsigned j = 0; j < per; j++) {
                out->a[row][column + j] = part_of(x, x->a_type, word, j);
                out->column[row][column + j] = (uint8_t)(column + j);
            }
        }
        for (unsigned r = 0; r < x->b_count; r++) {
            uint64_t word = word_at(w, b[r], x->bits == 64, l);
            for (unsigned j = 0; j < per; j++)
                out->b[t * per + 4 * per * r + j][g] = part_of(x, x->b_type, word, j);
        }
    }
}

/* `count` bits of a row's metadata. Four lanes, those of a row in a fragment of A, hold the
 * metadata of that row and of the eighth one after it: elements of 16 bits and more have 16 bits of
 * each row in a register, the row in the low half; smaller ones have a register for each row. */
static unsigned metadata_bits(const struct ptx_warp *w, const struct ptx_mma *x, unsigned row,
                              unsigned bit)
{
    bool in_halves = x->bits >= 16;
    unsigned total = x->bits == 32 ? 2u * x->k : x->bits == 4 ? x->k / 2u : x->k; /* of a row */
    unsigned lanes = total / 16; /* that a selector chooses */
    unsigned lane = in_halves ? bit / 16 : row / 8 + 2 * (bit / 32);
    unsigned shift = in_halves ? row / 8 * 16 + bit % 16 : bit % 32;
    uint64_t word = word_at(w, x->metadata, false, row % 8 * 4 + x->selector * lanes + lane);

    return (unsigned)(word >> shift) & 3;
}

/* The column that stored element c of a row has. Of 4 columns two are stored; of 8 columns of 4-bit
 * elements two pairs; of 2 columns of tf32 one, whose number is told as a pair of halves. */
unsigned ptx_mma_column(const struct ptx_warp *w, const struct ptx_mma *x, unsigned row,
                        unsigned c)
{
    if (x->bits == 32)
        return 2 * c + metadata_bits(w, x, row, 4 * c) / 2;
    if (x->bits == 4)
        return c / 4 * 8 + 2 * metadata_bits(w, x, row, c / 2 * 2) + c % 2;
    return c / 2 * 4 + metadata_bits(w, x, row, 2 * c);
}

static void find_columns(const struct ptx_warp *w, const struct ptx_mma *x, struct matrices *out)
{
    for (unsigned row = 0; row < 16; row++)
        for (unsigned c = 0; c < x->k / 2u; c++)
            out->column[row][c] = (uint8_t)ptx_mma_column(w, x, row, c);
}

static double load_c(const struct ptx_warp *w, const struct ptx_mma *x, unsigned i, unsigned l)
{
    const ptx_op *c = x->ops + x->d_count + x->a_count + x->b_count;
    unsigned per = x->c_type == PTX_F16 ? 2 : 1;
    uint64_t word = word_at(w, c[i / per], x->c_type == PTX_F64, l);

    return ptx_matrix_element(x->c_type, word >> 16 * (i % per));
}

static void store_d(struct ptx_warp *w, const struct ptx_mma *x, unsigned i, unsigned l, double v)
{
    void *lanes = ptx_lanes(w, x->ops[x->d_type == PTX_F16 ? i / 2 : i]);
    uint64_t out = ptx_matrix_result(x->d_type, v, x->saturates);

    if (x->d_type == PTX_F16)
        ((uint16_t *)lanes)[2 * l + i % 2] = (uint16_t)out;
    else if (x->d_type == PTX_F64)
        ((uint64_t *)lanes)[l] = out;
    else
        ((uint32_t *)lanes)[l] = (uint32_t)out;
}

/* Sums are kept in a double: exact for integers; for floats, exact products added in order of k and
 * rounded once at the end, where the hardware's own order and truncation are not documented. */
void ptx_run_mma(struct ptx_warp *w, const struct ptx_insn *i)
{
    const struct ptx_mma *x = i->extra;
    struct matrices in;
    double out[PTX_LANES][4];
    unsigned count = x->m == 16 ? 4 : 2;
    unsigned stored = x->is_sparse ? x->k / 2u : x->k;

    load_operands(w, x, &in);
    if (x->is_sparse)
        find_columns(w, x, &in);
    ptx_set_rounding(x->round);
    for (unsigned l = 0; l < PTX_LANES; l++)
        for (unsigned e = 0; e < count; e++) {
            unsigned row = l / 4 + 8 * (e / 2);
            double sum = load_c(w, x, e, l);
            for (unsigned k = 0; k < stored; k++) {
                double b = in.b[in.column[row][k]][2 * (l % 4) + e % 2];
                sum = x->bits == 64 ? fma(in.a[row][k], b, sum) : sum + in.a[row][k] * b;
            }
            out[l][e] = sum;
        }
    ptx_set_rounding(PTX_ROUND_NEAREST);
    for (unsigned l = 0; l < PTX_LANES; l++)
        for (unsigned e = 0; e < count; e++)
            store_d(w, x, e, l, out[l][e]);
}

/* Single bits: a register is 32 columns of a row of A, or 32 rows of a column of B. */
void ptx_run_mma_bits(struct ptx_warp *w, const struct ptx_insn *i)
{
    const struct ptx_mma *x = i->extra;
    const ptx_op *a = x->ops + x->d_count;
    const ptx_op *b = a + x->a_count;
    unsigned count = x->m == 16 ? 4 : 2;
    uint32_t out[PTX_LANES][4];

    for (unsigned l = 0; l < PTX_LANES; l++)
        for (unsigned e = 0; e < count; e++) {
            unsigned column = 2 * (l % 4) + e % 2;
            uint32_t sum = (uint32_t)(int64_t)load_c(w, x, e, l);
            for (unsigned k = 0; k < x->k / 32u; k++) {
                unsigned r = x->m == 16 ? 2 * (k / 4) + e / 2 : k / 4;
                uint32_t left = (uint32_t)word_at(w, a[r], false, l / 4 * 4 + k % 4);
                uint32_t right = (uint32_t)word_at(w, b[k / 4], false, column * 4 + k % 4);
                sum += (uint32_t)__builtin_popcount(x->is_and ? left & right : left ^ right);
            }
            out[l][e] = sum;
        }
    for (unsigned l = 0; l < PTX_LANES; l++)
        for (unsigned e = 0; e < count; e++)
            ((uint32_t *)ptx_lanes(w, x->ops[e]))[l] = out[l][e];
}

/* m8n8k4: lanes 4 q to 4 q + 3 and 16 + 4 q to 16 + 4 q + 3 compute product q. Line r (a row of A,
 * a column of B) belongs to one lane when its elements along k lie together, and is spread over
 * four when they do not. */
static double quad_at(const struct ptx_warp *w, const ptx_op *regs, unsigned quad, unsigned line,
                      unsigned k, bool together)
{
    unsigned high = line / 4 * 16;
    unsigned lane = 4 * quad + high + (together ? line % 4 : k);
    unsigned element = together ? k : line % 4;
    uint64_t word = word_at(w, regs[element / 2], false, lane);

    return (double)ptx_from_half((uint16_t)(word >> 16 * (element % 2)));
}

/* Row and column of element e of C or D in a lane. */
static void quad_place(ptx_type type, unsigned lane, unsigned e, unsigned *row, unsigned *column)
{
    unsigned high = lane / 16 * 4;

    *row = type == PTX_F16 ? lane % 4 + high : (lane & 1) + (e & 2) + high;
    *column = type == PTX_F16 ? e : (e & 4) + (lane & 2) + (e & 1);
}

static void load_quads(const struct ptx_warp *w, const struct ptx_mma *x, double c[4][8][8])
{
    unsigned row;
    unsigned column;

    for (unsigned l = 0; l < PTX_LANES; l++)
        for (unsigned e = 0; e < 8; e++) {
            quad_place(x->c_type, l, e, &row, &column);
            c[l % 16 / 4][row][column] = load_c(w, x, e, l);
        }
}

void ptx_run_mma_quad(struct ptx_warp *w, const struct ptx_insn *i)
{
    const struct ptx_mma *x = i->extra;
    const ptx_op *a = x->ops + x->d_count;
    const ptx_op *b = a + x->a_count;
    double out[4][8][8];
    unsigned row;
    unsigned column;

    load_quads(w, x, out);
    for (unsigned q = 0; q < 4; q++)
        for (unsigned r = 0; r < 8; r++)
            for (unsigned n = 0; n < 8; n++)
                for (unsigned k = 0; k < 4; k++)
                    out[q][r][n] +=
                        quad_at(w, a, q, r, k, x->a_row) * quad_at(w, b, q, n, k, !x->b_row);
    for (unsigned l = 0; l < PTX_LANES; l++)
        for (unsigned e = 0; e < 8; e++) {
            quad_place(x->d_type, l, e, &row, &column);
            store_d(w, x, e, l, out[l % 16 / 4][row][column]);
        }
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

/* stmatrix: the same the other way round. */
void ptx_run_store_matrix(struct ptx_warp *w, const struct ptx_insn *i)
{
    uint64_t address[PTX_LANES];
    uint16_t rows[32][8];
    const ptx_op *ops = i->extra;

    for (unsigned m = 0; m < i->count; m++) {
        const uint32_t *a = ptx_lanes(w, ops[m]);
        for (unsigned l = 0; l < PTX_LANES; l++) {
            unsigned r = 8 * m + l / 4;
            unsigned c = 2 * (l % 4);
            *(PTX_MODE(i) ? &rows[8 * m + c][l / 4] : &rows[r][c]) = (uint16_t)a[l];
            *(PTX_MODE(i) ? &rows[8 * m + c + 1][l / 4] : &rows[r][c + 1]) = (uint16_t)(a[l] >> 16);
        }
    }
    ptx_address_lanes(w, i, address);
    for (unsigned l = 0; l < 8u * i->count; l++) {
        uint8_t *p = ptx_resolve(w, i, l, i->space, address[l], 16, true);
        if (!p)
            return;
        memcpy(p, rows[l], 16);
    }
}

/* movmatrix: an 8 by 8 matrix of halves, two a lane, transposed. */
void ptx_run_transpose(struct ptx_warp *w, const struct ptx_insn *i)
{
    const uint32_t *a = ptx_lanes(w, i->src[0]);
    uint32_t *d = ptx_lanes(w, i->dst);
    uint16_t rows[8][8];

    for (unsigned l = 0; l < PTX_LANES; l++) {
        rows[l / 4][2 * (l % 4)] = (uint16_t)a[l];
        rows[l / 4][2 * (l % 4) + 1] = (uint16_t)(a[l] >> 16);
    }
    for (unsigned l = 0; l < PTX_LANES; l++)
        d[l] = rows[2 * (l % 4)][l / 4] | (uint32_t)rows[2 * (l % 4) + 1][l / 4] << 16;
}
