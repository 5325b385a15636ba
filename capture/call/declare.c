/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/call/declare.h"

#include "base/hash.h"
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

struct tsm_declare {
    const struct tsm_api_description *api;
    struct tsm_map calls, structs, enums; /* type, or hash of the name -> place + 1; 0: written */
    uint32_t changes;                     /* of `used`, as last seen */
};

bool tsm_declare_is_lazy(const struct tsm_api_description *api)
{
    return api->used != NULL;
}

int tsm_declare_all(struct sbt_writer *w, const struct tsm_api_description *api)
{
    int error = 0;

    for (size_t i = 0; i < api->enum_count && !error; i++)
        error = sbt_writer_enum(w, &api->enums[i]);
    for (size_t i = 0; i < api->struct_count && !error; i++)
        error = sbt_writer_struct(w, &api->structs[i]);
    for (size_t i = 0; i < api->call_count && !error; i++)
        error = sbt_writer_schema(w, api->calls[i].schema);
    return error;
}

/* ---- finding ----------------------------------------------------------------------------------
 */

static uint64_t hash_of(const char *name)
{
    return tsm_hash64(name, strlen(name));
}

static bool note(struct tsm_map *map, uint64_t key, size_t place)
{
    bool added;
    uint64_t *value = tsm_map_insert(map, key, &added);

    if (value)
        *value = place + 1;
    return value != NULL;
}

struct tsm_declare *tsm_declare_create(const struct tsm_api_description *api)
{
    struct tsm_declare *d = calloc(1, sizeof(*d));
    bool done = d != NULL;

    if (!d)
        return NULL;
    d->api = api;
    for (size_t i = 0; i < api->call_count && done; i++)
        done = note(&d->calls, api->calls[i].schema->type, i);
    for (size_t i = 0; i < api->struct_count && done; i++)
        done = note(&d->structs, hash_of(api->structs[i].name), i);
    for (size_t i = 0; i < api->enum_count && done; i++)
        done = note(&d->enums, hash_of(api->enums[i].name), i);
    if (!done) {
        tsm_declare_destroy(d);
        return NULL;
    }
    return d;
}

void tsm_declare_destroy(struct tsm_declare *d)
{
    if (!d)
        return;
    tsm_map_finish(&d->calls);
    tsm_map_finish(&d->structs);
    tsm_map_finish(&d->enums);
    free(d);
}

/* True the first time that it is wanted, if it is there. */
static bool take(struct tsm_map *map, uint64_t key, size_t *place)
{
    uint64_t *value = tsm_map_find(map, key);

    if (!value || !*value)
        return false;
    *place = (size_t)*value - 1;
    *value = 0;
    return true;
}

/* ---- writing ----------------------------------------------------------------------------------
 */

static int declare_enum(struct tsm_declare *d, struct sbt_writer *w, const char *name)
{
    size_t place;

    return take(&d->enums, hash_of(name), &place) ? sbt_writer_enum(w, &d->api->enums[place]) : 0;
}

static int declare_struct(struct tsm_declare *d, struct sbt_writer *w, const char *name);

/* Declares the table or struct that a field or member of this type refers to. */
static int declare_detail(struct tsm_declare *d, struct sbt_writer *w, uint32_t type,
                          const char *name)
{
    switch (type) {
    case SBT_FIELD_ENUM:
    case SBT_FIELD_FLAGS:
        return declare_enum(d, w, name);
    case SBT_FIELD_STRUCT:
        return declare_struct(d, w, name);
    default:
        return 0;
    }
}

/* Marked as written before its members are: it may contain itself. */
static int declare_struct(struct tsm_declare *d, struct sbt_writer *w, const char *name)
{
    const struct sbt_struct *s;
    size_t place;
    int error = 0;

    if (!take(&d->structs, hash_of(name), &place))
        return 0;
    s = &d->api->structs[place];
    for (uint32_t i = 0; i < s->member_count && !error; i++)
        error = declare_detail(d, w, s->members[i].type, s->members[i].detail);
    return error ? error : sbt_writer_struct(w, s);
}

int tsm_declare_type(struct tsm_declare *d, struct sbt_writer *w, uint32_t type)
{
    const struct sbt_schema *schema;
    size_t place;
    int error;

    if (!take(&d->calls, type, &place))
        return 0;
    schema = d->api->calls[place].schema;
    error = declare_enum(d, w, schema->result_enum);
    for (uint32_t i = 0; i < schema->field_count && !error; i++)
        error = declare_detail(d, w, schema->fields[i].type, schema->fields[i].detail);
    return error ? error : sbt_writer_schema(w, schema);
}

int tsm_declare_used(struct tsm_declare *d, struct sbt_writer *w)
{
    uint32_t changes = __atomic_load_n(d->api->used_changes, __ATOMIC_ACQUIRE);
    int error = 0;

    if (changes == d->changes)
        return 0;
    d->changes = changes;
    for (size_t i = 0; i < d->api->struct_count && !error; i++)
        if (__atomic_load_n(&d->api->used[i], __ATOMIC_RELAXED))
            error = declare_struct(d, w, d->api->structs[i].name);
    return error;
}
