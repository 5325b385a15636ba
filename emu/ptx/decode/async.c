/* SPDX-License-Identifier: Apache-2.0
 *
 * mbarrier, asynchronous copies.
 */
#include "emu/ptx/decode/decode.h"
#include "emu/ptx/handlers/async.h"
#include "emu/ptx/handlers/mbarrier.h"

/* ---- mbarrier ---- */

static bool decode_pending(struct ptx_parser *p)
{
    if (!ptx_take(p, PTX_B64))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 2, 2))
        return false;
    ptx_op dst = ptx_dest(p, ptx_operand_at(p, 0), PTX_U32, false);
    ptx_op a = ptx_source(p, ptx_operand_at(p, 1), PTX_B64, false);
    struct ptx_insn *i = ptx_emit(p, ptx_run_mbarrier_pending);
    i->dst = dst;
    i->src[0] = a;
    return true;
}

static int take_operation(struct ptx_parser *p)
{
    static const enum ptx_modifier words[] = {
        MOD_init, MOD_inval, MOD_arrive, MOD_arrive_drop, MOD_test_wait, MOD_try_wait, MOD_COUNT};
    static const uint8_t ops[] = {PTX_MBARRIER_INIT, PTX_MBARRIER_INVAL, PTX_MBARRIER_ARRIVE,
                                  PTX_MBARRIER_DROP, PTX_MBARRIER_TEST,  PTX_MBARRIER_TEST};
    int word = ptx_take_one(p, words);

    if (word < 0)
        return ptx_take(p, MOD_expect_tx)     ? PTX_MBARRIER_EXPECT
               : ptx_take(p, MOD_complete_tx) ? PTX_MBARRIER_COMPLETE
                                              : -1;
    int op = ops[word];
    if (op == PTX_MBARRIER_ARRIVE || op == PTX_MBARRIER_DROP)
        return ptx_take(p, MOD_expect_tx) ? op + 2 : op;
    return op == PTX_MBARRIER_TEST && ptx_take(p, MOD_parity) ? PTX_MBARRIER_TEST_PARITY : op;
}

/* How many operands each has, and where the address is among them. */
static const struct {
    uint8_t least, most, address;
} shapes[] = {
    [PTX_MBARRIER_INIT] = {2, 2, 0},          [PTX_MBARRIER_INVAL] = {1, 1, 0},
    [PTX_MBARRIER_ARRIVE] = {2, 3, 1},        [PTX_MBARRIER_DROP] = {2, 3, 1},
    [PTX_MBARRIER_ARRIVE_EXPECT] = {3, 3, 1}, [PTX_MBARRIER_DROP_EXPECT] = {3, 3, 1},
    [PTX_MBARRIER_EXPECT] = {2, 2, 0},        [PTX_MBARRIER_COMPLETE] = {2, 2, 0},
    [PTX_MBARRIER_TEST] = {3, 4, 1},          [PTX_MBARRIER_TEST_PARITY] = {3, 4, 1},
};

static bool decode_mbarrier(struct ptx_parser *p, const struct ptx_row *row)
{
    struct ptx_address a;

    if (ptx_take(p, MOD_pending_count))
        return decode_pending(p);
    int op = take_operation(p);
    ptx_take(p, MOD_noComplete);
    ptx_take_order(p);
    enum ptx_space space = ptx_take_space(p);
    ptx_take_hints(p);
    /* Barriers of other blocks can be signalled, not tested. */
    bool is_remote = space == PTX_SPACE_CLUSTER;
    if (op < 0 || !ptx_take(p, PTX_B64) ||
        (is_remote ? op < PTX_MBARRIER_ARRIVE || op >= PTX_MBARRIER_TEST
                   : space != PTX_SPACE_GENERIC && space != PTX_SPACE_SHARED))
        return ptx_unsupported(p);
    unsigned at = shapes[op].address;
    if (!ptx_want_operands(p, shapes[op].least, shapes[op].most) ||
        !ptx_parse_address(p, ptx_operand_at(p, at), space, &a))
        return false;
    const struct ptx_operand *d = ptx_operand_at(p, 0);
    bool tests = op >= PTX_MBARRIER_TEST;
    if (is_remote && at && d->kind != PTX_OPERAND_SINK)
        return ptx_bad_operands(p);
    ptx_op dst = at && d->kind != PTX_OPERAND_SINK
                     ? ptx_dest(p, d, tests ? PTX_PRED : PTX_B64, false)
                     : PTX_OP_NONE;
    ptx_op value = p->statement.operand_count > at + 1
                       ? ptx_source(p, ptx_operand_at(p, at + 1),
                                    op == PTX_MBARRIER_TEST ? PTX_B64 : PTX_U32, false)
                       : PTX_OP_NONE;
    struct ptx_insn *i = ptx_emit(p, ptx_run_mbarrier);
    ptx_set_address(i, &a);
    i->dst = dst;
    i->src[1] = value;
    i->flags = (uint32_t)op << PTX_F_MODE_SHIFT;
    return true;
}

