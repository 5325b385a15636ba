/* SPDX-License-Identifier: Apache-2.0
 *
 * Going backwards, a record is needed when something later that is needed depends on it. What a
 * stream needs is always a prefix of it, so one number a stream says all.
 *
 * Synchronisations. What the host waited for may matter to what a thread does next; to other
 * threads only if they hear of it, which no record shows. It is taken to matter
 *   - to later records of the same thread,
 *   - to all records of a thread that began later,
 *   - to streams that name memory in common with the one that was waited for.
 * Where it is taken not to matter, and commands are left out for that, unheard_seq says so.
 *
 * Signals (HSA): a command waits for all of some, and counts one down when it is complete. It may
 * be sent before those that it waits for, so the pass is repeated as long as it finds new ones.
 */
#include "tracesmith/analysis.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/stream_facts.h"
#include "api/traits.h"
#include "base/bytes.h"
#include "format/filter.h"

struct need_stream {
    uint64_t until;           /* needed before this seq */
    uint64_t wanted_position; /* of the last command whose result is verified, or known */
    uint64_t unheard;         /* seq + 1 of the next wait for it that is taken not to matter */
};

struct search {
    const struct sbt_filter *filter;
    struct tsm_stream_facts facts;
    struct need_stream *streams;
    bool *group_needed;      /* by group of streams that share memory */
    bool is_any_needed;      /* of them */
    uint64_t all_until;      /* of every stream */
    uint64_t joined_until;   /* of those that join a default stream */
    uint64_t defaults_until; /* of default streams */
    uint64_t verified_until; /* after the last result that is compared */
    uint64_t unheard_seq;    /* see tsm_dependency_slice */
    struct tsm_map wanted;  /* events whose next signal (going backwards) is needed: id -> 0 or 1 */
    struct tsm_map signals; /* that needed commands wait for */
    bool has_new_signal;
    struct tsm_map threads; /* that have a needed record later */
    uint64_t joined_before; /* the latest begin of such a thread */
};

static void raise(uint64_t *value, uint64_t to)
{
    if (*value < to)
        *value = to;
}

static uint64_t until_of(const struct search *s, uint32_t stream)
{
    const struct tsm_stream_fact *fact = &s->facts.streams[stream];
    uint64_t until = s->streams[stream].until;

    raise(&until, s->all_until);
    if (!fact->is_apart)
        raise(&until, s->joined_until);
    if (fact->is_default)
        raise(&until, s->defaults_until);
    return until;
}

static bool in_filter(const struct search *s, const struct sbt_record *record, uint32_t stream)
{
    return sbt_filter_has_stream(s->filter, stream) && sbt_filter_in_range(s->filter, record);
}

/* ---- what is needed ----------------------------------------------------------------------- */

static int set(struct tsm_map *map, uint64_t key)
{
    return tsm_map_set(map, key, 1) ? 0 : tsm_fail(TSM_E_MEMORY, "no memory for dependencies");
}

static bool take_wanted(struct search *s, uint64_t id)
{
    uint64_t *wanted = tsm_map_find(&s->wanted, id);

    if (!wanted || !*wanted)
        return false;
    *wanted = 0; /* an earlier signal of the same event is overwritten by this one */
    return true;
}

static int want_signal(struct search *s, uint64_t id)
{
    if (!id || tsm_map_find(&s->signals, id))
        return 0;
    s->has_new_signal = true;
    return set(&s->signals, id);
}

static bool is_signal(const struct sbt_field *field)
{
    return field->type == SBT_FIELD_HANDLE &&
           (tsm_object_traits(field->detail) & TSM_OBJECT_SIGNAL);
}

/* Wants each object of the list of ids that a copy has. */
static int want_listed(struct search *s, const struct sbt_record *record, uint32_t slot)
{
    const uint8_t *bytes;
    size_t size;
    int error = 0;

    if (!sbt_record_bytes(record, slot, &bytes, &size))
        return 0;
    for (size_t at = 0; at + 8 <= size && !error; at += 8)
        error = want_signal(s, tsm_get_u64(bytes + at));
    return error;
}

/* Wants the signals that the command waits for: all its signals but the one that it completes. */
static int want_signals(struct search *s, const struct sbt_record *record,
                        const struct sbt_schema *schema)
{
    int error = 0;

    for (uint32_t i = 0; i < schema->field_count && i < record->slot_count && !error; i++) {
        const struct sbt_field *field = &schema->fields[i];

        if (is_signal(field) && field->role != SBT_ROLE_OBJECT)
            error = want_signal(s, record->slots[i]);
        else if (field->type == SBT_FIELD_BYTES && !strcmp(field->name, "dep_signals"))
            error = want_listed(s, record, i);
    }
    return error;
}

