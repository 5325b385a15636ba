/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/text/code_objects.h"

#include "base/hash.h"
#include "tracesmith/error.h"

#include <stdlib.h>
#include <string.h>

#define LINK_DEPTH_MAX 6u           /* kernel, function, module, library, ... */
#define LINK_STEPS_MAX 4096u        /* that one search follows */
#define CODE_SIZE_MAX  (1ull << 28) /* bytes of a code object that is read */
#define NO_MEMORY      "out of memory for the parameters of kernels"

struct link {
    uint64_t target; /* index of an object */
    uint32_t next;   /* index + 1 */
};

size_t tsm_code_objects_count(const struct tsm_code_objects *o)
{
    return o->objects.size / sizeof(struct tsm_code_object);
}

struct tsm_code_object *tsm_code_object_at(const struct tsm_code_objects *o, uint64_t index)
{
    return (struct tsm_code_object *)(void *)o->objects.data + index;
}

/* ---- what records say --------------------------------------------------------------------------
 */

static bool leads_to_code(const struct sbt_field *field)
{
    static const char *const types[] = {"function",   "kernel", "module",     "library",
                                        "executable", "reader", "code_object"};

    for (size_t i = 0; field->type == SBT_FIELD_HANDLE && i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(field->detail, types[i]) == 0)
            return true;
    return false;
}

static uint64_t key_of(const struct sbt_record *record, const char *type, uint64_t id)
{
    return tsm_hash64(type, strlen(type)) ^ id * 0x9e3779b97f4a7c15u ^
           (uint64_t)SBT_TYPE_API(record->type) << 56;
}

/* Returns the index of an object, created when absent; UINT64_MAX when out of memory. */
static uint64_t object_of(struct tsm_code_objects *o, uint64_t key)
{
    bool added;
    uint64_t *index = tsm_map_insert(&o->by_key, key, &added);

    if (!index)
        return UINT64_MAX;
    if (added) {
        *index = tsm_code_objects_count(o);
        tsm_buffer_add(&o->objects, &(struct tsm_code_object){0}, sizeof(struct tsm_code_object));
    }
    return *index < tsm_code_objects_count(o) ? *index : UINT64_MAX;
}

static int add_link(struct tsm_code_objects *o, uint64_t child, uint64_t target)
{
    struct link link = {target, tsm_code_object_at(o, child)->first_link};
    size_t count = o->links.size / sizeof(link);

    if (count >= UINT32_MAX - 1)
        return 0;
    tsm_buffer_add(&o->links, &link, sizeof(link));
    if (o->links.size / sizeof(link) == count)
        return tsm_fail(TSM_E_MEMORY, NO_MEMORY);
    tsm_code_object_at(o, child)->first_link = (uint32_t)count + 1;
    return 0;
}

/* Copies the reference to the code; the bytes are read when they are needed. */
static int set_code(struct tsm_code_object *object, const struct sbt_record *record, uint32_t index)
{
    struct sbt_blob blob;
    size_t size;

    if (object->blob.size || !sbt_record_blob(record, index, &blob) || !blob.size ||
        blob.size > CODE_SIZE_MAX)
        return 0;
    size = blob.bytes ? (size_t)blob.size : (size_t)blob.piece_count * 16;
    object->blob_keys = malloc(size);
    if (!object->blob_keys)
        return tsm_fail(TSM_E_MEMORY, NO_MEMORY);
    memcpy(object->blob_keys, blob.bytes ? blob.bytes : blob.keys, size);
    object->blob = blob;
    object->blob.keys = blob.bytes ? NULL : object->blob_keys;
    object->blob.bytes = blob.bytes ? object->blob_keys : NULL;
    return 0;
}

/* Takes the object that a record is about, its first one, into account. */
static int describe(struct tsm_code_object *object, const struct sbt_schema *schema,
                    const struct sbt_record *record)
{
    const int code = sbt_schema_role(schema, SBT_ROLE_CODE);
    const int name = sbt_schema_role(schema, SBT_ROLE_NAME);

    if (name >= 0 && (uint32_t)name < record->slot_count &&
        schema->fields[name].type == SBT_FIELD_STRING)
        object->name = (uint32_t)record->slots[name];
    if (code < 0 || (uint32_t)code >= record->slot_count || object->blob.size)
        return 0;
    object->record_type = record->type;
    object->seq = record->seq;
    return set_code(object, record, (uint32_t)code);
}

