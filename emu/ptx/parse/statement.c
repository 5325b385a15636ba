/* SPDX-License-Identifier: Apache-2.0
 *
 * Function bodies: declarations, labels, instructions with their operands.
 */
#include "emu/ptx/parse/parse.h"

#include <stdlib.h>
#include <string.h>

static struct ptx_operand *operand_new(struct ptx_parser *p)
{
    struct ptx_statement *s = &p->statement;

    if (s->used == PTX_OPERAND_MAX) {
        ptx_fail(p, PTX_INVALID, p->lexer.token.line, "too many operands");
        return NULL;
    }
    struct ptx_operand *o = &s->operands[s->used++];
    memset(o, 0, sizeof(*o));
    o->op = PTX_OP_NONE;
    o->fetch = -1;
    o->token = p->lexer.token;
    return o;
}

static unsigned register_bytes(ptx_type type)
{
    unsigned size = ptx_type_size(type);

    return (size < 2 ? 2 : size) * PTX_LANES;
}

static void parse_register(struct ptx_parser *p, struct ptx_operand *o, struct ptx_symbol *s)
{
    unsigned unit = register_bytes(s->type);
    unsigned which = ptx_component(&p->lexer.token);

    o->kind = PTX_OPERAND_REG;
    o->type = s->type;
    o->op = s->op;
    if (s->kind == PTX_SYMBOL_REGS) {
        uint64_t number = 0;
        for (uint32_t i = s->name_size; i < o->token.size; i++)
            number = number * 10 + (unsigned)(o->token.text[i] - '0');
        o->op += (ptx_op)number * unit * (s->vector ? s->vector : 1);
    }
    if (s->vector && which < s->vector) {
        o->op += which * unit;
        o->is_component = true;
        ptx_lexer_next(&p->lexer);
    } else {
        o->vector = s->vector;
    }
    for (unsigned i = 0; i < (o->vector ? o->vector : 1); i++)
        ptx_live_note(p, o->op + i * unit, s->type);
}

/* .b0, .h1, .b3210: which bytes or halves of a register an instruction means. */
static void parse_selector(struct ptx_parser *p, struct ptx_operand *o)
{
    const struct ptx_token *t = &p->lexer.token;
    uint32_t selector = 0;

    if (t->kind != PTX_TOKEN_DOT || t->size < 2 || t->size > 5 ||
        (t->text[0] != 'b' && t->text[0] != 'h'))
        return;
    for (uint32_t k = 1; k < t->size; k++) {
        if (t->text[k] < '0' || t->text[k] > '7')
            return;
        selector = selector << 4 | (uint32_t)(t->text[k] - '0');
    }
    o->selector = selector;
    o->selector_count = (uint8_t)(t->size - 1);
    o->selector_size = t->text[0] == 'b' ? 1 : 2;
    ptx_lexer_next(&p->lexer);
}

static bool parse_name(struct ptx_parser *p, struct ptx_operand *o)
{
    struct ptx_token name = p->lexer.token;
    struct ptx_symbol *s;

    ptx_lexer_next(&p->lexer);
    if (name.size == 1 && name.text[0] == '_') {
        o->kind = PTX_OPERAND_SINK;
        return true;
    }
    s = ptx_symbol_find(p, &name);
    if (s && (s->kind == PTX_SYMBOL_REG || s->kind == PTX_SYMBOL_REGS)) {
        parse_register(p, o, s);
        parse_selector(p, o);
        return true;
    }
    if (!s && name.text[0] == '%') {
        if (ptx_parse_special(p, o))
            return p->status == PTX_OK;
        return ptx_fail(p, PTX_INVALID, name.line, "unknown register '%.*s'", (int)name.size,
                        name.text);
    }
    o->symbol = s;
    o->kind = s ? PTX_OPERAND_SYMBOL : PTX_OPERAND_NAME;
    return true;
}

static bool parse_literal(struct ptx_parser *p, struct ptx_operand *o)
{
    struct ptx_value v;

    if (!ptx_parse_value(p, &v))
        return false;
    o->kind = v.is_float ? PTX_OPERAND_FLOAT : PTX_OPERAND_INT;
    o->value = o->negated ? !v.bits : v.bits;
    o->is_single = v.is_single;
    return true;
}

