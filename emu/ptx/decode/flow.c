/* SPDX-License-Identifier: Apache-2.0
 *
 * Branches, calls, exits, barriers.
 */
#include "emu/ptx/decode/decode.h"

#include <string.h>

static bool add_fixup(struct ptx_parser *p, const struct ptx_token *label, uint32_t scope,
                      size_t insn, int32_t entry)
{
    struct ptx_fixup *f = ptx_array_add(&p->fixups, sizeof(*f));

    if (!f)
        return ptx_fail_memory(p);
    *f = (struct ptx_fixup){.name = *label, .scope = scope, .insn = (uint32_t)insn, .entry = entry};
    return true;
}

/* Limit on the entries of all tables of a module: each brx.idx has its own. */
#define TABLE_ENTRIES_MAX (1u << 22)

static bool decode_branch_table(struct ptx_parser *p)
{
    const struct ptx_operand *list = ptx_operand_at(p, 1);

    ptx_take(p, MOD_uni);
    if (!ptx_want_operands(p, 2, 2))
        return false;
    if (list->kind != PTX_OPERAND_SYMBOL || list->symbol->kind != PTX_SYMBOL_TARGETS)
        return ptx_bad_operands(p);
    const struct ptx_targets *targets = list->symbol->extra;
    p->table_entries += targets->count;
    if (p->table_entries > TABLE_ENTRIES_MAX)
        return ptx_fail(p, PTX_INVALID, p->statement.line, "too many branch targets");
    struct ptx_around around = ptx_around_begin(p);
    ptx_op index = ptx_source(p, ptx_operand_at(p, 0), PTX_U32, false);
    struct ptx_insn *i = ptx_emit(p, ptx_run_branch_table);
    uint32_t *table = ptx_extra(p, (targets->count + 1) * sizeof(*table));
    if (!table)
        return false;
    table[0] = targets->count;
    i->src[0] = index;
    i->extra = table;
    for (uint32_t k = 0; k < targets->count; k++)
        if (!add_fixup(p, &targets->names[k], targets->scope, p->insns.count - 1, (int32_t)k))
            return false;
    ptx_around_end(p, around);
    return true;
}

static bool decode_bra(struct ptx_parser *p, const struct ptx_row *row)
{
    ptx_take(p, MOD_uni);
    if (!ptx_want_operands(p, 1, 1))
        return false;
    const struct ptx_operand *label = ptx_operand_at(p, 0);
    if (label->kind != PTX_OPERAND_NAME && label->kind != PTX_OPERAND_SYMBOL)
        return ptx_bad_operands(p);
    ptx_emit(p, ptx_run_branch);
    return add_fixup(p, &label->token, p->scope, p->insns.count - 1, -1);
}

static bool decode_brx(struct ptx_parser *p, const struct ptx_row *row)
{
    return ptx_take(p, MOD_idx) ? decode_branch_table(p) : ptx_unsupported(p);
}

/* A branch to the function's end; its index is known later. */
static bool decode_ret(struct ptx_parser *p, const struct ptx_row *row)
{
    ptx_take(p, MOD_uni);
    ptx_emit(p, ptx_run_branch)->imm = -1;
    return ptx_want_operands(p, 0, 0);
}

static bool decode_alone(struct ptx_parser *p, const struct ptx_row *row)
{
    static const ptx_fn fns[] = {ptx_run_exit, ptx_run_trap};

    ptx_emit(p, fns[row->op]);
    return ptx_want_operands(p, 0, 0);
}

/* ---- call ---- */

/* `size`: of the parameter, which says what a literal of a float becomes; 0: not known. */
static bool parse_arg(struct ptx_parser *p, const struct ptx_operand *o, bool is_result,
                      uint32_t size, struct ptx_arg *arg)
{
    *arg = (struct ptx_arg){.reg = PTX_OP_NONE};
    switch (o->kind) {
    case PTX_OPERAND_SYMBOL:
        if (o->symbol->kind == PTX_SYMBOL_LOCAL) {
            arg->offset = o->symbol->offset + (uint32_t)o->value;
            arg->size = o->symbol->size;
            return true;
        }
        if (is_result)
            return ptx_bad_operands(p);
        arg->size = 8;
        arg->reg = ptx_source(p, o, PTX_U64, false);
        return arg->reg != PTX_OP_NONE;
    case PTX_OPERAND_REG:
        arg->reg = is_result ? ptx_dest(p, o, o->type, false) : ptx_source(p, o, o->type, false);
        arg->size = o->type == PTX_PRED ? 0 : ptx_type_size(ptx_register_type(o->type));
        return arg->reg != PTX_OP_NONE;
    case PTX_OPERAND_INT:
        if (is_result)
            return ptx_bad_operands(p);
        arg->size = 8;
        arg->reg = ptx_pool_value(p, o->value, 8);
        return arg->reg != PTX_OP_NONE;
    case PTX_OPERAND_FLOAT:
        if (is_result || (size != 4 && size != 8))
            return ptx_bad_operands(p);
        arg->size = size;
        arg->reg = ptx_source(p, o, size == 4 ? PTX_F32 : PTX_F64, false);
        return arg->reg != PTX_OP_NONE;
    default:
        return ptx_bad_operands(p);
    }
}

