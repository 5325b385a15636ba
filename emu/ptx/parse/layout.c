/* SPDX-License-Identifier: Apache-2.0
 *
 * Settles what depends on all functions: offsets in shared memory, stack sizes, addresses in the
 * pool.
 */
#include "emu/ptx/parse/module.h"

#include <stdlib.h>
#include <string.h>

static void put(uint8_t *at, uint64_t value, unsigned size)
{
    memcpy(at, &value, size);
}

static uint64_t code_address(uint32_t index)
{
    return PTX_CODE_WINDOW + 16ull * index;
}

/* Limit of ptxas on a kernel's static shared memory, on every target. */
#define SHARED_MAX (48u << 10)
#define LOCAL_MAX  (512u << 10)

/* Limit on the shared variables of all entries together: real programs have thousands. */
#define USES_MAX (1u << 24)

struct layout {
    struct ptx_module *m;
    struct ptx_code **stack; /* of the walk; as long as there are functions */
    uint32_t depth;
    uint32_t stamp;
    struct ptx_array uses; /* struct use: of shared variables, by entry */
};

struct use {
    uint32_t var;
    uint32_t entry;
};

static struct ptx_code *entry_at(const struct ptx_module *m, size_t e)
{
    return ((struct ptx_code **)m->entries.items)[e];
}

static void visit(struct layout *x, struct ptx_code *code)
{
    if (code->mark == x->stamp)
        return;
    code->mark = x->stamp;
    x->stack[x->depth++] = code;
}

/* Visits the functions that a function may call. A pointer may have come from anywhere: from a
 * table in memory, say. `has_all`: all functions were visited already. */
static void visit_callees(struct layout *x, const struct ptx_code *code, bool *has_all)
{
    for (uint32_t k = 0; k < code->used_code_count; k++)
        visit(x, ptx_code_meant(x->m, code->used_codes[k]));
    if (!code->calls_unknown || *has_all)
        return;
    *has_all = true;
    for (size_t k = 0; k < x->m->codes.count; k++)
        if (!ptx_code_at(x->m, k)->info.is_entry)
            visit(x, ptx_code_at(x->m, k));
}

static bool find_uses(struct layout *x, uint32_t entry)
{
    bool has_all = false;

    x->stamp = entry + 1;
    visit(x, entry_at(x->m, entry));
    while (x->depth) {
        const struct ptx_code *code = x->stack[--x->depth];
        for (uint32_t k = 0; k < code->used_var_count; k++) {
            const struct ptx_var *v = ptx_var_at(x->m, code->used_vars[k]);
            if (v->is_dynamic && v->info.align > entry_at(x->m, entry)->dynamic_align)
                entry_at(x->m, entry)->dynamic_align = (uint32_t)v->info.align;
            if (v->space != PTX_SPACE_SHARED || v->is_dynamic)
                continue;
            struct use *use =
                x->uses.count < USES_MAX ? ptx_array_add(&x->uses, sizeof(*use)) : NULL;
            if (!use)
                return false;
            *use = (struct use){code->used_vars[k], entry};
        }
        visit_callees(x, code, &has_all);
    }
    return true;
}

static int compare_uses(const void *a, const void *b)
{
    const struct use *x = a;
    const struct use *y = b;

    if (x->var != y->var)
        return x->var < y->var ? -1 : 1;
    return (x->entry > y->entry) - (x->entry < y->entry);
}

/* Shared variables that an entry or anything it calls uses get offsets in the order of declaration.
 * A variable has one offset in all entries that use it, above what each of them uses already: in
 * a module of many kernels each still starts at 0. Returns an entry that needs too much. */
static const struct ptx_code *place_shared_var(struct ptx_module *m, const struct use *uses,
                                               size_t count)
{
    struct ptx_var *v = ptx_var_at(m, uses[0].var);
    uint64_t offset = 0;

    for (size_t k = 0; k < count; k++) {
        uint32_t size = entry_at(m, uses[k].entry)->info.shared_size;
        offset = size > offset ? size : offset;
    }
    offset = (offset + v->info.align - 1) & ~(uint64_t)(v->info.align - 1);
    v->info.address = offset;
    if (v->info.size > SHARED_MAX || offset + v->info.size > SHARED_MAX)
        return entry_at(m, uses[0].entry);
    for (size_t k = 0; k < count; k++)
        entry_at(m, uses[k].entry)->info.shared_size = (uint32_t)(offset + v->info.size);
    return NULL;
}

static const struct ptx_code *place_shared(struct layout *x)
{
    const struct use *uses = x->uses.items;
    const struct ptx_code *large = NULL;
    size_t next;

    if (x->uses.count)
        qsort(x->uses.items, x->uses.count, sizeof(*uses), compare_uses);
    for (size_t k = 0; k < x->uses.count && !large; k = next) {
        for (next = k + 1; next < x->uses.count && uses[next].var == uses[k].var; next++)
            ;
        large = place_shared_var(x->m, uses + k, next - k);
    }
    return large;
}

enum { STACK_UNKNOWN, STACK_OPEN, STACK_KNOWN };

