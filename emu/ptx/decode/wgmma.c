/* SPDX-License-Identifier: Apache-2.0
 *
 * wgmma.
 */
#include "emu/ptx/decode/decode.h"
#include "emu/ptx/handlers/matrix/wgmma.h"

/* An unsigned number after a letter; NULL: something else stands there. */
static const char *read_number(const char *at, const char *end, char letter, unsigned *out)
{
    if (at == end || *at++ != letter || at == end || *at < '1' || *at > '9')
        return NULL;
    for (*out = 0; at < end && *at >= '0' && *at <= '9' && *out < 1000; at++)
        *out = *out * 10 + (unsigned)(*at - '0');
    return at;
}

/* .m64nNkK, of which there are too many to have a name each. */
static bool take_shape(struct ptx_parser *p, struct ptx_wgmma *x)
{
    struct ptx_statement *s = &p->statement;
    unsigned m, n, k;

    for (unsigned at = 0; at < s->mod_count; at++) {
        const struct ptx_token *t = &s->mod_tokens[at];
        const char *end = t->text + t->size;
        const char *c = s->mods[at] == MOD_UNKNOWN ? read_number(t->text, end, 'm', &m) : NULL;
        c = c ? read_number(c, end, 'n', &n) : NULL;
        c = c ? read_number(c, end, 'k', &k) : NULL;
        if (c != end || m != 64 || n % 8 || n > 256)
            continue;
        x->n = (uint16_t)n;
        x->mma.k = (uint16_t)k;
        return s->mod_used[at] = true;
    }
    return false;
}

static bool is_byte_float(ptx_type type)
{
    return type == PTX_E4M3 || type == PTX_E5M2;
}

static bool is_byte(ptx_type type)
{
    return type == PTX_U8 || type == PTX_S8;
}

/* Sets the size of elements; false if there is no such combination. */
static bool set_types(struct ptx_mma *m)
{
    bool to_half = m->d_type == PTX_F16;
    bool to_single = m->d_type == PTX_F32;

    m->bits = 0;
    if (m->a_type == PTX_F16 && m->b_type == PTX_F16 && (to_half || to_single))
        m->bits = 16;
    else if (m->a_type == PTX_BF16 && m->b_type == PTX_BF16 && to_single)
        m->bits = 16;
    else if (m->a_type == PTX_TF32 && m->b_type == PTX_TF32 && to_single)
        m->bits = 32;
    else if (is_byte_float(m->a_type) && is_byte_float(m->b_type) && (to_half || to_single))
        m->bits = 8;
    else if (is_byte(m->a_type) && is_byte(m->b_type) && m->d_type == PTX_S32)
        m->bits = 8;
    else if (m->a_type == PTX_B1 && m->b_type == PTX_B1 && m->d_type == PTX_S32 && !m->is_sparse)
        m->bits = 1;
    return m->bits != 0;
}

/* 32 bytes of each line, of A as it is stored. */
static bool is_shape(const struct ptx_wgmma *x)
{
    unsigned k = 256u / x->mma.bits * (x->mma.is_sparse ? 2 : 1);

    return x->mma.k == k && (x->mma.d_type != PTX_S32 || x->n <= 32 || x->n % 16 == 0);
}

static bool take_form(struct ptx_parser *p, struct ptx_wgmma *x)
{
    struct ptx_mma *m = &x->mma;

    m->is_sparse = ptx_take(p, MOD_sp);
    if (!ptx_take(p, MOD_sync) || !ptx_take(p, MOD_aligned) || !take_shape(p, x))
        return false;
    m->m = 16;
    m->saturates = ptx_take(p, MOD_satfinite);
    m->d_type = ptx_take_type(p);
    m->a_type = ptx_take_type(p);
    m->b_type = ptx_take_type(p);
    if (!set_types(m) || !is_shape(x) || (m->saturates && (m->d_type != PTX_S32 || m->bits == 1)))
        return false;
    return m->bits != 1 || (ptx_take(p, MOD_and) && ptx_take(p, MOD_popc));
}

/* 1 or -1: whether the matrix is negated. */
static bool parse_sign(struct ptx_parser *p, unsigned at, bool *out)
{
    const struct ptx_operand *o = ptx_operand_at(p, at);

    if (o->kind != PTX_OPERAND_INT || (o->value != 1 && o->value != ~0ull))
        return ptx_bad_operands(p);
    *out = o->value != 1;
    return true;
}

/* 0 or 1: whether the matrix is transposed. */
static bool parse_order(struct ptx_parser *p, unsigned at, bool *out)
{
    const struct ptx_operand *o = ptx_operand_at(p, at);

    if (o->kind != PTX_OPERAND_INT || o->value > 1)
        return ptx_bad_operands(p);
    *out = o->value == 0;
    return true;
}

