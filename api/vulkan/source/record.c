/* SPDX-License-Identifier: Apache-2.0
 *
 * A record's fields, by the tables. See api/vulkan/tables/describe.c for what its schema says of
 * them.
 */
#include "api/vulkan/source/source.h"
#include "api/vulkan/tables/codec.h"
#include "api/vulkan/tables/field.h"
#include "base/text.h"

/* Most structs fit. */
#define FIRST_ROOM 4096u

__thread struct vk_last_buffer vk_last_buffer __attribute__((tls_model("initial-exec")));
_Atomic uint64_t vk_buffer_generation;

struct recording {
    struct tsm_call *call;
    const struct vk_command *command;
    const void *args;
    bool ok;
    uint8_t *room, *room_end; /* for what is not encoded yet; lives until commit */
};

/* ---- ids --------------------------------------------------------------------------------------
 */

/* Returns the id of a handle. If recording has ended during the call, nothing has an id any
 * more. */
static uint64_t id_used(void *user, uint32_t type, uint64_t raw)
{
    const struct recording *r = user;
    uint64_t id = tsm_handle_id(SBT_API_VULKAN, type, raw);

    if (!id && raw && r)
        tsm_call_flag(r->call, SBT_RECORD_UNFINISHED);
    return id;
}

static void buffer_changed(uint32_t type)
{
    if (type == VK_OBJECT_VkCommandBuffer)
        atomic_fetch_add_explicit(&vk_buffer_generation, 1, memory_order_release);
}

/* Objects that are equal may share a handle, which is destroyed once for each (3.3, "Object
 * Model"). What ends with its pool or swapchain is not destroyed by itself: its value comes again,
 * and means the new one. So it is with what is dispatchable, whose values are unique. */
static bool ends_alone(uint32_t type)
{
    switch (type) {
    case VK_OBJECT_VkInstance:
    case VK_OBJECT_VkPhysicalDevice:
    case VK_OBJECT_VkDevice:
    case VK_OBJECT_VkQueue:
    case VK_OBJECT_VkCommandBuffer:
    case VK_OBJECT_VkDescriptorSet:
    case VK_OBJECT_VkImage:
    case VK_OBJECT_VkDeviceMemory:
        return false;
    default:
        return true;
    }
}

/* Returns the device or instance that creates the object, and destroys it with itself. */
static uint32_t owner_of(const struct recording *r)
{
    const struct vk_member *first = &vk_arguments[r->command->first];
    uint64_t raw = vk_load((const char *)r->args + first->offset, sizeof(raw));

    return (uint32_t)vk_id(first->type, raw);
}

static uint64_t id_new(void *user, uint32_t type, uint64_t raw)
{
    buffer_changed(type);
    return ends_alone(type) ? tsm_handle_add_again(SBT_API_VULKAN, type, raw, owner_of(user))->id
                            : tsm_handle_add(SBT_API_VULKAN, type, raw)->id;
}

static uint64_t id_shared(void *user, uint32_t type, uint64_t raw)
{
    const struct tsm_handle *known = tsm_handle_find(SBT_API_VULKAN, type, raw);

    return known ? known->id : id_new(user, type, raw);
}

/* Forgotten before the driver can give its value to another thread. */
static uint64_t id_gone(void *user, uint32_t type, uint64_t raw)
{
    uint64_t id = tsm_handle_remove(SBT_API_VULKAN, type, raw);

    if (!id && raw) { /* from before capture */
        id = id_used(user, type, raw);
        tsm_handle_remove(SBT_API_VULKAN, type, raw);
    }
    buffer_changed(type);
    return id;
}

typedef uint64_t id_function(void *, uint32_t, uint64_t);

static id_function *ids_for(const struct recording *r, const struct vk_member *m)
{
    if ((m->flags & VK_MEMBER_OUT) && (r->command->flags & VK_COMMAND_IS_SHARED))
        return id_shared;
    if ((m->flags & VK_MEMBER_OUT) && r->command->kind == SBT_KIND_CREATE)
        return id_new;
    if (r->command->kind == SBT_KIND_DESTROY && m->kind == VK_KIND_HANDLE &&
        (m->role == SBT_ROLE_OBJECT || m->form == VK_FORM_POINTER))
        return id_gone;
    return id_used;
}

/* ---- structs and lists --------------------------------------------------------------------------
 */

/* A query changes nothing. What is switched on when an instance or device is made does nothing by
 * itself: it takes other structs or commands, which are noted when they come. */
static bool matters(const struct vk_command *command)
{
    return command->kind != SBT_KIND_QUERY && command->id != (TYPE_vkCreateDevice & 0xffff) &&
           command->id != (TYPE_vkCreateInstance & 0xffff);
}

/* Some programs try whether strangers are skipped: no driver can know this one either. */
static bool is_nobodys(const struct vk_encoder *e)
{
    return e->unknown_stype == VK_STYPE_NOBODYS;
}

static void note_unknown(const struct recording *r, const struct vk_encoder *e)
{
    char text[64];

    tsm_format(text, sizeof(text), "VkStructureType %d in a pNext chain", e->unknown_stype);
    tsm_session_unmodelled(text, matters(r->command) && !is_nobodys(e));
}

/* More room, from the call's scratch memory. */
static bool grow(struct sbt_out *out, size_t size)
{
    struct recording *r = out->user;
    size_t used = sbt_out_size(out), wanted = 2 * (used + size);
    uint8_t *memory = tsm_call_scratch(r->call, wanted);

    if (!memory)
        return false;
    if (used)
        memcpy(memory, out->start, used);
    out->start = memory;
    out->at = memory + used;
    out->end = memory + wanted;
    return true;
}

static void put_struct(struct recording *r, uint32_t place)
{
    const struct vk_member *m = &vk_arguments[r->command->first + place];
    struct vk_encoder e;
    size_t size;

    vk_encoder_init(&e, r->room, (size_t)(r->room_end - r->room));
    e.out.grow = grow;
    e.out.user = r;
    e.handle = ids_for(r, m);
    e.user = r;
    vk_encode_argument(&e, r->command, place, r->args);
    size = sbt_out_size(&e.out);
    if (e.unknown)
        note_unknown(r, &e);
    if (e.out.overflow)
        tsm_call_flag(r->call, SBT_RECORD_TRUNCATED);
    tsm_call_struct(r->call, e.out.overflow || !size ? NULL : e.out.start, size);
    r->room = e.out.at;
    r->room_end = e.out.end;
}

/* ---- slots ---------------------------------------------------------------------------------- */

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
    case VK_KIND_HANDLE:
        if (m->type == VK_OBJECT_VkCommandBuffer)
            return vk_buffer_id(r->call, *(const VkCommandBuffer *)at);
        return raw ? ids_for(r, m)((void *)(uintptr_t)r, m->type, raw) : 0;
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
    else if (m->flags & VK_MEMBER_OUT)
        tsm_call_blob(r->call, size ? data : NULL, size);
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
    r.room_end = r.room ? r.room + FIRST_ROOM : NULL;
    for (uint32_t i = 0; i < r.command->argument_count; i++)
        put_field(&r, i);
}
