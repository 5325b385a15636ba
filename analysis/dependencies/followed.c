/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/dependencies/sources.h"

#include "analysis/model/devices.h"
#include "analysis/stream_facts.h"
#include "api/traits.h"
#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

#define GAPS_MAX 64u /* of a stream, that late commands may still come into */

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for dependencies");
}

/* Returns, from the function that uses it, the element of `list` that a key has; a new one where it
 * has none. */
#define PLACE_OF(map, key, list, count, capacity, ...)                                             \
    bool added;                                                                                    \
    uint64_t *place = tsm_map_insert(&(map), (key), &added);                                       \
                                                                                                   \
    if (!place)                                                                                    \
        return NULL;                                                                               \
    if (!*place) {                                                                                 \
        if (!TSM_ARRAY_PUSH(list, count, capacity, __VA_ARGS__))                                   \
            return NULL;                                                                           \
        *place = (count);                                                                          \
    }                                                                                              \
    return &(list)[*place - 1]

struct tsm_dependency_stream *tsm_dependency_stream_of(struct tsm_dependencies *d, uint32_t number)
{
    PLACE_OF(d->stream_places, number, d->streams, d->stream_count, d->stream_capacity,
             (struct tsm_dependency_stream){.number = number});
}

struct tsm_dependency_event *tsm_dependency_event_of(struct tsm_dependencies *d, uint64_t id)
{
    PLACE_OF(d->event_places, id, d->events, d->event_count, d->event_capacity,
             (struct tsm_dependency_event){0});
}

struct tsm_dependency_thread *tsm_dependency_thread_of(struct tsm_dependencies *d, uint32_t number)
{
    PLACE_OF(d->thread_places, number, d->threads, d->thread_count, d->thread_capacity,
             (struct tsm_dependency_thread){0});
}

static struct tsm_dependency_owner *owner_of(struct tsm_dependencies *d, uint64_t key)
{
    PLACE_OF(d->owner_places, key, d->owners, d->owner_count, d->owner_capacity,
             (struct tsm_dependency_owner){.key = key});
}

static bool is_of_context(const struct sbt_schema *schema)
{
    const int object = sbt_schema_role(schema, SBT_ROLE_OBJECT);

    return object >= 0 && tsm_object_traits(schema->fields[object].detail) & TSM_OBJECT_CONTEXT;
}

int tsm_dependency_stream_created(struct tsm_dependencies *d, const struct tsm_call_node *call)
{
    const uint64_t made =
        sbt_record_role(call->schema, call->record, SBT_ROLE_STREAM_MADE, SBT_STREAM_NONE);
    struct tsm_dependency_stream *s;

    if (made >= SBT_STREAM_NONE)
        return 0;
    s = tsm_dependency_stream_of(d, (uint32_t)made);
    if (!s)
        return no_memory();
    s->is_default = is_of_context(call->schema);
    if (!s->is_default)
        s->group = tsm_devices_key(call->record, call->schema,
                                   sbt_schema_role(call->schema, SBT_ROLE_PARENT));
    s->is_apart =
        !s->is_default && tsm_stream_made_apart(&d->apart, d->reader, call->record, call->schema);
    return 0;
}

int tsm_dependency_stream_enter(struct tsm_dependencies *d, struct tsm_dependency_stream *s,
                                uint64_t key)
{
    const struct tsm_dependency_owner *owner;

    if (s->owner)
        return 0;
    owner = owner_of(d, key);
    if (!owner)
        return no_memory();
    s->owner = (size_t)(owner - d->owners) + 1;
    return 0;
}

bool tsm_dependency_stream_is_of(const struct tsm_dependencies *d,
                                 const struct tsm_dependency_stream *s, uint64_t key)
{
    return s->group == key || (s->owner && d->owners[s->owner - 1].key == key);
}

int tsm_dependency_stream_holds(struct tsm_dependencies *d, const struct tsm_dependency_stream *s,
                                uint64_t key)
{
    struct tsm_dependency_owner *owner = owner_of(d, key);

    if (!owner)
        return no_memory();
    owner->held = (size_t)(s - d->streams) + 1;
    return 0;
}

const struct tsm_dependency_stream *tsm_dependency_held_by(const struct tsm_dependencies *d,
                                                           uint64_t key)
{
    const uint64_t place = key ? tsm_map_get(&d->owner_places, key, 0) : 0;
    const size_t held = place ? d->owners[place - 1].held : 0;

    return held ? &d->streams[held - 1] : NULL;
}

