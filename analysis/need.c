/* SPDX-License-Identifier: Apache-2.0
 *
 * Going backwards, a record is needed when something later that is needed depends on it. What a
 * stream needs is always a prefix of it, so one number a stream says all.
 */
#include "tracesmith/analysis.h"

#include <stdlib.h>
#include <string.h>

#include "format/map.h"

#define STREAM_COUNT_MAX 65536u

struct search {
    const struct sbt_filter *filter;
    uint64_t *until; /* by stream: needed before this seq */
    bool *is_made;   /* by stream: a record makes it, so it is no default stream */
    uint32_t count;  /* streams seen */
    uint32_t capacity;
    uint64_t all_until; /* of every stream: what a default stream joined, a whole device's sync */
    uint64_t defaults_until;
    struct sbt_map wanted; /* events whose next signal (going backwards) is needed: id -> 0 or 1 */
};

static int grow(struct search *s, uint32_t stream)
{
    uint32_t more = s->capacity ? s->capacity : 16;

    if (stream >= STREAM_COUNT_MAX)
        return tsm_fail(TSM_E_LIMIT, "stream number %u is over this build's limit of %u", stream,
                        STREAM_COUNT_MAX);
    if (stream >= s->count)
        s->count = stream + 1;
    while (more <= stream)
        more *= 2;
    if (more <= s->capacity)
        return 0;
    uint64_t *until = realloc(s->until, more * sizeof(*until));
    if (until)
        s->until = until;
    bool *made = realloc(s->is_made, more * sizeof(*made));
    if (made)
        s->is_made = made;
    if (!until || !made)
        return tsm_fail(TSM_E_MEMORY, "no memory for %u streams", more);
    memset(until + s->capacity, 0, (more - s->capacity) * sizeof(*until));
    memset(made + s->capacity, 0, (more - s->capacity) * sizeof(*made));
    s->capacity = more;
    return 0;
}

static void raise(uint64_t *value, uint64_t to)
{
    if (*value < to)
        *value = to;
}

static uint64_t until_of(const struct search *s, uint32_t stream)
{
    uint64_t until = s->until[stream];

    raise(&until, s->all_until);
    if (!s->is_made[stream])
        raise(&until, s->defaults_until);
    return until;
}

static bool anything_after(const struct search *s, uint64_t seq)
{
    if (s->all_until > seq || s->defaults_until > seq)
        return true;
    for (uint32_t i = 0; i < s->count; i++)
        if (s->until[i] > seq)
            return true;
    return false;
}

/* ---- the filter --------------------------------------------------------------------------- */

static bool in_filter(const struct search *s, const struct sbt_record *record, uint32_t stream)
{
    const struct sbt_filter *f = s->filter;
    bool listed = !f->streams;

    for (size_t i = 0; i < f->stream_count && !listed; i++)
        listed = f->streams[i] == stream;
    return listed && record->seq >= f->seq_first && (!f->seq_end || record->seq < f->seq_end) &&
           record->time_ns >= f->time_first_ns &&
           (!f->time_end_ns || record->time_ns < f->time_end_ns);
}

/* ---- one record --------------------------------------------------------------------------- */

static int want_event(struct search *s, uint64_t id)
{
    bool added;
    uint64_t *wanted = id ? sbt_map_insert(&s->wanted, id, &added) : NULL;

    if (id && !wanted)
        return tsm_fail(TSM_E_MEMORY, "no memory for events");
    if (wanted)
        *wanted = 1;
    return 0;
}

static bool take_wanted(struct search *s, uint64_t id)
{
    uint64_t *wanted = sbt_map_find(&s->wanted, id);

    if (!wanted || !*wanted)
        return false;
    *wanted = 0; /* an earlier signal of the same event is overwritten by this one */
    return true;
}

static int visit_command(struct search *s, const struct sbt_record *record,
                         const struct sbt_schema *schema)
{
    uint64_t object = sbt_record_role(schema, record, SBT_ROLE_OBJECT, 0);
    uint32_t stream = record->stream;

    if (in_filter(s, record, stream))
        raise(&s->until[stream], record->seq + 1);
    if (schema->kind == SBT_KIND_SIGNAL && take_wanted(s, object))
        raise(&s->until[stream], record->seq + 1);
    if ((schema->flags & SBT_SCHEMA_BLOCKS) && anything_after(s, record->seq))
        raise(&s->until[stream], record->seq + 1);
    if (until_of(s, stream) <= record->seq)
        return 0;
    /* Which streams join a default stream is not in the trace for every API: all do. */
    if (s->is_made[stream])
        raise(&s->defaults_until, record->seq);
    else
        raise(&s->all_until, record->seq);
    return schema->kind == SBT_KIND_WAIT ? want_event(s, object) : 0;
}

