/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/diff/survey.h"

#include <string.h>

#include "analysis/place_list.h"
#include "base/text.h"
#include "format/events/rows.h"

const struct sbt_schema *tsm_survey_schema(struct sbt_reader *reader,
                                           const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(reader, record->type);

    if (!schema && SBT_TYPE_API(record->type) == SBT_API_CORE)
        schema = sbt_core_schema(SBT_TYPE_CALL(record->type));
    return schema;
}

bool tsm_survey_is_wait(const struct sbt_schema *schema)
{
    return schema->kind == SBT_KIND_QUERY || schema->kind == SBT_KIND_SYNC;
}

static uint64_t lower(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void note_first(uint64_t *count, uint64_t *first, uint64_t seq)
{
    if (!(*count)++)
        *first = seq;
}

static int note_wait(struct tsm_survey *s, const struct sbt_record *record,
                     const struct sbt_schema *schema)
{
    uint64_t key = (uint64_t)record->type << 32 | (uint32_t)record->result;
    uint64_t *place;
    bool added;

    s->uncompared_count++;
    if (schema->kind != SBT_KIND_SYNC || !(record->flags & SBT_RECORD_FAILED))
        return 0;
    place = tsm_map_insert(&s->failures, key, &added);
    if (!place)
        return tsm_fail(TSM_E_MEMORY, "no memory for failed calls");
    if (added)
        *place = record->seq + 1;
    return 0;
}

static const struct tsm_survey_note *find_note(const struct tsm_survey *s, const char *what)
{
    for (uint32_t i = 0; i < s->note_count; i++)
        if (strcmp(s->notes[i].what, what) == 0)
            return &s->notes[i];
    return NULL;
}

/* The name of a call that is not modelled is one word; what could not be recorded is a sentence. */
static void note_unrecorded(struct tsm_survey *s, struct sbt_reader *reader,
                            const struct sbt_record *record)
{
    const char *what =
        record->slot_count ? sbt_reader_string(reader, (uint32_t)record->slots[0]) : NULL;
    struct tsm_survey_note *n = &s->notes[s->note_count];

    if (!what || !strchr(what, ' ') || s->note_count == TSM_SURVEY_NOTES_MAX)
        return;
    tsm_format(n->what, sizeof(n->what), "%s", what);
    n->seq = record->seq;
    s->note_count += !find_note(s, n->what);
}

/* Notes a thread that sends a command: it records what all threads have written to host memory by
 * then. */
static void note_writer(struct tsm_survey *s, const struct sbt_record *record)
{
    s->has_writers |= s->has_writer && s->writer != record->thread;
    s->has_writer = true;
    s->writer = record->thread;
}

static void note_core(struct tsm_survey *s, struct sbt_reader *reader,
                      const struct sbt_record *record, const struct sbt_schema *schema)
{
    switch (SBT_TYPE_CALL(record->type)) {
    case SBT_CORE_HOST_WRITE:
        s->has_functions |=
            sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE) != SBT_STREAM_NONE;
        s->held_count += (record->flags & SBT_RECORD_HELD) != 0;
        note_writer(s, record);
        break;
    case SBT_CORE_HOST_RUNS:
        s->held_count++;
        note_writer(s, record);
        break;
    case SBT_CORE_CHECKSUM:
        s->checksum_count += !(record->flags & SBT_RECORD_SPOT);
        break;
    case SBT_CORE_UNMODELLED:
        note_unrecorded(s, reader, record);
        break;
    case SBT_CORE_LOST:
    case SBT_CORE_FILTERED:
        if (record->slot_count > 1)
            s->lost_first_ns = lower(s->lost_first_ns, record->slots[1]);
        /* fallthrough */
    case SBT_CORE_STOPPED:
        if (s->stopped_seq == UINT64_MAX)
            s->stopped_seq = record->seq;
        break;
    default:
        break;
    }
}

static int note_thread(struct tsm_survey *s, const struct sbt_record *record)
{
    return tsm_map_set(&s->threads, record->thread, 1)
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for threads");
}

/* ---- records ------------------------------------------------------------------------------- */

