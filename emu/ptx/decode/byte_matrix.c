/* SPDX-License-Identifier: Apache-2.0
 *
 * ldmatrix and stmatrix of elements of 8, 6 and 4 bits.
 */
#include "emu/ptx/decode/decode.h"

static bool check_target(struct ptx_parser *p)
{
    const struct ptx_token *t = &p->statement.opcode;
    uint32_t line = p->statement.line;

    if (p->target && (p->target < 100 || !p->variant))
        return ptx_fail(p, PTX_INVALID, line, "'%.*s' of bytes requires .target sm_100a or sm_120a",
                        (int)t->size, t->text);
    if (p->version < 86)
        return ptx_fail(p, PTX_INVALID, line,
                        "'%.*s' of bytes requires PTX ISA .version 8.6 or later", (int)t->size,
                        t->text);
    return true;
}

static bool take_elements(struct ptx_parser *p, struct ptx_byte_matrix *x, bool is_wide)
{
    x->bits = 8;
    if (x->stores || (is_wide && ptx_take(p, PTX_B8)))
        return !x->stores || ptx_take(p, PTX_B8);
    if (!ptx_take(p, MOD_b8x16))
        return false;
    x->bits = ptx_take(p, MOD_b6x16_p32) ? 6 : 4;
    return x->bits == 6 || ptx_take(p, MOD_b4x16_p64);
}

/* ldmatrix d, [a] and stmatrix [a], b; .sync and .aligned are taken. */
bool ptx_decode_byte_matrix(struct ptx_parser *p, bool stores)
{
    static const enum ptx_modifier counts[] = {MOD_x1, MOD_x2, MOD_x4, MOD_COUNT};
    struct ptx_byte_matrix *x = ptx_extra(p, sizeof(*x));
    struct ptx_address a;

    if (!x)
        return false;
    bool is_wide = !stores && ptx_take(p, MOD_m16n16);
    if (!is_wide && !ptx_take(p, stores ? MOD_m16n8 : MOD_m8n16))
        return ptx_unsupported(p);
    int count = ptx_take_one(p, counts);
    bool trans = ptx_take(p, MOD_trans);
    bool shared = ptx_take(p, MOD_shared) || ptx_take(p, MOD_shared_cta);
    x->stores = stores;
    if (count < 0 || (is_wide && count > 1) || trans != (is_wide || stores) ||
        !take_elements(p, x, is_wide))
        return ptx_unsupported(p);
    x->rows = is_wide ? 16 : 8;
    x->matrices = (uint8_t)(1u << count);
    if (!check_target(p) || !ptx_want_operands(p, 2, 2) ||
        !ptx_parse_fragment(p, stores, x->matrices * x->rows / 8u, PTX_B32, x->registers))
        return false;
    enum ptx_space space = shared ? PTX_SPACE_SHARED : PTX_SPACE_GENERIC;
    if (!ptx_parse_address(p, ptx_operand_at(p, !stores), space, &a))
        return false;
    struct ptx_insn *i = ptx_emit(p, stores ? ptx_run_store_bytes : ptx_run_load_bytes);
    ptx_set_address(i, &a);
    i->extra = x;
    return true;
}
