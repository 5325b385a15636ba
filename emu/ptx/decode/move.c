/* SPDX-License-Identifier: Apache-2.0
 *
 * mov, memory, address spaces.
 */
#include "emu/ptx/decode/decode.h"

#include <string.h>

/* ---- mov ---- */

static unsigned register_size(ptx_type type)
{
    return ptx_type_size(ptx_register_type(type));
}

static unsigned vector_count(const struct ptx_operand *o)
{
    return o->kind == PTX_OPERAND_VECTOR ? o->count : o->kind == PTX_OPERAND_REG ? o->vector : 0;
}

/* Element `k` of a vector register or of {a, b}; false when the operand is not `count` wide. */
static bool vector_element(struct ptx_parser *p, const struct ptx_operand *o, unsigned k,
                           unsigned count, struct ptx_operand *out)
{
    if (vector_count(o) != count)
        return ptx_bad_operands(p);
    if (o->kind == PTX_OPERAND_VECTOR) {
        *out = *ptx_operand_at(p, o->first + k);
        return true;
    }
    *out = *o;
    out->vector = 0;
    out->is_component = true;
    if (o->is_special && k == 3) {
        out->op = ptx_pool_value(p, 0, 4);
        return p->status == PTX_OK;
    }
    out->op += k * register_size(o->type) * PTX_LANES;
    return true;
}

/* Between one register and a vector that fills it: {a, b}, or a vector register. */
static bool decode_pack(struct ptx_parser *p, ptx_type type)
{
    const struct ptx_operand *d = ptx_operand_at(p, 0);
    const struct ptx_operand *a = ptx_operand_at(p, 1);
    bool unpack = vector_count(d) != 0;
    const struct ptx_operand *v = unpack ? d : a;
    uint32_t whole = ptx_type_size(type);
    uint32_t count = vector_count(v);
    static const uint8_t types[17] = {[1] = PTX_B8, [2] = PTX_B16, [4] = PTX_B32, [8] = PTX_B64};

    if (ptx_type_class(type) != 'b')
        return ptx_unsupported(p);
    if ((count != 2 && count != 4) || (unpack && vector_count(a)))
        return ptx_bad_operands(p);
    ptx_type part = types[whole / count];
    if (!part)
        return ptx_unsupported(p);
    struct ptx_pack *pack = ptx_extra(p, sizeof(*pack) + count * sizeof(ptx_op));
    if (!pack)
        return false;
    pack->count = count;
    pack->size = whole / count;
    for (unsigned k = 0; k < count; k++) {
        struct ptx_operand e;
        if (!vector_element(p, v, k, count, &e))
            return false;
        if (part == PTX_B8 && e.kind == PTX_OPERAND_REG && ptx_type_size(e.type) != 1)
            return ptx_bad_operands(p);
        if (unpack)
            pack->elements[k] =
                e.kind == PTX_OPERAND_SINK ? PTX_OP_NONE : ptx_dest(p, &e, part, false);
        else
            pack->elements[k] = ptx_source(p, &e, part, false);
    }
    ptx_op other = unpack ? ptx_source(p, a, type, false) : ptx_dest(p, d, type, false);
    struct ptx_insn *i = ptx_emit(p, unpack ? ptx_run_unpack : ptx_run_pack);
    i->extra = pack;
    if (unpack)
        i->src[0] = other;
    else
        i->dst = other;
    return true;
}

static ptx_type mov_type(ptx_type type)
{
    static const uint8_t bits[17] = {
        [1] = PTX_B16, [2] = PTX_B16, [4] = PTX_B32, [8] = PTX_B64, [16] = PTX_B128};

    return type == PTX_PRED ? type : bits[ptx_type_size(type)];
}

/* mov.v2 and mov.v4: what is read may be among what is written, so it is copied first. */
static bool decode_mov_vector(struct ptx_parser *p, ptx_type type, unsigned count)
{
    struct ptx_operand e;
    ptx_op copies[4];

    for (unsigned k = 0; k < count; k++) {
        if (!vector_element(p, ptx_operand_at(p, 1), k, count, &e))
            return false;
        copies[k] = ptx_register_new(p, type, 1);
        ptx_op from = ptx_source(p, &e, type, false);
        struct ptx_insn *i = ptx_emit(p, ptx_handler(PTX_ALU_MOV, mov_type(type)));
        i->dst = copies[k];
        i->src[0] = from;
    }
    for (unsigned k = 0; k < count; k++) {
        if (!vector_element(p, ptx_operand_at(p, 0), k, count, &e))
            return false;
        ptx_op to = ptx_dest(p, &e, type, false);
        struct ptx_insn *i = ptx_emit(p, ptx_handler(PTX_ALU_MOV, mov_type(type)));
        i->dst = to;
        i->src[0] = copies[k];
    }
    return true;
}

