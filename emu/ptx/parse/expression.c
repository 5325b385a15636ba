/* SPDX-License-Identifier: Apache-2.0
 *
 * Constant expressions: C's operators on 64-bit integers, signed unless an operand is unsigned, and
 * on doubles.
 */
#include "emu/ptx/parse/parse.h"

#include <string.h>

#define DEPTH_MAX 64

struct operator
{
    char text[3];
    uint8_t level; /* higher binds tighter */
};

static const struct operator operators[] = {
    {"||", 1}, {"&&", 2}, {"==", 6}, {"!=", 6}, {"<=", 7}, {">=", 7},
    {"<<", 8}, {">>", 8}, {"|", 3},  {"^", 4},  {"&", 5},  {"<", 7},
    {">", 7},  {"+", 9},  {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10},
};

#define LEVEL_SUM  9 /* binds tighter than < and > */
#define LEVEL_TERM 10

static double as_double(const struct ptx_value *v)
{
    double out;
    float narrow;

    if (!v->is_float)
        return v->is_unsigned ? (double)v->bits : (double)(int64_t)v->bits;
    if (v->is_single) {
        memcpy(&narrow, &v->bits, sizeof(narrow));
        return (double)narrow;
    }
    memcpy(&out, &v->bits, sizeof(out));
    return out;
}

static void set_double(struct ptx_value *v, double value)
{
    *v = (struct ptx_value){.is_float = true};
    memcpy(&v->bits, &value, sizeof(value));
}

static void set_truth(struct ptx_value *v, bool truth)
{
    *v = (struct ptx_value){.bits = truth};
}

static bool is_true(const struct ptx_value *v)
{
    return v->is_float ? as_double(v) != 0.0 : v->bits != 0;
}

static const struct operator* peek_operator(const struct ptx_parser *p)
{
    const struct ptx_token *t = &p->lexer.token;
    char second = p->lexer.at < p->lexer.end && t->text + 1 == p->lexer.at ? *p->lexer.at : 0;

    if (t->kind != PTX_TOKEN_PUNCT)
        return NULL;
    for (size_t k = 0; k < sizeof(operators) / sizeof(operators[0]); k++) {
        const struct operator* o = & operators[k];
        if (o->text[0] == t->text[0] && (!o->text[1] || o->text[1] == second))
            return o;
    }
    return NULL;
}

static bool combine_floats(char op, bool twice, const struct ptx_value *a,
                           const struct ptx_value *b, struct ptx_value *out)
{
    double x = as_double(a);
    double y = as_double(b);

    switch (op) {
    case '+':
        set_double(out, x + y);
        return true;
    case '-':
        set_double(out, x - y);
        return true;
    case '*':
        set_double(out, x * y);
        return true;
    case '/':
        set_double(out, x / y);
        return true;
    case '<':
        set_truth(out, twice ? x <= y : x < y);
        return true;
    case '>':
        set_truth(out, twice ? x >= y : x > y);
        return true;
    case '=':
        set_truth(out, x == y);
        return true;
    case '!':
        set_truth(out, x != y);
        return true;
    default:
        return false;
    }
}

/* A remainder is one of unsigned numbers. */
static uint64_t divide(char op, uint64_t a, uint64_t b, bool is_unsigned)
{
    if (is_unsigned)
        return op == '/' ? a / b : a % b;
    return b == ~0ull ? 0 - a : (uint64_t)((int64_t)a / (int64_t)b); /* INT64_MIN / -1 */
}

/* The assembler takes the low six bits of the count. */
static uint64_t shift(char op, uint64_t a, uint64_t b, bool is_unsigned)
{
    b &= 63;
    if (op == '<')
        return a << b;
    return is_unsigned ? a >> b : (uint64_t)((int64_t)a >> b);
}

static bool compare(char op, char second, uint64_t a, uint64_t b, bool is_unsigned)
{
    bool less = is_unsigned ? a < b : (int64_t)a < (int64_t)b;

    if (op == '=' || op == '!')
        return (a == b) == (op == '=');
    if (second == '=' && a == b)
        return true;
    return op == '<' ? less : !less && a != b;
}

