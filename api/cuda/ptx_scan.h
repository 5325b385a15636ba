/* SPDX-License-Identifier: Apache-2.0
 *
 * Words of a PTX text, one after the other: no more than finding parameters and variables needs.
 * The text may be anybody's; nothing outside of it is read. Any thread, also inside a traced
 * program.
 */
#ifndef API_CUDA_PTX_SCAN_H
#define API_CUDA_PTX_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bytes of the text, without a terminator. */
struct cuda_ptx_token {
    const char *text;
    size_t size;
};

struct cuda_ptx_scanner {
    const char *at, *end;
};

static inline bool cuda_ptx_is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '.' || c == '%';
}

static inline bool cuda_ptx_starts(const struct cuda_ptx_scanner *s, const char *text)
{
    return (size_t)(s->end - s->at) >= strlen(text) && memcmp(s->at, text, strlen(text)) == 0;
}

static inline void cuda_ptx_skip_to(struct cuda_ptx_scanner *s, const char *text)
{
    while (s->at < s->end && !cuda_ptx_starts(s, text))
        s->at++;
}

static inline void cuda_ptx_skip_space(struct cuda_ptx_scanner *s)
{
    while (s->at < s->end) {
        if (cuda_ptx_starts(s, "//")) {
            cuda_ptx_skip_to(s, "\n");
        } else if (cuda_ptx_starts(s, "/*")) {
            cuda_ptx_skip_to(s, "*/");
            s->at += s->at < s->end ? 2 : 0;
        } else if (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r') {
            s->at++;
        } else {
            return;
        }
    }
}

/* A word, or one other character. Size 0 at the end of the text. */
static inline struct cuda_ptx_token cuda_ptx_next(struct cuda_ptx_scanner *s)
{
    struct cuda_ptx_token token;

    cuda_ptx_skip_space(s);
    token.text = s->at;
    while (s->at < s->end && cuda_ptx_is_word(*s->at))
        s->at++;
    if (s->at == token.text && s->at < s->end && *s->at)
        s->at++;
    token.size = (size_t)(s->at - token.text);
    return token;
}

static inline bool cuda_ptx_is(const struct cuda_ptx_token *token, const char *text)
{
    return token->size == strlen(text) && memcmp(token->text, text, token->size) == 0;
}

static inline uint32_t cuda_ptx_number(const struct cuda_ptx_token *token)
{
    uint32_t value = 0;

    for (size_t i = 0; i < token->size && token->text[i] >= '0' && token->text[i] <= '9'; i++)
        value = value < 1u << 20 ? value * 10 + (uint32_t)(token->text[i] - '0') : value;
    return value;
}

/* Bytes of a type like ".u32"; 0 when it is none. */
static inline uint32_t cuda_ptx_type_size(const struct cuda_ptx_token *token)
{
    static const struct {
        const char *name;
        uint32_t size;
    } types[] = {
        {".b8", 1},         {".u8", 1},      {".s8", 1},     {".b16", 2},  {".u16", 2},
        {".s16", 2},        {".f16", 2},     {".b32", 4},    {".u32", 4},  {".s32", 4},
        {".f32", 4},        {".b64", 8},     {".u64", 8},    {".s64", 8},  {".f64", 8},
        {".f16x2", 4},      {".bf16", 2},    {".b128", 16},  {".pred", 1}, {".texref", 8},
        {".samplerref", 8}, {".surfref", 8}, {".bf16x2", 4},
    };

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (cuda_ptx_is(token, types[i].name))
            return types[i].size;
    return 0;
}

#endif
