/* SPDX-License-Identifier: Apache-2.0
 *
 * Metadata, schemas and value tables are loaded when a trace is opened; strings, stacks and
 * mappings when they are asked for.
 */
#include "format/read/state.h"

#include "base/array.h"
#include "base/bytes.h"
#include "format/limits.h"
#include "format/values/names.h"
#include "format/chunk/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- chunks of items ---- */

/* One item; false when it is malformed. */
typedef bool table_item(struct sbt_reader *r, struct tsm_view *item);

/* Load a table chunk, keep its payload, and hand each item over. Damage is said and is no error. */
static int load_table(struct sbt_reader *r, size_t place, table_item *each, bool locked)
{
    const struct sbt_chunk *head = &r->entries[place].head;
    struct sbt_items items;
    struct tsm_view item;
    uint8_t *payload;
    bool ok = true;
    int error = sbt_reader_load(r, &r->packer, place, &payload, locked);

    if (error)
        return error == TSM_E_CHECKSUM ? 0 : error;
    if (!sbt_reader_keep(r, payload))
        return tsm_fail(TSM_E_MEMORY, "%s: out of memory for a table", r->name);
    items = sbt_items_init(payload, head->raw_size, head->count);
    errno = 0; /* of what an item takes only memory sets it */
    while (ok && sbt_items_next(&items, &item))
        ok = each(r, &item);
    if (!ok && errno == ENOMEM)
        return tsm_fail(TSM_E_MEMORY, "%s: out of memory for a table", r->name);
    if (!ok || items.in.failed)
        sbt_reader_blame(r, place, "an item is malformed", locked);
    return 0;
}

/* ---- metadata ---- */

static const char *metadata_at(const void *list, uint64_t place)
{
    return ((const struct sbt_reader *)list)->metadata[place].name;
}

static bool add_metadata(struct sbt_reader *r, struct tsm_view *item)
{
    struct sbt_reader_pair pair;
    uint64_t *place;
    bool added;

    pair.name = sbt_view_text(item, SBT_NAME_MAX);
    pair.value = sbt_view_text(item, SBT_TEXT_MAX);
    if (item->failed)
        return false;
    if (!TSM_ARRAY_RESERVE(r->metadata, r->metadata_capacity, r->metadata_count + 1))
        return false;
    place = sbt_names_insert(&r->metadata_by_name, pair.name, metadata_at, r, &added);
    if (!place)
        return false;
    if (!added) {
        r->metadata[*place].value = pair.value;
        return true;
    }
    *place = r->metadata_count;
    r->metadata[r->metadata_count++] = pair;
    return true;
}

size_t sbt_reader_metadata_count(const struct sbt_reader *r)
{
    return r->metadata_count;
}

void sbt_reader_metadata(const struct sbt_reader *r, size_t index, const char **name,
                         const char **value)
{
    *name = r->metadata[index].name;
    *value = r->metadata[index].value;
}

const char *sbt_reader_metadata_find(const struct sbt_reader *r, const char *name)
{
    const uint64_t *place = sbt_names_find(&r->metadata_by_name, name, metadata_at, r);

    return place ? r->metadata[*place].value : NULL;
}

/* ---- schemas ---- */

static bool add_schema(struct sbt_reader *r, struct tsm_view *item)
{
    struct sbt_schema schema;
    struct sbt_field *fields;
    uint64_t *place;
    bool added;

    if (!sbt_item_schema(item, &schema, &fields) || !sbt_reader_keep(r, fields))
        return false;
    place = tsm_map_insert(&r->schema_by_type, schema.type, &added);
    if (!place || !added) /* the first one counts; sbt_check() says when they differ */
        return place != NULL;
    if (!TSM_ARRAY_RESERVE(r->schemas, r->schema_capacity, r->schema_count + 1))
        return false;
    *place = r->schema_count;
    r->schemas[r->schema_count++] = schema;
    return true;
}

const struct sbt_schema *sbt_reader_schema(const struct sbt_reader *r, uint32_t type)
{
    const uint64_t *place = tsm_map_find(&r->schema_by_type, type);

    return place ? &r->schemas[*place] : NULL;
}

size_t sbt_reader_schema_count(const struct sbt_reader *r)
{
    return r->schema_count;
}

const struct sbt_schema *sbt_reader_schema_at(const struct sbt_reader *r, size_t index)
{
    return index < r->schema_count ? &r->schemas[index] : NULL;
}

/* ---- value tables ---- */

