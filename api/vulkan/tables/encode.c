/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vulkan/tables/codec.h"

#include "api/vulkan/tables/describe.h"
#include "tracesmith/trace.h"

/* Limit of FORMAT.md 13. */
#define DEPTH_MAX 32u

/* A longer chain is a ring. */
#define CHAIN_MAX 256u

/* Structs that the loader puts into chains for layers: nobody else's business (vk_layer.h). */
#define LOADER_INSTANCE 47
#define LOADER_DEVICE   48

static void encode_struct(struct vk_encoder *e, const struct vk_struct *type, const void *memory,
                          const struct vk_scope *up, bool in_chain, uint32_t choice);

static uint64_t same(void *user, uint32_t object_type, uint64_t raw)
{
    return raw;
}

void vk_encoder_init(struct vk_encoder *e, void *buffer, size_t room)
{
    *e = (struct vk_encoder){.handle = same};
    sbt_out_init(&e->out, buffer, room, NULL, NULL);
}

static void fail(struct vk_encoder *e)
{
    e->out.overflow = true;
    e->out.end = e->out.at; /* from here on nothing fits */
}

static bool enter(struct vk_encoder *e)
{
    if (++e->depth > DEPTH_MAX)
        fail(e);
    return !e->out.overflow;
}

/* ---- values ---------------------------------------------------------------------------------- */

static int64_t load_signed(const void *at, size_t size)
{
    unsigned shift = 64 - 8 * (unsigned)size;

    return (int64_t)(vk_load(at, size) << shift) >> shift;
}

static uint64_t id_of(struct vk_encoder *e, uint32_t object_type, uint64_t raw)
{
    return raw && object_type && !e->out.overflow ? e->handle(e->user, object_type, raw) : 0;
}

/* A value that is not there: one that is ignored. */
static void encode_nothing(struct vk_encoder *e, const struct vk_member *m)
{
    static const uint8_t zeros[8];

    bool wide = m->form == VK_FORM_ONE && (m->kind == VK_KIND_F32 || m->kind == VK_KIND_F64);

    sbt_out_raw(&e->out, zeros, wide ? vk_value_size(m) : 1);
}

