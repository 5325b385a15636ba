/* SPDX-License-Identifier: Apache-2.0
 *
 * atom and red, and stores that tell a barrier.
 */
#include "emu/ptx/decode/decode.h"
#include "emu/ptx/handlers/async.h"

static bool is_half(ptx_type type)
{
    return type == PTX_F16 || type == PTX_F16X2 || type == PTX_BF16 || type == PTX_BF16X2;
}

bool ptx_is_atomic(enum ptx_atomic op, ptx_type type, bool is_vector)
{
    bool word = type == PTX_U32 || type == PTX_S32 || type == PTX_U64;
    bool bits = type == PTX_B32 || type == PTX_B64;

    switch (op) {
    case PTX_ATOM_ADD:
    case PTX_ATOM_ADD_FTZ:
        return word || type == PTX_F32 || type == PTX_F64 || is_half(type);
    case PTX_ATOM_MIN:
    case PTX_ATOM_MAX:
        return word || type == PTX_S64 || (is_vector && is_half(type));
    case PTX_ATOM_INC:
    case PTX_ATOM_DEC:
        return type == PTX_U32;
    case PTX_ATOM_CAS:
        return bits || type == PTX_B16 || type == PTX_B128;
    case PTX_ATOM_EXCH:
        return bits || type == PTX_B128;
    default:
        return bits;
    }
}

/* Vectors: f32 is added; halves are also compared. */
static bool is_vector_atomic(enum ptx_atomic op, ptx_type type, unsigned count)
{
    if (type == PTX_F32)
        return op == PTX_ATOM_ADD && count <= 4;
    if (op != PTX_ATOM_ADD && op != PTX_ATOM_MIN && op != PTX_ATOM_MAX)
        return false;
    return is_half(type) && count * ptx_type_size(type) <= 16;
}

#define ELEMENTS_MAX 8

/* The registers of a vector operand, or the one of a scalar. */
static ptx_op *parse_list(struct ptx_parser *p, const struct ptx_operand *o, ptx_type type,
                          unsigned count, bool is_result)
{
    ptx_op *out = ptx_extra(p, ELEMENTS_MAX * sizeof(*out));

    if (!out)
        return NULL;
    if (count > 1 && is_half(type) && ptx_type_size(type) == 2)
        type = PTX_B16;
    if (count > 1 && o->kind == PTX_OPERAND_SINK) {
        for (unsigned k = 0; k < count; k++)
            out[k] = PTX_OP_NONE;
        return out;
    }
    if ((o->kind == PTX_OPERAND_VECTOR) != (count > 1) || (count > 1 && o->count != count)) {
        ptx_bad_operands(p);
        return NULL;
    }
    for (unsigned k = 0; k < count; k++) {
        const struct ptx_operand *e = count > 1 ? ptx_operand_at(p, o->first + k) : o;
        if (is_result && e->kind == PTX_OPERAND_SINK)
            out[k] = PTX_OP_NONE;
        else
            out[k] = is_result ? ptx_dest(p, e, type, false) : ptx_source(p, e, type, false);
    }
    return p->status == PTX_OK ? out : NULL;
}

static int take_operation(struct ptx_parser *p)
{
    static const enum ptx_modifier ops[] = {MOD_add, MOD_min, MOD_max,  MOD_and, MOD_or,   MOD_xor,
                                            MOD_inc, MOD_dec, MOD_exch, MOD_cas, MOD_COUNT};

    return ptx_take_one(p, ops);
}

bool ptx_is_plain_async(const struct ptx_parser *p)
{
    return ptx_has(p, MOD_mmio) || ptx_has(p, MOD_release);
}

/* An order and a scope, which may be missing. `is_atom`: not red, which gives nothing to acquire.
 */
static bool take_atomic_order(struct ptx_parser *p, bool is_atom)
{
    static const enum ptx_modifier orders[] = {MOD_relaxed, MOD_release, MOD_acquire, MOD_acq_rel,
                                               MOD_COUNT};
    static const enum ptx_modifier scopes[] = {MOD_cta, MOD_cluster, MOD_gpu, MOD_sys, MOD_COUNT};
    int order = ptx_take_one(p, orders);

    ptx_take_one(p, scopes);
    return is_atom || order < 2;
}

