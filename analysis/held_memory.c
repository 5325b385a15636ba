/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/held_memory.h"

#include "api/traits.h"

#include <string.h>

enum { ARRAY = 1, MIPMAP };

static uint64_t object_key(unsigned kind, uint64_t id)
{
    return TSM_HELD_OBJECT | (uint64_t)kind << 56 | id;
}

static bool ends_in_ref(const char *name)
{
    size_t size = strlen(name);

    return size >= 3 && !strcmp(name + size - 3, "ref");
}

uint64_t tsm_held_memory_field(const struct tsm_held_memory *held, const struct sbt_record *record,
                               const struct sbt_schema *schema, uint32_t field)
{
    const struct sbt_field *f = &schema->fields[field];
    uint64_t id = field < record->slot_count ? record->slots[field] : 0;
    const uint64_t *whole;

    if (f->type != SBT_FIELD_HANDLE || !id)
        return 0;
    if (!strcmp(f->detail, "mipmap"))
        return object_key(MIPMAP, id);
    if (strcmp(f->detail, "array"))
        return 0;
    whole = tsm_map_find(&held->wholes, id);
    return whole ? *whole : object_key(ARRAY, id);
}

uint64_t tsm_held_memory_number(const struct tsm_held_memory *held, uint64_t word)
{
    const uint64_t *behind = word ? tsm_map_find(&held->numbers, word) : NULL;

    return behind ? *behind : 0;
}

static int set(struct tsm_map *map, uint64_t key, uint64_t value)
{
    return tsm_map_set(map, key, value) ? 0 : tsm_fail(TSM_E_MEMORY, "no memory for objects");
}

/* The memory that an object is made of: an array, a mipmapped array, or an address. */
static uint64_t made_of(const struct tsm_held_memory *held, const struct sbt_record *record,
                        const struct sbt_schema *schema)
{
    for (uint32_t i = 0; i < schema->field_count && i < record->slot_count; i++) {
        uint64_t behind = tsm_held_memory_field(held, record, schema, i);
        if (behind)
            return behind;
        if (schema->fields[i].type == SBT_FIELD_DEVPTR && record->slots[i])
            return record->slots[i];
    }
    return 0;
}

static int note_made(struct tsm_held_memory *held, const struct sbt_record *record,
                     const struct sbt_schema *schema)
{
    int object = sbt_schema_role(schema, SBT_ROLE_OBJECT);
    int parent = sbt_schema_role(schema, SBT_ROLE_PARENT);

    if (object < 0 || (uint32_t)object >= record->slot_count)
        return 0;
    /* A launch of a graph does not say what it uses. */
    if ((tsm_object_traits(schema->fields[object].detail) & TSM_OBJECT_GRAPH))
        held->has_references = true;
    if ((tsm_object_traits(schema->fields[object].detail) & TSM_OBJECT_ARRAY) && parent >= 0) {
        uint64_t whole = tsm_held_memory_field(held, record, schema, (uint32_t)parent);
        return whole ? set(&held->wholes, record->slots[object], whole) : 0;
    }
    for (uint32_t i = 0; i < schema->field_count && i < record->slot_count; i++)
        if (!strcmp(schema->fields[i].name, "value") && record->slots[i])
            return set(&held->numbers, record->slots[i], made_of(held, record, schema));
    return 0;
}

int tsm_held_memory_note(struct tsm_held_memory *held, const struct sbt_record *record,
                         const struct sbt_schema *schema)
{
    if (record->flags & SBT_RECORD_FAILED)
        return 0;
    if (schema->kind == SBT_KIND_CREATE)
        return note_made(held, record, schema);
    for (uint32_t i = 0; schema->kind == SBT_KIND_STATE && i < schema->field_count; i++)
        if (schema->fields[i].type == SBT_FIELD_HANDLE && ends_in_ref(schema->fields[i].detail))
            held->has_references |= made_of(held, record, schema) != 0;
    return 0;
}

void tsm_held_memory_finish(struct tsm_held_memory *held)
{
    tsm_map_finish(&held->numbers);
    tsm_map_finish(&held->wholes);
    memset(held, 0, sizeof(*held));
}
