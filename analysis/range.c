/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/range.h"

#include <string.h>

#include "analysis/handles.h"
#include "format/map.h"

#define NEVER UINT64_MAX

struct find {
    const struct tsm_range *range;
    struct sbt_reader *reader;
    uint64_t count;      /* frames or submits that were met; labels of that name */
    uint64_t first, end; /* NEVER: not found yet; `end` is what must be reached, see settle() */
    uint64_t after;      /* behind the last submit: what is recorded for the next begins there */
    uint64_t queue;      /* whose label has begun */
    unsigned depth;      /* of labels in it */
    struct sbt_map labelled; /* command buffers that hold the label: id -> 1 */
};

static bool is_command(const struct sbt_schema *schema, const struct sbt_record *record)
{
    return record->stream != SBT_STREAM_NONE && !(record->flags & SBT_RECORD_FAILED) &&
           (schema->kind == SBT_KIND_COMMAND || schema->kind == SBT_KIND_SIGNAL ||
            schema->kind == SBT_KIND_WAIT);
}

static bool is_present(const struct sbt_schema *schema)
{
    return strcmp(schema->name, "vkQueuePresentKHR") == 0;
}

/* ---- frames and submits ---------------------------------------------------------------------- */

static void visit_frame(struct find *f, const struct sbt_record *record,
                        const struct sbt_schema *schema)
{
    if (!is_command(schema, record) || !is_present(schema))
        return;
    f->count++;
    if (f->count == f->range->first)
        f->first = record->seq + 1;
    if (f->count == f->range->end)
        f->end = record->seq + 1;
}

static void visit_submit(struct find *f, const struct sbt_record *record,
                         const struct sbt_schema *schema)
{
    if (!is_command(schema, record) || is_present(schema))
        return;
    if (f->count == f->range->first)
        f->first = f->after;
    f->after = record->seq + 1;
    if (f->range->end && f->count == f->range->end)
        f->end = record->seq;
    f->count++;
}

/* ---- labels ---------------------------------------------------------------------------------- */

static void begin_label(struct find *f, const char *name, uint64_t seq)
{
    if (strcmp(name, f->range->label) == 0 && ++f->count == f->range->place)
        f->first = seq;
}

/* docs/FORMAT.md 10, "mark": name, phase, id. */
static void visit_mark(struct find *f, const struct sbt_record *record)
{
    const uint64_t *s = record->slots;
    const char *name =
        record->slot_count >= 3 ? sbt_reader_string(f->reader, (uint32_t)s[0]) : NULL;

    if (record->slot_count < 3 || f->end != NEVER)
        return;
    if (f->first == NEVER && s[1] == 1 && name) {
        begin_label(f, name, record->seq);
        f->queue = s[2];
        f->depth = 1;
    } else if (f->first != NEVER && s[2] == f->queue) {
        f->depth += s[1] == 1;
        f->depth -= s[1] == 2;
        if (f->depth == 0)
            f->end = record->seq + 1;
    }
}

static int is_labelled(void *user, const struct tsm_handle_name *name)
{
    const struct find *f = user;
    const uint64_t *known = name->member && strcmp(name->type, "VkCommandBuffer") == 0
                                ? sbt_map_find(&f->labelled, name->id)
                                : NULL;

    return known && *known;
}

static int visit_command_buffer(struct find *f, const struct sbt_record *record,
                                const struct sbt_schema *schema, bool begins)
{
    char text[256];
    bool added;
    uint64_t *known = sbt_map_insert(&f->labelled, record->slots[0], &added);

    if (!known)
        return tsm_fail(TSM_E_MEMORY, "no memory for labels");
    tsm_handles_text(f->reader, record, schema, text, sizeof(text));
    *known = !begins && strcmp(text, f->range->label) == 0 ? 1 : begins ? 0 : *known;
    return 0;
}

static int visit_label(struct find *f, const struct sbt_record *record,
                       const struct sbt_schema *schema)
{
    bool begins = strcmp(schema->name, "vkBeginCommandBuffer") == 0;

    if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_MARK)) {
        visit_mark(f, record);
    } else if (record->slot_count > 0 &&
               (begins || strcmp(schema->name, "vkCmdBeginDebugUtilsLabelEXT") == 0)) {
        return visit_command_buffer(f, record, schema, begins);
    } else if (f->first == NEVER && is_command(schema, record) &&
               tsm_handles_each(f->reader, record, schema, is_labelled, f)) {
        begin_label(f, f->range->label, record->seq);
        if (f->first != NEVER)
            f->end = record->seq + 1;
    }
    return 0;
}

/* ---- the pass -------------------------------------------------------------------------------- */

static int visit(struct find *f, const struct sbt_record *record, uint64_t *settled)
{
    const struct sbt_schema *schema = sbt_reader_schema(f->reader, record->type);

    if (!schema)
        return 0;
    if (f->end != NEVER && record->seq >= f->end && is_command(schema, record)) {
        *settled = record->seq;
        return 0;
    }
    if (f->end != NEVER)
        return 0;
    if (f->range->unit == TSM_RANGE_LABEL)
        return visit_label(f, record, schema);
    if (f->range->unit == TSM_RANGE_FRAMES)
        visit_frame(f, record, schema);
    else
        visit_submit(f, record, schema);
    if (f->end != NEVER && f->range->unit == TSM_RANGE_SUBMITS)
        *settled = f->end;
    return 0;
}

static int not_found(const struct find *f)
{
    static const char *const names[] = {
        [TSM_RANGE_FRAMES] = "frames", [TSM_RANGE_SUBMITS] = "submits"};

    if (f->range->unit == TSM_RANGE_LABEL)
        return tsm_fail(TSM_E_NOT_FOUND, "%s: there are %llu labels \"%s\"",
                        sbt_reader_name(f->reader), (unsigned long long)f->count, f->range->label);
    return tsm_fail(TSM_E_NOT_FOUND, "%s: there are %llu %s", sbt_reader_name(f->reader),
                    (unsigned long long)f->count, names[f->range->unit]);
}

int tsm_range_find(const struct tsm_range *range, struct sbt_reader *reader, uint64_t *seq_first,
                   uint64_t *seq_end)
{
    struct find f = {.range = range, .reader = reader, .first = NEVER, .end = NEVER};
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    uint64_t settled = 0;
    int error = sbt_cursor_create(&cursor, reader, NULL, 1);

    if (range->unit == TSM_RANGE_FRAMES && range->first == 0)
        f.first = 0;
    while (!error && !settled && (error = sbt_cursor_next(cursor, &record)) == 1)
        error = visit(&f, record, &settled);
    sbt_cursor_destroy(cursor);
    sbt_map_finish(&f.labelled);
    if (error < 0)
        return error;
    if (f.first == NEVER || (range->end && f.end == NEVER && f.count < range->end) ||
        (range->unit != TSM_RANGE_LABEL && f.count <= range->first && !settled))
        return not_found(&f);
    *seq_first = f.first;
    *seq_end = settled;
    return 0;
}
