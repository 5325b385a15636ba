/* SPDX-License-Identifier: Apache-2.0
 *
 * PTX text to tokens. No memory is taken: tokens point into the text, which must outlive them.
 */
#ifndef EMU_PTX_PARSE_LEX_H
#define EMU_PTX_PARSE_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ptx_token_kind {
    PTX_TOKEN_END,
    PTX_TOKEN_NAME,   /* identifier, with its leading % $ _ */
    PTX_TOKEN_DOT,    /* a word after a dot; text excludes the dot */
    PTX_TOKEN_INT,    /* value */
    PTX_TOKEN_FLOAT,  /* value: the bits of an f64; is_single when written as 0fXXXXXXXX */
    PTX_TOKEN_STRING, /* text without the quotes, escapes untouched */
    PTX_TOKEN_PUNCT,  /* one character: text[0] */
    PTX_TOKEN_BAD,    /* a character that PTX does not have */
};

struct ptx_token {
    enum ptx_token_kind kind;
    const char *text;
    uint32_t size;
    uint32_t line;
    uint64_t value;
    bool is_single;
    bool is_unsigned; /* an integer with the suffix U */
};

struct ptx_lexer {
    const char *at;
    const char *end;
    uint32_t line;
    struct ptx_token token; /* the current one */
};

/* Stands on the first token. */
void ptx_lexer_init(struct ptx_lexer *lexer, const char *text, size_t size);
/* Moves on; at the end it stays at PTX_TOKEN_END. */
void ptx_lexer_next(struct ptx_lexer *lexer);

/* Returns the place where a lexer finds the token again. */
static inline const char *ptx_token_start(const struct ptx_token *t)
{
    return t->text - (t->kind == PTX_TOKEN_DOT || t->kind == PTX_TOKEN_STRING);
}

/* Stands on the token that starts at `at`, in this line. */
static inline void ptx_lexer_jump(struct ptx_lexer *lexer, const char *at, uint32_t line)
{
    lexer->at = at;
    lexer->line = line;
    ptx_lexer_next(lexer);
}

static inline bool ptx_lexer_is(const struct ptx_lexer *lexer, char punct)
{
    return lexer->token.kind == PTX_TOKEN_PUNCT && lexer->token.text[0] == punct;
}

/* Moves over `punct` when it is there. */
static inline bool ptx_lexer_take(struct ptx_lexer *lexer, char punct)
{
    if (!ptx_lexer_is(lexer, punct))
        return false;
    ptx_lexer_next(lexer);
    return true;
}

#endif