static int note(struct tsm_survey *s, struct sbt_reader *reader, const struct sbt_record *record,
                const struct sbt_schema *schema)
{
    const uint32_t partial = SBT_RECORD_TRUNCATED | SBT_RECORD_UNFINISHED;

    if (record->stream != SBT_STREAM_NONE && s->start_end_seq == UINT64_MAX &&
        SBT_TYPE_API(record->type) != SBT_API_CORE)
        s->start_end_seq = record->seq;
    if (record->flags & partial)
        note_first(&s->partial_count, &s->partial_seq, record->seq);
    if (sbt_record_taints(schema ? schema->flags : 0, record->flags))
        note_first(&s->tainted_count, &s->tainted_seq, record->seq);
    if (!schema) {
        note_first(&s->unknown_count, &s->unknown_seq, record->seq);
        return 0;
    }
    if (SBT_TYPE_API(record->type) == SBT_API_CORE)
        note_core(s, reader, record, schema);
    if (tsm_survey_is_wait(schema))
        return note_wait(s, record, schema);
    if (SBT_TYPE_API(record->type) != SBT_API_CORE && record->stream != SBT_STREAM_NONE)
        note_writer(s, record);
    return SBT_TYPE_API(record->type) == SBT_API_CORE ? 0 : note_thread(s, record);
}

/* The first record that does not begin before `time_ns`. A record that says what was lost stands
 * anywhere after it. */
static int find_time(uint64_t *out, struct sbt_reader *reader, uint64_t time_ns)
{
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    int error = sbt_cursor_create(&cursor, reader, NULL, 1);

    while (!error && (error = sbt_cursor_next(cursor, &record)) == 1) {
        error = 0;
        if (record->time_ns >= time_ns) {
            *out = lower(*out, record->seq);
            break;
        }
    }
    sbt_cursor_destroy(cursor);
    return error;
}

/* The number up to which no record is missing. A record that is not described belongs nowhere. */
static uint64_t find_whole(const struct tsm_survey *s, struct sbt_reader *reader)
{
    struct sbt_missing missing;
    uint64_t whole = s->stopped_seq;

    sbt_reader_missing(reader, 0, &missing);
    if (whole == UINT64_MAX && sbt_reader_totals(reader)->lost_count)
        return 0; /* no record says where */
    if (s->unknown_count)
        whole = lower(whole, s->unknown_seq);
    return lower(whole, missing.first_seq);
}

int tsm_survey_make(struct tsm_survey *out, struct sbt_reader *reader)
{
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    int error;

    *out = (struct tsm_survey){
        .stopped_seq = UINT64_MAX, .start_end_seq = UINT64_MAX, .lost_first_ns = UINT64_MAX};
    error = sbt_cursor_create(&cursor, reader, NULL, 1);
    while (!error && (error = sbt_cursor_next(cursor, &record)) == 1)
        error = note(out, reader, record, tsm_survey_schema(reader, record));
    sbt_cursor_destroy(cursor);
    if (!error)
        out->whole_seq = find_whole(out, reader);
    if (!error && out->lost_first_ns != UINT64_MAX)
        error = find_time(&out->whole_seq, reader, out->lost_first_ns);
    return error;
}

static void compare_notes(struct tsm_survey *a, const struct tsm_survey *b)
{
    for (uint32_t i = 0; i < a->note_count; i++)
        if (!find_note(b, a->notes[i].what))
            a->whole_seq = lower(a->whole_seq, a->notes[i].seq);
}

void tsm_survey_compare(struct tsm_survey *a, struct tsm_survey *b)
{
    compare_notes(a, b);
    compare_notes(b, a);
}

void tsm_survey_finish(struct tsm_survey *survey)
{
    tsm_map_finish(&survey->failures);
    tsm_map_finish(&survey->threads);
    memset(survey, 0, sizeof(*survey));
}

/* ---- doubts ------------------------------------------------------------------------------- */

