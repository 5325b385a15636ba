/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/ptx/parse/lex.h"

#include <stdlib.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

static char peek(const struct ptx_lexer *lexer, size_t ahead)
{
    return (size_t)(lexer->end - lexer->at) > ahead ? lexer->at[ahead] : 0;
}

static void skip_comment_block(struct ptx_lexer *lexer)
{
    lexer->at += 2;
    while (lexer->at < lexer->end && !(peek(lexer, 0) == '*' && peek(lexer, 1) == '/')) {
        lexer->line += *lexer->at == '\n';
        lexer->at++;
    }
    lexer->at = lexer->end - lexer->at >= 2 ? lexer->at + 2 : lexer->end;
}

static void skip_line(struct ptx_lexer *lexer)
{
    const char *end = memchr(lexer->at, '\n', (size_t)(lexer->end - lexer->at));

    lexer->at = end ? end : lexer->end;
}

/* Lines that start with # are the C preprocessor's and say nothing to us. */
static void skip_space(struct ptx_lexer *lexer)
{
    while (lexer->at < lexer->end) {
        char c = *lexer->at;
        if (c == '\n')
            lexer->line++;
        else if (c == '/' && peek(lexer, 1) == '*') {
            skip_comment_block(lexer);
            continue;
        } else if ((c == '/' && peek(lexer, 1) == '/') || c == '#') {
            skip_line(lexer);
            continue;
        } else if (c != ' ' && c != '\t' && c != '\r' && c != '\f' && c != '\v' && c != 0)
            return;
        lexer->at++;
    }
}

static void lex_string(struct ptx_lexer *lexer, struct ptx_token *token)
{
    const char *at = lexer->at + 1;

    while (at < lexer->end && *at != '"' && *at != '\n')
        at += *at == '\\' && lexer->end - at > 1 ? 2 : 1;
    token->kind = at < lexer->end && *at == '"' ? PTX_TOKEN_STRING : PTX_TOKEN_BAD;
    token->text = lexer->at + 1;
    token->size = (uint32_t)(at - token->text);
    lexer->at = at < lexer->end ? at + 1 : lexer->end;
}

static int digit_value(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 99;
}

static uint64_t lex_digits(struct ptx_lexer *lexer, int base, size_t limit)
{
    uint64_t value = 0;

    for (size_t i = 0; i < limit && digit_value(peek(lexer, 0)) < base; i++, lexer->at++)
        value = value * (unsigned)base + (unsigned)digit_value(*lexer->at);
    return value;
}

/* 0f3F800000 and 0d3FF0000000000000: the value's bits. */
static void lex_float_bits(struct ptx_lexer *lexer, struct ptx_token *token)
{
    bool single = (peek(lexer, 1) | 0x20) == 'f';
    const char *start = lexer->at + 2;

    lexer->at = start;
    token->value = lex_digits(lexer, 16, single ? 8 : 16);
    token->kind = lexer->at - start == (single ? 8 : 16) ? PTX_TOKEN_FLOAT : PTX_TOKEN_BAD;
    token->is_single = single;
    if (single) {
        /* NaN payloads must survive, so the single's own bits are kept. */
        token->value &= 0xffffffffu;
    }
}

static bool is_decimal_float(const struct ptx_lexer *lexer)
{
    const char *at = lexer->at;

    while (at < lexer->end && is_digit(*at))
        at++;
    if (at == lexer->end || at == lexer->at)
        return false;
    if (*at == '.')
        return true;
    if ((*at | 0x20) != 'e' || lexer->end - at < 2)
        return false;
    return is_digit(at[1]) || at[1] == '-' || at[1] == '+';
}

static void lex_decimal_float(struct ptx_lexer *lexer, struct ptx_token *token)
{
    char copy[64];
    size_t size = 0;
    char *end;

    while (size < sizeof(copy) - 1) {
        char c = peek(lexer, size);
        bool sign = (c == '-' || c == '+') && size > 0 && (copy[size - 1] | 0x20) == 'e';
        if (!is_digit(c) && c != '.' && (c | 0x20) != 'e' && !sign)
            break;
        copy[size++] = c;
    }
    copy[size] = 0;
    double value = strtod(copy, &end);
    lexer->at += end > copy ? end - copy : 1;
    token->kind = end > copy ? PTX_TOKEN_FLOAT : PTX_TOKEN_BAD;
    memcpy(&token->value, &value, sizeof(value));
}

static void lex_number(struct ptx_lexer *lexer, struct ptx_token *token)
{
    char second = (char)(peek(lexer, 1) | 0x20);
    bool zero = peek(lexer, 0) == '0';

    if (zero && (second == 'f' || second == 'd')) {
        lex_float_bits(lexer, token);
        return;
    }
    if (is_decimal_float(lexer)) {
        lex_decimal_float(lexer, token);
        return;
    }
    token->kind = PTX_TOKEN_INT;
    if (zero && (second == 'x' || second == 'b')) {
        lexer->at += 2;
        token->value = lex_digits(lexer, second == 'x' ? 16 : 2, 64);
    } else {
        token->value = lex_digits(lexer, zero ? 8 : 10, 64);
    }
    if ((peek(lexer, 0) | 0x20) == 'u') {
        token->is_unsigned = true;
        lexer->at++;
    }
    token->is_unsigned |= token->value >> 63 != 0;
    if (is_word(peek(lexer, 0)))
        token->kind = PTX_TOKEN_BAD;
}

/* A dotted word may hold "::" (L2::128B, shared::cta), never a single colon. */
static void lex_dot(struct ptx_lexer *lexer, struct ptx_token *token)
{
    lexer->at++;
    token->text = lexer->at;
    while (lexer->at < lexer->end) {
        if (is_word(*lexer->at))
            lexer->at++;
        else if (*lexer->at == ':' && peek(lexer, 1) == ':' && is_word(peek(lexer, 2)))
            lexer->at += 2;
        else
            break;
    }
    token->kind = lexer->at > token->text ? PTX_TOKEN_DOT : PTX_TOKEN_BAD;
    token->size = (uint32_t)(lexer->at - token->text);
}

static void lex_name(struct ptx_lexer *lexer, struct ptx_token *token)
{
    lexer->at++;
    while (lexer->at < lexer->end && is_word(*lexer->at))
        lexer->at++;
    token->kind = PTX_TOKEN_NAME;
}

void ptx_lexer_next(struct ptx_lexer *lexer)
{
    struct ptx_token *token = &lexer->token;

    skip_space(lexer);
    *token = (struct ptx_token){.kind = PTX_TOKEN_END, .text = lexer->at, .line = lexer->line};
    if (lexer->at == lexer->end)
        return;
    char c = *lexer->at;
    if (c == '"') {
        lex_string(lexer, token);
        return;
    }
    if (c == '.' && is_word(peek(lexer, 1))) {
        lex_dot(lexer, token);
        return;
    }
    if (is_digit(c)) {
        lex_number(lexer, token);
    } else if (is_word(c) || (c == '%' && is_word(peek(lexer, 1)))) {
        lex_name(lexer, token);
    } else {
        token->kind = strchr(",;:(){}[]<>@!|+-*/=~&^?%", c) ? PTX_TOKEN_PUNCT : PTX_TOKEN_BAD;
        lexer->at++;
    }
    token->size = (uint32_t)(lexer->at - token->text);
}

void ptx_lexer_init(struct ptx_lexer *lexer, const char *text, size_t size)
{
    *lexer = (struct ptx_lexer){.at = text, .end = text + size, .line = 1};
    ptx_lexer_next(lexer);
}