/* After the predicate: signs of floats, orders of what has 16 bits and is in shared memory. */
static bool parse_immediates(struct ptx_parser *p, struct ptx_wgmma *x, unsigned at)
{
    bool has_orders = x->mma.bits == 16;
    unsigned signs = x->mma.d_type == PTX_S32 ? 0 : 2;
    unsigned orders = has_orders ? 2 - x->a_in_registers : 0;

    x->a_is_k_major = x->b_is_k_major = true;
    if (!ptx_want_operands(p, at + signs + orders, at + signs + orders))
        return false;
    if (signs && (!parse_sign(p, at, &x->a_is_negated) || !parse_sign(p, at + 1, &x->b_is_negated)))
        return false;
    if (orders == 2 && !parse_order(p, at + 2, &x->a_is_k_major))
        return false;
    return !has_orders || parse_order(p, at + 1 + orders, &x->b_is_k_major);
}

/* Metadata, and which of the lanes of four have it. */
static bool parse_metadata(struct ptx_parser *p, struct ptx_mma *m)
{
    const struct ptx_operand *selector = ptx_operand_at(p, 4);

    if (selector->kind != PTX_OPERAND_INT || selector->value > (m->bits > 8))
        return ptx_bad_operands(p);
    m->selector = (uint8_t)selector->value;
    m->metadata = ptx_source(p, ptx_operand_at(p, 3), PTX_B32, false);
    return p->status == PTX_OK;
}

/* d, a or its descriptor, descriptor of b {, metadata, selector}, predicate {, immediates} */
static bool parse_operands(struct ptx_parser *p, struct ptx_wgmma *x)
{
    ptx_type d_type = x->mma.d_type == PTX_F32 ? PTX_F32 : PTX_B32;
    unsigned count = x->n / (x->mma.d_type == PTX_F16 ? 4u : 2u);
    unsigned at = x->mma.is_sparse ? 5 : 3;

    if (p->statement.operand_count <= at)
        return ptx_bad_operands(p);
    x->a_in_registers = ptx_operand_at(p, 1)->kind == PTX_OPERAND_VECTOR;
    if (!ptx_parse_fragment(p, 0, count, d_type, x->d) ||
        (x->a_in_registers && !ptx_parse_fragment(p, 1, 4, PTX_B32, x->a)) ||
        (x->mma.is_sparse && !parse_metadata(p, &x->mma)))
        return false;
    if (!x->a_in_registers)
        x->a_desc = ptx_source(p, ptx_operand_at(p, 1), PTX_B64, false);
    x->b_desc = ptx_source(p, ptx_operand_at(p, 2), PTX_B64, false);
    x->adds = ptx_source(p, ptx_operand_at(p, at), PTX_PRED, false);
    return p->status == PTX_OK && parse_immediates(p, x, at + 1);
}

static bool decode_product(struct ptx_parser *p)
{
    struct ptx_wgmma *x = ptx_extra(p, sizeof(*x));

    if (!x)
        return false;
    if (!take_form(p, x))
        return ptx_unsupported(p);
    if (!parse_operands(p, x))
        return false;
    ptx_emit(p, ptx_run_wgmma)->extra = x;
    return true;
}

static bool decode_wait(struct ptx_parser *p)
{
    const struct ptx_operand *count = ptx_operand_at(p, 0);

    if (!ptx_want_operands(p, 1, 1))
        return false;
    if (count->kind != PTX_OPERAND_INT)
        return ptx_bad_operands(p);
    struct ptx_around around = ptx_around_begin(p);
    ptx_emit(p, ptx_run_warpgroup_wait);
    ptx_around_end(p, around);
    return true;
}

static bool decode_wgmma(struct ptx_parser *p, const struct ptx_row *row)
{
    static const enum ptx_modifier words[] = {MOD_fence, MOD_commit_group, MOD_wait_group,
                                              MOD_COUNT};

    if (ptx_take(p, MOD_mma_async))
        return decode_product(p);
    int word = ptx_take_one(p, words);
    if (word < 0 || !ptx_take(p, MOD_sync) || !ptx_take(p, MOD_aligned))
        return ptx_unsupported(p);
    if (word == 2)
        return decode_wait(p);
    ptx_emit(p, ptx_run_nothing);
    return ptx_want_operands(p, 0, 0);
}

const struct ptx_row ptx_rows_wgmma[] = {
    {"wgmma", decode_wgmma, 0, 0},
    {0},
};