static int visit_sync(struct search *s, const struct sbt_record *record,
                      const struct sbt_schema *schema)
{
    uint64_t object = sbt_record_role(schema, record, SBT_ROLE_OBJECT, 0);

    if (!anything_after(s, record->seq))
        return 0;
    if (record->stream != SBT_STREAM_NONE) {
        raise(&s->until[record->stream], record->seq);
        if (!s->is_made[record->stream])
            raise(&s->all_until, record->seq);
        return 0;
    }
    /* The object may also be a context, and stand for the whole device. */
    if (object && !strcmp(schema->fields[sbt_schema_role(schema, SBT_ROLE_OBJECT)].detail, "event"))
        return want_event(s, object);
    raise(&s->all_until, record->seq);
    return 0;
}

/* Bytes that are to be verified: the command that gave them, or for memory all before it. */
static int visit_verified(struct search *s, const struct sbt_record *record,
                          const struct sbt_schema *schema)
{
    uint64_t of = sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE);
    bool is_readback = SBT_TYPE_CALL(record->type) == SBT_CORE_READBACK;
    int error;

    if (!in_filter(s, record, (uint32_t)of))
        return 0;
    if (!is_readback || of >= SBT_STREAM_NONE) {
        raise(&s->all_until, record->seq);
        return 0;
    }
    error = grow(s, (uint32_t)of);
    if (!error)
        raise(&s->until[of], record->seq);
    return error;
}

static int visit(struct search *s, struct sbt_reader *reader, const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(reader, record->type);
    int error = 0;

    if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_READBACK) ||
        record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_CHECKSUM))
        return visit_verified(s, record,
                              schema ? schema : sbt_core_schema(SBT_TYPE_CALL(record->type)));
    if (!schema || (record->flags & SBT_RECORD_FAILED))
        return 0;
    if (record->stream != SBT_STREAM_NONE)
        error = grow(s, record->stream);
    if (error)
        return error;
    if (schema->kind == SBT_KIND_SYNC)
        return visit_sync(s, record, schema);
    if (record->stream != SBT_STREAM_NONE &&
        (schema->kind == SBT_KIND_COMMAND || schema->kind == SBT_KIND_SIGNAL ||
         schema->kind == SBT_KIND_WAIT))
        return visit_command(s, record, schema);
    return 0;
}

/* ---- passes ------------------------------------------------------------------------------- */

/* A context brings its default stream along. */
static bool makes_default_stream(const struct sbt_schema *schema)
{
    int object = sbt_schema_role(schema, SBT_ROLE_OBJECT);

    return object >= 0 && !strcmp(schema->fields[object].detail, "context");
}

/* Streams are made by records on no stream; those that no record makes are default streams. */
static int find_made(struct search *s, struct sbt_reader *reader)
{
    static const uint32_t none = SBT_STREAM_NONE;
    struct sbt_filter filter = {.streams = &none, .stream_count = 1};
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    int error = sbt_cursor_create(&cursor, reader, &filter, 1);

    while (!error && (error = sbt_cursor_next(cursor, &record)) == 1) {
        const struct sbt_schema *schema = sbt_reader_schema(reader, record->type);
        uint64_t made = schema
                            ? sbt_record_role(schema, record, SBT_ROLE_STREAM_MADE, SBT_STREAM_NONE)
                            : SBT_STREAM_NONE;
        error = made < SBT_STREAM_NONE ? grow(s, (uint32_t)made) : 0;
        if (!error && made < SBT_STREAM_NONE && !makes_default_stream(schema))
            s->is_made[made] = true;
    }
    sbt_cursor_destroy(cursor);
    return error;
}

static int go_back(struct search *s, struct sbt_reader *reader)
{
    struct sbt_filter filter = {.seq_end = s->filter->seq_end};
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    int error = sbt_cursor_create(&cursor, reader, &filter, 1);

    if (!error)
        error = sbt_cursor_seek(cursor, UINT64_MAX);
    while (error >= 0 && (error = sbt_cursor_previous(cursor, &record)) == 1)
        error = visit(s, reader, record);
    sbt_cursor_destroy(cursor);
    return error;
}

int tsm_need_find(struct tsm_need *out, struct sbt_reader *reader, const struct sbt_filter *filter)
{
    struct search s = {.filter = filter};
    int error = find_made(&s, reader);

    if (!error)
        error = go_back(&s, reader);
    sbt_map_finish(&s.wanted);
    if (error) {
        free(s.until);
        free(s.is_made);
        return error;
    }
    for (uint32_t i = 0; i < s.count; i++)
        s.until[i] = until_of(&s, i);
    out->until_seq = s.until;
    out->stream_count = s.count;
    out->until_seq_other = filter->seq_end ? filter->seq_end : UINT64_MAX;
    free(s.is_made);
    return 0;
}

void tsm_need_finish(struct tsm_need *need)
{
    free(need->until_seq);
    memset(need, 0, sizeof(*need));
}
