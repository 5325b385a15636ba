/* SPDX-License-Identifier: Apache-2.0
 *
 * Constants as lane arrays, each kept once a module. Which ones there are does not depend on the
 * order in which functions are decoded: so the pool of some functions fits where that of all does.
 */
#include "emu/ptx/parse/parse.h"

#include <stdlib.h>
#include <string.h>

#define POOL_MAX 0x7fffff00u

static bool reserve(struct ptx_module *m, size_t bytes)
{
    size_t capacity = m->pool_capacity ? m->pool_capacity : 4096;

    if (m->pool_size + bytes <= m->pool_capacity)
        return true;
    if (m->is_pool_fixed || m->pool_size + bytes > POOL_MAX)
        return false;
    while (capacity < m->pool_size + bytes)
        capacity *= 2;
    uint8_t *lanes = aligned_alloc(128, capacity);
    if (!lanes)
        return false;
    if (m->pool_size)
        memcpy(lanes, m->pool_lanes, m->pool_size);
    free(m->pool_lanes);
    m->pool_lanes = lanes;
    m->pool_capacity = capacity;
    return true;
}

static ptx_op pool_add(struct ptx_parser *p, uint64_t lane, unsigned size)
{
    struct ptx_module *m = p->module;
    size_t at = m->pool_size;

    if (!reserve(m, size * PTX_LANES)) {
        ptx_fail_memory(p);
        return PTX_OP_NONE;
    }
    for (unsigned l = 0; l < PTX_LANES; l++)
        memcpy(m->pool_lanes + at + l * size, &lane, size);
    m->pool_size += size * PTX_LANES;
    return (ptx_op)at | PTX_BASE_POOL;
}

/* A constant, or an address: then value is the addend. */
struct ptx_pool_slot {
    uint64_t value;
    uint32_t target; /* index of a variable or a function */
    ptx_op op;
    uint8_t size; /* 0: free */
    enum slot_kind { SLOT_VALUE, SLOT_VAR, SLOT_VAR_GENERIC, SLOT_CODE } kind : 8;
};

static uint32_t hash_slot(const struct ptx_pool_slot *s)
{
    uint64_t hash = (s->value ^ s->size ^ (uint64_t)s->target << 32 ^ (uint64_t)s->kind << 8) *
                    0x9e3779b97f4a7c15ull;

    return (uint32_t)(hash >> 32);
}

static bool same_slot(const struct ptx_pool_slot *a, const struct ptx_pool_slot *b)
{
    return a->value == b->value && a->target == b->target && a->size == b->size &&
           a->kind == b->kind;
}

/* Returns the slot of the constant, or the free slot where it would go. */
static struct ptx_pool_slot *find_slot(struct ptx_pool_slot *slots, uint32_t count,
                                       const struct ptx_pool_slot *wanted)
{
    uint32_t at = hash_slot(wanted) & (count - 1);

    while (slots[at].size && !same_slot(&slots[at], wanted))
        at = (at + 1) & (count - 1);
    return &slots[at];
}

static bool grow(struct ptx_parser *p)
{
    uint32_t count = p->pool_slot_count ? p->pool_slot_count * 2 : 256;
    struct ptx_pool_slot *slots = calloc(count, sizeof(*slots));
    struct ptx_pool_slot *old = p->pool_slots;

    if (!slots)
        return ptx_fail_memory(p);
    for (uint32_t i = 0; i < p->pool_slot_count; i++)
        if (old[i].size)
            *find_slot(slots, count, &old[i]) = old[i];
    free(old);
    p->pool_slots = slots;
    p->pool_slot_count = count;
    return true;
}

/* The slot of what is wanted; op is PTX_OP_NONE when it was not there before. NULL after a failure.
 */
static struct ptx_pool_slot *take_slot(struct ptx_parser *p, struct ptx_pool_slot wanted)
{
    if (p->pool_used * 2 >= p->pool_slot_count && !grow(p))
        return NULL;
    struct ptx_pool_slot *slot = find_slot(p->pool_slots, p->pool_slot_count, &wanted);
    if (slot->size)
        return slot;
    ptx_op op = pool_add(p, wanted.kind == SLOT_VALUE ? wanted.value : 0, wanted.size);
    if (op == PTX_OP_NONE)
        return NULL;
    *slot = wanted;
    slot->op = op;
    p->pool_used++;
    return slot;
}

ptx_op ptx_pool_value(struct ptx_parser *p, uint64_t value, unsigned size)
{
    if (size < 8)
        value &= (1ull << size * 8) - 1;
    const struct ptx_pool_slot *slot =
        take_slot(p, (struct ptx_pool_slot){.value = value, .size = (uint8_t)size});
    return slot ? slot->op : PTX_OP_NONE;
}

ptx_op ptx_pool_pred(struct ptx_parser *p, bool value)
{
    return ptx_pool_value(p, value ? 0xffffffffu : 0, 4);
}

static bool note(struct ptx_parser *p, struct ptx_array *list, uint32_t *noted, uint32_t index)
{
    if (*noted == p->number)
        return true;
    uint32_t *slot = ptx_array_add(list, sizeof(*slot));
    if (!slot)
        return ptx_fail_memory(p);
    *slot = index;
    *noted = p->number;
    return true;
}

bool ptx_note_var(struct ptx_parser *p, uint32_t index)
{
    return note(p, &p->used_vars, &ptx_var_at(p->module, index)->noted, index);
}

bool ptx_note_code(struct ptx_parser *p, uint32_t index)
{
    return note(p, &p->used_codes, &ptx_code_at(p->module, index)->noted, index);
}

ptx_op ptx_pool_address(struct ptx_parser *p, const struct ptx_symbol *symbol, int64_t addend,
                        unsigned size, bool generic)
{
    bool is_code = symbol->kind == PTX_SYMBOL_CODE;
    uint32_t used = p->pool_used;

    if (is_code ? !ptx_note_code(p, symbol->index) : !ptx_note_var(p, symbol->index))
        return PTX_OP_NONE;
    const struct ptx_pool_slot *slot =
        take_slot(p, (struct ptx_pool_slot){.value = (uint64_t)addend,
                                            .target = symbol->index,
                                            .size = (uint8_t)size,
                                            .kind = is_code   ? SLOT_CODE
                                                    : generic ? SLOT_VAR_GENERIC
                                                              : SLOT_VAR});
    if (!slot || p->pool_used == used)
        return slot ? slot->op : PTX_OP_NONE;
    struct ptx_reloc *r = ptx_array_add(&p->module->relocs, sizeof(*r));
    if (!r) {
        ptx_fail_memory(p);
        return PTX_OP_NONE;
    }
    *r = (struct ptx_reloc){.offset = slot->op & ~(PTX_OP_UNIT - 1),
                            .addend = addend,
                            .target = symbol->index,
                            .size = (uint8_t)size,
                            .is_code = is_code,
                            .is_generic = generic};
    return slot->op;
}
