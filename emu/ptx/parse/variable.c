/* SPDX-License-Identifier: Apache-2.0
 *
 * Declarations: registers, variables of every space, their initialisers.
 */
#include "emu/ptx/parse/parse.h"
#include "base/array.h"
#include "base/buffer.h"
#include "emu/ptx/real.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool take_dot(struct ptx_parser *p, const char *word)
{
    const struct ptx_token *t = &p->lexer.token;

    if (t->kind != PTX_TOKEN_DOT || t->size != strlen(word) || memcmp(t->text, word, t->size))
        return false;
    ptx_lexer_next(&p->lexer);
    return true;
}

/* (.managed, .unified(1, 2)): the numbers are a name for the linker of CUDA's tools. */
static bool parse_attribute_list(struct ptx_parser *p, struct ptx_declaration *d)
{
    uint64_t name;

    if (!ptx_expect(p, '('))
        return false;
    do {
        struct ptx_token t = p->lexer.token;
        if (take_dot(p, "managed"))
            d->is_managed = true;
        else if (!take_dot(p, "unified"))
            return ptx_fail(p, PTX_INVALID, t.line, "unknown attribute '%.*s'", (int)t.size,
                            t.text);
        else if (!ptx_expect(p, '(') || !ptx_parse_number(p, &name) || !ptx_expect(p, ',') ||
                 !ptx_parse_number(p, &name) || !ptx_expect(p, ')'))
            return false;
    } while (ptx_lexer_take(&p->lexer, ','));
    if (d->is_managed && (d->space != PTX_SPACE_GLOBAL || d->is_const))
        return ptx_fail(p, PTX_INVALID, p->lexer.token.line, "'.managed' is for .global variables");
    return ptx_expect(p, ')');
}

static bool parse_attributes(struct ptx_parser *p, struct ptx_declaration *d,
                             enum ptx_modifier word)
{
    uint64_t value;

    if (word == MOD_align) {
        if (!ptx_parse_number(p, &value))
            return false;
        if (value == 0 || (value & (value - 1)) || value > 4096)
            return ptx_fail(p, PTX_INVALID, p->lexer.token.line, "bad alignment");
        d->align = (uint32_t)value;
        return true;
    }
    if (word == MOD_v2 || word == MOD_v4) {
        d->vector = word == MOD_v2 ? 2 : 4;
        return true;
    }
    if (word == MOD_attribute)
        return parse_attribute_list(p, d);
    /* .ptr .global .align 8: hints about what a parameter points to. */
    return word == MOD_ptr || word == MOD_global || word == MOD_shared || word == MOD_const ||
           word == MOD_local;
}

bool ptx_parse_declaration(struct ptx_parser *p, struct ptx_declaration *d)
{
    uint32_t pointer_align = 0;
    bool has_type = false;
    bool is_pointer = false;

    d->align = 0;
    d->vector = 0;
    d->is_managed = false;
    while (p->lexer.token.kind == PTX_TOKEN_DOT) {
        struct ptx_token t = p->lexer.token;
        enum ptx_modifier word = ptx_modifier_find(t.text, t.size);
        ptx_lexer_next(&p->lexer);
        if (word < PTX_TYPE_COUNT) {
            d->type = (ptx_type)word;
            has_type = true;
        } else if (ptx_reference_type(d, word)) {
            has_type = true;
        } else if ((has_type && word == MOD_attribute) || !parse_attributes(p, d, word)) {
            return ptx_fail(p, PTX_UNSUPPORTED, t.line, "unsupported '.%.*s' in a declaration",
                            (int)t.size, t.text);
        }
        if (word == MOD_ptr) {
            is_pointer = true;
            pointer_align = d->align;
        }
    }
    if (is_pointer)
        d->align = pointer_align;
    return has_type || ptx_fail_expected(p, "a type");
}

