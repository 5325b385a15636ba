/* SPDX-License-Identifier: Apache-2.0
 *
 * Labels of a function, by name and scope.
 */
#include "emu/ptx/parse/parse.h"

#include <stdlib.h>
#include <string.h>

static uint32_t hash_label(const struct ptx_token *name, uint32_t scope)
{
    uint32_t hash = 2166136261u ^ scope * 0x9e3779b1u;

    for (uint32_t i = 0; i < name->size; i++)
        hash = (hash ^ (uint8_t)name->text[i]) * 16777619u;
    return hash ^ hash >> 15;
}

static const struct ptx_label *label_at(const struct ptx_parser *p, uint32_t slot)
{
    return (const struct ptx_label *)p->labels.items + (p->label_slots[slot] - 1);
}

static bool is_label(const struct ptx_label *l, const struct ptx_token *name, uint32_t scope)
{
    return l->scope == scope && l->name.size == name->size &&
           memcmp(l->name.text, name->text, name->size) == 0;
}

/* Returns the slot of the label, or the free slot where it would go. There is always a free one. */
static uint32_t find_slot(const struct ptx_parser *p, const struct ptx_token *name, uint32_t scope,
                          uint32_t hash)
{
    uint32_t at = hash & (p->label_slot_count - 1);

    while (p->label_slots[at] && !is_label(label_at(p, at), name, scope))
        at = (at + 1) & (p->label_slot_count - 1);
    return at;
}

static bool grow(struct ptx_parser *p)
{
    uint32_t count = p->label_slot_count ? p->label_slot_count * 2 : 64;
    uint32_t *slots = calloc(count, sizeof(*slots));

    if (!slots)
        return ptx_fail_memory(p);
    free(p->label_slots);
    p->label_slots = slots;
    p->label_slot_count = count;
    for (uint32_t k = 0; k < p->labels.count; k++) {
        const struct ptx_label *l = (const struct ptx_label *)p->labels.items + k;
        slots[find_slot(p, &l->name, l->scope, l->hash)] = k + 1;
    }
    return true;
}

bool ptx_label_add(struct ptx_parser *p, const struct ptx_token *name)
{
    uint32_t hash = hash_label(name, p->scope);

    if (p->labels.count * 2 >= p->label_slot_count && !grow(p))
        return false;
    uint32_t at = find_slot(p, name, p->scope, hash);
    if (p->label_slots[at])
        return ptx_fail(p, PTX_INVALID, name->line, "duplicate label '%.*s'", (int)name->size,
                        name->text);
    struct ptx_label *label = ptx_array_add(&p->labels, sizeof(*label));
    if (!label)
        return ptx_fail_memory(p);
    *label = (struct ptx_label){*name, p->scope, (uint32_t)p->insns.count, hash};
    p->label_slots[at] = (uint32_t)p->labels.count;
    return true;
}

const struct ptx_label *ptx_label_find(const struct ptx_parser *p, const struct ptx_token *name,
                                       uint32_t scope)
{
    const uint32_t *parents = p->scope_parents.items;

    if (!p->label_slot_count)
        return NULL;
    for (;; scope = parents[scope - 1]) {
        uint32_t at = find_slot(p, name, scope, hash_label(name, scope));
        if (p->label_slots[at])
            return label_at(p, at);
        if (scope == 0 || scope > p->scope_parents.count)
            return NULL;
    }
}

/* A large table is not swept again for each small function after a large one. */
void ptx_labels_clear(struct ptx_parser *p)
{
    bool is_large = p->label_slot_count > 1024 && p->labels.count * 8 < p->label_slot_count;

    p->labels.count = 0;
    if (is_large) {
        free(p->label_slots);
        p->label_slots = NULL;
        p->label_slot_count = 0;
    } else if (p->label_slot_count) {
        memset(p->label_slots, 0, p->label_slot_count * sizeof(*p->label_slots));
    }
}
