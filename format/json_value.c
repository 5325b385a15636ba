/* SPDX-License-Identifier: Apache-2.0 */
#include "format/json.h"

#include "base/text.h"

static bool in_chain(const struct sbt_step *step)
{
    return step->member && step->member->form == SBT_FORM_CHAIN && step->index != SBT_STEP_MEMBER;
}

/* Writes the name of a member. An element of a chain is an object of its own, with its struct's
 * name. */
static void put_name(struct tsm_json *j, const struct sbt_step *step)
{
    char unknown[16];

    if (in_chain(step)) {
        tsm_format(unknown, sizeof(unknown), "0x%08x", (unsigned)step->number);
        tsm_json_open(j, '{');
        tsm_json_name(j, step->structure ? step->structure->name : unknown);
    } else if (step->member && step->index == SBT_STEP_MEMBER) {
        tsm_json_name(j, step->member->name);
    }
}

static void put_leaf(struct tsm_json *j, const struct sbt_reader *r, const struct sbt_step *step)
{
    if (step->none)
        tsm_json_string(j, NULL);
    else if (step->member->type == SBT_FIELD_STRING)
        tsm_json_text(j, step->data, step->size);
    else if (step->member->type == SBT_FIELD_BYTES)
        tsm_json_bytes(j, step->data, step->size);
    else
        sbt_json_number(j, r, step->member->type, step->member->detail, step->number);
}

static void put_step(struct tsm_json *j, const struct sbt_reader *r, const struct sbt_step *step)
{
    bool is_struct = step->shape == SBT_SHAPE_STRUCT;

    if (step->kind != SBT_STEP_CLOSE)
        put_name(j, step);
    switch (step->kind) {
    case SBT_STEP_VALUE:
        put_leaf(j, r, step);
        return;
    case SBT_STEP_OPEN:
        tsm_json_open(j, is_struct ? '{' : '[');
        return;
    case SBT_STEP_CLOSE:
        tsm_json_close(j, is_struct ? '}' : ']');
        break;
    case SBT_STEP_UNKNOWN:
        tsm_json_bytes(j, step->data, step->size);
        break;
    }
    if (in_chain(step))
        tsm_json_close(j, '}');
}

/* Returns false when the value is malformed: what was written of it is taken back. */
static bool put_value(struct tsm_json *j, const struct sbt_reader *r, const char *name,
                      const struct sbt_value *value)
{
    const struct tsm_json before = *j;
    const size_t size = j->buffer->size;
    struct sbt_walk walk;
    struct sbt_step step;
    int got = sbt_walk_begin(&walk, r, name, value->data, value->size);

    while (got >= 0 && (got = sbt_walk_next(&walk, &step)) == 1)
        put_step(j, r, &step);
    if (got == 0)
        return true;
    if (!j->buffer->failed)
        j->buffer->size = size;
    *j = before;
    return false;
}

void sbt_json_value(struct tsm_json *j, struct sbt_reader *r, const char *name,
                    const struct sbt_record *record, uint32_t i)
{
    struct sbt_value value;
    int got = sbt_reader_value(r, record, i, &value);

    if (got == 0) {
        tsm_json_string(j, NULL);
    } else if (got == TSM_E_NOT_FOUND) {
        tsm_json_open(j, '{');
        tsm_json_put_u64(j, "missing_blob", value.size);
        tsm_json_close(j, '}');
    } else if (got == TSM_E_MEMORY) {
        j->buffer->failed = true;
    } else if (got < 0 || !put_value(j, r, name, &value)) {
        tsm_json_string(j, "malformed");
    }
    sbt_value_finish(&value);
}