/* a op b; `op` is not && or ||. */
static bool combine_ints(const struct operator* o, const struct ptx_value *a,
                         const struct ptx_value *b, struct ptx_value *out)
{
    bool is_unsigned = a->is_unsigned || b->is_unsigned || o->text[0] == '%';
    uint64_t x = a->bits;
    uint64_t y = b->bits;
    uint64_t r;
    char op = o->text[0];

    if (o->level == 8) {
        *out = (struct ptx_value){.is_unsigned = a->is_unsigned,
                                  .bits = shift(op, x, y, a->is_unsigned)};
        return true;
    }
    if (o->level == 6 || o->level == 7) {
        set_truth(out, compare(op, o->text[1], x, y, is_unsigned));
        return true;
    }
    if ((op == '/' || op == '%') && y == 0)
        return false;
    r = op == '+'   ? x + y
        : op == '-' ? x - y
        : op == '*' ? x * y
        : op == '|' ? (x | y)
        : op == '^' ? (x ^ y)
        : op == '&' ? (x & y)
                    : divide(op, x, y, is_unsigned);
    *out = (struct ptx_value){.is_unsigned = is_unsigned, .bits = r};
    return true;
}

static bool combine(struct ptx_parser *p, const struct operator* o, uint32_t line,
                    const struct ptx_value *a, const struct ptx_value *b, struct ptx_value *out)
{
    bool ok = true;

    if (o->level <= 2)
        set_truth(out, o->level == 1 ? is_true(a) || is_true(b) : is_true(a) && is_true(b));
    else if (a->is_float || b->is_float)
        ok = combine_floats(o->text[0], o->text[1] != 0, a, b, out);
    else
        ok = combine_ints(o, a, b, out);
    return ok || ptx_fail(p, PTX_INVALID, line, "bad constant expression");
}

static bool parse_conditional(struct ptx_parser *p, unsigned depth, struct ptx_value *out);

static bool parse_parenthesis(struct ptx_parser *p, unsigned depth, struct ptx_value *out);

static bool is_word(const struct ptx_token *t, const char *word)
{
    return t->kind == PTX_TOKEN_NAME && t->size == strlen(word) &&
           memcmp(t->text, word, t->size) == 0;
}

static bool parse_primary(struct ptx_parser *p, unsigned depth, struct ptx_value *out)
{
    const struct ptx_token t = p->lexer.token;

    if (ptx_lexer_take(&p->lexer, '('))
        return parse_parenthesis(p, depth, out);
    if (is_word(&t, "WARP_SZ"))
        *out = (struct ptx_value){.bits = PTX_LANES};
    else if (t.kind == PTX_TOKEN_INT)
        *out = (struct ptx_value){.bits = t.value, .is_unsigned = t.is_unsigned};
    else if (t.kind == PTX_TOKEN_FLOAT)
        *out = (struct ptx_value){.bits = t.value, .is_float = true, .is_single = t.is_single};
    else
        return ptx_fail_expected(p, "an operand");
    ptx_lexer_next(&p->lexer);
    return true;
}

static bool parse_unary(struct ptx_parser *p, unsigned depth, struct ptx_value *out)
{
    uint32_t line = p->lexer.token.line;

    if (depth > DEPTH_MAX)
        return ptx_fail(p, PTX_INVALID, line, "expression nests too deeply");
    if (ptx_lexer_take(&p->lexer, '+'))
        return parse_unary(p, depth + 1, out);
    if (ptx_lexer_take(&p->lexer, '-')) {
        if (!parse_unary(p, depth + 1, out))
            return false;
        if (out->is_float)
            out->bits ^= out->is_single ? 1ull << 31 : 1ull << 63;
        else
            out->bits = 0 - out->bits;
        return true;
    }
    if (ptx_lexer_take(&p->lexer, '!')) {
        if (!parse_unary(p, depth + 1, out))
            return false;
        set_truth(out, !is_true(out));
        return true;
    }
    if (ptx_lexer_take(&p->lexer, '~')) {
        if (!parse_unary(p, depth + 1, out))
            return false;
        out->bits = ~out->bits;
        out->is_unsigned = true;
        return !out->is_float || ptx_fail(p, PTX_INVALID, line, "bad constant expression");
    }
    return parse_primary(p, depth + 1, out);
}

