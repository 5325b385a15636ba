/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vulkan/view/shader_list.h"

#include "base/array.h"
#include "base/hash.h"
#include "tools/terminal.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static int add(struct tsm_shader_list *list, const struct sbt_key *key, const struct sbt_step *step)
{
    struct tsm_shader *s;

    if (!TSM_ARRAY_RESERVE(list->shaders, list->capacity, list->count + 1))
        return tsm_fail(TSM_E_MEMORY, "no memory for %zu shaders", list->count + 1);
    s = &list->shaders[list->count];
    *s = (struct tsm_shader){.key = *key, .words = malloc(step->size + 4), .size = step->size};
    if (!s->words)
        return tsm_fail(TSM_E_MEMORY, "no memory for a shader of %zu bytes", step->size);
    memcpy(s->words, step->data, step->size);
    tsm_key_text(s->hash, key);
    list->count++;
    return 0;
}

/* Two keys with the same first half would be one shader: there are no such by chance. */
static int note(struct tsm_shader_list *list, const struct sbt_step *step,
                const struct sbt_record *record, uint64_t module)
{
    struct sbt_key key = tsm_hash_key(step->data, step->size);
    uint64_t half, *place;
    bool added;
    int error;

    memcpy(&half, key.bytes, sizeof(half));
    place = tsm_map_insert(&list->places, half, &added);
    if (!place)
        return tsm_fail(TSM_E_MEMORY, "no memory for names of shaders");
    if (added) {
        error = add(list, &key, step);
        if (error)
            return error;
        *place = list->count;
        list->shaders[*place - 1].seq = record->seq;
        list->shaders[*place - 1].module = module;
    }
    list->shaders[*place - 1].count++;
    return 0;
}

static int note_value(struct tsm_shader_list *list, struct sbt_reader *reader,
                      const struct sbt_record *record, uint32_t index, const char *type,
                      uint64_t module)
{
    struct sbt_value value;
    struct sbt_walk walk;
    struct sbt_step step;
    int error = sbt_reader_value(reader, record, index, &value), more = 0;

    if (error == 1)
        more = sbt_walk_begin(&walk, reader, type, value.data, value.size) == 0;
    error = 0;
    while (more && !error && sbt_walk_next(&walk, &step) == 1)
        if (step.kind == SBT_STEP_VALUE && step.member && step.member->type == SBT_FIELD_BYTES &&
            step.size && strcmp(step.member->name, "pCode") == 0)
            error = note(list, &step, record, module);
    sbt_value_finish(&value);
    return error;
}

int tsm_shader_list_note(struct tsm_shader_list *list, struct sbt_reader *reader,
                         const struct sbt_record *record, const struct sbt_schema *schema)
{
    uint64_t module = 0;
    int error = 0;

    if (SBT_TYPE_API(record->type) != SBT_API_VULKAN || !schema ||
        schema->kind != SBT_KIND_CREATE || (record->flags & SBT_RECORD_FAILED))
        return 0;
    if (strcmp(schema->name, "vkCreateShaderModule") == 0)
        module = sbt_record_role(schema, record, SBT_ROLE_OBJECT, 0);
    else if (fnmatch("vkCreate*Pipelines*", schema->name, 0) != 0)
        return 0;
    for (uint32_t i = 0; i < schema->field_count && i < record->slot_count && !error; i++)
        if (schema->fields[i].type == SBT_FIELD_STRUCT)
            error = note_value(list, reader, record, i, schema->fields[i].detail, module);
    return error;
}

int tsm_shader_list_init(struct tsm_shader_list *list, struct sbt_reader *reader)
{
    const struct sbt_record *record;
    struct sbt_cursor *cursor = NULL;
    uint64_t total = sbt_reader_totals(reader)->record_count;
    int error, more = 0;

    memset(list, 0, sizeof(*list));
    error = sbt_cursor_create(&cursor, reader, NULL, 1);
    while (!error && (more = sbt_cursor_next(cursor, &record)) == 1) {
        error = tsm_shader_list_note(list, reader, record, sbt_reader_schema(reader, record->type));
        if (record->seq % 4096 == 0)
            tsm_progress("reading", record->seq, total);
    }
    sbt_cursor_destroy(cursor);
    tsm_progress_end();
    return error ? error : more;
}

void tsm_shader_list_finish(struct tsm_shader_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->shaders[i].words);
    free(list->shaders);
    tsm_map_finish(&list->places);
    memset(list, 0, sizeof(*list));
}
