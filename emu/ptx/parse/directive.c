/* SPDX-License-Identifier: Apache-2.0
 *
 * Module scope: directives.
 */
#include "emu/ptx/parse/parse.h"

#include <string.h>

/* A new .version starts a new unit: linked programs are texts put one after the other, and names
 * that are not .visible belong to their own text alone. */
static bool parse_version(struct ptx_parser *p)
{
    const struct ptx_token *t = &p->lexer.token;
    unsigned major = 0;
    unsigned minor = 0;

    if (t->kind != PTX_TOKEN_FLOAT || t->is_single)
        return ptx_fail_expected(p, "a version number");
    for (uint32_t i = 0; i < t->size && t->text[i] != '.'; i++)
        major = major * 10 + (unsigned)(t->text[i] - '0');
    const char *dot = memchr(t->text, '.', t->size);
    if (dot && dot + 1 < t->text + t->size)
        minor = (unsigned)(dot[1] - '0');
    if (major < 1 || major > 9 || minor > 9)
        return ptx_fail(p, PTX_INVALID, t->line, "unsupported PTX version %.*s", (int)t->size,
                        t->text);
    p->version = (uint16_t)(major * 10 + minor);
    if (p->module->version < p->version)
        p->module->version = p->version;
    p->unit++;
    ptx_lexer_next(&p->lexer);
    return true;
}

/* Code for sm_90a runs on 9.0 alone; for sm_100f on 10.0 and later ones of its family. */
static bool is_for(unsigned sm, char variant, unsigned device)
{
    if (variant == 'a')
        return sm == device;
    return sm <= device && (variant != 'f' || sm / 10 == device / 10);
}

static bool parse_one_target(struct ptx_parser *p)
{
    const struct ptx_token *t = &p->lexer.token;
    unsigned device = p->module->target;
    unsigned sm = 0;
    uint32_t i = 3;

    if (t->kind != PTX_TOKEN_NAME)
        return ptx_fail_expected(p, "a target");
    if (t->size > 3 && memcmp(t->text, "sm_", 3) == 0) {
        for (; i < t->size && t->text[i] >= '0' && t->text[i] <= '9' && sm < 1000; i++)
            sm = sm * 10 + (unsigned)(t->text[i] - '0');
        p->variant = i < t->size ? t->text[i] : 0;
        if (!is_for(sm, p->variant, device))
            return ptx_fail(p, PTX_VERSION, t->line,
                            "the module is for %.*s, the device has compute capability %u.%u; it "
                            "needs %u.%u",
                            (int)t->size, t->text, device / 10, device % 10, sm / 10, sm % 10);
        p->target = sm;
    }
    ptx_lexer_next(&p->lexer);
    return true;
}

static bool parse_target(struct ptx_parser *p)
{
    do {
        if (!parse_one_target(p))
            return false;
    } while (ptx_lexer_take(&p->lexer, ','));
    return true;
}

static bool parse_address_size(struct ptx_parser *p)
{
    uint32_t line = p->lexer.token.line;
    uint64_t size;

    if (!ptx_parse_number(p, &size))
        return false;
    if (p->version < 23)
        return ptx_fail(p, PTX_INVALID, line,
                        ".address_size requires PTX ISA .version 2.3 or later");
    if (size != 32 && size != 64)
        return ptx_fail(p, PTX_INVALID, line, ".address_size must be 32 or 64");
    return size == 64 || ptx_fail(p, PTX_INVALID, line,
                                  ".address_size 32: 32-bit addresses are not supported any more");
}

static bool skip_line(struct ptx_parser *p)
{
    uint32_t line = p->lexer.token.line;

    while (p->lexer.token.kind != PTX_TOKEN_END && p->lexer.token.line == line)
        ptx_lexer_next(&p->lexer);
    return true;
}

static bool skip_section(struct ptx_parser *p)
{
    while (p->lexer.token.kind != PTX_TOKEN_END && !ptx_lexer_is(&p->lexer, '{'))
        ptx_lexer_next(&p->lexer);
    while (p->lexer.token.kind != PTX_TOKEN_END && !ptx_lexer_is(&p->lexer, '}'))
        ptx_lexer_next(&p->lexer);
    return ptx_expect(p, '}');
}

static bool skip_statement(struct ptx_parser *p)
{
    while (p->lexer.token.kind != PTX_TOKEN_END && !ptx_lexer_is(&p->lexer, ';'))
        ptx_lexer_next(&p->lexer);
    return ptx_expect(p, ';');
}

