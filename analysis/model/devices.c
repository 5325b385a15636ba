/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/model/devices.h"

#include "api/traits.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/text.h"
#include "format/json.h"
#include "tracesmith/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CURRENT_MAX 16u  /* entries of a thread's stack; deeper ones are not known */
#define DEVICE_MAX  256u /* what is on others is on a device that is not known */
#define HOST                                                                                       \
    UINT64_MAX /* in place of a place: the host's processor, which the API calls a device */

/* Holds what is current on a thread, the last one on top. Places in `list` + 1, as in the maps. */
struct tsm_device_stack {
    struct {
        uint64_t object, device;
    } list[CURRENT_MAX];
    uint32_t depth; /* may be more than there is room for */
};

/* ---- names --------------------------------------------------------------------------------- */

bool tsm_device_is_same(const struct tsm_device *a, const struct tsm_device *b)
{
    return a->api == b->api && a->number == b->number && a->kind == b->kind &&
           (a->type == b->type || (a->type && b->type && strcmp(a->type, b->type) == 0));
}

const char *tsm_device_name(char out[TSM_DEVICE_NAME_MAX], const struct tsm_device *device)
{
    char space[16];
    const char *api = sbt_api_name(device->api, space);

    if (!device->api)
        return NULL;
    if (device->kind == SBT_FIELD_HANDLE)
        tsm_format(out, TSM_DEVICE_NAME_MAX, "%s %s#%" PRIu64, api, device->type, device->number);
    else if (device->kind == SBT_FIELD_HEX)
        tsm_format(out, TSM_DEVICE_NAME_MAX, "%s 0x%" PRIx64, api, device->number);
    else
        tsm_format(out, TSM_DEVICE_NAME_MAX, "%s %" PRIu64, api, device->number);
    return out;
}

/* ---- types of records -------------------------------------------------------------------------
 */

static int field_named(const struct sbt_schema *schema, const char *name)
{
    for (uint32_t i = 0; i < schema->field_count; i++)
        if (strcmp(schema->fields[i].name, name) == 0)
            return (int)i;
    return -1;
}

static uint32_t object_traits(const struct sbt_schema *schema, int field)
{
    return field >= 0 && schema->fields[field].type == SBT_FIELD_HANDLE
               ? tsm_object_traits(schema->fields[field].detail)
               : 0;
}

/* Handles that lead to a device, and the first one that can be current. */
static void find_handles(struct tsm_type_device *type, const struct sbt_schema *schema)
{
    for (uint32_t i = 0; i < schema->field_count && i < 64; i++) {
        const uint32_t traits = object_traits(schema, (int)i);

        if (traits & (TSM_OBJECT_GROUND | TSM_OBJECT_DEVICE))
            type->lead |= (uint64_t)1 << i;
        if (traits & TSM_OBJECT_CONTEXT && type->context < 0)
            type->context = (int)i;
        if (schema->fields[i].type == SBT_FIELD_ENUM && type->sort < 0)
            type->sort = (int)i;
    }
}

struct tsm_type_device tsm_type_device_of(const struct sbt_schema *schema)
{
    const uint32_t wanted = TSM_TRAIT_DEVICE | TSM_TRAIT_ENTERS | TSM_TRAIT_LEAVES;
    struct tsm_type_device type = {
        .device = -1, .made = -1, .gone = -1, .context = -1, .stream_made = -1, .sort = -1};
    struct tsm_call_traits call;
    int object;

    if (!schema)
        return type;
    call = tsm_call_traits(schema);
    object = sbt_schema_role(schema, SBT_ROLE_OBJECT);
    find_handles(&type, schema);
    type.traits = call.traits & wanted;
    if (type.traits & TSM_TRAIT_DEVICE)
        type.device = field_named(schema, call.target);
    if (object_traits(schema, object) & (TSM_OBJECT_GROUND | TSM_OBJECT_DEVICE)) {
        type.made = schema->kind == SBT_KIND_CREATE || schema->kind == SBT_KIND_INIT ? object : -1;
        type.gone = schema->kind == SBT_KIND_DESTROY ? object : -1;
    }
    if (type.made < 0 || !(object_traits(schema, object) & TSM_OBJECT_DEVICE))
        type.sort = -1;
    type.stream_made = sbt_schema_role(schema, SBT_ROLE_STREAM_MADE);
    type.is_concerned =
        type.traits || type.made >= 0 || type.gone >= 0 || type.stream_made >= 0 || type.lead;
    return type;
}

