/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/ptx/handlers/builtin.h"
#include "emu/ptx/handlers/memory.h"
#include "emu/ptx/parse/record.h"

#include <stdlib.h>
#include <string.h>

static bool link_call(struct ptx_parser *p, const struct ptx_insn *i)
{
    struct ptx_call *call = i->extra;
    const struct ptx_code *code = call->target;

    if (code && code->alias)
        call->target = code = code->alias;
    if (!code || code->is_defined)
        return true;
    if (!ptx_builtin_exists(code->info.name))
        return ptx_fail(p, PTX_INVALID, i->line, "call of undefined function '%s'",
                        code->info.name);
    call->target_name = code->info.name;
    call->target = NULL;
    return true;
}

bool ptx_link_code(struct ptx_parser *p, const struct ptx_code *code)
{
    for (uint32_t k = 0; k < code->insn_count; k++)
        if (code->insns[k].fn == ptx_run_call && !link_call(p, &code->insns[k]))
            return false;
    return true;
}

static bool link_calls(struct ptx_parser *p)
{
    for (size_t c = 0; c < p->module->codes.count; c++)
        if (!ptx_link_code(p, ptx_code_at(p->module, c)))
            return false;
    return true;
}

static bool is_missing(const struct ptx_module *m, const struct ptx_reloc *r)
{
    const struct ptx_var *v = r->is_code ? NULL : ptx_var_at(m, r->target);

    return v && !v->is_defined && !v->is_dynamic;
}

/* Variables that are used but defined nowhere. */
bool ptx_link_relocs(struct ptx_parser *p, size_t first)
{
    const struct ptx_reloc *relocs = p->module->relocs.items;

    for (size_t k = first; k < p->module->relocs.count; k++)
        if (is_missing(p->module, &relocs[k]))
            return ptx_fail(p, PTX_INVALID, p->lexer.token.line, "undefined variable '%s'",
                            ptx_var_at(p->module, relocs[k].target)->info.name);
    return true;
}

/* The pool grew by doubling; nobody looks at it yet, so it may move. */
static bool fit_pool(struct ptx_parser *p)
{
    struct ptx_module *m = p->module;
    size_t size = (m->pool_size + 255) & ~(size_t)127;

    if (m->is_pool_fixed)
        return true;
    uint8_t *lanes = aligned_alloc(128, size);
    if (!lanes)
        return ptx_fail_memory(p);
    if (m->pool_size)
        memcpy(lanes, m->pool_lanes, m->pool_size);
    free(m->pool_lanes);
    m->pool_lanes = lanes;
    m->pool_capacity = size;
    m->is_pool_fixed = true;
    return true;
}

static bool lay_out(struct ptx_parser *p)
{
    const char *name = NULL;

    if (ptx_layout(p->module, &name) != PTX_OK)
        return ptx_fail_memory(p);
    return !name || ptx_fail(p, PTX_INVALID, p->lexer.token.line,
                             "'%s' needs too much shared or local memory", name);
}

static bool parse(struct ptx_parser *p, bool is_part)
{
    if (is_part)
        return ptx_parse_module(p);
    return ptx_parse_module(p) && link_calls(p) && ptx_link_relocs(p, 0) && fit_pool(p) &&
           lay_out(p);
}

static struct ptx_module *module_new(const char *text, size_t size, unsigned target)
{
    struct ptx_module *m = calloc(1, sizeof(*m));

    if (!m)
        return NULL;
    while (size && text[size - 1] == 0)
        size--;
    m->target = target;
    m->text_size = size;
    m->text = malloc(size + 1);
    if (!m->text) {
        free(m);
        return NULL;
    }
    memcpy(m->text, text, size);
    m->text[size] = 0;
    return m;
}

static struct ptx_parser *parser_new(struct ptx_module *m, struct ptx_log *log)
{
    struct ptx_parser *p = m ? calloc(1, sizeof(*p)) : NULL;

    if (!p)
        return NULL;
    p->module = m;
    p->log = log;
    ptx_lexer_init(&p->lexer, m->text, m->text_size);
    return p;
}

static void parser_destroy(struct ptx_parser *p)
{
    if (p)
        ptx_parser_finish(p);
    free(p);
}

static int create(struct ptx_module **out, const char *text, size_t size, unsigned target,
                  struct ptx_log *log, bool is_part)
{
    struct ptx_module *m = module_new(text, size, target);
    struct ptx_parser *p = parser_new(m, log);
    int status;

    *out = NULL;
    if (log && log->text && log->size)
        log->text[log->used < log->size ? log->used : 0] = 0;
    if (!p) {
        ptx_module_destroy(m);
        return PTX_NO_MEMORY;
    }
    if (!parse(p, is_part) && p->status == PTX_OK)
        p->status = PTX_INVALID;
    status = p->status;
    parser_destroy(p);
    if (status != PTX_OK) {
        ptx_module_destroy(m);
        return status;
    }
    *out = m;
    return PTX_OK;
}

