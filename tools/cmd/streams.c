/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command.h"

#include "base/array.h"
#include "base/map.h"
#include "format/json.h"
#include "tools/terminal.h"
#include "tools/text/json_out.h"
#include "tools/text/line.h"
#include "tools/trace_open.h"

#include <stdlib.h>

struct streams_values {
    bool json;
};

static const struct tsm_option options[] = {
    {.name = "json",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(streams_values, json),
     .help = "One JSON object, schema \"tsstreams/1\"."},
    {0},
};

struct stream {
    uint32_t number;
    uint32_t api; /* of its first record */
    uint64_t record_count, command_count;
    uint64_t first_seq, last_seq;
    uint64_t first_ns, last_ns;
};

struct streams {
    struct sbt_reader *reader;
    struct stream *all; /* sorted by number when everything was counted */
    size_t count, capacity;
    struct tsm_map index; /* number -> index + 1 in `all` */
};

/* ---- counting -------------------------------------------------------------------------------- */

/* Returns the record's stream, or NULL when out of memory. */
static struct stream *find(struct streams *s, const struct sbt_record *record)
{
    bool added;
    uint64_t *index = tsm_map_insert(&s->index, record->stream, &added);
    const struct stream fresh = {.number = record->stream,
                                 .api = SBT_TYPE_API(record->type),
                                 .first_seq = record->seq,
                                 .first_ns = record->time_ns};

    if (!index)
        return NULL;
    if (!*index) {
        if (!TSM_ARRAY_PUSH(s->all, s->count, s->capacity, fresh))
            return NULL;
        *index = s->count;
    }
    return &s->all[*index - 1];
}

static int count_record(struct streams *s, const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(s->reader, record->type);
    struct stream *stream;

    if (record->stream == SBT_STREAM_NONE)
        return 0;
    stream = find(s, record);
    if (!stream)
        return tsm_fail(TSM_E_MEMORY, "no memory to count streams with");
    stream->record_count++;
    stream->command_count += schema && !(record->flags & SBT_RECORD_CAPTURED) &&
                             (schema->kind == SBT_KIND_COMMAND || schema->kind == SBT_KIND_SIGNAL ||
                              schema->kind == SBT_KIND_WAIT);
    stream->last_seq = record->seq;
    stream->last_ns = record->time_ns + record->duration_ns;
    return 0;
}

static int by_number(const void *a, const void *b)
{
    const struct stream *x = a, *y = b;

    return x->number < y->number ? -1 : x->number > y->number;
}

static int count_all(struct streams *s)
{
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    int error = sbt_cursor_create(&cursor, s->reader, NULL, 1);

    while (!error && (error = sbt_cursor_next(cursor, &record)) == 1)
        error = count_record(s, record);
    sbt_cursor_destroy(cursor);
    if (!error && s->count)
        qsort(s->all, s->count, sizeof(*s->all), by_number);
    return error;
}

/* ---- output ---------------------------------------------------------------------------------- */

static void print_text(const struct streams *s)
{
    struct tsm_text_line line = {0};
    char space[16];

    if (s->count)
        printf("  stream  commands   records  first record  last record    first (s)     last (s)  "
               "API\n");
    for (size_t i = 0; i < s->count; i++) {
        const struct stream *stream = &s->all[i];
        tsm_text_line_right(&line, stream->number, 8);
        tsm_text_line_right(&line, stream->command_count, 10);
        tsm_text_line_right(&line, stream->record_count, 10);
        tsm_text_line_right(&line, stream->first_seq, 14);
        tsm_text_line_right(&line, stream->last_seq, 13);
        tsm_text_line_time(&line, stream->first_ns, 13);
        tsm_text_line_time(&line, stream->last_ns, 13);
        tsm_text_line_text(&line, "  ");
        tsm_text_line_text(&line, sbt_api_name(stream->api, space));
        tsm_text_line_write(&line, stdout);
    }
    tsm_text_line_finish(&line);
}

static void print_json(const struct streams *s)
{
    struct tsm_json j = {.out = stdout};
    char space[16];

    tsm_json_begin(&j, "tsstreams/1");
    tsm_json_put_string(&j, "trace", sbt_reader_name(s->reader));
    tsm_json_name(&j, "streams");
    tsm_json_open(&j, '[');
    for (size_t i = 0; i < s->count; i++) {
        const struct stream *stream = &s->all[i];
        tsm_json_open(&j, '{');
        tsm_json_put_u64(&j, "stream", stream->number);
        tsm_json_put_string(&j, "api", sbt_api_name(stream->api, space));
        tsm_json_put_u64(&j, "commands", stream->command_count);
        tsm_json_put_u64(&j, "records", stream->record_count);
        tsm_json_put_u64(&j, "first_seq", stream->first_seq);
        tsm_json_put_u64(&j, "last_seq", stream->last_seq);
        tsm_json_put_u64(&j, "first_ns", stream->first_ns);
        tsm_json_put_u64(&j, "last_ns", stream->last_ns);
        tsm_json_close(&j, '}');
    }
    tsm_json_close(&j, ']');
    tsm_json_end(&j);
}

static int run(const struct tsm_command *command, void *values, const struct tsm_words *words)
{
    const struct streams_values *v = values;
    struct streams s = {.reader = tsm_trace_open(words->words[0])};
    int status = TSM_EXIT_OK;
    size_t noted = 0;

    if (!s.reader)
        return TSM_EXIT_ERROR;
    tsm_trace_show_progress(s.reader, "counting");
    if (count_all(&s) < 0)
        status = tsm_complain_error();
    tsm_trace_show_progress(s.reader, NULL);
    if (status == TSM_EXIT_OK && v->json)
        print_json(&s);
    else if (status == TSM_EXIT_OK)
        print_text(&s);
    if (status == TSM_EXIT_OK && !s.count)
        tsm_note("%s: no record is on a stream", tsm_clean(sbt_reader_name(s.reader)));
    tsm_trace_note_damage(s.reader, &noted);
    tsm_map_finish(&s.index);
    free(s.all);
    sbt_reader_destroy(s.reader);
    return status;
}

const struct tsm_command tsm_command_streams = {
    .name = "streams",
    .summary = "list a trace's streams, for --streams of other commands",
    .synopsis = "[--json] TRACE",
    .description =
        "Prints each stream of the trace: its number, how many commands and records are on it, its "
        "first and last record, when they began and ended (in seconds since the start), and the "
        "API "
        "that it belongs to. A stream is whatever orders commands: a CUDA stream, a Vulkan or HSA "
        "queue, a ring of a DRM device.",
    .examples = "tracesmith streams trace.sbt\n"
                "tsreplay --streams=3 trace.sbt\n",
    .exit_status = "0|shown\n"
                   "2|the trace cannot be read",
    .options = options,
    .values_size = sizeof(struct streams_values),
    .operand = "TRACE",
    .word_min = 1,
    .word_max = 1,
    .run = run,
};