struct by_value {
    int64_t value;
    uint32_t place;
};

static int compare_by_value(const void *a, const void *b)
{
    const struct by_value *x = a, *y = b;

    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

static uint32_t *order_by_value(const struct sbt_enum *table)
{
    uint32_t count = table->value_count;
    struct by_value *sorted = calloc(count ? count : 1, sizeof(*sorted));
    uint32_t *order = calloc(count ? count : 1, sizeof(*order));

    if (!sorted || !order) {
        free(sorted);
        free(order);
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = (struct by_value){.value = table->values[i].value, .place = i};
    qsort(sorted, count, sizeof(*sorted), compare_by_value);
    for (uint32_t i = 0; i < count; i++)
        order[i] = sorted[i].place;
    free(sorted);
    return order;
}

static const char *enum_at(const void *list, uint64_t place)
{
    return ((const struct sbt_reader *)list)->enums[place].table.name;
}

static bool add_enum(struct sbt_reader *r, struct tsm_view *item)
{
    struct sbt_reader_enum made = {0};
    struct sbt_enum_value *values;
    uint64_t *place;
    bool added;

    if (!sbt_item_enum(item, &made.table, &values) || !sbt_reader_keep(r, values))
        return false;
    if (!TSM_ARRAY_RESERVE(r->enums, r->enum_capacity, r->enum_count + 1))
        return false;
    if (sbt_names_find(&r->enum_by_name, made.table.name, enum_at, r))
        return true; /* the first one counts */
    made.by_value = order_by_value(&made.table);
    if (!made.by_value)
        return false;
    r->enums[r->enum_count] = made;
    place = sbt_names_insert(&r->enum_by_name, made.table.name, enum_at, r, &added);
    if (!place) {
        free(made.by_value);
        return false;
    }
    *place = r->enum_count++;
    return true;
}

static const struct sbt_reader_enum *find_enum(const struct sbt_reader *r, const char *table)
{
    const uint64_t *place = sbt_names_find(&r->enum_by_name, table, enum_at, r);

    return place && *place < r->enum_count ? &r->enums[*place] : NULL;
}

const struct sbt_enum *sbt_reader_enum(const struct sbt_reader *r, const char *table)
{
    const struct sbt_reader_enum *e = find_enum(r, table);

    return e ? &e->table : NULL;
}

const char *sbt_reader_enum_name(const struct sbt_reader *r, const char *table, int64_t value)
{
    const struct sbt_reader_enum *e = find_enum(r, table);
    size_t at;

    /* The lowest place whose value is not below: the first name of several. */
    TSM_BISECT(at, e ? e->table.value_count : 0, e->table.values[e->by_value[at]].value >= value);
    if (!e || at == e->table.value_count || e->table.values[e->by_value[at]].value != value)
        return NULL;
    return e->table.values[e->by_value[at]].name;
}

/* ---- structs ---- */

static bool add_struct(struct sbt_reader *r, struct tsm_view *item)
{
    struct sbt_struct structure;
    struct sbt_member *members;

    if (!sbt_item_struct(item, &structure, &members) || !sbt_reader_keep(r, members))
        return false;
    return sbt_structs_add(&r->structs, &structure) != SBT_STRUCTS_NO_MEMORY;
}

const struct sbt_struct *sbt_reader_struct(const struct sbt_reader *r, const char *name)
{
    return sbt_structs_find(&r->structs, name);
}

const struct sbt_struct *sbt_reader_struct_by_id(const struct sbt_reader *r, uint32_t id)
{
    return sbt_structs_by_id(&r->structs, id);
}

size_t sbt_reader_struct_count(const struct sbt_reader *r)
{
    return r->structs.count;
}

const struct sbt_struct *sbt_reader_struct_at(const struct sbt_reader *r, size_t index)
{
    return index < r->structs.count ? &r->structs.list[index] : NULL;
}

/* ---- strings and stacks ---- */

struct stack {
    uint32_t count;
    uint64_t frames[];
};

static bool add_string(struct sbt_reader *r, struct tsm_view *item)
{
    uint32_t id = tsm_view_u32(item);
    const char *text = sbt_view_text(item, SBT_TEXT_MAX);
    uint64_t *place;
    bool added;

    if (item->failed || id == 0)
        return false;
    place = tsm_map_insert(&r->strings.places, id, &added);
    if (place && added)
        *place = (uintptr_t)text;
    return place != NULL;
}

static bool add_stack(struct sbt_reader *r, struct tsm_view *item)
{
    uint32_t id = tsm_view_u32(item);
    size_t count = tsm_view_left(item) / 8;
    struct stack *stack;
    uint64_t *place;
    bool added;

    if (item->failed || id == 0 || count == 0 || count > SBT_STACK_DEPTH_MAX)
        return false;
    stack = malloc(sizeof(*stack) + count * 8);
    if (!stack)
        return false;
    stack->count = (uint32_t)count;
    for (size_t i = 0; i < count; i++)
        stack->frames[i] = tsm_view_u64(item);
    if (!sbt_reader_keep(r, stack))
        return false;
    place = tsm_map_insert(&r->stacks.places, id, &added);
    if (place && added)
        *place = (uintptr_t)stack;
    return place != NULL;
}

static int compare_id_chunks(const void *a, const void *b)
{
    const struct sbt_id_chunk *x = a, *y = b;

    return x->first < y->first ? -1 : x->first > y->first;
}

/* The list of chunks that hold ids of a kind, and whether one search finds the right one. */
static int id_table_init(struct sbt_reader *r, struct sbt_id_table *t, uint32_t type)
{
    size_t count = 0;

    t->type = type;
    for (size_t i = 0; i < r->entry_count; i++)
        count += r->entries[i].head.type == type;
    t->chunks = calloc(count ? count : 1, sizeof(*t->chunks));
    if (!t->chunks)
        return tsm_fail(TSM_E_MEMORY, "%s: out of memory", r->name);
    for (size_t i = 0; i < r->entry_count; i++) {
        const struct sbt_chunk *head = &r->entries[i].head;
        if (head->type == type)
            t->chunks[t->chunk_count++] = (struct sbt_id_chunk){
                .entry = (uint32_t)i, .first = head->first_seq, .last = head->last_seq};
    }
    qsort(t->chunks, count, sizeof(*t->chunks), compare_id_chunks);
    t->disjoint = true;
    for (size_t i = 1; i < count; i++)
        t->disjoint &= t->chunks[i].first > t->chunks[i - 1].last;
    return 0;
}

static int id_chunk_load(struct sbt_reader *r, struct sbt_id_table *t, size_t i, table_item *each)
{
    int error = t->chunks[i].loaded ? 0 : load_table(r, t->chunks[i].entry, each, true);

    t->chunks[i].loaded = !error; /* what cannot be read now may be read next time */
    return error;
}

/* Address of what `id` names; 0 when there is none; negative on an error. With the lock held. */
static int id_find(struct sbt_reader *r, struct sbt_id_table *t, uint32_t id, table_item *each,
                   uintptr_t *out)
{
    const uint64_t *place = tsm_map_find(&t->places, id);
    size_t at;
    int error = 0;

    if (!place && !t->disjoint) {
        for (size_t i = 0; i < t->chunk_count && !error; i++)
            error = id_chunk_load(r, t, i, each);
        t->chunk_count = error ? t->chunk_count : 0; /* so that a miss costs nothing next time */
    } else if (!place) {
        TSM_BISECT(at, t->chunk_count, t->chunks[at].last >= id);
        if (at < t->chunk_count && t->chunks[at].first <= id)
            error = id_chunk_load(r, t, at, each);
    }
    if (error)
        return error;
    place = tsm_map_find(&t->places, id);
    *out = place ? (uintptr_t)*place : 0;
    return 0;
}

const char *sbt_reader_string(struct sbt_reader *r, uint32_t id)
{
    uintptr_t found = 0;
    int error;

    if (id == 0)
        return "";
    pthread_mutex_lock(&r->lock);
    error = id_find(r, &r->strings, id, add_string, &found);
    if (error)
        sbt_reader_fault(r, "strings");
    pthread_mutex_unlock(&r->lock);
    return error ? NULL : (const char *)found;
}

int sbt_reader_stack(struct sbt_reader *r, uint32_t id, const uint64_t **frames)
{
    const struct stack *stack;
    uintptr_t found = 0;
    int error;

    if (id == 0)
        return 0;
    pthread_mutex_lock(&r->lock);
    error = id_find(r, &r->stacks, id, add_stack, &found);
    pthread_mutex_unlock(&r->lock);
    if (error)
        return error;
    if (!found)
        return tsm_fail(TSM_E_NOT_FOUND, "%s: there is no stack %u", r->name, id);
    stack = (const struct stack *)found;
    *frames = stack->frames;
    return (int)stack->count;
}

int sbt_reader_load_ids(struct sbt_reader *r)
{
    int error = 0;

    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->strings.chunk_count && !error; i++)
        error = id_chunk_load(r, &r->strings, i, add_string);
    for (size_t i = 0; i < r->stacks.chunk_count && !error; i++)
        error = id_chunk_load(r, &r->stacks, i, add_stack);
    pthread_mutex_unlock(&r->lock);
    return error;
}

/* ---- mappings ---- */

/* Loads all tables of a type unless *is_loaded. Returns *count, how many items there are; after an
 * error there are none, and the next call tries again. */
static size_t load_once(struct sbt_reader *r, uint32_t type, table_item *add, bool *is_loaded,
                        size_t *count, const char *what)
{
    int error = 0;

    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->entry_count && !*is_loaded && !error; i++) {
        if (r->entries[i].head.type == type)
            error = load_table(r, i, add, true);
    }
    *is_loaded = !error;
    if (error) {
        *count = 0;
        sbt_reader_fault(r, what);
    }
    pthread_mutex_unlock(&r->lock);
    return *count;
}

