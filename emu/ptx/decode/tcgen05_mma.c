/* SPDX-License-Identifier: Apache-2.0
 *
 * tcgen05.mma.
 */
#include "emu/ptx/decode/decode.h"
#include "emu/ptx/handlers/matrix/tcgen05.h"

#include <string.h>

/* Hints which matrix is kept near the tensor core; .ws has more buffers than there are words for.
 */
static void take_collector(struct ptx_parser *p)
{
    static const char start[] = "collector::";
    struct ptx_statement *s = &p->statement;

    for (unsigned k = 0; k < s->mod_count; k++)
        if (s->mod_tokens[k].size >= sizeof(start) &&
            memcmp(s->mod_tokens[k].text, start, sizeof(start) - 1) == 0)
            s->mod_used[k] = true;
}

/* Scales of a row, by the words that say so; 0: the kind does not go with them. */
static uint8_t take_scales(struct ptx_parser *p, enum ptx_tensor_kind kind)
{
    static const enum ptx_modifier words[] = {MOD_scale_vec_1x, MOD_scale_vec_2x, MOD_scale_vec_4x,
                                              MOD_block16,      MOD_block32,      MOD_COUNT};
    int word = ptx_take_one(p, words);
    bool is_wide = kind == PTX_TENSOR_KIND_MXF8F6F4;
    uint8_t scales;

    if (word < 0 && kind == PTX_TENSOR_KIND_MXF4NVF4)
        return 0;
    if (word < 0)
        return is_wide ? 1 : 2;
    scales = (uint8_t)(word == 4 ? (is_wide ? 1 : 2) : word == 3 ? 4 : 1 << word);
    if (is_wide)
        return scales == 1;
    return scales == 2 || (scales == 4 && kind == PTX_TENSOR_KIND_MXF4NVF4) ? scales : 0;
}

static bool take_form(struct ptx_parser *p, struct ptx_tensor_product *x)
{
    static const enum ptx_modifier kinds[] = {MOD_kind_f16,      MOD_kind_tf32,     MOD_kind_f8f6f4,
                                              MOD_kind_i8,       MOD_kind_mxf8f6f4, MOD_kind_mxf4,
                                              MOD_kind_mxf4nvf4, MOD_COUNT};

    x->is_stationary = ptx_take(p, MOD_ws);
    x->is_pair = ptx_take(p, MOD_cta_group_2);
    if (!x->is_pair && !ptx_take(p, MOD_cta_group_1))
        return false;
    int kind = ptx_take_one(p, kinds);
    take_collector(p);
    bool has_scales = kind >= PTX_TENSOR_KIND_MXF8F6F4;
    if (kind < 0 || has_scales != ptx_take(p, MOD_block_scale) ||
        (x->is_stationary && (x->is_pair || has_scales)))
        return false;
    x->kind = (uint8_t)kind;
    x->scales = has_scales ? take_scales(p, x->kind) : 0;
    return !has_scales || x->scales;
}

/* {lanes that stay}, of 4 or 8 registers. */
static bool parse_masks(struct ptx_parser *p, unsigned at, struct ptx_tensor_product *x)
{
    const struct ptx_operand *o = ptx_operand_at(p, at);

    if (o->count != (x->is_pair ? 8 : 4) || x->scales || x->is_stationary)
        return ptx_bad_operands(p);
    for (unsigned k = 0; k < o->count; k++)
        x->masks[k] = ptx_source(p, ptx_operand_at(p, o->first + k), PTX_B32, false);
    return p->status == PTX_OK;
}

/* [d], a or [a], b, shape; then scales, or lanes; the predicate; the power of two. */
static bool parse_product(struct ptx_parser *p, struct ptx_tensor_product *x)
{
    unsigned at = 4;
    unsigned count = p->statement.operand_count;
    bool may_shrink = x->kind <= PTX_TENSOR_KIND_TF32 && !x->is_stationary;

    if (!ptx_want_operands(p, 5, 7) || !ptx_parse_tensor_place(p, 0, &x->d))
        return false;
    if (ptx_operand_at(p, 1)->kind != PTX_OPERAND_ADDRESS)
        x->a_desc = ptx_source(p, ptx_operand_at(p, 1), PTX_B64, false);
    else if (!ptx_parse_tensor_place(p, 1, &x->a))
        return false;
    x->b_desc = ptx_source(p, ptx_operand_at(p, 2), PTX_B64, false);
    x->shape = ptx_source(p, ptx_operand_at(p, 3), PTX_B32, false);
    if (x->scales && (!ptx_parse_tensor_place(p, at++, &x->a_scale) ||
                      !ptx_parse_tensor_place(p, at++, &x->b_scale)))
        return false;
    if (ptx_operand_at(p, at)->kind == PTX_OPERAND_VECTOR && !parse_masks(p, at++, x))
        return false;
    if (at >= count || count > at + 1 + may_shrink)
        return ptx_bad_operands(p);
    x->adds = ptx_source(p, ptx_operand_at(p, at++), PTX_PRED, false);
    const struct ptx_operand *shrink = ptx_operand_at(p, at);
    if (at < count && (shrink->kind != PTX_OPERAND_INT || shrink->value > 15))
        return ptx_bad_operands(p);
    x->shrink = at < count ? (uint8_t)shrink->value : 0;
    return p->status == PTX_OK;
}

bool ptx_decode_tensor_product(struct ptx_parser *p)
{
    struct ptx_tensor_product *x = ptx_extra(p, sizeof(*x));

    if (!x)
        return false;
    if (!take_form(p, x))
        return ptx_unsupported(p);
    x->a.base = PTX_OP_NONE;
    for (unsigned k = 0; k < 8; k++)
        x->masks[k] = PTX_OP_NONE;
    if (!parse_product(p, x))
        return false;
    ptx_emit(p, ptx_run_tensor_product)->extra = x;
    return true;
}
