/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/dependencies/edges.h"

#include "analysis/dependencies/sources.h"
#include "analysis/model/devices.h"
#include "analysis/model/work.h"
#include "api/traits.h"
#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

const char *tsm_dependency_reason_name(enum tsm_dependency_reason reason)
{
    static const char *const names[TSM_DEPENDS_COUNT] = {"stream",
                                                         "default stream",
                                                         "event",
                                                         "signal",
                                                         "barrier",
                                                         "host",
                                                         "thread",
                                                         "unknown",
                                                         "read after write",
                                                         "write after write",
                                                         "write after read"};

    return (unsigned)reason < TSM_DEPENDS_COUNT ? names[reason] : NULL;
}

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for dependencies");
}

/* ---- what a record depends on -----------------------------------------------------------------
 */

/* Adds where an event was recorded last; nothing, where something unseen may have recorded it
 * since.
 */
static int add_event(struct tsm_dependencies *d, uint64_t id, const struct sbt_record *record,
                     enum tsm_dependency_reason reason)
{
    const uint64_t place = tsm_map_get(&d->event_places, id, 0);
    const struct tsm_dependency_event *e = place ? &d->events[place - 1] : NULL;

    if (!e || e->unseen != d->unseen_count ||
        !tsm_dependency_is_before(e->sender, e->returned_ns, record))
        return 0;
    return tsm_dependency_source_add(d, &(struct tsm_dependency_source){.seq = e->seq,
                                                                        .position = e->position,
                                                                        .object = id,
                                                                        .stream = e->stream,
                                                                        .reason = reason,
                                                                        .known = &e->known});
}

/* Adds what the default stream of a context and the others wait for of each other. */
static int add_default(struct tsm_dependencies *d, const struct tsm_dependency_stream *s,
                       const struct sbt_record *record)
{
    const struct tsm_dependency_owner *owner = &d->owners[s->owner - 1];
    const struct tsm_dependency_stream *other;
    int error = 0;

    if (s->is_default) {
        for (size_t i = 0; i < owner->recent_count && !error; i++)
            error = tsm_dependency_source_last(d, &d->streams[owner->recent[i]], record,
                                               TSM_DEPENDS_DEFAULT);
        return error;
    }
    if (s->is_apart || !owner->default_stream)
        return 0;
    other = &d->streams[owner->default_stream - 1];
    return tsm_vector_clock_has(&s->known, other->number, other->position)
               ? 0
               : tsm_dependency_source_last(d, other, record, TSM_DEPENDS_DEFAULT);
}

/* ---- all streams of a context -----------------------------------------------------------------
 */

/* Returns the key of what a command that gathers or spreads means. */
static uint64_t meant_by(const struct tsm_call_node *call)
{
    const uint64_t key = tsm_devices_key(call->record, call->schema, 0);

    return key ? key : call->owner;
}

/* Adds the last commands of all streams that the command gathers. */
static int add_gathered(struct tsm_dependencies *d, const struct tsm_call_node *call,
                        const struct tsm_dependency_stream *s)
{
    const uint64_t key = meant_by(call);
    int error = 0;

    for (size_t i = 0; i < d->stream_count && !error; i++) {
        const struct tsm_dependency_stream *other = &d->streams[i];
        if (other != s && tsm_dependency_stream_is_of(d, other, key) &&
            !tsm_vector_clock_has(&s->known, other->number, other->position))
            error = tsm_dependency_source_last(d, other, call->record, TSM_DEPENDS_EVENT);
    }
    return error;
}

static int add_held_by(struct tsm_dependencies *d, const struct tsm_dependency_stream *s,
                       const struct sbt_record *record, uint64_t key)
{
    const struct tsm_dependency_stream *by = tsm_dependency_held_by(d, key);

    return by && by != s && !tsm_vector_clock_has(&s->known, by->number, by->position)
               ? tsm_dependency_source_last(d, by, record, TSM_DEPENDS_EVENT)
               : 0;
}

/* Adds the waits of whole contexts that hold the stream back. */
static int add_holding(struct tsm_dependencies *d, const struct tsm_dependency_stream *s,
                       const struct sbt_record *record)
{
    const int error = add_held_by(d, s, record, d->owners[s->owner - 1].key);

    return error ? error : add_held_by(d, s, record, s->group);
}

/* Adds what a stream waits for that is said of several. */
static int add_joined(struct tsm_dependencies *d, const struct tsm_call_node *call,
                      const struct tsm_dependency_stream *s)
{
    const uint64_t traits = tsm_call_traits(call->schema).traits;

    if (traits & TSM_TRAIT_GATHERS)
        return add_gathered(d, call, s);
    if (traits & TSM_TRAIT_SPREADS)
        return 0;
    const int error = add_default(d, s, call->record);
    return error ? error : add_holding(d, s, call->record);
}

