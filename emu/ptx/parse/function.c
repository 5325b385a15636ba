/* SPDX-License-Identifier: Apache-2.0
 *
 * .entry and .func: heads, parameters.
 */
#include "emu/ptx/parse/parse.h"

#include <stdlib.h>
#include <string.h>

#define VARIADIC_MAX 4096 /* bytes of the arguments after "..." */

static bool add_kernel_param(struct ptx_parser *p, const struct ptx_declaration *d)
{
    struct ptx_symbol *s = ptx_symbol_add(p, &d->name, PTX_SYMBOL_PARAM);
    struct ptx_param *param = ptx_array_add(&p->public_params, sizeof(*param));

    if (!s || !param)
        return ptx_fail_memory(p);
    uint32_t at = (p->code->info.params_size + d->align - 1) & ~(d->align - 1);
    if (d->size > 1u << 20 || at > 1u << 20)
        return ptx_fail(p, PTX_INVALID, d->name.line, "parameter is too large");
    *param = (struct ptx_param){at, (uint32_t)d->size};
    s->offset = at;
    s->size = (uint32_t)d->size;
    s->type = d->type;
    s->role = PTX_PARAM_INPUT;
    p->code->info.params_size = at + (uint32_t)d->size;
    return true;
}

static bool add_function_param(struct ptx_parser *p, struct ptx_declaration *d, bool is_register,
                               enum ptx_param_role role)
{
    struct ptx_symbol *s;
    struct ptx_arg *arg;

    s = ptx_symbol_add(p, &d->name, is_register ? PTX_SYMBOL_REG : PTX_SYMBOL_LOCAL);
    arg = s ? ptx_array_add(&p->params, sizeof(*arg)) : NULL;
    if (!arg)
        return ptx_fail_memory(p);
    s->type = d->type;
    s->size = (uint32_t)d->size;
    s->role = is_register ? PTX_PARAM_NONE : role;
    *arg = (struct ptx_arg){.reg = PTX_OP_NONE, .size = (uint32_t)d->size};
    if (is_register) {
        s->op = arg->reg = ptx_register_new(p, d->type, 1);
        if (arg->size < 2)
            arg->size = d->type == PTX_PRED ? 0 : 2;
        return p->status == PTX_OK;
    }
    uint64_t at = ((uint64_t)p->code->local_frame + d->align - 1) & ~(uint64_t)(d->align - 1);
    if (d->size > 1u << 20 || at > 1u << 24)
        return ptx_fail(p, PTX_INVALID, d->name.line, "parameter is too large");
    s->offset = arg->offset = (uint32_t)at;
    p->code->local_frame = (uint32_t)(at + d->size);
    return true;
}

static bool parse_param(struct ptx_parser *p, enum ptx_param_role role)
{
    struct ptx_declaration d = {.type = 0};
    struct ptx_token t = p->lexer.token;
    enum ptx_modifier word =
        t.kind == PTX_TOKEN_DOT ? ptx_modifier_find(t.text, t.size) : MOD_UNKNOWN;

    if (word != MOD_param && word != MOD_reg)
        return ptx_fail_expected(p, "a parameter");
    ptx_lexer_next(&p->lexer);
    if (!ptx_parse_declaration(p, &d) || !ptx_parse_declarator(p, &d))
        return false;
    if (p->code->info.is_entry)
        return add_kernel_param(p, &d);
    /* .param .b8 x[]: each call has its own size. */
    if (d.is_open)
        d.size = VARIADIC_MAX;
    return add_function_param(p, &d, word == MOD_reg, role);
}

static bool parse_params(struct ptx_parser *p, enum ptx_param_role role)
{
    if (ptx_lexer_take(&p->lexer, ')'))
        return true;
    do {
        if (!parse_param(p, role))
            return false;
    } while (ptx_lexer_take(&p->lexer, ','));
    return ptx_expect(p, ')');
}

/* .maxntid 256, 1, 1 */
static bool parse_sizes(struct ptx_parser *p, uint32_t out[3])
{
    uint64_t value;
    unsigned i = 0;

    out[0] = out[1] = out[2] = 1;
    do {
        if (!ptx_parse_number(p, &value))
            return false;
        if (i < 3)
            out[i++] = (uint32_t)value;
    } while (ptx_lexer_take(&p->lexer, ','));
    return true;
}

