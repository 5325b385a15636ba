/* SPDX-License-Identifier: Apache-2.0
 *
 * cvt.rs.
 */
#include "emu/ptx/decode/decode.h"

static bool take_types(struct ptx_parser *p, struct ptx_stochastic *x)
{
    static const enum ptx_modifier fours[] = {MOD_e4m3x4, MOD_e5m2x4, MOD_e2m1x4,
                                              MOD_e2m3x4, MOD_e3m2x4, MOD_COUNT};
    static const ptx_type pairs[] = {PTX_E4M3X2, PTX_E5M2X2, PTX_E2M1X2, PTX_E2M3X2, PTX_E3M2X2};
    int four = ptx_take_one(p, fours);

    x->count = four < 0 ? 2 : 4;
    x->type = four < 0 ? ptx_take_type(p) : pairs[four];
    if (four < 0 && x->type != PTX_F16X2 && x->type != PTX_BF16X2)
        return false;
    return ptx_take(p, PTX_F32) && (four < 0 || x->satfinite);
}

/* d, a, b, random; or d, {a, b, e, f}, random */
bool ptx_decode_stochastic(struct ptx_parser *p)
{
    struct ptx_stochastic *x = ptx_extra(p, sizeof(*x));

    if (!x)
        return false;
    x->relu = ptx_take(p, MOD_relu);
    x->satfinite = ptx_take(p, MOD_satfinite);
    if (!take_types(p, x))
        return ptx_unsupported(p);
    unsigned count = x->count == 2 ? 4 : 3;
    if (!ptx_want_operands(p, count, count))
        return false;
    ptx_type type = x->type == PTX_F16X2 ? PTX_F16X2 : x->type == PTX_E2M1X2 ? PTX_B16 : PTX_B32;
    ptx_op dst = ptx_dest(p, ptx_operand_at(p, 0), type, false);
    if (x->count == 4 && !ptx_parse_fragment(p, 1, 4, PTX_F32, x->in))
        return false;
    for (unsigned k = 0; x->count == 2 && k < 2; k++)
        x->in[k] = ptx_source(p, ptx_operand_at(p, 1 + k), PTX_F32, false);
    x->random = ptx_source(p, ptx_operand_at(p, count - 1), PTX_B32, false);
    struct ptx_insn *i = ptx_emit(p, ptx_run_stochastic);
    i->dst = dst;
    i->extra = x;
    return p->status == PTX_OK;
}