/* ---- what is known ----------------------------------------------------------------------------
 */

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "out of memory for devices");
}

static uint64_t slot_of(const struct sbt_record *record, int field)
{
    return field >= 0 && (uint32_t)field < record->slot_count ? record->slots[field] : 0;
}

/* Returns the key of the object that a field names; 0: none. */
static uint64_t object_of(const struct sbt_record *record, const struct sbt_schema *schema,
                          int field)
{
    const uint64_t id = slot_of(record, field);
    const char *type = id ? schema->fields[field].detail : "";
    const uint64_t parts[] = {SBT_TYPE_API(record->type), tsm_hash64(type, strlen(type)), id};

    return id ? tsm_hash64(parts, sizeof(parts)) : 0;
}

uint64_t tsm_devices_key(const struct sbt_record *record, const struct sbt_schema *schema,
                         int field)
{
    return object_of(record, schema, field);
}

/* Finds the place + 1 of a device that the list has from now on; 0: there are too many. */
static int place_of(struct tsm_devices *d, uint64_t *out, const struct tsm_device *device)
{
    *out = 0;
    for (size_t i = 0; i < d->count; i++)
        if (tsm_device_is_same(&d->list[i], device))
            *out = i + 1;
    if (*out || d->count == DEVICE_MAX)
        return 0;
    if (!TSM_ARRAY_PUSH(d->list, d->count, d->capacity, *device))
        return no_memory();
    *out = d->count;
    return 0;
}

static int place_named(struct tsm_devices *d, uint64_t *out, const struct sbt_record *record,
                       const struct sbt_schema *schema, int field)
{
    const struct tsm_device device = {.api = SBT_TYPE_API(record->type),
                                      .kind = schema->fields[field].type,
                                      .type = schema->fields[field].type == SBT_FIELD_HANDLE
                                                  ? schema->fields[field].detail
                                                  : NULL,
                                      .number = slot_of(record, field)};

    return place_of(d, out, &device);
}

/* Finds the device that a handle leads to: what its object was made on, else, if it is a device,
 * itself. Leaves *out where it leads to none. */
static int place_led_to(struct tsm_devices *d, uint64_t *out, const struct sbt_record *record,
                        const struct sbt_schema *schema, int field)
{
    const uint64_t known = tsm_map_get(&d->objects, object_of(record, schema, field), 0);

    if (known)
        *out = known == HOST ? 0 : known;
    else if (slot_of(record, field) && object_traits(schema, field) & TSM_OBJECT_DEVICE)
        return place_named(d, out, record, schema, field);
    return 0;
}

static struct tsm_device_stack *stack_of(const struct tsm_devices *d, uint32_t thread)
{
    const uint64_t place = tsm_map_get(&d->threads, thread, 0);

    return place ? &d->current[place - 1] : NULL;
}

static uint64_t current_device(const struct tsm_devices *d, const struct sbt_record *record)
{
    const struct tsm_device_stack *s = stack_of(d, record->thread);
    const uint64_t place =
        s && s->depth && s->depth <= CURRENT_MAX ? s->list[s->depth - 1].device : 0;

    return place && d->list[place - 1].api == SBT_TYPE_API(record->type) ? place : 0;
}

/* Returns bits of fields that lead to a device, but for the one that the record makes. */
static uint64_t other_leads(const struct tsm_type_device *type)
{
    return type->made >= 0 && type->made < 64 ? type->lead & ~((uint64_t)1 << type->made)
                                              : type->lead;
}

