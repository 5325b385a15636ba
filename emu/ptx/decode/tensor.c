/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrices.
 */
#include "emu/ptx/decode/decode.h"

static const struct {
    enum ptx_modifier mod;
    uint8_t m, n;
    uint16_t k;
} shapes[] = {
    {MOD_m8n8k4, 8, 8, 4},       {MOD_m8n8k16, 8, 8, 16},     {MOD_m16n8k4, 16, 8, 4},
    {MOD_m16n8k8, 16, 8, 8},     {MOD_m16n8k16, 16, 8, 16},   {MOD_m16n8k32, 16, 8, 32},
    {MOD_m8n8k32, 8, 8, 32},     {MOD_m16n8k64, 16, 8, 64},   {MOD_m8n8k128, 8, 8, 128},
    {MOD_m16n8k128, 16, 8, 128}, {MOD_m16n8k256, 16, 8, 256},
};

static unsigned bits_of(ptx_type type)
{
    switch (type) {
    case PTX_B1:
        return 1;
    case PTX_U4:
    case PTX_S4:
        return 4;
    case PTX_U8:
    case PTX_S8:
    case PTX_E4M3:
    case PTX_E5M2:
        return 8;
    case PTX_F16:
    case PTX_BF16:
        return 16;
    case PTX_TF32:
        return 32;
    case PTX_F64:
        return 64;
    default:
        return 0;
    }
}

static bool is_byte_float(ptx_type type)
{
    return type == PTX_E4M3 || type == PTX_E5M2;
}

static bool is_sparse_shape(const struct ptx_mma *x)
{
    if (x->m != 16)
        return false;
    switch (x->bits) {
    case 4:
        return x->k == 64 || x->k == 128;
    case 8:
        return (x->k == 32 && !is_byte_float(x->a_type)) || x->k == 64;
    case 16:
        return x->k == 16 || x->k == 32;
    default:
        return x->bits == 32 && (x->k == 8 || x->k == 16);
    }
}