static bool decode_atomic(struct ptx_parser *p, const struct ptx_row *row)
{
    unsigned at = row->op; /* the address: after atom's result */

    bool is_async = !at && ptx_take(p, MOD_async);
    if (is_async && !ptx_is_plain_async(p))
        return ptx_decode_store_async(p);
    if (is_async)
        ptx_take(p, MOD_mmio);
    bool is_const = ptx_take(p, MOD_const);
    enum ptx_space space = ptx_take_space(p);
    int op = take_operation(p);
    unsigned elements = ptx_take_vector(p);
    ptx_type type = ptx_take_type(p);
    struct ptx_address a;

    if (!take_atomic_order(p, at != 0))
        return ptx_unsupported(p);
    bool noftz = ptx_take(p, MOD_noftz);
    bool hint = ptx_take(p, MOD_l2_cache_hint);
    if (hint && (space != PTX_SPACE_GLOBAL && space != PTX_SPACE_GENERIC))
        return ptx_unsupported(p);
    if (hint && op == PTX_ATOM_CAS)
        return ptx_unsupported(p);
    if (elements > 1 && space != PTX_SPACE_GLOBAL && space != PTX_SPACE_GENERIC)
        return ptx_unsupported(p);
    if (space == PTX_SPACE_GENERIC && !ptx_check_generic(p))
        return false;
    if (is_const || op < 0 || type == PTX_TYPE_COUNT || space == PTX_SPACE_LOCAL ||
        space == PTX_SPACE_PARAM || (!at && (op == PTX_ATOM_CAS || op == PTX_ATOM_EXCH)) ||
        noftz != is_half(type) ||
        !(elements > 1 ? is_vector_atomic((enum ptx_atomic)op, type, elements)
                       : ptx_is_atomic((enum ptx_atomic)op, type, false)))
        return ptx_unsupported(p);
    unsigned count = at + 2 + (op == PTX_ATOM_CAS);
    if (!ptx_want_operands(p, count + hint, count + hint) ||
        (hint && ptx_source(p, ptx_operand_at(p, count), PTX_B64, false) == PTX_OP_NONE) ||
        !ptx_parse_address(p, ptx_operand_at(p, at), space, &a))
        return false;
    const struct ptx_operand *d = ptx_operand_at(p, 0);
    struct ptx_atomic_lists *lists = ptx_extra(p, sizeof(*lists));
    if (!lists)
        return false;
    bool has_result = at && d->kind != PTX_OPERAND_SINK;
    lists->dst = has_result ? parse_list(p, d, type, elements, true) : NULL;
    lists->src = parse_list(p, ptx_operand_at(p, at + 1), type, elements, false);
    if (!lists->src || (has_result && !lists->dst))
        return false;
    ptx_op c =
        op == PTX_ATOM_CAS ? ptx_source(p, ptx_operand_at(p, at + 2), type, false) : PTX_OP_NONE;
    struct ptx_insn *i = ptx_emit(p, type == PTX_B128 ? ptx_run_atomic_wide
                                     : elements > 1   ? ptx_run_atomic_vector
                                                      : ptx_run_atomic);
    ptx_set_address(i, &a);
    i->dst = lists->dst ? lists->dst[0] : PTX_OP_NONE;
    i->src[1] = lists->src[0];
    i->src[2] = c;
    i->type = type;
    i->count = (uint8_t)elements;
    i->extra = lists;
    i->flags = (uint32_t)op << PTX_F_MODE_SHIFT | PTX_F_ATOMIC;
    return true;
}

/* Tests the types of red.async: words, and sums of 64 bits. */
static bool is_async_reduction(enum ptx_atomic op, ptx_type type)
{
    if (op == PTX_ATOM_ADD && type == PTX_S64)
        return true;
    return type != PTX_F32 && type != PTX_F64 && ptx_is_atomic(op, type, false) &&
           (ptx_type_size(type) == 4 || op == PTX_ATOM_ADD);
}

