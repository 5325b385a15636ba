/* SPDX-License-Identifier: Apache-2.0
 *
 * wmma.
 */
#include "emu/ptx/decode/decode.h"
#include "emu/ptx/handlers/matrix/wmma.h"

static const struct {
    enum ptx_modifier mod;
    uint8_t m, n, k;
} shapes[] = {
    {MOD_m16n16k16, 16, 16, 16}, {MOD_m8n32k16, 8, 32, 16}, {MOD_m32n8k16, 32, 8, 16},
    {MOD_m16n16k8, 16, 16, 8},   {MOD_m8n8k4, 8, 8, 4},     {MOD_m8n8k32, 8, 8, 32},
    {MOD_m8n8k128, 8, 8, 128},
};

#define SHAPE_COUNT (sizeof(shapes) / sizeof(shapes[0]))

static int take_shape(struct ptx_parser *p)
{
    for (size_t k = 0; k < SHAPE_COUNT; k++)
        if (ptx_take(p, shapes[k].mod))
            return (int)k;
    return -1;
}

/* Bits of an element of A or B, when the shape has it. */
static unsigned bits_for(int shape, ptx_type type)
{
    switch (shapes[shape].k) {
    case 16:
        return type == PTX_F16 || type == PTX_BF16 ? 16 : type == PTX_U8 || type == PTX_S8 ? 8 : 0;
    case 8:
        return type == PTX_TF32 ? 32 : 0;
    case 4:
        return type == PTX_F64 ? 64 : 0;
    case 32:
        return type == PTX_U4 || type == PTX_S4 ? 4 : 0;
    default:
        return type == PTX_B1 ? 1 : 0;
    }
}

static unsigned accumulator_bits(int shape, ptx_type type)
{
    switch (shapes[shape].k) {
    case 16:
        return type == PTX_F16 ? 16 : type == PTX_F32 || type == PTX_S32 ? 32 : 0;
    case 8:
        return type == PTX_F32 ? 32 : 0;
    case 4:
        return type == PTX_F64 ? 64 : 0;
    default:
        return type == PTX_S32 ? 32 : 0;
    }
}

/* which: 'a', 'b', 'c' or 'd'. False: there is no such fragment. */
static bool make_fragment(struct ptx_fragment *f, int shape, char which, ptx_type type)
{
    bool input = which == 'a' || which == 'b';

    if (type == PTX_TYPE_COUNT)
        return false;
    f->rows = which == 'b' ? shapes[shape].k : shapes[shape].m;
    f->columns = which == 'a' ? shapes[shape].k : shapes[shape].n;
    f->bits = (uint8_t)(input ? bits_for(shape, type) : accumulator_bits(shape, type));
    f->type = type;
    unsigned bits = f->rows * f->columns * f->bits / 32;
    f->count = (uint8_t)(bits / (f->bits == 64 ? 64 : 32));
    if (input && type == PTX_F16)
        f->count = 8; /* whatever the shape */
    return f->bits != 0;
}

static ptx_type register_of(const struct ptx_fragment *f)
{
    return f->type == PTX_F64 || f->type == PTX_F32 ? f->type : PTX_B32;
}

static int take_layout(struct ptx_parser *p)
{
    static const enum ptx_modifier layouts[] = {MOD_row, MOD_col, MOD_COUNT};

    return ptx_take_one(p, layouts);
}

