/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command.h"

#include "base/text.h"
#include "format/chunk/chunk.h"
#include "tools/edit/redact.h"
#include "tools/selection.h"
#include "tools/terminal.h"
#include "tools/text/json_out.h"
#include "tools/text/line.h"
#include "tools/trace_open.h"
#include "tracesmith/analysis.h"

#include <inttypes.h>
#include <time.h>

struct info_values {
    bool json, calls;
    struct tsm_selection_streams streams;
    struct tsm_selection_range range;
};

static const struct tsm_option options[] = {
    {.name = "calls",
     .letter = 'c',
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(info_values, calls),
     .help = "Also read all records and count the calls. Without this only the index is read, "
             "which takes milliseconds for a trace of any size. --streams and --range say of which "
             "records, and imply it."},
    TSM_SELECTION_OPTIONS(info_values, streams, range),
    {.name = "json",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(info_values, json),
     .help = "One JSON object, schema \"tsinfo/1\"."},
    {0},
};

/* ---- what is shown ----------------------------------------------------------------------------
 */

struct chunk_sum {
    uint64_t count, raw_size, stored_size;
};

struct info {
    struct sbt_reader *reader;
    struct chunk_sum chunks[SBT_CHUNK_TYPE_END + 1]; /* the last one: types of a newer format */
    struct chunk_sum all;
    bool has_calls;
    struct tsm_statistics statistics;
};

static void sum_chunks(struct info *info)
{
    for (size_t i = 0; i < sbt_reader_chunk_count(info->reader); i++) {
        const struct sbt_chunk_info *c = sbt_reader_chunk(info->reader, i);
        uint32_t type = c->type < SBT_CHUNK_TYPE_END ? c->type : SBT_CHUNK_TYPE_END;
        struct chunk_sum *sums[] = {&info->chunks[type], &info->all};
        for (size_t j = 0; j < 2; j++) {
            sums[j]->count++;
            sums[j]->raw_size += c->raw_size;
            sums[j]->stored_size += c->stored_size;
        }
    }
}

static void session_text(char out[37], const uint8_t id[16])
{
    size_t at = 0;

    for (unsigned i = 0; i < 16; i++) {
        const char *format = i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x";
        at += tsm_format(out + at, 37 - at, format, id[i]);
    }
}

