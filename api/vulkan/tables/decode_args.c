/* SPDX-License-Identifier: Apache-2.0
 *
 * Records into arguments: slots are places in the schema, which leaves out what is not recorded.
 */
#include "api/vulkan/tables/codec.h"

#include "api/vulkan/tables/field.h"
#include "tracesmith/trace.h"

/* ---- slots
 * ---------------------------------------------------------------------------------------- */

static bool put_handle(struct vk_decoder *d, const struct vk_member *m, uint32_t type, uint64_t id,
                       void *at)
{
    uint64_t raw = id;

    if (!id && d->strict && !d->output)
        return m->rule || (m->flags & VK_MEMBER_OPTIONAL);
    if (!id || d->output)
        return true;
    if (d->handle && !d->handle(d->user, type, id, &raw))
        return false;
    vk_store(at, 8, raw);
    return true;
}

/* The scalars before an OBJECT are there: its type is one of them. */
static bool put_scalar(struct vk_decoder *d, const struct vk_member *m,
                       const struct vk_member *siblings, const void *args, void *at, uint64_t slot)
{
    switch (m->kind) {
    case VK_KIND_HANDLE:
        return put_handle(d, m, m->type, slot, at);
    case VK_KIND_OBJECT:
        return put_handle(d, m, vk_object_of((uint32_t)vk_sibling(siblings, m->count, args)), slot,
                          at);
    case VK_KIND_ADDRESS:
        vk_store(at, 8, slot && d->address ? d->address(d->user, slot) : slot);
        return true;
    case VK_KIND_POINTER:
    case VK_KIND_FUNCTION:
        vk_store(at, 8,
                 slot && d->host && m->kind == VK_KIND_POINTER && !d->output
                     ? (uint64_t)(uintptr_t)d->host(d->user, NULL, slot)
                     : 0);
        return true;
    default:
        vk_store(at, vk_value_size(m), slot);
        return true;
    }
}

static bool decode_slot(struct vk_decoder *d, const struct vk_member *m,
                        const struct vk_member *siblings, void *args, uint64_t slot)
{
    void *at = (uint8_t *)args + m->offset;

    if (m->form != VK_FORM_ONE) {
        void *room = vk_arena_take(d->arena, 16);
        if (!room)
            return false;
        memcpy(at, &room, sizeof(room));
        at = room;
    }
    return put_scalar(d, m, siblings, args, at, slot);
}

/* ---- texts and bytes
 * -------------------------------------------------------------------------------- */

static bool decode_data(struct vk_decoder *d, const struct vk_member *m,
                        const struct vk_member *siblings, const struct vk_record_source *source,
                        uint32_t slot, void *args)
{
    const void *data = NULL;
    const uint8_t *bytes;
    uint64_t wanted = 0;
    size_t size = 0;
    void *copy = NULL;

    if (m->kind == VK_KIND_CHAR) {
        data = source->text && source->record->slots[slot]
                   ? source->text(source->user, (uint32_t)source->record->slots[slot])
                   : NULL;
        size = data ? strlen(data) : 0;
    } else {
        wanted = vk_member_count(m, siblings, args);
        if (!(m->flags & VK_MEMBER_OUT) && !sbt_record_bytes(source->record, slot, &bytes, &size))
            return false;
        data = size ? bytes : NULL;
        if (size && size != wanted)
            return false; /* readers of these bytes trust the count argument */
    }
    if (data || (m->flags & VK_MEMBER_OUT)) {
        copy = vk_arena_take(d->arena, (wanted > size ? wanted : size) + 1);
        if (!copy)
            return false;
    }
    if (data)
        memcpy(copy, data, size);
    memcpy((uint8_t *)args + m->offset, &copy, sizeof(copy));
    return true;
}

/* ---- records
 * ---------------------------------------------------------------------------------------- */

/* Nobody is to be called with a null pointer that a damaged file says. */
static bool may_be_null(const struct vk_member *siblings, uint32_t place, const void *args)
{
    const struct vk_member *m = &siblings[place];

    return (m->flags & VK_MEMBER_OPTIONAL) || m->rule || vk_member_count(m, siblings, args) == 0;
}

