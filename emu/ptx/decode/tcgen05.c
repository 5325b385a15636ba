/* SPDX-License-Identifier: Apache-2.0
 *
 * tcgen05 but for products.
 */
#include "emu/ptx/decode/decode.h"
#include "emu/ptx/handlers/matrix/tcgen05.h"

bool ptx_parse_tensor_place(struct ptx_parser *p, unsigned operand, struct ptx_tensor_place *out)
{
    const struct ptx_operand *o = ptx_operand_at(p, operand);

    if (o->kind != PTX_OPERAND_ADDRESS || o->count)
        return ptx_bad_operands(p);
    out->base = ptx_source(p, ptx_operand_at(p, o->first), PTX_B32, false);
    out->addend = (uint32_t)o->value;
    return p->status == PTX_OK;
}

/* .cta_group::1 or ::2, which all but ld, st, waits and fences have. */
static bool take_pair(struct ptx_parser *p, bool *is_pair)
{
    *is_pair = ptx_take(p, MOD_cta_group_2);
    return *is_pair || ptx_take(p, MOD_cta_group_1);
}

static bool take_aligned(struct ptx_parser *p)
{
    return ptx_take(p, MOD_sync) && ptx_take(p, MOD_aligned);
}

/* ---- allocation ---- */

static bool decode_alloc(struct ptx_parser *p)
{
    struct ptx_address a;
    bool is_pair;

    if (!take_pair(p, &is_pair) || !take_aligned(p))
        return ptx_unsupported(p);
    enum ptx_space space = ptx_take_space(p);
    if ((space != PTX_SPACE_SHARED && space != PTX_SPACE_GENERIC) || !ptx_take(p, PTX_B32))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 2, 2) || !ptx_parse_address(p, ptx_operand_at(p, 0), space, &a))
        return false;
    ptx_op columns = ptx_source(p, ptx_operand_at(p, 1), PTX_U32, false);
    struct ptx_insn *i = ptx_emit(p, ptx_run_tensor_alloc);
    ptx_set_address(i, &a);
    i->src[1] = columns;
    return p->status == PTX_OK;
}

static bool decode_dealloc(struct ptx_parser *p)
{
    bool is_pair;

    if (!take_pair(p, &is_pair) || !take_aligned(p) || !ptx_take(p, PTX_B32))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 2, 2))
        return false;
    ptx_op address = ptx_source(p, ptx_operand_at(p, 0), PTX_B32, false);
    ptx_op columns = ptx_source(p, ptx_operand_at(p, 1), PTX_U32, false);
    struct ptx_insn *i = ptx_emit(p, ptx_run_tensor_dealloc);
    i->src[0] = address;
    i->src[1] = columns;
    return p->status == PTX_OK;
}

static bool decode_close(struct ptx_parser *p)
{
    bool is_pair;

    if (!take_pair(p, &is_pair) || !take_aligned(p))
        return ptx_unsupported(p);
    ptx_emit(p, ptx_run_tensor_close);
    return ptx_want_operands(p, 0, 0);
}

/* ---- ld and st ---- */

/* Registers of a shape that is not repeated. */
static const struct {
    enum ptx_modifier mod;
    uint8_t registers;
} shapes[] = {
    [PTX_TENSOR_32X32B] = {MOD_shape_32x32b, 1},     [PTX_TENSOR_16X64B] = {MOD_shape_16x64b, 1},
    [PTX_TENSOR_16X128B] = {MOD_shape_16x128b, 2},   [PTX_TENSOR_16X256B] = {MOD_shape_16x256b, 4},
    [PTX_TENSOR_16X32BX2] = {MOD_shape_16x32bx2, 1},
};

static bool take_move(struct ptx_parser *p, struct ptx_tensor_move *x)
{
    static const enum ptx_modifier counts[] = {MOD_x1,  MOD_x2,  MOD_x4,   MOD_x8,   MOD_x16,
                                               MOD_x32, MOD_x64, MOD_x128, MOD_COUNT};
    unsigned shape = 0;

    if (!take_aligned(p))
        return false;
    while (shape <= PTX_TENSOR_16X32BX2 && !ptx_take(p, shapes[shape].mod))
        shape++;
    int count = ptx_take_one(p, counts);
    if (shape > PTX_TENSOR_16X32BX2 || count < 0)
        return false;
    x->shape = (uint8_t)shape;
    x->count = (uint16_t)(shapes[shape].registers << count);
    x->packs = ptx_take(p, x->stores ? MOD_unpack_16b : MOD_pack_16b);
    return x->count <= 128 && ptx_take(p, PTX_B32);
}

/* One register need not be in braces. */
static bool parse_registers(struct ptx_parser *p, unsigned at, struct ptx_tensor_move *x)
{
    const struct ptx_operand *o = ptx_operand_at(p, at);

    if (o->kind == PTX_OPERAND_VECTOR)
        return ptx_parse_fragment(p, at, x->count, PTX_B32, x->registers);
    if (x->count != 1)
        return ptx_bad_operands(p);
    x->registers[0] = x->stores ? ptx_source(p, o, PTX_B32, false) : ptx_dest(p, o, PTX_B32, false);
    return p->status == PTX_OK;
}