/* ---- commands ---------------------------------------------------------------------------------
 */

/* Fills the gap: what is left of it lies before and behind the record, which comes before another
 * one that is noted already. */
static int split_gap(struct tsm_dependencies *d, struct tsm_dependency_stream *s,
                     struct tsm_dependency_gap *gap, const struct sbt_record *record)
{
    const struct tsm_dependency_gap rest = {record->position + 1, gap->end, record->seq,
                                            gap->after_seq};

    gap->end = record->position;
    gap->after_seq = record->seq;
    if (!TSM_ARRAY_PUSH(s->gaps, s->gap_count, s->gap_capacity, rest))
        return no_memory();
    return tsm_dependency_edge_add(d, &(struct tsm_dependency){.from = record->seq,
                                                               .to = rest.after_seq,
                                                               .reason = TSM_DEPENDS_STREAM});
}

static int record_event(struct tsm_dependencies *d, const struct tsm_call_node *call,
                        const struct tsm_dependency_stream *s)
{
    const struct sbt_record *record = call->record;
    const uint64_t id = sbt_record_role(call->schema, record, SBT_ROLE_OBJECT, 0);
    struct tsm_dependency_event *e = id ? tsm_dependency_event_of(d, id) : NULL;

    if (!id)
        return 0;
    if (!e || !tsm_vector_clock_copy(&e->known, &d->budget, &s->known))
        return no_memory();
    e->seq = record->seq;
    e->position = record->position;
    e->returned_ns = record->time_ns + record->duration_ns;
    e->stream = record->stream;
    e->sender = record->thread;
    e->unseen = d->unseen_count;
    return 0;
}

/* The call returns when its command has ended, or begun: the thread knows then. */
static int teach_command(struct tsm_dependencies *d, struct tsm_dependency_thread *t,
                         const struct tsm_call_node *call, const struct tsm_dependency_stream *s)
{
    const struct sbt_record *record = call->record;
    const bool is_early = tsm_work_returns_early(call->schema);
    const int error = tsm_dependency_teach(d, t, record, &s->known, is_early);

    return error || is_early ||
                   tsm_vector_clock_add(&t->known, &d->budget, record->stream, record->position)
               ? error
               : no_memory();
}

static bool is_dropped(const struct tsm_dependencies *d, const struct tsm_call_node *call)
{
    return d->dropped && call->record->seq == d->dropped - 1;
}

static bool returns_when_over(const struct tsm_dependencies *d, const struct tsm_call_node *call)
{
    return call->is_wait && !is_dropped(d, call) &&
           !(tsm_call_traits(call->schema).traits & TSM_TRAIT_MAY_WAIT);
}

/* Adds the last command that is known to be before a gap (NULL: none is known). */
static int add_before_gap(struct tsm_dependencies *d, const struct tsm_dependency_gap *gap,
                          uint32_t stream, enum tsm_dependency_reason reason)
{
    static const struct tsm_vector_clock nothing;

    return gap ? tsm_dependency_source_add(
                     d, &(struct tsm_dependency_source){.seq = gap->before_seq,
                                                        .position = gap->first - 1,
                                                        .stream = stream,
                                                        .reason = reason,
                                                        .known = &nothing})
               : 0;
}

/* Adds the command before this one on its stream. */
static int add_previous(struct tsm_dependencies *d, const struct tsm_dependency_stream *s,
                        const struct sbt_record *record, const struct tsm_dependency_gap *gap)
{
    return !s->position || record->position > s->position
               ? tsm_dependency_source_last(d, s, record, TSM_DEPENDS_STREAM)
               : add_before_gap(d, gap, record->stream, TSM_DEPENDS_STREAM);
}

static int find_command_sources(struct tsm_dependencies *d, const struct tsm_call_node *call,
                                const struct tsm_dependency_stream *s,
                                const struct tsm_dependency_gap *gap)
{
    const uint64_t id = sbt_record_role(call->schema, call->record, SBT_ROLE_OBJECT, 0);
    int error = add_previous(d, s, call->record, gap);

    if (!error)
        error = tsm_dependency_is_unknown(call->record, call->schema)
                    ? tsm_dependency_source_all(d, 0, s->number, &s->known, call->record,
                                                TSM_DEPENDS_UNKNOWN, &d->barrier.activity)
                    : add_joined(d, call, s);
    return error || call->schema->kind != SBT_KIND_WAIT || !id || is_dropped(d, call)
               ? error
               : add_event(d, id, call->record, TSM_DEPENDS_EVENT);
}