static bool parse_dimensions(struct ptx_parser *p, struct ptx_declaration *d)
{
    d->elements = 1;
    d->dimension_count = 0;
    d->is_array = false;
    d->is_open = false;
    while (ptx_lexer_take(&p->lexer, '[')) {
        uint64_t count = 0;
        if (ptx_lexer_is(&p->lexer, ']'))
            d->is_open = true;
        else if (!ptx_parse_number(p, &count))
            return false;
        if (!ptx_expect(p, ']'))
            return false;
        if (!d->is_open && count && d->elements > (1ull << 40) / count)
            return ptx_fail(p, PTX_INVALID, p->lexer.token.line, "array is too large");
        d->elements = d->is_open && d->dimension_count == 0 ? 0 : d->elements * count;
        d->is_array = true;
        if (d->dimension_count == PTX_DIMENSIONS_MAX)
            return ptx_fail(p, PTX_INVALID, p->lexer.token.line, "too many dimensions");
        d->dimensions[d->dimension_count++] = count;
    }
    return true;
}

bool ptx_parse_declarator(struct ptx_parser *p, struct ptx_declaration *d)
{
    unsigned lane = ptx_type_size(d->type) * (d->vector ? d->vector : 1);

    d->name = p->lexer.token;
    if (d->name.kind != PTX_TOKEN_NAME)
        return ptx_fail_expected(p, "a name");
    ptx_lexer_next(&p->lexer);
    if (!parse_dimensions(p, d))
        return false;
    if (!d->align)
        d->align = lane ? lane : 1;
    d->size = d->elements * lane;
    return true;
}

#define INIT_MAX     (64u << 20)
#define NUMBERED_MAX (1u << 16)

/* State of an initialiser that is being written. */
struct init {
    struct ptx_var *var;
    unsigned size; /* of an element */
    ptx_type type;
    unsigned dimension_count;
    uint64_t dimensions[PTX_DIMENSIONS_MAX];
    struct ptx_array relocs;
    struct tsm_buffer bytes;
};

static bool put_element(struct ptx_parser *p, struct init *init, uint64_t value)
{
    struct tsm_buffer *b = &init->bytes;

    if (init->var->info.size && b->size + init->size > init->var->info.size)
        return ptx_fail(p, PTX_INVALID, p->lexer.token.line, "too many initial values for '%s'",
                        init->var->info.name);
    uint8_t *at = tsm_buffer_reserve(b, sizeof(value));
    if (!at)
        return ptx_fail_memory(p);
    memcpy(at, &value, sizeof(value)); /* the next one overwrites what is too much */
    b->size += init->size;
    return true;
}

static uint64_t convert_literal(const struct init *init, const struct ptx_value *v)
{
    uint64_t bits = v->bits;
    double wide = ptx_value_double(v);
    float narrow = (float)wide;
    bool to_float = ptx_type_class(init->type) == 'f';

    if (!v->is_float && !to_float)
        return bits;
    if (v->is_float && v->is_single == (init->size == 4))
        return bits;
    if (init->size == 8)
        memcpy(&bits, &wide, sizeof(wide));
    else if (init->size == 4)
        bits = 0, memcpy(&bits, &narrow, sizeof(narrow));
    else
        bits = init->type == PTX_BF16 ? ptx_to_bf16(wide) : ptx_to_half(wide);
    return bits;
}