/* A value, or the address of name[%r1]. */
static ptx_op mov_source(struct ptx_parser *p, const struct ptx_operand *o, ptx_type type)
{
    struct ptx_address a;

    if (o->kind != PTX_OPERAND_SYMBOL || !o->first || register_size(type) != 8)
        return ptx_source(p, o, type, false);
    return ptx_parse_address(p, o, PTX_SPACE_GENERIC, &a) ? ptx_address_op(p, &a) : PTX_OP_NONE;
}

static bool decode_mov(struct ptx_parser *p, const struct ptx_row *row)
{
    ptx_type type = ptx_take_type(p);

    if (type > PTX_PRED || ptx_type_size(type) == 1 ||
        (type > PTX_B128 && type != PTX_F32 && type != PTX_F64 && type != PTX_PRED))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 2, 2))
        return false;
    unsigned count = ptx_take(p, MOD_v2) ? 2 : ptx_take(p, MOD_v4) ? 4 : 1;
    if (count > 1)
        return decode_mov_vector(p, type, count);
    if (vector_count(ptx_operand_at(p, 0)) || vector_count(ptx_operand_at(p, 1)))
        return decode_pack(p, type);
    ptx_op dst = ptx_dest(p, ptx_operand_at(p, 0), type, false);
    ptx_op a = mov_source(p, ptx_operand_at(p, 1), type);
    struct ptx_insn *i = ptx_emit(p, ptx_handler(PTX_ALU_MOV, mov_type(type)));
    i->dst = dst;
    i->src[0] = a;
    return true;
}

/* ---- addresses ---- */

static bool symbol_address(struct ptx_parser *p, const struct ptx_operand *b, struct ptx_address *a)
{
    const struct ptx_symbol *s = b->symbol;

    if (!ptx_check_symbol(p, b, a->space))
        return false;
    if (s->kind == PTX_SYMBOL_LOCAL || s->kind == PTX_SYMBOL_PARAM) {
        a->imm = (int64_t)(s->offset + b->value);
        a->space = s->kind == PTX_SYMBOL_LOCAL ? PTX_SPACE_FRAME : PTX_SPACE_PARAM;
        return true;
    }
    if (s->kind != PTX_SYMBOL_VAR)
        return ptx_bad_operands(p);
    const struct ptx_var *v = ptx_var_at(p->module, s->index);
    if (v->space == PTX_SPACE_SHARED || v->space == PTX_SPACE_LOCAL)
        a->space = v->space;
    if (v->is_dynamic) {
        ptx_note_var(p, s->index);
        a->base = ptx_special_op(PTX_SPECIAL_DYNAMIC_SHARED);
        a->is_narrow = true;
        a->imm = (int64_t)b->value;
        return true;
    }
    a->base = ptx_pool_address(p, s, (int64_t)b->value, 8, false);
    return a->base != PTX_OP_NONE;
}

/* name[index], the index a constant or a register. */
static bool indexed_address(struct ptx_parser *p, const struct ptx_operand *o,
                            struct ptx_address *a)
{
    if (!symbol_address(p, o, a))
        return false;
    if (!o->first)
        return true;
    ptx_op base = ptx_address_op(p, a);
    ptx_op index = ptx_source(p, ptx_operand_at(p, o->first), PTX_U64, true);
    ptx_op size = ptx_pool_value(p, ptx_type_size(o->symbol->type), 8);
    a->base = ptx_register_new(p, PTX_U64, 1);
    a->imm = 0;
    a->is_narrow = false;
    struct ptx_insn *i = ptx_emit(p, ptx_handler(PTX_ALU_MAD, PTX_U64));
    i->dst = a->base;
    i->src[0] = index;
    i->src[1] = size;
    i->src[2] = base;
    return p->status == PTX_OK;
}

/* Shared, local and constant memory are small enough for 32 bits; the machine's is not, and where
 * no .address_size was given its addresses still have 64. */
static bool widen_address(struct ptx_parser *p, struct ptx_address *a)
{
    if (a->space != PTX_SPACE_GLOBAL && a->space != PTX_SPACE_GENERIC)
        return true;
    if (!ptx_has(p, MOD_const))
        return ptx_fail(p, PTX_INVALID, p->statement.line,
                        "32-bit addresses of global memory are not supported any more");
    ptx_op out = ptx_register_new(p, PTX_U64, 1);
    struct ptx_insn *i = ptx_emit(p, ptx_run_const_address);
    i->dst = out;
    i->src[0] = a->base;
    a->base = out;
    a->is_narrow = false;
    return true;
}

