/* SPDX-License-Identifier: Apache-2.0
 *
 * tcgen05.mma. Sums are kept in a double, as in tensor.c: they begin with D, get exact products in
 * order of K, and are rounded once.
 *
 * Each block of a pair has half of the rows of A and D, and half of the columns of B. A row of D is
 * a lane of tensor memory; where there are 32 or 64 rows they are spread: see place_row() and
 * place_column().
 */
#include "emu/ptx/handlers/matrix/tcgen05.h"
#include "emu/ptx/exec/tensor_memory.h"
#include "emu/ptx/handlers/memory.h"
#include "emu/ptx/handlers/small.h"
#include "emu/ptx/handlers/matrix/tile.h"
#include "emu/ptx/real.h"

#include <math.h>

#define N_MAX 256
#define K_MAX 64

/* The instruction descriptor, read. */
struct form {
    unsigned m, n, k;
    ptx_type a_type, b_type, d_type;
    uint8_t a_bits, b_bits; /* of an element */
    uint8_t unit;           /* bits that it takes in shared memory */
    bool a_is_k_major, b_is_k_major;
    bool a_is_negated, b_is_negated;
    bool saturates;
    uint8_t a_scale, b_scale; /* byte of the word where scales begin */
    bool has_short_scales;    /* ue4m3, not ue8m0 */
};

struct product {
    struct ptx_warp *w;
    const struct ptx_insn *i;
    const struct ptx_tensor_product *x;
    unsigned lane; /* of the warp */
    struct form f;
    struct ptx_block *blocks[2];
    unsigned block_count;
    float b[K_MAX][N_MAX];
};

static unsigned bits(uint32_t word, unsigned from, unsigned count)
{
    return word >> from & ((1u << count) - 1);
}

/* ---- the descriptor ---- */

static ptx_type small_type(unsigned code)
{
    static const ptx_type types[] = {PTX_E4M3X2, PTX_E5M2X2, PTX_TYPE_COUNT, PTX_E2M3X2,
                                     PTX_E3M2X2, PTX_E2M1X2, PTX_TYPE_COUNT, PTX_TYPE_COUNT};

    return types[code];
}

/* An element's type by its number; PTX_TYPE_COUNT: there is none. */
static ptx_type type_of(enum ptx_tensor_kind kind, unsigned code)
{
    switch (kind) {
    case PTX_TENSOR_KIND_F16:
        return code == 0 ? PTX_F16 : code == 1 ? PTX_BF16 : PTX_TYPE_COUNT;
    case PTX_TENSOR_KIND_TF32:
        return code == 2 ? PTX_TF32 : PTX_TYPE_COUNT;
    case PTX_TENSOR_KIND_I8:
        return code == 0 ? PTX_U8 : code == 1 ? PTX_S8 : PTX_TYPE_COUNT;
    case PTX_TENSOR_KIND_F8F6F4:
    case PTX_TENSOR_KIND_MXF8F6F4:
        return small_type(code);
    default:
        return code == 1 ? PTX_E2M1X2 : PTX_TYPE_COUNT;
    }
}

static uint8_t bits_of(ptx_type type)
{
    switch (type) {
    case PTX_TF32:
        return 32;
    case PTX_F16:
    case PTX_BF16:
        return 16;
    case PTX_E2M3X2:
    case PTX_E3M2X2:
        return 6;
    case PTX_E2M1X2:
        return 4;
    default:
        return 8;
    }
}

static bool is_four_bits(enum ptx_tensor_kind kind)
{
    return kind == PTX_TENSOR_KIND_MXF4 || kind == PTX_TENSOR_KIND_MXF4NVF4;
}

static void read_types(const struct ptx_tensor_product *x, uint32_t word, struct form *f)
{
    static const ptx_type results[] = {PTX_F16, PTX_F32, PTX_S32, PTX_TYPE_COUNT};
    bool is_word = x->kind == PTX_TENSOR_KIND_TF32;

    f->a_type = type_of(x->kind, bits(word, 7, 3));
    f->b_type = type_of(x->kind, bits(word, 10, is_four_bits(x->kind) ? 2 : 3));
    f->d_type = x->scales ? PTX_F32 : results[bits(word, 4, 2)];
    f->a_bits = bits_of(f->a_type);
    f->b_bits = bits_of(f->b_type);
    f->unit = is_word ? 32 : x->kind == PTX_TENSOR_KIND_F16 ? 16 : is_four_bits(x->kind) ? 4 : 8;
    f->k = 256u / f->unit;
}

