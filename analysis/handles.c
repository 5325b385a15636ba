/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/handles.h"

#include <string.h>

/* Elements of a list, too, are steps whose member is the list's. */
static int visit_value(struct sbt_walk *walk, uint32_t field,
                       int (*visit)(void *, const struct tsm_handle_name *), void *user)
{
    struct sbt_step step;
    int error = 0;

    while (!error && sbt_walk_next(walk, &step) == 1) {
        if (step.kind != SBT_STEP_VALUE || !step.member || step.none ||
            step.member->type != SBT_FIELD_HANDLE || !step.number)
            continue;
        const struct tsm_handle_name name = {step.member->detail, step.number, field,
                                             step.member->name, step.depth};
        error = visit(user, &name);
    }
    return error;
}

int tsm_handles_each(struct sbt_reader *reader, const struct sbt_record *record,
                     const struct sbt_schema *schema,
                     int (*visit)(void *user, const struct tsm_handle_name *name), void *user)
{
    int error = 0;

    for (uint32_t i = 0; i < schema->field_count && i < record->slot_count && !error; i++) {
        const struct sbt_field *field = &schema->fields[i];
        if (field->type == SBT_FIELD_HANDLE && record->slots[i]) {
            const struct tsm_handle_name name = {field->detail, record->slots[i], i, NULL, 0};
            error = visit(user, &name);
        } else if (field->type == SBT_FIELD_STRUCT) {
            struct sbt_value value;
            struct sbt_walk walk;
            if (sbt_reader_value(reader, record, i, &value) == 1 &&
                sbt_walk_begin(&walk, reader, field->detail, value.data, value.size) == 0)
                error = visit_value(&walk, i, visit, user);
            sbt_value_finish(&value);
        }
    }
    return error;
}

static bool find_text(struct sbt_walk *walk, char *out, size_t size)
{
    struct sbt_step step;

    while (sbt_walk_next(walk, &step) == 1) {
        if (step.kind != SBT_STEP_VALUE || !step.member || step.none ||
            step.member->type != SBT_FIELD_STRING)
            continue;
        size_t length = step.size < size - 1 ? step.size : size - 1;
        memcpy(out, step.data, length);
        out[length] = '\0';
        return true;
    }
    return false;
}

void tsm_handles_text(struct sbt_reader *reader, const struct sbt_record *record,
                      const struct sbt_schema *schema, char *out, size_t size)
{
    bool found = false;

    *out = '\0';
    for (uint32_t i = 0; i < schema->field_count && i < record->slot_count && !found; i++) {
        struct sbt_value value;
        struct sbt_walk walk;
        if (schema->fields[i].type != SBT_FIELD_STRUCT)
            continue;
        if (sbt_reader_value(reader, record, i, &value) == 1 &&
            sbt_walk_begin(&walk, reader, schema->fields[i].detail, value.data, value.size) == 0)
            found = find_text(&walk, out, size);
        sbt_value_finish(&value);
    }
}
