/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/vulkan/vulkan_fill.h"

static void fill_union(struct fill *f, const struct vk_struct *type, void *memory, uint32_t depth,
                       uint32_t choice);

uint64_t fill_random(struct fill *f)
{
    f->random ^= f->random << 13;
    f->random ^= f->random >> 7;
    f->random ^= f->random << 17;
    return f->random;
}

static uint64_t below(struct fill *f, uint64_t bound)
{
    return fill_random(f) % bound;
}

/* ---- which numbers are counts: small, and the same for all who use them
 * -------------------------- */

static bool counts(const struct vk_member *member, const struct vk_member *siblings, uint32_t n,
                   uint32_t place)
{
    const char *name = vk_name(member->name);

    for (uint32_t i = 0; i < n; i++)
        if (siblings[i].count_kind == VK_COUNT_MEMBER && siblings[i].count == place &&
            siblings[i].kind != VK_KIND_OBJECT)
            return true;
    return strstr(name, "Count") || strstr(name, "stride") || strstr(name, "Size") ||
           strstr(name, "amples");
}

static uint64_t selector(struct fill *f, const struct vk_member *siblings, uint32_t n,
                         uint32_t place)
{
    for (uint32_t i = 0; i < n; i++)
        if (siblings[i].count_kind == VK_COUNT_SELECTOR && siblings[i].count == place) {
            const struct vk_struct *type = &vk_structs[siblings[i].type];
            return (uint64_t)vk_choices[type->choice_first + below(f, type->choice_count)].value;
        }
    return below(f, 12);
}

/* ---- values ---------------------------------------------------------------------------------- */

static void fill_value(struct fill *f, const struct vk_member *m, const struct vk_member *siblings,
                       uint32_t n, const void *memory, void *at, uint32_t depth)
{
    size_t size = vk_value_size(m);

    switch (m->kind) {
    case VK_KIND_STRUCT:
        if (vk_structs[m->type].flags & VK_STRUCT_UNION)
            fill_union(f, &vk_structs[m->type], at, depth,
                       m->count_kind == VK_COUNT_SELECTOR
                           ? vk_choose(&vk_structs[m->type],
                                       (int64_t)vk_sibling(siblings, m->count, memory))
                           : vk_structs[m->type].choose);
        else
            fill_struct(f, &vk_structs[m->type], at, depth);
        break;
    case VK_KIND_ENUM:
        vk_store(at, size, selector(f, siblings, n, (uint32_t)(m - siblings)));
        break;
    case VK_KIND_BOOL:
        vk_store(at, size, below(f, 2));
        break;
    case VK_KIND_POINTER:
    case VK_KIND_FUNCTION:
        vk_store(at, size, 0); /* not kept */
        break;
    case VK_KIND_OBJECT: {
        uint64_t type = vk_object_of((uint32_t)vk_sibling(siblings, m->count, memory));
        vk_store(at, size, type ? fill_random(f) : 0);
        break;
    }
    case VK_KIND_BITS:
        vk_store(at, 4, vk_load(at, 4) | below(f, 1ull << (m->count >> 8)) << (m->count & 0xff));
        break;
    default:
        vk_store(at, size,
                 counts(m, siblings, n, (uint32_t)(m - siblings)) ? below(f, 4) : fill_random(f));
    }
}

static char *text(struct fill *f)
{
    uint64_t length = below(f, 12);
    char *made = vk_arena_take(f->arena, length + 1);

    for (uint64_t i = 0; i < length; i++)
        made[i] = (char)('a' + below(f, 26));
    return made;
}

static void *fill_values(struct fill *f, const struct vk_member *m,
                         const struct vk_member *siblings, uint32_t n, const void *memory,
                         uint64_t count, uint32_t depth)
{
    uint64_t step = vk_step(m, siblings, memory);
    char *values = vk_arena_take(f->arena, count * step + 1);

    for (uint64_t i = 0; i < count; i++)
        fill_value(f, m, siblings, n, memory, values + i * step, depth);
    return values;
}