/* st.async [a], b, [barrier] and red.async.op: the bytes come, and the barrier hears of them. */
bool ptx_decode_store_async(struct ptx_parser *p)
{
    bool is_red = p->statement.opcode.text[0] == 'r';
    struct ptx_address a;
    struct ptx_address barrier;

    bool has_order = is_red ? ptx_take(p, MOD_relaxed) && ptx_take(p, MOD_cluster) : true;
    if (!is_red)
        ptx_take(p, MOD_weak);
    enum ptx_space space = ptx_take_space(p);
    if (space == PTX_SPACE_GENERIC)
        space = PTX_SPACE_CLUSTER;
    int op = is_red ? take_operation(p) : PTX_ATOM_EXCH;
    unsigned count = ptx_take_vector(p);
    ptx_type type = ptx_take_type(p);
    if (!has_order || op < 0 || type == PTX_TYPE_COUNT ||
        (space != PTX_SPACE_CLUSTER && space != PTX_SPACE_SHARED) || count > 4 ||
        (ptx_type_size(type) != 4 && ptx_type_size(type) != 8) ||
        ptx_type_size(type) * count > 16 || !ptx_take(p, MOD_mbarrier_complete) ||
        (is_red && count > 1) ||
        (is_red && (space != PTX_SPACE_CLUSTER || !is_async_reduction((enum ptx_atomic)op, type))))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 3, 3) || !ptx_parse_address(p, ptx_operand_at(p, 0), space, &a) ||
        !ptx_parse_address(p, ptx_operand_at(p, 2), space, &barrier))
        return false;
    struct ptx_atomic_lists *lists = ptx_extra(p, sizeof(*lists));
    if (!lists)
        return false;
    lists->src = parse_list(p, ptx_operand_at(p, 1), type, count, false);
    if (!lists->src)
        return false;
    struct ptx_insn *i = ptx_emit(p, ptx_run_atomic_vector);
    ptx_set_address(i, &a);
    i->type = type;
    i->count = (uint8_t)count;
    i->extra = lists;
    i->flags = (uint32_t)op << PTX_F_MODE_SHIFT | PTX_F_ATOMIC;
    i = ptx_emit(p, ptx_run_complete);
    ptx_set_address(i, &barrier);
    i->count = (uint8_t)(count * ptx_type_size(type));
    return true;
}

/* Vectors are of floats. */
static bool is_multimem(enum ptx_access access, int op, ptx_type type, unsigned count)
{
    bool real = type == PTX_F32 || is_half(type);

    if ((count > 1 && !real) || count * ptx_type_size(type) > 16)
        return false;
    if (access == PTX_ACCESS_STORE)
        return op < 0 && (type <= PTX_B64 || real || type == PTX_F64);
    if (op < PTX_ATOM_ADD || op > PTX_ATOM_XOR)
        return false;
    return (op == PTX_ATOM_ADD && type == PTX_S64) ||
           ptx_is_atomic((enum ptx_atomic)op, type, true);
}

/* multimem.ld_reduce d, [a]; multimem.st [a], b; multimem.red [a], b */
static bool decode_multimem(struct ptx_parser *p, const struct ptx_row *row)
{
    static const enum ptx_modifier words[] = {MOD_ld_reduce, MOD_st, MOD_red, MOD_COUNT};
    static const enum ptx_modifier sums[] = {MOD_acc_f16, MOD_acc_f32, MOD_COUNT};
    static const uint8_t accesses[] = {PTX_ACCESS_LOAD, PTX_ACCESS_STORE, PTX_ACCESS_ATOMIC};
    int word = ptx_take_one(p, words);
    struct ptx_address a;

    ptx_take_order(p);
    ptx_take_hints(p);
    enum ptx_space space = ptx_take_space(p);
    int op = take_operation(p);
    int sum = ptx_take_one(p, sums);
    unsigned count = ptx_take_vector(p);
    ptx_type type = ptx_take_type(p);
    if (word < 0 || type == PTX_TYPE_COUNT ||
        (space != PTX_SPACE_GLOBAL && space != PTX_SPACE_GENERIC) ||
        !is_multimem((enum ptx_access)accesses[word], op, type, count))
        return ptx_unsupported(p);
    bool loads = word == 0;
    struct ptx_multimem *extra = ptx_extra(p, sizeof(*extra));
    if (!extra || !ptx_want_operands(p, 2, 2) ||
        !ptx_parse_address(p, ptx_operand_at(p, loads), space, &a))
        return false;
    *extra = (struct ptx_multimem){parse_list(p, ptx_operand_at(p, !loads), type, count, loads),
                                   op < 0 ? PTX_ATOM_EXCH : (enum ptx_atomic)op, sum == 1};
    if (!extra->list)
        return false;
    struct ptx_insn *i = ptx_emit(p, ptx_run_multimem);
    ptx_set_address(i, &a);
    i->extra = extra;
    i->type = type;
    i->count = (uint8_t)count;
    i->flags = (uint32_t)accesses[word] << PTX_F_MODE_SHIFT;
    return true;
}

const struct ptx_row ptx_rows_atomic[] = {
    {"multimem", decode_multimem, 0, 0},
    {"atom", decode_atomic, 1, 0},
    {"red", decode_atomic, 0, 0},
    {0},
};
