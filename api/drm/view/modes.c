/* SPDX-License-Identifier: Apache-2.0 */
#include "api/drm/view/modes.h"

#include "api/drm/describe.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define NAME_COUNT_MAX 65536u

/* ---- what a struct says -------------------------------------------------------------------------
 */

/* A walk through the struct in a slot that has this name. */
struct struct_walk {
    struct sbt_value value;
    struct sbt_walk walk;
};

/* Finish in any case. */
static bool walk_begin(struct struct_walk *w, struct sbt_reader *reader,
                       const struct sbt_record *record, const char *name)
{
    const struct sbt_schema *schema = sbt_reader_schema(reader, record->type);

    *w = (struct struct_walk){0};
    for (uint32_t i = DRM_SLOT_COMMON; schema && i < schema->field_count; i++)
        if (!strcmp(schema->fields[i].name, name))
            return sbt_reader_value(reader, record, i, &w->value) == 1 &&
                   sbt_walk_begin(&w->walk, reader, schema->fields[i].detail, w->value.data,
                                  w->value.size) >= 0;
    return false;
}

/* A member that is a number, or a text. */
static bool find_member(struct sbt_reader *reader, const struct sbt_record *record,
                        const char *structure, const char *member, uint64_t *number,
                        char text[static 32])
{
    struct struct_walk w;
    struct sbt_step step;
    bool found = false;

    if (walk_begin(&w, reader, record, structure))
        while (!found && sbt_walk_next(&w.walk, &step) == 1)
            if (step.kind == SBT_STEP_VALUE && step.depth == 1 && step.member &&
                !strcmp(step.member->name, member)) {
                found = true;
                *number = step.number;
                if (step.data)
                    tsm_format(text, 32, "%.*s", (int)step.size, (const char *)step.data);
            }
    sbt_value_finish(&w.value);
    return found;
}

/* ---- names --------------------------------------------------------------------------------------
 */

void tsm_modes_finish(struct tsm_modes *modes)
{
    free(modes->names);
    *modes = (struct tsm_modes){0};
}

static const char *name_of(const struct tsm_modes *modes, uint64_t device, uint64_t id)
{
    for (uint32_t i = 0; i < modes->count; i++)
        if (modes->names[i].id == id && modes->names[i].device == device)
            return modes->names[i].name;
    return NULL;
}

static bool add_name(struct tsm_modes *modes, uint64_t device, uint64_t id, const char *name)
{
    if (name_of(modes, device, id) || modes->count == NAME_COUNT_MAX)
        return true;
    if (!TSM_ARRAY_RESIZE(modes->names, modes->count + 1))
        return false;
    modes->names[modes->count] = (struct tsm_mode_name){.device = device, .id = (uint32_t)id};
    tsm_format(modes->names[modes->count++].name, sizeof(modes->names->name), "%s", name);
    return true;
}

static const char *type_name(uint64_t type)
{
    switch (type) {
    case 0xcccccccc:
        return "crtc";
    case 0xc0c0c0c0:
        return "connector";
    case 0xeeeeeeee:
        return "plane";
    default:
        return NULL;
    }
}

bool tsm_modes_note(struct tsm_modes *modes, struct sbt_reader *reader,
                    const struct sbt_record *record, uint64_t device)
{
    const struct sbt_schema *schema = sbt_reader_schema(reader, record->type);
    uint64_t id = 0, type = 0;
    char name[32] = "", unused[32];

    if (!schema || record->result < 0)
        return true;
    if (!strcmp(schema->name, "DRM_IOCTL_MODE_GETPROPERTY")) {
        if (find_member(reader, record, "out", "prop_id", &id, unused) &&
            find_member(reader, record, "out", "name", &type, name) && name[0])
            return add_name(modes, device, id, name);
    } else if (!strcmp(schema->name, "DRM_IOCTL_MODE_OBJ_GETPROPERTIES")) {
        if (find_member(reader, record, "in", "obj_id", &id, unused) &&
            find_member(reader, record, "in", "obj_type", &type, unused) &&
            type_name(type & UINT32_MAX))
            return add_name(modes, device, id, type_name(type & UINT32_MAX));
    }
    return true;
}

/* ---- a commit -----------------------------------------------------------------------------------
 */

static const char *const list_names[] = {"objs_ptr", "count_props_ptr", "props_ptr",
                                         "prop_values_ptr"};

enum { OBJECTS, COUNTS, PROPERTIES, VALUES, LIST_COUNT };

static void collect(struct tsm_buffer lists[static LIST_COUNT], const struct sbt_step *step)
{
    for (int i = 0; i < LIST_COUNT; i++)
        if (step->kind == SBT_STEP_VALUE && step->depth == 2 && step->member &&
            !strcmp(step->member->name, list_names[i]))
            tsm_buffer_add_u64(&lists[i], step->number);
}

static bool number_at(const struct tsm_buffer *list, uint64_t index, uint64_t *out)
{
    if (list->failed || index >= list->size / 8)
        return false;
    memcpy(out, list->data + 8 * index, 8);
    return true;
}

static void put_property(struct tsm_record_text *t, const char *name, uint64_t id, uint64_t value)
{
    if (name)
        tsm_text_line_clean(&t->line, name);
    else
        tsm_text_line_u64(&t->line, id);
    tsm_text_line_text(&t->line, "=");
    tsm_text_line_u64(&t->line, value);
}

static void put_commit(struct tsm_record_text *t, const struct tsm_modes *modes,
                       const struct tsm_buffer lists[static LIST_COUNT], uint64_t device)
{
    uint64_t object, count, id, value, at = 0;

    for (uint64_t i = 0;
         number_at(&lists[OBJECTS], i, &object) && number_at(&lists[COUNTS], i, &count); i++) {
        const char *type = name_of(modes, device, object);
        tsm_text_line_text(&t->line, ", ");
        tsm_text_line_clean(&t->line, type ? type : "object");
        tsm_text_line_text(&t->line, "#");
        tsm_text_line_u64(&t->line, object);
        tsm_text_line_text(&t->line, " {");
        for (uint64_t k = 0; k < count && number_at(&lists[PROPERTIES], at, &id) &&
                             number_at(&lists[VALUES], at, &value);
             k++, at++) {
            if (k)
                tsm_text_line_text(&t->line, " ");
            put_property(t, name_of(modes, device, id), id, value);
        }
        tsm_text_line_text(&t->line, "}");
    }
}

void tsm_modes_put(struct tsm_record_text *t, const struct tsm_modes *modes,
                   const struct sbt_record *record, uint64_t device)
{
    const struct sbt_schema *schema = sbt_reader_schema(t->reader, record->type);
    struct tsm_buffer lists[LIST_COUNT] = {0};
    struct struct_walk w;
    struct sbt_step step;

    if (!schema || strcmp(schema->name, "DRM_IOCTL_MODE_ATOMIC") != 0)
        return;
    if (walk_begin(&w, t->reader, record, "in"))
        while (sbt_walk_next(&w.walk, &step) == 1)
            collect(lists, &step);
    sbt_value_finish(&w.value);
    put_commit(t, modes, lists, device);
    for (int i = 0; i < LIST_COUNT; i++)
        tsm_buffer_finish(&lists[i]);
}
