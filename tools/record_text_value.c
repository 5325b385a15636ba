/* SPDX-License-Identifier: Apache-2.0
 *
 * Structured values, compact: {count=2 points=[{x=1 y=2} {x=3 y=4}] next=[Extra{more=none}]}
 */
#include "tools/record_text_value.h"

#include <string.h>

/* So much of a list is shown, and so much of a value. */
#define ITEMS_SHOWN 8u
#define STEPS_SHOWN 400u
#define TEXT_SHOWN  200u

struct value_text {
    struct tsm_record_text *t;
    uint32_t hidden; /* depth of what is left out; 0: nothing is */
    bool is_bare;    /* a struct whose only member is a list of the field's name is that list */
    bool is_first;   /* in what was opened last */
};

static bool is_list_alone(const struct sbt_struct *s, const char *field)
{
    return s->member_count == 1 && s->members[0].form == SBT_FORM_LIST &&
           !(s->flags & SBT_STRUCT_UNION) && !strcmp(s->members[0].name, field);
}

static void put_text(struct tsm_line *line, const uint8_t *text, size_t size)
{
    char shown[TEXT_SHOWN + 1];
    size_t length = size < TEXT_SHOWN ? size : TEXT_SHOWN;

    memcpy(shown, text, length);
    shown[length] = '\0';
    tsm_line_quoted(line, shown);
    if (size > length)
        tsm_line_text(line, "\u2026");
}

static void put_leaf(struct tsm_record_text *t, const struct sbt_step *step)
{
    if (step->none) {
        tsm_line_text(&t->line, "none");
    } else if (step->member->type == SBT_FIELD_STRING) {
        put_text(&t->line, step->data, step->size);
    } else if (step->member->type == SBT_FIELD_BYTES) {
        tsm_record_text_bytes(t, step->data, step->size);
    } else {
        tsm_record_text_number(t, step->member->type, step->member->detail, step->number);
    }
}

/* Space, name of the member, and of a chain's element its struct. */
static void put_step_name(struct value_text *v, const struct sbt_step *step)
{
    struct tsm_line *line = &v->t->line;

    if (!v->is_first)
        tsm_line_text(line, " ");
    if (step->member && step->index == SBT_STEP_MEMBER) {
        tsm_line_clean(line, step->member->name);
        tsm_line_text(line, "=");
    } else if (step->kind == SBT_STEP_UNKNOWN) {
        tsm_line_hex(line, step->number);
    } else if (step->member && step->member->form == SBT_FORM_CHAIN) {
        tsm_line_clean(line, step->structure->name);
    }
}

/* The step that begins what is left out prints the ellipsis. */
static bool is_hidden(struct value_text *v, const struct sbt_step *step)
{
    if (v->hidden && step->depth >= v->hidden)
        return true;
    v->hidden = 0;
    if (step->kind == SBT_STEP_CLOSE || step->index == SBT_STEP_MEMBER || step->index < ITEMS_SHOWN)
        return false;
    v->hidden = step->depth;
    tsm_line_text(&v->t->line, " \u2026");
    return true;
}

static void put_step(struct value_text *v, const struct sbt_step *step)
{
    static const char *const marks[][2] = {{"{", "}"}, {"[", "]"}, {"[", "]"}};
    struct tsm_line *line = &v->t->line;

    if (v->is_bare && step->structure && !step->member)
        return;
    if (is_hidden(v, step))
        return;
    if (step->kind == SBT_STEP_CLOSE) {
        tsm_line_text(line, marks[step->shape][1]);
        v->is_first = false;
        return;
    }
    if (!v->is_bare || step->depth > 1)
        put_step_name(v, step);
    v->is_first = step->kind == SBT_STEP_OPEN;
    if (step->kind == SBT_STEP_OPEN)
        tsm_line_text(line, marks[step->shape][0]);
    else if (step->kind == SBT_STEP_UNKNOWN)
        tsm_record_text_bytes(v->t, step->data, step->size);
    else
        put_leaf(v->t, step);
}

static void put_steps(struct tsm_record_text *t, const struct sbt_field *field,
                      const struct sbt_value *value)
{
    struct value_text v = {.t = t, .is_first = true};
    const struct sbt_struct *structure = sbt_reader_struct(t->reader, field->detail);
    struct sbt_walk walk;
    struct sbt_step step;
    unsigned steps = 0;
    int got = sbt_walk_begin(&walk, t->reader, field->detail, value->data, value->size);

    v.is_bare = structure && is_list_alone(structure, field->name);
    while (got >= 0 && steps < STEPS_SHOWN && !t->line.full &&
           (got = sbt_walk_next(&walk, &step)) == 1) {
        put_step(&v, &step);
        steps += !v.hidden;
    }
    if (got < 0)
        tsm_line_text(&t->line, "<malformed>");
    else if (got > 0)
        tsm_line_text(&t->line, " \u2026");
}

void tsm_record_text_struct(struct tsm_record_text *t, const struct sbt_record *record,
                            uint32_t index, const struct sbt_field *field)
{
    struct sbt_value value;
    int got = sbt_reader_value(t->reader, record, index, &value);

    if (got == 1)
        put_steps(t, field, &value);
    else
        tsm_line_text(&t->line, got == 0                 ? "none"
                                : got == TSM_E_NOT_FOUND ? "<missing>"
                                                         : "<malformed>");
    sbt_value_finish(&value);
}
