/* SPDX-License-Identifier: Apache-2.0
 *
 * Parameters of the entry functions of a PTX text. We read tokens and know only what may stand in a
 * parameter list: .param, .align N, .ptr and state spaces, a type, .v2/.v4, a name, [N]. Offsets
 * follow the ABI: each parameter at the next multiple of its alignment.
 */
#include "api/cuda/image.h"

#include <string.h>

struct token {
    const char *text;
    size_t size;
};

struct scanner {
    const char *at, *end;
};

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '.' || c == '%';
}

static bool starts(const struct scanner *s, const char *text)
{
    return (size_t)(s->end - s->at) >= strlen(text) && memcmp(s->at, text, strlen(text)) == 0;
}

static void skip_to(struct scanner *s, const char *text)
{
    while (s->at < s->end && !starts(s, text))
        s->at++;
}

static void skip_space(struct scanner *s)
{
    while (s->at < s->end) {
        if (starts(s, "//")) {
            skip_to(s, "\n");
        } else if (starts(s, "/*")) {
            skip_to(s, "*/");
            s->at += s->at < s->end ? 2 : 0;
        } else if (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r') {
            s->at++;
        } else {
            return;
        }
    }
}

/* A word, or one other character. Size 0 at the end of the text. */
static struct token next(struct scanner *s)
{
    struct token token;

    skip_space(s);
    token.text = s->at;
    while (s->at < s->end && is_word(*s->at))
        s->at++;
    if (s->at == token.text && s->at < s->end && *s->at)
        s->at++;
    token.size = (size_t)(s->at - token.text);
    return token;
}

static bool is(const struct token *token, const char *text)
{
    return token->size == strlen(text) && memcmp(token->text, text, token->size) == 0;
}

static uint32_t number(const struct token *token)
{
    uint32_t value = 0;

    for (size_t i = 0; i < token->size && token->text[i] >= '0' && token->text[i] <= '9'; i++)
        value = value < 1u << 20 ? value * 10 + (uint32_t)(token->text[i] - '0') : value;
    return value;
}

/* Bytes of a type like ".u32"; 0 when it is none. */
static uint32_t type_size(const struct token *token)
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
        if (is(token, types[i].name))
            return types[i].size;
    return 0;
}

struct param {
    uint32_t size, align, count;
    enum cuda_param_type type;
};

/* Returns the type of one value; vectors and arrays are bits. */
static enum cuda_param_type type_of(const struct token *token)
{
    if (token->text[1] == 'u')
        return CUDA_PARAM_UNSIGNED;
    if (token->text[1] == 's' && token->text[2] != 'a' &&
        token->text[2] != 'u') /* .samplerref, .surfref */
        return CUDA_PARAM_SIGNED;
    return is(token, ".f32") || is(token, ".f64") ? CUDA_PARAM_FLOAT : CUDA_PARAM_BITS;
}

/* One parameter, up to its comma or the list's end. False: no parameter stands here. */
static bool read_param(struct scanner *s, struct param *param, bool *last)
{
    struct token token = next(s);

    *param = (struct param){0, 0, 1, CUDA_PARAM_BITS};
    *last = is(&token, ")");
    if (*last)
        return false;
    for (;; token = next(s)) {
        if (token.size == 0)
            return false;
        if (is(&token, ",") || is(&token, ")")) {
            *last = is(&token, ")");
            break;
        }
        if (is(&token, ".ptr")) {
            /* The rest describes the memory that the parameter points to. */
            while (token.size && !is(&token, ",") && !is(&token, ")"))
                token = next(s);
            *last = is(&token, ")");
            break;
        }
        if (is(&token, ".align")) {
            token = next(s);
            param->align = number(&token);
        } else if (is(&token, ".v2") || is(&token, ".v4")) {
            param->count *= (uint32_t)(token.text[2] - '0');
        } else if (is(&token, "[")) {
            token = next(s);
            param->count *= number(&token);
        } else if (type_size(&token)) {
            param->size = type_size(&token);
            param->type = type_of(&token);
        }
    }
    return param->size > 0;
}

/* The list after an entry's name. False when we do not understand it. */
static bool read_list(struct scanner *s, struct cuda_signature *signature,
                      struct cuda_param *params)
{
    struct param param;
    uint64_t offset = 0;
    bool last = false;

    while (!last && read_param(s, &param, &last)) {
        uint64_t size = (uint64_t)param.size * param.count;
        uint32_t align = param.align ? param.align : param.size;

        offset = (offset + align - 1) / align * align;
        if (signature->count >= CUDA_PARAM_COUNT_MAX || offset + size > CUDA_PARAM_OFFSET_MAX)
            return false;
        params[signature->count].offset = (uint16_t)offset;
        params[signature->count].type = param.count == 1 ? (uint16_t)param.type : CUDA_PARAM_BITS;
        params[signature->count++].size = (uint16_t)size;
        offset += size;
    }
    return last;
}

void cuda_ptx_functions(const char *text, size_t size, struct cuda_image_visitor *visitor)
{
    struct scanner s = {text, text + size};
    struct token token;

    while ((token = next(&s)).size) {
        struct cuda_signature signature = {.params = visitor->params};
        struct scanner ahead;

        if (!is(&token, ".entry"))
            continue;
        token = next(&s);
        signature.name = token.text;
        signature.name_size = token.size;
        ahead = s;
        token = next(&ahead);
        if (is(&token, "(") && !read_list(&ahead, &signature, visitor->params))
            continue;
        visitor->visit(visitor->context, &signature);
        visitor->count++;
        s = ahead;
    }
}

/* ---- variables ---------------------------------------------------------------------------------
 */

/* After ".global" or ".const": up to the name. Size 0: nothing that has bytes stands here. */
static struct token variable_name(struct scanner *s)
{
    struct token token = next(s);

    for (; token.size && !is(&token, ";"); token = next(s)) {
        if (is(&token, ".texref") || is(&token, ".samplerref") || is(&token, ".surfref"))
            break;
        if (is(&token, ".align")) {
            next(s);
        } else if (is(&token, "(")) { /* of .attribute */
            while (token.size && !is(&token, ")"))
                token = next(s);
        } else if (token.text[0] != '.') {
            return token;
        }
    }
    return (struct token){NULL, 0};
}

/* Only what stands outside of functions: there ".global" begins a variable. */
void cuda_ptx_variables(const char *text, size_t size, struct cuda_image_visitor *visitor)
{
    struct scanner s = {text, text + size};
    bool is_extern = false;
    int depth = 0;

    for (struct token token = next(&s); token.size; token = next(&s)) {
        bool begins = depth == 0 && (is(&token, ".global") || is(&token, ".const"));

        depth += is(&token, "{") || is(&token, "(");
        depth -= is(&token, "}") || is(&token, ")");
        if (begins && !is_extern) {
            struct token name = variable_name(&s);
            if (name.size) {
                visitor->visit_variable(visitor->context, name.text, name.size);
                visitor->count++;
            }
        }
        is_extern = is(&token, ".extern");
    }
}