static bool add_mapping(struct sbt_reader *r, struct tsm_view *item)
{

    if (!TSM_ARRAY_RESERVE(r->mappings, r->mapping_capacity, r->mapping_count + 1))
        return false;
    if (!sbt_item_mapping(item, &r->mappings[r->mapping_count]))
        return false;
    r->mapping_count++;
    return true;
}

size_t sbt_reader_mapping_count(struct sbt_reader *r)
{
    return load_once(r, SBT_CHUNK_MAPPINGS, add_mapping, &r->mappings_loaded, &r->mapping_count,
                     "mappings");
}

const struct sbt_mapping *sbt_reader_mapping(struct sbt_reader *r, size_t index)
{
    return index < sbt_reader_mapping_count(r) ? &r->mappings[index] : NULL;
}

/* ---- checkpoints ---- */

static bool add_checkpoint(struct sbt_reader *r, struct tsm_view *item)
{
    struct sbt_checkpoint c;

    if (!sbt_item_checkpoint(item, &c))
        return false;
    if (r->checkpoint_count && r->checkpoints[r->checkpoint_count - 1].seq >= c.seq)
        return false;
    if (!TSM_ARRAY_PUSH(r->checkpoints, r->checkpoint_count, r->checkpoint_capacity, c))
        return false;
    return true;
}