bool ptx_parse_address(struct ptx_parser *p, const struct ptx_operand *o, enum ptx_space space,
                       struct ptx_address *a)
{
    const struct ptx_operand *b = ptx_operand_at(p, o->first);

    *a = (struct ptx_address){.base = PTX_OP_NONE, .space = space};
    if (o->kind == PTX_OPERAND_SYMBOL && o->is_indexed)
        return indexed_address(p, o, a);
    if (o->kind != PTX_OPERAND_ADDRESS || o->count)
        return ptx_bad_operands(p);
    if (b->kind == PTX_OPERAND_SYMBOL)
        return symbol_address(p, b, a);
    /* Parameters of a function live in local memory. */
    if (space == PTX_SPACE_PARAM && !p->code->info.is_entry)
        a->space = PTX_SPACE_LOCAL;
    switch (b->kind) {
    case PTX_OPERAND_INT:
        if (space != PTX_SPACE_LOCAL)
            return ptx_fail(p, PTX_INVALID, p->statement.line,
                            "a number is an address in .local memory alone");
        a->imm = (int64_t)b->value;
        return true;
    case PTX_OPERAND_REG:
        if ((register_size(b->type) != 4 && register_size(b->type) != 8) ||
            ptx_type_class(b->type) == 'f' || b->is_component)
            return ptx_bad_operands(p);
        a->base = b->is_special ? b->op : ptx_source(p, b, b->type, false);
        a->is_narrow = register_size(b->type) == 4;
        a->imm = (int64_t)o->value;
        return a->base != PTX_OP_NONE && (!a->is_narrow || widen_address(p, a));
    default:
        return ptx_fail(p, PTX_INVALID, p->statement.line, "unknown symbol '%.*s' in an address",
                        (int)b->token.size, b->token.text);
    }
}

void ptx_set_address(struct ptx_insn *i, const struct ptx_address *a)
{
    i->src[0] = a->base;
    i->imm = a->imm;
    i->type2 = a->is_narrow ? PTX_U32 : PTX_U64;
    i->space = (uint8_t)a->space;
}

ptx_op ptx_address_op(struct ptx_parser *p, struct ptx_address *a)
{
    ptx_op out = ptx_register_new(p, PTX_U64, 1);
    ptx_op imm = ptx_pool_value(p, (uint64_t)a->imm, 8);
    struct ptx_insn *i;

    if (a->space == PTX_SPACE_FRAME) {
        i = ptx_emit(p, ptx_run_local_address);
        i->dst = out;
        i->type = PTX_U64;
        i->imm = a->imm;
        a->space = PTX_SPACE_LOCAL;
        return out;
    }
    if (a->base == PTX_OP_NONE)
        return imm;
    if (a->is_narrow) {
        i = ptx_emit(p, ptx_handler(PTX_ALU_EXTEND, PTX_B64));
        i->dst = out;
        i->src[0] = a->base;
        i->type = PTX_B64;
        i->type2 = PTX_U32;
    }
    i = ptx_emit(p, ptx_handler(PTX_ALU_ADD, PTX_U64));
    i->dst = out;
    i->src[0] = a->is_narrow ? out : a->base;
    i->src[1] = imm;
    return out;
}

enum ptx_space ptx_take_space(struct ptx_parser *p)
{
    static const enum ptx_modifier words[] = {
        MOD_global, MOD_const, MOD_shared,      MOD_shared_cta, MOD_shared_cluster,
        MOD_local,  MOD_param, MOD_param_entry, MOD_param_func, MOD_COUNT};
    static const uint8_t spaces[] = {PTX_SPACE_GLOBAL, PTX_SPACE_GLOBAL,  PTX_SPACE_SHARED,
                                     PTX_SPACE_SHARED, PTX_SPACE_CLUSTER, PTX_SPACE_LOCAL,
                                     PTX_SPACE_PARAM,  PTX_SPACE_PARAM,   PTX_SPACE_PARAM};
    int word = ptx_take_one(p, words);

    return word < 0 ? PTX_SPACE_GENERIC : spaces[word];
}

bool ptx_take_order(struct ptx_parser *p)
{
    static const enum ptx_modifier words[] = {MOD_volatile, MOD_relaxed, MOD_acquire, MOD_release,
                                              MOD_acq_rel,  MOD_mmio,    MOD_COUNT};
    bool any = false;

    while (ptx_take_one(p, words) >= 0)
        any = true;
    return any;
}