static bool is_constant_next(const struct ptx_parser *p)
{
    const struct ptx_token *t = &p->lexer.token;

    return t->kind != PTX_TOKEN_NAME || (t->size == 7 && memcmp(t->text, "WARP_SZ", 7) == 0);
}

/* -%r, as vmad has it; the token after '-' is looked at. */
static bool is_minus_name(const struct ptx_parser *p)
{
    struct ptx_lexer ahead = p->lexer;

    if (!ptx_lexer_is(&ahead, '-'))
        return false;
    ptx_lexer_next(&ahead);
    return ahead.token.kind == PTX_TOKEN_NAME && ahead.token.text[0] != 'W';
}

/* name[2], name[%r1+2]: counted in scalars of the variable's type. */
static bool parse_index(struct ptx_parser *p, struct ptx_operand *o)
{
    o->is_indexed = true;
    if (is_constant_next(p)) {
        if (!ptx_parse_number(p, &o->value))
            return false;
    } else {
        struct ptx_operand *index = operand_new(p);
        if (!index || !parse_name(p, index) || !ptx_parse_addend(p, &o->value))
            return false;
        if (index->kind != PTX_OPERAND_REG)
            return ptx_fail_expected(p, "a register");
        o->first = (uint16_t)(index - p->statement.operands);
    }
    o->value *= ptx_type_size(o->symbol->type);
    return ptx_expect(p, ']');
}

static bool parse_atom(struct ptx_parser *p, struct ptx_operand *o)
{
    o->negated = ptx_lexer_take(&p->lexer, '!');
    o->is_minus = is_minus_name(p);
    if (o->is_minus)
        ptx_lexer_next(&p->lexer);
    o->token = p->lexer.token;
    if (is_constant_next(p))
        return parse_literal(p, o);
    if (!parse_name(p, o))
        return false;
    if (o->is_minus && o->kind != PTX_OPERAND_REG)
        return ptx_fail_expected(p, "a register");
    o->has_addend = ptx_lexer_is(&p->lexer, '+');
    if (o->kind == PTX_OPERAND_REG && o->has_addend)
        return ptx_parse_addend(p, &o->value);
    if (o->kind != PTX_OPERAND_SYMBOL)
        return true;
    return ptx_lexer_take(&p->lexer, '[') ? parse_index(p, o) : ptx_parse_addend(p, &o->value);
}

/* The elements of {..} or (..), after the opening character. */
static bool parse_elements(struct ptx_parser *p, struct ptx_operand *o, char close)
{
    struct ptx_statement *s = &p->statement;

    o->first = (uint16_t)s->used;
    if (ptx_lexer_take(&p->lexer, close))
        return true;
    do {
        struct ptx_operand *element = operand_new(p);
        if (!element || !parse_atom(p, element))
            return false;
        element->is_element = close == '}';
        if (element->first) /* elements lie side by side */
            return ptx_fail_expected(p, "a constant index");
        o->count++;
    } while (ptx_lexer_take(&p->lexer, ','));
    return ptx_expect(p, close);
}

/* [texture, {x, y}], [texture, sampler, {x, y}]: what follows the first comma. */
static bool parse_address_rest(struct ptx_parser *p, struct ptx_operand *o)
{
    struct ptx_operand *places[2] = {operand_new(p), operand_new(p)};

    if (!places[0] || !places[1])
        return false;
    do {
        struct ptx_operand *place = o->count < 2 ? places[o->count++] : NULL;
        if (!place)
            return ptx_fail_expected(p, "']'");
        place->token = p->lexer.token;
        if (ptx_lexer_take(&p->lexer, '{')) {
            place->kind = PTX_OPERAND_VECTOR;
            if (!parse_elements(p, place, '}'))
                return false;
        } else if (!parse_atom(p, place)) {
            return false;
        }
    } while (ptx_lexer_take(&p->lexer, ','));
    return ptx_expect(p, ']');
}

static bool parse_address(struct ptx_parser *p, struct ptx_operand *o)
{
    struct ptx_operand *base = operand_new(p);

    if (!base)
        return false;
    o->kind = PTX_OPERAND_ADDRESS;
    o->first = (uint16_t)(base - p->statement.operands);
    if (!parse_atom(p, base))
        return false;
    if (base->kind == PTX_OPERAND_REG) {
        o->value = base->value;
        base->has_addend = false;
    }
    if (ptx_lexer_take(&p->lexer, ','))
        return parse_address_rest(p, o);
    return ptx_expect(p, ']');
}

