/* SPDX-License-Identifier: Apache-2.0
 *
 * The walk: what is recorded is noted, what is sent is shown.
 */
#include "api/vulkan/view/submit_tree_state.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/text.h"
#include "tools/terminal.h"
#include "api/vulkan/view/submit_tree_class.h"
#include "format/filter.h"

#include <stdlib.h>
#include <string.h>

/* ---- classes ------------------------------------------------------------------------------- */

static enum tsm_tree_class class_by_name(const struct sbt_schema *schema)
{
    static const struct {
        const char *name;
        enum tsm_tree_class class;
    } names[] = {
        {"vkBeginCommandBuffer", TSM_TREE_BEGIN},
        {"vkCmdBeginDebugUtilsLabelEXT", TSM_TREE_LABEL_BEGIN},
        {"vkCmdDebugMarkerBeginEXT", TSM_TREE_LABEL_BEGIN},
        {"vkCmdEndDebugUtilsLabelEXT", TSM_TREE_LABEL_END},
        {"vkCmdDebugMarkerEndEXT", TSM_TREE_LABEL_END},
        {"vkCmdInsertDebugUtilsLabelEXT", TSM_TREE_LABEL_POINT},
        {"vkCmdDebugMarkerInsertEXT", TSM_TREE_LABEL_POINT},
        {"vkCmdExecuteCommands", TSM_TREE_EXECUTE},
        {"vkCmdBindPipeline", TSM_TREE_BIND_PIPELINE},
        {"vkQueueBeginDebugUtilsLabelEXT", TSM_TREE_QUEUE_LABEL_BEGIN},
        {"vkQueueEndDebugUtilsLabelEXT", TSM_TREE_QUEUE_LABEL_END},
        {"vkQueuePresentKHR", TSM_TREE_PRESENT},
        {"vkSetDebugUtilsObjectNameEXT", TSM_TREE_NAME},
        {"vkCreateShaderModule", TSM_TREE_NAME},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i].name, schema->name) == 0)
            return names[i].class;
    if (strncmp(schema->name, "vkCmd", 5) == 0)
        return TSM_TREE_COMMAND;
    if (schema->kind == SBT_KIND_CREATE && strstr(schema->name, "Pipelines"))
        return TSM_TREE_NAME;
    return schema->kind == SBT_KIND_COMMAND ? TSM_TREE_SENT : TSM_TREE_OTHER;
}

enum tsm_tree_class tsm_tree_class(struct tsm_tree *t, const struct sbt_record *record,
                                   const struct sbt_schema **schema)
{
    uint8_t *known = &t->classes[SBT_TYPE_CALL(record->type)];

    *schema = NULL;
    if (SBT_TYPE_API(record->type) != SBT_API_VULKAN || *known == TSM_TREE_OTHER)
        return TSM_TREE_OTHER;
    *schema = sbt_reader_schema(t->reader, record->type);
    if (!*known)
        *known = (uint8_t)(*schema ? class_by_name(*schema) : TSM_TREE_OTHER);
    return (enum tsm_tree_class) * known;
}

/* ---- command buffers ----------------------------------------------------------------------- */

struct tsm_recording *tsm_tree_recording(struct tsm_tree *t, uint64_t id)
{
    bool added;
    uint64_t *place = tsm_map_insert(&t->recordings, id, &added);

    if (place && added)
        *place = (uint64_t)(uintptr_t)calloc(1, sizeof(struct tsm_recording));
    return place ? (struct tsm_recording *)(uintptr_t)*place : NULL;
}

static int note_recorded(struct tsm_tree *t, const struct sbt_record *record, bool begins)
{
    struct tsm_recording *r = record->slot_count ? tsm_tree_recording(t, record->slots[0]) : NULL;

    if (!r)
        return record->slot_count ? tsm_fail(TSM_E_MEMORY, "no memory for command buffers") : 0;
    if (begins) {
        r->begin_seq = record->seq;
        r->count = r->shown_seq = 0;
        return 0;
    }
    return TSM_ARRAY_PUSH(r->seqs, r->count, r->capacity, record->seq)
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for command buffers");
}

