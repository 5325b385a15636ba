/* SPDX-License-Identifier: Apache-2.0
 *
 * tex, tld4, txq; suld, sust, sured, suq; istypep.
 *
 * A texture or surface is named by a variable of that kind, whose address is its handle, by a
 * parameter that holds a handle, or by a register with a handle.
 */
#include "emu/ptx/decode/decode.h"
#include "emu/ptx/texture/texture.h"

/* ---- operands ---- */

/* [a, c] and [a, b, c]: the things inside. */
static const struct ptx_operand *inside(struct ptx_parser *p, const struct ptx_operand *o,
                                        unsigned k)
{
    return ptx_operand_at(p, o->first + k);
}

static ptx_op parse_handle(struct ptx_parser *p, const struct ptx_operand *o,
                           enum ptx_variable_kind kind)
{
    const struct ptx_symbol *s = o->kind == PTX_OPERAND_SYMBOL ? o->symbol : NULL;

    if (o->kind == PTX_OPERAND_REG && ptx_type_size(o->type) == 8 && !o->has_addend)
        return ptx_check_world(p, 20, 31, "a handle in a register")
                   ? ptx_source(p, o, PTX_B64, false)
                   : PTX_OP_NONE;
    if (s && s->kind == PTX_SYMBOL_VAR && ptx_var_at(p->module, s->index)->info.kind == kind &&
        !o->value)
        return ptx_pool_address(p, s, 0, 8, false);
    if (s && s->kind == PTX_SYMBOL_PARAM && !o->value) {
        ptx_op op = ptx_register_new(p, PTX_B64, 1);
        struct ptx_insn *i = ptx_emit(p, ptx_run_load_param);
        i->dst = op;
        i->imm = s->offset;
        i->type = PTX_B64;
        i->flags = 8u << PTX_F_MODE_SHIFT;
        return op;
    }
    ptx_fail(p, PTX_INVALID, p->statement.line, "'%.*s' is not a %s", (int)o->token.size,
             o->token.text,
             kind == PTX_VARIABLE_TEXREF    ? "texture"
             : kind == PTX_VARIABLE_SURFREF ? "surface"
                                            : "sampler");
    return PTX_OP_NONE;
}

/* Checks registers for their size alone. */
static ptx_type bits_of(ptx_type type)
{
    switch (ptx_type_size(type)) {
    case 2:
        return PTX_B16;
    case 4:
        return PTX_B32;
    default:
        return type;
    }
}

/* The elements of a vector, or a single operand: `most` places, those that are missing stay NONE.
 * Returns how many there are. */
static unsigned parse_vector(struct ptx_parser *p, const struct ptx_operand *o, ptx_type type,
                             bool is_result, unsigned most, ptx_op *out)
{
    unsigned count = o->kind == PTX_OPERAND_VECTOR ? o->count : o->vector ? o->vector : 1;

    for (unsigned k = 0; k < most; k++)
        out[k] = PTX_OP_NONE;
    for (unsigned k = 0; k < count && k < most; k++) {
        struct ptx_operand e =
            o->kind == PTX_OPERAND_VECTOR ? *ptx_operand_at(p, o->first + k) : *o;
        if (o->kind != PTX_OPERAND_VECTOR && o->vector) {
            e.vector = 0;
            e.op += k * ptx_type_size(ptx_register_type(o->type)) * PTX_LANES;
        }
        ptx_type own = e.kind == PTX_OPERAND_REG ? bits_of(type) : type;
        if (is_result)
            out[k] = e.kind == PTX_OPERAND_SINK ? PTX_OP_NONE : ptx_dest(p, &e, own, true);
        else
            out[k] = ptx_source(p, &e, own, false);
    }
    return count;
}

/* ---- geometries ---- */

static const struct geometry {
    enum ptx_modifier mod;
    uint8_t dimensions;
    bool is_layered;
    bool is_cube;
    bool has_samples;
} geometries[] = {
    {MOD_geom_1d, 1, false, false, false}, {MOD_geom_2d, 2, false, false, false},
    {MOD_geom_3d, 3, false, false, false}, {MOD_a1d, 1, true, false, false},
    {MOD_a2d, 2, true, false, false},      {MOD_cube, 3, false, true, false},
    {MOD_acube, 3, true, true, false},     {MOD_geom_2dms, 2, false, false, true},
    {MOD_a2dms, 2, true, false, true},
};