/* ---- cp.async ---- */

/* Without .noinc the arrival also adds to what is pending, which together is nothing. */
static bool decode_copy_arrive(struct ptx_parser *p)
{
    struct ptx_address a;

    if (!ptx_take(p, MOD_arrive))
        return ptx_unsupported(p);
    bool counts = ptx_take(p, MOD_noinc);
    enum ptx_space space = ptx_take_space(p);
    if (!ptx_take(p, PTX_B64))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 1, 1) || !ptx_parse_address(p, ptx_operand_at(p, 0), space, &a))
        return false;
    struct ptx_insn *i = ptx_emit(p, counts ? ptx_run_mbarrier : ptx_run_nothing);
    ptx_set_address(i, &a);
    i->flags = PTX_MBARRIER_ARRIVE << PTX_F_MODE_SHIFT;
    return true;
}

static bool decode_copy_wait(struct ptx_parser *p)
{
    static const enum ptx_modifier words[] = {MOD_commit_group, MOD_wait_all, MOD_wait_group,
                                              MOD_COUNT};
    int word = ptx_take_one(p, words);

    if (word < 0)
        return false;
    ptx_take(p, MOD_read);
    ptx_emit(p, ptx_run_nothing);
    if (ptx_want_operands(p, word == 2, word == 2) && word == 2 &&
        ptx_operand_at(p, 0)->kind != PTX_OPERAND_INT)
        ptx_bad_operands(p);
    return true;
}

/* cp.async [to], [from], bytes {, bytes to read | predicate that says not to read} {, policy} */
static bool decode_copy(struct ptx_parser *p)
{
    struct ptx_address to;
    struct ptx_address from;
    static const enum ptx_modifier fetches[] = {MOD_l2_64b, MOD_l2_128b, MOD_l2_256b, MOD_COUNT};
    bool shared = ptx_take(p, MOD_shared) || ptx_take(p, MOD_shared_cta);
    bool is_line = ptx_take(p, MOD_cg);

    ptx_take_one(p, fetches);
    bool hint = ptx_take(p, MOD_l2_cache_hint);
    if (!shared || !ptx_take(p, MOD_global) || (!is_line && !ptx_take(p, MOD_ca)))
        return ptx_unsupported(p);
    if (!ptx_want_operands(p, 3u + hint, 4u + hint))
        return false;
    if (hint && ptx_source(p, ptx_operand_at(p, p->statement.operand_count - 1), PTX_B64, false) ==
                    PTX_OP_NONE)
        return false;
    const struct ptx_operand *size = ptx_operand_at(p, 2);
    const struct ptx_operand *limit = ptx_operand_at(p, 3);
    bool partial = p->statement.operand_count > 3u + hint;
    if (size->kind != PTX_OPERAND_INT ||
        (size->value != 16 && (is_line || (size->value != 4 && size->value != 8))))
        return ptx_bad_operands(p);
    if (!ptx_parse_address(p, ptx_operand_at(p, 0), PTX_SPACE_SHARED, &to) ||
        !ptx_parse_address(p, ptx_operand_at(p, 1), PTX_SPACE_GLOBAL, &from))
        return false;
    ptx_op read = PTX_OP_NONE;
    if (partial && limit->kind == PTX_OPERAND_REG && limit->type == PTX_PRED) {
        ptx_check_world(p, 80, 75, "a predicate");
        ptx_op ignore = ptx_source(p, limit, PTX_PRED, false);
        ptx_op none = ptx_pool_value(p, 0, 4);
        ptx_op all = ptx_pool_value(p, size->value, 4);
        read = ptx_register_new(p, PTX_U32, 1);
        struct ptx_insn *choose = ptx_emit(p, ptx_handler(PTX_ALU_SELP, PTX_B32));
        choose->dst = read;
        choose->src[0] = none;
        choose->src[1] = all;
        choose->src[2] = ignore;
    } else if (partial) {
        read = ptx_source(p, limit, PTX_U32, false);
    }
    ptx_op source = ptx_address_op(p, &from);
    struct ptx_insn *i = ptx_emit(p, ptx_run_copy);
    ptx_set_address(i, &to);
    i->src[1] = source;
    i->src[2] = read;
    i->count = (uint8_t)size->value;
    return true;
}

