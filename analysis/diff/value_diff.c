/* SPDX-License-Identifier: Apache-2.0
 *
 * Two structured values, step by step. What stands in the bytes is compared as fields are: handles
 * and addresses correspond, host pointers do not matter. So equal values may have other bytes.
 */
#include "analysis/diff/field_diff.h"

#include <string.h>

#include "base/text.h"

/* Two walks, and what they have opened. Members are those of the first trace. */
struct pair {
    struct tsm_field_diff *out;
    const struct tsm_field_diff_input *in;
    const struct sbt_field *field;
    struct sbt_walk walks[2];
    struct sbt_step open[SBT_VALUE_DEPTH_MAX];
    struct sbt_step steps[2]; /* the present ones */
};

/* ---- where ---- */

static void add(char *path, size_t size, const char *format, const char *text)
{
    size_t used = strlen(path);

    if (used + 1 < size)
        tsm_format(path + used, size - used, format, text);
}

/* A struct that only holds the list of the field's name is passed over. */
static bool is_list_alone(const struct pair *p, const struct sbt_step *step)
{
    const struct sbt_struct *root = p->open[0].structure;

    return step->depth == 1 && root && root->member_count == 1 && step->index == SBT_STEP_MEMBER &&
           !strcmp(step->member->name, p->field->name);
}

static void add_step(struct pair *p, const struct sbt_step *step)
{
    char number[24];
    char *path = p->out->path;
    size_t size = sizeof(p->out->path);

    if (!step->member || is_list_alone(p, step))
        return;
    if (step->index == SBT_STEP_MEMBER) {
        add(path, size, ".%s", step->member->name);
    } else if (step->member->form == SBT_FORM_CHAIN && step->structure) {
        add(path, size, "[%s]", step->structure->name);
    } else {
        tsm_format(number, sizeof(number), "%llu", (unsigned long long)step->index);
        add(path, size, "[%s]", number);
    }
}

static const char *path_of(struct pair *p)
{
    const struct sbt_step *step = &p->steps[0];

    tsm_format(p->out->path, sizeof(p->out->path), "%s", p->field->name);
    for (uint32_t i = 0; i < step->depth && i < SBT_VALUE_DEPTH_MAX; i++)
        add_step(p, &p->open[i]);
    if (step->kind != SBT_STEP_CLOSE)
        add_step(p, step);
    return p->out->path;
}

/* ---- what ---- */

static void tell(char *out, size_t size, const struct sbt_step *step)
{
    if (step->none)
        tsm_format(out, size, "none");
    else if (step->kind == SBT_STEP_OPEN && step->shape == SBT_SHAPE_LIST)
        tsm_format(out, size, "a list of %llu", (unsigned long long)step->number);
    else if (step->kind == SBT_STEP_OPEN && step->shape == SBT_SHAPE_CHAIN)
        tsm_format(out, size, "a chain");
    else if (step->kind == SBT_STEP_OPEN)
        tsm_format(out, size, "struct %s", step->structure->name);
    else if (step->kind == SBT_STEP_CLOSE)
        tsm_format(out, size, "the end");
    else if (step->kind == SBT_STEP_UNKNOWN)
        tsm_format(out, size, "an unknown struct %#llx", (unsigned long long)step->number);
    else
        tsm_format(out, size, "%s", step->member->name);
}

static int others(struct pair *p)
{
    char a[100], b[100];

    tell(a, sizeof(a), &p->steps[0]);
    tell(b, sizeof(b), &p->steps[1]);
    /* The path of a longer chain names the element that the other chain lacks. */
    if (p->steps[0].kind == SBT_STEP_CLOSE)
        p->steps[0] = p->steps[1];
    return tsm_field_diff_texts(p->out, path_of(p), a, b);
}

static bool same_member(const struct sbt_member *a, const struct sbt_member *b)
{
    return !a || !b ? a == b
                    : a->type == b->type && a->form == b->form && !strcmp(a->name, b->name);
}

static bool are_alike(const struct sbt_step *a, const struct sbt_step *b)
{
    if (a->kind != b->kind || a->none != b->none || a->shape != b->shape || a->depth != b->depth ||
        a->index != b->index || !same_member(a->member, b->member))
        return false;
    if (a->kind == SBT_STEP_OPEN && a->shape == SBT_SHAPE_LIST)
        return a->number == b->number;
    if (a->kind == SBT_STEP_OPEN && a->shape == SBT_SHAPE_STRUCT)
        return !strcmp(a->structure->name, b->structure->name);
    return a->kind != SBT_STEP_UNKNOWN || a->number == b->number;
}