static bool take_geometry(struct ptx_parser *p, struct ptx_texel_place *place)
{
    for (unsigned k = 0; k < sizeof(geometries) / sizeof(geometries[0]); k++) {
        const struct geometry *g = &geometries[k];
        if (!ptx_take(p, g->mod))
            continue;
        *place = (struct ptx_texel_place){.dimensions = g->dimensions,
                                          .is_layered = g->is_layered,
                                          .is_cube = g->is_cube,
                                          .has_samples = g->has_samples,
                                          .layer = PTX_OP_NONE};
        return true;
    }
    return ptx_unsupported(p);
}

/* The layer comes first, then the number of a sample; vectors have 1, 2 or 4 elements, of which the
 * last ones may be too many. */
static bool parse_place(struct ptx_parser *p, const struct ptx_operand *o, ptx_type type,
                        struct ptx_texel_place *place)
{
    unsigned before = place->is_layered + place->has_samples; /* words that are no coordinates */
    unsigned count = place->dimensions + before;
    ptx_op ops[4];
    struct ptx_operand first = *o;

    for (unsigned k = 0; k < 3; k++)
        place->coord[k] = PTX_OP_NONE;
    unsigned have = o->kind == PTX_OPERAND_VECTOR ? o->count : o->vector ? o->vector : 1;
    if (have < count || have > 4 || have == 3)
        return ptx_bad_operands(p);
    if (o->kind == PTX_OPERAND_VECTOR) {
        for (unsigned k = 0; k < before; k++)
            ops[k] = ptx_source(p, ptx_operand_at(p, o->first + k), PTX_U32, false);
        first.first += before;
        first.count -= before;
        parse_vector(p, &first, type, false, place->dimensions, ops + before);
    } else {
        parse_vector(p, o, type, false, count, ops);
    }
    if (place->is_layered)
        place->layer = ops[0];
    for (unsigned k = 0; k < place->dimensions; k++)
        place->coord[k] = ops[before + k];
    return p->status == PTX_OK;
}

/* ---- tex, tld4 ---- */

/* d, or d|p. */
static const struct ptx_operand *parse_resident(struct ptx_parser *p, ptx_op *out)
{
    const struct ptx_operand *d = ptx_operand_at(p, 0);

    *out = PTX_OP_NONE;
    if (d->kind != PTX_OPERAND_PAIR || !ptx_check_world(p, 60, 71, "a predicate as a result"))
        return d;
    *out = ptx_dest(p, ptx_operand_at(p, d->count), PTX_PRED, false);
    return ptx_operand_at(p, d->first);
}

static bool parse_result(struct ptx_parser *p, struct ptx_fetch_insn *f,
                         const struct ptx_operand *d, bool is_pair)
{
    unsigned count = is_pair ? 2 : 4;

    f->count = (uint8_t)count;
    return parse_vector(p, d, f->type, true, count, f->dst) == count || ptx_bad_operands(p);
}

/* Offsets come before a depth to compare with; alone, an offset is a vector where it can be one. */
static bool parse_options(struct ptx_parser *p, struct ptx_fetch_insn *f, unsigned at)
{
    unsigned left = p->statement.operand_count - at;

    if (left > 2)
        return ptx_bad_operands(p);
    const struct ptx_operand *o = left ? ptx_operand_at(p, at) : NULL;
    bool is_line = f->place.dimensions == 1;
    if (o && !f->place.is_cube &&
        (left == 2 || is_line || o->kind == PTX_OPERAND_VECTOR || o->vector)) {
        unsigned have = parse_vector(p, o, PTX_S32, false, f->place.dimensions, f->offset);
        if (have < f->place.dimensions)
            return ptx_bad_operands(p);
        o = --left ? ptx_operand_at(p, ++at) : NULL;
    }
    if (o && f->place.has_samples)
        return ptx_bad_operands(p);
    if (o) {
        f->compare = ptx_source(p, o, PTX_F32, false);
        left--;
    }
    return left ? ptx_bad_operands(p) : p->status == PTX_OK;
}