static bool doubt_file(struct sbt_reader *reader, char *out, size_t size)
{
    const struct sbt_totals *totals = sbt_reader_totals(reader);
    const char *name = sbt_reader_name(reader);
    struct sbt_missing missing;

    sbt_reader_missing(reader, 0, &missing);
    if (totals->lost_count + missing.record_count)
        tsm_format(out, size, "%s lost %llu records", name,
                   (unsigned long long)(totals->lost_count + missing.record_count));
    else if (missing.chunk_count)
        tsm_format(out, size, "%s is damaged: %llu chunks cannot be read", name,
                   (unsigned long long)missing.chunk_count);
    else if (missing.end)
        tsm_format(out, size, "%s has no end: what was recorded last may be missing", name);
    else if (sbt_reader_damage_count(reader))
        tsm_format(out, size, "%s is damaged: %s", name, sbt_reader_damage(reader, 0));
    else if (sbt_reader_unknown_count(reader))
        tsm_format(out, size, "%s has %zu parts that this version does not know", name,
                   sbt_reader_unknown_count(reader));
    else if (totals->filtered_count)
        tsm_format(out, size, "%s leaves out %llu records on request", name,
                   (unsigned long long)totals->filtered_count);
    else
        return false;
    return true;
}

bool tsm_survey_doubt(const struct tsm_survey *s, struct sbt_reader *reader, char *out, size_t size)
{
    const char *name = sbt_reader_name(reader);
    const char *redacted = sbt_reader_metadata_find(reader, SBT_METADATA_REDACTED);

    if (doubt_file(reader, out, size))
        return true;
    if (s->stopped_seq != UINT64_MAX)
        tsm_format(out, size, "something is missing in %s, as record %llu says", name,
                   (unsigned long long)s->stopped_seq);
    else if (s->tainted_count)
        tsm_format(out, size, "%llu records of %s do what is not modelled, first record %llu",
                   (unsigned long long)s->tainted_count, name, (unsigned long long)s->tainted_seq);
    else if (sbt_reader_totals(reader)->tainted_count)
        tsm_format(out, size, "%s is tainted", name);
    else if (s->partial_count)
        tsm_format(out, size, "%llu records of %s are cut short, first record %llu",
                   (unsigned long long)s->partial_count, name, (unsigned long long)s->partial_seq);
    else if (s->unknown_count)
        tsm_format(out, size, "%s does not describe %llu of its records, first record %llu", name,
                   (unsigned long long)s->unknown_count, (unsigned long long)s->unknown_seq);
    else if (redacted && strcmp(redacted, "contents") != 0)
        tsm_format(out, size, "%s was redacted (%s): what differed there may look equal", name,
                   redacted);
    else
        return false;
    return true;
}

/* Words and hashes that were taken out of one of them only would all differ. */
int tsm_survey_check_redacted(struct sbt_reader *const readers[2])
{
    const char *lists[2];

    for (int i = 0; i < 2; i++) {
        lists[i] = sbt_reader_metadata_find(readers[i], SBT_METADATA_REDACTED);
        if (!lists[i])
            lists[i] = "nothing";
    }
    if (strcmp(lists[0], lists[1]) == 0)
        return 0;
    return tsm_fail(TSM_E_ARGUMENT,
                    "%s was taken out of %s, and %s of %s: use 'tracesmith redact' in the same way "
                    "on both",
                    lists[0], sbt_reader_name(readers[0]), lists[1], sbt_reader_name(readers[1]));
}

bool tsm_survey_doubt_failures(const struct tsm_survey *survey, const struct tsm_survey *other,
                               struct sbt_reader *reader, char *out, size_t size)
{
    const struct tsm_map *mine = &survey->failures;

    for (size_t i = 0; i < mine->capacity; i++)
        if (mine->slots[i].used && !tsm_map_find(&other->failures, mine->slots[i].key)) {
            tsm_format(out, size,
                       "record %llu of %s is a wait that failed as none in the other one did",
                       (unsigned long long)mine->slots[i].value - 1, sbt_reader_name(reader));
            return true;
        }
    return false;
}

int tsm_survey_doubt_gaps(struct sbt_reader *reader, char *out, size_t size)
{
    struct tsm_place_list all = {0};
    uint32_t stream;
    int error = tsm_place_list_read(&all, reader, 0);
    const uint64_t count = error ? 0 : tsm_place_list_missing(&all, reader, &stream);

    if (count)
        tsm_format(out, size,
                   "%llu command%s missing from stream %u of %s: places on it have no record",
                   (unsigned long long)count, count == 1 ? " is" : "s are", stream,
                   sbt_reader_name(reader));
    tsm_place_list_finish(&all);
    return error;
}
