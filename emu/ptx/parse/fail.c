/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns a failure into a line of the log. The first one counts.
 */
#include "emu/ptx/parse/parse.h"

#include "base/text.h"

bool ptx_fail(struct ptx_parser *p, int status, uint32_t line, const char *format, ...)
{
    char text[512];
    va_list ap;

    if (p->status != PTX_OK)
        return false;
    p->status = status;
    if (!p->log || !p->log->text || p->log->used + 1 >= p->log->size)
        return false;
    va_start(ap, format);
    tsm_vformat(text, sizeof(text), format, ap);
    va_end(ap);
    p->log->used += tsm_format(p->log->text + p->log->used, p->log->size - p->log->used,
                               "ptx input, line %u; error: %s\n", line, text);
    return false;
}

bool ptx_fail_memory(struct ptx_parser *p)
{
    return ptx_fail(p, PTX_NO_MEMORY, p->lexer.token.line, "out of memory");
}

bool ptx_fail_expected(struct ptx_parser *p, const char *what)
{
    const struct ptx_token *t = &p->lexer.token;

    if (t->kind == PTX_TOKEN_END)
        return ptx_fail(p, PTX_INVALID, t->line, "expected %s, found the end of the text", what);
    return ptx_fail(p, PTX_INVALID, t->line, "expected %s near '%s%.*s'", what,
                    t->kind == PTX_TOKEN_DOT ? "." : "", t->size > 60 ? 60 : (int)t->size, t->text);
}

bool ptx_expect(struct ptx_parser *p, char punct)
{
    const char what[4] = {'\'', punct, '\'', 0};

    return ptx_lexer_take(&p->lexer, punct) || ptx_fail_expected(p, what);
}