static bool parse_lod(struct ptx_parser *p, struct ptx_fetch_insn *f, unsigned *at)
{
    unsigned least = f->lod_mode == PTX_LOD_GRAD ? 4 : f->lod_mode == PTX_LOD_LEVEL ? 3 : 2;

    if (!ptx_want_operands(p, least, least + 2))
        return false;
    if (f->lod_mode == PTX_LOD_LEVEL)
        f->lod = ptx_source(p, ptx_operand_at(p, 2), f->is_integer ? PTX_S32 : PTX_F32, false);
    for (unsigned k = 0; k < 2 && f->lod_mode == PTX_LOD_GRAD; k++)
        if (parse_vector(p, ptx_operand_at(p, 2 + k), PTX_F32, false, f->place.dimensions,
                         f->grad[k]) < f->place.dimensions)
            return ptx_bad_operands(p);
    *at = least;
    return true;
}

/* All but the modifiers. */
static bool emit_fetch(struct ptx_parser *p, struct ptx_fetch_insn *f, ptx_type coordinates,
                       bool is_pair)
{
    unsigned at = 0;
    ptx_op resident;

    for (unsigned k = 0; k < 3; k++)
        f->offset[k] = f->grad[0][k] = f->grad[1][k] = PTX_OP_NONE;
    f->sampler = f->lod = f->compare = PTX_OP_NONE;
    if (!parse_lod(p, f, &at))
        return false;
    const struct ptx_operand *where = ptx_operand_at(p, 1);
    if (where->kind != PTX_OPERAND_ADDRESS || where->count < 1)
        return ptx_bad_operands(p);
    f->handle = parse_handle(p, inside(p, where, 0), PTX_VARIABLE_TEXREF);
    if (where->count == 2)
        f->sampler = parse_handle(p, inside(p, where, 1), PTX_VARIABLE_SAMPLERREF);
    const struct ptx_operand *d = parse_resident(p, &resident);
    if (p->status != PTX_OK ||
        !parse_place(p, inside(p, where, where->count), coordinates, &f->place) ||
        !parse_options(p, f, at) || !parse_result(p, f, d, is_pair))
        return false;
    struct ptx_insn *i = ptx_emit(p, ptx_run_texture);
    i->extra = f;
    i->dst2 = resident;
    return true;
}

static bool decode_tex(struct ptx_parser *p, const struct ptx_row *row)
{
    static const enum ptx_modifier lods[] = {MOD_base, MOD_level, MOD_grad, MOD_COUNT};
    struct ptx_fetch_insn *f = ptx_extra(p, sizeof(*f));

    if (!f)
        return false;
    int lod = ptx_take_one(p, lods);
    f->lod_mode = lod < 0 ? PTX_LOD_BASE : (uint8_t)lod;
    if (!take_geometry(p, &f->place))
        return false;
    bool is_pair = ptx_take(p, MOD_v2);
    if (!is_pair && !ptx_take(p, MOD_v4))
        return ptx_unsupported(p);
    f->type = ptx_take_type(p);
    ptx_type coordinates = ptx_take_type(p);
    bool is_word = f->type == PTX_F32 || f->type == PTX_U32 || f->type == PTX_S32;
    if ((coordinates != PTX_S32 && coordinates != PTX_F32) ||
        (is_pair ? f->type != PTX_F16X2 : !is_word && f->type != PTX_F16))
        return ptx_unsupported(p);
    f->is_integer = coordinates == PTX_S32;
    if (f->is_integer && (f->lod_mode == PTX_LOD_GRAD || f->place.is_cube))
        return ptx_unsupported(p);
    if (f->place.has_samples && (!f->is_integer || f->lod_mode != PTX_LOD_BASE))
        return ptx_unsupported(p);
    return emit_fetch(p, f, coordinates, is_pair);
}

static bool decode_tld4(struct ptx_parser *p, const struct ptx_row *row)
{
    static const enum ptx_modifier components[] = {MOD_r, MOD_g, MOD_b, MOD_a, MOD_COUNT};
    struct ptx_fetch_insn *f = ptx_extra(p, sizeof(*f));
    int component = ptx_take_one(p, components);

    if (!f)
        return false;
    if (component < 0 || !take_geometry(p, &f->place) || f->place.dimensions == 1 ||
        f->place.has_samples || (f->place.dimensions == 3 && !f->place.is_cube) ||
        !ptx_take(p, MOD_v4))
        return ptx_unsupported(p);
    f->is_gather = true;
    f->component = (uint8_t)component;
    f->type = ptx_take_type(p);
    if ((f->type != PTX_F32 && f->type != PTX_U32 && f->type != PTX_S32) ||
        ptx_take_type(p) != PTX_F32)
        return ptx_unsupported(p);
    return emit_fetch(p, f, PTX_F32, false);
}