/* name, name+8, generic(name)+8: `mask` chooses a byte of the address, 0 the whole. */
static bool parse_address_value(struct ptx_parser *p, struct init *init, uint64_t mask)
{
    bool generic = p->lexer.token.size == 7 && memcmp(p->lexer.token.text, "generic", 7) == 0;
    uint64_t addend = 0;
    struct ptx_token name;
    char kind = ptx_type_class(init->type);

    if (mask ? kind != 'u' : (kind != 'u' && kind != 's') || init->size < 4)
        return ptx_fail(p, PTX_INVALID, p->lexer.token.line,
                        "'%s' cannot hold an address so: .u64, or bytes of it in .u8",
                        init->var->info.name);
    if (generic) {
        ptx_lexer_next(&p->lexer);
        if (!ptx_expect(p, '('))
            return false;
    }
    name = p->lexer.token;
    struct ptx_symbol *s = name.kind == PTX_TOKEN_NAME ? ptx_symbol_find(p, &name) : NULL;
    if (!s || (s->kind != PTX_SYMBOL_VAR && s->kind != PTX_SYMBOL_CODE))
        return ptx_fail(p, PTX_INVALID, name.line, "unknown symbol '%.*s' in an initialiser",
                        (int)name.size, name.text);
    ptx_lexer_next(&p->lexer);
    if (generic && !ptx_expect(p, ')'))
        return false;
    if (!ptx_parse_addend(p, &addend))
        return false;
    struct ptx_reloc *r = ptx_array_add(&init->relocs, sizeof(*r));
    if (!r)
        return ptx_fail_memory(p);
    *r = (struct ptx_reloc){.offset = init->bytes.size,
                            .addend = (int64_t)addend,
                            .target = s->index,
                            .size = (uint8_t)init->size,
                            .shift = (uint8_t)(mask ? __builtin_ctzll(mask) : 0),
                            .is_code = s->kind == PTX_SYMBOL_CODE,
                            .is_generic = generic};
    return put_element(p, init, 0);
}

static bool is_mask_next(const struct ptx_parser *p)
{
    struct ptx_lexer ahead = p->lexer;

    ptx_lexer_next(&ahead);
    return p->lexer.token.kind == PTX_TOKEN_INT && ptx_lexer_is(&ahead, '(');
}

static bool is_constant_next(const struct ptx_parser *p)
{
    const struct ptx_token *t = &p->lexer.token;

    return t->kind != PTX_TOKEN_NAME || (t->size == 7 && memcmp(t->text, "WARP_SZ", 7) == 0);
}

/* Tables are long lists of plain numbers: those need no expression. */
static bool take_literal(struct ptx_parser *p, struct ptx_value *v)
{
    const struct ptx_token *t = &p->lexer.token;

    if ((t->kind != PTX_TOKEN_INT && t->kind != PTX_TOKEN_FLOAT) || p->lexer.at == p->lexer.end ||
        (*p->lexer.at != ',' && *p->lexer.at != '}'))
        return false;
    *v = (struct ptx_value){.bits = t->value,
                            .is_float = t->kind == PTX_TOKEN_FLOAT,
                            .is_single = t->is_single,
                            .is_unsigned = t->is_unsigned};
    ptx_lexer_next(&p->lexer);
    return true;
}

/* The decimal number after the comma at `at`, when another comma follows it: returns that. */
static const char *next_number(struct ptx_lexer *lexer, const char *at, uint64_t *value)
{
    uint32_t lines = 0;

    for (at++; at < lexer->end && (*at == ' ' || *at == '\n'); at++)
        lines += *at == '\n';
    const char *start = at;
    *value = 0;
    for (; at < lexer->end && at - start < 18 && *at >= '0' && *at <= '9'; at++)
        *value = *value * 10 + (uint64_t)(*at - '0');
    if (at == start || at == lexer->end || *at != ',' || (*start == '0' && at - start > 1))
        return NULL;
    lexer->line += lines;
    return at;
}

/* After a literal of a table of integers: those that follow, read as fast as can be. */
static bool take_numbers(struct ptx_parser *p, struct init *init)
{
    const char *at = ptx_token_start(&p->lexer.token);
    uint64_t value;

    if (!ptx_lexer_is(&p->lexer, ',') || ptx_type_class(init->type) == 'f')
        return true;
    for (const char *next; (next = next_number(&p->lexer, at, &value)); at = next)
        if (!put_element(p, init, value))
            return false;
    ptx_lexer_jump(&p->lexer, at, p->lexer.line);
    return true;
}

