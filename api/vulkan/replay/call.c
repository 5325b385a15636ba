/* SPDX-License-Identifier: Apache-2.0
 *
 * One call: decodes its arguments with the handles of now, gives them to the driver, and registers
 * the objects that the driver created under their recorded ids.
 */
#include "api/vulkan/replay/call.h"

#include <stdlib.h>
#include <string.h>

#include "api/vulkan/replay/device.h"
#include "api/vulkan/replay/loader.h"
#include "api/vulkan/replay/memory/address.h"
#include "api/vulkan/replay/object.h"
#include "api/vulkan/replay/recorded_device.h"
#include "api/vulkan/replay/replay.h"
#include "api/vulkan/replay/state/tracker.h"
#include "api/vulkan/replay/stream.h"
#include "base/array.h"

/* ---- what the decoder asks --------------------------------------------------------------- */

static bool find_physical(struct vkr_call *c, uint64_t id, uint64_t *raw)
{
    const struct vkr_object *o = vkr_object_find(c->r, VK_OBJECT_VkPhysicalDevice, id);
    const struct vkr_instance *instance = o ? o->instance : NULL;
    uint32_t place = vkr_physical_device_index(c->r, id);

    for (struct vkr_object *i = c->r->objects.first; i && !instance; i = i->next)
        if (i->type == VK_OBJECT_VkInstance)
            instance = i->instance;
    if (!instance || place >= instance->physical_count)
        return false;
    *raw = VKR_RAW(instance->physicals[place]);
    return true;
}

static bool find_handle(void *user, uint32_t type, uint64_t id, uint64_t *raw)
{
    struct vkr_call *c = user;
    const struct vkr_object *o;

    if (c->is_planned)
        return true;
    if (type == VK_OBJECT_VkPhysicalDevice && find_physical(c, id, raw))
        return true;
    o = vkr_object_find(c->r, type, id);
    if (!o && !c->missing_type) {
        c->missing_type = type;
        c->missing_id = id;
    }
    if (!o)
        return false;
    c->is_window |= o->is_window;
    *raw = o->raw;
    return true;
}

static uint64_t find_address(void *user, uint64_t recorded)
{
    const struct vkr_call *c = user;

    return c->is_planned ? recorded : vkr_address_translate(c->r, recorded);
}

/* The hook puts memory of ours in its place; until then it is not there. */
static void *find_host(void *user, const struct vk_struct *type, uint64_t recorded)
{
    struct vkr_call *c = user;

    if (type && type->stype == VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT)
        c->host_address = recorded;
    return NULL;
}

/* Structs with functions of the program; what belongs to layers that are not here. */
static bool is_wanted(void *user, const struct vk_struct *type)
{
    for (uint32_t i = 0; i < type->member_count; i++)
        if (vk_members[type->first + i].kind == VK_KIND_FUNCTION)
            return false;
    return type->stype != VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT &&
           type->stype != VK_STRUCTURE_TYPE_VALIDATION_FLAGS_EXT;
}

static int find_value(void *user, uint32_t index, const uint8_t **data, size_t *size)
{
    struct vkr_call *c = user;
    struct sbt_value *value;
    int there;

    if (!TSM_ARRAY_RESIZE(c->values, c->value_count + 1))
        return TSM_E_MEMORY;
    value = &c->values[c->value_count++];
    memset(value, 0, sizeof(*value));
    there = sbt_reader_value(c->r->reader, c->record, index, value);
    *data = value->data;
    *size = value->size;
    return there;
}

static const char *find_text(void *user, uint32_t id)
{
    const struct vkr_call *c = user;

    return sbt_reader_string(c->r->reader, id);
}

/* ---- begin and end ----------------------------------------------------------------------- */

/* The first argument of every command but a few of the loader's. */
static struct vkr_object *find_owner(const struct vkr_call *c)
{
    const struct vk_member *m = &vk_arguments[c->command->first];

    if (!c->command->argument_count || m->kind != VK_KIND_HANDLE || m->form != VK_FORM_ONE ||
        !c->record->slot_count)
        return NULL;
    return vkr_object_find(c->r, m->type, c->record->slots[0]);
}

static int fail_decode(const struct vkr_call *c)
{
    if (c->missing_type)
        return tsm_fail(TSM_E_FORMAT, "names %s #%llu, which was not made, or is gone",
                        vk_name(vk_objects[c->missing_type]), (unsigned long long)c->missing_id);
    return tsm_fail(TSM_E_FORMAT, "its arguments are malformed");
}

int vkr_call_begin(struct vkr_call *c, struct vkr *r, const struct sbt_record *record,
                   struct vk_arena *arena, bool is_planned)
{
    memset(c, 0, offsetof(struct vkr_call, args));
    c->r = r;
    c->record = record;
    c->is_planned = is_planned;
    c->command = SBT_TYPE_API(record->type) == SBT_API_VULKAN
                     ? vk_command_of(SBT_TYPE_CALL(record->type))
                     : NULL;
    if (!c->command || c->command->args_size > VKR_ARGS_SIZE)
        return 0;
    c->place = (uint32_t)(c->command - vk_commands);
    c->source = (struct vk_record_source){record, find_value, find_text, c};
    vk_decoder_init(&c->decoder, arena, NULL, 0);
    c->decoder.handle = find_handle;
    c->decoder.address = find_address;
    c->decoder.host = find_host;
    c->decoder.wanted = is_wanted;
    c->decoder.user = c;
    c->decoder.strict = true;
    if (!is_planned)
        c->owner = find_owner(c);
    return vk_decode_args(&c->decoder, c->command, &c->source, c->args) ? 1 : fail_decode(c);
}

