/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/ptx/parse/record.h"
#include "base/buffer.h"
#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

enum { KNOWN_DEFINED = 1, KNOWN_CALLS_UNKNOWN = 2 };

/* ---- writing ---- */

static void add_list(struct tsm_buffer *out, const uint32_t *items, uint32_t count)
{
    tsm_buffer_add_varint(out, count);
    for (uint32_t k = 0; k < count; k++)
        tsm_buffer_add_varint(out, items[k]);
}

static void add_code(struct tsm_buffer *out, const struct ptx_code *code)
{
    if (!code->insns) {
        tsm_buffer_add_varint(out, 0);
        return;
    }
    tsm_buffer_add_varint(out, KNOWN_DEFINED | (code->calls_unknown ? KNOWN_CALLS_UNKNOWN : 0));
    tsm_buffer_add_varint(out, code->end);
    tsm_buffer_add_varint(out, code->end_line);
    tsm_buffer_add_varint(out, code->info.register_count);
    tsm_buffer_add_varint(out, code->frame_size);
    tsm_buffer_add_varint(out, code->local_frame);
    tsm_buffer_add_varint(out, code->insn_count);
    add_list(out, code->used_vars, code->used_var_count);
    add_list(out, code->used_codes, code->used_code_count);
}

int ptx_module_record(const struct ptx_module *m, struct tsm_buffer *out)
{
    const struct ptx_inner_var *inner = m->inner_vars.items;
    size_t items = 0;

    if (m->lazy || m->text_size > UINT32_MAX)
        return PTX_UNSUPPORTED;
    for (size_t k = 0; k < m->codes.count; k++)
        items += ptx_code_at(m, k)->used_var_count + ptx_code_at(m, k)->used_code_count;
    tsm_buffer_add_varint(out, m->codes.count);
    tsm_buffer_add_varint(out, items);
    tsm_buffer_add_varint(out, m->inner_vars.count);
    tsm_buffer_add_varint(out, m->vars.count);
    tsm_buffer_add_varint(out, m->pool_size);
    for (size_t k = 0; k < m->codes.count; k++)
        add_code(out, ptx_code_at(m, k));
    for (size_t k = 0; k < m->inner_vars.count; k++) {
        tsm_buffer_add_varint(out, inner[k].at);
        tsm_buffer_add_varint(out, inner[k].line);
        tsm_buffer_add_varint(out, inner[k].space);
    }
    return out->failed ? PTX_NO_MEMORY : PTX_OK;
}

/* ---- reading: the bytes may be anybody's ---- */

static uint32_t take(struct tsm_view *v)
{
    uint64_t value = tsm_view_varint(v);

    v->failed |= value > UINT32_MAX;
    return (uint32_t)value;
}

/* Items are below `bound`; `room` is what is left of the array for all lists. */
static uint32_t take_list(struct tsm_view *v, uint32_t *out, uint32_t *room, uint32_t bound)
{
    uint32_t count = take(v);

    if (count > *room) {
        v->failed = true;
        return 0;
    }
    *room -= count;
    for (uint32_t k = 0; k < count; k++) {
        out[k] = take(v);
        v->failed |= out[k] >= bound;
    }
    return count;
}

static void take_code(struct tsm_view *v, struct ptx_record *r, struct ptx_known *known,
                      uint32_t **lists, uint32_t *room)
{
    uint32_t flags = take(v);

    known->is_defined = flags & KNOWN_DEFINED;
    known->calls_unknown = flags & KNOWN_CALLS_UNKNOWN;
    if (!known->is_defined)
        return;
    known->end = take(v);
    known->end_line = take(v);
    known->register_count = take(v);
    known->frame_size = take(v);
    known->local_frame = take(v);
    known->insn_count = take(v);
    known->used_vars = *lists;
    known->used_var_count = take_list(v, *lists, room, r->var_count);
    *lists += known->used_var_count;
    known->used_codes = *lists;
    known->used_code_count = take_list(v, *lists, room, r->code_count);
    *lists += known->used_code_count;
}

static void take_inner_vars(struct tsm_view *v, struct ptx_record *r)
{
    for (uint32_t k = 0; k < r->inner_count; k++)
        r->inner_vars[k] =
            (struct ptx_inner_var){.at = take(v), .line = take(v), .space = (uint16_t)take(v)};
}