/* Which shapes exist for which elements. */
static bool is_shape(const struct ptx_mma *x)
{
    switch (x->bits) {
    case 1:
        return x->m == 8 ? x->k == 128 : x->k == 128 || x->k == 256;
    case 4:
        return x->m == 8 ? x->k == 32 : x->k == 32 || x->k == 64;
    case 8:
        return x->m == 8 ? x->k == 16 && !is_byte_float(x->a_type) : x->k == 16 || x->k == 32;
    case 16:
        return x->m == 16 ? x->k == 8 || x->k == 16 : x->k == 4 && x->a_type == PTX_F16;
    case 32:
        return x->m == 16 && (x->k == 4 || x->k == 8);
    default:
        return x->m == 8 ? x->k == 4 : x->k <= 16;
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
    bool quad = x->m == 8 && x->k == 4;
    bool half = x->a_type == PTX_F16 || is_byte_float(x->a_type);
    bool wanted = (x->c_type == PTX_F32 || (half && x->c_type == PTX_F16)) &&
                  (x->d_type == PTX_F32 || (half && x->d_type == PTX_F16));

    if (x->bits <= 4 || (x->bits == 8 && !is_byte_float(x->a_type)))
        return bits_of(x->b_type) == x->bits && !is_byte_float(x->b_type) && x->c_type == PTX_S32 &&
               x->d_type == PTX_S32;
    if (x->bits == 8)
        return is_byte_float(x->b_type) && wanted && x->c_type == x->d_type;
    if (x->a_type != x->b_type)
        return false;
    if (x->bits == 64)
        return x->c_type == PTX_F64 && x->d_type == PTX_F64;
    return wanted && (quad || x->c_type == x->d_type);
}

static bool is_quad(const struct ptx_mma *x)
{
    return x->m == 8 && x->k == 4 && x->bits == 16;
}

static void count_registers(struct ptx_mma *x)
{
    unsigned lanes_bits = x->bits == 64 ? 64 : 32;
    unsigned products = is_quad(x) ? 4 : 1;

    x->a_count = (uint8_t)(products * x->m * x->k * x->bits / 32 / lanes_bits);
    if (x->is_sparse)
        x->a_count /= 2;
    x->b_count = (uint8_t)(products * x->n * x->k * x->bits / 32 / lanes_bits);
    x->c_count = (uint8_t)(products * x->m * x->n / 32 / (x->c_type == PTX_F16 ? 2 : 1));
    x->d_count = (uint8_t)(products * x->m * x->n / 32 / (x->d_type == PTX_F16 ? 2 : 1));
}

static ptx_type register_of(ptx_type type)
{
    return type == PTX_F64 || type == PTX_F32 ? type : PTX_B32;
}

bool ptx_parse_fragment(struct ptx_parser *p, unsigned operand, unsigned count, ptx_type type,
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

/* .row.col but for m8n8k4 of f16. */
static bool take_layouts(struct ptx_parser *p, struct ptx_mma *x)
{
    static const enum ptx_modifier layouts[] = {MOD_row, MOD_col, MOD_COUNT};
    int a = ptx_take_one(p, layouts);
    int b = ptx_take_one(p, layouts);

    x->a_row = a == 0;
    x->b_row = b == 0;
    return a >= 0 && b >= 0;
}

static bool take_mma(struct ptx_parser *p, struct ptx_mma *x)
{
    /* Metadata that is in order is metadata. */
    x->is_sparse = ptx_take(p, MOD_sp) || ptx_take(p, MOD_sp_ordered);
    if (!ptx_take(p, MOD_sync) || !ptx_take(p, MOD_aligned) || !take_shape(p, x) ||
        !take_layouts(p, x))
        return false;
    x->saturates = ptx_take(p, MOD_satfinite);
    x->d_type = ptx_take_type(p);
    x->a_type = ptx_take_type(p);
    x->b_type = ptx_take_type(p);
    x->c_type = ptx_take_type(p);
    x->bits = x->c_type == PTX_TYPE_COUNT ? 0 : (uint8_t)bits_of(x->a_type);
    if (!x->bits || !(x->is_sparse ? is_sparse_shape(x) : is_shape(x)) || !are_types(x) ||
        (!is_quad(x) && (!x->a_row || x->b_row)))
        return false;
    if (x->saturates && (x->c_type != PTX_S32 || x->bits == 1))
        return false;
    x->is_and = x->bits == 1 && ptx_take(p, MOD_and);
    if (x->bits == 1 && ((!x->is_and && !ptx_take(p, MOD_xor)) || !ptx_take(p, MOD_popc)))
        return false;
    return true;
}

uint8_t ptx_take_f64_rounding(struct ptx_parser *p, ptx_type type)
{
    static const enum ptx_modifier rounds[] = {MOD_rn, MOD_rz, MOD_rm, MOD_rp, MOD_COUNT};
    int round = type == PTX_F64 ? ptx_take_one(p, rounds) : -1;

    return round > 0 ? (uint8_t)round : PTX_ROUND_NEAREST;
}

/* After the matrices: the metadata, and which lanes of four have it. */
static bool parse_metadata(struct ptx_parser *p, struct ptx_mma *x)
{
    const struct ptx_operand *selector = ptx_operand_at(p, 5);
    unsigned bits = x->bits == 32 ? 2u * x->k : x->bits == 4 ? x->k / 2u : x->k;

    if (selector->kind != PTX_OPERAND_INT || selector->value >= 64 / bits)
        return ptx_bad_operands(p);
    x->selector = (uint8_t)selector->value;
    x->metadata = ptx_source(p, ptx_operand_at(p, 4), PTX_B32, false);
    return p->status == PTX_OK;
}

/* Looks for .kind::..., which other forms do not have. */
static bool has_kind(const struct ptx_statement *s)
{
    for (unsigned k = 0; k < s->mod_count; k++)
        if (s->mods[k] == MOD_kind_f8f6f4 || s->mods[k] == MOD_kind_mxf8f6f4 ||
            s->mods[k] == MOD_kind_mxf4 || s->mods[k] == MOD_kind_mxf4nvf4)
            return true;
    return false;
}

static bool decode_mma(struct ptx_parser *p, const struct ptx_row *row)
{
    if (has_kind(&p->statement))
        return ptx_decode_scaled_mma(p);
    struct ptx_mma *x = ptx_extra(p, sizeof(*x));

    if (!x)
        return false;
    if (!take_mma(p, x))
        return ptx_unsupported(p);
    x->round = ptx_take_f64_rounding(p, x->a_type);
    count_registers(x);
    unsigned operands = x->is_sparse ? 6 : 4;
    if (!ptx_want_operands(p, operands, operands) || (x->is_sparse && !parse_metadata(p, x)))
        return false;
    ptx_op *at = x->ops;
    ptx_type in = x->bits == 64 ? PTX_F64 : PTX_B32;
    if (!ptx_parse_fragment(p, 0, x->d_count, register_of(x->d_type), at) ||
        !ptx_parse_fragment(p, 1, x->a_count, in, at + x->d_count) ||
        !ptx_parse_fragment(p, 2, x->b_count, in, at + x->d_count + x->a_count) ||
        !ptx_parse_fragment(p, 3, x->c_count, register_of(x->c_type),
                            at + x->d_count + x->a_count + x->b_count))
        return false;
    ptx_fn fn = x->bits == 1 ? ptx_run_mma_bits : is_quad(x) ? ptx_run_mma_quad : ptx_run_mma;
    ptx_emit(p, fn)->extra = x;
    return true;
}

/* ldmatrix d, [a] and stmatrix [a], b */
static bool decode_move_matrix(struct ptx_parser *p, const struct ptx_row *row)
{
    static const enum ptx_modifier counts[] = {MOD_x1, MOD_x2, MOD_x4, MOD_COUNT};
    bool stores = row->op;
    struct ptx_address a;

    if (!ptx_take(p, MOD_sync) || !ptx_take(p, MOD_aligned))
        return ptx_unsupported(p);
    if (!ptx_take(p, MOD_m8n8))
        return ptx_decode_byte_matrix(p, stores);
    int count = ptx_take_one(p, counts);
    bool trans = ptx_take(p, MOD_trans);
    bool shared = ptx_take(p, MOD_shared) || ptx_take(p, MOD_shared_cta);
    if (count < 0 || !ptx_take(p, PTX_B16))
        return ptx_unsupported(p);
    unsigned matrices = 1u << count;
    ptx_op *ops = ptx_extra(p, matrices * sizeof(*ops));
    if (!ops || !ptx_want_operands(p, 2, 2) ||
        !ptx_parse_fragment(p, stores, matrices, PTX_B32, ops))
        return false;
    enum ptx_space space = shared ? PTX_SPACE_SHARED : PTX_SPACE_GENERIC;
    if (!ptx_parse_address(p, ptx_operand_at(p, !stores), space, &a))
        return false;
    struct ptx_insn *i = ptx_emit(p, stores ? ptx_run_store_matrix : ptx_run_load_matrix);
    ptx_set_address(i, &a);
    i->extra = ops;
    i->count = (uint8_t)matrices;
    i->flags = (uint32_t)trans << PTX_F_MODE_SHIFT;
    return true;
}

static bool decode_transpose(struct ptx_parser *p, const struct ptx_row *row)
{
    if (!ptx_take(p, MOD_sync) || !ptx_take(p, MOD_aligned) || !ptx_take(p, MOD_m8n8) ||
        !ptx_take(p, MOD_trans) || !ptx_take(p, PTX_B16))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 2, 2))
        return false;
    ptx_op dst = ptx_dest(p, ptx_operand_at(p, 0), PTX_B32, false);
    ptx_op a = ptx_source(p, ptx_operand_at(p, 1), PTX_B32, false);
    struct ptx_insn *i = ptx_emit(p, ptx_run_transpose);
    i->dst = dst;
    i->src[0] = a;
    return true;
}

const struct ptx_row ptx_rows_tensor[] = {
    {"mma", decode_mma, 0, 0},
    {"ldmatrix", decode_move_matrix, 0, 0},
    {"stmatrix", decode_move_matrix, 1, 0},
    {"movmatrix", decode_transpose, 0, 0},
    {0},
};