static void start_text(char *out, size_t size, uint64_t realtime_ns)
{
    time_t seconds = (time_t)(realtime_ns / 1000000000u);
    struct tm utc;

    if (!gmtime_r(&seconds, &utc) || strftime(out, size, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
        tsm_format(out, size, "unknown");
}

/* Finds part `index` of what the trace reveals apart from its structure, in the words of
 * 'tracesmith redact'. Returns true if there is such a part; *what is the part, or 0 where the
 * trace has none of it. */
static bool revealed(const struct info *info, unsigned index, unsigned *what)
{
    const struct sbt_reader *reader = info->reader;
    const bool has_events = info->chunks[SBT_CHUNK_EVENTS].count; /* small contents are in them */
    const bool has_texts = has_events || info->chunks[SBT_CHUNK_MAPPINGS].count ||
                           info->chunks[SBT_CHUNK_STRINGS].count;
    const bool has_kernel = info->chunks[SBT_CHUNK_KERNEL_EVENTS].count;
    const bool there[] = {
        has_events || info->chunks[SBT_CHUNK_BLOBS].count,
        sbt_reader_metadata_find(reader, "process.command") || has_events || has_kernel,
        sbt_reader_metadata_find(reader, "host.name") || has_events || has_kernel,
        has_texts,
        has_texts || sbt_reader_metadata_find(reader, "setting.TS_OUTPUT"),
        has_texts,
        has_events,
    };

    if (index == sizeof(there) / sizeof(*there))
        return false;
    *what = there[index] ? 1u << index & ~tsm_redacted(reader) : 0;
    return true;
}

static void reveals_text(char *out, size_t size, const struct info *info)
{
    unsigned all = 0, what;

    for (unsigned i = 0; revealed(info, i, &what); i++)
        all |= what;
    tsm_redact_list(out, size, all);
}

/* ---- for people ------------------------------------------------------------------------------ */

static void title(const char *text)
{
    printf("\n%s%s%s\n", tsm_paint(TSM_PAINT_BOLD), text, tsm_paint(TSM_PAINT_NONE));
}

static void print_head(const struct info *info)
{
    const struct sbt_session *session = sbt_reader_session(info->reader);
    const struct sbt_totals *totals = sbt_reader_totals(info->reader);
    char id[37], start[40], state[160], reveals[128];
    bool complete = tsm_trace_completeness(info->reader, state, sizeof(state));

    session_text(id, session->id);
    start_text(start, sizeof(start), session->start_realtime_ns);
    printf("%s%s%s\n", tsm_paint(TSM_PAINT_BOLD), tsm_clean(sbt_reader_name(info->reader)),
           tsm_paint(TSM_PAINT_NONE));
    printf("  session   %s\n", id);
    printf("  started   %s\n", start);
    reveals_text(reveals, sizeof(reveals), info);
    printf("  state     %s%s%s\n", tsm_paint(complete ? TSM_PAINT_GOOD : TSM_PAINT_WARN), state,
           tsm_paint(TSM_PAINT_NONE));
    printf("  records   %" PRIu64 " on %" PRIu32 " stream%s\n", totals->record_count,
           totals->stream_count, totals->stream_count == 1 ? "" : "s");
    printf("  reveals   %s\n", *reveals ? reveals : "nothing but its structure");
}

static void print_checkpoints(const struct info *info)
{
    size_t count = sbt_reader_checkpoint_count(info->reader);
    struct tsm_text_line line = {0};

    if (count == 0)
        return;
    title("checkpoints");
    for (size_t i = 0; i < count; i++) {
        const struct sbt_checkpoint *c = sbt_reader_checkpoint(info->reader, i);
        tsm_text_line_right(&line, c->number, 8);
        tsm_text_line_text(&line, "  record ");
        tsm_text_line_right(&line, c->seq, 10);
        tsm_text_line_time(&line, c->time_ns, 14);
        tsm_text_line_text(&line, "  ");
        tsm_text_line_size(&line, c->size);
        if (c->flags & SBT_CHECKPOINT_START)
            tsm_text_line_text(&line, "  recording begins here");
        tsm_text_line_write(&line, stdout);
    }
    tsm_text_line_finish(&line);
}

static void print_metadata(const struct info *info)
{
    struct tsm_text_line line = {.width = tsm_terminal_width()};
    const char *name, *value;

    title("metadata");
    for (size_t i = 0; i < sbt_reader_metadata_count(info->reader); i++) {
        sbt_reader_metadata(info->reader, i, &name, &value);
        tsm_text_line_text(&line, "  ");
        tsm_text_line_clean(&line, name);
        tsm_text_line_pad(&line, 28);
        tsm_text_line_clean(&line, value);
        tsm_text_line_write(&line, stdout);
    }
    tsm_text_line_finish(&line);
}

static void print_chunk_sum(struct tsm_text_line *line, const char *name,
                            const struct chunk_sum *sum)
{
    char ratio[32];

    if (sum->count == 0)
        return;
    tsm_text_line_text(line, "  ");
    tsm_text_line_text(line, name);
    tsm_text_line_pad(line, 16);
    tsm_text_line_right(line, sum->count, 8);
    tsm_text_line_text(line, "  ");
    tsm_text_line_size(line, sum->raw_size);
    tsm_text_line_pad(line, 40);
    tsm_text_line_size(line, sum->stored_size);
    tsm_text_line_pad(line, 54);
    tsm_format(ratio, sizeof(ratio), "%.2f",
               sum->stored_size ? (double)sum->raw_size / (double)sum->stored_size : 1.0);
    tsm_text_line_text(line, ratio);
    tsm_text_line_write(line, stdout);
}

static void print_chunks(const struct info *info)
{
    struct tsm_text_line line = {0};

    title("chunks             count  content       stored        ratio");
    for (uint32_t type = 0; type <= SBT_CHUNK_TYPE_END; type++)
        print_chunk_sum(&line, sbt_chunk_type_name(type), &info->chunks[type]);
    print_chunk_sum(&line, "all", &info->all);
    tsm_text_line_finish(&line);
}

static void print_calls(const struct info *info)
{
    const struct tsm_statistics *s = &info->statistics;
    struct tsm_text_line line = {.width = tsm_terminal_width()};

    title("calls");
    printf("  %" PRIu64 " records, %" PRIu64 " commands; streams: %" PRIu32 ", threads: %" PRIu32
           "; %.6f s\n",
           s->record_count, s->command_count, s->stream_count, s->thread_count,
           (double)(s->last_ns - s->first_ns) / 1e9);
    printf("  %" PRIu64 " bytes sent, %" PRIu64 " bytes read back, %" PRIu64 " unmodelled calls\n",
           s->bytes_sent, s->bytes_read_back, s->unmodelled_count);
    printf("     count    failed       seconds  call\n");
    for (size_t i = 0; i < s->call_count; i++) {
        const struct sbt_schema *schema = sbt_reader_schema(info->reader, s->calls[i].type);
        tsm_text_line_right(&line, s->calls[i].count, 10);
        tsm_text_line_right(&line, s->calls[i].failed_count, 10);
        tsm_text_line_time(&line, s->calls[i].duration_ns, 14);
        tsm_text_line_text(&line, "  ");
        tsm_text_line_clean(&line, schema ? schema->name : "unknown");
        tsm_text_line_write(&line, stdout);
    }
    tsm_text_line_finish(&line);
}

static void print_text(const struct info *info)
{
    print_head(info);
    print_metadata(info);
    print_checkpoints(info);
    print_chunks(info);
    if (info->has_calls)
        print_calls(info);
}

/* ---- for programs ---------------------------------------------------------------------------- */

static void json_head(struct tsm_json *j, const struct info *info)
{
    static const char *const ends[] = {"none", "finished", "recovered", "cut"};
    const struct sbt_session *session = sbt_reader_session(info->reader);
    const struct sbt_totals *totals = sbt_reader_totals(info->reader);
    char id[37], start[40], state[160], reveals[128];
    enum sbt_end end = sbt_reader_end(info->reader);

    session_text(id, session->id);
    start_text(start, sizeof(start), session->start_realtime_ns);
    tsm_json_put_string(j, "trace", sbt_reader_name(info->reader));
    tsm_json_put_string(j, "session", id);
    tsm_json_put_string(j, "started", start);
    tsm_json_put_bool(j, "complete", tsm_trace_completeness(info->reader, state, sizeof(state)));
    tsm_json_put_string(j, "state", state);
    tsm_json_put_string(j, "end", (unsigned)end < 4 ? ends[end] : "unknown");
    tsm_json_put_u64(j, "records", totals->record_count);
    tsm_json_put_u64(j, "streams", totals->stream_count);
    tsm_json_put_u64(j, "lost", totals->lost_count);
    tsm_json_put_u64(j, "filtered", totals->filtered_count);
    tsm_json_put_u64(j, "tainted", totals->tainted_count);
    reveals_text(reveals, sizeof(reveals), info);
    tsm_json_put_string(j, "reveals", reveals);
}

static void json_metadata(struct tsm_json *j, const struct info *info)
{
    const char *name, *value;

    tsm_json_name(j, "metadata");
    tsm_json_open(j, '{');
    for (size_t i = 0; i < sbt_reader_metadata_count(info->reader); i++) {
        sbt_reader_metadata(info->reader, i, &name, &value);
        tsm_json_put_string(j, name, value);
    }
    tsm_json_close(j, '}');
    tsm_json_name(j, "damage");
    tsm_json_open(j, '[');
    for (size_t i = 0; i < sbt_reader_damage_count(info->reader); i++)
        tsm_json_string(j, sbt_reader_damage(info->reader, i));
    tsm_json_close(j, ']');
}

static void json_checkpoints(struct tsm_json *j, const struct info *info)
{
    size_t count = sbt_reader_checkpoint_count(info->reader);

    tsm_json_name(j, "checkpoints");
    tsm_json_open(j, '[');
    for (size_t i = 0; i < count; i++) {
        const struct sbt_checkpoint *c = sbt_reader_checkpoint(info->reader, i);
        tsm_json_open(j, '{');
        tsm_json_put_u64(j, "number", c->number);
        tsm_json_put_u64(j, "seq", c->seq);
        tsm_json_put_u64(j, "time_ns", c->time_ns);
        tsm_json_put_u64(j, "bytes", c->size);
        tsm_json_put_bool(j, "start", c->flags & SBT_CHECKPOINT_START);
        tsm_json_close(j, '}');
    }
    tsm_json_close(j, ']');
}

static void json_chunks(struct tsm_json *j, const struct info *info)
{
    tsm_json_name(j, "chunks");
    tsm_json_open(j, '[');
    for (uint32_t type = 0; type <= SBT_CHUNK_TYPE_END; type++) {
        const struct chunk_sum *sum = &info->chunks[type];
        if (sum->count == 0)
            continue;
        tsm_json_open(j, '{');
        tsm_json_put_string(j, "type", sbt_chunk_type_name(type));
        tsm_json_put_u64(j, "count", sum->count);
        tsm_json_put_u64(j, "raw_bytes", sum->raw_size);
        tsm_json_put_u64(j, "stored_bytes", sum->stored_size);
        tsm_json_close(j, '}');
    }
    tsm_json_close(j, ']');
}

static void json_calls(struct tsm_json *j, const struct info *info)
{
    const struct tsm_statistics *s = &info->statistics;

    tsm_json_put_u64(j, "commands", s->command_count);
    tsm_json_put_u64(j, "threads", s->thread_count);
    tsm_json_put_u64(j, "first_ns", s->first_ns);
    tsm_json_put_u64(j, "last_ns", s->last_ns);
    tsm_json_put_u64(j, "bytes_sent", s->bytes_sent);
    tsm_json_put_u64(j, "bytes_read_back", s->bytes_read_back);
    tsm_json_put_u64(j, "unmodelled", s->unmodelled_count);
    tsm_json_name(j, "calls");
    tsm_json_open(j, '[');
    for (size_t i = 0; i < s->call_count; i++) {
        const struct sbt_schema *schema = sbt_reader_schema(info->reader, s->calls[i].type);
        tsm_json_open(j, '{');
        tsm_json_put_string(j, "call", schema ? schema->name : NULL);
        tsm_json_put_u64(j, "type", s->calls[i].type);
        tsm_json_put_u64(j, "count", s->calls[i].count);
        tsm_json_put_u64(j, "failed", s->calls[i].failed_count);
        tsm_json_put_u64(j, "duration_ns", s->calls[i].duration_ns);
        tsm_json_close(j, '}');
    }
    tsm_json_close(j, ']');
}

static void print_json(const struct info *info)
{
    struct tsm_json j = {.out = stdout};

    tsm_json_begin(&j, "tsinfo/1");
    json_head(&j, info);
    json_metadata(&j, info);
    json_checkpoints(&j, info);
    json_chunks(&j, info);
    if (info->has_calls)
        json_calls(&j, info);
    tsm_json_end(&j);
}

/* Tests whether only a part is asked about, which the index does not know. */
static bool is_part(const struct info_values *v)
{
    static const struct tsm_selection_range all;

    return v->streams.count || memcmp(&v->range, &all, sizeof(all)) != 0;
}

static int run(const struct tsm_command *command, void *values, const struct tsm_words *words)
{
    const struct info_values *v = values;
    struct sbt_filter filter;
    struct info info = {.reader = tsm_trace_open(words->words[0])};
    int status = TSM_EXIT_OK;
    size_t noted = 0;

    if (!info.reader)
        return TSM_EXIT_ERROR;
    sum_chunks(&info);
    if (v->calls || is_part(v)) {
        tsm_trace_show_progress(info.reader, "counting");
        info.has_calls = tsm_selection_filter(&filter, info.reader, &v->streams, &v->range) == 0 &&
                         tsm_statistics_collect(&info.statistics, info.reader, &filter) == 0;
        tsm_trace_show_progress(info.reader, NULL);
        if (!info.has_calls)
            status = tsm_complain_error();
    }
    if (v->json)
        print_json(&info);
    else
        print_text(&info);
    tsm_trace_note_damage(info.reader, &noted);
    tsm_statistics_finish(&info.statistics);
    sbt_reader_destroy(info.reader);
    return status;
}

const struct tsm_command tsm_command_info = {
    .name = "info",
    .summary = "summarise a trace: where it comes from, what is in it, whether it is whole",
    .synopsis = "[OPTION]... TRACE",
    .description =
        "Prints who wrote the trace and when, on which machine, devices and driver, whether "
        "anything is missing from it, and what its parts weigh. With --calls, also how often each "
        "call was made, how often it failed, and the time that the program spent in it. "
        "Checkpoints "
        "are listed with their number, last record, time and size.\n\n"
        "The state is complete when the trace holds everything and can be replayed. Otherwise it "
        "says how many records were lost, were left out on request, or are tainted: they changed "
        "the GPU in a way that is not recorded.",
    .examples = "tracesmith info trace.sbt\n"
                "tracesmith info --calls --streams=1 trace.sbt\n"
                "tracesmith info --json trace.sbt | jq .metadata\n",
    .exit_status = "0|shown\n"
                   "2|the trace cannot be read",
    .options = options,
    .values_size = sizeof(struct info_values),
    .operand = "TRACE",
    .word_min = 1,
    .word_max = 1,
    .run = run,
};
