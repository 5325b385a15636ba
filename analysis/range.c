/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/range.h"

#include <string.h>

#include "analysis/handles.h"
#include "api/traits.h"
#include "base/map.h"

#define NEVER UINT64_MAX

struct find {
    const struct tsm_range *range;
    struct sbt_reader *reader;
    uint64_t count;      /* frames or submits that were met; labels of that name */
    uint64_t first, end; /* NEVER: not found yet; `end` is what must be reached, see settle() */
    uint64_t after;      /* after the last submit: what is recorded for the next begins there */
    uint64_t queue;  /* whose label has begun: the MARK's id, or for one in a command buffer ... */
    uint32_t stream; /* ... its number; SBT_STREAM_NONE: none */
    uint32_t thread; /* where the label has begun: labels of the id 0 nest by thread */
    unsigned depth;  /* of labels in it */
    bool is_met;     /* by this submit, so that it counts once */
    const struct sbt_record *submit;
    struct tsm_map buffers; /* id of a command buffer -> struct buffer */
};

/* A command buffer's labels; they may begin in one and end in another. */
struct buffer {
    uint16_t holds; /* the label that is looked for, or executes what holds it */
    uint16_t ends;  /* how many end that have not begun in it */
    uint16_t open;  /* how many have not ended in it */
    uint16_t left;  /* of these, from the one that is looked for on */
};
_Static_assert(sizeof(struct buffer) == sizeof(uint64_t), "it is a value of a map");

static bool is_command(const struct sbt_schema *schema, const struct sbt_record *record)
{
    return record->stream != SBT_STREAM_NONE && !(record->flags & SBT_RECORD_FAILED) &&
           (schema->kind == SBT_KIND_COMMAND || schema->kind == SBT_KIND_SIGNAL ||
            schema->kind == SBT_KIND_WAIT);
}

static bool has_trait(const struct sbt_schema *schema, uint64_t traits)
{
    return tsm_call_traits(schema).traits & traits;
}

static bool is_present(const struct sbt_schema *schema)
{
    return has_trait(schema, TSM_TRAIT_PRESENTS);
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
        f->thread = record->thread;
        f->depth = 1;
    } else if (f->first != NEVER && f->stream == SBT_STREAM_NONE && s[2] == f->queue &&
               (s[2] || record->thread == f->thread)) {
        f->depth += s[1] == 1;
        f->depth -= s[1] == 2;
        if (f->depth == 0)
            f->end = record->seq + 1;
    }
}

/* ---- labels in command buffers --------------------------------------------------------------- */

static struct buffer buffer_of(const struct find *f, const struct tsm_handle_name *name)
{
    const uint64_t *known = name->member && (tsm_object_traits(name->type) & TSM_OBJECT_RECORDING)
                                ? tsm_map_find(&f->buffers, name->id)
                                : NULL;
    struct buffer out = {0};

    if (known)
        memcpy(&out, known, sizeof(out));
    return out;
}

static int holds_label(void *user, const struct tsm_handle_name *name)
{
    return buffer_of(user, name).holds;
}

static void change_buffer(struct find *f, struct buffer *b, const struct sbt_record *record,
                          const struct sbt_schema *schema)
{
    const uint64_t traits = tsm_call_traits(schema).traits;
    char text[256];

    if (traits & TSM_TRAIT_BEGINS) {
        *b = (struct buffer){0};
    } else if (traits & TSM_TRAIT_LABEL_BEGIN) {
        tsm_handles_text(f->reader, record, schema, text, sizeof(text));
        bool is_wanted = strcmp(text, f->range->label) == 0;
        b->open++;
        b->holds |= is_wanted;
        b->left = (uint16_t)(b->left || is_wanted ? b->left + 1 : 0);
    } else if (traits & TSM_TRAIT_LABEL_END) {
        b->ends += b->open == 0;
        b->open -= b->open > 0;
        b->left -= b->left > 0;
    } else if (tsm_handles_each(f->reader, record, schema, holds_label, f)) {
        b->holds = 1;
    }
}

static int visit_buffer(struct find *f, const struct sbt_record *record,
                        const struct sbt_schema *schema)
{
    bool added;
    uint64_t *known = tsm_map_insert(&f->buffers, record->slots[0], &added);
    struct buffer b;

    if (!known)
        return tsm_fail(TSM_E_MEMORY, "no memory for labels");
    memcpy(&b, known, sizeof(b));
    change_buffer(f, &b, record, schema);
    memcpy(known, &b, sizeof(b));
    return 0;
}

static bool is_of_buffers(const struct sbt_schema *schema)
{
    return has_trait(schema, TSM_TRAIT_BEGINS | TSM_TRAIT_LABEL_BEGIN | TSM_TRAIT_LABEL_END |
                                 TSM_TRAIT_EXECUTES);
}

/* A command buffer that is submitted. */
static int visit_submitted(void *user, const struct tsm_handle_name *name)
{
    struct find *f = user;
    struct buffer b = buffer_of(f, name);

    if (f->first == NEVER && b.holds && !f->is_met) {
        f->is_met = true;
        begin_label(f, f->range->label, f->submit->seq);
        if (f->first == NEVER)
            return 0;
        f->stream = f->submit->stream;
        f->depth = b.left;
    } else if (f->first != NEVER && f->stream == f->submit->stream) {
        f->depth = b.ends < f->depth ? f->depth - b.ends + b.open : 0;
    } else {
        return 0;
    }
    if (f->depth == 0)
        f->end = f->submit->seq + 1;
    return f->end != NEVER;
}

static int visit_label(struct find *f, const struct sbt_record *record,
                       const struct sbt_schema *schema)
{
    if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_MARK)) {
        visit_mark(f, record);
    } else if (record->slot_count > 0 && is_of_buffers(schema)) {
        return visit_buffer(f, record, schema);
    } else if (is_command(schema, record)) {
        f->is_met = false;
        f->submit = record;
        tsm_handles_each(f->reader, record, schema, visit_submitted, f);
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
        return tsm_fail(
            TSM_E_NOT_FOUND,
            "%s: there are %llu labels \"%s\"; 'tsview --tree' (Vulkan) or 'tsview --calls=mark' "
            "shows which there are",
            sbt_reader_name(f->reader), (unsigned long long)f->count, f->range->label);
    return tsm_fail(TSM_E_NOT_FOUND, "%s: there are %llu %s", sbt_reader_name(f->reader),
                    (unsigned long long)f->count, names[f->range->unit]);
}

int tsm_range_find(const struct tsm_range *range, struct sbt_reader *reader, uint64_t *seq_first,
                   uint64_t *seq_end)
{
    struct find f = {
        .range = range, .reader = reader, .first = NEVER, .end = NEVER, .stream = SBT_STREAM_NONE};
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    uint64_t settled = 0;
    int error = sbt_cursor_create(&cursor, reader, NULL, 1);

    if (range->unit == TSM_RANGE_FRAMES && range->first == 0)
        f.first = 0;
    while (!error && !settled && (error = sbt_cursor_next(cursor, &record)) == 1)
        error = visit(&f, record, &settled);
    sbt_cursor_destroy(cursor);
    tsm_map_finish(&f.buffers);
    if (error < 0)
        return error;
    if (f.first == NEVER || (range->end && f.end == NEVER && f.count < range->end) ||
        (range->unit != TSM_RANGE_LABEL && f.count <= range->first && !settled))
        return not_found(&f);
    *seq_first = f.first;
    *seq_end = settled;
    return 0;
}