/* ---- bulk ---- */

static bool take_bulk_spaces(struct ptx_parser *p, struct ptx_bulk *b, bool reduces)
{
    b->to_space = ptx_take_space(p);
    b->from_space = ptx_take_space(p);
    b->barrier_space = b->to_space;
    switch (b->to_space) {
    case PTX_SPACE_GLOBAL:
        return b->from_space == PTX_SPACE_SHARED && ptx_take(p, MOD_bulk_group);
    case PTX_SPACE_SHARED:
        return b->from_space == PTX_SPACE_GLOBAL && !reduces && ptx_take(p, MOD_mbarrier_complete);
    case PTX_SPACE_CLUSTER:
        return (b->from_space == PTX_SPACE_SHARED ||
                (b->from_space == PTX_SPACE_GLOBAL && !reduces)) &&
               ptx_take(p, MOD_mbarrier_complete);
    default:
        return false;
    }
}

static bool decode_bulk_prefetch(struct ptx_parser *p)
{
    if (!ptx_take(p, MOD_L2) || !ptx_take(p, MOD_global))
        return ptx_unsupported(p);
    bool hint = ptx_take(p, MOD_l2_cache_hint);
    ptx_emit(p, ptx_run_nothing);
    return ptx_want_operands(p, 2u + hint, 2u + hint);
}

/* [to], [from], size {, [barrier]} {, blocks} {, policy} {, bytes} */
static bool parse_bulk_operands(struct ptx_parser *p, struct ptx_bulk *b, bool multicast,
                                bool masked)
{
    bool to_global = b->to_space == PTX_SPACE_GLOBAL;
    unsigned last = p->statement.operand_count - 1;
    struct ptx_address to;
    struct ptx_address from;
    struct ptx_address barrier;

    if (!ptx_parse_address(p, ptx_operand_at(p, 0), b->to_space, &to) ||
        !ptx_parse_address(p, ptx_operand_at(p, 1), b->from_space, &from))
        return false;
    b->to = ptx_address_op(p, &to);
    b->from = ptx_address_op(p, &from);
    b->size = ptx_source(p, ptx_operand_at(p, 2), PTX_U32, false);
    b->barrier = b->blocks = b->bytes = PTX_OP_NONE;
    if (masked)
        b->bytes = ptx_source(p, ptx_operand_at(p, last), PTX_B16, false);
    if (to_global)
        return p->status == PTX_OK;
    if (!ptx_parse_address(p, ptx_operand_at(p, 3), b->barrier_space, &barrier))
        return false;
    b->barrier = ptx_address_op(p, &barrier);
    if (multicast)
        b->blocks = ptx_source(p, ptx_operand_at(p, 4), PTX_B16, false);
    return p->status == PTX_OK;
}

