/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrices.
 */
#include "emu/ptx_decode.h"

#include <string.h>

static const struct {
    enum ptx_mod mod;
    uint8_t m, n, k;
} shapes[] = {
    {MOD_m8n8k4, 8, 8, 4},   {MOD_m8n8k16, 8, 8, 16},   {MOD_m16n8k4, 16, 8, 4},
    {MOD_m16n8k8, 16, 8, 8}, {MOD_m16n8k16, 16, 8, 16}, {MOD_m16n8k32, 16, 8, 32},
};

static unsigned bits_of(ptx_type type)
{
    return type == PTX_U8 || type == PTX_S8      ? 8
           : type == PTX_F16 || type == PTX_BF16 ? 16
           : type == PTX_TF32                    ? 32
           : type == PTX_F64                     ? 64
                                                 : 0;
}

/* Which shapes exist for which elements, as bits of k. */
static bool is_shape(const struct ptx_mma *x)
{
    switch (x->bits) {
    case 8:
        return x->m == 8 ? x->k == 16 : x->k == 16 || x->k == 32;
    case 16:
        return x->m == 16 && (x->k == 8 || x->k == 16);
    case 32:
        return x->m == 16 && (x->k == 4 || x->k == 8);
    default:
        return x->bits == 64 && (x->m == 8 ? x->k == 4 : x->k <= 16);
    }
}

static bool take_shape(struct ptx_parser *p, struct ptx_mma *x)
{
    for (size_t k = 0; k < sizeof(shapes) / sizeof(shapes[0]); k++)
        if (ptx_take(p, shapes[k].mod)) {
            x->m = shapes[k].m;
            x->n = shapes[k].n;
            x->k = shapes[k].k;
            return true;
        }
    return false;
}

static bool are_types(const struct ptx_mma *x)
{
    if (x->bits == 8)
        return bits_of(x->b_type) == 8 && x->c_type == PTX_S32 && x->d_type == PTX_S32;
    if (x->a_type != x->b_type)
        return false;
    if (x->bits == 64)
        return x->c_type == PTX_F64 && x->d_type == PTX_F64;
    bool half = x->a_type == PTX_F16;
    return (x->c_type == PTX_F32 || (half && x->c_type == PTX_F16)) &&
           (x->d_type == PTX_F32 || (half && x->d_type == PTX_F16));
}

static void count_registers(struct ptx_mma *x)
{
    unsigned lanes_bits = x->bits == 64 ? 64 : 32;

    x->a_count = (uint8_t)(x->m * x->k * x->bits / 32 / lanes_bits);
    x->b_count = (uint8_t)(x->n * x->k * x->bits / 32 / lanes_bits);
    x->c_count = (uint8_t)(x->m * x->n / 32 / (x->c_type == PTX_F16 ? 2 : 1));
    x->d_count = (uint8_t)(x->m * x->n / 32 / (x->d_type == PTX_F16 ? 2 : 1));
}

static ptx_type register_of(ptx_type type)
{
    return type == PTX_F64 ? PTX_B64 : PTX_B32;
}

static bool parse_fragment(struct ptx_parser *p, unsigned operand, unsigned count, ptx_type type,
                           ptx_op *out)
{
    const struct ptx_operand *o = ptx_operand_at(p, operand);

    if (o->kind != PTX_OPERAND_VECTOR || o->count != count)
        return ptx_bad_operands(p);
    for (unsigned k = 0; k < count; k++) {
        const struct ptx_operand *e = ptx_operand_at(p, o->first + k);
        out[k] = operand == 0 ? ptx_dest(p, e, type, false) : ptx_source(p, e, type, false);
    }
    return p->status == PTX_OK;
}

static bool decode_mma(struct ptx_parser *p, const struct ptx_row *row)
{
    struct ptx_mma *x = ptx_extra(p, sizeof(*x));

    if (!x)
        return false;
    if (!ptx_take(p, MOD_sync) || !ptx_take(p, MOD_aligned) || !take_shape(p, x) ||
        !ptx_take(p, MOD_row) || !ptx_take(p, MOD_col))
        return ptx_unsupported(p);
    x->saturates = ptx_take(p, MOD_satfinite);
    x->d_type = ptx_take_type(p);
    x->a_type = ptx_take_type(p);
    x->b_type = ptx_take_type(p);
    x->c_type = ptx_take_type(p);
    x->bits = x->c_type == PTX_TYPE_COUNT ? 0 : (uint8_t)bits_of(x->a_type);
    if (!x->bits || !is_shape(x) || !are_types(x) || (x->saturates && x->bits != 8))
        return ptx_unsupported(p);
    count_registers(x);
    if (!ptx_want_operands(p, 4, 4))
        return false;
    ptx_op *at = x->ops;
    if (!parse_fragment(p, 0, x->d_count, register_of(x->d_type), at) ||
        !parse_fragment(p, 1, x->a_count, register_of(x->a_type), at + x->d_count) ||
        !parse_fragment(p, 2, x->b_count, register_of(x->b_type), at + x->d_count + x->a_count) ||
        !parse_fragment(p, 3, x->c_count, register_of(x->c_type),
                        at + x->d_count + x->a_count + x->b_count))
        return false;
    ptx_emit(p, ptx_run_mma)->extra = x;
    return true;
}

static bool decode_load_matrix(struct ptx_parser *p, const struct ptx_row *row)
{
    static const enum ptx_mod counts[] = {MOD_x1, MOD_x2, MOD_x4, MOD_COUNT};
    struct ptx_address a;
    int count;

    if (!ptx_take(p, MOD_sync) || !ptx_take(p, MOD_aligned) || !ptx_take(p, MOD_m8n8))
        return ptx_unsupported(p);
    count = ptx_take_one(p, counts);
    bool trans = ptx_take(p, MOD_trans);
    bool shared = ptx_take(p, MOD_shared) || ptx_take(p, MOD_shared_cta);
    if (count < 0 || !ptx_take(p, PTX_B16))
        return ptx_unsupported(p);
    unsigned matrices = 1u << count;
    ptx_op *ops = ptx_extra(p, matrices * sizeof(*ops));
    if (!ops || !ptx_want_operands(p, 2, 2) || !parse_fragment(p, 0, matrices, PTX_B32, ops))
        return false;
    enum ptx_space space = shared ? PTX_SPACE_SHARED : PTX_SPACE_GENERIC;
    if (!ptx_parse_address(p, ptx_operand_at(p, 1), space, &a))
        return false;
    struct ptx_insn *i = ptx_emit(p, ptx_run_load_matrix);
    ptx_set_address(i, &a);
    i->extra = ops;
    i->count = (uint8_t)matrices;
    i->flags = (uint32_t)trans << PTX_F_MODE_SHIFT;
    return true;
}

const struct ptx_row ptx_rows_tensor[] = {
    {"mma", decode_mma, 0, 0},
    {"ldmatrix", decode_load_matrix, 0, 0},
    {0},
};
