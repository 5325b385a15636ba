/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/time/host_waits.h"

#include "analysis/model/work.h"
#include "api/traits.h"
#include "api/waits.h"
#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

#define STREAMS_MAX 4096u
#define LINKS_MAX   65536u /* commands that one object stands for; of later ones it says nothing */
#define LINKS_LEFT  16u    /* that an object whose value is not known may keep */
#define ALL_PARTS   UINT32_MAX

/* The place at which an event was recorded last. */
struct tsm_host_event {
    uint32_t stream;
    uint64_t position, returned_ns;
    uint64_t launches, unseen; /* launch_count and unseen_count when that was */
};

/* A command that brings an object to a value. */
struct link {
    uint64_t value, position;
    uint32_t stream, parts;
    bool is_alone;
};

/* An object that commands and the host change, and the host looks at. */
struct tsm_host_object {
    struct link *links; /* a heap: none has a smaller value than the one at (i - 1) / 2 */
    size_t count, capacity;
    uint64_t rest;   /* its value when all that lower it have ended; modulo 2^64 */
    uint64_t unseen; /* unseen_count when that was known */
    bool is_known;   /* `rest` is */
    bool is_foreign; /* nothing that it holds says anything */
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

static struct tsm_host_object *object_of(struct tsm_host_waits *w, uint64_t key)
{
    bool added;
    uint64_t *place = tsm_map_insert(&w->objects, key, &added);

    if (!place)
        return NULL;
    if (added || !*place) {
        if (!TSM_ARRAY_PUSH(w->object_list, w->object_count, w->object_capacity,
                            (struct tsm_host_object){0}))
            return NULL;
        *place = w->object_count;
    }
    return &w->object_list[*place - 1];
}

/* Moves a link up to where none above it has a larger value. */
static void sift_up(struct tsm_host_object *o, size_t at)
{
    const struct link moved = o->links[at];

    for (; at && o->links[(at - 1) / 2].value > moved.value; at = (at - 1) / 2)
        o->links[at] = o->links[(at - 1) / 2];
    o->links[at] = moved;
}

/* Removes the link with the smallest value. */
static void remove_first(struct tsm_host_object *o)
{
    const struct link moved = o->links[--o->count];
    size_t at = 0, below;

    for (; (below = 2 * at + 1) < o->count; at = below) {
        below += below + 1 < o->count && o->links[below + 1].value < o->links[below].value;
        if (o->links[below].value >= moved.value)
            break;
        o->links[at] = o->links[below];
    }
    o->links[at] = moved;
}

static void drop_links(struct tsm_host_object *o)
{
    free(o->links);
    o->links = NULL;
    o->count = o->capacity = 0;
}

static int add_link(const struct noting *n, struct tsm_host_object *o,
                    const struct tsm_wait_step *step)
{
    const struct sbt_record *record = n->call->record;
    const struct link link = {.value = step->kind == TSM_WAIT_ENDS ? step->value : 0,
                              .position = record->position,
                              .stream = record->stream,
                              .parts = step->parts ? step->parts : ALL_PARTS,
                              .is_alone = step->is_alone};

    if (!n->call->is_command || o->is_foreign)
        return 0;
    if (o->count == LINKS_MAX) { /* what lowers a value counts, each of it */
        o->is_foreign |= step->kind == TSM_WAIT_LOWERS;
        return 0;
    }
    if (!TSM_ARRAY_PUSH(o->links, o->count, o->capacity, link))
        return no_memory();
    sift_up(o, o->count - 1);
    o->rest -= step->kind == TSM_WAIT_LOWERS;
    return 0;
}

/* The command of a link has ended. */
static int note_ended(const struct noting *n, const struct link *link)
{
    struct tsm_host_stream *s = stream_of(n->w, link->stream);
    struct tsm_host_wait wait = *n->wait;

    if (!s)
        return no_memory();
    wait.position = link->position;
    wait.parts = link->parts;
    return link->is_alone ? add_wait_alone(s, &wait) : add_wait(s, &wait);
}

/* All links with a value up to this one are over. */
static int note_reached(const struct noting *n, struct tsm_host_object *o, uint64_t value)
{
    int error = 0;

    while (!error && o->count && o->links[0].value <= value) {
        error = note_ended(n, &o->links[0]);
        remove_first(o);
    }
    return error;
}

static bool is_value_known(const struct tsm_host_waits *w, const struct tsm_host_object *o)
{
    return o->is_known && o->unseen == w->unseen_count;
}

/* The host saw the value that is left when all have ended. */
static int note_held(const struct noting *n, struct tsm_host_object *o, uint64_t value)
{
    return is_value_known(n->w, o) && value == o->rest ? note_reached(n, o, UINT64_MAX) : 0;
}

static bool has_ended(const struct tsm_host_waits *w, const struct link *link)
{
    const uint64_t place = tsm_map_get(&w->places, link->stream, 0);
    const struct tsm_host_stream *s = place ? &w->streams[place - 1] : NULL;

    return s && (find_behind(s, link->position, link->parts) || find_alone(s, link->position));
}

/* Drops links of which the host has learnt in another way. Many that are left make the object one
 * that says nothing, so that no record of a trace takes long. */
static void prune(const struct tsm_host_waits *w, struct tsm_host_object *o)
{
    size_t kept = 0;

    for (size_t i = 0; i < o->count; i++)
        if (!has_ended(w, &o->links[i]))
            o->links[kept++] = o->links[i]; /* values are all 0: still a heap */
    o->count = kept;
    if (kept > LINKS_LEFT) {
        o->is_foreign = true;
        drop_links(o);
    }
}

/* The value that the host gives it is known when nothing lowers it any more. */
static void note_set(const struct noting *n, struct tsm_host_object *o, uint64_t value)
{
    prune(n->w, o);
    o->is_known = !o->count && !o->is_foreign;
    o->unseen = n->w->unseen_count;
    o->rest = value;
}

/* Commands that still lower it will do so from the new value. */
static int note_swapped(const struct noting *n, struct tsm_host_object *o,
                        const struct tsm_wait_step *step)
{
    int error = note_held(n, o, step->before);

    if (is_value_known(n->w, o))
        o->rest = step->value - (step->before - o->rest);
    else
        note_set(n, o, step->value);
    return error;
}

static int note_object(const struct noting *n, struct tsm_host_object *o,
                       const struct tsm_wait_step *step)
{
    switch (step->kind) {
    case TSM_WAIT_ENDS:
    case TSM_WAIT_LOWERS:
        return add_link(n, o, step);
    case TSM_WAIT_REACHED:
        return note_reached(n, o, step->value);
    case TSM_WAIT_HELD:
        return note_held(n, o, step->value);
    case TSM_WAIT_SET:
        note_set(n, o, step->value);
        return 0;
    case TSM_WAIT_ADD:
        o->rest += step->value;
        return 0;
    case TSM_WAIT_SWAP:
        return note_swapped(n, o, step);
    case TSM_WAIT_OVER:
        drop_links(o);
        o->is_known = false;
        return 0;
    case TSM_WAIT_FOREIGN:
        drop_links(o);
        o->is_foreign = true;
        return 0;
    case TSM_WAIT_BITS:
    case TSM_WAIT_UNSEEN:
        break;
    }
    o->is_known = false;
    return 0;
}

static int visit_step(void *user, const struct tsm_wait_step *step)
{
    const struct noting *n = user;
    struct tsm_host_object *o;

    if (step->kind == TSM_WAIT_UNSEEN) {
        n->w->unseen_count++;
        return 0;
    }
    o = object_of(n->w, (uint64_t)SBT_TYPE_API(n->call->record->type) << 56 | step->object);
    return o ? note_object(n, o, step) : no_memory();
}

/* Goes through what a call says of objects: any call may change one, a wait or a query tells its
 * value. */
static int note_objects(const struct noting *n)
{
    const struct sbt_record *record = n->call->record;
    bool added;
    uint64_t *way = tsm_map_insert(&n->w->ways, record->type, &added);

    if (!way)
        return no_memory();
    if (added)
        *way = tsm_wait_way(n->call->schema);
    return tsm_wait_each((uint32_t)*way, n->w->reader, record, n->call->schema, visit_step,
                         (void *)(uintptr_t)n);
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
                                                   .unseen = n->w->unseen_count});
    wait.position = s->position - (s->position && tsm_work_returns_early(schema));
    return schema->flags & SBT_SCHEMA_BLOCKS ? add_wait(s, &wait) : 0;
}

