/* SPDX-License-Identifier: Apache-2.0
 *
 * A command on a queue and what is in it, as text or JSON.
 */
#include "api/vulkan/view/submit_tree_class.h"

#include "api/traits.h"
#include "base/text.h"
#include "format/json.h"
#include "tools/terminal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SEQ_COLUMNS = 9, TIME_COLUMNS = 14, STREAM_COLUMN = 25, TREE_COLUMN = 30, STEP = 2 };
#define LABEL_SIZE 256
#define DEPTH_MAX  24u /* of command buffers that execute others: a damaged trace may have loops */

/* ---- lines --------------------------------------------------------------------------------- */

static struct tsm_text_line *begin_line(struct tsm_tree *t, const struct sbt_record *record,
                                        unsigned depth)
{
    struct tsm_text_line *line = &t->text.line;

    if (record)
        tsm_text_line_right(line, record->seq, SEQ_COLUMNS);
    if (record && record->stream != SBT_STREAM_NONE) {
        tsm_text_line_time(line, record->time_ns, TIME_COLUMNS);
        tsm_text_line_pad(line, STREAM_COLUMN);
        tsm_text_line_text(line, "s");
        tsm_text_line_u64(line, record->stream);
    }
    if (!line->columns)
        tsm_text_line_text(line, " ");
    tsm_text_line_pad(line, TREE_COLUMN + STEP * depth);
    return line;
}

static void end_line(struct tsm_tree *t)
{
    tsm_text_line_write(&t->text.line, stdout);
}

static void put_object(struct tsm_tree *t, const char *type, uint64_t id)
{
    const char *name = tsm_object_name(&t->names, type, id);
    struct tsm_text_line *line = &t->text.line;

    tsm_text_line_clean(line, type);
    tsm_text_line_text(line, "#");
    tsm_text_line_u64(line, id);
    if (name) {
        tsm_text_line_text(line, " ");
        tsm_text_line_quoted(line, name);
    }
}