static bool decode_value(struct vk_decoder *d, const struct vk_command *command, uint32_t place,
                         const struct vk_record_source *source, uint32_t slot, void *args)
{
    const uint8_t *data;
    size_t size;
    int there = source->value(source->user, slot, &data, &size);

    if (there <= 0)
        return there == 0 && may_be_null(&vk_arguments[command->first], place, args);
    d->in = tsm_view_init(data, size);
    return vk_decode_argument(d, command, place, args);
}

static bool decode_field(struct vk_decoder *d, const struct vk_command *command, uint32_t place,
                         const struct vk_record_source *source, uint32_t slot, void *args)
{
    const struct vk_member *siblings = &vk_arguments[command->first], *m = &siblings[place];

    d->output = m->flags & VK_MEMBER_OUT;
    d->depth = 0;
    switch (vk_field_of(m)) {
    case VK_FIELD_SLOT:
        return decode_slot(d, m, siblings, args, source->record->slots[slot]);
    case VK_FIELD_DATA:
        return decode_data(d, m, siblings, source, slot, args);
    case VK_FIELD_STRUCT:
        return decode_value(d, command, place, source, slot, args);
    default:
        return true;
    }
}

/* Decodes in two rounds: values need their count arguments, which may come later. */
bool vk_decode_args(struct vk_decoder *d, const struct vk_command *command,
                    const struct vk_record_source *source, void *args)
{
    const struct vk_member *members = &vk_arguments[command->first];

    memset(args, 0, command->args_size);
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0, slot = 0; i < command->argument_count; i++) {
            enum vk_field field = vk_field_of(&members[i]);
            if (field == VK_FIELD_NONE)
                continue;
            if (slot >= source->record->slot_count)
                return false;
            if ((field == VK_FIELD_SLOT) == (round == 0) &&
                !decode_field(d, command, i, source, slot, args))
                return false;
            slot++;
        }
    return true;
}

/* ---- what was made
 * ------------------------------------------------------------------------------------ */

/* A list of handles is nothing but their ids. */
static bool each_in_list(const struct vk_record_source *source, const struct vk_member *m,
                         uint32_t slot, const uint64_t *raw, uint64_t count,
                         bool (*made)(void *, uint32_t, uint64_t, uint64_t))
{
    const uint8_t *data;
    size_t size;
    struct tsm_view in = tsm_view_init("", 0);
    bool ok = true;

    if (!raw)
        return true;
    if (source->value(source->user, slot, &data, &size) > 0) {
        in = tsm_view_init(data, size);
        ok = tsm_view_varint(&in) == count + 1;
    }
    for (uint64_t i = 0; i < count; i++) {
        uint64_t id = ok && in.at < in.end ? tsm_view_varint(&in) : 0;
        ok &= !in.failed;
        ok &= made(source->user, m->type, in.failed ? 0 : id, raw[i]);
    }
    return ok;
}

static bool made_by(const struct vk_command *command, const struct vk_record_source *source,
                    const struct vk_member *m, uint32_t slot, const void *args,
                    bool (*made)(void *, uint32_t, uint64_t, uint64_t))
{
    const struct vk_member *siblings = &vk_arguments[command->first];
    const uint64_t *raw = *(const uint64_t *const *)(const void *)((const char *)args + m->offset);

    if (m->list)
        return each_in_list(source, m, slot, raw, vk_member_count(m, siblings, args), made);
    return !raw || made(source->user, m->type, source->record->slots[slot], *raw);
}

bool vk_each_created(const struct vk_command *command, const struct vk_record_source *source,
                     const void *args,
                     bool (*made)(void *user, uint32_t object_type, uint64_t id, uint64_t raw))
{
    const struct vk_member *members = &vk_arguments[command->first];

    bool ok = true;

    for (uint32_t i = 0, slot = 0; i < command->argument_count; i++) {
        const struct vk_member *m = &members[i];
        if (vk_field_of(m) == VK_FIELD_NONE)
            continue;
        if (slot >= source->record->slot_count)
            return false;
        if (m->kind == VK_KIND_HANDLE && (m->flags & VK_MEMBER_OUT) && m->form != VK_FORM_ONE)
            ok &= made_by(command, source, m, slot, args, made);
        slot++;
    }
    return ok;
}