/* Integers are no floats, nor the other way round. */
static bool put_value(struct ptx_parser *p, struct init *init, const struct ptx_value *v)
{
    char kind = ptx_type_class(init->type);

    if (v->is_float ? kind != 'f' && kind != 'b' : kind == 'f')
        return ptx_fail(p, PTX_INVALID, p->lexer.token.line,
                        "an initial value of '%s' has another type", init->var->info.name);
    return put_element(p, init, convert_literal(init, v));
}

static bool parse_value(struct ptx_parser *p, struct init *init)
{
    struct ptx_value v;

    if (take_literal(p, &v))
        return put_value(p, init, &v) && take_numbers(p, init);
    if (!is_constant_next(p))
        return parse_address_value(p, init, 0);
    if (is_mask_next(p)) { /* 0xff00(name): one byte of an address */
        uint64_t mask = p->lexer.token.value;
        ptx_lexer_next(&p->lexer);
        ptx_lexer_next(&p->lexer);
        return parse_address_value(p, init, mask) && ptx_expect(p, ')');
    }
    return ptx_parse_value(p, &v) && put_value(p, init, &v);
}

/* Inner braces fill one row of the array at their depth; what they leave out is zero. */
static bool parse_list(struct ptx_parser *p, struct init *init, unsigned depth)
{
    uint64_t row = init->size;
    uint64_t start = init->bytes.size;

    if (depth > PTX_DIMENSIONS_MAX)
        return ptx_fail(p, PTX_INVALID, p->lexer.token.line, "initialiser nests too deeply");
    for (unsigned k = depth; k < init->dimension_count; k++)
        row *= init->dimensions[k];
    bool empty = ptx_lexer_take(&p->lexer, '}');
    while (!empty) {
        bool ok =
            ptx_lexer_take(&p->lexer, '{') ? parse_list(p, init, depth + 1) : parse_value(p, init);
        if (!ok)
            return false;
        if (!ptx_lexer_take(&p->lexer, ','))
            break;
    }
    if (!empty && !ptx_expect(p, '}'))
        return false;
    if (depth == 0 || depth >= init->dimension_count)
        return true;
    if (row > INIT_MAX || start > INIT_MAX)
        return ptx_fail(p, PTX_INVALID, p->lexer.token.line, "initialiser is too large");
    while (init->bytes.size < start + row)
        if (!put_element(p, init, 0))
            return false;
    return init->bytes.size == start + row ||
           ptx_fail(p, PTX_INVALID, p->lexer.token.line, "too many initial values for '%s'",
                    init->var->info.name);
}

static bool parse_initialiser(struct ptx_parser *p, struct ptx_var *var,
                              const struct ptx_declaration *d)
{
    struct init init = {.var = var, .size = ptx_type_size(d->type), .type = d->type};
    bool is_half = ptx_type_class(d->type) == 'f' && d->type != PTX_F32 && d->type != PTX_F64;
    bool ok = init.size && init.size <= 8 && d->type != PTX_PRED && !is_half;

    memcpy(init.dimensions, d->dimensions, sizeof(init.dimensions));
    init.dimension_count = d->dimension_count;
    if (d->vector && init.dimension_count < PTX_DIMENSIONS_MAX)
        init.dimensions[init.dimension_count++] = d->vector;
    if (!ok)
        ptx_fail(p, PTX_INVALID, p->lexer.token.line, "a variable of this type has no initialiser");
    else
        ok = ptx_lexer_take(&p->lexer, '{') ? parse_list(p, &init, 0) : parse_value(p, &init);
    var->init = init.bytes.data;
    var->init_size = init.bytes.size;
    var->relocs = init.relocs.items;
    var->reloc_count = (uint32_t)init.relocs.count;
    if (ok && var->info.size == 0)
        var->info.size = var->init_size;
    return ok;
}