/* The thread and the stream are added before they are pointed to. */
static int note_command(struct tsm_dependencies *d, const struct tsm_call_node *call)
{
    const struct sbt_record *record = call->record;
    struct tsm_dependency_thread *t = tsm_dependency_thread_of(d, record->thread);
    struct tsm_dependency_stream *s = tsm_dependency_stream_of(d, record->stream);
    const size_t thread = t ? (size_t)(t - d->threads) + 1 : 0;
    struct tsm_dependency_host_edge hosts[2];
    struct tsm_dependency_gap *gap = NULL;
    bool is_late;
    int error;

    if (!t || !s)
        return no_memory();
    error = tsm_dependency_stream_enter(d, s, call->owner);
    if (error)
        return error;
    s->is_apart |=
        (tsm_call_traits(call->schema).traits & (TSM_TRAIT_GATHERS | TSM_TRAIT_SPREADS)) != 0;
    is_late = s->position && record->position <= s->position;
    if (is_late)
        gap = tsm_dependency_gap_find(s, record->position);
    hosts[0] = (struct tsm_dependency_host_edge){.seq = t->seq,
                                                 .known = &t->known,
                                                 .reason = TSM_DEPENDS_THREAD,
                                                 .is_known = s->thread == thread &&
                                                             s->thread_version == t->version,
                                                 .is_begin = t->is_begin};
    hosts[1] =
        (struct tsm_dependency_host_edge){.seq = d->barrier.seq,
                                          .known = &d->barrier.known,
                                          .reason = TSM_DEPENDS_UNKNOWN,
                                          .is_known = s->barrier_version == d->barrier.version};
    error = find_command_sources(d, call, s, gap);
    if (!error)
        error = tsm_dependency_edges_make(d, record->seq, hosts, 2);
    if (!error && gap)
        error = split_gap(d, s, gap, record);
    if (!error && !tsm_vector_clock_join(&s->known, &d->budget, &d->scratch))
        error = no_memory();
    if (error)
        return error;
    s->thread = thread;
    s->thread_version = t->version;
    s->barrier_version = d->barrier.version;
    if (!is_late)
        error = tsm_dependency_stream_advance(d, s, record);
    /* Nodes of a graph may record any event. */
    d->unseen_count += (tsm_graph_traits(record->type) & TSM_TRAIT_LAUNCHES_GRAPH) != 0;
    if (!error && call->schema->kind == SBT_KIND_SIGNAL)
        error = record_event(d, call, s);
    if (!error && tsm_call_traits(call->schema).traits & TSM_TRAIT_SPREADS)
        error = tsm_dependency_stream_holds(d, s, meant_by(call));
    if (!error && tsm_dependency_is_unknown(record, call->schema))
        error = tsm_dependency_barrier_remember(d, record);
    return error || !returns_when_over(d, call) ? error : teach_command(d, t, call, s);
}

/* ---- waits ------------------------------------------------------------------------------------
 */

/* Adds a stream's command before the wait; of a default stream what that would wait for, too. A
 * wait has a place on its stream. */
static int add_waited_stream(struct tsm_dependencies *d, const struct tsm_call_node *call)
{
    const struct sbt_record *record = call->record;
    struct tsm_dependency_stream *s = tsm_dependency_stream_of(d, record->stream);
    int error;

    if (!s)
        return no_memory();
    /* A default stream is waited for, though nothing was sent to it itself. */
    error = s->is_default ? tsm_dependency_stream_enter(d, s, call->owner) : 0;
    if (error)
        return error;
    if (record->position && record->position < s->position)
        return add_before_gap(d, tsm_dependency_gap_find(s, record->position), record->stream,
                              TSM_DEPENDS_HOST);
    error = tsm_dependency_source_last(d, s, record, TSM_DEPENDS_HOST);
    if (error || !s->is_default || !s->owner)
        return error;
    for (size_t i = 0; i < d->owners[s->owner - 1].recent_count && !error; i++)
        error = tsm_dependency_source_last(d, &d->streams[d->owners[s->owner - 1].recent[i]],
                                           record, TSM_DEPENDS_HOST);
    return error;
}

static bool names_event(const struct sbt_schema *schema)
{
    const int object = sbt_schema_role(schema, SBT_ROLE_OBJECT);

    return object >= 0 && tsm_object_traits(schema->fields[object].detail) & TSM_OBJECT_EVENT;
}

