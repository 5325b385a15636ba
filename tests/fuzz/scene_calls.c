/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of one API in scenes, whose numbers are the pinned ones of its calls.
 */
#include "tests/fuzz/scene_api.h"
#include "tests/fuzz/scene_record.h"

#include <stdlib.h>
#include <string.h>

static const struct sbt_schema *schemas[SCENE_METADATA];

/* Descriptions of values and structs that were written: each comes before the first record that
 * needs it. */
static bool enum_is_there[4096], struct_is_there[8192];

void scene_describe(void)
{
    static bool is_done;

    if (is_done)
        return;
    is_done = true;
    if (scene_api.prepare)
        scene_api.prepare();
    tsm_description_fill(scene_api.description);
    if (scene_api.description->enum_count > sizeof(enum_is_there) ||
        scene_api.description->struct_count > sizeof(struct_is_there))
        abort();
    for (size_t i = 0; i < scene_api.description->call_count; i++) {
        const struct sbt_schema *schema = scene_api.description->calls[i].schema;
        if (SBT_TYPE_CALL(schema->type) < SCENE_METADATA)
            schemas[SBT_TYPE_CALL(schema->type)] = schema;
    }
}

const struct sbt_schema *scene_schema(uint32_t number)
{
    if (number >= SCENE_CORE)
        return sbt_core_schema(number - SCENE_CORE);
    return number < SCENE_METADATA ? schemas[number] : NULL;
}

uint32_t scene_number(uint32_t type)
{
    if (SBT_TYPE_API(type) == SBT_API_CORE)
        return SCENE_CORE + SBT_TYPE_CALL(type);
    if (SBT_TYPE_API(type) == scene_api.description->api && SBT_TYPE_CALL(type) < SCENE_METADATA)
        return SBT_TYPE_CALL(type);
    return SCENE_METADATA;
}

void scene_facts(struct sbt_writer *w)
{
    memset(enum_is_there, 0, sizeof(enum_is_there));
    memset(struct_is_there, 0, sizeof(struct_is_there));
}

static void add_named(struct sbt_writer *w, enum sbt_field_type type, const char *name);

static void add_struct(struct sbt_writer *w, size_t place)
{
    const struct sbt_struct *s = &scene_api.description->structs[place];

    if (struct_is_there[place])
        return;
    struct_is_there[place] = true;
    scene_must(sbt_writer_struct(w, s));
    for (uint32_t i = 0; i < s->member_count; i++)
        add_named(w, s->members[i].type, s->members[i].detail);
}

static void add_named(struct sbt_writer *w, enum sbt_field_type type, const char *name)
{
    const struct tsm_api_description *d = scene_api.description;

    if (type == SBT_FIELD_ENUM || type == SBT_FIELD_FLAGS) {
        for (size_t i = 0; i < d->enum_count; i++)
            if (!enum_is_there[i] && strcmp(d->enums[i].name, name) == 0) {
                enum_is_there[i] = true;
                scene_must(sbt_writer_enum(w, &d->enums[i]));
            }
    } else if (type == SBT_FIELD_STRUCT) {
        for (size_t i = 0; i < d->struct_count; i++)
            if (strcmp(d->structs[i].name, name) == 0)
                add_struct(w, i);
    }
}

void scene_schema_facts(struct sbt_writer *w, const struct sbt_schema *schema)
{
    for (uint32_t i = 0; i < schema->field_count; i++)
        add_named(w, schema->fields[i].type, schema->fields[i].detail);
}