/* Tests whether a call waits for all that its owner was sent: it names no stream and no other
 * object. */
static bool waits_for_all(const struct tsm_call_node *call)
{
    const struct sbt_schema *schema = call->schema;

    if (!call->owner || call->record->stream != SBT_STREAM_NONE)
        return false;
    for (uint32_t i = 0; i < schema->field_count; i++)
        if (schema->fields[i].type != SBT_FIELD_HANDLE ||
            !(tsm_object_traits(schema->fields[i].detail) & TSM_OBJECT_GROUND))
            return false;
    return true;
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
    return place->launches == w->launch_count && place->unseen == w->unseen_count;
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
        return waits_for_all(n->call) ? note_wait_for_all(n) : 0;
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

void tsm_host_waits_note_core(struct tsm_host_waits *w, const struct sbt_record *record)
{
    const uint32_t call = SBT_TYPE_CALL(record->type);

    w->unseen_count += call == SBT_CORE_LOST || call == SBT_CORE_STOPPED ||
                       call == SBT_CORE_FILTERED || call == SBT_CORE_UNMODELLED;
}

void tsm_host_waits_finish(struct tsm_host_waits *w)
{
    for (size_t i = 0; i < w->stream_count; i++) {
        free(w->streams[i].waits.list);
        free(w->streams[i].alone.list);
        tsm_map_finish(&w->streams[i].alone_places);
    }
    for (size_t i = 0; i < w->object_count; i++)
        free(w->object_list[i].links);
    free(w->streams);
    free(w->object_list);
    free(w->event_places);
    tsm_map_finish(&w->events);
    tsm_map_finish(&w->objects);
    tsm_map_finish(&w->ways);
    tsm_map_finish(&w->places);
    *w = (struct tsm_host_waits){0};
}