static int note_wait(struct tsm_dependencies *d, const struct tsm_call_node *call)
{
    const struct sbt_record *record = call->record;
    struct tsm_dependency_thread *t = tsm_dependency_thread_of(d, record->thread);
    int error;

    if (!t)
        return no_memory();
    if (record->stream != SBT_STREAM_NONE)
        error = add_waited_stream(d, call);
    else if (names_event(call->schema))
        error = add_event(d, sbt_record_role(call->schema, record, SBT_ROLE_OBJECT, 0), record,
                          TSM_DEPENDS_HOST);
    else
        error = tsm_dependency_source_owned(d, t, call->owner, record);
    return error ? error : tsm_dependency_wait_finish(d, record);
}

/* ---- records ----------------------------------------------------------------------------------
 */

static void begin(struct tsm_dependencies *d)
{
    d->is_node = false;
    d->found_count = d->source_count = 0;
}

int tsm_dependencies_note(struct tsm_dependencies *d, const struct tsm_call_node *call)
{
    const struct sbt_record *record = call->record;
    int error;

    begin(d);
    if (!call->schema || record->flags & (SBT_RECORD_FAILED | SBT_RECORD_CAPTURED))
        return 0;
    if (!(tsm_api_traits(record->type) & TSM_API_IN_ORDER)) {
        if (tsm_wait_has_calls(SBT_TYPE_API(record->type)))
            return tsm_dependency_loose_note(d, call);
        d->passed_count += call->is_command;
        return 0;
    }
    error = tsm_dependency_stream_created(d, call);
    if (error)
        return error;
    d->is_node = call->is_command && record->position;
    if (d->is_node)
        return note_command(d, call);
    if (call->schema->kind == SBT_KIND_SYNC)
        return is_dropped(d, call) ? 0 : note_wait(d, call);
    return record->flags & SBT_RECORD_TAINTS ? tsm_dependency_unknown_note(d, record) : 0;
}

int tsm_dependencies_note_core(struct tsm_dependencies *d, const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_core_schema(SBT_CORE_COMPLETE);
    uint64_t of, position, place;
    const struct tsm_dependency_stream *s;
    int error;

    begin(d);
    if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_LOST)) {
        d->unseen_count++;
        d->objects.unseen_count++;
        tsm_dependency_loose_lost(d);
    }
    if (record->type != SBT_TYPE(SBT_API_CORE, SBT_CORE_COMPLETE))
        return tsm_dependency_loose_note_core(d, record);
    of = sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE);
    position = sbt_record_role(schema, record, SBT_ROLE_OF_POSITION, 0);
    place = of < SBT_STREAM_NONE ? tsm_map_get(&d->stream_places, of, 0) : 0;
    s = place ? &d->streams[place - 1] : NULL;
    if (!s || !position || position != s->position) /* the seqs of others are not kept */
        return 0;
    error = tsm_dependency_source_last(d, s, record, TSM_DEPENDS_HOST);
    return error ? error : tsm_dependency_wait_finish(d, record);
}

/* ---- questions --------------------------------------------------------------------------------
 */

bool tsm_dependencies_is_over(const struct tsm_dependencies *d, const struct sbt_record *record,
                              bool is_command, uint32_t stream, uint64_t position)
{
    const uint64_t place = is_command ? tsm_map_get(&d->stream_places, record->stream, 0) : 0,
                   own = tsm_map_get(&d->thread_places, record->thread, 0);

    if (is_command && record->stream == stream)
        return position < record->position;
    if (place && tsm_vector_clock_has(&d->streams[place - 1].known, stream, position))
        return true;
    if (own && tsm_vector_clock_has(&d->threads[own - 1].known, stream, position))
        return true;
    for (size_t i = 0; i < d->thread_count && i < TSM_DEPENDENCY_THREADS_ASKED; i++)
        if (d->threads[i].returned_ns <= record->time_ns &&
            tsm_vector_clock_has(&d->threads[i].known, stream, position))
            return true;
    return false;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t tsm_dependencies_over_until(const struct tsm_dependencies *d,
                                     const struct sbt_record *record, bool is_command,
                                     uint32_t stream)
{
    const uint64_t place = is_command ? tsm_map_get(&d->stream_places, record->stream, 0) : 0,
                   own = tsm_map_get(&d->thread_places, record->thread, 0);
    uint64_t until = 0;

    if (is_command && record->stream == stream)
        return record->position ? record->position - 1 : 0;
    if (place)
        until = tsm_vector_clock_until(&d->streams[place - 1].known, stream);
    if (own)
        until = later(until, tsm_vector_clock_until(&d->threads[own - 1].known, stream));
    for (size_t i = 0; i < d->thread_count && i < TSM_DEPENDENCY_THREADS_ASKED; i++)
        if (d->threads[i].returned_ns <= record->time_ns)
            until = later(until, tsm_vector_clock_until(&d->threads[i].known, stream));
    return until;
}
