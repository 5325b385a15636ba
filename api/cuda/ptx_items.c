/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cuda/ptx_items.h"

#include <stdlib.h>

#include "base/array.h"
#include "tracesmith/error.h"

unsigned cuda_ptx_line(const char *text, const char *at)
{
    unsigned line = 1;

    for (; text < at; text++)
        line += *text == '\n';
    return line;
}

/* ---- one item ---------------------------------------------------------------------------------
 */

static void skip_line(struct cuda_ptx_scanner *s)
{
    while (s->at < s->end && *s->at != '\n')
        s->at++;
}

/* Reads up to the ')' that belongs to the '(' before. */
static void skip_list(struct cuda_ptx_scanner *s)
{
    int depth = 1;

    while (depth) {
        struct cuda_ptx_token token = cuda_ptx_next(s);
        if (!token.size)
            return;
        depth += cuda_ptx_is(&token, "(");
        depth -= cuda_ptx_is(&token, ")");
    }
}

/* Reads the name behind ".func", which may have results before it. */
static struct cuda_ptx_token function_name(struct cuda_ptx_scanner *s)
{
    struct cuda_ptx_token token = cuda_ptx_next(s);

    if (cuda_ptx_is(&token, "(")) {
        skip_list(s);
        token = cuda_ptx_next(s);
    }
    return token;
}

/* Header and debug information, which no ';' ends. Returns false if the directive is none of them.
 */
static bool read_header(struct cuda_ptx_item *item, struct cuda_ptx_token first,
                        struct cuda_ptx_scanner *s)
{
    if (cuda_ptx_is(&first, ".version") || cuda_ptx_is(&first, ".address_size")) {
        item->kind = cuda_ptx_is(&first, ".version") ? CUDA_PTX_VERSION : CUDA_PTX_ADDRESS_SIZE;
        item->name = cuda_ptx_next(s);
    } else if (cuda_ptx_is(&first, ".target")) {
        struct cuda_ptx_scanner ahead;
        struct cuda_ptx_token comma;
        item->kind = CUDA_PTX_TARGET;
        item->name = cuda_ptx_next(s);
        ahead = *s;
        while (comma = cuda_ptx_next(&ahead), cuda_ptx_is(&comma, ",")) {
            cuda_ptx_next(&ahead);
            *s = ahead;
        }
    } else if (cuda_ptx_is(&first, ".file")) {
        item->kind = CUDA_PTX_DEBUG;
        skip_line(s);
    } else {
        return false;
    }
    item->end = s->at;
    return true;
}

/* Takes a word of a statement into account that stands outside of all brackets. */
static void note_word(struct cuda_ptx_item *item, struct cuda_ptx_token token,
                      struct cuda_ptx_scanner *s)
{
    const bool is_variable = item->kind == CUDA_PTX_VARIABLE || item->kind == CUDA_PTX_SHARED;

    if (cuda_ptx_is(&token, ".entry") || cuda_ptx_is(&token, ".func")) {
        item->kind = cuda_ptx_is(&token, ".entry") ? CUDA_PTX_ENTRY : CUDA_PTX_FUNCTION;
        item->name = function_name(s);
    } else if (cuda_ptx_is(&token, ".global") || cuda_ptx_is(&token, ".const") ||
               cuda_ptx_is(&token, ".tex")) {
        item->kind = CUDA_PTX_VARIABLE;
    } else if (cuda_ptx_is(&token, ".shared")) {
        item->kind = CUDA_PTX_SHARED;
    } else if (cuda_ptx_is(&token, ".section")) {
        item->kind = CUDA_PTX_DEBUG;
    } else if (cuda_ptx_is(&token, ".align")) {
        cuda_ptx_next(s);
    } else if (cuda_ptx_is(&token, ".extern")) {
        item->is_extern = true;
    } else if (is_variable && !item->name.size && cuda_ptx_is_word(token.text[0]) &&
               token.text[0] != '.') {
        item->name = token;
    } else if (is_variable && cuda_ptx_is(&token, ",")) {
        item->is_list = true;
    }
}

static bool ends_with_body(const struct cuda_ptx_item *item)
{
    return item->kind == CUDA_PTX_ENTRY || item->kind == CUDA_PTX_FUNCTION ||
           item->kind == CUDA_PTX_DEBUG;
}

/* Reads an item whose first word is `token`. Returns false if it does not end. */
static bool read_item(struct cuda_ptx_item *item, struct cuda_ptx_token token,
                      struct cuda_ptx_scanner *s)
{
    int depth = 0;

    *item = (struct cuda_ptx_item){.kind = CUDA_PTX_OTHER, .begin = token.text};
    if (read_header(item, token, s))
        return item->kind == CUDA_PTX_DEBUG || item->name.size;
    for (; token.size; token = cuda_ptx_next(s)) {
        const bool opens = token.text[0] == '{' || token.text[0] == '(' || token.text[0] == '[';
        const bool closes = token.text[0] == '}' || token.text[0] == ')' || token.text[0] == ']';

        if (depth == 0 && !opens && !closes)
            note_word(item, token, s);
        if (depth == 0 && token.text[0] == '{')
            item->has_body = ends_with_body(item);
        depth += opens;
        depth -= closes;
        if (depth < 0)
            return false;
        item->end = s->at;
        if (depth == 0 && (token.text[0] == ';' || (token.text[0] == '}' && item->has_body)))
            return true;
    }
    return false;
}

/* ---- all items --------------------------------------------------------------------------------
 */

int cuda_ptx_items_read(struct cuda_ptx_items *out, const char *text, size_t size, const char *path)
{
    struct cuda_ptx_scanner s = {text, text + size};
    struct cuda_ptx_token token;

    *out = (struct cuda_ptx_items){0};
    while ((token = cuda_ptx_next(&s)).size) {
        struct cuda_ptx_item item;

        if (cuda_ptx_is(&token, ";"))
            continue;
        if (!read_item(&item, token, &s))
            return tsm_fail(TSM_E_FORMAT, "%s: line %u: a statement of the PTX does not end", path,
                            cuda_ptx_line(text, token.text));
        if (out->count == CUDA_PTX_ITEM_MAX)
            return tsm_fail(TSM_E_FORMAT, "%s: has more than %u statements", path,
                            CUDA_PTX_ITEM_MAX);
        if (!TSM_ARRAY_PUSH(out->list, out->count, out->capacity, item))
            return tsm_fail(TSM_E_MEMORY, "no memory for the PTX of %s", path);
    }
    return 0;
}

void cuda_ptx_items_finish(struct cuda_ptx_items *items)
{
    free(items->list);
    *items = (struct cuda_ptx_items){0};
}

static bool is_named(const struct cuda_ptx_item *item)
{
    return item->kind >= CUDA_PTX_ENTRY && item->kind <= CUDA_PTX_SHARED;
}

const struct cuda_ptx_item *cuda_ptx_items_find(const struct cuda_ptx_items *items,
                                                const char *name, size_t name_size)
{
    const struct cuda_ptx_token wanted = {name, name_size};

    for (size_t i = 0; i < items->count; i++)
        if (is_named(&items->list[i]) && cuda_ptx_same(&items->list[i].name, &wanted))
            return &items->list[i];
    return NULL;
}

const struct cuda_ptx_item *cuda_ptx_items_header(const struct cuda_ptx_items *items,
                                                  enum cuda_ptx_kind kind)
{
    for (size_t i = 0; i < items->count; i++)
        if (items->list[i].kind == kind)
            return &items->list[i];
    return NULL;
}