static bool parse_arg_list(struct ptx_parser *p, const struct ptx_operand *list,
                           const struct ptx_code *callee, struct ptx_arg *out)
{
    for (unsigned k = 0; list && k < list->count; k++) {
        bool is_known = callee && k < callee->param_count;
        uint32_t size = is_known ? callee->params[callee->result_count + k].size : 0;
        if (!parse_arg(p, ptx_operand_at(p, list->first + k), false, size, &out[k]))
            return false;
    }
    return true;
}

static bool parse_result_list(struct ptx_parser *p, const struct ptx_operand *list,
                              struct ptx_arg *out)
{
    for (unsigned k = 0; list && k < list->count; k++)
        if (!parse_arg(p, ptx_operand_at(p, list->first + k), true, 0, &out[k]))
            return false;
    return true;
}

/* call (results), function, (arguments), prototype: every list may be missing. */
struct call_parts {
    const struct ptx_operand *results;
    const struct ptx_operand *callee;
    const struct ptx_operand *args;
};

static bool split_call(struct ptx_parser *p, struct call_parts *parts)
{
    unsigned at = 0;
    unsigned count = p->statement.operand_count;

    *parts = (struct call_parts){0};
    if (at < count && ptx_operand_at(p, at)->kind == PTX_OPERAND_LIST)
        parts->results = ptx_operand_at(p, at++);
    if (at < count)
        parts->callee = ptx_operand_at(p, at++);
    if (at < count && ptx_operand_at(p, at)->kind == PTX_OPERAND_LIST)
        parts->args = ptx_operand_at(p, at++);
    return parts->callee && count - at <= 1;
}

/* A register stands for a parameter of its size that is one, too. */
static bool is_argument(struct ptx_parser *p, const struct ptx_operand *o,
                        const struct ptx_arg *want)
{
    return o->kind != PTX_OPERAND_REG || want->reg == PTX_OP_NONE || o->type == PTX_PRED ||
           ptx_type_size(ptx_register_type(o->type)) == want->size;
}

static bool are_arguments(struct ptx_parser *p, const struct ptx_operand *list, uint32_t count,
                          const struct ptx_arg *want)
{
    if ((list ? list->count : 0) != count)
        return ptx_fail(p, PTX_INVALID, p->statement.line, "wrong number of parameters of a call");
    for (uint32_t k = 0; k < count; k++)
        if (!is_argument(p, ptx_operand_at(p, list->first + k), &want[k]))
            return ptx_fail(p, PTX_INVALID, p->statement.line,
                            "parameter %u of a call has another size", k + 1);
    return true;
}

/* Tests a call against the function's head. A last operand is a prototype, for calls by pointer. */
static bool check_call(struct ptx_parser *p, const struct call_parts *parts,
                       const struct ptx_code *target)
{
    const struct ptx_operand *last = ptx_operand_at(p, p->statement.operand_count - 1);
    bool has_prototype = last != parts->args && last != parts->callee;

    if (has_prototype &&
        (last->kind != PTX_OPERAND_SYMBOL || last->symbol->kind != PTX_SYMBOL_PROTO))
        return ptx_bad_operands(p);
    if (!target && !has_prototype)
        return ptx_fail(p, PTX_INVALID, p->statement.line, "a call by pointer needs a prototype");
    if (!target || !target->params)
        return true;
    return are_arguments(p, parts->results, target->result_count, target->params) &&
           are_arguments(p, parts->args, target->param_count,
                         target->params + target->result_count);
}

static bool decode_call(struct ptx_parser *p, const struct ptx_row *row)
{
    struct call_parts parts;
    ptx_op pointer = PTX_OP_NONE;

    ptx_take(p, MOD_uni);
    if (!split_call(p, &parts))
        return ptx_bad_operands(p);
    const struct ptx_operand *callee = parts.callee;
    bool direct = callee->kind == PTX_OPERAND_SYMBOL && callee->symbol->kind == PTX_SYMBOL_CODE;
    if (!direct && callee->kind != PTX_OPERAND_REG)
        return ptx_fail(p, PTX_INVALID, p->statement.line, "call of unknown function '%.*s'",
                        (int)callee->token.size, callee->token.text);
    if (!check_call(p, &parts, direct ? ptx_code_at(p->module, callee->symbol->index) : NULL))
        return false;
    struct ptx_around around = ptx_around_begin(p);
    struct ptx_call *call = ptx_extra(p, sizeof(*call));
    if (!call)
        return false;
    call->arg_count = parts.args ? parts.args->count : 0;
    call->result_count = parts.results ? parts.results->count : 0;
    call->args = ptx_extra(p, (call->arg_count + call->result_count) * sizeof(*call->args));
    if (direct)
        call->target = ptx_code_at(p->module, callee->symbol->index);
    if (!call->args || !parse_arg_list(p, parts.args, call->target, call->args) ||
        !parse_result_list(p, parts.results, call->args + call->arg_count))
        return false;
    if (direct) {
        ptx_note_code(p, callee->symbol->index);
    } else {
        pointer = ptx_source(p, callee, PTX_U64, false);
        p->code->calls_unknown = true;
    }
    struct ptx_insn *i = ptx_emit(p, ptx_run_call);
    i->src[0] = pointer;
    i->extra = call;
    ptx_around_end(p, around);
    return true;
}