size_t sbt_reader_checkpoint_count(struct sbt_reader *r)
{
    return load_once(r, SBT_CHUNK_CHECKPOINT, add_checkpoint, &r->checkpoints_loaded,
                     &r->checkpoint_count, "checkpoints");
}

const struct sbt_checkpoint *sbt_reader_checkpoint(struct sbt_reader *r, size_t index)
{
    return index < sbt_reader_checkpoint_count(r) ? &r->checkpoints[index] : NULL;
}

/* ---- life ---- */

int sbt_reader_tables(struct sbt_reader *r)
{
    int error = 0;

    for (size_t i = 0; i < r->entry_count && !error; i++) {
        uint32_t type = r->entries[i].head.type;
        if (type == SBT_CHUNK_METADATA)
            error = load_table(r, i, add_metadata, false);
        else if (type == SBT_CHUNK_SCHEMA)
            error = load_table(r, i, add_schema, false);
        else if (type == SBT_CHUNK_ENUMS)
            error = load_table(r, i, add_enum, false);
        else if (type == SBT_CHUNK_STRUCTS)
            error = load_table(r, i, add_struct, false);
    }
    if (!error)
        error = id_table_init(r, &r->strings, SBT_CHUNK_STRINGS);
    return error ? error : id_table_init(r, &r->stacks, SBT_CHUNK_STACKS);
}

void sbt_reader_tables_finish(struct sbt_reader *r)
{
    free(r->metadata);
    tsm_map_finish(&r->metadata_by_name);
    free(r->schemas);
    tsm_map_finish(&r->schema_by_type);
    for (size_t i = 0; i < r->enum_count; i++)
        free(r->enums[i].by_value);
    free(r->enums);
    tsm_map_finish(&r->enum_by_name);
    sbt_structs_finish(&r->structs);
    free(r->strings.chunks);
    tsm_map_finish(&r->strings.places);
    free(r->stacks.chunks);
    tsm_map_finish(&r->stacks.places);
    free(r->mappings);
    free(r->checkpoints);
}
