/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/model/programs.h"

#include "api/traits.h"
#include "base/hash.h"
#include "base/text.h"
#include "tracesmith/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 256

/* Replaces the text; "" removes it. */
static char *put(struct tsm_map *map, uint64_t key, const char *text)
{
    bool added;
    uint64_t *place = tsm_map_insert(map, key, &added);
    char *copy = place && *text ? strdup(text) : NULL;

    if (!place)
        return NULL;
    free((void *)(uintptr_t)*place);
    *place = (uint64_t)(uintptr_t)copy;
    return copy;
}

static const char *get(const struct tsm_map *map, uint64_t key)
{
    return (const char *)(uintptr_t)tsm_map_get(map, key, 0);
}

int tsm_programs_note(struct tsm_programs *p, struct sbt_reader *reader,
                      const struct sbt_record *record, const struct sbt_schema *schema)
{
    const char *wanted = tsm_object_type_with(TSM_OBJECT_PROGRAM), *type = NULL;
    char name[TEXT_MAX] = "";
    struct sbt_value value;
    struct sbt_walk walk;
    struct sbt_step step;
    uint64_t id = 0;

    if (record->flags & SBT_RECORD_FAILED || schema->field_count < 2 || record->slot_count < 2 ||
        schema->fields[1].type != SBT_FIELD_STRUCT ||
        sbt_reader_value(reader, record, 1, &value) != 1)
        return 0;
    if (sbt_walk_begin(&walk, reader, schema->fields[1].detail, value.data, value.size) == 0)
        while (sbt_walk_next(&walk, &step) == 1) {
            if (step.kind != SBT_STEP_VALUE || step.depth != 1)
                continue;
            if (step.member->type == SBT_FIELD_ENUM)
                type = sbt_reader_enum_name(reader, step.member->detail, (int64_t)step.number);
            else if (step.member->type == SBT_FIELD_HANDLE)
                id = step.number;
            else if (step.member->type == SBT_FIELD_STRING)
                tsm_format(name, sizeof(name), "%.*s", (int)step.size, (const char *)step.data);
        }
    sbt_value_finish(&value);
    if (!type || !id || !tsm_object_type_is(type, wanted))
        return 0;
    return put(&p->given, id, name) || !*name
               ? 0
               : tsm_fail(TSM_E_MEMORY, "out of memory for names of objects");
}

const char *tsm_programs_text(struct tsm_programs *p, const struct sbt_schema *schema, uint64_t id)
{
    const char *given = id ? get(&p->given, id) : NULL, *known;
    char text[2 * TEXT_MAX];
    uint64_t key;

    if (!id)
        return schema->name;
    tsm_format(text, sizeof(text), "%s %s#%" PRIu64 "%s%s", schema->name,
               tsm_object_type_with(TSM_OBJECT_PROGRAM), id, given ? " " : "", given ? given : "");
    key = tsm_hash64(text, strlen(text));
    known = get(&p->texts, key);
    return known ? known : put(&p->texts, key, text);
}

static void finish(struct tsm_map *map)
{
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].used)
            free((void *)(uintptr_t)map->slots[i].value);
    tsm_map_finish(map);
}

void tsm_programs_finish(struct tsm_programs *p)
{
    finish(&p->given);
    finish(&p->texts);
}