const struct sbt_record *tsm_tree_command(struct tsm_tree *t, uint64_t seq)
{
    const struct sbt_record *record;

    if (sbt_cursor_seek(t->commands, seq) < 0 || sbt_cursor_next(t->commands, &record) != 1)
        return NULL;
    return record->seq == seq ? record : NULL;
}

/* ---- parts of records ---------------------------------------------------------------------- */

struct visit {
    const char *type;
    void (*visit)(void *user, const char *member, uint64_t id);
    void *user;
};

static void visit_value(struct tsm_tree *t, const struct sbt_record *record, uint32_t index,
                        const char *struct_name, const struct visit *v)
{
    const char *list = "";
    struct sbt_value value;
    struct sbt_walk walk;
    struct sbt_step step;
    bool more = sbt_reader_value(t->reader, record, index, &value) == 1 &&
                sbt_walk_begin(&walk, t->reader, struct_name, value.data, value.size) == 0;

    while (more && sbt_walk_next(&walk, &step) == 1) {
        if (!step.member)
            continue;
        if (step.kind == SBT_STEP_OPEN && step.shape == SBT_SHAPE_LIST)
            list = step.member->name;
        else if (step.kind == SBT_STEP_VALUE && !step.none && step.number &&
                 step.member->type == SBT_FIELD_HANDLE && strcmp(step.member->detail, v->type) == 0)
            v->visit(v->user, list, step.number);
    }
    sbt_value_finish(&value);
}

void tsm_tree_handles(struct tsm_tree *t, const struct sbt_record *record, const char *type,
                      void (*visit)(void *user, const char *member, uint64_t id), void *user)
{
    const struct sbt_schema *schema = sbt_reader_schema(t->reader, record->type);
    const struct visit v = {type, visit, user};

    for (uint32_t i = 0; schema && i < schema->field_count && i < record->slot_count; i++)
        if (schema->fields[i].type == SBT_FIELD_STRUCT)
            visit_value(t, record, i, schema->fields[i].detail, &v);
}

void tsm_tree_label(struct tsm_tree *t, const struct sbt_record *record, char *out, size_t size)
{
    const struct sbt_schema *schema = sbt_reader_schema(t->reader, record->type);
    struct sbt_value value;
    struct sbt_walk walk;
    struct sbt_step step;

    *out = '\0';
    if (!schema || schema->field_count < 2 || record->slot_count < 2 ||
        schema->fields[1].type != SBT_FIELD_STRUCT)
        return;
    if (sbt_reader_value(t->reader, record, 1, &value) == 1 &&
        sbt_walk_begin(&walk, t->reader, schema->fields[1].detail, value.data, value.size) == 0)
        while (!*out && sbt_walk_next(&walk, &step) == 1)
            if (step.kind == SBT_STEP_VALUE && step.member &&
                step.member->type == SBT_FIELD_STRING && step.size)
                tsm_format(out, size, "%.*s", (int)step.size, (const char *)step.data);
    sbt_value_finish(&value);
}

/* ---- queues -------------------------------------------------------------------------------- */

struct tsm_queue_labels *tsm_tree_queue(const struct tsm_tree *t, uint64_t id)
{
    const uint64_t place = tsm_map_get(&t->queue_places, id, 0);

    return place ? &t->queues[place - 1] : NULL;
}

/* NULL: no memory. */
static struct tsm_queue_labels *add_queue(struct tsm_tree *t, uint64_t id)
{
    bool added;
    uint64_t *place = tsm_map_insert(&t->queue_places, id, &added);

    if (!place)
        return NULL;
    if (!*place) {
        if (!TSM_ARRAY_PUSH(t->queues, t->queue_count, t->queue_capacity,
                            (struct tsm_queue_labels){0}))
            return NULL;
        *place = t->queue_count;
    }
    return &t->queues[*place - 1];
}