int ptx_module_recall(struct ptx_module **out, const char *text, size_t size, unsigned target,
                      const void *record, size_t record_size)
{
    struct ptx_module *m = module_new(text, size, target);
    struct ptx_parser *p = parser_new(m, NULL);
    int status = p ? PTX_INVALID : PTX_NO_MEMORY;

    *out = NULL;
    if (p && ptx_record_read(p, record, record_size) && ptx_parse_module(p) &&
        ptx_record_agrees(p) && lay_out(p)) {
        m->lazy = ptx_lazy_create(p);
        if (m->lazy) {
            *out = m;
            return PTX_OK;
        }
    }
    parser_destroy(p);
    ptx_module_destroy(m);
    return status;
}

int ptx_module_create(struct ptx_module **out, const char *text, size_t size, unsigned target,
                      struct ptx_log *log)
{
    return create(out, text, size, target, log, false);
}

int ptx_module_check(const char *text, size_t size, unsigned target, struct ptx_log *log)
{
    struct ptx_module *m;
    int status = create(&m, text, size, target, log, true);

    ptx_module_destroy(m);
    return status;
}

void ptx_module_destroy(struct ptx_module *m)
{
    if (!m)
        return;
    ptx_lazy_destroy(m->lazy);
    for (size_t k = 0; k < m->codes.count; k++) {
        free(ptx_code_at(m, k)->insns);
        free(ptx_code_at(m, k)->plan);
    }
    for (size_t k = 0; k < m->vars.count; k++) {
        free(ptx_var_at(m, k)->init);
        free(ptx_var_at(m, k)->relocs);
    }
    for (size_t k = 0; k < m->chunks.count; k++)
        free(((void **)m->chunks.items)[k]);
    free(m->codes.items);
    free(m->entries.items);
    free(m->vars.items);
    free(m->globals.items);
    free(m->relocs.items);
    free(m->chunks.items);
    free(m->inner_vars.items);
    free(m->pool_lanes);
    free(m->text);
    free(m);
}

size_t ptx_module_function_count(const struct ptx_module *m)
{
    return m->entries.count;
}

const struct ptx_function *ptx_module_function(const struct ptx_module *m, size_t index)
{
    return index < m->entries.count ? &((struct ptx_code **)m->entries.items)[index]->info : NULL;
}

const struct ptx_function *ptx_module_find(const struct ptx_module *m, const char *name)
{
    for (size_t k = 0; k < m->entries.count; k++) {
        const struct ptx_function *f = ptx_module_function(m, k);
        if (strcmp(f->name, name) == 0)
            return f;
    }
    return NULL;
}

size_t ptx_module_variable_count(const struct ptx_module *m)
{
    return m->globals.count;
}

const struct ptx_variable *ptx_module_variable(const struct ptx_module *m, size_t index)
{
    return index < m->globals.count ? &((struct ptx_var **)m->globals.items)[index]->info : NULL;
}

static uint64_t align_to(uint64_t v, uint64_t to)
{
    return (v + to - 1) & ~(to - 1);
}

/* More than any host has: so sums do not overflow. */
#define VARIABLES_MAX (1ull << 46)
#define HOST_PAGE     4096

/* Offsets from `size` on, of variables that are managed, or of the others. Returns their end. */
static uint64_t assign_some(struct ptx_module *m, uint64_t size, bool is_managed)
{
    for (size_t k = 0; k < m->globals.count; k++) {
        struct ptx_var *v = ((struct ptx_var **)m->globals.items)[k];
        if (!v->is_defined || v->info.is_managed != is_managed)
            continue;
        size = align_to(size, v->info.align);
        v->info.address = size;
        size += v->info.size < VARIABLES_MAX ? v->info.size : VARIABLES_MAX;
        if (size > VARIABLES_MAX)
            return size;
    }
    return size;
}

/* Offsets first, in `address`; the base is added when the memory is there. */
static uint64_t assign_offsets(struct ptx_module *m)
{
    uint64_t plain = assign_some(m, 0, false);
    uint64_t managed = align_to(plain, HOST_PAGE);
    uint64_t end = assign_some(m, managed, true);

    m->managed_size = end - managed;
    return m->managed_size ? end : plain;
}

uint64_t ptx_module_managed_size(const struct ptx_module *m)
{
    return m->managed_size;
}

int ptx_module_place(struct ptx_module *m, void *(*allocate)(void *user, size_t size), void *user)
{
    uint64_t size = m->is_placed ? 0 : assign_offsets(m);
    uint8_t *base = size && size <= VARIABLES_MAX ? allocate(user, size) : NULL;

    if (m->is_placed)
        return PTX_OK;
    if (size && (!base || size > VARIABLES_MAX))
        return PTX_NO_MEMORY;
    m->is_placed = true;
    m->base = (uint64_t)(uintptr_t)base;
    for (size_t k = 0; k < m->globals.count; k++) {
        struct ptx_var *v = ((struct ptx_var **)m->globals.items)[k];
        if (!v->is_defined)
            continue;
        v->info.address += (uint64_t)(uintptr_t)base;
        if (v->init_size)
            memcpy((uint8_t *)(uintptr_t)v->info.address, v->init, v->init_size);
    }
    for (size_t k = 0; k < m->globals.count; k++)
        ptx_relocate_var(m, ((struct ptx_var **)m->globals.items)[k]);
    ptx_relocate_pool(m, 0);
    return PTX_OK;
}