static bool decode_move(struct ptx_parser *p, bool stores)
{
    static const enum ptx_modifier names[] = {MOD_a, MOD_b, MOD_c, MOD_COUNT};
    struct ptx_fragment *f = ptx_extra(p, sizeof(*f));
    struct ptx_address a;
    int which = stores ? (ptx_take(p, MOD_d) ? 3 : -1) : ptx_take_one(p, names);

    if (!f)
        return false;
    if (which < 0 || !ptx_take(p, MOD_sync) || !ptx_take(p, MOD_aligned))
        return ptx_unsupported(p);
    int layout = take_layout(p);
    int shape = take_shape(p);
    enum ptx_space space = ptx_take_space(p);
    if (layout < 0 || shape < 0 || !make_fragment(f, shape, "abcd"[which], ptx_take_type(p)))
        return ptx_unsupported(p);
    f->is_column_major = layout == 1;
    if (f->bits < 8 && f->is_column_major != (which == 1))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 2, 3) ||
        !ptx_parse_fragment(p, stores, f->count, register_of(f), f->ops) ||
        !ptx_parse_address(p, ptx_operand_at(p, !stores), space, &a))
        return false;
    ptx_op stride = p->statement.operand_count == 3
                        ? ptx_source(p, ptx_operand_at(p, 2), PTX_U32, false)
                        : PTX_OP_NONE;
    struct ptx_insn *i = ptx_emit(p, stores ? ptx_run_wmma_store : ptx_run_wmma_load);
    ptx_set_address(i, &a);
    i->src[1] = stride;
    i->extra = f;
    return true;
}

/* f16 names only D and C; the others D, A, B, C. */
static bool take_types(struct ptx_parser *p, struct ptx_wmma *x, int shape)
{
    ptx_type t[4];
    unsigned count = 0;

    while (count < 4 && (t[count] = ptx_take_type(p)) != PTX_TYPE_COUNT)
        count++;
    if (count == 2) {
        t[3] = t[1];
        t[1] = t[2] = PTX_F16;
    } else if (count != 4 || t[1] == PTX_F16) {
        return false;
    }
    bool real = ptx_type_class(t[1]) == 'f';
    if ((t[0] == PTX_S32) == real || (t[3] == PTX_S32) == real ||
        (t[1] != PTX_F16 && (t[0] == PTX_F16 || t[3] == PTX_F16)) || (real && t[1] != t[2]))
        return false;
    return make_fragment(&x->d, shape, 'd', t[0]) && make_fragment(&x->a, shape, 'a', t[1]) &&
           make_fragment(&x->b, shape, 'b', t[2]) && make_fragment(&x->c, shape, 'c', t[3]) &&
           x->a.bits == x->b.bits;
}

static bool decode_product(struct ptx_parser *p)
{
    struct ptx_wmma *x = ptx_extra(p, sizeof(*x));

    if (!x)
        return false;
    x->is_and = ptx_take(p, MOD_and);
    bool bits = x->is_and || ptx_take(p, MOD_xor);
    if ((bits && !ptx_take(p, MOD_popc)) || !ptx_take(p, MOD_sync) || !ptx_take(p, MOD_aligned))
        return ptx_unsupported(p);
    int a_layout = take_layout(p);
    int b_layout = take_layout(p);
    int shape = take_shape(p);
    if (a_layout < 0 || b_layout < 0 || shape < 0 || !take_types(p, x, shape))
        return ptx_unsupported(p);
    x->k = shapes[shape].k;
    x->saturates = ptx_take(p, MOD_satfinite);
    x->round = ptx_take_f64_rounding(p, x->a.type);
    if (bits != (x->a.type == PTX_B1) || (x->a.bits < 8 && (a_layout != 0 || b_layout != 1)) ||
        (x->saturates && x->c.type != PTX_S32))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 4, 4) ||
        !ptx_parse_fragment(p, 0, x->d.count, register_of(&x->d), x->d.ops) ||
        !ptx_parse_fragment(p, 1, x->a.count, register_of(&x->a), x->a.ops) ||
        !ptx_parse_fragment(p, 2, x->b.count, register_of(&x->b), x->b.ops) ||
        !ptx_parse_fragment(p, 3, x->c.count, register_of(&x->c), x->c.ops))
        return false;
    ptx_emit(p, ptx_run_wmma)->extra = x;
    return true;
}

static bool decode_wmma(struct ptx_parser *p, const struct ptx_row *row)
{
    if (ptx_take(p, MOD_load))
        return decode_move(p, false);
    if (ptx_take(p, MOD_store))
        return decode_move(p, true);
    return ptx_take(p, MOD_mma) ? decode_product(p) : ptx_unsupported(p);
}

const struct ptx_row ptx_rows_wmma[] = {
    {"wmma", decode_wmma, 0, 0},
    {0},
};