/* ---- txq, suq ---- */

static const enum ptx_modifier queries[] = {
    [PTX_QUERY_WIDTH] = MOD_width,
    [PTX_QUERY_HEIGHT] = MOD_height,
    [PTX_QUERY_DEPTH] = MOD_depth,
    [PTX_QUERY_TYPE] = MOD_channel_data_type,
    [PTX_QUERY_ORDER] = MOD_channel_order,
    [PTX_QUERY_NORMALIZED] = MOD_normalized_coords,
    [PTX_QUERY_LAYERS] = MOD_array_size,
    [PTX_QUERY_LEVELS] = MOD_num_mipmap_levels,
    [PTX_QUERY_SAMPLES] = MOD_num_samples,
    [PTX_QUERY_UNNORMALIZED] = MOD_force_unnormalized_coords,
    [PTX_QUERY_FILTER] = MOD_filter_mode,
    [PTX_QUERY_ADDRESS_0] = MOD_addr_mode_0,
    [PTX_QUERY_ADDRESS_1] = MOD_addr_mode_1,
    [PTX_QUERY_ADDRESS_2] = MOD_addr_mode_2,
    [PTX_QUERY_LAYOUT] = MOD_memory_layout,
    MOD_COUNT,
};

static bool decode_query(struct ptx_parser *p, const struct ptx_row *row)
{
    bool is_surface = row->op;
    bool has_level = !is_surface && ptx_take(p, MOD_level);
    int query = ptx_take_one(p, queries);

    if (query < 0 || ptx_take_type(p) != PTX_B32 || (has_level && query > PTX_QUERY_DEPTH) ||
        (is_surface && query > PTX_QUERY_ORDER && query != PTX_QUERY_LAYERS &&
         query != PTX_QUERY_LAYOUT))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 2 + has_level, 2 + has_level))
        return false;
    const struct ptx_operand *where = ptx_operand_at(p, 1);
    if (where->kind != PTX_OPERAND_ADDRESS || where->count)
        return ptx_bad_operands(p);
    ptx_op handle = parse_handle(p, inside(p, where, 0),
                                 is_surface ? PTX_VARIABLE_SURFREF : PTX_VARIABLE_TEXREF);
    ptx_op level = has_level ? ptx_source(p, ptx_operand_at(p, 2), PTX_B32, false) : PTX_OP_NONE;
    ptx_op dst = ptx_dest(p, ptx_operand_at(p, 0), PTX_B32, false);
    struct ptx_insn *i = ptx_emit(p, ptx_run_image_query);
    i->dst = dst;
    i->src[0] = handle;
    i->src[1] = level;
    i->flags = (uint32_t)query << PTX_F_MODE_SHIFT | (is_surface ? PTX_F_TO_INT : 0);
    return p->status == PTX_OK;
}

/* ---- surfaces ---- */

/* Returns false when nothing says what happens outside of the surface. */
static bool take_outside(struct ptx_parser *p, struct ptx_surface_insn *s)
{
    static const enum ptx_modifier words[] = {MOD_trap, MOD_clamp, MOD_zero, MOD_COUNT};
    int word = ptx_take_one(p, words);

    s->outside = word < 0 ? PTX_OUTSIDE_TRAP : (uint8_t)word;
    return word >= 0;
}

/* `at`: the operand with the surface and the place. */
static bool parse_surface(struct ptx_parser *p, struct ptx_surface_insn *s, unsigned at)
{
    const struct ptx_operand *where = ptx_operand_at(p, at);

    if (where->kind != PTX_OPERAND_ADDRESS || where->count != 1)
        return ptx_bad_operands(p);
    s->handle = parse_handle(p, inside(p, where, 0), PTX_VARIABLE_SURFREF);
    return p->status == PTX_OK && parse_place(p, inside(p, where, 1), PTX_S32, &s->place);
}