static bool parse_first(struct ptx_parser *p, uint32_t *out)
{
    uint32_t sizes[3] = {0};
    bool ok = parse_sizes(p, sizes);

    *out = sizes[0];
    return ok;
}

static bool parse_cluster(struct ptx_parser *p)
{
    uint32_t line = p->lexer.token.line;
    uint32_t *size = p->code->info.cluster;

    if (!parse_sizes(p, size))
        return false;
    return (size[0] && size[1] && size[2] && (uint64_t)size[0] * size[1] * size[2] <= UINT32_MAX) ||
           ptx_fail(p, PTX_INVALID, line, "wrong size of a cluster");
}

/* Directives without a value. */
static bool take_plain(struct ptx_function *info, enum ptx_modifier word)
{
    info->is_explicit_cluster |= word == MOD_explicitcluster;
    info->blocks_are_clusters |= word == MOD_blocksareclusters;
    return word == MOD_noreturn || word == MOD_explicitcluster || word == MOD_blocksareclusters;
}

/* Checks directives that require one another. */
static bool check_cluster(struct ptx_parser *p)
{
    const struct ptx_function *info = &p->code->info;
    uint32_t line = p->lexer.token.line;
    bool uses = info->cluster[0] || info->cluster_max || info->is_explicit_cluster;

    if (uses && (p->target < 90 || p->version < 78))
        return ptx_fail(p, PTX_INVALID, line,
                        "clusters require .target sm_90 and PTX ISA .version 7.8");
    if (info->cluster[0] && info->cluster_max)
        return ptx_fail(p, PTX_INVALID, line,
                        ".maxclusterrank and .reqnctapercluster exclude one another");
    if (info->blocks_are_clusters && (!info->cluster[0] || !info->reqntid[0]))
        return ptx_fail(p, PTX_INVALID, line,
                        ".blocksareclusters requires .reqntid and .reqnctapercluster");
    return true;
}

/* Tests for a word that begins something else of the module: a declaration may end without ';'. */
static bool is_module_word(enum ptx_modifier word)
{
    switch ((int)word) {
    case MOD_entry:
    case MOD_func:
    case MOD_global:
    case MOD_const:
    case MOD_shared:
    case MOD_local:
    case MOD_tex:
    case MOD_visible:
    case MOD_extern:
    case MOD_weak:
    case MOD_common:
    case MOD_version:
    case MOD_file:
    case MOD_section:
    case MOD_alias:
        return true;
    }
    return false;
}

static bool parse_directives(struct ptx_parser *p)
{
    while (p->lexer.token.kind == PTX_TOKEN_DOT) {
        struct ptx_token t = p->lexer.token;
        enum ptx_modifier word = ptx_modifier_find(t.text, t.size);
        uint32_t ignored[3];
        bool ok = true;
        if (is_module_word(word))
            break;
        ptx_lexer_next(&p->lexer);
        if (word == MOD_maxntid)
            ok = parse_sizes(p, p->code->info.maxntid);
        else if (word == MOD_reqntid)
            ok = parse_sizes(p, p->code->info.reqntid);
        else if (word == MOD_minnctapersm || word == MOD_maxnctapersm || word == MOD_maxnreg ||
                 word == MOD_abi_preserve || word == MOD_abi_preserve_control)
            ok = parse_sizes(p, ignored);
        else if (word == MOD_maxclusterrank)
            ok = parse_first(p, &p->code->info.cluster_max);
        else if (word == MOD_pragma)
            while (p->lexer.token.kind != PTX_TOKEN_END && !ptx_lexer_take(&p->lexer, ';'))
                ptx_lexer_next(&p->lexer);
        else if (word == MOD_reqnctapercluster)
            ok = parse_cluster(p);
        else if (!take_plain(&p->code->info, word))
            ok = ptx_fail(p, PTX_UNSUPPORTED, t.line, "unsupported directive '.%.*s'", (int)t.size,
                          t.text);
        if (!ok)
            return false;
    }
    return check_cluster(p);
}