static void encode_value(struct vk_encoder *e, const struct vk_member *m,
                         const struct vk_member *siblings, const void *at,
                         const struct vk_scope *scope)
{
    size_t size = vk_value_size(m);

    switch (m->kind) {
    case VK_KIND_I8:
    case VK_KIND_I16:
    case VK_KIND_I32:
    case VK_KIND_I64:
    case VK_KIND_ENUM:
        sbt_out_zigzag(&e->out, load_signed(at, size));
        break;
    case VK_KIND_F32:
    case VK_KIND_F64:
        sbt_out_raw(&e->out, at, size);
        break;
    case VK_KIND_HANDLE:
        sbt_out_varint(&e->out, id_of(e, m->type, vk_load(at, size)));
        break;
    case VK_KIND_OBJECT:
        sbt_out_varint(
            &e->out, id_of(e, vk_object_of((uint32_t)vk_sibling(siblings, m->count, scope->memory)),
                           vk_load(at, size)));
        break;
    case VK_KIND_BITS:
        sbt_out_varint(&e->out,
                       vk_load(at, size) >> (m->count & 0xff) & ((1ull << (m->count >> 8)) - 1));
        break;
    case VK_KIND_STRUCT: {
        uint32_t choice = vk_structs[m->type].choose;
        if (m->count_kind == VK_COUNT_SELECTOR)
            choice = vk_choose(&vk_structs[m->type],
                               (int64_t)vk_sibling(siblings, m->count, scope->memory));
        encode_struct(e, &vk_structs[m->type], at, scope, false, choice);
        break;
    }
    default:
        sbt_out_varint(&e->out, vk_load(at, size));
    }
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void encode_list(struct vk_encoder *e, const struct vk_member *m,
                        const struct vk_member *siblings, const char *at, uint64_t count,
                        uint64_t stride, const struct vk_scope *scope)
{
    sbt_out_list(&e->out, count);
    if (enter(e))
        for (uint64_t i = 0; i < count && !e->out.overflow; i++)
            encode_value(e, m, siblings, at + i * stride, scope);
    e->depth--;
}

static void encode_pointers(struct vk_encoder *e, const struct vk_member *m,
                            const struct vk_member *siblings, const char *const *at, uint64_t count,
                            const struct vk_scope *scope)
{
    sbt_out_list(&e->out, count);
    if (enter(e))
        for (uint64_t i = 0; i < count && !e->out.overflow; i++) {
            if (m->kind == VK_KIND_CHAR)
                sbt_out_text(&e->out, at[i]);
            else if (m->form == VK_FORM_ROWS)
                encode_list(e, m, siblings, at[i], vk_rows(m->stride, scope->memory, i),
                            vk_value_size(m), scope);
            else if (at[i])
                encode_value(e, m, siblings, at[i], scope);
            else
                fail(e); /* not allowed, and not to be said in a list */
        }
    e->depth--;
}

static void encode_array(struct vk_encoder *e, const struct vk_member *m,
                         const struct vk_member *siblings, const char *at,
                         const struct vk_scope *scope)
{
    uint64_t count = vk_array_count(m, siblings, scope->memory);

    if (m->kind == VK_KIND_CHAR)
        sbt_out_bytes(&e->out, at, strnlen(at, count));
    else if (m->kind == VK_KIND_BYTE)
        sbt_out_bytes(&e->out, at, count);
    else
        encode_list(e, m, siblings, at, count, vk_value_size(m), scope);
}

/* ---- chains ---------------------------------------------------------------------------------- */

struct chain_head {
    int32_t stype;
    const struct chain_head *next;
};

static void encode_chain(struct vk_encoder *e, const struct chain_head *at,
                         const struct vk_scope *scope)
{
    if (enter(e))
        for (uint32_t i = 0; at && i < CHAIN_MAX && !e->out.overflow; at = at->next, i++) {
            const struct vk_struct *type = vk_struct_of(at->stype);
            if (type) {
                size_t place;
                vk_struct_use((uint32_t)(type - vk_structs));
                place = sbt_out_element(&e->out, SBT_TYPE(SBT_API_VULKAN, type->id));
                encode_struct(e, type, at, scope, true, 0);
                sbt_out_element_end(&e->out, place);
            } else if (at->stype != LOADER_INSTANCE && at->stype != LOADER_DEVICE) {
                if (!e->unknown++ || at->stype != VK_STYPE_NOBODYS)
                    e->unknown_stype = at->stype;
            }
        }
    e->depth--;
    sbt_out_chain_end(&e->out);
}

/* ---- structs --------------------------------------------------------------------------------- */

static void encode_pointer(struct vk_encoder *e, const struct vk_member *m,
                           const struct vk_member *siblings, const void *at,
                           const struct vk_scope *scope)
{
    uint64_t count;

    if (m->count_kind == VK_COUNT_STRING && m->form == VK_FORM_POINTER) {
        sbt_out_text(&e->out, at);
        return;
    }
    count = at ? vk_member_count(m, siblings, scope->memory) : 0;
    if (!at)
        sbt_out_none(&e->out);
    else if (m->form == VK_FORM_POINTERS || m->form == VK_FORM_ROWS)
        encode_pointers(e, m, siblings, at, count, scope);
    else if (m->kind == VK_KIND_BYTE)
        sbt_out_bytes(&e->out, at, count);
    else
        encode_list(e, m, siblings, at, count, vk_step(m, siblings, scope->memory), scope);
}

static void encode_member(struct vk_encoder *e, const struct vk_member *m,
                          const struct vk_member *siblings, const struct vk_scope *scope,
                          bool in_chain)
{
    const char *at = (const char *)scope->memory + m->offset;

    if (m->flags & VK_MEMBER_OMIT)
        return;
    if (m->rule && !vk_valid(m->rule, scope))
        encode_nothing(e, m);
    else if (m->kind == VK_KIND_CHAIN)
        encode_chain(e, in_chain ? NULL : *(const struct chain_head *const *)at, scope);
    else if (m->form == VK_FORM_ONE)
        encode_value(e, m, siblings, at, scope);
    else if (m->form == VK_FORM_ARRAY)
        encode_array(e, m, siblings, at, scope);
    else
        encode_pointer(e, m, siblings, *(const void *const *)at, scope);
}

/* `choice`: of a union, 1 + place of the member that is there. */
static void encode_struct(struct vk_encoder *e, const struct vk_struct *type, const void *memory,
                          const struct vk_scope *up, bool in_chain, uint32_t choice)
{
    const struct vk_member *members = &vk_members[type->first];
    struct vk_scope scope = {.type = type, .memory = memory, .up = up};

    if (!enter(e))
        ;
    else if (type->flags & VK_STRUCT_UNION) {
        sbt_out_varint(&e->out, choice);
        if (choice)
            encode_member(e, &members[choice - 1], members, &scope, false);
    } else {
        for (uint32_t i = 0; i < type->member_count && !e->out.overflow; i++)
            encode_member(e, &members[i], members, &scope, in_chain);
    }
    e->depth--;
}

void vk_encode_struct(struct vk_encoder *e, const struct vk_struct *type, const void *memory,
                      const struct vk_scope *up)
{
    encode_struct(e, type, memory, up, false, type->choose);
}

void vk_encode_argument(struct vk_encoder *e, const struct vk_command *command, uint32_t place,
                        const void *args)
{
    const struct vk_member *arguments = &vk_arguments[command->first], *m = &arguments[place];
    struct vk_scope scope = {.command = command, .memory = args};
    const void *at = *(const void *const *)((const char *)args + m->offset);

    if (!at || (m->rule && !vk_valid(m->rule, &scope)))
        return;
    if (m->list) {
        e->depth++; /* a list is a struct with a list in it */
        encode_member(e, m, arguments, &scope, false);
        e->depth--;
    } else {
        encode_value(e, m, arguments, at, &scope);
    }
}