static bool are_types(const struct ptx_tensor_product *x, const struct form *f)
{
    bool to_half = f->d_type == PTX_F16;

    if (f->a_type == PTX_TYPE_COUNT || f->b_type == PTX_TYPE_COUNT)
        return false;
    switch (x->kind) {
    case PTX_TENSOR_KIND_F16:
        return f->d_type == PTX_F32 || (to_half && f->a_type == PTX_F16 && f->b_type == PTX_F16);
    case PTX_TENSOR_KIND_I8:
        return f->d_type == PTX_S32;
    case PTX_TENSOR_KIND_F8F6F4:
        return f->d_type == PTX_F32 || to_half;
    default:
        return f->d_type == PTX_F32;
    }
}

static bool is_shape(const struct ptx_tensor_product *x, const struct form *f)
{
    unsigned step = x->is_pair ? 16 : 8;

    if (!f->n || f->n > N_MAX || f->n % step)
        return false;
    if (x->is_stationary)
        return (f->m == 32 || f->m == 64 || f->m == 128) &&
               (f->n == 64 || f->n == 128 || f->n == 256);
    if (x->kind == PTX_TENSOR_KIND_I8 && f->n > 32 && f->n % (2 * step))
        return false;
    if (x->is_pair)
        return f->m == 256 || f->m == 128;
    return f->m == 128 || (f->m == 64 && !x->scales);
}

/* Returns false if the descriptor goes with no product that there is here. */
static bool read_form(const struct ptx_tensor_product *x, uint32_t word, struct form *f)
{
    read_types(x, word, f);
    f->saturates = !x->scales && bits(word, 3, 1);
    f->a_is_negated = bits(word, 13, 1);
    f->b_is_negated = bits(word, 14, 1);
    f->a_is_k_major = !bits(word, 15, 1);
    f->b_is_k_major = !bits(word, 16, 1);
    f->n = bits(word, 17, 6) * 8;
    f->m = x->scales ? bits(word, 27, 2) * 128 : bits(word, 24, 5) * 16;
    f->b_scale = (uint8_t)bits(word, 4, 2);
    f->a_scale = (uint8_t)bits(word, 29, 2);
    f->has_short_scales = x->scales && !bits(word, 23, 1);
    if (bits(word, 2, 1) || !are_types(x, f) || !is_shape(x, f))
        return false;
    if (x->scales && (f->a_scale + x->scales > 4 || f->b_scale + x->scales > 4 ||
                      (is_four_bits(x->kind) && bits(word, 31, 1))))
        return false;
    return f->has_short_scales ? x->kind == PTX_TENSOR_KIND_MXF4NVF4 && x->scales == 4 : true;
}

/* ---- elements ---- */

static float number_of(ptx_type type, uint32_t raw, bool is_negated)
{
    bool is_small = type >= PTX_E4M3X2 && type <= PTX_E3M2X2;
    float v = (float)(is_small ? ptx_small_value(type, raw) : ptx_matrix_element(type, raw));

    return is_negated ? -v : v;
}

static bool fail(struct product *p, enum ptx_fault_kind kind, uint64_t address)
{
    ptx_stop_fault(p->w, p->i, p->lane, kind, address, 0);
    return false;
}

/* B of a block: its share of the columns. */
static bool read_b(struct product *p, unsigned which)
{
    unsigned share = p->f.n / p->block_count;
    struct ptx_tile t = {.bits = p->f.b_bits, .unit = p->f.unit, .is_k_major = p->f.b_is_k_major};
    struct ptx_tile_part part = {0, share, p->f.k};
    uint64_t descriptor = ((const uint64_t *)ptx_lanes(p->w, p->x->b_desc))[p->lane];
    uint32_t raw[N_MAX][K_MAX];

    if (!ptx_tensor_tile(&t, descriptor, p->blocks[which]))
        return fail(p, PTX_FAULT_DESCRIPTOR, descriptor);
    if (!ptx_tile_read(p->w, p->i, &t, part, raw[0], K_MAX))
        return false;
    for (unsigned n = 0; n < share; n++)
        for (unsigned k = 0; k < p->f.k; k++)
            p->b[k][which * share + n] = number_of(p->f.b_type, raw[n][k], p->f.b_is_negated);
    return true;
}

