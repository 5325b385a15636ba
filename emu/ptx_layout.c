/* SPDX-License-Identifier: Apache-2.0
 *
 * What can be settled only when all functions are known: offsets in shared memory, stack sizes,
 * addresses in the pool.
 */
#include "emu/ptx_module.h"

#include <string.h>

static void put(uint8_t *at, uint64_t value, unsigned size)
{
    memcpy(at, &value, size);
}

static uint64_t code_address(uint32_t index)
{
    return PTX_CODE_WINDOW + 16ull * index;
}

/* Shared variables that an entry or anything it calls uses get offsets in the order of declaration.
 * A variable has one offset in all entries that use it, above what each of them uses already: in
 * a module of many kernels each still starts at 0. */
static void mark(struct ptx_module *m, struct ptx_code *code, uint32_t stamp, bool *uses)
{
    if (code->mark == stamp)
        return;
    code->mark = stamp;
    for (uint32_t k = 0; k < code->used_var_count; k++)
        uses[code->used_vars[k]] = true;
    for (uint32_t k = 0; k < code->used_code_count; k++)
        mark(m, ptx_code_at(m, code->used_codes[k]), stamp, uses);
    /* A pointer may have come from anywhere: from a table in memory, say. */
    for (size_t k = 0; code->calls_unknown && k < m->codes.count; k++)
        if (!ptx_code_at(m, k)->info.is_entry)
            mark(m, ptx_code_at(m, k), stamp, uses);
}

static void place_shared_var(struct ptx_module *m, uint32_t index, bool **uses)
{
    struct ptx_var *v = ptx_var_at(m, index);
    uint64_t offset = 0;

    for (size_t e = 0; e < m->entries.count; e++) {
        const struct ptx_code *code = ((struct ptx_code **)m->entries.items)[e];
        if (uses[e] && uses[e][index] && code->info.shared_size > offset)
            offset = code->info.shared_size;
    }
    offset = (offset + v->info.align - 1) & ~(uint64_t)(v->info.align - 1);
    v->info.address = offset;
    for (size_t e = 0; e < m->entries.count; e++) {
        struct ptx_code *code = ((struct ptx_code **)m->entries.items)[e];
        if (uses[e] && uses[e][index])
            code->info.shared_size = (uint32_t)(offset + v->info.size);
    }
}

static int place_shared(struct ptx_module *m)
{
    bool **uses = ptx_module_alloc(m, m->entries.count * sizeof(*uses));

    if (!uses)
        return PTX_NO_MEMORY;
    for (size_t e = 0; e < m->entries.count; e++) {
        struct ptx_code *code = ((struct ptx_code **)m->entries.items)[e];
        uses[e] = ptx_module_alloc(m, m->vars.count);
        if (!uses[e])
            return PTX_NO_MEMORY;
        if (code->info.is_entry)
            mark(m, code, (uint32_t)e + 1, uses[e]);
    }
    for (uint32_t k = 0; k < m->vars.count; k++) {
        const struct ptx_var *v = ptx_var_at(m, k);
        if (v->space == PTX_SPACE_SHARED && !v->is_dynamic)
            place_shared_var(m, k, uses);
    }
    return PTX_OK;
}

enum { STACK_UNKNOWN, STACK_OPEN, STACK_KNOWN };

/* The deepest chain of calls. Recursion, and calls through pointers, get a fixed stack. */
static uint32_t stack_of(struct ptx_module *m, struct ptx_code *code)
{
    uint64_t deepest = code->calls_unknown ? PTX_STACK_OPEN : 0;

    if (code->stack_state == STACK_OPEN)
        return PTX_STACK_OPEN;
    if (code->stack_state == STACK_KNOWN)
        return code->stack_size;
    code->stack_state = STACK_OPEN;
    for (uint32_t k = 0; k < code->used_code_count; k++) {
        uint32_t size = stack_of(m, ptx_code_at(m, code->used_codes[k]));
        deepest = size > deepest ? size : deepest;
    }
    deepest += (code->local_frame + 31u) & ~15u;
    code->stack_size = deepest < 1u << 30 ? (uint32_t)deepest : 1u << 30;
    code->stack_state = STACK_KNOWN;
    return code->stack_size;
}

static void place_stacks(struct ptx_module *m)
{
    uint64_t constant = 0;

    for (size_t k = 0; k < m->globals.count; k++) {
        const struct ptx_var *v = ((struct ptx_var **)m->globals.items)[k];
        constant += v->info.is_const ? v->info.size : 0;
    }
    for (size_t e = 0; e < m->entries.count; e++) {
        struct ptx_code *code = ((struct ptx_code **)m->entries.items)[e];
        code->info.local_size = code->local_frame;
        code->info.const_size = (uint32_t)constant;
        code->stack_size = stack_of(m, code);
    }
}

static uint64_t address_of(const struct ptx_module *m, const struct ptx_reloc *r)
{
    if (r->is_code)
        return code_address(r->target) + (uint64_t)r->addend;
    const struct ptx_var *v = ptx_var_at(m, r->target);
    uint64_t window = r->is_generic && v->space == PTX_SPACE_SHARED ? PTX_SHARED_WINDOW : 0;
    return v->info.address + (uint64_t)r->addend + window;
}

void ptx_relocate_pool(struct ptx_module *m)
{
    const struct ptx_reloc *relocs = m->relocs.items;

    for (size_t k = 0; k < m->relocs.count; k++) {
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

int ptx_layout(struct ptx_module *m)
{
    int status = place_shared(m);

    if (status == PTX_OK)
        place_stacks(m);
    return status;
}