static struct ptx_code *code_create(struct ptx_parser *p, const struct ptx_token *name)
{
    struct ptx_code *code = ptx_module_alloc(p->module, sizeof(*code));
    struct ptx_code **slot = code ? ptx_array_add(&p->module->codes, sizeof(*slot)) : NULL;

    if (!slot) {
        ptx_fail_memory(p);
        return NULL;
    }
    *slot = code;
    code->index = (uint32_t)p->module->codes.count - 1;
    code->info.name = ptx_token_copy(p, name);
    code->unit = p->unit;
    code->line = name->line;
    return p->status == PTX_OK ? code : NULL;
}

/* The function that a head declares. */
static struct ptx_code *code_for(struct ptx_parser *p, const struct ptx_token *name,
                                 enum ptx_modifier linkage)
{
    struct ptx_symbol *s = ptx_symbol_find(p, name);

    if (s && s->kind == PTX_SYMBOL_CODE)
        return ptx_code_at(p->module, s->index);
    s = linkage == MOD_UNKNOWN ? NULL : ptx_symbol_linked(p, name, PTX_SYMBOL_CODE);
    struct ptx_code *code = s ? ptx_code_at(p->module, s->index) : code_create(p, name);
    s = code ? ptx_symbol_add(p, name, PTX_SYMBOL_CODE) : NULL;
    if (!s)
        return NULL;
    s->index = code->index;
    return code;
}

static void reset_function(struct ptx_parser *p)
{
    struct ptx_array *arrays[] = {&p->insns,         &p->fixups,    &p->params,
                                  &p->public_params, &p->used_vars, &p->used_codes,
                                  &p->scope_parents};

    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
        arrays[i]->count = 0;
    ptx_labels_clear(p);
    ptx_live_reset(p);
    p->scope_next = 0;
    p->number++;
}

/* A body that a .weak twin makes superfluous is checked all the same, then dropped. */
static struct ptx_code *code_to_define(struct ptx_parser *p, struct ptx_code *code,
                                       const struct ptx_token *name, enum ptx_modifier linkage)
{
    if (!code->is_defined)
        return code;
    if (linkage != MOD_weak && !code->is_weak) {
        ptx_fail(p, PTX_INVALID, name->line, "duplicate definition of '%.*s'", (int)name->size,
                 name->text);
        return NULL;
    }
    return code_create(p, name);
}

static void copy_params(struct ptx_parser *p, struct ptx_code *code)
{
    size_t size = p->params.count * sizeof(struct ptx_arg);
    size_t public_size = p->public_params.count * sizeof(struct ptx_param);

    code->params = ptx_module_alloc(p->module, size);
    code->public_params = ptx_module_alloc(p->module, public_size);
    if (!code->params || !code->public_params) {
        ptx_fail_memory(p);
        return;
    }
    if (size)
        memcpy(code->params, p->params.items, size);
    if (public_size)
        memcpy(code->public_params, p->public_params.items, public_size);
    code->param_count = (uint32_t)p->params.count - code->result_count;
    code->info.params = code->public_params;
    code->info.param_count = (uint32_t)p->public_params.count;
}

static void publish(struct ptx_parser *p, struct ptx_code *code)
{
    struct ptx_code **slot = ptx_array_add(&p->module->entries, sizeof(*slot));

    if (!slot) {
        ptx_fail_memory(p);
        return;
    }
    *slot = code;
}

static bool parse_body(struct ptx_parser *p, struct ptx_code *code, bool is_first)
{
    code->is_defined = true;
    if (!(p->record ? ptx_record_skip(p, code) : ptx_parse_body(p) && ptx_finish_code(p)))
        return false;
    if (is_first)
        publish(p, code);
    return p->status == PTX_OK;
}

/* After the parameters: directives, then a body or a semicolon. */
static bool parse_rest(struct ptx_parser *p, const struct ptx_token *name,
                       enum ptx_modifier linkage)
{
    struct ptx_code head = *p->code;
    struct ptx_code *code = code_for(p, name, linkage);

