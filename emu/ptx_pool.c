/* SPDX-License-Identifier: Apache-2.0
 *
 * Constants as lane arrays, each kept once a module.
 */
#include "emu/ptx_parse.h"

#include <stdlib.h>
#include <string.h>

static ptx_op pool_add(struct ptx_parser *p, const void *lane, unsigned size)
{
    struct tsm_buffer *pool = &p->module->pool;
    size_t bytes = size * PTX_LANES;
    size_t at = pool->size;

    if (at + bytes > 0x7fffffff || !tsm_buffer_reserve(pool, bytes)) {
        ptx_fail_memory(p);
        return PTX_OP_NONE;
    }
    for (unsigned l = 0; l < PTX_LANES; l++)
        memcpy(pool->data + at + l * size, lane, size);
    pool->size += bytes;
    return (ptx_op)at | PTX_BASE_POOL;
}

static uint32_t hash_value(uint64_t value, unsigned size)
{
    uint64_t hash = (value ^ size) * 0x9e3779b97f4a7c15ull;

    return (uint32_t)(hash >> 32);
}

struct ptx_pool_slot {
    uint64_t value;
    ptx_op op;
    uint32_t size; /* 0: free */
};

static bool grow(struct ptx_parser *p)
{
    uint32_t count = p->pool_slot_count ? p->pool_slot_count * 2 : 1024;
    struct ptx_pool_slot *slots = calloc(count, sizeof(*slots));
    struct ptx_pool_slot *old = p->pool_slots;

    if (!slots)
        return ptx_fail_memory(p);
    for (uint32_t i = 0; i < p->pool_slot_count; i++) {
        if (!old[i].size)
            continue;
        uint32_t at = hash_value(old[i].value, old[i].size) % count;
        while (slots[at].size)
            at = (at + 1) % count;
        slots[at] = old[i];
    }
    free(p->pool_slots);
    p->pool_slots = slots;
    p->pool_slot_count = count;
    return true;
}

ptx_op ptx_pool_value(struct ptx_parser *p, uint64_t value, unsigned size)
{
    if (p->pool_used * 2 >= p->pool_slot_count && !grow(p))
        return PTX_OP_NONE;
    if (size < 8)
        value &= (1ull << size * 8) - 1;
    struct ptx_pool_slot *slots = p->pool_slots;
    uint32_t at = hash_value(value, size) % p->pool_slot_count;
    while (slots[at].size) {
        if (slots[at].value == value && slots[at].size == size)
            return slots[at].op;
        at = (at + 1) % p->pool_slot_count;
    }
    slots[at] = (struct ptx_pool_slot){value, pool_add(p, &value, size), size};
    p->pool_used++;
    return slots[at].op;
}

ptx_op ptx_pool_pred(struct ptx_parser *p, bool value)
{
    return ptx_pool_value(p, value ? 0xffffffffu : 0, 4);
}

static bool note_use(struct ptx_parser *p, struct ptx_array *list, uint32_t index)
{
    const uint32_t *items = list->items;

    for (size_t i = 0; i < list->count; i++)
        if (items[i] == index)
            return true;
    uint32_t *slot = ptx_array_add(list, sizeof(*slot));
    if (!slot)
        return ptx_fail_memory(p);
    *slot = index;
    return true;
}

ptx_op ptx_pool_address(struct ptx_parser *p, const struct ptx_symbol *symbol, int64_t addend,
                        unsigned size, bool generic)
{
    bool is_code = symbol->kind == PTX_SYMBOL_CODE;
    uint64_t zero = 0;
    const struct ptx_reloc *known = p->module->relocs.items;

    note_use(p, is_code ? &p->used_codes : &p->used_vars, symbol->index);
    /* Recent ones first: a function uses few addresses, again and again. */
    for (size_t i = p->module->relocs.count, tries = 0; i-- > 0 && tries < 64; tries++)
        if (known[i].target == symbol->index && known[i].is_code == is_code &&
            known[i].addend == addend && known[i].size == size && known[i].is_generic == generic)
            return (ptx_op)known[i].offset | PTX_BASE_POOL;
    ptx_op op = pool_add(p, &zero, size);
    struct ptx_reloc *r = ptx_array_add(&p->module->relocs, sizeof(*r));
    if (!r || op == PTX_OP_NONE) {
        ptx_fail_memory(p);
        return PTX_OP_NONE;
    }
    *r = (struct ptx_reloc){.offset = op & ~(PTX_OP_UNIT - 1),
                            .addend = addend,
                            .target = symbol->index,
                            .size = (uint8_t)size,
                            .is_code = is_code,
                            .is_generic = generic};
    return op;
}