static bool take_surface(struct ptx_parser *p, struct ptx_surface_insn *s)
{
    s->is_formatted = ptx_take(p, MOD_p);
    if (!s->is_formatted && !ptx_take(p, MOD_b))
        return ptx_unsupported(p);
    return take_geometry(p, &s->place) &&
           ((!s->place.is_cube && !s->place.has_samples) || ptx_unsupported(p));
}

static bool emit_surface(struct ptx_parser *p, struct ptx_surface_insn *s, ptx_fn fn)
{
    ptx_emit(p, fn)->extra = s;
    return p->status == PTX_OK;
}

enum { LOAD, STORE };

static bool decode_surface(struct ptx_parser *p, const struct ptx_row *row)
{
    struct ptx_surface_insn *s = ptx_extra(p, sizeof(*s));
    bool is_store = row->op == STORE;

    if (!s || !take_surface(p, s))
        return false;
    ptx_take_hints(p);
    s->count = ptx_take(p, MOD_v2) ? 2 : ptx_take(p, MOD_v4) ? 4 : 1;
    s->type = ptx_take_type(p);
    bool has_outside = take_outside(p, s);
    bool is_bits =
        s->type == PTX_B8 || s->type == PTX_B16 || s->type == PTX_B32 || s->type == PTX_B64;
    if (!has_outside || !is_bits || (s->is_formatted && (!is_store || s->type != PTX_B32)) ||
        ptx_type_size(s->type) * s->count > 16)
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 2, 2) || !parse_surface(p, s, !is_store))
        return false;
    const struct ptx_operand *value = ptx_operand_at(p, is_store);
    s->reg = (uint8_t)ptx_type_size(ptx_register_type(s->type));
    if (is_store && value->kind == PTX_OPERAND_REG && !value->vector &&
        ptx_type_size(value->type) > s->reg) {
        /* A wider register: its low bits. */
        s->reg = (uint8_t)ptx_type_size(value->type);
        s->value[0] = ptx_source(p, value, value->type, false);
    } else if (parse_vector(p, value, s->type, !is_store, s->count, s->value) != s->count) {
        return ptx_bad_operands(p);
    }
    return emit_surface(p, s, is_store ? ptx_run_surface_store : ptx_run_surface_load);
}

/* Tests the type of a reduction: formatted ones are of bits. */
static bool is_reduction(uint8_t op, ptx_type type, bool is_formatted)
{
    bool compares = op == PTX_ATOM_MIN || op == PTX_ATOM_MAX;

    if (op == PTX_ATOM_AND || op == PTX_ATOM_OR)
        return type == PTX_B32;
    if (is_formatted)
        return type == PTX_B32 || (compares && type == PTX_B64);
    return type == PTX_U32 || type == PTX_S32 || type == PTX_U64 || (compares && type == PTX_S64);
}

static bool decode_sured(struct ptx_parser *p, const struct ptx_row *row)
{
    static const enum ptx_modifier words[] = {MOD_add, MOD_min, MOD_max,
                                              MOD_and, MOD_or,  MOD_COUNT};
    static const uint8_t ops[] = {PTX_ATOM_ADD, PTX_ATOM_MIN, PTX_ATOM_MAX, PTX_ATOM_AND,
                                  PTX_ATOM_OR};
    struct ptx_surface_insn *s = ptx_extra(p, sizeof(*s));

    if (!s || !take_surface(p, s))
        return false;
    int op = ptx_take_one(p, words);
    s->type = ptx_take_type(p);
    if (!take_outside(p, s) || op < 0 || s->place.is_layered ||
        !is_reduction(ops[op], s->type, s->is_formatted))
        return ptx_unsupported(p);
    s->op = ops[op];
    s->count = 1;
    s->reg = (uint8_t)ptx_type_size(s->type);
    if (!ptx_want_operands(p, 2, 2) || !parse_surface(p, s, 0))
        return false;
    s->value[0] = ptx_source(p, ptx_operand_at(p, 1), s->type, false);
    return emit_surface(p, s, ptx_run_surface_reduce);
}

const struct ptx_row ptx_rows_texture[] = {
    {"tex", decode_tex, 0, 0},         {"tld4", decode_tld4, 0, 0},
    {"txq", decode_query, 0, 0},       {"suq", decode_query, 1, 0},
    {"suld", decode_surface, LOAD, 0}, {"sust", decode_surface, STORE, 0},
    {"sured", decode_sured, 0, 0},     {0},
};
