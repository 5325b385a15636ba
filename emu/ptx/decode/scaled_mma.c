/* SPDX-License-Identifier: Apache-2.0
 *
 * mma with .kind.
 */
#include "emu/ptx/handlers/matrix/scaled_mma.h"

#include "emu/ptx/decode/decode.h"

enum kind { F8F6F4, MXF8F6F4, MXF4, MXF4NVF4 };

static bool check_target(struct ptx_parser *p)
{
    uint32_t line = p->statement.line;

    if (p->target && (p->target / 10 != 12 || !p->variant))
        return ptx_fail(p, PTX_INVALID, line, "'mma' with .kind requires .target sm_120a");
    if (p->version < 87)
        return ptx_fail(p, PTX_INVALID, line,
                        "'mma' with .kind requires PTX ISA .version 8.7 or later");
    return true;
}

/* The next of the words that name elements, as the pair's type; PTX_TYPE_COUNT: there is none. */
static ptx_type take_element(struct ptx_parser *p)
{
    static const struct {
        uint16_t word;
        ptx_type type;
    } types[] = {{PTX_E4M3, PTX_E4M3X2},
                 {PTX_E5M2, PTX_E5M2X2},
                 {MOD_e3m2, PTX_E3M2X2},
                 {MOD_e2m3, PTX_E2M3X2},
                 {MOD_e2m1, PTX_E2M1X2}};
    struct ptx_statement *s = &p->statement;

    for (unsigned k = 0; k < s->mod_count; k++)
        for (unsigned t = 0; t < sizeof(types) / sizeof(types[0]); t++)
            if (!s->mod_used[k] && s->mods[k] == types[t].word) {
                s->mod_used[k] = true;
                return types[t].type;
            }
    return PTX_TYPE_COUNT;
}

/* Scales of a row; 0: the kind does not go with what is said. */
static uint8_t take_scales(struct ptx_parser *p, enum kind kind)
{
    static const enum ptx_modifier words[] = {MOD_scale_vec_1x, MOD_scale_vec_2x, MOD_scale_vec_4x,
                                              MOD_COUNT};
    int word = ptx_take_one(p, words);

    if (kind == MXF8F6F4)
        return word <= 0;
    if (kind == MXF4)
        return word == 1 || word < 0 ? 2 : 0;
    return word > 0 ? (uint8_t)(1u << word) : 0;
}

/* Scales of ue4m3 are four, which those of ue8m0 are from PTX 9.1 on. */
static bool take_scale_type(struct ptx_parser *p, enum kind kind, struct ptx_scaled_mma *x)
{
    x->has_short_scales = ptx_take(p, MOD_ue4m3);
    if (x->has_short_scales)
        return kind == MXF4NVF4 && x->scales == 4;
    return ptx_take(p, MOD_ue8m0) && (x->scales < 4 || p->version >= 91);
}

static bool take_form(struct ptx_parser *p, struct ptx_scaled_mma *x)
{
    static const enum ptx_modifier kinds[] = {MOD_kind_f8f6f4, MOD_kind_mxf8f6f4, MOD_kind_mxf4,
                                              MOD_kind_mxf4nvf4, MOD_COUNT};
    int kind = ptx_take_one(p, kinds);
    bool is_short = kind >= MXF4;

    if (ptx_take(p, MOD_sp) || ptx_take(p, MOD_sp_ordered))
        return false;
    if (kind < 0 || !ptx_take(p, MOD_sync) || !ptx_take(p, MOD_aligned) ||
        !ptx_take(p, is_short ? MOD_m16n8k64 : MOD_m16n8k32) || !ptx_take(p, MOD_row) ||
        !ptx_take(p, MOD_col) || ptx_take(p, MOD_block_scale) != (kind != F8F6F4))
        return false;
    x->k = is_short ? 64 : 32;
    if (kind != F8F6F4 && !(x->scales = take_scales(p, (enum kind)kind)))
        return false;
    x->a_type = take_element(p);
    x->b_type = take_element(p);
    if (x->a_type == PTX_TYPE_COUNT || x->b_type == PTX_TYPE_COUNT ||
        (is_short && (x->a_type != PTX_E2M1X2 || x->b_type != PTX_E2M1X2)))
        return false;
    x->d_type = ptx_take(p, PTX_F32) ? PTX_F32 : PTX_F16;
    if (x->d_type == PTX_F16 && (x->scales || !ptx_take(p, PTX_F16)))
        return false;
    return ptx_take(p, x->d_type) &&
           (kind == F8F6F4 || take_scale_type(p, (enum kind)kind, x));
}

static bool parse_scales(struct ptx_parser *p, struct ptx_scaled_mma *x)
{
    x->a_scales = ptx_source(p, ptx_operand_at(p, 4), PTX_B32, false);
    x->b_scales = ptx_source(p, ptx_operand_at(p, 6), PTX_B32, false);
    return p->status == PTX_OK && ptx_parse_fragment(p, 5, 2, PTX_U16, x->a_at) &&
           ptx_parse_fragment(p, 7, 2, PTX_U16, x->b_at);
}

/* d, a, b, c; and scales of A, {byte, lanes}, of B, {byte, lane} */
bool ptx_decode_scaled_mma(struct ptx_parser *p)
{
    struct ptx_scaled_mma *x = ptx_extra(p, sizeof(*x));

    if (!x)
        return false;
    if (!take_form(p, x))
        return ptx_unsupported(p);
    unsigned operands = x->scales ? 8 : 4;
    unsigned results = x->d_type == PTX_F32 ? 4 : 2;
    ptx_type of_results = x->d_type == PTX_F32 ? PTX_F32 : PTX_B32;
    if (!check_target(p) || !ptx_want_operands(p, operands, operands) ||
        !ptx_parse_fragment(p, 0, results, of_results, x->d) ||
        !ptx_parse_fragment(p, 1, 4, PTX_B32, x->a) ||
        !ptx_parse_fragment(p, 2, 2, PTX_B32, x->b) ||
        !ptx_parse_fragment(p, 3, results, of_results, x->c) || (x->scales && !parse_scales(p, x)))
        return false;
    ptx_emit(p, ptx_run_scaled_mma)->extra = x;
    return p->status == PTX_OK;
}
