/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of a module that was read by its record: decoded when one of them is needed, together
 * with all that it may call. The parser stays, with the names of the module.
 */
#include "emu/ptx/parse/record.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct ptx_lazy {
    pthread_mutex_t lock; /* of everything here, and of what decoding adds to the module */
    struct ptx_parser *parser;
    const struct ptx_record *record;
    struct ptx_code **todo; /* as long as there are functions */
    uint32_t todo_count;
    uint32_t stamp;
};

struct ptx_lazy *ptx_lazy_create(struct ptx_parser *p)
{
    struct ptx_lazy *lazy = calloc(1, sizeof(*lazy));

    if (!lazy)
        return NULL;
    lazy->todo = calloc(p->module->codes.count + 1, sizeof(struct ptx_code *));
    if (!lazy->todo) {
        free(lazy);
        return NULL;
    }
    pthread_mutex_init(&lazy->lock, NULL);
    lazy->parser = p;
    lazy->record = p->record;
    lazy->stamp = (uint32_t)p->module->entries.count; /* the layout's walks took those below */
    p->record = NULL;
    return lazy;
}

void ptx_lazy_destroy(struct ptx_lazy *lazy)
{
    if (!lazy)
        return;
    ptx_parser_finish(lazy->parser);
    free(lazy->parser);
    pthread_mutex_destroy(&lazy->lock);
    free(lazy->todo);
    free(lazy);
}

static bool same_list(const uint32_t *a, uint32_t a_count, const uint32_t *b, uint32_t b_count)
{
    return a_count == b_count && (!a_count || memcmp(a, b, a_count * sizeof(*a)) == 0);
}

/* The layout was made with what the record says. */
static bool agrees(const struct ptx_code *made, const struct ptx_known *known)
{
    return made->end == known->end && made->end_line == known->end_line &&
           made->calls_unknown == known->calls_unknown &&
           made->info.register_count == known->register_count &&
           made->frame_size == known->frame_size && made->local_frame == known->local_frame &&
           made->insn_count == known->insn_count &&
           same_list(made->used_vars, made->used_var_count, known->used_vars,
                     known->used_var_count) &&
           same_list(made->used_codes, made->used_code_count, known->used_codes,
                     known->used_code_count);
}

/* The body's code in `made`, which owns its instructions. */
static bool read_body(struct ptx_parser *p, const struct ptx_code *code, struct ptx_code *made)
{
    p->unit = code->unit;
    p->version = code->info.version;
    p->target = code->info.target;
    p->variant = code->variant;
    p->limit = code->name_at; /* it may call itself */
    p->again = made;
    ptx_lexer_jump(&p->lexer, code->head, code->head_line);
    bool ok = ptx_parse_function(p, code->info.is_entry, MOD_UNKNOWN);
    p->again = NULL;
    return ok && ptx_link_code(p, made);
}

static bool decode(struct ptx_lazy *lazy, struct ptx_code *code)
{
    struct ptx_parser *p = lazy->parser;
    struct ptx_code made = {0};
    size_t relocs = p->module->relocs.count;

    p->status = PTX_OK;
    bool ok = read_body(p, code, &made) && ptx_link_relocs(p, relocs);
    if (ok && !agrees(&made, &lazy->record->codes[code->index]))
        ok = ptx_fail(p, PTX_INVALID, code->line, "'%s' is not what the cache says",
                      code->info.name);
    if (!ok) {
        free(made.insns);
        return false;
    }
    if (p->module->is_placed)
        ptx_relocate_pool(p->module, relocs);
    code->frame_size = made.frame_size;
    code->insn_count = made.insn_count;
    /* Others may look for the function of an instruction meanwhile: the count is there first. */
    __atomic_store_n(&code->insns, made.insns, __ATOMIC_RELEASE);
    return true;
}

static void visit(struct ptx_lazy *lazy, struct ptx_code *code)
{
    if (code->mark == lazy->stamp || !code->is_defined || code->is_ready)
        return;
    code->mark = lazy->stamp;
    lazy->todo[lazy->todo_count++] = code;
}

/* Everything that may be reached; it stays in `todo` until all of it is decoded. */
static bool decode_all(struct ptx_lazy *lazy, struct ptx_code *first)
{
    struct ptx_module *m = lazy->parser->module;
    bool has_all = false;

    lazy->stamp++;
    lazy->todo_count = 0;
    visit(lazy, first);
    for (uint32_t at = 0; at < lazy->todo_count; at++) {
        struct ptx_code *code = lazy->todo[at];
        if (!code->insns && !decode(lazy, code))
            return false;
        for (uint32_t k = 0; k < code->used_code_count; k++)
            visit(lazy, ptx_code_meant(m, code->used_codes[k]));
        for (size_t k = 0; code->calls_unknown && !has_all && k < m->codes.count; k++)
            if (!ptx_code_at(m, k)->info.is_entry)
                visit(lazy, ptx_code_at(m, k));
        has_all |= code->calls_unknown;
    }
    for (uint32_t at = 0; at < lazy->todo_count; at++)
        __atomic_store_n(&lazy->todo[at]->is_ready, 1, __ATOMIC_RELEASE);
    return true;
}

int ptx_module_prepare(struct ptx_module *m, const struct ptx_function *function,
                       struct ptx_log *log)
{
    struct ptx_code *code = (struct ptx_code *)(uintptr_t)function; /* info is its first member */
    struct ptx_lazy *lazy = m->lazy;

    if (!lazy || __atomic_load_n(&code->is_ready, __ATOMIC_ACQUIRE))
        return PTX_OK;
    pthread_mutex_lock(&lazy->lock);
    lazy->parser->log = log;
    int status = PTX_OK;
    if (!decode_all(lazy, code))
        status = lazy->parser->status != PTX_OK ? lazy->parser->status : PTX_INVALID;
    lazy->parser->log = NULL;
    pthread_mutex_unlock(&lazy->lock);
    return status;
}
