/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrices and asynchronous copies.
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

/* Copies are done when they are started, so waiting for them is nothing. */
static bool decode_copy_wait(struct ptx_parser *p)
{
    static const enum ptx_mod words[] = {MOD_commit_group, MOD_wait_group, MOD_wait_all, MOD_COUNT};

    if (ptx_take_one(p, words) < 0)
        return false;
    ptx_emit(p, ptx_run_nothing);
    return true;
}

static bool decode_copy(struct ptx_parser *p, const struct ptx_row *row)
{
    struct ptx_address to;
    struct ptx_address from;

    if (!ptx_take(p, MOD_async))
        return ptx_unsupported(p);
    if (decode_copy_wait(p))
        return true;
    bool shared = ptx_take(p, MOD_shared) || ptx_take(p, MOD_shared_cta);
    ptx_take_hints(p);
    bool hint = ptx_take(p, MOD_l2_cache_hint);
    if (!shared || !ptx_take(p, MOD_global))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 3u + hint, 4u + hint))
        return false;
    const struct ptx_operand *size = ptx_operand_at(p, 2);
    bool partial = p->statement.operand_count > 3u + hint;
    if (size->kind != PTX_OPERAND_INT ||
        (size->value != 4 && size->value != 8 && size->value != 16))
        return ptx_bad_operands(p);
    if (partial && ptx_operand_at(p, 3)->type == PTX_PRED)
        return ptx_unsupported(p); /* ignore-src */
    if (!ptx_parse_address(p, ptx_operand_at(p, 0), PTX_SPACE_SHARED, &to) ||
        !ptx_parse_address(p, ptx_operand_at(p, 1), PTX_SPACE_GLOBAL, &from))
        return false;
    if (from.base == PTX_OP_NONE || from.is_narrow)
        return ptx_bad_operands(p);
    ptx_op read = partial ? ptx_source(p, ptx_operand_at(p, 3), PTX_U32, false) : PTX_OP_NONE;
    ptx_op source = ptx_register_new(p, PTX_U64, 1);
    ptx_op offset = ptx_pool_value(p, (uint64_t)from.imm, 8);
    struct ptx_insn *sum = ptx_emit(p, ptx_handler(PTX_ALU_ADD, PTX_U64));
    sum->dst = source;
    sum->src[0] = from.base;
    sum->src[1] = offset;
    struct ptx_insn *i = ptx_emit(p, ptx_run_copy);
    ptx_set_address(i, &to);
    i->src[1] = source;
    i->src[2] = read;
    i->count = (uint8_t)size->value;
    return true;
}

const struct ptx_row ptx_rows_tensor[] = {
    {"mma", decode_mma, 0, 0},
    {"ldmatrix", decode_load_matrix, 0, 0},
    {"cp", decode_copy, 0, 0},
    {0},
};