/* After '(': a cast, or an expression and its ')'. */
static bool parse_parenthesis(struct ptx_parser *p, unsigned depth, struct ptx_value *out)
{
    const struct ptx_token t = p->lexer.token;

    if (t.kind != PTX_TOKEN_DOT)
        return parse_conditional(p, depth + 1, out) && ptx_expect(p, ')');
    enum ptx_modifier type = ptx_modifier_find(t.text, t.size);
    if (type != PTX_S64 && type != PTX_U64)
        return ptx_fail_expected(p, "a cast to .s64 or .u64");
    ptx_lexer_next(&p->lexer);
    if (!ptx_expect(p, ')') || !parse_unary(p, depth + 1, out))
        return false;
    if (out->is_float) {
        double v = as_double(out);
        bool fits = v > -0x1p63 && v < 0x1p63;
        out->bits = fits ? (uint64_t)(int64_t)v : 1ull << 63;
        out->is_float = out->is_single = false;
    }
    out->is_unsigned = type == PTX_U64;
    return true;
}

/* A unary operand, then all operators that bind at least as tightly as `level`. */
static bool parse_binary(struct ptx_parser *p, unsigned level, unsigned depth,
                         struct ptx_value *out)
{
    if (!parse_unary(p, depth + 1, out))
        return false;
    for (const struct operator* o = peek_operator(p); o && o->level >= level;
         o = peek_operator(p)) {
        struct ptx_value left = *out;
        struct ptx_value right;
        uint32_t line = p->lexer.token.line;
        ptx_lexer_next(&p->lexer);
        if (o->text[1])
            ptx_lexer_next(&p->lexer);
        if (!parse_binary(p, o->level + 1u, depth + 1, &right) ||
            !combine(p, o, line, &left, &right, out))
            return false;
    }
    return true;
}

static bool parse_conditional(struct ptx_parser *p, unsigned depth, struct ptx_value *out)
{
    struct ptx_value yes;
    struct ptx_value no;

    if (!parse_binary(p, 1, depth, out))
        return false;
    if (!ptx_lexer_take(&p->lexer, '?'))
        return true;
    if (depth > DEPTH_MAX)
        return ptx_fail(p, PTX_INVALID, p->lexer.token.line, "expression nests too deeply");
    if (!parse_conditional(p, depth + 1, &yes) || !ptx_expect(p, ':') ||
        !parse_conditional(p, depth + 1, &no))
        return false;
    *out = is_true(out) ? yes : no;
    return true;
}

bool ptx_parse_value(struct ptx_parser *p, struct ptx_value *out)
{
    return parse_conditional(p, 0, out);
}

bool ptx_parse_number(struct ptx_parser *p, uint64_t *value)
{
    struct ptx_value v;
    uint32_t line = p->lexer.token.line;

    *value = 0;
    if (!parse_conditional(p, 0, &v))
        return false;
    *value = v.bits;
    return !v.is_float || ptx_fail(p, PTX_INVALID, line, "expected an integer");
}

bool ptx_parse_count(struct ptx_parser *p, uint64_t *value)
{
    struct ptx_value v;

    if (!parse_binary(p, LEVEL_SUM, 0, &v))
        return false;
    *value = v.bits;
    return !v.is_float || ptx_fail_expected(p, "an integer");
}

bool ptx_parse_addend(struct ptx_parser *p, uint64_t *value)
{
    *value = 0;
    if (!ptx_lexer_is(&p->lexer, '+'))
        return true;
    while (ptx_lexer_is(&p->lexer, '+') || ptx_lexer_is(&p->lexer, '-')) {
        bool minus = ptx_lexer_is(&p->lexer, '-');
        uint32_t line = p->lexer.token.line;
        struct ptx_value v;
        ptx_lexer_next(&p->lexer);
        if (!parse_binary(p, LEVEL_TERM, 0, &v))
            return false;
        if (v.is_float)
            return ptx_fail(p, PTX_INVALID, line, "expected an integer");
        *value += minus ? 0 - v.bits : v.bits;
    }
    return true;
}

double ptx_value_double(const struct ptx_value *v)
{
    return as_double(v);
}