/* r, [place] {, columns}; [place] {, columns}, r */
static bool decode_move(struct ptx_parser *p, bool stores)
{
    struct ptx_tensor_move *x = ptx_extra(p, sizeof(*x));

    if (!x)
        return false;
    x->stores = stores;
    if (!take_move(p, x))
        return ptx_unsupported(p);
    bool is_split = x->shape == PTX_TENSOR_16X32BX2;
    const struct ptx_operand *second = ptx_operand_at(p, stores ? 1 : 2);
    if (!ptx_want_operands(p, 2u + is_split, 2u + is_split))
        return false;
    if (is_split && (second->kind != PTX_OPERAND_INT || second->value > 0xffff))
        return ptx_bad_operands(p);
    x->second = is_split ? (uint32_t)second->value : 0;
    if (!ptx_parse_tensor_place(p, !stores, &x->place) ||
        !parse_registers(p, stores ? 1u + is_split : 0, x))
        return false;
    ptx_emit(p, ptx_run_tensor_move)->extra = x;
    return true;
}

/* ---- cp and shift ---- */

static bool take_fill(struct ptx_parser *p, struct ptx_tensor_fill *x)
{
    static const struct {
        enum ptx_modifier shape, multicast; /* MOD_COUNT: none */
        uint8_t rows, columns, from[4];
    } forms[] = {
        {MOD_shape_128x256b, MOD_COUNT, 128, 8, {0, 1, 2, 3}},
        {MOD_shape_128x128b, MOD_COUNT, 128, 4, {0, 1, 2, 3}},
        {MOD_shape_64x128b, MOD_warpx2_02_13, 64, 4, {0, 1, 0, 1}},
        {MOD_shape_64x128b, MOD_warpx2_01_23, 64, 4, {0, 0, 1, 1}},
        {MOD_shape_32x128b, MOD_warpx4, 32, 4, {0, 0, 0, 0}},
    };

    if (!take_pair(p, &x->is_pair))
        return false;
    for (size_t k = 0; k < sizeof(forms) / sizeof(forms[0]); k++) {
        if (forms[k].multicast != MOD_COUNT && !ptx_take(p, forms[k].multicast))
            continue;
        if (!ptx_take(p, forms[k].shape))
            continue;
        x->rows = forms[k].rows;
        x->columns = forms[k].columns;
        for (unsigned q = 0; q < 4; q++)
            x->from[q] = forms[k].from[q];
        return true;
    }
    return false;
}

static bool decode_fill(struct ptx_parser *p)
{
    struct ptx_tensor_fill *x = ptx_extra(p, sizeof(*x));

    if (!x)
        return false;
    if (!take_fill(p, x))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 2, 2) || !ptx_parse_tensor_place(p, 0, &x->place))
        return false;
    x->descriptor = ptx_source(p, ptx_operand_at(p, 1), PTX_B64, false);
    ptx_emit(p, ptx_run_tensor_fill)->extra = x;
    return p->status == PTX_OK;
}

static bool decode_shift(struct ptx_parser *p)
{
    struct ptx_tensor_place *place = ptx_extra(p, sizeof(*place));
    bool is_pair;

    if (!place)
        return false;
    if (!take_pair(p, &is_pair) || !ptx_take(p, MOD_down))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 1, 1) || !ptx_parse_tensor_place(p, 0, place))
        return false;
    struct ptx_insn *i = ptx_emit(p, ptx_run_tensor_shift);
    i->extra = place;
    i->flags = (uint32_t)is_pair << PTX_F_MODE_SHIFT;
    return true;
}

/* ---- commit, waits, fences ---- */

static bool decode_commit(struct ptx_parser *p)
{
    struct ptx_address a;
    bool is_pair;

    if (!take_pair(p, &is_pair) || !ptx_take(p, MOD_arrive_one))
        return ptx_unsupported(p);
    enum ptx_space space = ptx_take_space(p);
    bool multicast = ptx_take(p, MOD_multicast_cluster);
    if ((space != PTX_SPACE_CLUSTER && space != PTX_SPACE_GENERIC) || !ptx_take(p, PTX_B64))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 1u + multicast, 1u + multicast) ||
        !ptx_parse_address(p, ptx_operand_at(p, 0), space, &a))
        return false;
    ptx_op blocks = multicast ? ptx_source(p, ptx_operand_at(p, 1), PTX_B16, false) : PTX_OP_NONE;
    struct ptx_insn *i = ptx_emit(p, ptx_run_tensor_commit);
    ptx_set_address(i, &a);
    i->src[1] = blocks;
    return p->status == PTX_OK;
}

static bool decode_tcgen05(struct ptx_parser *p, const struct ptx_row *row)
{
    static const enum ptx_modifier waits[] = {MOD_wait_ld, MOD_wait_st, MOD_COUNT};
    static const enum ptx_modifier fences[] = {MOD_before_sync, MOD_after_sync, MOD_COUNT};

    if (ptx_take(p, MOD_mma))
        return ptx_decode_tensor_product(p);
    if (ptx_take(p, MOD_ld))
        return decode_move(p, false);
    if (ptx_take(p, MOD_st))
        return decode_move(p, true);
    if (ptx_take(p, MOD_commit))
        return decode_commit(p);
    if (ptx_take(p, MOD_alloc))
        return decode_alloc(p);
    if (ptx_take(p, MOD_dealloc))
        return decode_dealloc(p);
    if (ptx_take(p, MOD_relinquish))
        return decode_close(p);
    if (ptx_take(p, MOD_cp))
        return decode_fill(p);
    if (ptx_take(p, MOD_shift))
        return decode_shift(p);
    if (ptx_take_one(p, fences) < 0 && (ptx_take_one(p, waits) < 0 || !take_aligned(p)))
        return ptx_unsupported(p);
    ptx_emit(p, ptx_run_nothing);
    return ptx_want_operands(p, 0, 0);
}

const struct ptx_row ptx_rows_tcgen05[] = {
    {"tcgen05", decode_tcgen05, 0, 0},
    {0},
};