/* ---- ld, st ---- */

#define ELEMENTS_MAX 8

/* The registers of ld or st, which must all be of one size; its bytes, 0 after a failure. */
static unsigned parse_elements(struct ptx_parser *p, const struct ptx_operand *o, ptx_type type,
                               unsigned count, bool is_store, ptx_op *out)
{
    unsigned size = 0;

    for (unsigned k = 0; k < count; k++) {
        bool spread = o->kind == PTX_OPERAND_REG && o->vector == count && count > 1;
        struct ptx_operand e =
            o->kind == PTX_OPERAND_VECTOR ? *ptx_operand_at(p, o->first + k) : *o;
        ptx_type own = e.kind == PTX_OPERAND_REG && !e.is_special && e.fetch < 0 ? e.type : type;
        if (spread) {
            e.op += k * register_size(o->type) * PTX_LANES;
            e.vector = 0;
        }
        if (e.kind == PTX_OPERAND_SINK && !is_store && e.is_element) {
            out[k] = PTX_OP_NONE;
            continue;
        }
        if (own == PTX_PRED || !ptx_types_agree(type, own) ||
            (size && size != register_size(own)) || ptx_type_size(own) < ptx_type_size(type)) {
            ptx_bad_operands(p);
            return 0;
        }
        size = register_size(own);
        out[k] = is_store ? ptx_source(p, &e, own, false) : ptx_dest(p, &e, own, false);
    }
    return size ? size : register_size(type);
}

unsigned ptx_take_vector(struct ptx_parser *p)
{
    return ptx_take(p, MOD_v2) ? 2 : ptx_take(p, MOD_v4) ? 4 : ptx_take(p, MOD_v8) ? 8 : 1;
}

static bool is_memory_type(ptx_type type)
{
    return type <= PTX_B128 || type == PTX_F32 || type == PTX_F64;
}

enum { LOAD, STORE };

static bool decode_access(struct ptx_parser *p, const struct ptx_row *row)
{
    bool is_store = row->op == STORE;
    if (is_store && ptx_take(p, MOD_bulk))
        return ptx_decode_store_bulk(p);
    bool is_async = is_store && ptx_take(p, MOD_async);
    if (is_async && !ptx_is_plain_async(p))
        return ptx_decode_store_async(p);
    if (!is_async && !ptx_check_access(p, is_store))
        return false;
    bool poll = ptx_take_order(p);
    enum ptx_space space = ptx_take_space(p);
    unsigned count = ptx_take_vector(p);
    unsigned hint = ptx_take(p, MOD_l2_cache_hint);
    ptx_type type = ptx_take_type(p);
    ptx_op ops[ELEMENTS_MAX];
    struct ptx_address a;

    ptx_take_hints(p);
    if (!is_memory_type(type))
        return ptx_unsupported(p);
    if (!ptx_check_access_size(p, type, count) || !ptx_want_operands(p, 2 + hint, 2 + hint))
        return false;
    if (hint && ptx_source(p, ptx_operand_at(p, 2), PTX_B64, false) == PTX_OP_NONE)
        return false;
    const struct ptx_operand *value = ptx_operand_at(p, is_store);
    if ((value->kind == PTX_OPERAND_VECTOR ? value->count
         : value->vector                   ? value->vector
                                           : 1) != count)
        return ptx_bad_operands(p);
    if (!ptx_parse_address(p, ptx_operand_at(p, !is_store), space, &a))
        return false;
    unsigned size = parse_elements(p, value, type, count, is_store, ops);
    if (!size)
        return false;
    struct ptx_insn *i = ptx_emit(p, poll ? is_store ? ptx_run_store : ptx_run_load
                                          : ptx_access_handler(is_store, type, size));
    ptx_set_address(i, &a);
    if (!is_store && a.space == PTX_SPACE_PARAM && a.base == PTX_OP_NONE) {
        if (a.imm < 0 || (uint64_t)a.imm + ptx_type_size(type) * count > p->code->info.params_size)
            return ptx_fail(p, PTX_INVALID, p->statement.line, "load outside the parameters");
        i->fn = count == 1 ? ptx_param_handler(type, size) : ptx_run_load_param;
    }
    i->dst = ops[0];
    i->type = type;
    i->count = (uint8_t)count;
    i->flags = size << PTX_F_MODE_SHIFT | (poll ? PTX_F_POLL : 0);
    if (count > 1) {
        ptx_op *list = ptx_extra(p, count * sizeof(*list));
        if (!list)
            return false;
        memcpy(list, ops, count * sizeof(*list));
        i->extra = list;
    }
    return true;
}