static bool completes_wanted(const struct search *s, const struct sbt_record *record,
                             const struct sbt_schema *schema)
{
    int object = sbt_schema_role(schema, SBT_ROLE_OBJECT);

    return object >= 0 && (uint32_t)object < record->slot_count &&
           is_signal(&schema->fields[object]) &&
           tsm_map_find((struct tsm_map *)&s->signals, record->slots[object]);
}

/* A command that is needed: what else is, then. */
static int need_command(struct search *s, const struct sbt_record *record,
                        const struct sbt_schema *schema)
{
    const struct tsm_stream_fact *fact = &s->facts.streams[record->stream];
    uint64_t object = sbt_record_role(schema, record, SBT_ROLE_OBJECT, 0);
    int error = set(&s->threads, record->thread);

    if (record->flags & SBT_RECORD_ORDERED)
        raise(&s->all_until, record->seq); /* what it waits for it does not say */
    raise(&s->joined_before, tsm_stream_facts_thread_first(&s->facts, record->thread));
    s->group_needed[tsm_stream_facts_group(&s->facts, record->stream)] = true;
    s->is_any_needed = true;
    if (fact->is_default)
        raise(&s->joined_until, record->seq);
    else if (!fact->is_apart)
        raise(&s->defaults_until, record->seq);
    if (!error && schema->kind == SBT_KIND_WAIT && object)
        error = set(&s->wanted, object);
    return error ? error : want_signals(s, record, schema);
}

/* The host waited for `stream` (SBT_STREAM_NONE: for all) in this record. */
static bool sync_matters(struct search *s, const struct sbt_record *record, uint32_t stream)
{
    if (record->seq < s->joined_before || tsm_map_find(&s->threads, record->thread))
        return true;
    if (stream == SBT_STREAM_NONE)
        return s->is_any_needed;
    if (s->group_needed[tsm_stream_facts_group(&s->facts, stream)])
        return true;
    if (s->is_any_needed)
        s->streams[stream].unheard = record->seq + 1;
    return false;
}

/* A command that is left out: whoever waited for it may have told another thread. */
static void note_left_out(struct search *s, const struct sbt_record *record)
{
    const uint64_t unheard = s->streams[record->stream].unheard;

    if (unheard && unheard - 1 < s->unheard_seq)
        s->unheard_seq = unheard - 1;
}

/* Tests whether the host knows more when the call returns. */
static bool may_wait(const struct sbt_schema *schema)
{
    return schema->flags & SBT_SCHEMA_BLOCKS || tsm_call_traits(schema).traits & TSM_TRAIT_MAY_WAIT;
}

/* ---- one record --------------------------------------------------------------------------- */

/* A range of all streams wants the state that it begins with, be it for a result alone. */
static void want_begin(struct search *s, const struct sbt_record *record, uint32_t stream)
{
    if (!s->filter->streams && in_filter(s, record, stream))
        raise(&s->all_until, record->seq);
}

static int visit_command(struct search *s, const struct sbt_record *record,
                         const struct sbt_schema *schema)
{
    uint64_t object = sbt_record_role(schema, record, SBT_ROLE_OBJECT, 0);
    struct need_stream *stream = &s->streams[record->stream];
    bool verified = record->position && record->position <= stream->wanted_position;
    bool waited = may_wait(schema) && sync_matters(s, record, record->stream);
    bool signals = (schema->kind == SBT_KIND_SIGNAL && take_wanted(s, object)) ||
                   (record->flags & SBT_RECORD_ORDERED) || completes_wanted(s, record, schema);

    want_begin(s, record, record->stream);
    if (verified || waited || signals || in_filter(s, record, record->stream))
        raise(&stream->until, record->seq + 1);
    if (until_of(s, record->stream) > record->seq)
        return need_command(s, record, schema);
    note_left_out(s, record);
    return 0;
}

static int visit_sync(struct search *s, const struct sbt_record *record,
                      const struct sbt_schema *schema)
{
    int object = sbt_schema_role(schema, SBT_ROLE_OBJECT);
    uint64_t id = sbt_record_role(schema, record, SBT_ROLE_OBJECT, 0);

    if (!sync_matters(s, record, record->stream))
        return 0;
    if (record->stream != SBT_STREAM_NONE) {
        raise(&s->streams[record->stream].until, record->seq);
        if (s->facts.streams[record->stream].is_default)
            raise(&s->joined_until, record->seq);
        return 0;
    }
    /* The object may also be a context, and stand for the whole device. */
    if (id && (tsm_object_traits(schema->fields[object].detail) & TSM_OBJECT_EVENT))
        return set(&s->wanted, id);
    raise(&s->all_until, record->seq);
    return 0;
}

/* The program could know, without a call that waits, that a stream's commands are complete. */
static void visit_complete(struct search *s, const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_core_schema(SBT_CORE_COMPLETE);
    uint64_t of = sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE);

    if (of < s->facts.count && sync_matters(s, record, (uint32_t)of))
        raise(&s->streams[of].wanted_position,
              sbt_record_role(schema, record, SBT_ROLE_OF_POSITION, 0));
}