/* Other instructions have no lists: there '(' begins an expression. */
static bool is_call(const struct ptx_token *opcode)
{
    return opcode->size == 4 && memcmp(opcode->text, "call", 4) == 0;
}

static bool parse_operand(struct ptx_parser *p)
{
    struct ptx_operand *o = operand_new(p);

    if (!o)
        return false;
    if (ptx_lexer_take(&p->lexer, '{')) {
        o->kind = PTX_OPERAND_VECTOR;
        return parse_elements(p, o, '}');
    }
    if (is_call(&p->statement.opcode) && ptx_lexer_take(&p->lexer, '(')) {
        o->kind = PTX_OPERAND_LIST;
        return parse_elements(p, o, ')');
    }
    if (ptx_lexer_take(&p->lexer, '['))
        return parse_address(p, o);
    return parse_atom(p, o);
}

/* Top-level operands come first in the array so that decoders can index them: nested ones are
 * parsed after their parent and the parents are gathered at the front. */
static bool parse_operands(struct ptx_parser *p)
{
    struct ptx_statement *s = &p->statement;
    struct ptx_operand top[16];
    unsigned count = 0;

    s->used = 16; /* nested operands lie above */
    s->operand_count = 0;
    if (ptx_lexer_take(&p->lexer, ';'))
        return true;
    do {
        unsigned at = s->used;
        if (count == 16)
            return ptx_fail(p, PTX_INVALID, s->line, "too many operands");
        if (!parse_operand(p))
            return false;
        top[count] = s->operands[at];
        if (ptx_lexer_take(&p->lexer, '|')) {
            struct ptx_operand *second = operand_new(p);
            if (!second || !parse_atom(p, second))
                return false;
            top[count].kind = PTX_OPERAND_PAIR;
            top[count].first = (uint16_t)at;
            top[count].count = (uint16_t)(second - s->operands);
        }
        count++;
    } while (ptx_lexer_take(&p->lexer, ','));
    memcpy(s->operands, top, count * sizeof(top[0]));
    s->operand_count = count;
    return ptx_expect(p, ';');
}

static bool parse_guard(struct ptx_parser *p)
{
    struct ptx_operand o = {.fetch = -1};
    bool negated = ptx_lexer_take(&p->lexer, '!');

    o.token = p->lexer.token;
    if (o.token.kind != PTX_TOKEN_NAME)
        return ptx_fail_expected(p, "a predicate");
    if (!parse_name(p, &o))
        return false;
    if (o.kind != PTX_OPERAND_REG || o.type != PTX_PRED)
        return ptx_fail(p, PTX_INVALID, o.token.line, "guard '%.*s' is not a predicate",
                        (int)o.token.size, o.token.text);
    p->statement.guard = o.op | (negated ? PTX_OP_NOT : 0);
    return true;
}

static bool parse_instruction(struct ptx_parser *p)
{
    struct ptx_statement *s = &p->statement;

    s->opcode = p->lexer.token;
    s->line = s->opcode.line;
    s->mod_count = 0;
    if (s->opcode.kind != PTX_TOKEN_NAME)
        return ptx_fail_expected(p, "an instruction");
    ptx_lexer_next(&p->lexer);
    while (p->lexer.token.kind == PTX_TOKEN_DOT) {
        const struct ptx_token *t = &p->lexer.token;
        if (s->mod_count == PTX_MOD_MAX)
            return ptx_fail(p, PTX_INVALID, s->line, "too many modifiers");
        s->mods[s->mod_count] = ptx_modifier_find(t->text, t->size);
        s->mod_tokens[s->mod_count] = *t;
        s->mod_used[s->mod_count++] = false;
        ptx_lexer_next(&p->lexer);
    }
    return ptx_is_known(p) && parse_operands(p) && ptx_decode(p);
}