/* All that it calls is known, or open: then it calls itself. */
static void settle_stack(struct layout *x, struct ptx_code *code)
{
    uint64_t deepest = code->calls_unknown ? PTX_STACK_OPEN : 0;

    for (uint32_t k = 0; k < code->used_code_count; k++) {
        const struct ptx_code *callee = ptx_code_meant(x->m, code->used_codes[k]);
        uint32_t size = callee->stack_state == STACK_OPEN ? PTX_STACK_OPEN : callee->stack_size;
        deepest = size > deepest ? size : deepest;
    }
    deepest += (code->local_frame + 31u) & ~15u;
    code->stack_size = deepest < 1u << 30 ? (uint32_t)deepest : 1u << 30;
    code->stack_state = STACK_KNOWN;
}

/* The deepest chain of calls. Recursion, and calls through pointers, get a fixed stack. */
static bool find_stack(struct layout *x, struct ptx_code *entry)
{
    struct ptx_array todo = {0};
    struct ptx_code **slot = ptx_array_add(&todo, sizeof(*slot));
    bool ok = slot != NULL;

    if (ok)
        *slot = entry;
    while (ok && todo.count) {
        struct ptx_code *code = ((struct ptx_code **)todo.items)[todo.count - 1];
        if (code->stack_state != STACK_UNKNOWN) {
            todo.count--;
            if (code->stack_state == STACK_OPEN)
                settle_stack(x, code);
            continue;
        }
        code->stack_state = STACK_OPEN;
        for (uint32_t k = 0; ok && k < code->used_code_count; k++) {
            struct ptx_code *callee = ptx_code_meant(x->m, code->used_codes[k]);
            if (callee->stack_state != STACK_UNKNOWN)
                continue;
            slot = ptx_array_add(&todo, sizeof(*slot));
            ok = slot != NULL;
            if (ok)
                *slot = callee;
        }
    }
    free(todo.items);
    return ok;
}

/* Below the frames of functions, in every kernel. */
static const char *place_local(struct ptx_module *m)
{
    uint64_t size = 0;

    for (size_t k = 0; k < m->vars.count; k++) {
        struct ptx_var *v = ptx_var_at(m, k);
        if (v->space != PTX_SPACE_LOCAL)
            continue;
        v->info.address = (size + v->info.align - 1) & ~(uint64_t)(v->info.align - 1);
        size = v->info.address + v->info.size;
        if (v->info.size > LOCAL_MAX || size > LOCAL_MAX)
            return v->info.name;
    }
    m->local_size = (uint32_t)((size + 15) & ~15ull);
    return NULL;
}

static bool place_stacks(struct layout *x)
{
    struct ptx_module *m = x->m;
    uint64_t constant = 0;

    for (size_t k = 0; k < m->globals.count; k++) {
        const struct ptx_var *v = ((struct ptx_var **)m->globals.items)[k];
        constant += v->info.is_const ? v->info.size : 0;
    }
    for (size_t e = 0; e < m->entries.count; e++) {
        struct ptx_code *code = entry_at(m, e);
        code->info.local_size = m->local_size + code->local_frame;
        code->info.const_size = (uint32_t)constant;
        if (!find_stack(x, code))
            return false;
        if (code->info.is_entry)
            code->stack_size += m->local_size;
    }
    return true;
}

static uint64_t address_of(const struct ptx_module *m, const struct ptx_reloc *r)
{
    if (r->is_code)
        return code_address(r->target) + (uint64_t)r->addend;
    const struct ptx_var *v = ptx_var_at(m, r->target);
    uint64_t window = r->is_generic && v->space == PTX_SPACE_SHARED ? PTX_SHARED_WINDOW : 0;
    return v->info.address + (uint64_t)r->addend + window;
}

void ptx_relocate_pool(struct ptx_module *m, size_t first)
{
    const struct ptx_reloc *relocs = m->relocs.items;

    for (size_t k = first; k < m->relocs.count; k++) {
        const struct ptx_reloc *r = &relocs[k];
        for (unsigned l = 0; l < PTX_LANES; l++)
            put(m->pool_lanes + r->offset + l * r->size, address_of(m, r), r->size);
    }
}

void ptx_relocate_var(const struct ptx_module *m, const struct ptx_var *v)
{
    for (uint32_t k = 0; k < v->reloc_count; k++) {
        const struct ptx_reloc *r = &v->relocs[k];
        put((uint8_t *)(uintptr_t)v->info.address + r->offset, address_of(m, r) >> r->shift,
            r->size);
    }
}

int ptx_layout(struct ptx_module *m, const char **too_large)
{
    struct layout x = {.m = m, .stack = calloc(m->codes.count + 1, sizeof(struct ptx_code *))};
    bool ok = x.stack != NULL;

    for (uint32_t e = 0; ok && e < m->entries.count; e++)
        if (entry_at(m, e)->info.is_entry)
            ok = find_uses(&x, e);
    const struct ptx_code *large = ok ? place_shared(&x) : NULL;
    *too_large = large ? large->info.name : place_local(m);
    ok = ok && place_stacks(&x);
    free(x.stack);
    free(x.uses.items);
    return ok ? PTX_OK : PTX_NO_MEMORY;
}
