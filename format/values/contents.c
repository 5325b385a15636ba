/* SPDX-License-Identifier: Apache-2.0 */
#include "format/values/contents.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/map.h"
#include "format/read/state.h"
#include "format/values/structs.h"
#include "format/chunk/table.h"

#include <stdlib.h>
#include <string.h>

/* ---- what is memory ---------------------------------------------------------------------------
 */

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

enum sbt_part sbt_step_part(const struct sbt_step *step)
{
    /* radeon's command streams, Tegra's gathers, amdgpu's metadata of buffers */
    static const char *const words[] = {"hex32", "gather_data_ptr", "data"};
    const struct sbt_member *m = step->member;
    bool is_value = step->kind == SBT_STEP_VALUE && m;

    if (step->kind == SBT_STEP_UNKNOWN ||
        (is_value && m->type == SBT_FIELD_BYTES && step->size && step->data))
        return SBT_PART_BYTES;
    if (is_value && m->form == SBT_FORM_LIST && !step->none &&
        (m->type == SBT_FIELD_HEX || m->type == SBT_FIELD_UINT) &&
        is_one_of(m->name, words, sizeof(words) / sizeof(*words)))
        return SBT_PART_WORD;
    return SBT_PART_OTHER;
}

bool sbt_field_is_memory(const struct sbt_field *field)
{
    static const char *const names[] = {"pData"}; /* Vulkan's update of a buffer */

    return field->type == SBT_FIELD_BYTES &&
           is_one_of(field->name, names, sizeof(names) / sizeof(*names));
}

/* ---- hiding -----------------------------------------------------------------------------------
 */

void sbt_hide_bytes(uint8_t *at, size_t size)
{
    struct sbt_key key = tsm_hash_key(at, size);
    size_t there = size < sizeof(key.bytes) ? size : sizeof(key.bytes);

    memcpy(at, key.bytes, there);
    memset(at + there, 0, size - there);
}

void sbt_hide_word(uint8_t *at, size_t size)
{
    uint64_t hash = tsm_hash64(at, size);

    for (size_t i = 0; i < size; i++, hash >>= 7)
        at[i] = (uint8_t)((hash & 0x7f) | (i + 1 < size ? 0x80 : 0));
    if (size == 10) /* bit 63 at most */
        at[9] &= 1;
}

/* ---- descriptions -----------------------------------------------------------------------------
 */

struct sbt_contents {
    struct sbt_structs structs;
    struct tsm_map types; /* type -> place in schemas + 1 */
    struct sbt_schema *schemas;
    size_t schema_count, schema_capacity;
    void **kept; /* what the descriptions point to */
    size_t kept_count, kept_capacity;
    struct sbt_walk walk; /* too large for a stack */
};

struct sbt_contents *sbt_contents_create(void)
{
    return calloc(1, sizeof(struct sbt_contents));
}

void sbt_contents_destroy(struct sbt_contents *c)
{
    if (!c)
        return;
    sbt_structs_finish(&c->structs);
    tsm_map_finish(&c->types);
    for (size_t i = 0; i < c->kept_count; i++)
        free(c->kept[i]);
    free(c->kept);
    free(c->schemas);
    free(c);
}

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for descriptions of records");
}

/* NULL is not kept: there was no memory. */
static bool keep(struct sbt_contents *c, void *memory)
{
    if (memory && TSM_ARRAY_PUSH(c->kept, c->kept_count, c->kept_capacity, memory))
        return true;
    free(memory);
    return false;
}

/* The only item of a table, as it would be read from a file. */
static bool take_item(struct sbt_contents *c, struct sbt_table *table, struct tsm_view *item)
{
    struct sbt_items items = sbt_items_init(table->payload.data, table->payload.size, 1);

    return !table->payload.failed && keep(c, table->payload.data) && sbt_items_next(&items, item);
}

int sbt_contents_schema(struct sbt_contents *c, const struct sbt_schema *schema)
{
    struct sbt_table table = {0};
    struct tsm_view item;
    struct sbt_field *fields;
    bool is_new = false;
    uint64_t *place = tsm_map_insert(&c->types, schema->type, &is_new);

    if (!place)
        return no_memory();
    if (!is_new)
        return 0;
    if (!TSM_ARRAY_RESERVE(c->schemas, c->schema_capacity, c->schema_count + 1))
        return no_memory();
    sbt_table_schema(&table, schema);
    if (!take_item(c, &table, &item) ||
        !sbt_item_schema(&item, &c->schemas[c->schema_count], &fields) || !keep(c, fields))
        return no_memory();
    *place = ++c->schema_count;
    return 0;
}

int sbt_contents_struct(struct sbt_contents *c, const struct sbt_struct *structure)
{
    struct sbt_table table = {0};
    struct tsm_view item;
    struct sbt_struct own;
    struct sbt_member *members;

    if (sbt_structs_find(&c->structs, structure->name))
        return 0;
    sbt_table_struct(&table, structure);
    if (!take_item(c, &table, &item) || !sbt_item_struct(&item, &own, &members) ||
        !keep(c, members) || sbt_structs_add(&c->structs, &own) == SBT_STRUCTS_NO_MEMORY)
        return no_memory();
    return 0;
}

/* ---- records ----------------------------------------------------------------------------------
 */

static int hide_value(struct sbt_contents *c, const char *name, uint8_t *value, size_t size)
{
    struct sbt_step step;
    const uint8_t *before;
    int error = sbt_walk_init(&c->walk, &c->structs, name, value, size);

    if (error)
        return error;
    while (before = c->walk.at, (error = sbt_walk_next(&c->walk, &step)) == 1) {
        enum sbt_part part = sbt_step_part(&step);
        if (part == SBT_PART_BYTES)
            sbt_hide_bytes(value + (step.data - value), step.size);
        else if (part == SBT_PART_WORD)
            sbt_hide_word(value + (before - value), (size_t)(c->walk.at - before));
    }
    return error;
}

/* A value in pieces has nothing here. */
static bool hide_struct(struct sbt_contents *c, const struct sbt_record *record, uint32_t i,
                        uint8_t *data)
{
    const char *name = c->schemas[*tsm_map_find(&c->types, record->type) - 1].fields[i].detail;
    const uint8_t *value;
    struct sbt_blob blob;
    size_t size;
    int kept = sbt_record_struct(record, i, &value, &size, &blob);

    if (kept == 2 && blob.bytes) {
        value = blob.bytes;
        size = (size_t)blob.size;
    } else if (kept != 1) {
        return true;
    }
    return hide_value(c, name, data + (value - record->data), size) >= 0;
}

void sbt_contents_hide(struct sbt_contents *c, const struct sbt_record *record, uint64_t *slots,
                       uint8_t *data)
{
    const uint64_t *place = tsm_map_find(&c->types, record->type);
    const struct sbt_schema *schema = place && *place ? &c->schemas[*place - 1] : NULL;
    const uint8_t *bytes;
    size_t size;

    for (uint32_t i = 0; schema && i < record->slot_count && i < schema->field_count; i++) {
        const struct sbt_field *field = &schema->fields[i];
        if ((field->type != SBT_FIELD_STRUCT && field->type != SBT_FIELD_BYTES) ||
            !sbt_record_bytes(record, i, &bytes, &size) || !size)
            continue;
        if (sbt_field_is_memory(field)) {
            sbt_hide_bytes(data + (bytes - record->data), size);
        } else if (field->type == SBT_FIELD_STRUCT && !hide_struct(c, record, i, data)) {
            memset(data + (bytes - record->data), 0, size);
            slots[i] = 0;
        }
    }
}