int tsm_code_objects_note(struct tsm_code_objects *o, struct sbt_reader *reader,
                          const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(reader, record->type);
    uint64_t child = UINT64_MAX;
    int error = 0;

    if (!schema || schema->kind == SBT_KIND_COMMAND || (record->flags & SBT_RECORD_FAILED))
        return 0;
    for (uint32_t i = 0; i < schema->field_count && i < record->slot_count && !error; i++) {
        const char *type = schema->fields[i].detail;

        if (!leads_to_code(&schema->fields[i]) || !record->slots[i])
            continue;
        uint64_t index = object_of(o, key_of(record, type, record->slots[i]));
        if (index == UINT64_MAX)
            return tsm_fail(TSM_E_MEMORY, NO_MEMORY);
        tsm_code_object_at(o, index)->type = type;
        tsm_code_object_at(o, index)->id = record->slots[i];
        if (child != UINT64_MAX)
            error = add_link(o, child, index);
        else
            child = index;
    }
    if (child == UINT64_MAX || error)
        return error;
    return describe(tsm_code_object_at(o, child), schema, record);
}

/* ---- questions ---------------------------------------------------------------------------------
 */

uint64_t tsm_code_objects_launched(const struct tsm_code_objects *o, struct sbt_reader *reader,
                                   const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(reader, record->type);
    const int function = schema ? sbt_schema_role(schema, SBT_ROLE_FUNCTION) : -1;
    const uint64_t *index;

    if (function < 0 || (uint32_t)function >= record->slot_count)
        return UINT64_MAX;
    index = tsm_map_find(&o->by_key,
                         key_of(record, schema->fields[function].detail, record->slots[function]));
    return index && *index < tsm_code_objects_count(o) ? *index : UINT64_MAX;
}

struct search {
    const struct tsm_code_objects *o;
    bool (*visit)(void *user, struct tsm_code_object *object);
    void *user;
    unsigned steps; /* bounds the links that a hostile trace makes this follow */
};

/* Links of links, too. */
static bool search(struct search *s, uint64_t index, unsigned depth)
{
    struct tsm_code_object *object = tsm_code_object_at(s->o, index);

    if (s->visit(s->user, object))
        return true;
    for (uint32_t at = object->first_link; at && depth < LINK_DEPTH_MAX && s->steps;) {
        struct link link = ((const struct link *)(const void *)s->o->links.data)[at - 1];

        s->steps--;
        if (search(s, link.target, depth + 1))
            return true;
        at = link.next;
    }
    return false;
}

bool tsm_code_objects_search(const struct tsm_code_objects *o, uint64_t index,
                             bool (*visit)(void *user, struct tsm_code_object *object), void *user)
{
    struct search s = {.o = o, .visit = visit, .user = user, .steps = LINK_STEPS_MAX};

    return search(&s, index, 0);
}

int tsm_code_object_read(uint8_t **out, const struct tsm_code_object *object,
                         struct sbt_reader *reader)
{
    const size_t size = (size_t)object->blob.size;
    int error;

    *out = malloc(size + 1);
    if (!*out)
        return tsm_fail(TSM_E_MEMORY, "out of memory for code of %zu bytes", size);
    error = sbt_reader_blob(reader, &object->blob, 0, *out, size);
    if (error < 0) {
        free(*out);
        *out = NULL;
        return error;
    }
    (*out)[size] = '\0';
    return 0;
}

void tsm_code_objects_finish(struct tsm_code_objects *o)
{
    for (size_t i = 0; i < tsm_code_objects_count(o); i++)
        free(tsm_code_object_at(o, i)->blob_keys);
    tsm_map_finish(&o->by_key);
    tsm_buffer_finish(&o->objects);
    tsm_buffer_finish(&o->links);
}