/* The lane of a row of A or D, from that of the place on. */
static unsigned place_row(const struct product *p, unsigned row)
{
    bool is_spread = p->f.m == 64 && !p->x->is_stationary;

    return is_spread ? row / 16 * 32 + row % 16 : row;
}

static unsigned rows_of(const struct product *p)
{
    return p->f.m / p->block_count;
}

/* A in tensor memory: elements that follow each other share words. Numbers of 4 and 6 bits in
 * words are not there. */
static bool read_a_tensor(struct product *p, const struct ptx_block *block,
                          uint32_t raw[PTX_TENSOR_LANES][K_MAX])
{
    uint32_t address = ptx_tensor_address(p->w, &p->x->a, p->lane);
    unsigned per = 32u / p->f.unit;
    uint32_t(*cells)[PTX_TENSOR_LANES] =
        ptx_tensor_memory_find(block, address & 0xffff, p->f.k / per);

    if (!cells)
        return fail(p, PTX_FAULT_TENSOR_MEMORY, address);
    if (p->f.a_bits != p->f.unit || !p->f.a_is_k_major)
        return fail(p, PTX_FAULT_DESCRIPTOR, address);
    for (unsigned row = 0; row < rows_of(p); row++)
        for (unsigned k = 0; k < p->f.k; k++) {
            unsigned lane = ((address >> 16) + place_row(p, row)) % PTX_TENSOR_LANES;
            raw[row][k] =
                (uint32_t)(cells[k / per][lane] >> k % per * p->f.unit & ((1ull << p->f.unit) - 1));
        }
    return true;
}

static bool read_a(struct product *p, const struct ptx_block *block,
                   uint32_t raw[PTX_TENSOR_LANES][K_MAX])
{
    struct ptx_tile t = {.bits = p->f.a_bits, .unit = p->f.unit, .is_k_major = p->f.a_is_k_major};
    struct ptx_tile_part part = {0, rows_of(p), p->f.k};

    if (p->x->a.base != PTX_OP_NONE)
        return read_a_tensor(p, block, raw);
    uint64_t descriptor = ((const uint64_t *)ptx_lanes(p->w, p->x->a_desc))[p->lane];
    if (!ptx_tensor_tile(&t, descriptor, block))
        return fail(p, PTX_FAULT_DESCRIPTOR, descriptor);
    return ptx_tile_read(p->w, p->i, &t, part, raw[0], K_MAX);
}

/* ---- scales ---- */

static double scale_value(const struct form *f, unsigned code)
{
    if (f->has_short_scales)
        return ptx_small_value(PTX_E4M3X2, code & 0x7f);
    return code == 0xff ? NAN : ldexp(1, (int)code - 127);
}

/* Scale `j` of line `line`: line l is in lane l % 32 of column l / 32. Each quarter of the lanes
 * has the same. */
static double scale_at(const struct form *f, uint32_t (*cells)[PTX_TENSOR_LANES], unsigned line,
                       unsigned first, unsigned j)
{
    return scale_value(f, cells[line / 32][line % 32] >> 8 * (first + j) & 0xff);
}

static uint32_t (*find_scales(struct product *p, const struct ptx_block *block,
                              const struct ptx_tensor_place *place,
                              unsigned lines))[PTX_TENSOR_LANES]
{
    uint32_t address = ptx_tensor_address(p->w, place, p->lane);
    uint32_t(*cells)[PTX_TENSOR_LANES] =
        ptx_tensor_memory_find(block, address & 0xffff, (lines + 31) / 32);

    if (!cells)
        fail(p, PTX_FAULT_TENSOR_MEMORY, address);
    return cells;
}

/* ---- sums ---- */

/* Rows of D of a block. */
struct target {
    uint32_t (*cells)[PTX_TENSOR_LANES];
    uint32_t (*a_scales)[PTX_TENSOR_LANES];
    uint32_t (*b_scales)[PTX_TENSOR_LANES];
    unsigned lane;   /* of the place */
    unsigned groups; /* of columns that lie in other lanes */
    unsigned mask;   /* the first of the words that say which lanes stay */
};

/* Spreads the columns of 32 rows over four groups of lanes, those of 64 rows over two. */
static unsigned group_count(const struct product *p)
{
    bool is_spread = p->x->is_stationary || (p->x->is_pair && rows_of(p) == 64);

    return is_spread ? PTX_TENSOR_LANES / rows_of(p) : 1;
}

static unsigned lane_of(const struct product *p, const struct target *t, unsigned row, unsigned n)
{
    unsigned width = p->f.n / t->groups;
    unsigned within = t->groups > 1 ? row : place_row(p, row);

    return (t->lane + within + n / width * rows_of(p)) % PTX_TENSOR_LANES;
}