static void *fill_pointer(struct fill *f, const struct vk_member *m,
                          const struct vk_member *siblings, uint32_t n, const void *memory,
                          uint32_t depth)
{
    uint64_t count = vk_member_count(m, siblings, memory);
    char **pointers;

    if (m->count_kind == VK_COUNT_STRING && m->form == VK_FORM_POINTER)
        return text(f);
    if (m->form == VK_FORM_POINTER)
        return fill_values(f, m, siblings, n, memory, count, depth);
    pointers = vk_arena_take(f->arena, count * sizeof(*pointers) + 1);
    for (uint64_t i = 0; i < count; i++)
        pointers[i] = m->kind == VK_KIND_CHAR   ? text(f)
                      : m->form == VK_FORM_ROWS ? fill_values(f, m, siblings, n, memory,
                                                              vk_rows(m->stride, memory, i), depth)
                                                : fill_values(f, m, siblings, n, memory, 1, depth);
    return pointers;
}

/* ---- chains ---------------------------------------------------------------------------------- */

struct head {
    int32_t stype;
    struct head *next;
};

static struct head *fill_chain(struct fill *f, uint32_t depth)
{
    struct head *first = NULL;

    for (uint64_t i = below(f, 3); i; i--) {
        const struct vk_struct *type = &vk_structs[vk_stypes[below(f, vk_stype_count)].place];
        struct head *made = vk_arena_take(f->arena, type->size);
        fill_struct(f, type, made, depth + 1);
        made->next = first;
        first = made;
    }
    return first;
}

/* ---- structs --------------------------------------------------------------------------------- */

static void fill_member(struct fill *f, const struct vk_member *m, const struct vk_member *siblings,
                        uint32_t n, void *memory, uint32_t depth)
{
    char *at = (char *)memory + m->offset;
    void *pointer = NULL;

    if (m->flags & VK_MEMBER_OMIT)
        return;
    if (m->form == VK_FORM_ONE) {
        fill_value(f, m, siblings, n, memory, at, depth);
    } else if (m->form == VK_FORM_ARRAY) {
        for (uint32_t i = 0; i < m->count; i++)
            fill_value(f, m, siblings, n, memory, at + i * vk_value_size(m), depth);
        if (m->kind == VK_KIND_CHAR)
            at[below(f, m->count)] = 0;
    } else {
        if (depth < f->depth_max)
            pointer = m->kind == VK_KIND_CHAIN ? fill_chain(f, depth)
                                               : fill_pointer(f, m, siblings, n, memory, depth + 1);
        memcpy(at, &pointer, sizeof(pointer));
    }
}

static void fill_union(struct fill *f, const struct vk_struct *type, void *memory, uint32_t depth,
                       uint32_t choice)
{
    const struct vk_member *members = &vk_members[type->first];

    if (choice)
        fill_member(f, &members[choice - 1], members, type->member_count, memory, depth);
}

void fill_struct(struct fill *f, const struct vk_struct *type, void *memory, uint32_t depth)
{
    const struct vk_member *members = &vk_members[type->first];

    memset(memory, 0, type->size);
    if (type->flags & VK_STRUCT_UNION) {
        fill_union(f, type, memory, depth, type->choose);
        return;
    }
    if (type->flags & VK_STRUCT_TYPED)
        memcpy(memory, &type->stype, sizeof(type->stype));
    for (uint32_t i = 0; i < type->member_count; i++)
        fill_member(f, &members[i], members, type->member_count, memory, depth);
}

void fill_args(struct fill *f, const struct vk_command *command, void *args)
{
    const struct vk_member *arguments = &vk_arguments[command->first];

    memset(args, 0, command->args_size);
    for (uint32_t i = 0; i < command->argument_count; i++)
        if (arguments[i].form == VK_FORM_ONE) /* a stride comes after its pointer */
            fill_member(f, &arguments[i], arguments, command->argument_count, args, 1);
    for (uint32_t i = 0; i < command->argument_count; i++)
        if (arguments[i].form != VK_FORM_ONE)
            fill_member(f, &arguments[i], arguments, command->argument_count, args, 1);
}