static void begin_queue_label(struct tsm_tree *t, const struct sbt_record *record)
{
    struct tsm_queue_labels *q = record->slot_count ? add_queue(t, record->slots[0]) : NULL;
    char name[256];

    if (!q)
        return;
    tsm_tree_label(t, record, name, sizeof(name));
    if (q->depth < TSM_TREE_LABELS_MAX)
        q->names[q->depth] = strdup(name);
    q->depth++;
}

static void end_queue_label(struct tsm_tree *t, const struct sbt_record *record)
{
    struct tsm_queue_labels *q = record->slot_count ? tsm_tree_queue(t, record->slots[0]) : NULL;

    if (!q || !q->depth)
        return;
    q->depth--;
    q->shown = q->shown < q->depth ? q->shown : q->depth;
    if (q->depth < TSM_TREE_LABELS_MAX)
        free(q->names[q->depth]);
}

/* ---- the walk ------------------------------------------------------------------------------ */

static bool is_wanted(const struct tsm_tree *t, const struct sbt_record *record)
{
    const struct sbt_filter *f = &t->options->filter;

    return sbt_filter_has_stream(f, record->stream) && sbt_filter_in_range(f, record);
}

static void sent(struct tsm_tree *t, const struct sbt_record *record,
                 const struct sbt_schema *schema, bool is_present)
{
    if (is_wanted(t, record)) {
        tsm_tree_show(t, record, schema);
        t->shown++;
    }
    if (is_present && !(record->flags & SBT_RECORD_FAILED)) {
        t->frame++;
        t->frame_shown = false;
    }
}

static void note_name(struct tsm_tree *t, const struct sbt_record *record,
                      const struct sbt_schema *schema)
{
    const char *type;
    uint64_t id;

    if (tsm_vulkan_names_note(&t->names, t->reader, record, schema, &type, &id) && t->options->json)
        tsm_tree_show_name(t, record, type, id);
}

static int note(struct tsm_tree *t, const struct sbt_record *record)
{
    const struct sbt_schema *schema;
    enum tsm_tree_class class = tsm_tree_class(t, record, &schema);

    switch (class) {
    case TSM_TREE_OTHER:
        return 0;
    case TSM_TREE_NAME:
        note_name(t, record, schema);
        return 0;
    case TSM_TREE_QUEUE_LABEL_BEGIN:
        begin_queue_label(t, record);
        return 0;
    case TSM_TREE_QUEUE_LABEL_END:
        end_queue_label(t, record);
        return 0;
    case TSM_TREE_PRESENT:
    case TSM_TREE_SENT:
        sent(t, record, schema, class == TSM_TREE_PRESENT);
        return 0;
    default:
        return note_recorded(t, record, class == TSM_TREE_BEGIN);
    }
}

static int walk(struct tsm_tree *t, struct sbt_cursor *cursor)
{
    uint64_t total = sbt_reader_totals(t->reader)->record_count;
    const struct sbt_record *record;
    int error = 0, more = 0;

    while (!error && (!t->options->limit || t->shown < t->options->limit) && !ferror(stdout) &&
           (more = sbt_cursor_next(cursor, &record)) == 1) {
        error = note(t, record);
        if (record->seq % 4096 == 0)
            tsm_progress("reading", record->seq, total);
    }
    return error ? error : more < 0 ? more : 0;
}

/* ---- GPU times: they come after the submits that they are of ------------------------------ */

static uint64_t time_key(uint64_t stream, uint64_t position, uint64_t part, uint64_t command)
{
    const uint64_t parts[] = {stream, position, part, command};

    return tsm_hash64(parts, sizeof(parts));
}

const struct tsm_gpu_time *tsm_tree_time(const struct tsm_tree *t, const struct sbt_record *record,
                                         uint32_t part, uint32_t command)
{
    const uint64_t *place =
        tsm_map_find(&t->gpu_times, time_key(record->stream, record->position, part, command));
    const struct tsm_gpu_time *time = place && *place ? &t->times[*place - 1] : NULL;

    return time && time->stream == record->stream && time->position == record->position &&
                   time->part == part && time->command == command
               ? time
               : NULL;
}