/* Bytes that are to be verified: the command that gave them, or for memory all before it. */
static void visit_verified(struct search *s, const struct sbt_record *record,
                           const struct sbt_schema *schema)
{
    uint64_t of = sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE);
    bool is_readback = SBT_TYPE_CALL(record->type) == SBT_CORE_READBACK;

    if (!in_filter(s, record, (uint32_t)of))
        return;
    raise(&s->verified_until, record->seq + 1);
    want_begin(s, record, (uint32_t)of);
    if (is_readback && of < s->facts.count)
        raise(&s->streams[of].wanted_position,
              sbt_record_role(schema, record, SBT_ROLE_OF_POSITION, 0));
    else if (!is_readback)
        raise(&s->all_until, record->seq);
}

static int visit(struct search *s, struct sbt_reader *reader, const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(reader, record->type);

    if (record->flags & SBT_RECORD_SPOT)
        return 0; /* it is compared where all was sent anyway */
    if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_READBACK) ||
        record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_CHECKSUM)) {
        visit_verified(s, record, schema ? schema : sbt_core_schema(SBT_TYPE_CALL(record->type)));
        return 0;
    }
    if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_COMPLETE)) {
        visit_complete(s, record);
        return 0;
    }
    if (!schema || (record->flags & (SBT_RECORD_FAILED | SBT_RECORD_CAPTURED)))
        return 0;
    if (schema->kind == SBT_KIND_SYNC)
        return visit_sync(s, record, schema);
    if (record->stream != SBT_STREAM_NONE &&
        (schema->kind == SBT_KIND_COMMAND || schema->kind == SBT_KIND_SIGNAL ||
         schema->kind == SBT_KIND_WAIT))
        return visit_command(s, record, schema);
    return 0;
}

/* ---- the pass ----------------------------------------------------------------------------- */

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

/* All but the signals: before a pass. */
static void forget(struct search *s)
{
    memset(s->streams, 0, (s->facts.count + 1) * sizeof(*s->streams));
    memset(s->group_needed, 0, (s->facts.count + 1) * sizeof(*s->group_needed));
    s->all_until = s->joined_until = s->defaults_until = s->joined_before = 0;
    s->verified_until = 0;
    s->unheard_seq = UINT64_MAX;
    tsm_map_finish(&s->wanted);
    tsm_map_finish(&s->threads);
    s->has_new_signal = s->is_any_needed = false;
}

static int search(struct search *s, struct sbt_reader *reader)
{
    int error = tsm_stream_facts_collect(&s->facts, reader);

    if (error)
        return error;
    s->streams = calloc(s->facts.count + 1, sizeof(*s->streams));
    s->group_needed = calloc(s->facts.count + 1, sizeof(*s->group_needed));
    if (!s->streams || !s->group_needed)
        return tsm_fail(TSM_E_MEMORY, "no memory for %u streams", s->facts.count);
    do {
        forget(s);
        error = go_back(s, reader);
    } while (!error && s->has_new_signal);
    return error;
}

/* Returns where nothing more is wanted. A range alone wants the state at its end, for a checkpoint.
 * Some streams, or a time, want no more than their commands and results: what the host freed or
 * wrote later it did after waits for commands that may be left out. */
static uint64_t end_of(const struct search *s)
{
    const struct sbt_filter *f = s->filter;
    uint64_t end = s->verified_until;

    if (!f->streams && !f->time_end_ns)
        return f->seq_end ? f->seq_end : UINT64_MAX;
    for (uint32_t i = 0; i < s->facts.count; i++)
        raise(&end, until_of(s, i));
    return end;
}

int tsm_dependency_slice_find(struct tsm_dependency_slice *out, struct sbt_reader *reader,
                              const struct sbt_filter *filter)
{
    struct search s = {.filter = filter};
    uint64_t *until = NULL;
    int error = search(&s, reader);

    if (!error && !(until = calloc(s.facts.count + 1, sizeof(*until))))
        error = tsm_fail(TSM_E_MEMORY, "no memory for %u streams", s.facts.count);
    for (uint32_t i = 0; i < s.facts.count && !error; i++)
        until[i] = until_of(&s, i);
    if (!error)
        *out = (struct tsm_dependency_slice){until, s.facts.count, end_of(&s), s.unheard_seq};
    tsm_stream_facts_finish(&s.facts);
    tsm_map_finish(&s.wanted);
    tsm_map_finish(&s.signals);
    tsm_map_finish(&s.threads);
    free(s.streams);
    free(s.group_needed);
    return error;
}

void tsm_dependency_slice_finish(struct tsm_dependency_slice *need)
{
    free(need->until_seq);
    memset(need, 0, sizeof(*need));
}
