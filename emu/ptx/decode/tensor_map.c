/* SPDX-License-Identifier: Apache-2.0
 *
 * Bulk copies of tensors, and tensormap.
 */
#include "emu/ptx/decode/decode.h"
#include "emu/ptx/handlers/async.h"
#include "emu/ptx/handlers/matrix/tensor_map.h"

/* ---- copies ---- */

static bool take_rank(struct ptx_parser *p, struct ptx_tensor_copy *c)
{
    static const enum ptx_modifier ranks[] = {MOD_geom_1d, MOD_geom_2d, MOD_geom_3d,
                                              MOD_geom_4d, MOD_geom_5d, MOD_COUNT};
    int rank = ptx_take_one(p, ranks);

    c->rank = (uint8_t)(rank + 1);
    return rank >= 0;
}

static bool take_load(struct ptx_parser *p, struct ptx_tensor_copy *c)
{
    c->load = PTX_TENSOR_LOAD_TILE;
    if (ptx_take(p, MOD_im2col_w) || ptx_take(p, MOD_im2col_w_128))
        return false;
    if (ptx_take(p, c->to_global ? MOD_tile_scatter4 : MOD_tile_gather4))
        c->load = PTX_TENSOR_LOAD_ROWS;
    else if (ptx_take(p, c->to_global ? MOD_im2col_no_offs : MOD_im2col))
        c->load = PTX_TENSOR_LOAD_IM2COL;
    else
        ptx_take(p, MOD_tile);
    return c->load == PTX_TENSOR_LOAD_TILE ||
           (c->load == PTX_TENSOR_LOAD_ROWS ? c->rank == 2 : c->rank >= 3);
}

static bool take_spaces(struct ptx_parser *p, struct ptx_tensor_copy *c)
{
    enum ptx_space to = ptx_take_space(p);
    enum ptx_space from = ptx_take_space(p);

    c->to_global = to == PTX_SPACE_GLOBAL;
    c->shared_space = c->to_global ? from : to;
    if (c->to_global)
        return from == PTX_SPACE_SHARED && ptx_take(p, MOD_bulk_group);
    return (to == PTX_SPACE_SHARED || to == PTX_SPACE_CLUSTER) && from == PTX_SPACE_GLOBAL &&
           ptx_take(p, MOD_mbarrier_complete);
}

/* [map, {coordinates}] */
static bool parse_map(struct ptx_parser *p, unsigned at, struct ptx_tensor_copy *c)
{
    const struct ptx_operand *o = ptx_operand_at(p, at);
    const struct ptx_operand *list = o->count ? ptx_operand_at(p, o->first + 1u) : NULL;
    unsigned count = c->load == PTX_TENSOR_LOAD_ROWS ? 5 : c->rank;
    struct ptx_operand base = *o;
    struct ptx_address a;

    if (o->kind != PTX_OPERAND_ADDRESS || o->count != 1 || list->kind != PTX_OPERAND_VECTOR ||
        list->count != count)
        return ptx_bad_operands(p);
    base.count = 0;
    if (!ptx_parse_address(p, &base, PTX_SPACE_GENERIC, &a))
        return false;
    if (a.space == PTX_SPACE_PARAM)
        a.imm += (int64_t)PTX_PARAM_WINDOW;
    c->map = ptx_address_op(p, &a);
    for (unsigned k = 0; k < PTX_TENSOR_RANK_MAX; k++)
        c->coordinates[k] = k < count
                                ? ptx_source(p, ptx_operand_at(p, list->first + k), PTX_S32, false)
                                : PTX_OP_NONE;
    return p->status == PTX_OK;
}

/* {offsets}, of im2col. */
static bool parse_offsets(struct ptx_parser *p, unsigned at, struct ptx_tensor_copy *c)
{
    const struct ptx_operand *o = ptx_operand_at(p, at);

    if (o->kind != PTX_OPERAND_VECTOR || o->count != c->rank - 2u)
        return ptx_bad_operands(p);
    for (unsigned k = 0; k < o->count; k++)
        c->offsets[k] = ptx_source(p, ptx_operand_at(p, o->first + k), PTX_U16, false);
    return p->status == PTX_OK;
}

static bool parse_shared(struct ptx_parser *p, unsigned at, enum ptx_space space, ptx_op *out)
{
    struct ptx_address a;

    if (!ptx_parse_address(p, ptx_operand_at(p, at), space, &a))
        return false;
    *out = ptx_address_op(p, &a);
    return true;
}

static void clear_operands(struct ptx_tensor_copy *c)
{
    c->barrier = c->blocks = c->shared = PTX_OP_NONE;
    for (unsigned k = 0; k < 3; k++)
        c->offsets[k] = PTX_OP_NONE;
}

/* [to], [map, {}], [barrier] {, {offsets}} {, blocks} {, policy}; or [map, {}], [from] {, policy}
 */