static void put_painted(struct tsm_tree *t, enum tsm_paint paint, const char *text)
{
    tsm_text_line_escape(&t->text.line, tsm_paint(paint));
    tsm_text_line_clean(&t->text.line, text);
    tsm_text_line_escape(&t->text.line, tsm_paint(TSM_PAINT_NONE));
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void json_record(struct tsm_tree *t, const struct sbt_record *record)
{
    tsm_buffer_clear(&t->line);
    if (sbt_json_record(&t->line, t->reader, record) != 0)
        tsm_text_line_lost();
    else if (t->line.size)
        tsm_json_raw(&t->json, t->line.data, t->line.size - 1);
}

static void json_object(struct tsm_tree *t, const char *type, uint64_t id)
{
    char text[96];

    tsm_format(text, sizeof(text), "%s#%" PRIu64, type, id);
    tsm_json_put_string(&t->json, "id", text);
    tsm_json_put_string(&t->json, "name", tsm_object_name(&t->names, type, id));
}

void tsm_tree_show_name(struct tsm_tree *t, const struct sbt_record *record, const char *type,
                        uint64_t id)
{
    tsm_json_open(&t->json, '{');
    tsm_json_put_u64(&t->json, "seq", record->seq);
    tsm_json_put_string(&t->json, "object_type", type);
    tsm_json_put_u64(&t->json, "object", id);
    tsm_json_put_string(&t->json, "name", tsm_object_name(&t->names, type, id));
    tsm_json_end(&t->json);
    t->json.comma = false;
}

/* ---- what is in a command buffer ----------------------------------------------------------- */

struct nest {
    struct tsm_tree *t;
    unsigned depth;   /* of lines */
    unsigned buffers; /* command buffers in each other */
    unsigned labels;  /* that are open in this command buffer */
    uint64_t submit_seq;
    const struct sbt_record *submit; /* its place is all that is read */
    uint32_t *buffer;                /* place of the command buffer in the submit */
    uint32_t *command;               /* number of the last command in it */
};

static void show_buffer(struct nest *n, uint64_t id);

static void show_label(struct nest *n, const struct sbt_record *record, bool opens)
{
    struct tsm_tree *t = n->t;
    char name[LABEL_SIZE];

    tsm_tree_label(t, record, name, sizeof(name));
    if (t->options->json) {
        tsm_json_open(&t->json, '{');
        tsm_json_put_u64(&t->json, "seq", record->seq);
        tsm_json_put_string(&t->json, "label", name);
        if (opens) {
            tsm_json_name(&t->json, "commands");
            tsm_json_open(&t->json, '[');
        } else {
            tsm_json_close(&t->json, '}');
        }
    } else {
        begin_line(t, record, n->depth);
        put_painted(t, TSM_PAINT_BOLD, name);
        end_line(t);
    }
    n->labels += opens;
    n->depth += opens;
}

/* Closes a label; one that was begun in another command buffer is not open here. */
static void end_label(struct nest *n)
{
    if (!n->labels)
        return;
    n->labels--;
    n->depth--;
    if (n->t->options->json) {
        tsm_json_close(&n->t->json, ']');
        tsm_json_close(&n->t->json, '}');
    }
}

static void visit_buffer(void *user, const char *member, uint64_t id)
{
    tsm_buffer_add_u64(user, id);
}

/* Shows all command buffers that the record names. Finds them first, because showing one reads
 * other records. */
static void show_buffers(struct nest *n, const struct sbt_record *record)
{
    struct tsm_buffer ids = {0};

    tsm_tree_handles(n->t, record, "VkCommandBuffer", visit_buffer, &ids);
    for (size_t at = 0; at < ids.size; at += sizeof(uint64_t)) {
        uint64_t id;
        memcpy(&id, ids.data + at, sizeof(id));
        if (!n->buffers)
            *n->command = 0;
        show_buffer(n, id);
        *n->buffer += !n->buffers;
    }
    tsm_buffer_finish(&ids);
}

static void show_executed(struct nest *n, const struct sbt_record *record)
{
    struct nest inner = {n->t,          n->depth + 1, n->buffers + 1, 0,
                         n->submit_seq, n->submit,    n->buffer,      n->command};

    if (n->t->options->json) {
        tsm_json_open(&n->t->json, '{');
        tsm_json_put_u64(&n->t->json, "seq", record->seq);
        tsm_json_put_string(&n->t->json, "call", "vkCmdExecuteCommands");
        tsm_json_name(&n->t->json, "command_buffers");
        tsm_json_open(&n->t->json, '[');
    } else {
        begin_line(n->t, record, n->depth);
        tsm_text_line_text(&n->t->text.line, "vkCmdExecuteCommands");
        end_line(n->t);
    }
    if (inner.buffers < DEPTH_MAX)
        show_buffers(&inner, record);
    if (n->t->options->json) {
        tsm_json_close(&n->t->json, ']');
        tsm_json_close(&n->t->json, '}');
    }
}

/* Returns the time of a command that is work of its own; counts these. */
static const struct tsm_gpu_time *command_time(struct nest *n, const struct sbt_record *record,
                                               const struct sbt_schema *schema)
{
    if (!(tsm_call_traits(schema).traits & TSM_TRAIT_WORKS))
        return NULL;
    ++*n->command;
    return tsm_tree_time(n->t, n->submit, *n->buffer, *n->command);
}

static void json_command(struct tsm_tree *t, const struct sbt_record *record,
                         const struct tsm_gpu_time *time)
{
    if (!time) {
        json_record(t, record);
        return;
    }
    tsm_json_open(&t->json, '{');
    tsm_json_name(&t->json, "record");
    json_record(t, record);
    tsm_json_put_u64(&t->json, "gpu_start_ns", time->start_ns);
    tsm_json_put_u64(&t->json, "gpu_duration_ns", time->duration_ns);
    tsm_json_put_bool(&t->json, "gpu_calibrated", time->is_calibrated);
    tsm_json_close(&t->json, '}');
}

static void put_time(struct tsm_tree *t, const struct tsm_gpu_time *time, const char *before)
{
    char text[64];

    tsm_format(text, sizeof(text), "%s%.3f us", before, (double)time->duration_ns / 1e3);
    put_painted(t, TSM_PAINT_GOOD, text);
}

static void show_command(struct nest *n, const struct sbt_record *record,
                         const struct sbt_schema *schema, bool binds)
{
    const struct tsm_gpu_time *time = command_time(n, record, schema);
    struct tsm_tree *t = n->t;
    const char *shaders;

    if (t->options->json) {
        json_command(t, record, time);
        return;
    }
    begin_line(t, record, n->depth);
    tsm_record_text_call(&t->text, record, 1);
    shaders = binds && record->slot_count > 2
                  ? tsm_object_shaders(&t->names, "VkPipeline", record->slots[2])
                  : NULL;
    if (shaders) {
        tsm_text_line_text(&t->text.line, " shaders ");
        tsm_text_line_clean(&t->text.line, shaders);
    }
    if (time)
        put_time(t, time, " GPU ");
    end_line(t);
}

static void show_recorded(struct nest *n, uint64_t seq)
{
    const struct sbt_record *record = tsm_tree_command(n->t, seq);
    const struct sbt_schema *schema;
    enum tsm_tree_class class = record ? tsm_tree_class(n->t, record, &schema) : TSM_TREE_OTHER;

    switch (class) {
    case TSM_TREE_OTHER:
        break;
    case TSM_TREE_LABEL_BEGIN:
    case TSM_TREE_LABEL_POINT:
        show_label(n, record, class == TSM_TREE_LABEL_BEGIN);
        break;
    case TSM_TREE_LABEL_END:
        end_label(n);
        break;
    case TSM_TREE_EXECUTE:
        show_executed(n, record);
        break;
    default:
        show_command(n, record, schema, class == TSM_TREE_BIND_PIPELINE);
    }
}

static void show_buffer_head(struct nest *n, uint64_t id, const struct tsm_recording *r)
{
    struct tsm_tree *t = n->t;

    if (t->options->json) {
        tsm_json_open(&t->json, '{');
        json_object(t, "VkCommandBuffer", id);
        tsm_json_put_u64(&t->json, "begin_seq", r->begin_seq);
        tsm_json_put_u64(&t->json, "command_count", r->count);
        tsm_json_put_u64(&t->json, "shown_seq", r->shown_seq ? r->shown_seq : n->submit_seq);
        return;
    }
    begin_line(t, NULL, n->depth);
    put_object(t, "VkCommandBuffer", id);
    tsm_text_line_text(&t->text.line, ": ");
    tsm_text_line_u64(&t->text.line, r->count);
    tsm_text_line_text(&t->text.line, r->count == 1 ? " command" : " commands");
    if (r->shown_seq) {
        tsm_text_line_text(&t->text.line, ", as at ");
        tsm_text_line_u64(&t->text.line, r->shown_seq);
    }
    end_line(t);
}

static void show_buffer(struct nest *n, uint64_t id)
{
    struct tsm_recording *r = tsm_tree_recording(n->t, id);
    struct nest inner = {n->t,          n->depth + 1, n->buffers, 0,
                         n->submit_seq, n->submit,    n->buffer,  n->command};

    const uint32_t before = *n->command;

    if (!r)
        return;
    show_buffer_head(n, id, r);
    if (r->shown_seq) {
        *n->command += r->numbered;
    } else {
        r->shown_seq = n->submit_seq;
        if (n->t->options->json) {
            tsm_json_name(&n->t->json, "commands");
            tsm_json_open(&n->t->json, '[');
        }
        for (uint64_t i = 0; i < r->count; i++)
            show_recorded(&inner, r->seqs[i]);
        while (inner.labels)
            end_label(&inner);
        r->numbered = *n->command - before;
        if (n->t->options->json)
            tsm_json_close(&n->t->json, ']');
        free(r->seqs);
        r->seqs = NULL;
        r->capacity = 0;
    }
    if (n->t->options->json)
        tsm_json_close(&n->t->json, '}');
}

/* ---- a command on a queue ------------------------------------------------------------------ */

struct semaphores {
    struct tsm_tree *t;
    const char *last; /* how the list is called that the last one was in */
};

static void visit_semaphore(void *user, const char *member, uint64_t id)
{
    struct semaphores *s = user;
    bool waits = strncmp(member, "pWait", 5) == 0;
    const char *word = waits ? " waits for " : " signals ";

    tsm_text_line_text(&s->t->text.line, s->last == word ? ", " : word);
    put_object(s->t, "VkSemaphore", id);
    s->last = word;
}

static void put_times(struct tsm_tree *t, const struct sbt_record *record)
{
    const struct tsm_gpu_time *time;

    for (uint32_t part = 0; (time = tsm_tree_time(t, record, part, 0)); part++)
        put_time(t, time, part ? ", " : " GPU ");
}

static void show_text(struct tsm_tree *t, const struct sbt_record *record,
                      const struct sbt_schema *schema, unsigned depth)
{
    bool is_submit = strncmp(schema->name, "vkQueueSubmit", 13) == 0;
    struct semaphores s = {t, ""};

    begin_line(t, record, depth);
    if (is_submit) {
        put_painted(t, TSM_PAINT_NAME, schema->name);
        tsm_text_line_text(&t->text.line, " ");
        put_object(t, "VkQueue", record->slot_count ? record->slots[0] : 0);
        tsm_tree_handles(t, record, "VkSemaphore", visit_semaphore, &s);
        put_times(t, record);
    } else {
        tsm_record_text_call(&t->text, record, 0);
    }
    end_line(t);
}

static void json_times(struct tsm_tree *t, const struct sbt_record *record)
{
    const struct tsm_gpu_time *time;

    tsm_json_name(&t->json, "gpu");
    tsm_json_open(&t->json, '[');
    for (uint32_t part = 0; (time = tsm_tree_time(t, record, part, 0)); part++) {
        tsm_json_open(&t->json, '{');
        tsm_json_put_u64(&t->json, "part", part);
        tsm_json_put_u64(&t->json, "start_ns", time->start_ns);
        tsm_json_put_u64(&t->json, "duration_ns", time->duration_ns);
        tsm_json_put_bool(&t->json, "calibrated", time->is_calibrated);
        tsm_json_close(&t->json, '}');
    }
    tsm_json_close(&t->json, ']');
}

static void json_head(struct tsm_tree *t, const struct sbt_record *record,
                      const struct tsm_queue_labels *labels)
{
    tsm_json_open(&t->json, '{');
    tsm_json_put_u64(&t->json, "frame", t->frame);
    tsm_json_name(&t->json, "labels");
    tsm_json_open(&t->json, '[');
    for (uint32_t i = 0; labels && i < labels->depth && i < TSM_TREE_LABELS_MAX; i++)
        tsm_json_string(&t->json, labels->names[i]);
    tsm_json_close(&t->json, ']');
    tsm_json_name(&t->json, "record");
    json_record(t, record);
    json_times(t, record);
    tsm_json_name(&t->json, "command_buffers");
    tsm_json_open(&t->json, '[');
}

/* Headings of the frame, and of labels that the queue has open. */
static unsigned show_headings(struct tsm_tree *t, struct tsm_queue_labels *labels)
{
    char text[48];
    uint32_t depth = labels && t->frame_shown ? labels->shown : 0;

    if (!t->frame_shown) {
        tsm_format(text, sizeof(text), "frame %" PRIu64, t->frame);
        put_painted(t, TSM_PAINT_BOLD, text);
        end_line(t);
    }
    t->frame_shown = true;
    for (; labels && depth < labels->depth && depth < TSM_TREE_LABELS_MAX; depth++) {
        begin_line(t, NULL, depth);
        put_painted(t, TSM_PAINT_BOLD, labels->names[depth] ? labels->names[depth] : "");
        end_line(t);
    }
    if (labels)
        labels->shown = depth;
    return depth;
}

void tsm_tree_show(struct tsm_tree *t, const struct sbt_record *record,
                   const struct sbt_schema *schema)
{
    struct tsm_queue_labels *labels =
        record->slot_count ? tsm_tree_queue(t, record->slots[0]) : NULL;
    const struct sbt_record submit = *record; /* others are read meanwhile */
    uint32_t buffer = 0, command = 0;
    struct nest n = {t, 1, 0, 0, record->seq, &submit, &buffer, &command};

    if (t->options->json) {
        json_head(t, record, labels);
    } else {
        unsigned depth = show_headings(t, labels);
        show_text(t, record, schema, depth);
        n.depth += depth;
    }
    show_buffers(&n, record);
    if (t->options->json) {
        tsm_json_close(&t->json, ']');
        tsm_json_end(&t->json);
        t->json.comma = false;
    }
}