/* ---- barriers ---- */

static bool decode_warp_sync(struct ptx_parser *p)
{
    if (!ptx_take(p, MOD_sync))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 1, 1))
        return false;
    struct ptx_around around = ptx_around_begin(p);
    ptx_op members = ptx_source(p, ptx_operand_at(p, 0), PTX_B32, false);
    struct ptx_insn *i = ptx_emit(p, ptx_run_warp_sync);
    i->src[0] = members;
    i->flags = PTX_F_ANYWHERE;
    ptx_around_end(p, around);
    return true;
}

static int take_barrier_mode(struct ptx_parser *p)
{
    static const enum ptx_modifier words[] = {MOD_sync, MOD_arrive, MOD_red, MOD_COUNT};
    static const enum ptx_modifier reductions[] = {MOD_popc, MOD_and, MOD_or, MOD_COUNT};
    int word = ptx_take_one(p, words);

    if (word != 2)
        return word;
    int reduction = ptx_take_one(p, reductions);
    return reduction < 0 ? -1 : PTX_BARRIER_POPC + reduction;
}

static bool decode_barrier(struct ptx_parser *p, const struct ptx_row *row)
{
    ptx_op ops[3] = {PTX_OP_NONE, PTX_OP_NONE, PTX_OP_NONE};
    ptx_op dst = PTX_OP_NONE;
    unsigned count = p->statement.operand_count;

    if (ptx_take(p, MOD_warp))
        return decode_warp_sync(p);
    if (ptx_take(p, MOD_cluster))
        return ptx_decode_cluster_barrier(p);
    ptx_take(p, MOD_cta);
    ptx_take(p, MOD_aligned);
    int mode = take_barrier_mode(p);
    bool reduces = mode >= PTX_BARRIER_POPC;
    ptx_type type = reduces ? ptx_take_type(p) : PTX_TYPE_COUNT;
    if (mode < 0 || (reduces && type != (mode == PTX_BARRIER_POPC ? PTX_U32 : PTX_PRED)))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, reduces ? 3 : mode == PTX_BARRIER_ARRIVE ? 2 : 1, reduces ? 4 : 2))
        return false;
    const struct ptx_operand *id = ptx_operand_at(p, reduces);
    const struct ptx_operand *threads = ptx_operand_at(p, reduces + 1u);
    if ((id->kind == PTX_OPERAND_INT && id->value > 15) ||
        (count > (reduces ? 3u : 1u) && threads->kind == PTX_OPERAND_INT &&
         (!threads->value || threads->value % PTX_LANES)))
        return ptx_bad_operands(p);
    struct ptx_around around = ptx_around_begin(p);
    if (reduces) {
        dst = ptx_dest(p, ptx_operand_at(p, 0), type, false);
        ops[2] = ptx_source(p, ptx_operand_at(p, count - 1), PTX_PRED, false);
    }
    ops[0] = ptx_source(p, ptx_operand_at(p, reduces), PTX_U32, false);
    if (count > (reduces ? 3u : 1u))
        ops[1] = ptx_source(p, ptx_operand_at(p, reduces + 1u), PTX_U32, false);
    struct ptx_insn *i = ptx_emit(p, ptx_run_barrier);
    i->dst = dst;
    memcpy(i->src, ops, sizeof(ops));
    i->flags = (uint32_t)mode << PTX_F_MODE_SHIFT;
    ptx_around_end(p, around);
    return true;
}

const struct ptx_row ptx_rows_flow[] = {
    {"bra", decode_bra, 0, 0},         {"brx", decode_brx, 0, 0},
    {"call", decode_call, 0, 0},       {"ret", decode_ret, 0, 0},
    {"exit", decode_alone, 0, 0},      {"trap", decode_alone, 1, 0},
    {"brkpt", decode_alone, 1, 0},     {"bar", decode_barrier, 0, 0},
    {"barrier", decode_barrier, 0, 0}, {0},
};