static bool parse_copy(struct ptx_parser *p, struct ptx_tensor_copy *c, bool multicast, bool hint)
{
    bool has_offsets = !c->to_global && c->load == PTX_TENSOR_LOAD_IM2COL;
    unsigned count = (c->to_global ? 2u : 3u) + has_offsets + multicast + hint;

    if (!ptx_want_operands(p, count, count))
        return false;
    if (c->to_global)
        return parse_map(p, 0, c) && parse_shared(p, 1, c->shared_space, &c->shared);
    if (!parse_shared(p, 0, c->shared_space, &c->shared) || !parse_map(p, 1, c) ||
        !parse_shared(p, 2, c->shared_space, &c->barrier) ||
        (has_offsets && !parse_offsets(p, 3, c)))
        return false;
    if (multicast)
        c->blocks = ptx_source(p, ptx_operand_at(p, 3u + has_offsets), PTX_B16, false);
    return p->status == PTX_OK;
}

/* Takes what the L2 could read early, and checks it. */
static bool decode_prefetch(struct ptx_parser *p, struct ptx_tensor_copy *c)
{
    if (!take_rank(p, c) || !ptx_take(p, MOD_L2) || !ptx_take(p, MOD_global) || !take_load(p, c))
        return ptx_unsupported(p);
    bool hint = ptx_take(p, MOD_l2_cache_hint);
    bool has_offsets = c->load == PTX_TENSOR_LOAD_IM2COL;
    unsigned count = 1u + has_offsets + hint;
    if (!ptx_want_operands(p, count, count) || !parse_map(p, 0, c) ||
        (has_offsets && !parse_offsets(p, 1, c)))
        return false;
    ptx_emit(p, ptx_run_nothing);
    return true;
}

bool ptx_decode_tensor_copy(struct ptx_parser *p, bool reduces, bool prefetches)
{
    static const enum ptx_modifier ops[] = {MOD_add, MOD_min, MOD_max, MOD_and,  MOD_or,
                                            MOD_xor, MOD_inc, MOD_dec, MOD_COUNT};
    struct ptx_tensor_copy *c = ptx_extra(p, sizeof(*c));

    if (!c)
        return false;
    clear_operands(c);
    if (prefetches)
        return decode_prefetch(p, c);
    if (!take_rank(p, c) || !take_spaces(p, c) || (reduces && !c->to_global) || !take_load(p, c))
        return ptx_unsupported(p);
    int op = reduces ? ptx_take_one(p, ops) : 0;
    if (op < 0 || (reduces && c->load == PTX_TENSOR_LOAD_ROWS))
        return ptx_unsupported(p);
    c->reduces = reduces;
    c->op = (uint8_t)op;
    c->is_pair = !c->to_global && ptx_take(p, MOD_cta_group_2);
    if (!c->to_global && !c->is_pair)
        ptx_take(p, MOD_cta_group_1);
    bool multicast = c->shared_space == PTX_SPACE_CLUSTER && ptx_take(p, MOD_multicast_cluster);
    bool hint = ptx_take(p, MOD_l2_cache_hint);
    if (!parse_copy(p, c, multicast, hint))
        return false;
    ptx_emit(p, ptx_run_tensor_copy)->extra = c;
    return true;
}

/* ---- tensormap ---- */

static const enum ptx_modifier fields[] = {
    [PTX_TENSOR_GLOBAL_ADDRESS] = MOD_global_address,
    [PTX_TENSOR_RANK] = MOD_rank,
    [PTX_TENSOR_BOX_DIM] = MOD_box_dim,
    [PTX_TENSOR_GLOBAL_DIM] = MOD_global_dim,
    [PTX_TENSOR_GLOBAL_STRIDE] = MOD_global_stride,
    [PTX_TENSOR_ELEMENT_STRIDE] = MOD_element_stride,
    [PTX_TENSOR_ELEMTYPE] = MOD_elemtype,
    [PTX_TENSOR_INTERLEAVE] = MOD_interleave_layout,
    [PTX_TENSOR_SWIZZLE_MODE] = MOD_swizzle_mode,
    [PTX_TENSOR_SWIZZLE_ATOM] = MOD_swizzle_atomicity,
    [PTX_TENSOR_FILL_MODE] = MOD_fill_mode,
    [PTX_TENSOR_FIELD_COUNT] = MOD_COUNT,
};

/* One past the largest number of what is a number of a list. */
static const uint8_t ends[PTX_TENSOR_FIELD_COUNT] = {
    [PTX_TENSOR_ELEMTYPE] = PTX_TENSOR_TYPE_COUNT,
    [PTX_TENSOR_INTERLEAVE] = 3,
    [PTX_TENSOR_SWIZZLE_MODE] = PTX_TENSOR_SWIZZLE_COUNT,
    [PTX_TENSOR_SWIZZLE_ATOM] = PTX_TENSOR_ATOM_COUNT,
    [PTX_TENSOR_FILL_MODE] = 2};