struct tsm_dependency_gap *tsm_dependency_gap_find(const struct tsm_dependency_stream *s,
                                                   uint64_t position)
{
    for (size_t i = 0; i < s->gap_count; i++)
        if (position >= s->gaps[i].first && position < s->gaps[i].end)
            return &s->gaps[i];
    return NULL;
}

static void note_gap(struct tsm_dependency_stream *s, const struct sbt_record *record)
{
    const struct tsm_dependency_gap gap = {s->position + 1, record->position, s->seq, record->seq};

    if (!s->position || gap.first == gap.end)
        return;
    if (s->gap_count >= GAPS_MAX)
        TSM_ARRAY_REMOVE(s->gaps, s->gap_count, 0);
    (void)!TSM_ARRAY_PUSH(s->gaps, s->gap_count, s->gap_capacity, gap); /* else order is lost */
}

bool tsm_dependency_is_before(uint32_t sender, uint64_t returned_ns,
                              const struct sbt_record *record)
{
    return sender == record->thread || returned_ns <= record->time_ns;
}

/* Takes those out whose last command the default stream's one, the record, waits for. */
static void forget_recent(struct tsm_dependencies *d, struct tsm_dependency_owner *owner,
                          const struct sbt_record *record)
{
    size_t left = 0;

    for (size_t i = 0; i < owner->recent_count; i++) {
        struct tsm_dependency_stream *s = &d->streams[owner->recent[i]];

        s->is_recent = !tsm_dependency_is_before(s->sender, s->returned_ns, record);
        if (s->is_recent)
            owner->recent[left++] = owner->recent[i];
    }
    owner->recent_count = left;
}

/* Makes the stream the one that was active last. */
static void move_to_end(struct tsm_dependencies *d, struct tsm_dependency_stream *s)
{
    const size_t place = (size_t)(s - d->streams) + 1;

    s->activity = ++d->activity;
    if (d->latest == place)
        return;
    if (s->earlier)
        d->streams[s->earlier - 1].later = s->later;
    if (s->later)
        d->streams[s->later - 1].earlier = s->earlier;
    if (d->latest)
        d->streams[d->latest - 1].later = place;
    s->earlier = d->latest;
    s->later = 0;
    d->latest = place;
}

int tsm_dependency_stream_advance(struct tsm_dependencies *d, struct tsm_dependency_stream *s,
                                  const struct sbt_record *record)
{
    struct tsm_dependency_owner *owner = &d->owners[s->owner - 1];

    note_gap(s, record);
    s->seq = record->seq;
    s->position = record->position;
    s->returned_ns = record->time_ns + record->duration_ns;
    s->sender = record->thread;
    move_to_end(d, s);
    if (s->is_default) {
        forget_recent(d, owner, record);
        owner->default_stream = (size_t)(s - d->streams) + 1;
        return 0;
    }
    if (s->is_apart || s->is_recent)
        return 0;
    s->is_recent = true;
    return TSM_ARRAY_PUSH(owner->recent, owner->recent_count, owner->recent_capacity,
                          (size_t)(s - d->streams))
               ? 0
               : no_memory();
}

void tsm_dependencies_finish(struct tsm_dependencies *d)
{
    for (size_t i = 0; i < d->stream_count; i++) {
        tsm_vector_clock_finish(&d->streams[i].known);
        free(d->streams[i].gaps);
    }
    for (size_t i = 0; i < d->event_count; i++)
        tsm_vector_clock_finish(&d->events[i].known);
    for (size_t i = 0; i < d->thread_count; i++)
        tsm_vector_clock_finish(&d->threads[i].known);
    for (size_t i = 0; i < d->owner_count; i++)
        free(d->owners[i].recent);
    tsm_dependency_loose_finish(d);
    tsm_vector_clock_finish(&d->barrier.known);
    tsm_vector_clock_finish(&d->scratch);
    free(d->found);
    free(d->sources);
    free(d->streams);
    free(d->events);
    free(d->threads);
    free(d->owners);
    tsm_map_finish(&d->stream_places);
    tsm_map_finish(&d->event_places);
    tsm_map_finish(&d->thread_places);
    tsm_map_finish(&d->owner_places);
    tsm_map_finish(&d->apart);
    *d = (struct tsm_dependencies){0};
}