static struct ptx_var *var_create(struct ptx_parser *p, const struct ptx_declaration *d)
{
    struct ptx_var *var = ptx_module_alloc(p->module, sizeof(*var));
    struct ptx_var **slot = var ? ptx_array_add(&p->module->vars, sizeof(*slot)) : NULL;

    if (!slot) {
        ptx_fail_memory(p);
        return NULL;
    }
    *slot = var;
    var->info.name = ptx_token_copy(p, &d->name);
    var->info.size = d->size;
    var->info.align = d->align;
    var->info.is_const = d->is_const;
    var->info.kind = d->kind;
    var->space = d->space;
    var->unit = p->unit;
    var->index = (uint32_t)p->module->vars.count - 1;
    var->at = (uint32_t)(p->lexer.token.text - p->module->text);
    if (d->space == PTX_SPACE_GLOBAL && p->status == PTX_OK) {
        slot = ptx_array_add(&p->module->globals, sizeof(*slot));
        if (!slot)
            ptx_fail_memory(p);
        else
            *slot = var;
    }
    return p->status == PTX_OK ? var : NULL;
}

/* Variables were made in the order of the text. */
static struct ptx_var *var_made_at(const struct ptx_module *m, uint32_t at,
                                   const struct ptx_token *name)
{
    size_t low;

    TSM_BISECT(low, m->vars.count, ptx_var_at(m, low)->at >= at);
    for (; low < m->vars.count && ptx_var_at(m, low)->at == at; low++) {
        struct ptx_var *v = ptx_var_at(m, low);
        if (strlen(v->info.name) == name->size && memcmp(v->info.name, name->text, name->size) == 0)
            return v;
    }
    return NULL;
}

/* The variable that a declaration means: a new one, or one that another unit or an earlier line
 * declared under this name, or that was made when this body was met first. */
static struct ptx_var *var_for(struct ptx_parser *p, const struct ptx_declaration *d,
                               enum ptx_modifier linkage)
{
    struct ptx_symbol *s = ptx_symbol_find(p, &d->name);
    struct ptx_var *var = NULL;

    if (s && s->scope == p->scope && s->kind == PTX_SYMBOL_VAR)
        return ptx_var_at(p->module, s->index);
    if (p->again) {
        var = var_made_at(p->module, (uint32_t)(p->lexer.token.text - p->module->text), &d->name);
        if (!var)
            ptx_fail(p, PTX_INVALID, d->name.line, "'%.*s' was not here", (int)d->name.size,
                     d->name.text);
    } else {
        s = linkage == MOD_UNKNOWN ? NULL : ptx_symbol_linked(p, &d->name, PTX_SYMBOL_VAR);
        var = s ? ptx_var_at(p->module, s->index) : var_create(p, d);
    }
    s = var ? ptx_symbol_add(p, &d->name, PTX_SYMBOL_VAR) : NULL;
    if (!s)
        return NULL;
    s->type = d->type;
    s->index = var->index;
    /* Shared memory that a function declares counts even when nothing touches it. */
    if (p->code && d->space == PTX_SPACE_SHARED)
        ptx_note_var(p, s->index);
    return var;
}

static bool define_var(struct ptx_parser *p, struct ptx_declaration *d, enum ptx_modifier linkage)
{
    struct ptx_var *var = var_for(p, d, linkage);
    struct ptx_var spare = {.info.name = ""};

    if (!var)
        return false;
    var->is_visible |= linkage != MOD_UNKNOWN;
    var->info.is_managed |= d->is_managed;
    if (linkage == MOD_extern) {
        var->is_dynamic |= d->space == PTX_SPACE_SHARED && d->is_open;
        var->info.is_external = !var->is_defined;
        return true;
    }
    if (var->is_defined && linkage != MOD_weak && linkage != MOD_common && !var->is_weak &&
        !p->again)
        return ptx_fail(p, PTX_INVALID, d->name.line, "duplicate definition of '%.*s'",
                        (int)d->name.size, d->name.text);
    if (var->is_defined) /* the first of several weak ones is taken */
        spare.info.size = d->size, var = &spare;
    var->is_defined = true;
    var->is_weak = linkage == MOD_weak || linkage == MOD_common;
    var->info.is_external = false;
    var->info.size = d->size;
    if (var->info.align < d->align)
        var->info.align = d->align;
    bool ok = d->kind ? ptx_parse_reference(p, var)
                      : !ptx_lexer_take(&p->lexer, '=') || parse_initialiser(p, var, d);
    free(spare.init);
    free(spare.relocs);
    return ok;
}

