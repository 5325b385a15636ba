/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/time/host_waits.h"

#include "analysis/model/work.h"
#include "api/traits.h"
#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

#define STREAMS_MAX 4096u
#define LINKS_MAX   65536u /* commands that one object stands for; of later ones it says nothing */
#define ALL_PARTS   UINT32_MAX

/* The place at which an event was recorded last. */
struct tsm_host_event {
    uint32_t stream;
    uint64_t position, returned_ns;
    uint64_t launches, unseen; /* launch_count and unseen_count when that was */
};

/* NULL: out of memory. Valid until the next call. */
static struct tsm_host_stream *stream_of(struct tsm_host_waits *w, uint32_t stream)
{
    bool added;
    uint64_t *place = tsm_map_insert(&w->places, stream, &added);

    if (!place)
        return NULL;
    if (added || !*place) {
        if (!TSM_ARRAY_PUSH(w->streams, w->stream_count, w->stream_capacity,
                            (struct tsm_host_stream){0}))
            return NULL;
        *place = w->stream_count;
    }
    return &w->streams[*place - 1];
}

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for waits");
}

/* ---- waits ------------------------------------------------------------------------------------
 */

static bool is_behind(const struct tsm_host_wait *wait, uint64_t position, uint32_t parts)
{
    return wait->position > position || (wait->position == position && wait->parts >= parts);
}

/* A wait for all up to a place. A later wait for the same commands says less. */
static int add_wait(struct tsm_host_stream *s, const struct tsm_host_wait *wait)
{
    struct tsm_host_wait_list *l = &s->waits;

    if (!wait->position ||
        (l->count && is_behind(&l->list[l->count - 1], wait->position, wait->parts)))
        return 0;
    return TSM_ARRAY_PUSH(l->list, l->count, l->capacity, *wait) ? 0 : no_memory();
}

static int add_wait_alone(struct tsm_host_stream *s, const struct tsm_host_wait *wait)
{
    struct tsm_host_wait_list *l = &s->alone;
    bool added;
    uint64_t *place = tsm_map_insert(&s->alone_places, wait->position, &added);

    if (place && !added)
        return 0;
    if (!place || !TSM_ARRAY_PUSH(l->list, l->count, l->capacity, *wait))
        return no_memory();
    *place = l->count;
    return 0;
}

/* Returns the first wait for a place and all before it, or NULL. */
static struct tsm_host_wait *find_behind(const struct tsm_host_stream *s, uint64_t position,
                                         uint32_t parts)
{
    size_t at;

    TSM_BISECT(at, s->waits.count, is_behind(&s->waits.list[at], position, parts));
    return at < s->waits.count ? &s->waits.list[at] : NULL;
}

static struct tsm_host_wait *find_alone(const struct tsm_host_stream *s, uint64_t position)
{
    const uint64_t place = tsm_map_get(&s->alone_places, position, 0);

    return place ? &s->alone.list[place - 1] : NULL;
}

struct tsm_host_wait *tsm_host_waits_find(const struct tsm_host_waits *w,
                                          const struct tsm_command_node *node)
{
    const uint64_t place = tsm_map_get(&w->places, node->stream, 0);
    const struct tsm_host_stream *s = place ? &w->streams[place - 1] : NULL;
    const uint32_t parts = node->part < ALL_PARTS ? node->part + 1 : ALL_PARTS;
    struct tsm_host_wait *all, *alone;

    if (!s)
        return NULL;
    all = find_behind(s, node->position, parts);
    alone = find_alone(s, node->position);
    return !all || (alone && alone->known_ns < all->known_ns) ? alone : all;
}

/* ---- objects that stand for commands ----------------------------------------------------------
 */

struct noting {
    struct tsm_host_waits *w;
    const struct tsm_call_node *call;
    const struct tsm_host_wait *wait; /* this call, if it is one */
};

/* The command of a link has ended. */
static int note_ended(void *user, const struct tsm_object_link *link, uint64_t object)
{
    const struct noting *n = user;
    struct tsm_host_stream *s = stream_of(n->w, link->stream);
    struct tsm_host_wait wait = *n->wait;

    (void)object;
    if (!s)
        return no_memory();
    wait.position = link->position;
    wait.parts = link->parts;
    return link->is_alone ? add_wait_alone(s, &wait) : add_wait(s, &wait);
}

static bool has_ended(void *user, const struct tsm_object_link *link)
{
    const struct noting *n = user;
    const uint64_t place = tsm_map_get(&n->w->places, link->stream, 0);
    const struct tsm_host_stream *s = place ? &n->w->streams[place - 1] : NULL;

    return s && (find_behind(s, link->position, link->parts) || find_alone(s, link->position));
}

/* Goes through what a call says of objects: any call may change one, a wait or a query tells its
 * value. */
static int note_objects(const struct noting *n)
{
    const struct tsm_object_visitor visitor = {
        .user = (void *)(uintptr_t)n, .ended = note_ended, .has_ended = has_ended};

    n->w->objects.reader = n->w->reader;
    n->w->objects.links_max = LINKS_MAX;
    return tsm_objects_note(&n->w->objects, n->call, &visitor);
}

/* ---- events, streams, owners ------------------------------------------------------------------
 */

/* Returns the event that a call records or waits for, as a key; 0: none. */
static uint64_t event_of(const struct tsm_call_node *call)
{
    const int object = sbt_schema_role(call->schema, SBT_ROLE_OBJECT);
    const uint64_t id = sbt_record_role(call->schema, call->record, SBT_ROLE_OBJECT, 0);

    if (!id || !(tsm_object_traits(call->schema->fields[object].detail) & TSM_OBJECT_EVENT))
        return 0;
    return (uint64_t)SBT_TYPE_API(call->record->type) << 56 | id;
}