static int note_time(struct tsm_tree *t, const struct sbt_record *record)
{
    const uint64_t *s = record->slots;
    const uint64_t command =
        record->slot_count > SBT_GPU_TIME_COMMAND ? s[SBT_GPU_TIME_COMMAND] : 0;
    uint64_t *place, part;
    bool added;

    if (record->slot_count < 6)
        return 0;
    part = command ? s[SBT_GPU_TIME_BUFFER] : s[2];
    if (!TSM_ARRAY_PUSH(t->times, t->time_count, t->time_capacity,
                        (struct tsm_gpu_time){s[0], s[1], part, command, s[3], s[4], s[5] & 1}))
        return tsm_fail(TSM_E_MEMORY, "no memory for times");
    place = tsm_map_insert(&t->gpu_times, time_key(s[0], s[1], part, command), &added);
    if (place)
        *place = t->time_count;
    return place ? 0 : tsm_fail(TSM_E_MEMORY, "no memory for times");
}

static int read_times(struct tsm_tree *t)
{
    uint32_t type = SBT_TYPE(SBT_API_CORE, SBT_CORE_GPU_TIME);
    const struct sbt_record *record;
    struct sbt_cursor *cursor = NULL;
    int error, more = 0;

    if (!sbt_reader_schema(t->reader, type))
        return 0;
    error = sbt_cursor_create(&cursor, t->reader, NULL, 1);
    while (!error && (more = sbt_cursor_next(cursor, &record)) == 1)
        if (record->type == type)
            error = note_time(t, record);
    sbt_cursor_destroy(cursor);
    return error ? error : more;
}

/* ---- all of it ----------------------------------------------------------------------------- */

static void finish(struct tsm_tree *t)
{
    for (size_t i = 0; i < t->recordings.capacity; i++)
        if (t->recordings.slots[i].used) {
            struct tsm_recording *r = (void *)(uintptr_t)t->recordings.slots[i].value;
            free(r ? r->seqs : NULL);
            free(r);
        }
    for (size_t i = 0; i < t->queue_count; i++)
        for (uint32_t k = 0; k < t->queues[i].depth && k < TSM_TREE_LABELS_MAX; k++)
            free(t->queues[i].names[k]);
    free(t->queues);
    tsm_map_finish(&t->queue_places);
    free(t->times);
    free(t->classes);
    tsm_map_finish(&t->recordings);
    tsm_map_finish(&t->gpu_times);
    sbt_cursor_destroy(t->commands);
    tsm_object_names_finish(&t->names);
    tsm_record_text_finish(&t->text);
    tsm_buffer_finish(&t->line);
}

static int show_all(struct tsm_tree *t)
{
    const struct sbt_filter filter = {.seq_end = t->options->filter.seq_end};
    struct sbt_cursor *cursor = NULL;
    int error = read_times(t);

    if (!error)
        error = sbt_cursor_create(&t->commands, t->reader, NULL, 0);
    if (!error)
        error = sbt_cursor_create(&cursor, t->reader, &filter, 1);
    if (!error)
        error = walk(t, cursor);
    sbt_cursor_destroy(cursor);
    tsm_progress_end();
    return error;
}

int tsm_submit_tree(struct sbt_reader *reader, const struct tsm_tree_options *options)
{
    struct tsm_tree t = {.reader = reader, .options = options, .frame = 1, .json.out = stdout};
    int status = TSM_EXIT_OK;

    tsm_record_text_init(&t.text, reader);
    t.text.names = &t.names;
    t.classes = calloc(65536, 1);
    if (options->json) {
        tsm_json_begin(&t.json, "tstree/1");
        tsm_json_put_string(&t.json, "trace", sbt_reader_name(reader));
        tsm_json_end(&t.json);
        t.json.comma = false;
    }
    if (!t.classes)
        status = tsm_complain("no memory");
    else if (show_all(&t) < 0)
        status = tsm_complain_error();
    if (status == TSM_EXIT_OK && !t.shown)
        tsm_note("%s: nothing was sent to a Vulkan queue", sbt_reader_name(reader));
    finish(&t);
    return status;
}