/* A .local variable, or a .param variable of a call sequence: bytes of the local frame. */
static bool define_local(struct ptx_parser *p, struct ptx_declaration *d)
{
    struct ptx_symbol *s = ptx_symbol_add(p, &d->name, PTX_SYMBOL_LOCAL);

    if (!s)
        return false;
    if (d->size > 1u << 24)
        return ptx_fail(p, PTX_INVALID, d->name.line, "local variable is too large");
    uint64_t at = ((uint64_t)p->code->local_frame + d->align - 1) & ~(uint64_t)(d->align - 1);
    if (at + d->size > 1u << 25)
        return ptx_fail(p, PTX_INVALID, d->name.line, "too much local memory");
    s->offset = (uint32_t)at;
    s->size = (uint32_t)d->size;
    s->type = d->type;
    s->role = d->is_param ? PTX_PARAM_CALL : PTX_PARAM_NONE;
    p->code->local_frame = (uint32_t)(at + d->size);
    return true;
}

static bool define(struct ptx_parser *p, struct ptx_declaration *d, enum ptx_modifier linkage)
{
    if (p->code && d->space == PTX_SPACE_LOCAL)
        return define_local(p, d);
    return define_var(p, d, linkage);
}

/* .param .u64 %P<2> declares %P0 and %P1. Their names are nowhere in the text. */
static bool define_numbered(struct ptx_parser *p, struct ptx_declaration *d,
                            enum ptx_modifier linkage)
{
    struct ptx_token stem = d->name;
    uint64_t count;

    if (!ptx_parse_count(p, &count) || !ptx_expect(p, '>'))
        return false;
    if (d->is_array || count > NUMBERED_MAX)
        return ptx_fail(p, PTX_INVALID, stem.line, "'%.*s' cannot be numbered so", (int)stem.size,
                        stem.text);
    for (unsigned k = 0; k < (unsigned)count; k++) {
        char *name = ptx_module_alloc(p->module, stem.size + 8u);
        if (!name)
            return ptx_fail_memory(p);
        memcpy(name, stem.text, stem.size);
        d->name.text = name;
        d->name.size = stem.size + (uint32_t)sprintf(name + stem.size, "%u", k);
        if (!define(p, d, linkage))
            return false;
    }
    return true;
}

bool ptx_parse_variables(struct ptx_parser *p, enum ptx_modifier space, enum ptx_modifier linkage)
{
    struct ptx_declaration d = {.is_const = space == MOD_const,
                                .is_param = space == MOD_param,
                                .kind = space == MOD_tex ? PTX_VARIABLE_TEXREF : PTX_VARIABLE_DATA};

    d.space = space == MOD_shared                        ? PTX_SPACE_SHARED
              : space == MOD_local || space == MOD_param ? PTX_SPACE_LOCAL
                                                         : PTX_SPACE_GLOBAL;
    if (!ptx_parse_declaration(p, &d))
        return false;
    if (d.type == PTX_PRED && !d.kind)
        return ptx_fail(p, PTX_INVALID, p->lexer.token.line, "a predicate must be a register");
    do {
        if (!ptx_parse_declarator(p, &d))
            return false;
        if (!(ptx_lexer_take(&p->lexer, '<') ? define_numbered(p, &d, linkage)
                                             : define(p, &d, linkage)))
            return false;
    } while (ptx_lexer_take(&p->lexer, ','));
    return ptx_expect(p, ';');
}
