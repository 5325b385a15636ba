/* SPDX-License-Identifier: Apache-2.0 */
#include "format/json.h"

#include "base/text.h"

#include <string.h>

static void put(struct tsm_buffer *out, const char *text)
{
    tsm_buffer_add(out, text, strlen(text));
}

static bool is_first(const struct tsm_buffer *out)
{
    uint8_t last = out->size ? out->data[out->size - 1] : 0;

    return last == '{' || last == '[';
}

static bool in_chain(const struct sbt_step *step)
{
    return step->member && step->member->form == SBT_FORM_CHAIN && step->index != SBT_STEP_MEMBER;
}

/* Comma and name. An element of a chain is an object of its own, with its struct's name. */
static void put_name(struct tsm_buffer *out, const struct sbt_step *step)
{
    char unknown[16];
    const char *name = unknown;

    if (!step->member)
        return;
    if (!is_first(out))
        put(out, ",");
    if (in_chain(step)) {
        put(out, "{");
        tsm_format(unknown, sizeof(unknown), "0x%08x", (unsigned)step->number);
        if (step->structure)
            name = step->structure->name;
    } else if (step->index == SBT_STEP_MEMBER) {
        name = step->member->name;
    } else {
        return;
    }
    sbt_json_string(out, name, strlen(name));
    put(out, ":");
}

static void put_leaf(struct tsm_buffer *out, const struct sbt_reader *r,
                     const struct sbt_step *step)
{
    if (step->none)
        put(out, "null");
    else if (step->member->type == SBT_FIELD_STRING)
        sbt_json_string(out, (const char *)step->data, step->size);
    else if (step->member->type == SBT_FIELD_BYTES)
        sbt_json_bytes(out, step->data, step->size);
    else
        sbt_json_number(out, r, step->member->type, step->member->detail, step->number);
}

static void put_step(struct tsm_buffer *out, const struct sbt_reader *r,
                     const struct sbt_step *step)
{
    bool is_struct = step->shape == SBT_SHAPE_STRUCT;

    if (step->kind != SBT_STEP_CLOSE)
        put_name(out, step);
    switch (step->kind) {
    case SBT_STEP_VALUE:
        put_leaf(out, r, step);
        return;
    case SBT_STEP_OPEN:
        put(out, is_struct ? "{" : "[");
        return;
    case SBT_STEP_CLOSE:
        put(out, is_struct ? "}" : "]");
        break;
    case SBT_STEP_UNKNOWN:
        sbt_json_bytes(out, step->data, step->size);
        break;
    }
    if (in_chain(step))
        put(out, "}");
}

/* False when the value is malformed: what was put of it is taken back. */
static bool put_value(struct tsm_buffer *out, const struct sbt_reader *r, const char *name,
                      const struct sbt_value *value)
{
    size_t before = out->size;
    struct sbt_walk walk;
    struct sbt_step step;
    int got = sbt_walk_begin(&walk, r, name, value->data, value->size);

    while (got >= 0 && (got = sbt_walk_next(&walk, &step)) == 1)
        put_step(out, r, &step);
    if (got == 0)
        return true;
    if (!out->failed)
        out->size = before;
    return false;
}

void sbt_json_value(struct tsm_buffer *out, struct sbt_reader *r, const char *name,
                    const struct sbt_record *record, uint32_t i)
{
    struct sbt_value value;
    int got = sbt_reader_value(r, record, i, &value);
    char missing[48];

    if (got == 0) {
        put(out, "null");
    } else if (got == TSM_E_NOT_FOUND) {
        tsm_format(missing, sizeof(missing), "{\"missing_blob\":%llu}",
                   (unsigned long long)value.size);
        put(out, missing);
    } else if (got == TSM_E_MEMORY) {
        out->failed = true;
    } else if (got < 0 || !put_value(out, r, name, &value)) {
        put(out, "\"malformed\"");
    }
    sbt_value_finish(&value);
}