    if (!code)
        return false;
    p->scope = 1; /* the body and the parameters */
    code->is_visible |= linkage != MOD_UNKNOWN;
    if (ptx_lexer_is(&p->lexer, '{')) {
        struct ptx_code *twin = code_to_define(p, code, name, linkage);
        bool is_first = twin == code;
        if (!twin)
            return false;
        head.index = twin->index;
        head.is_visible = code->is_visible;
        head.is_weak = linkage == MOD_weak;
        head.info.name = twin->info.name;
        head.unit = p->unit;
        head.line = name->line;
        head.name_at = name->text;
        *twin = head;
        p->code = twin;
        copy_params(p, twin);
        ptx_lexer_next(&p->lexer);
        return p->status == PTX_OK && parse_body(p, twin, is_first);
    }
    if (!code->is_defined && !code->params) {
        p->code = code;
        code->result_count = head.result_count;
        copy_params(p, code);
    }
    /* Without ';' something else of the module follows, or nothing. */
    bool has_end = p->lexer.token.kind == PTX_TOKEN_DOT || p->lexer.token.kind == PTX_TOKEN_END;
    return (has_end || ptx_expect(p, ';')) && p->status == PTX_OK;
}

/* .attribute(.unified(1, 2)) */
static bool skip_attribute(struct ptx_parser *p)
{
    const struct ptx_token *t = &p->lexer.token;
    unsigned depth = 0;

    if (t->kind != PTX_TOKEN_DOT || ptx_modifier_find(t->text, t->size) != MOD_attribute)
        return true;
    do {
        ptx_lexer_next(&p->lexer);
        depth += ptx_lexer_is(&p->lexer, '(');
        depth -= ptx_lexer_is(&p->lexer, ')');
    } while (depth && t->kind != PTX_TOKEN_END);
    return ptx_expect(p, ')');
}

/* (results) name (parameters) directives, from after .entry or .func. The name must be in scope 0
 * before the parameters, whose symbols are dropped at the end. */
static bool parse_head(struct ptx_parser *p, struct ptx_token *name, size_t *known,
                       enum ptx_modifier linkage)
{
    struct ptx_code *head = p->code;
    struct ptx_lexer results = p->lexer;
    bool ok = true;

    if (!head->info.is_entry && ptx_lexer_take(&p->lexer, '('))
        while (p->lexer.token.kind != PTX_TOKEN_END && !ptx_lexer_take(&p->lexer, ')'))
            ptx_lexer_next(&p->lexer);
    *name = p->lexer.token;
    if (name->kind != PTX_TOKEN_NAME)
        return ptx_fail_expected(p, "a function name");
    if (!p->again && !code_for(p, name, linkage))
        return false;
    *known = p->symbols.count;
    ptx_lexer_next(&p->lexer);
    struct ptx_lexer rest = p->lexer;
    ptx_scope_enter(p);
    p->lexer = results;
    if (!head->info.is_entry && ptx_lexer_take(&p->lexer, '('))
        ok = parse_params(p, PTX_PARAM_RESULT);
    head->result_count = (uint32_t)p->params.count;
    p->lexer = rest;
    if (ok && ptx_lexer_take(&p->lexer, '('))
        ok = parse_params(p, PTX_PARAM_INPUT);
    return ok && parse_directives(p);
}

bool ptx_parse_function(struct ptx_parser *p, bool is_entry, enum ptx_modifier linkage)
{
    struct ptx_code head = {
        .info = {.is_entry = is_entry, .version = p->version, .target = (uint16_t)p->target},
        .variant = p->variant,
        .head = ptx_token_start(&p->lexer.token),
        .head_line = p->lexer.token.line};
    size_t known = p->symbols.count;
    struct ptx_token name;

    if (!skip_attribute(p))
        return false;
    reset_function(p);
    p->code = &head;
    bool ok = parse_head(p, &name, &known, linkage);
    if (ok && p->again)
        ok = ptx_expect(p, '{') && ptx_parse_body(p) && ptx_finish_code(p);
    else if (ok)
        ok = parse_rest(p, &name, linkage);
    ptx_scope_leave(p, 0);
    ptx_symbols_drop(p, known);
    if (p->again)
        *p->again = head;
    p->code = NULL;
    return ok;
}