static bool take_reduction(struct ptx_parser *p, struct ptx_bulk *b, ptx_type *type)
{
    static const enum ptx_modifier ops[] = {MOD_add, MOD_min, MOD_max, MOD_and,  MOD_or,
                                            MOD_xor, MOD_inc, MOD_dec, MOD_COUNT};
    int op = ptx_take_one(p, ops);

    *type = ptx_take_type(p);
    ptx_take(p, MOD_noftz);
    b->reduces = true;
    b->op = (uint8_t)op;
    return op >= 0 && *type != PTX_TYPE_COUNT && ptx_type_size(*type) <= 8 &&
           ptx_is_atomic((enum ptx_atomic)op, *type, true);
}

static bool decode_bulk(struct ptx_parser *p, bool reduces)
{
    struct ptx_bulk *b = ptx_extra(p, sizeof(*b));
    ptx_type type = PTX_B8;

    if (!b)
        return false;
    if (!reduces && decode_copy_wait(p))
        return p->status == PTX_OK;
    if (!take_bulk_spaces(p, b, reduces))
        return ptx_unsupported(p);
    bool to_global = b->to_space == PTX_SPACE_GLOBAL;
    bool multicast = b->to_space == PTX_SPACE_CLUSTER && b->from_space == PTX_SPACE_GLOBAL &&
                     ptx_take(p, MOD_multicast_cluster);
    bool hint = ptx_take(p, MOD_l2_cache_hint);
    bool masked = to_global && !reduces && ptx_take(p, MOD_cp_mask);
    if (reduces && !take_reduction(p, b, &type))
        return ptx_unsupported(p);
    unsigned count = (to_global ? 3u : 4u) + multicast + hint + masked;
    if (!ptx_want_operands(p, count, count) || !parse_bulk_operands(p, b, multicast, masked))
        return false;
    struct ptx_insn *i = ptx_emit(p, ptx_run_bulk);
    i->extra = b;
    i->type = type;
    return true;
}

static bool decode_cp(struct ptx_parser *p, const struct ptx_row *row)
{
    bool reduces = ptx_take(p, MOD_reduce);

    if (!ptx_take(p, MOD_async))
        return ptx_unsupported(p);
    bool bulk = ptx_take(p, MOD_bulk);
    bool prefetches = bulk && !reduces && ptx_take(p, MOD_prefetch);
    if (bulk && ptx_take(p, MOD_tensor))
        return ptx_decode_tensor_copy(p, reduces, prefetches);
    if (prefetches)
        return decode_bulk_prefetch(p);
    if (bulk)
        return decode_bulk(p, reduces);
    if (reduces)
        return ptx_unsupported(p);
    if (ptx_take(p, MOD_mbarrier))
        return decode_copy_arrive(p);
    if (decode_copy_wait(p))
        return p->status == PTX_OK;
    return decode_copy(p);
}

const struct ptx_row ptx_rows_async[] = {
    {"mbarrier", decode_mbarrier, 0, 0},
    {"cp", decode_cp, 0, 0},
    {0},
};

bool ptx_decode_store_bulk(struct ptx_parser *p)
{
    struct ptx_bulk *b = ptx_extra(p, sizeof(*b));
    struct ptx_address to;

    if (!b)
        return false;
    ptx_take_hints(p);
    b->to_space = ptx_take_space(p);
    if (!ptx_want_operands(p, 3, 3) ||
        !ptx_parse_address(p, ptx_operand_at(p, 0), b->to_space, &to))
        return false;
    const struct ptx_operand *zero = ptx_operand_at(p, 2);
    if (zero->kind != PTX_OPERAND_INT || zero->value != 0)
        return ptx_bad_operands(p);
    b->to = ptx_address_op(p, &to);
    b->from = b->barrier = b->blocks = b->bytes = PTX_OP_NONE;
    b->size = ptx_source(p, ptx_operand_at(p, 1), PTX_U32, true);
    ptx_emit(p, ptx_run_bulk)->extra = b;
    return true;
}