/* Before 8.5 strides were told without their lowest four bits, which are 0. */
static ptx_op parse_value(struct ptx_parser *p, const struct ptx_operand *o, int field,
                          ptx_type type)
{
    ptx_op value = ptx_source(p, o, type, false);
    ptx_op wide = ptx_register_new(p, PTX_U64, 1);
    ptx_op four = ptx_pool_value(p, 4, 4);
    struct ptx_insn *i;

    if (type == PTX_B32) {
        i = ptx_emit(p, ptx_handler(PTX_ALU_EXTEND, PTX_B64));
        i->type2 = PTX_U32;
    } else if (field == PTX_TENSOR_GLOBAL_STRIDE && p->version < 85) {
        i = ptx_emit(p, ptx_handler(PTX_ALU_SHL, PTX_B64));
        i->src[1] = four;
    } else {
        return value;
    }
    i->type = PTX_B64;
    i->dst = wide;
    i->src[0] = value;
    return wide;
}

static bool check_constants(struct ptx_parser *p, int field, bool has_order)
{
    const struct ptx_operand *order = ptx_operand_at(p, 1);
    const struct ptx_operand *value = ptx_operand_at(p, 1u + has_order);
    unsigned dims = PTX_TENSOR_RANK_MAX - (field == PTX_TENSOR_GLOBAL_STRIDE);

    if (has_order && (order->kind != PTX_OPERAND_INT || order->value >= dims))
        return ptx_bad_operands(p);
    if (ends[field] && (value->kind != PTX_OPERAND_INT || value->value >= ends[field]))
        return ptx_bad_operands(p);
    return true;
}

/* [map], {dimension,} value */
static bool decode_replace(struct ptx_parser *p)
{
    struct ptx_address a;
    bool is_tile = ptx_take(p, MOD_tile);
    int field = ptx_take_one(p, fields);
    enum ptx_space space = ptx_take_space(p);
    bool is_wide = field == PTX_TENSOR_GLOBAL_ADDRESS || field == PTX_TENSOR_GLOBAL_STRIDE;
    bool has_order = field >= PTX_TENSOR_BOX_DIM && field <= PTX_TENSOR_ELEMENT_STRIDE;

    if (!is_tile || field < 0 || !ptx_take(p, MOD_b1024) ||
        !ptx_take(p, is_wide ? PTX_B64 : PTX_B32) ||
        (space != PTX_SPACE_GENERIC && space != PTX_SPACE_GLOBAL && space != PTX_SPACE_SHARED))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 2u + has_order, 2u + has_order) ||
        !check_constants(p, field, has_order) ||
        !ptx_parse_address(p, ptx_operand_at(p, 0), space, &a))
        return false;
    ptx_op value =
        parse_value(p, ptx_operand_at(p, 1u + has_order), field, is_wide ? PTX_B64 : PTX_B32);
    struct ptx_insn *i = ptx_emit(p, ptx_run_tensor_replace);
    ptx_set_address(i, &a);
    i->src[1] = value;
    i->count = has_order ? (uint8_t)ptx_operand_at(p, 1)->value : 0;
    i->flags = (uint32_t)field << PTX_F_MODE_SHIFT;
    return p->status == PTX_OK;
}

/* A copy of 128 bytes; each lane of the warp does the same. */
static bool decode_publish(struct ptx_parser *p)
{
    static const enum ptx_modifier scopes[] = {MOD_cta, MOD_cluster, MOD_gpu, MOD_sys, MOD_COUNT};
    struct ptx_bulk *b = ptx_extra(p, sizeof(*b));

    if (!b)
        return false;
    b->to_space = ptx_take_space(p);
    b->from_space = ptx_take_space(p);
    if (b->to_space != PTX_SPACE_GLOBAL || b->from_space != PTX_SPACE_SHARED ||
        !ptx_take(p, MOD_tensormap_generic) || !ptx_take(p, MOD_release) ||
        ptx_take_one(p, scopes) < 0 || !ptx_take(p, MOD_sync) || !ptx_take(p, MOD_aligned))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 3, 3))
        return false;
    const struct ptx_operand *size = ptx_operand_at(p, 2);
    if (size->kind != PTX_OPERAND_INT || size->value != 128)
        return ptx_bad_operands(p);
    if (!parse_shared(p, 0, PTX_SPACE_GLOBAL, &b->to) ||
        !parse_shared(p, 1, PTX_SPACE_SHARED, &b->from))
        return false;
    b->size = ptx_source(p, size, PTX_U32, false);
    b->barrier = b->blocks = b->bytes = PTX_OP_NONE;
    ptx_emit(p, ptx_run_bulk)->extra = b;
    return p->status == PTX_OK;
}

static bool decode_tensormap(struct ptx_parser *p, const struct ptx_row *row)
{
    if (ptx_take(p, MOD_replace))
        return decode_replace(p);
    return ptx_take(p, MOD_cp_fenceproxy) ? decode_publish(p) : ptx_unsupported(p);
}

const struct ptx_row ptx_rows_tensor_map[] = {
    {"tensormap", decode_tensormap, 0, 0},
    {0},
};