static int compare_texts(struct pair *p)
{
    const struct sbt_step *a = &p->steps[0], *b = &p->steps[1];
    char texts[2][100];

    if (a->size == b->size && !memcmp(a->data, b->data, a->size))
        return 0;
    for (int i = 0; i < 2; i++) {
        size_t size = p->steps[i].size < sizeof(texts[i]) ? p->steps[i].size : sizeof(texts[i]) - 1;
        memcpy(texts[i], p->steps[i].data, size);
        texts[i][size] = '\0';
    }
    return tsm_field_diff_texts(p->out, path_of(p), texts[0], texts[1]);
}

static int compare_steps(struct pair *p)
{
    const struct sbt_step *a = &p->steps[0], *b = &p->steps[1];
    int result = 0;

    if (!are_alike(a, b))
        return others(p);
    if (a->kind == SBT_STEP_OPEN)
        p->open[a->depth] = *a;
    if (a->kind == SBT_STEP_OPEN || a->kind == SBT_STEP_CLOSE || a->none)
        return 0;
    if (a->kind == SBT_STEP_UNKNOWN || a->member->type == SBT_FIELD_BYTES)
        result = tsm_field_diff_bytes(p->out, p->out->path, a->data, a->size, b->data, b->size);
    else if (a->member->type == SBT_FIELD_STRING)
        return compare_texts(p);
    else
        result = tsm_field_diff_number(p->out, p->in, p->out->path, a->member->type,
                                       a->member->detail, a->number, b->number);
    if (result)
        path_of(p);
    return result;
}

/* ---- values ---- */

static int compare_values(struct pair *p, const struct sbt_value values[2])
{
    int got[2] = {0, 0}, result = 0;

    for (int i = 0; i < 2; i++)
        got[i] =
            sbt_walk_begin(&p->walks[i], p->in->readers[i],
                           p->in->schemas[i]->fields[p->field - p->in->schemas[0]->fields].detail,
                           values[i].data, values[i].size);
    while (!result && got[0] >= 0 && got[1] >= 0) {
        for (int i = 0; i < 2; i++)
            got[i] = sbt_walk_next(&p->walks[i], &p->steps[i]);
        if (got[0] == 0 && got[1] == 0)
            return 0;
        if (got[0] == 1 && got[1] == 1)
            result = compare_steps(p);
    }
    if (result)
        return result;
    if (got[0] >= 0 || got[1] >= 0)
        return tsm_field_diff_texts(p->out, p->field->name, got[0] < 0 ? "malformed" : "a value",
                                    got[1] < 0 ? "malformed" : "a value");
    return tsm_field_diff_unknown(p->out, p->field->name, "malformed");
}

/* Compares two values of which one is absent or cannot be read: they agree if the records say the
 * same of both. */
static int compare_absent(struct pair *p, uint32_t index, const int got[2])
{
    static const char *const words[] = {"none", "a value"};
    const uint8_t *a = NULL, *b = NULL;
    size_t size_a = 0, size_b = 0;

    if (sbt_record_bytes(p->in->records[0], index, &a, &size_a) ==
            sbt_record_bytes(p->in->records[1], index, &b, &size_b) &&
        size_a == size_b && (size_a == 0 || !memcmp(a, b, size_a)))
        return got[0] < 0 || got[1] < 0
                   ? tsm_field_diff_unknown(p->out, p->field->name, "malformed or missing")
                   : 0;
    return tsm_field_diff_texts(p->out, p->field->name,
                                got[0] < 0 ? "missing bytes" : words[got[0]],
                                got[1] < 0 ? "missing bytes" : words[got[1]]);
}

int tsm_value_diff(struct tsm_field_diff *out, const struct tsm_field_diff_input *in,
                   uint32_t index)
{
    struct pair p = {.out = out, .in = in, .field = &in->schemas[0]->fields[index]};
    struct sbt_value values[2] = {{0}};
    int got[2] = {0, 0}, result = 0;

    if (index >= in->schemas[1]->field_count ||
        in->schemas[1]->fields[index].type != SBT_FIELD_STRUCT)
        return tsm_field_diff_texts(out, p.field->name, "a structured value", "another type");
    for (int i = 0; i < 2; i++) {
        got[i] = sbt_reader_value(in->readers[i], in->records[i], index, &values[i]);
        if (got[i] == TSM_E_MEMORY)
            result = got[i];
    }
    if (!result)
        result = got[0] == 1 && got[1] == 1 ? compare_values(&p, values)
                                            : compare_absent(&p, index, got);
    sbt_value_finish(&values[0]);
    sbt_value_finish(&values[1]);
    return result;
}