/* Finds the device of what a record makes or sends; 0: not known. */
static int find_device(struct tsm_devices *d, uint64_t *out, const struct sbt_record *record,
                       const struct sbt_schema *schema, const struct tsm_type_device *type)
{
    uint64_t lead = other_leads(type);
    int error = 0;

    *out = type->made < 0 && type->stream_made < 0 ? current_device(d, record) : 0;
    if (*out)
        return 0;
    if (type->device >= 0 && schema->fields[type->device].type != SBT_FIELD_HANDLE)
        return place_named(d, out, record, schema, type->device);
    for (int i = 0; lead && !*out && !error; i++, lead >>= 1)
        if (lead & 1)
            error = place_led_to(d, out, record, schema, i);
    if (!error && !*out)
        *out = current_device(d, record);
    return error;
}

/* ---- what is current --------------------------------------------------------------------------
 */

static struct tsm_device_stack *stack_or_new(struct tsm_devices *d, uint32_t thread)
{
    struct tsm_device_stack *found = stack_of(d, thread);

    if (found)
        return found;
    if (!TSM_ARRAY_PUSH(d->current, d->current_count, d->current_capacity,
                        (struct tsm_device_stack){.depth = 0}))
        return NULL;
    return tsm_map_set(&d->threads, thread, d->current_count) ? &d->current[d->current_count - 1]
                                                              : NULL;
}

static int enter(struct tsm_devices *d, uint32_t thread, uint64_t object)
{
    struct tsm_device_stack *s = stack_or_new(d, thread);

    if (!s)
        return no_memory();
    if (s->depth < CURRENT_MAX) {
        s->list[s->depth].object = object;
        s->list[s->depth].device = tsm_map_get(&d->objects, object, 0);
    }
    s->depth++;
    return 0;
}

static void leave(struct tsm_devices *d, uint32_t thread)
{
    struct tsm_device_stack *s = stack_of(d, thread);

    if (s && s->depth)
        s->depth--;
}

/* An object that is destroyed while it is current on the thread is so no longer. */
static void forget(struct tsm_devices *d, uint32_t thread, uint64_t object)
{
    const struct tsm_device_stack *s = stack_of(d, thread);

    if (s && s->depth && s->depth <= CURRENT_MAX && s->list[s->depth - 1].object == object)
        leave(d, thread);
    tsm_map_remove(&d->objects, object);
}

static int change_current(struct tsm_devices *d, const struct sbt_record *record,
                          const struct sbt_schema *schema, const struct tsm_type_device *type)
{
    const uint64_t object = object_of(record, schema, type->context);

    if (type->traits & TSM_TRAIT_LEAVES)
        leave(d, record->thread);
    return type->traits & TSM_TRAIT_ENTERS && object ? enter(d, record->thread, object) : 0;
}

/* ---- records -----------------------------------------------------------------------------------
 */

/* Tests whether a record that makes a device says that it is the host's processor. */
static bool is_host(struct sbt_reader *reader, const struct sbt_record *record,
                    const struct sbt_schema *schema, const struct tsm_type_device *type)
{
    const struct sbt_enum *table = reader && type->sort >= 0
                                       ? sbt_reader_enum(reader, schema->fields[type->sort].detail)
                                       : NULL;
    const int64_t sort = (int64_t)slot_of(record, type->sort);

    for (uint32_t i = 0; table && i < table->value_count; i++) {
        const size_t size = strlen(table->values[i].name);

        if (table->values[i].value == sort && size > 4 &&
            strcmp(table->values[i].name + size - 4, "_CPU") == 0)
            return true;
    }
    return false;
}

/* Returns the key of the first object that a record names beside the one that it makes; 0: none. */
static uint64_t named_object(const struct sbt_record *record, const struct sbt_schema *schema,
                             const struct tsm_type_device *type)
{
    uint64_t lead = other_leads(type), found = 0;

    for (int i = 0; lead && !found; i++, lead >>= 1)
        if (lead & 1)
            found = object_of(record, schema, i);
    return found;
}

static uint64_t current_object(const struct tsm_devices *d, const struct sbt_record *record)
{
    const struct tsm_device_stack *s = stack_of(d, record->thread);

    return s && s->depth && s->depth <= CURRENT_MAX ? s->list[s->depth - 1].object : 0;
}

