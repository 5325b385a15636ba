/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/ptx/parse/parse.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void *ptx_array_add(struct ptx_array *array, size_t size)
{
    if (array->count == array->capacity &&
        !tsm_array_grow(&array->items, &array->capacity, array->count + 1, size))
        return NULL;
    void *item = (char *)array->items + array->count++ * size;
    memset(item, 0, size);
    return item;
}

void *ptx_module_alloc(struct ptx_module *module, size_t size)
{
    void *memory = calloc(1, size ? size : 1);
    void **slot = memory ? ptx_array_add(&module->chunks, sizeof(*slot)) : NULL;

    if (!slot) {
        free(memory);
        return NULL;
    }
    *slot = memory;
    return memory;
}

char *ptx_token_copy(struct ptx_parser *p, const struct ptx_token *token)
{
    char *copy = ptx_module_alloc(p->module, token->size + 1u);

    if (copy)
        memcpy(copy, token->text, token->size);
    else
        ptx_fail_memory(p);
    return copy;
}

static uint32_t hash_name(const char *text, uint32_t size)
{
    uint32_t hash = 2166136261u;

    for (uint32_t i = 0; i < size; i++)
        hash = (hash ^ (uint8_t)text[i]) * 16777619u;
    return hash ^ hash >> 13;
}

/* Names of the module are seen after the place that declares them, and in their unit alone: also
 * when a function is read that comes long before the text's end. */
static bool is_seen(const struct ptx_parser *p, const struct ptx_symbol *s)
{
    return s->unit == p->unit && (s->scope || !p->limit || s->at <= p->limit);
}

static struct ptx_symbol *find_exact(const struct ptx_parser *p, const char *text, uint32_t size)
{
    struct ptx_symbol *s =
        p->table_size ? p->table[hash_name(text, size) & (p->table_size - 1)] : NULL;

    while (s && (s->name_size != size || !is_seen(p, s) || memcmp(s->name, text, size) != 0))
        s = s->next;
    return s;
}

static void put_first(struct ptx_parser *p, struct ptx_symbol *s)
{
    struct ptx_symbol **bucket = &p->table[s->hash & (p->table_size - 1)];

    s->next = *bucket;
    *bucket = s;
}

/* The order of symbols stays, so that the last one is always the first of its bucket. */
static bool grow_table(struct ptx_parser *p)
{
    uint32_t size = p->table_size ? p->table_size * 2 : 256;
    struct ptx_symbol **table = calloc(size, sizeof(struct ptx_symbol *));

    if (!table)
        return false;
    free(p->table);
    p->table = table;
    p->table_size = size;
    for (size_t i = 0; i < p->symbols.count; i++)
        put_first(p, ((struct ptx_symbol **)p->symbols.items)[i]);
    return true;
}

static struct ptx_symbol *symbol_new(struct ptx_parser *p)
{
    if (p->symbols.count >= p->table_size && !grow_table(p))
        return NULL;
    struct ptx_symbol *s = p->spare ? p->spare : malloc(sizeof(*s));
    struct ptx_symbol **slot = s ? ptx_array_add(&p->symbols, sizeof(s)) : NULL;
    if (s && s == p->spare)
        p->spare = s->next;
    if (!slot) {
        free(s);
        return NULL;
    }
    return *slot = s;
}

struct ptx_symbol *ptx_symbol_add(struct ptx_parser *p, const struct ptx_token *name,
                                  enum ptx_symbol_kind kind)
{
    const struct ptx_symbol *old = find_exact(p, name->text, name->size);

    if (old && old->scope == p->scope) {
        ptx_fail(p, PTX_INVALID, name->line, "duplicate definition of '%.*s'", (int)name->size,
                 name->text);
        return NULL;
    }
    struct ptx_symbol *s = symbol_new(p);
    if (!s) {
        ptx_fail_memory(p);
        return NULL;
    }
    *s = (struct ptx_symbol){.name = name->text,
                             .at = p->lexer.token.text,
                             .name_size = name->size,
                             .hash = hash_name(name->text, name->size),
                             .scope = p->scope,
                             .unit = p->unit,
                             .kind = kind,
                             .op = PTX_OP_NONE};
    put_first(p, s);
    return s;
}

struct ptx_symbol *ptx_symbol_linked(struct ptx_parser *p, const struct ptx_token *name,
                                     enum ptx_symbol_kind kind)
{
    struct ptx_symbol *s =
        p->table_size ? p->table[hash_name(name->text, name->size) & (p->table_size - 1)] : NULL;

    for (; s; s = s->next) {
        if (s->kind != kind || s->scope || s->name_size != name->size ||
            memcmp(s->name, name->text, name->size) != 0)
            continue;
        if (kind == PTX_SYMBOL_VAR ? ptx_var_at(p->module, s->index)->is_visible
                                   : ptx_code_at(p->module, s->index)->is_visible)
            return s;
    }
    return NULL;
}

/* %r17 is declared by `.reg .b32 %r<18>` under the name %r. */
static struct ptx_symbol *find_numbered(struct ptx_parser *p, const struct ptx_token *name)
{
    uint32_t size = name->size;
    uint64_t number = 0;
    uint64_t scale = 1;

    while (size > 1 && name->size - size < 9 && name->text[size - 1] >= '0' &&
           name->text[size - 1] <= '9') {
        size--;
        number += (uint64_t)(name->text[size] - '0') * scale;
        scale *= 10;
        struct ptx_symbol *s = find_exact(p, name->text, size);
        if (s && s->kind == PTX_SYMBOL_REGS && number < s->count)
            return s;
    }
    return NULL;
}

struct ptx_symbol *ptx_symbol_find(struct ptx_parser *p, const struct ptx_token *name)
{
    struct ptx_symbol *s = find_exact(p, name->text, name->size);

    if (s && s->kind != PTX_SYMBOL_REGS)
        return s;
    return find_numbered(p, name);
}

void ptx_symbols_drop(struct ptx_parser *p, size_t count)
{
    struct ptx_symbol **symbols = p->symbols.items;

    while (p->symbols.count > count) {
        struct ptx_symbol *s = symbols[--p->symbols.count];
        p->table[s->hash & (p->table_size - 1)] = s->next;
        s->next = p->spare;
        p->spare = s;
    }
}

void ptx_scope_enter(struct ptx_parser *p)
{
    uint32_t *parent = ptx_array_add(&p->scope_parents, sizeof(*parent));

    if (!parent) {
        ptx_fail_memory(p);
        return;
    }
    *parent = p->scope;
    p->scope = ++p->scope_next;
}

void ptx_scope_leave(struct ptx_parser *p, uint32_t parent)
{
    p->scope = parent;
}

void ptx_parser_finish(struct ptx_parser *p)
{
    struct ptx_array *arrays[] = {&p->symbols,   &p->scope_parents, &p->insns,         &p->labels,
                                  &p->fixups,    &p->params,        &p->public_params, &p->extras,
                                  &p->used_vars, &p->used_codes,    &p->widens};

    ptx_symbols_drop(p, 0);
    while (p->spare) {
        struct ptx_symbol *next = p->spare->next;
        free(p->spare);
        p->spare = next;
    }
    for (size_t i = 0; i < p->extras.count; i++)
        free(((void **)p->extras.items)[i]);
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
        free(arrays[i]->items);
    free(p->live);
    free(p->pool_slots);
    free(p->label_slots);
    free(p->table);
}