static uint32_t *cell_of(const struct product *p, const struct target *t, unsigned row, unsigned n)
{
    return &t->cells[n % (p->f.n / t->groups)][lane_of(p, t, row, n)];
}

static bool is_masked(const struct product *p, const struct target *t, unsigned lane)
{
    ptx_op op = p->x->masks[t->mask + lane / 32];

    return op != PTX_OP_NONE && ((const uint32_t *)ptx_lanes(p->w, op))[p->lane] >> lane % 32 & 1;
}

static void add_row(const struct product *p, const struct target *t, unsigned row,
                    const uint32_t *raw, double *sums)
{
    unsigned blocks = p->x->scales ? p->x->scales : 1;
    unsigned length = p->f.k / blocks;
    double factor[N_MAX];

    for (unsigned j = 0; j < blocks; j++) {
        double a_scale = p->x->scales ? scale_at(&p->f, t->a_scales, row, p->f.a_scale, j) : 1;
        for (unsigned n = 0; n < p->f.n && p->x->scales; n++)
            factor[n] = a_scale * scale_at(&p->f, t->b_scales, n, p->f.b_scale, j);
        for (unsigned k = j * length; k < (j + 1) * length; k++) {
            double a = (double)number_of(p->f.a_type, raw[k], p->f.a_is_negated);
            for (unsigned n = 0; n < p->f.n; n++)
                sums[n] +=
                    p->x->scales ? a * (double)p->b[k][n] * factor[n] : a * (double)p->b[k][n];
        }
    }
}

static void multiply_row(const struct product *p, const struct target *t, unsigned row,
                         const uint32_t *raw, bool adds)
{
    double sums[N_MAX];

    for (unsigned n = 0; n < p->f.n; n++) {
        uint32_t before = *cell_of(p, t, row, n);
        sums[n] = adds ? ldexp(ptx_matrix_element(p->f.d_type, before), -p->x->shrink) : 0;
    }
    add_row(p, t, row, raw, sums);
    for (unsigned n = 0; n < p->f.n; n++)
        if (!is_masked(p, t, lane_of(p, t, row, n)))
            *cell_of(p, t, row, n) =
                (uint32_t)ptx_matrix_result(p->f.d_type, sums[n], p->f.saturates);
}

static bool multiply_block(struct product *p, unsigned which)
{
    const struct ptx_block *block = p->blocks[which];
    uint32_t address = ptx_tensor_address(p->w, &p->x->d, p->lane);
    bool adds = ptx_pred(p->w, p->x->adds) >> p->lane & 1;
    struct target t = {.lane = address >> 16, .groups = group_count(p), .mask = 4 * which};
    uint32_t raw[PTX_TENSOR_LANES][K_MAX];

    t.cells = ptx_tensor_memory_find(block, address & 0xffff, p->f.n / t.groups);
    if (!t.cells || t.lane >= PTX_TENSOR_LANES)
        return fail(p, PTX_FAULT_TENSOR_MEMORY, address);
    if (p->x->scales) {
        t.a_scales = find_scales(p, block, &p->x->a_scale, rows_of(p));
        t.b_scales = find_scales(p, block, &p->x->b_scale, p->f.n);
    }
    if ((p->x->scales && (!t.a_scales || !t.b_scales)) || !read_a(p, block, raw))
        return false;
    for (unsigned row = 0; row < rows_of(p); row++)
        multiply_row(p, &t, row, raw[row], adds);
    return true;
}

void ptx_run_tensor_product(struct ptx_warp *w, const struct ptx_insn *i)
{
    struct product p = {.w = w, .i = i, .x = i->extra};

    if (!ptx_tensor_blocks(w, i, p.x->is_pair, p.blocks, &p.block_count))
        return;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        p.lane = (unsigned)__builtin_ctz(left);
        uint32_t word = ((const uint32_t *)ptx_lanes(w, p.x->shape))[p.lane];
        bool ok = read_form(p.x, word, &p.f) || fail(&p, PTX_FAULT_DESCRIPTOR, word);
        for (unsigned k = 0; k < p.block_count && ok; k++)
            ok = read_b(&p, k);
        for (unsigned k = 0; k < p.block_count && ok; k++)
            ok = multiply_block(&p, k);
        if (!ok)
            return;
    }
    w->changes++;
}