static int note_event(struct tsm_host_waits *w, uint64_t event, const struct tsm_host_event *place)
{
    bool added;
    uint64_t *index = tsm_map_insert(&w->events, event, &added);

    if (index && !*index &&
        TSM_ARRAY_PUSH(w->event_places, w->event_count, w->event_capacity, *place))
        *index = w->event_count;
    if (!index || !*index)
        return no_memory();
    w->event_places[*index - 1] = *place;
    return 0;
}

/* Notes what the host has sent to a stream. A call that blocks is a wait for it, too. */
static int note_command(const struct noting *n)
{
    const struct sbt_record *record = n->call->record;
    const struct sbt_schema *schema = n->call->schema;
    struct tsm_host_stream *s = stream_of(n->w, record->stream);
    const uint64_t event = schema->kind == SBT_KIND_SIGNAL ? event_of(n->call) : 0;
    struct tsm_host_wait wait = *n->wait;

    if (!s)
        return no_memory();
    s->owner = n->call->owner;
    s->position = record->position;
    if (s->latest_return_ns < wait.known_ns)
        s->latest_return_ns = wait.known_ns;
    if (event)
        return note_event(n->w, event,
                          &(struct tsm_host_event){.stream = record->stream,
                                                   .position = record->position,
                                                   .returned_ns = wait.known_ns,
                                                   .launches = n->w->launch_count,
                                                   .unseen = n->w->objects.unseen_count});
    wait.position = s->position - (s->position && tsm_work_returns_early(schema));
    return schema->flags & SBT_SCHEMA_BLOCKS ? add_wait(s, &wait) : 0;
}

/* Says nothing of more streams than any program has. */
static int note_wait_for_all(const struct noting *n)
{
    struct tsm_host_waits *w = n->w;
    int error = 0;

    for (size_t i = 0; i < w->stream_count && w->stream_count <= STREAMS_MAX && !error; i++) {
        struct tsm_host_stream *s = &w->streams[i];
        struct tsm_host_wait wait = *n->wait;

        wait.position = s->position;
        if (s->owner == n->call->owner && n->call->record->time_ns >= s->latest_return_ns)
            error = add_wait(s, &wait);
    }
    return error;
}

/* Tests whether the event was recorded there last: a node of a graph that was launched since may
 * have recorded it elsewhere, and so may a call that is missing. */
static bool is_last_place(const struct tsm_host_waits *w, const struct tsm_host_event *place)
{
    return place->launches == w->launch_count && place->unseen == w->objects.unseen_count;
}

/* A wait for an event, for a stream, or for all streams of a context. Nothing counts that another
 * thread sent while this one began to wait. */
static int note_wait(const struct noting *n)
{
    const struct sbt_record *record = n->call->record;
    const uint64_t index = tsm_map_get(&n->w->events, event_of(n->call), 0);
    const struct tsm_host_event *place = index ? &n->w->event_places[index - 1] : NULL;
    const uint32_t stream = place ? place->stream : record->stream;
    struct tsm_host_wait wait = *n->wait;
    struct tsm_host_stream *s;

    if (place && !is_last_place(n->w, place))
        return 0;
    if (stream == SBT_STREAM_NONE)
        return tsm_work_waits_for_all(n->call) ? note_wait_for_all(n) : 0;
    s = stream_of(n->w, stream);
    if (!s)
        return no_memory();
    wait.position = place ? place->position : s->position;
    return record->time_ns < (place ? place->returned_ns : s->latest_return_ns)
               ? 0
               : add_wait(s, &wait);
}

/* ---- all --------------------------------------------------------------------------------------
 */

int tsm_host_waits_note(struct tsm_host_waits *w, const struct tsm_call_node *call)
{
    const struct sbt_record *record = call->record;
    struct tsm_host_wait wait = {
        .known_ns = record->time_ns + record->duration_ns, .seq = record->seq, .parts = ALL_PARTS};
    const struct noting n = {w, call, &wait};
    int error = 0;

    if (!call->schema || /* the trace is damaged: nothing is known of the call */
        record->flags & (SBT_RECORD_FAILED | SBT_RECORD_CAPTURED | SBT_RECORD_UNFINISHED))
        return 0;
    wait.call = call->schema->name;
    w->launch_count +=
        call->is_command && tsm_graph_traits(record->type) & TSM_TRAIT_LAUNCHES_GRAPH;
    if (call->is_command)
        error = note_command(&n);
    else if (call->schema->kind == SBT_KIND_SYNC)
        error = note_wait(&n);
    return error ? error : note_objects(&n);
}

int tsm_host_waits_note_core(struct tsm_host_waits *w, const struct sbt_record *record)
{
    const uint32_t call = SBT_TYPE_CALL(record->type);

    w->objects.unseen_count += call == SBT_CORE_LOST || call == SBT_CORE_STOPPED ||
                               call == SBT_CORE_FILTERED || call == SBT_CORE_UNMODELLED;
    return tsm_objects_note_state(&w->objects, record, NULL);
}

void tsm_host_waits_finish(struct tsm_host_waits *w)
{
    for (size_t i = 0; i < w->stream_count; i++) {
        free(w->streams[i].waits.list);
        free(w->streams[i].alone.list);
        tsm_map_finish(&w->streams[i].alone_places);
    }
    tsm_objects_finish(&w->objects, NULL);
    free(w->streams);
    free(w->event_places);
    tsm_map_finish(&w->events);
    tsm_map_finish(&w->places);
    *w = (struct tsm_host_waits){0};
}
