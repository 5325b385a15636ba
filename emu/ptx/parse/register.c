/* SPDX-License-Identifier: Apache-2.0
 *
 * Registers of a function: their declarations, and their place in its frame.
 */
#include "emu/ptx/parse/parse.h"

#define FRAME_MAX (1u << 26)

ptx_op ptx_register_new(struct ptx_parser *p, ptx_type type, uint32_t count)
{
    unsigned size = type == PTX_PRED ? 2 : ptx_type_size(type) < 2 ? 2 : ptx_type_size(type);
    uint64_t bytes = (uint64_t)size * PTX_LANES * count;
    uint32_t at = p->code->frame_size;

    if (at + bytes > FRAME_MAX) {
        ptx_fail(p, PTX_INVALID, p->lexer.token.line, "too many registers");
        return PTX_OP_NONE;
    }
    p->code->frame_size = at + (uint32_t)bytes;
    return at | PTX_BASE_FRAME;
}

static bool parse_register(struct ptx_parser *p, const struct ptx_declaration *d)
{
    struct ptx_token name = p->lexer.token;
    uint64_t count = 0;

    if (name.kind != PTX_TOKEN_NAME)
        return ptx_fail_expected(p, "a register name");
    ptx_lexer_next(&p->lexer);
    bool range = ptx_lexer_take(&p->lexer, '<');
    if (range && (!ptx_parse_count(p, &count) || !ptx_expect(p, '>')))
        return false;
    if (range && count > 1u << 20)
        return ptx_fail(p, PTX_INVALID, name.line, "too many registers");
    struct ptx_symbol *s = ptx_symbol_add(p, &name, range ? PTX_SYMBOL_REGS : PTX_SYMBOL_REG);
    if (!s)
        return false;
    s->type = d->type;
    s->vector = d->vector;
    s->count = range ? (uint32_t)count : 1;
    uint32_t units = s->count * (d->vector ? d->vector : 1);
    s->op = ptx_register_new(p, d->type, units);
    return p->status == PTX_OK;
}

bool ptx_parse_registers(struct ptx_parser *p)
{
    struct ptx_declaration d = {.type = 0};

    if (!ptx_parse_declaration(p, &d))
        return false;
    do {
        if (!parse_register(p, &d))
            return false;
    } while (ptx_lexer_take(&p->lexer, ','));
    return ptx_expect(p, ';');
}