/* Notes what an object was made of, and whose a stream is: a context's own, or one made in it. */
static int note_owners(struct tsm_devices *d, const struct sbt_record *record,
                       const struct sbt_schema *schema, const struct tsm_type_device *type)
{
    const uint64_t made = object_of(record, schema, type->made);
    const uint64_t of = named_object(record, schema, type);
    const uint64_t owner = made ? made : of ? of : current_object(d, record);

    if (made && of && !tsm_map_set(&d->object_owners, made, of))
        return no_memory();
    if (owner && type->stream_made >= 0 && slot_of(record, type->stream_made) < SBT_STREAM_NONE &&
        !tsm_map_set(&d->stream_owners, slot_of(record, type->stream_made), owner))
        return no_memory();
    return 0;
}

/* A stream that no record makes belongs to what is current, or to what its queue was made of. */
static uint64_t owner_of(const struct tsm_devices *d, const struct sbt_record *record,
                         const struct sbt_schema *schema, const struct tsm_type_device *type)
{
    const bool is_sent = record->stream != SBT_STREAM_NONE;
    uint64_t owner = is_sent ? tsm_map_get(&d->stream_owners, record->stream, 0) : 0;

    if (owner || (!is_sent && schema->kind != SBT_KIND_SYNC))
        return owner;
    owner = current_object(d, record);
    if (is_sent)
        return owner ? owner
                     : tsm_map_get(&d->object_owners, named_object(record, schema, type), 0);
    return type->lead ? named_object(record, schema, type) : owner;
}

static int note_made(struct tsm_devices *d, const struct sbt_record *record,
                     const struct sbt_schema *schema, const struct tsm_type_device *type,
                     uint64_t device)
{
    const uint64_t object = object_of(record, schema, type->made);

    if (object && device && !tsm_map_set(&d->objects, object, device))
        return no_memory();
    if (type->stream_made >= 0 && slot_of(record, type->stream_made) < SBT_STREAM_NONE &&
        !tsm_map_set(&d->streams, slot_of(record, type->stream_made), device))
        return no_memory();
    return 0;
}

static int note_objects(struct tsm_devices *d, struct sbt_reader *reader,
                        const struct sbt_record *record, const struct sbt_schema *schema,
                        const struct tsm_type_device *type)
{
    uint64_t device = 0;
    int error = 0;

    if (is_host(reader, record, schema, type))
        device = HOST;
    else if (type->made >= 0 || type->stream_made >= 0)
        error = find_device(d, &device, record, schema, type);
    if (!error)
        error = note_made(d, record, schema, type, device);
    if (!error && (type->made >= 0 || type->stream_made >= 0))
        error = note_owners(d, record, schema, type);
    if (!error && type->traits & (TSM_TRAIT_ENTERS | TSM_TRAIT_LEAVES))
        error = change_current(d, record, schema, type);
    if (!error && type->gone >= 0)
        forget(d, record->thread, object_of(record, schema, type->gone));
    return error;
}

int tsm_devices_note(struct tsm_devices *d, struct tsm_destination *out, struct sbt_reader *reader,
                     const struct sbt_record *record, const struct sbt_schema *schema,
                     const struct tsm_type_device *type)
{
    uint64_t device = 0;
    int error = 0;

    *out = (struct tsm_destination){.owner = 0};
    if (!schema)
        return 0;
    if (record->flags &
        SBT_RECORD_FAILED) { /* nothing has changed, but it may speak of its owner */
        out->owner = owner_of(d, record, schema, type);
        out->owner = out->owner ? out->owner : current_object(d, record);
        return 0;
    }
    if (type->is_concerned)
        error = note_objects(d, reader, record, schema, type);
    out->owner = owner_of(d, record, schema, type);
    if (error || record->stream == SBT_STREAM_NONE)
        return error;
    device = tsm_map_get(&d->streams, record->stream, 0);
    if (!device) /* a stream of several devices, or one that no record makes */
        error = find_device(d, &device, record, schema, type);
    if (device)
        out->device = d->list[device - 1];
    return error;
}

void tsm_devices_finish(struct tsm_devices *d)
{
    free(d->list);
    free(d->current);
    tsm_map_finish(&d->objects);
    tsm_map_finish(&d->streams);
    tsm_map_finish(&d->object_owners);
    tsm_map_finish(&d->stream_owners);
    tsm_map_finish(&d->threads);
    *d = (struct tsm_devices){0};
}
