/* SPDX-License-Identifier: Apache-2.0
 *
 * Structured values, compact: {count=2 points=[{x=1 y=2} {x=3 y=4}] next=[Extra{more=none}]}
 */
#include "tools/text/record_value.h"

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

static void put_text(struct tsm_text_line *line, const uint8_t *text, size_t size)
{
    char shown[TEXT_SHOWN + 1];
    size_t length = size < TEXT_SHOWN ? size : TEXT_SHOWN;

    memcpy(shown, text, length);
    shown[length] = '\0';
    tsm_text_line_quoted(line, shown);
    if (size > length)
        tsm_text_line_text(line, "\u2026");
}

static void put_leaf(struct tsm_record_text *t, const struct sbt_step *step)
{
    if (step->none) {
        tsm_text_line_text(&t->line, "none");
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
    struct tsm_text_line *line = &v->t->line;

    if (!v->is_first)
        tsm_text_line_text(line, " ");
    if (step->member && step->index == SBT_STEP_MEMBER) {
        tsm_text_line_clean(line, step->member->name);
        tsm_text_line_text(line, "=");
    } else if (step->kind == SBT_STEP_UNKNOWN) {
        tsm_text_line_hex(line, step->number);
    } else if (step->member && step->member->form == SBT_FORM_CHAIN) {
        tsm_text_line_clean(line, step->structure->name);
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
    tsm_text_line_text(&v->t->line, " \u2026");
    return true;
}

static void put_step(struct value_text *v, const struct sbt_step *step)
{
    static const char *const marks[][2] = {{"{", "}"}, {"[", "]"}, {"[", "]"}};
    struct tsm_text_line *line = &v->t->line;

    if (v->is_bare && step->structure && !step->member)
        return;
    if (is_hidden(v, step))
        return;
    if (step->kind == SBT_STEP_CLOSE) {
        tsm_text_line_text(line, marks[step->shape][1]);
        v->is_first = false;
        return;
    }
    if (!v->is_bare || step->depth > 1)
        put_step_name(v, step);
    v->is_first = step->kind == SBT_STEP_OPEN;
    if (step->kind == SBT_STEP_OPEN)
        tsm_text_line_text(line, marks[step->shape][0]);
    else if (step->kind == SBT_STEP_UNKNOWN)
        tsm_record_text_bytes(v->t, step->data, step->size);
    else
        put_leaf(v->t, step);
}

/* Tests whether this is the first step of a member of the whole value. */
static bool is_member(const struct sbt_step *step)
{
    return step->depth == 1 && step->kind != SBT_STEP_CLOSE && step->index == SBT_STEP_MEMBER;
}

/* Its bit. */
static uint64_t member_bit(const struct sbt_step *step, const struct sbt_struct *whole)
{
    size_t place = (size_t)(step->member - whole->members);

    return 1ull << (place < 63 ? place : 63);
}

/* `shown`: bits of the members that are not left out. */
static void put_steps(struct tsm_record_text *t, const struct sbt_field *field,
                      const struct sbt_value *value, uint64_t shown)
{
    struct value_text v = {.t = t, .is_first = true};
    const struct sbt_struct *structure = sbt_reader_struct(t->reader, field->detail);
    struct sbt_walk walk;
    struct sbt_step step;
    unsigned steps = 0;
    bool skip = false;
    int got = sbt_walk_begin(&walk, t->reader, field->detail, value->data, value->size);

    v.is_bare = structure && is_list_alone(structure, field->name);
    while (got >= 0 && steps < STEPS_SHOWN && !t->line.full &&
           (got = sbt_walk_next(&walk, &step)) == 1) {
        if (step.depth == 0)
            skip = false;
        else if (structure && is_member(&step))
            skip = !(shown & member_bit(&step, structure));
        if (skip)
            continue;
        put_step(&v, &step);
        steps += !v.hidden;
    }
    if (got < 0)
        tsm_text_line_text(&t->line, "<malformed>");
    else if (got > 0)
        tsm_text_line_text(&t->line, " \u2026");
}

void tsm_record_text_members(struct tsm_record_text *t, const struct sbt_record *record,
                             uint32_t index, const struct sbt_field *field, uint64_t shown)
{
    struct sbt_value value;
    int got = sbt_reader_value(t->reader, record, index, &value);

    if (got == 1)
        put_steps(t, field, &value, shown);
    else
        tsm_text_line_text(&t->line, got == 0                 ? "none"
                                : got == TSM_E_NOT_FOUND ? "<missing>"
                                                         : "<malformed>");
    sbt_value_finish(&value);
}

void tsm_record_text_struct(struct tsm_record_text *t, const struct sbt_record *record,
                            uint32_t index, const struct sbt_field *field)
{
    tsm_record_text_members(t, record, index, field, UINT64_MAX);
}

/* ---- comparing -------------------------------------------------------------------------------- */

/* Hash of each member of a value. */
struct likeness {
    uint64_t hashes[64];
    uint64_t none; /* bits of members that are no list, text or bytes at all */
};

static void mix(uint64_t *hash, const void *data, size_t size)
{
    const uint8_t *p = data;

    for (size_t i = 0; i < size; i++)
        *hash = (*hash ^ p[i]) * 0x100000001b3u;
}

/* Hashes the members of a value. Returns false if there is no such value or it is malformed. */
static bool liken(struct likeness *out, struct sbt_reader *reader, const struct sbt_record *record,
                  uint32_t index, const struct sbt_struct *structure)
{
    struct sbt_value value;
    struct sbt_walk walk;
    struct sbt_step step;
    uint64_t bit = 0;
    int got = sbt_reader_value(reader, record, index, &value);

    *out = (struct likeness){0};
    if (got == 1)
        got = sbt_walk_begin(&walk, reader, structure->name, value.data, value.size) < 0 ? -1 : 1;
    while (got == 1 && (got = sbt_walk_next(&walk, &step)) == 1) {
        bit = is_member(&step) ? member_bit(&step, structure) : bit;
        if (!bit || step.depth == 0)
            continue;
        uint64_t *hash = &out->hashes[__builtin_ctzll(bit)];
        mix(hash, &step.kind, sizeof(step.kind));
        mix(hash, &step.number, sizeof(step.number));
        mix(hash, step.data, step.data ? step.size : 0);
        if (is_member(&step) && step.none)
            out->none |= bit;
    }
    sbt_value_finish(&value);
    return got == 0 && bit;
}

uint64_t tsm_record_text_compare(struct sbt_reader *reader, const struct sbt_record *record,
                                 uint32_t a, uint32_t b, const struct sbt_field *field)
{
    const struct sbt_struct *structure = sbt_reader_struct(reader, field->detail);
    struct likeness first, second;
    uint64_t differ = 0;

    if (!structure || !liken(&first, reader, record, a, structure) ||
        !liken(&second, reader, record, b, structure))
        return UINT64_MAX;
    for (uint32_t i = 0; i < 64; i++)
        if (first.hashes[i] != second.hashes[i])
            differ |= 1ull << i;
    return differ & ~second.none;
}
