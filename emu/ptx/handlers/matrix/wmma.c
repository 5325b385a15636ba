/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/ptx/handlers/matrix/wmma.h"
#include "emu/ptx/handlers/memory.h"
#include "emu/ptx/real.h"

#include <math.h>
#include <string.h>

#define ELEMENTS_MAX 1024 /* 8 by 128 bits */

static unsigned register_bits(const struct ptx_fragment *f)
{
    return f->bits == 64 ? 64 : 32;
}

static unsigned slots_of(const struct ptx_fragment *f)
{
    return f->count * register_bits(f) / f->bits;
}

static uint64_t mask_of(const struct ptx_fragment *f)
{
    return f->bits == 64 ? ~0ull : (1ull << f->bits) - 1;
}

static uint64_t read_slot(const struct ptx_warp *w, const struct ptx_fragment *f, unsigned slot)
{
    unsigned lane = slot / slots_of(f);
    unsigned bit = slot % slots_of(f) * f->bits;
    const void *lanes = ptx_lanes(w, f->ops[bit / register_bits(f)]);
    uint64_t word =
        f->bits == 64 ? ((const uint64_t *)lanes)[lane] : ((const uint32_t *)lanes)[lane];

    return word >> bit % register_bits(f) & mask_of(f);
}

static void write_slot(struct ptx_warp *w, const struct ptx_fragment *f, unsigned slot, uint64_t v)
{
    unsigned lane = slot / slots_of(f);
    unsigned bit = slot % slots_of(f) * f->bits;
    void *lanes = ptx_lanes(w, f->ops[bit / register_bits(f)]);

    if (f->bits == 64) {
        ((uint64_t *)lanes)[lane] = v;
        return;
    }
    uint32_t *word = (uint32_t *)lanes + lane;
    unsigned shift = bit % 32;
    *word = (*word & ~(uint32_t)(mask_of(f) << shift)) | (uint32_t)(v << shift);
}

/* Returns the place of an element, in bits from the matrix's start. */
static uint64_t place_of(const struct ptx_fragment *f, unsigned element, uint32_t stride)
{
    uint64_t row = element / f->columns;
    uint64_t column = element % f->columns;

    return (f->is_column_major ? column * stride + row : row * stride + column) * f->bits;
}

static uint32_t stride_of(const struct ptx_warp *w, const struct ptx_insn *i,
                          const struct ptx_fragment *f, unsigned lane)
{
    if (i->src[1] == PTX_OP_NONE)
        return f->is_column_major ? f->rows : f->columns;
    return ((const uint32_t *)ptx_lanes(w, i->src[1]))[lane];
}

void ptx_run_wmma_load(struct ptx_warp *w, const struct ptx_insn *i)
{
    const struct ptx_fragment *f = i->extra;
    unsigned bytes = f->bits < 8 ? 1 : f->bits / 8;
    unsigned total = f->rows * f->columns;
    uint64_t address[PTX_LANES];

    ptx_address_lanes(w, i, address);
    for (unsigned slot = 0; slot < PTX_LANES * slots_of(f); slot++) {
        unsigned lane = slot / slots_of(f);
        uint64_t at = place_of(f, slot % total, stride_of(w, i, f, lane));
        uint64_t value = 0;
        const uint8_t *p = ptx_resolve(w, i, lane, i->space, address[lane] + at / 8, bytes, false);
        if (!p)
            return;
        memcpy(&value, p, bytes);
        write_slot(w, f, slot, value >> at % 8 & mask_of(f));
    }
}

void ptx_run_wmma_store(struct ptx_warp *w, const struct ptx_insn *i)
{
    const struct ptx_fragment *f = i->extra;
    unsigned bytes = f->bits / 8;
    unsigned total = f->rows * f->columns;
    uint64_t address[PTX_LANES];

    ptx_address_lanes(w, i, address);
    for (unsigned slot = 0; slot < total; slot++) {
        unsigned lane = slot / slots_of(f);
        uint64_t at = place_of(f, slot, stride_of(w, i, f, lane));
        uint64_t value = read_slot(w, f, slot);
        uint8_t *p = ptx_resolve(w, i, lane, i->space, address[lane] + at / 8, bytes, true);
        if (!p)
            return;
        memcpy(p, &value, bytes);
    }
}

static void gather(const struct ptx_warp *w, const struct ptx_fragment *f, double *out)
{
    for (unsigned e = 0; e < (unsigned)f->rows * f->columns; e++)
        out[e] = ptx_matrix_element(f->type, read_slot(w, f, e));
}

static double dot(const struct ptx_wmma *x, const double *a, const double *b, double sum)
{
    for (unsigned k = 0; k < x->k; k++) {
        double l = a[k];
        double r = b[(size_t)k * x->b.columns];
        if (x->a.type == PTX_B1)
            sum += x->is_and ? l * r : l != r;
        else
            sum = x->a.type == PTX_F64 ? fma(l, r, sum) : sum + l * r;
    }
    return sum;
}

void ptx_run_wmma(struct ptx_warp *w, const struct ptx_insn *i)
{
    const struct ptx_wmma *x = i->extra;
    double a[ELEMENTS_MAX];
    double b[ELEMENTS_MAX];
    double c[ELEMENTS_MAX];
    unsigned columns = x->d.columns;
    unsigned total = x->d.rows * columns;

    gather(w, &x->a, a);
    gather(w, &x->b, b);
    gather(w, &x->c, c);
    ptx_set_rounding(x->round);
    for (unsigned slot = 0; slot < PTX_LANES * slots_of(&x->d); slot++) {
        unsigned e = slot % total;
        double sum = dot(x, a + (size_t)(e / columns) * x->k, b + e % columns, c[e]);
        write_slot(w, &x->d, slot, ptx_matrix_result(x->d.type, sum, x->saturates));
    }
    ptx_set_rounding(PTX_ROUND_NEAREST);
}