void vkr_call_finish(struct vkr_call *c)
{
    for (uint32_t i = 0; i < c->value_count; i++)
        sbt_value_finish(&c->values[i]);
    free(c->values);
    c->values = NULL;
    c->value_count = 0;
}

void *vkr_call_take(struct vkr_call *c, uint64_t size)
{
    return vk_arena_take(c->decoder.arena, size);
}

/* ---- objects created and destroyed ------------------------------------------------------- */

/* Returns the pool that takes the object with it. */
static struct vkr_object *find_parent(const struct vkr_call *c)
{
    const struct vk_args_vkAllocateCommandBuffers *buffers = (const void *)c->args;
    const struct vk_args_vkAllocateDescriptorSets *sets = (const void *)c->args;
    uint64_t raw = 0;
    uint32_t type = 0;

    if (c->record->type == TYPE_vkAllocateCommandBuffers) {
        raw = VKR_RAW(buffers->pAllocateInfo->commandPool);
        type = VK_OBJECT_VkCommandPool;
    } else if (c->record->type == TYPE_vkAllocateDescriptorSets) {
        raw = VKR_RAW(sets->pAllocateInfo->descriptorPool);
        type = VK_OBJECT_VkDescriptorPool;
    }
    return type ? vkr_object_of(c->r, type, raw) : NULL;
}

static bool note_made(void *user, uint32_t type, uint64_t id, uint64_t raw)
{
    struct vkr_call *c = user;
    struct vkr_object *o = raw && id ? vkr_object_add(c->r, type, id, raw) : NULL;

    if (!o) {
        if (raw)
            vkr_object_discard(c->r, type, raw, c->owner ? c->owner->device : NULL);
        return raw == 0 || id == 0;
    }
    o->instance = c->owner ? c->owner->instance : NULL;
    o->device = c->owner ? c->owner->device : NULL;
    vkr_object_set_parent(o, find_parent(c));
    return true;
}

int vkr_call_created(struct vkr_call *c)
{
    if (!vk_each_created(c->command, &c->source, c->args, note_made))
        return tsm_fail(TSM_E_FORMAT, "the objects that it made are malformed");
    return 0;
}

static void remove_listed(struct vkr_call *c, const struct vk_member *m, uint32_t slot)
{
    const uint8_t *data;
    size_t size;
    struct tsm_view in;
    uint64_t count;

    if (find_value(c, slot, &data, &size) <= 0)
        return;
    in = tsm_view_init(data, size);
    count = tsm_view_varint(&in);
    for (uint64_t i = 1; i < count && !in.failed; i++) {
        struct vkr_object *o = vkr_object_find(c->r, m->type, tsm_view_varint(&in));
        if (o)
            vkr_object_remove(c->r, o);
    }
}

/* Removes the objects of a destroying command: its object, or a list of objects. */
void vkr_call_destroyed(struct vkr_call *c)
{
    const struct vk_member *members = &vk_arguments[c->command->first];

    for (uint32_t i = 0, slot = 0; i < c->command->argument_count; i++) {
        const struct vk_member *m = &members[i];
        if (m->flags & VK_MEMBER_OMIT)
            continue;
        if (m->kind == VK_KIND_HANDLE && m->form == VK_FORM_POINTER) {
            remove_listed(c, m, slot);
        } else if (m->kind == VK_KIND_HANDLE && m->role == SBT_ROLE_OBJECT) {
            struct vkr_object *o = vkr_object_find(c->r, m->type, c->record->slots[slot]);
            if (o)
                vkr_object_remove(c->r, o);
        }
        slot++;
    }
}

/* ---- the driver -------------------------------------------------------------------------- */

bool vkr_is_decoration(const struct vk_command *command)
{
    const char *family = vk_name(command->family);

    return strncmp(family, "VK_EXT_debug_", 13) == 0;
}

static int fail_lost(const struct vkr_call *c, int64_t result)
{
    char last[320];

    vkr_describe_last(c->r, last, sizeof(last));
    return tsm_fail(TSM_E_DEVICE, "gave %s%s%s", vkr_result_name(result), *last ? "; " : "", last);
}

static int check_result(const struct vkr_call *c, int64_t result)
{
    if (result == VK_ERROR_EXTENSION_NOT_PRESENT)
        return vkr_is_decoration(c->command)
                   ? 0
                   : tsm_fail(TSM_E_UNSUPPORTED, "this driver has no such function (%s)",
                              vk_name(c->command->family));
    if (!(c->command->schema_flags & SBT_SCHEMA_RESULT_ENUM) || result >= 0)
        return 0;
    if (result == VK_ERROR_DEVICE_LOST)
        return fail_lost(c, result);
    return tsm_fail(TSM_E_DEVICE, "gave %s (%lld) here, and %s when it was recorded",
                    vkr_result_name(result), (long long)result, vkr_result_name(c->record->result));
}

int vkr_call_driver(struct vkr_call *c)
{
    const struct vkr_object *o = c->owner;
    int64_t result;
    int error;

    if (!o || !(o->instance || o->device))
        return tsm_fail(TSM_E_FORMAT, "belongs to no instance or device that is there");
    result = vk_call(o->instance ? &o->instance->dispatch : NULL,
                     o->device ? &o->device->dispatch : NULL, c->place, c->args);
    error = check_result(c, result);
    if (!error && c->command->kind == SBT_KIND_CREATE)
        error = vkr_call_created(c);
    if (!error && c->command->kind == SBT_KIND_DESTROY)
        vkr_call_destroyed(c);
    return error ? error : vkr_state_tracker_note(c);
}