static bool parse_linked(struct ptx_parser *p, enum ptx_modifier linkage)
{
    const struct ptx_token *t = &p->lexer.token;
    enum ptx_modifier word =
        t->kind == PTX_TOKEN_DOT ? ptx_modifier_find(t->text, t->size) : MOD_UNKNOWN;

    if (word == MOD_UNKNOWN)
        return ptx_fail_expected(p, "a directive");
    uint32_t line = t->line;
    ptx_lexer_next(&p->lexer);
    switch (word) {
    case MOD_entry:
        return ptx_parse_function(p, true, linkage);
    case MOD_func:
        return ptx_parse_function(p, false, linkage);
    case MOD_global:
    case MOD_const:
    case MOD_shared:
    case MOD_local:
    case MOD_tex: /* .tex .u32 name: a texture reference, before PTX 1.5 */
        return ptx_parse_variables(p, word, linkage);
    default:
        return ptx_fail(p, PTX_INVALID, line, "unexpected directive '.%s'",
                        ptx_modifier_name(word));
    }
}

static struct ptx_code *take_function(struct ptx_parser *p)
{
    const struct ptx_token t = p->lexer.token;
    const struct ptx_symbol *s = t.kind == PTX_TOKEN_NAME ? ptx_symbol_find(p, &t) : NULL;

    if (!s || s->kind != PTX_SYMBOL_CODE) {
        ptx_fail_expected(p, "a function");
        return NULL;
    }
    ptx_lexer_next(&p->lexer);
    return ptx_code_at(p->module, s->index);
}

/* .alias name, function; both are declared before. */
static bool parse_alias(struct ptx_parser *p)
{
    uint32_t line = p->lexer.token.line;
    struct ptx_code *name = take_function(p);

    if (!name || !ptx_expect(p, ','))
        return false;
    const struct ptx_code *code = take_function(p);
    if (!code)
        return false;
    if (name->is_defined || code->alias || code == name || code->info.is_entry)
        return ptx_fail(p, PTX_INVALID, line, "bad .alias");
    name->alias = code;
    return ptx_expect(p, ';');
}

static bool parse_directive(struct ptx_parser *p)
{
    const struct ptx_token t = p->lexer.token;
    enum ptx_modifier word = ptx_modifier_find(t.text, t.size);

    switch (word) {
    case MOD_version:
        ptx_lexer_next(&p->lexer);
        return parse_version(p);
    case MOD_target:
        ptx_lexer_next(&p->lexer);
        return parse_target(p);
    case MOD_address_size:
        ptx_lexer_next(&p->lexer);
        return parse_address_size(p);
    case MOD_file:
    case MOD_loc:
        return skip_line(p);
    case MOD_section:
        return skip_section(p);
    case MOD_pragma:
        return skip_statement(p);
    case MOD_alias:
        ptx_lexer_next(&p->lexer);
        return parse_alias(p);
    case MOD_visible:
    case MOD_extern:
    case MOD_weak:
    case MOD_common:
        ptx_lexer_next(&p->lexer);
        return parse_linked(p, word);
    case MOD_UNKNOWN:
        return ptx_fail(p, PTX_UNSUPPORTED, t.line, "unsupported directive '.%.*s'", (int)t.size,
                        t.text);
    default:
        return parse_linked(p, MOD_UNKNOWN);
    }
}

/* @@DWARF lines are debug data of the oldest versions. */
static bool parse_other(struct ptx_parser *p)
{
    if (ptx_lexer_is(&p->lexer, '@'))
        return skip_line(p);
    if (ptx_lexer_take(&p->lexer, ';'))
        return true;
    return ptx_fail_expected(p, "a directive");
}

bool ptx_parse_module(struct ptx_parser *p)
{
    const struct ptx_token *t = &p->lexer.token;

    if (t->kind != PTX_TOKEN_DOT || ptx_modifier_find(t->text, t->size) != MOD_version)
        return ptx_fail(p, PTX_INVALID, t->line, "missing .version directive at the start");
    while (p->lexer.token.kind != PTX_TOKEN_END && p->status == PTX_OK) {
        if (!(t->kind == PTX_TOKEN_DOT ? parse_directive(p) : parse_other(p)))
            return false;
    }
    return p->status == PTX_OK;
}