/* name: .branchtargets L1, L2; */
static bool parse_targets(struct ptx_parser *p, const struct ptx_token *name)
{
    struct ptx_symbol *s = ptx_symbol_add(p, name, PTX_SYMBOL_TARGETS);
    struct ptx_targets *targets = s ? ptx_module_alloc(p->module, sizeof(*targets)) : NULL;
    struct ptx_array names = {0};

    if (!targets)
        return ptx_fail_memory(p);
    s->extra = targets;
    do {
        struct ptx_token *slot = ptx_array_add(&names, sizeof(*slot));
        if (!slot || p->lexer.token.kind != PTX_TOKEN_NAME) {
            ptx_fail_expected(p, "a label");
            break;
        }
        *slot = p->lexer.token;
        ptx_lexer_next(&p->lexer);
    } while (ptx_lexer_take(&p->lexer, ','));
    targets->count = (uint32_t)names.count;
    targets->scope = p->scope;
    targets->names = names.items;
    void **chunk = ptx_array_add(&p->module->chunks, sizeof(*chunk));
    if (chunk)
        *chunk = names.items;
    return p->status == PTX_OK && ptx_expect(p, ';');
}

/* (...), of parameters or of a directive. */
static bool skip_parens(struct ptx_parser *p)
{
    while (p->lexer.token.kind != PTX_TOKEN_END && !ptx_lexer_is(&p->lexer, ')') &&
           !ptx_lexer_is(&p->lexer, ';'))
        ptx_lexer_next(&p->lexer);
    return ptx_expect(p, ')');
}

/* name: .callprototype (.param .b32 _) _ (.param .b64 _, .param .b32 _) .noreturn;
 * An indirect call takes its shape from its own operands, so only the syntax is looked at. */
static bool parse_prototype(struct ptx_parser *p, const struct ptx_token *name)
{
    ptx_lexer_next(&p->lexer);
    if (!ptx_symbol_add(p, name, PTX_SYMBOL_PROTO))
        return false;
    if (ptx_lexer_take(&p->lexer, '(') && !skip_parens(p))
        return false;
    if (p->lexer.token.kind != PTX_TOKEN_NAME)
        return ptx_fail_expected(p, "'_'");
    ptx_lexer_next(&p->lexer);
    if (ptx_lexer_take(&p->lexer, '(') && !skip_parens(p))
        return false;
    while (p->lexer.token.kind == PTX_TOKEN_DOT || p->lexer.token.kind == PTX_TOKEN_INT)
        ptx_lexer_next(&p->lexer);
    return ptx_expect(p, ';');
}

/* name: .calltargets f, g; */
static bool parse_call_targets(struct ptx_parser *p, const struct ptx_token *name)
{
    ptx_lexer_next(&p->lexer);
    if (!ptx_symbol_add(p, name, PTX_SYMBOL_PROTO))
        return false;
    do {
        if (p->lexer.token.kind != PTX_TOKEN_NAME)
            return ptx_fail_expected(p, "a function");
        ptx_lexer_next(&p->lexer);
    } while (ptx_lexer_take(&p->lexer, ','));
    return ptx_expect(p, ';');
}

static bool parse_after_label(struct ptx_parser *p, const struct ptx_token *name)
{
    const struct ptx_token *t = &p->lexer.token;
    enum ptx_modifier word =
        t->kind == PTX_TOKEN_DOT ? ptx_modifier_find(t->text, t->size) : MOD_UNKNOWN;

    if (word == MOD_branchtargets) {
        ptx_lexer_next(&p->lexer);
        return parse_targets(p, name);
    }
    if (word == MOD_callprototype)
        return parse_prototype(p, name);
    if (word == MOD_calltargets)
        return parse_call_targets(p, name);
    return ptx_label_add(p, name);
}

static bool skip_line(struct ptx_parser *p)
{
    uint32_t line = p->lexer.token.line;

    while (p->lexer.token.kind != PTX_TOKEN_END && p->lexer.token.line == line)
        ptx_lexer_next(&p->lexer);
    return true;
}

/* Keeps its place for the module's record. */
static bool parse_inner_variables(struct ptx_parser *p, enum ptx_modifier space)
{
    struct ptx_inner_var *inner =
        p->again ? NULL : ptx_array_add(&p->module->inner_vars, sizeof(*inner));

    if (inner)
        *inner = (struct ptx_inner_var){
            .at = (uint32_t)(ptx_token_start(&p->lexer.token) - p->module->text),
            .line = p->lexer.token.line,
            .space = (uint16_t)space,
        };
    else if (!p->again)
        return ptx_fail_memory(p);
    return ptx_parse_variables(p, space, MOD_UNKNOWN);
}

