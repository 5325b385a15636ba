/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vulkan/view/object_names.h"

#include "base/hash.h"
#include "base/text.h"

#include <fnmatch.h>
#include <string.h>

#define TEXT_MAX   256
#define ITEMS_MAX  1024u /* pipelines of one call that get their shaders' hashes */
#define HASH_SHOWN 8     /* digits */

/* ---- names ------------------------------------------------------------------------------- */

static int note_name(struct tsm_object_names *n, struct sbt_reader *reader,
                     const struct sbt_record *record, const struct sbt_schema *schema,
                     const char **type, uint64_t *id)
{
    char name[TEXT_MAX] = "";
    struct sbt_value value;
    struct sbt_walk walk;
    struct sbt_step step;

    *type = NULL;
    *id = 0;
    if (sbt_reader_value(reader, record, 1, &value) == 1 &&
        sbt_walk_begin(&walk, reader, schema->fields[1].detail, value.data, value.size) == 0)
        while (sbt_walk_next(&walk, &step) == 1) {
            if (step.kind != SBT_STEP_VALUE || step.depth != 1)
                continue;
            if (step.member->type == SBT_FIELD_ENUM)
                *type = sbt_reader_enum_name(reader, step.member->detail, (int64_t)step.number);
            else if (step.member->type == SBT_FIELD_HANDLE)
                *id = step.number;
            else if (step.member->type == SBT_FIELD_STRING)
                tsm_format(name, sizeof(name), "%.*s", (int)step.size, (const char *)step.data);
        }
    sbt_value_finish(&value);
    if (!*type || !*id)
        return 0;
    tsm_object_names_put(n, *type, *id, name);
    return 1;
}

/* ---- shaders ----------------------------------------------------------------------------- */

static void code_text(char out[HASH_SHOWN + 1], const struct sbt_step *step)
{
    struct sbt_key key = tsm_hash_key(step->data, step->size);
    char hash[33];

    tsm_key_text(hash, &key);
    tsm_format(out, HASH_SHOWN + 1, "%s", hash);
}

static void add_shader(char text[TEXT_MAX], const char *hash)
{
    size_t used = strlen(text);

    if (hash && *hash)
        tsm_format(text + used, TEXT_MAX - used, "%s%s", used ? " " : "", hash);
}

/* The hashes of item `item` of a list of create infos; of one that is no list, of all of it. */
static void shaders_of(const struct tsm_object_names *n, struct sbt_reader *reader,
                       const struct sbt_record *record, const struct sbt_field *field,
                       uint32_t index, uint64_t item, char text[TEXT_MAX])
{
    char hash[HASH_SHOWN + 1];
    struct sbt_value value;
    struct sbt_walk walk;
    struct sbt_step step;
    bool is_it = item == SBT_STEP_MEMBER;

    text[0] = '\0';
    if (sbt_reader_value(reader, record, index, &value) == 1 &&
        sbt_walk_begin(&walk, reader, field->detail, value.data, value.size) == 0)
        while (sbt_walk_next(&walk, &step) == 1) {
            if (step.kind == SBT_STEP_OPEN && step.depth == 2 && item != SBT_STEP_MEMBER)
                is_it = step.index == item;
            if (step.kind != SBT_STEP_VALUE || step.none || !is_it)
                continue;
            if (step.member->type == SBT_FIELD_BYTES && !strcmp(step.member->name, "pCode")) {
                code_text(hash, &step);
                add_shader(text, hash);
            } else if (step.member->type == SBT_FIELD_HANDLE &&
                       !strcmp(step.member->detail, "VkShaderModule")) {
                add_shader(text, tsm_object_shaders(n, "VkShaderModule", step.number));
            }
        }
    sbt_value_finish(&value);
}

static void note_module(struct tsm_object_names *n, struct sbt_reader *reader,
                        const struct sbt_record *record, const struct sbt_schema *schema)
{
    char text[TEXT_MAX];
    uint64_t id = sbt_record_role(schema, record, SBT_ROLE_OBJECT, 0);

    for (uint32_t i = 0; id && i < schema->field_count && i < record->slot_count; i++)
        if (schema->fields[i].type == SBT_FIELD_STRUCT) {
            shaders_of(n, reader, record, &schema->fields[i], i, SBT_STEP_MEMBER, text);
            tsm_object_shaders_put(n, "VkShaderModule", id, text);
            return;
        }
}

/* The fields are: ..., pCreateInfos, pPipelines. */
static void note_pipelines(struct tsm_object_names *n, struct sbt_reader *reader,
                           const struct sbt_record *record, const struct sbt_schema *schema)
{
    uint32_t made = schema->field_count - 1, infos = made - 1;
    char text[TEXT_MAX];
    struct sbt_value value;
    struct sbt_walk walk;
    struct sbt_step step;

    if (schema->field_count < 2 || record->slot_count < schema->field_count ||
        schema->fields[infos].type != SBT_FIELD_STRUCT ||
        schema->fields[made].type != SBT_FIELD_STRUCT)
        return;
    if (sbt_reader_value(reader, record, made, &value) == 1 &&
        sbt_walk_begin(&walk, reader, schema->fields[made].detail, value.data, value.size) == 0)
        while (sbt_walk_next(&walk, &step) == 1)
            if (step.kind == SBT_STEP_VALUE && step.number && step.index < ITEMS_MAX) {
                shaders_of(n, reader, record, &schema->fields[infos], infos, step.index, text);
                tsm_object_shaders_put(n, "VkPipeline", step.number, text);
            }
    sbt_value_finish(&value);
}

int tsm_vulkan_names_note(struct tsm_object_names *n, struct sbt_reader *reader,
                          const struct sbt_record *record, const struct sbt_schema *schema,
                          const char **type, uint64_t *id)
{
    if (record->flags & SBT_RECORD_FAILED)
        return 0;
    if (strcmp(schema->name, "vkSetDebugUtilsObjectNameEXT") == 0 && record->slot_count == 2)
        return note_name(n, reader, record, schema, type, id);
    if (strcmp(schema->name, "vkCreateShaderModule") == 0)
        note_module(n, reader, record, schema);
    else if (fnmatch("vkCreate*Pipelines*", schema->name, 0) == 0)
        note_pipelines(n, reader, record, schema);
    return 0;
}
