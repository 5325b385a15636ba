/* SPDX-License-Identifier: Apache-2.0
 *
 * A record's fields, by the tables. See vulkan_describe.c for what its schema says of them.
 */
#include "api/vulkan/vulkan_codec.h"
#include "api/vulkan/vulkan_field.h"
#include "api/vulkan/vulkan_source.h"
#include "base/text.h"

/* Most structs fit; others are encoded twice. */
#define FIRST_ROOM 4096u

struct recording {
    struct tsm_call *call;
    const struct vk_command *command;
    const void *args;
    bool ok;
    uint8_t *room; /* of what is not encoded yet; lives until commit */
    uint64_t left;
};

/* ---- ids --------------------------------------------------------------------------------------
 */

static uint64_t id_used(void *user, uint32_t type, uint64_t raw)
{
    return tsm_handle_id(SBT_API_VULKAN, type, raw);
}

static uint64_t id_new(void *user, uint32_t type, uint64_t raw)
{
    return tsm_handle_add(SBT_API_VULKAN, type, raw)->id;
}

static uint64_t id_shared(void *user, uint32_t type, uint64_t raw)
{
    const struct tsm_handle *known = tsm_handle_find(SBT_API_VULKAN, type, raw);

    return known ? known->id : id_new(user, type, raw);
}

/* Forgotten before the driver can give its value to another thread. */
static uint64_t id_removed(void *user, uint32_t type, uint64_t raw)
{
    tsm_handle_remove(SBT_API_VULKAN, type, raw);
    return 0;
}

typedef uint64_t id_function(void *, uint32_t, uint64_t);

static id_function *ids_for(const struct recording *r, const struct vk_member *m)
{
    if ((m->flags & VK_MEMBER_OUT) && (r->command->flags & VK_COMMAND_IS_SHARED))
        return id_shared;
    if ((m->flags & VK_MEMBER_OUT) && r->command->kind == SBT_KIND_CREATE)
        return id_new;
    return id_used;
}

static bool is_gone(const struct recording *r, const struct vk_member *m)
{
    return r->command->kind == SBT_KIND_DESTROY && m->kind == VK_KIND_HANDLE &&
           (m->role == SBT_ROLE_OBJECT || m->form == VK_FORM_POINTER);
}

/* ---- structs and lists --------------------------------------------------------------------------
 */

static void note_unknown(const struct vk_encoder *e)
{
    char text[64];

    tsm_format(text, sizeof(text), "VkStructureType %d in a pNext chain", e->unknown_stype);
    tsm_session_unmodelled(text, true);
}

static void encode(const struct recording *r, struct vk_encoder *e, uint32_t place, void *memory,
                   uint64_t room, id_function *ids)
{
    vk_encoder_init(e, memory, room);
    e->handle = ids;
    vk_encode_argument(e, r->command, place, r->args);
}

/* Until capture has tsm_call_struct(): the byte before the value is ours. */
static void call_struct(struct tsm_call *call, uint8_t *value, uint64_t size)
{
    if (value)
        value[-1] = 0;
    tsm_call_bytes(call, value ? value - 1 : NULL, value ? size + 1 : 0);
}

static void put_struct(struct recording *r, uint32_t place)
{
    const struct vk_member *m = &vk_arguments[r->command->first + place];
    uint8_t *value = r->room + 1;
    struct vk_encoder e, again;

    encode(r, &e, place, value, r->left ? r->left - 1 : 0, ids_for(r, m));
    if (e.unknown)
        note_unknown(&e);
    if (!e.failed && e.size >= r->left) {
        value = tsm_call_scratch(r->call, e.size + 1);
        value = value ? value + 1 : NULL;
        /* The first time has made the handles: now they are looked up. */
        encode(r, &e, place, value, value ? e.size : 0, id_used);
    } else {
        r->room += e.failed ? 0 : e.size + 1;
        r->left -= e.failed ? 0 : e.size + 1;
    }
    if (is_gone(r, m))
        encode(r, &again, place, NULL, 0, id_removed);
    if (e.failed || !value) {
        tsm_call_flag(r->call, SBT_RECORD_TRUNCATED);
        e.size = 0;
    }
    call_struct(r->call, e.size ? value : NULL, e.size);
}

/* ---- slots
 * --------------------------------------------------------------------------------------- */

static uint64_t slot_of(const struct recording *r, const struct vk_member *m, const void *at)
{
    size_t size = vk_value_size(m);
    uint64_t raw = vk_load(at, size);

    switch (m->kind) {
    case VK_KIND_I8:
    case VK_KIND_I16:
    case VK_KIND_I32:
    case VK_KIND_ENUM:
        return (uint64_t)((int64_t)(raw << (64 - 8 * size)) >> (64 - 8 * size));
    case VK_KIND_HANDLE: {
        uint64_t id = raw ? ids_for(r, m)(NULL, m->type, raw) : 0;
        if (raw && is_gone(r, m))
            id_removed(NULL, m->type, raw);
        return id;
    }
    case VK_KIND_OBJECT: {
        const struct vk_member *siblings = &vk_arguments[r->command->first];
        uint32_t type = vk_object_of((uint32_t)vk_sibling(siblings, m->count, r->args));
        return raw && type ? id_used(NULL, type, raw) : 0;
    }
    default:
        return raw;
    }
}

static void put_bytes(struct recording *r, const struct vk_member *m, const void *data)
{
    const struct vk_member *siblings = &vk_arguments[r->command->first];
    uint64_t size = data ? vk_member_count(m, siblings, r->args) : 0;

    if (m->kind == VK_KIND_CHAR)
        tsm_call_string(r->call, data);
    else
        tsm_call_bytes(r->call, size ? data : NULL, size);
}

static void put_field(struct recording *r, uint32_t place)
{
    const struct vk_member *m = &vk_arguments[r->command->first + place];
    struct vk_scope scope = {.command = r->command, .memory = r->args};
    const char *at = (const char *)r->args + m->offset;
    bool there = (r->ok || !(m->flags & VK_MEMBER_OUT)) && (!m->rule || vk_valid(m->rule, &scope));
    const void *pointer = m->form == VK_FORM_ONE ? at : there ? *(const void *const *)at : NULL;

    switch (vk_field_of(m)) {
    case VK_FIELD_NONE:
        break;
    case VK_FIELD_STRUCT:
        if (pointer)
            put_struct(r, place);
        else
            tsm_call_slot(r->call, 0);
        break;
    case VK_FIELD_DATA:
        put_bytes(r, m, pointer);
        break;
    case VK_FIELD_SLOT:
        tsm_call_slot(r->call, pointer && there ? slot_of(r, m, pointer) : 0);
        break;
    }
}

void vk_record(struct tsm_call *call, uint32_t command, const void *args, bool ok)
{
    struct recording r = {.call = call, .command = &vk_commands[command], .args = args};

    r.ok = ok || (r.command->flags & VK_COMMAND_IS_PARTIAL);
    r.room = tsm_call_scratch(call, FIRST_ROOM);
    r.left = r.room ? FIRST_ROOM : 0;
    for (uint32_t i = 0; i < r.command->argument_count; i++)
        put_field(&r, i);
}