static bool reserve_pool(struct ptx_module *m, uint64_t size)
{
    size_t capacity = (size_t)((size + 255) & ~127ull);

    if (size > INT32_MAX)
        return false;
    m->pool_lanes = aligned_alloc(128, capacity);
    m->pool_capacity = m->pool_lanes ? (size_t)size : 0;
    m->is_pool_fixed = true;
    return m->pool_lanes != NULL;
}

bool ptx_record_read(struct ptx_parser *p, const void *record, size_t size)
{
    struct tsm_view v = tsm_view_init(record, size);
    uint32_t codes = take(&v);
    uint32_t room = take(&v);
    uint32_t inner = take(&v);
    uint32_t vars = take(&v);
    uint64_t pool = take(&v);

    /* Each of them has a byte at least. */
    if (v.failed || codes > size || room > size || inner > size)
        return false;
    struct ptx_record *r =
        ptx_module_alloc(p->module, sizeof(*r) + (size_t)codes * sizeof(r->codes[0]));
    uint32_t *lists = ptx_module_alloc(p->module, (size_t)room * sizeof(*lists));
    if (!r || !lists || !reserve_pool(p->module, pool))
        return false;
    r->code_count = codes;
    r->var_count = vars;
    r->inner_count = inner;
    r->inner_vars = ptx_module_alloc(p->module, (size_t)inner * sizeof(*r->inner_vars));
    if (!r->inner_vars)
        return false;
    for (uint32_t k = 0; k < codes && !v.failed; k++)
        take_code(&v, r, &r->codes[k], &lists, &room);
    take_inner_vars(&v, r);
    p->record = r;
    return !v.failed && tsm_view_left(&v) == 0;
}

/* ---- in place of a body ---- */

static bool add_inner_var(struct ptx_parser *p, const struct ptx_inner_var *inner)
{
    size_t known = p->symbols.count;

    if (inner->space != MOD_shared && inner->space != MOD_global && inner->space != MOD_const)
        return false;
    ptx_lexer_jump(&p->lexer, p->module->text + inner->at, inner->line);
    ptx_scope_enter(p);
    bool ok = ptx_parse_variables(p, inner->space, MOD_UNKNOWN);
    ptx_symbols_drop(p, known);
    ptx_scope_leave(p, 1);
    return ok;
}

static bool add_inner_vars(struct ptx_parser *p, uint32_t end)
{
    struct ptx_record *r = p->record;
    uint32_t at = (uint32_t)(p->lexer.token.text - p->module->text);

    for (; r->inner_next < r->inner_count; r->inner_next++) {
        const struct ptx_inner_var *inner = &r->inner_vars[r->inner_next];
        if (inner->at >= end)
            return true;
        if (inner->at < at || !add_inner_var(p, inner))
            return false;
    }
    return true;
}

/* Stands after the opening brace. */
bool ptx_record_skip(struct ptx_parser *p, struct ptx_code *code)
{
    const struct ptx_record *r = p->record;
    const struct ptx_known *known = code->index < r->code_count ? &r->codes[code->index] : NULL;
    const char *start = ptx_token_start(&p->lexer.token);

    if (!known || !known->is_defined || known->end >= p->module->text_size ||
        p->module->text + known->end < start || !add_inner_vars(p, known->end))
        return ptx_fail_expected(p, "another record");
    ptx_lexer_jump(&p->lexer, p->module->text + known->end, known->end_line);
    code->end = known->end;
    code->end_line = known->end_line;
    code->calls_unknown = known->calls_unknown;
    code->info.register_count = known->register_count;
    code->local_frame = known->local_frame;
    code->used_vars = known->used_vars;
    code->used_var_count = known->used_var_count;
    code->used_codes = known->used_codes;
    code->used_code_count = known->used_code_count;
    return ptx_expect(p, '}');
}

bool ptx_record_agrees(struct ptx_parser *p)
{
    const struct ptx_module *m = p->module;
    const struct ptx_record *r = p->record;

    if (m->codes.count != r->code_count || m->vars.count != r->var_count ||
        r->inner_next != r->inner_count)
        return false;
    for (size_t k = 0; k < m->codes.count; k++)
        if (ptx_code_at(m, k)->is_defined != r->codes[k].is_defined)
            return false;
    return true;
}