static bool parse_directive(struct ptx_parser *p)
{
    struct ptx_token t = p->lexer.token;
    enum ptx_modifier word = ptx_modifier_find(t.text, t.size);

    if (word == MOD_loc || word == MOD_file)
        return skip_line(p);
    ptx_lexer_next(&p->lexer);
    switch (word) {
    case MOD_reg:
        return ptx_parse_registers(p);
    case MOD_local:
    case MOD_param:
        return ptx_parse_variables(p, word, MOD_UNKNOWN);
    case MOD_shared:
    case MOD_global:
    case MOD_const:
        return parse_inner_variables(p, word);
    case MOD_pragma:
        while (p->lexer.token.kind != PTX_TOKEN_END && !ptx_lexer_is(&p->lexer, ';'))
            ptx_lexer_next(&p->lexer);
        return ptx_expect(p, ';');
    default:
        return ptx_fail(p, PTX_UNSUPPORTED, t.line, "unsupported directive '.%.*s'", (int)t.size,
                        t.text);
    }
}

static bool is_colon_next(const struct ptx_parser *p)
{
    struct ptx_lexer ahead = p->lexer;

    if (*ahead.at != ':' && *ahead.at != ' ' && *ahead.at != '\n' && *ahead.at != '\t' &&
        *ahead.at != '\r')
        return false;
    ptx_lexer_next(&ahead);
    return ptx_lexer_is(&ahead, ':');
}

static bool parse_statement(struct ptx_parser *p)
{
    struct ptx_token t = p->lexer.token;

    p->statement.guard = PTX_OP_NONE;
    if (t.kind == PTX_TOKEN_DOT)
        return parse_directive(p);
    if (t.kind == PTX_TOKEN_NAME && p->lexer.at < p->lexer.end && is_colon_next(p)) {
        ptx_lexer_next(&p->lexer);
        ptx_lexer_next(&p->lexer);
        return parse_after_label(p, &t);
    }
    if (ptx_lexer_take(&p->lexer, ';'))
        return true;
    if (ptx_lexer_take(&p->lexer, '@') && !parse_guard(p))
        return false;
    return parse_instruction(p);
}

#define SCOPES_MAX 1000

/* A { } inside a function: names declared in it end with it. */
struct scope_mark {
    uint32_t scope;
    size_t symbols;
};

static bool open_scope(struct ptx_parser *p, struct ptx_array *marks)
{
    struct scope_mark *mark;

    if (marks->count == SCOPES_MAX)
        return ptx_fail(p, PTX_INVALID, p->lexer.token.line, "blocks nest too deeply");
    mark = ptx_array_add(marks, sizeof(*mark));
    if (!mark)
        return ptx_fail_memory(p);
    *mark = (struct scope_mark){p->scope, p->symbols.count};
    ptx_scope_enter(p);
    return p->status == PTX_OK;
}

static void close_scope(struct ptx_parser *p, struct ptx_array *marks)
{
    const struct scope_mark *mark = (struct scope_mark *)marks->items + --marks->count;

    ptx_symbols_drop(p, mark->symbols);
    ptx_scope_leave(p, mark->scope);
}

bool ptx_parse_body(struct ptx_parser *p)
{
    struct ptx_array marks = {0};
    bool ok = true;

    while (ok) {
        if (p->lexer.token.kind == PTX_TOKEN_END) {
            ok = ptx_fail_expected(p, "'}'");
        } else if (ptx_lexer_take(&p->lexer, '{')) {
            ok = open_scope(p, &marks);
        } else if (ptx_lexer_is(&p->lexer, '}')) {
            p->code->end = (uint32_t)(p->lexer.token.text - p->module->text);
            p->code->end_line = p->lexer.token.line;
            /* The token after the last brace belongs to the module. */
            ptx_lexer_next(&p->lexer);
            if (marks.count == 0)
                break;
            close_scope(p, &marks);
        } else {
            ok = parse_statement(p);
        }
    }
    while (marks.count)
        close_scope(p, &marks);
    free(marks.items);
    p->scope = 1;
    return ok;
}