/* ---- spaces ---- */

static int64_t window_of(enum ptx_space space)
{
    return space == PTX_SPACE_SHARED || space == PTX_SPACE_CLUSTER ? (int64_t)PTX_SHARED_WINDOW
           : space == PTX_SPACE_LOCAL                              ? (int64_t)PTX_LOCAL_WINDOW
           : space == PTX_SPACE_PARAM                              ? (int64_t)PTX_PARAM_WINDOW
                                                                   : 0;
}

static bool decode_cvta(struct ptx_parser *p, const struct ptx_row *row)
{
    bool to = ptx_take(p, MOD_to);
    const struct ptx_operand *from = ptx_operand_at(p, 1);
    enum ptx_space space = ptx_take_space(p);
    ptx_type type = ptx_take_type(p);

    if (type == PTX_U32)
        return ptx_fail(p, PTX_INVALID, p->statement.line,
                        "32-bit generic addresses are not supported any more");
    if (space == PTX_SPACE_GENERIC || type != PTX_U64)
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 2, 2))
        return false;
    if (from->kind == PTX_OPERAND_SYMBOL && to)
        return ptx_bad_operands(p);
    if (from->kind == PTX_OPERAND_SYMBOL && !ptx_check_symbol(p, from, space))
        return false;
    /* The parameters of a function lie in its local frame. */
    if (space == PTX_SPACE_PARAM && !p->code->info.is_entry)
        space = PTX_SPACE_LOCAL;
    ptx_op dst = ptx_dest(p, ptx_operand_at(p, 0), type, false);
    ptx_op a = ptx_source(p, ptx_operand_at(p, 1), type, false);
    struct ptx_insn *i = ptx_emit(p, ptx_run_cvta);
    i->dst = dst;
    i->src[0] = a;
    i->imm = window_of(space);
    i->flags = (uint32_t)to << PTX_F_MODE_SHIFT;
    return true;
}

static bool decode_isspacep(struct ptx_parser *p, const struct ptx_row *row)
{
    bool is_const = ptx_take(p, MOD_const);
    enum ptx_space space = is_const ? PTX_SPACE_GLOBAL : ptx_take_space(p);

    if (space == PTX_SPACE_GENERIC || ptx_has(p, MOD_param_func))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 2, 2))
        return false;
    const struct ptx_operand *o = ptx_operand_at(p, 1);
    if (o->kind == PTX_OPERAND_REG && ptx_type_size(o->type) < 4)
        return ptx_bad_operands(p);
    ptx_op dst = ptx_dest(p, ptx_operand_at(p, 0), PTX_PRED, false);
    ptx_op a = ptx_source(p, o, PTX_U64, true);
    bool is_shared = space == PTX_SPACE_SHARED || space == PTX_SPACE_CLUSTER;
    struct ptx_insn *i = ptx_emit(p, is_const    ? ptx_run_isspacep_const
                                     : is_shared ? ptx_run_is_shared
                                                 : ptx_run_isspacep);
    i->dst = dst;
    i->src[0] = a;
    i->imm = window_of(space);
    i->flags = (uint32_t)(space == PTX_SPACE_CLUSTER) << PTX_F_MODE_SHIFT;
    return true;
}

/* istypep.texref p, a: is it the address of such a variable? */
static bool decode_istypep(struct ptx_parser *p, const struct ptx_row *row)
{
    static const enum ptx_modifier words[] = {MOD_texref, MOD_surfref, MOD_samplerref, MOD_COUNT};
    int word = ptx_take_one(p, words);

    if (word < 0)
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 2, 2))
        return false;
    ptx_op dst = ptx_dest(p, ptx_operand_at(p, 0), PTX_PRED, false);
    ptx_op a = ptx_source(p, ptx_operand_at(p, 1), PTX_U64, false);
    struct ptx_insn *i = ptx_emit(p, ptx_run_istypep);
    i->dst = dst;
    i->src[0] = a;
    i->flags = (uint32_t)(PTX_VARIABLE_TEXREF + word) << PTX_F_MODE_SHIFT;
    return true;
}

const struct ptx_row ptx_rows_move[] = {
    {"mov", decode_mov, 0, 0},         {"ld", decode_access, LOAD, 0},
    {"ldu", decode_access, LOAD, 0},   {"st", decode_access, STORE, 0},
    {"cvta", decode_cvta, 0, 0},       {"isspacep", decode_isspacep, 0, 0},
    {"istypep", decode_istypep, 0, 0}, {0},
};
