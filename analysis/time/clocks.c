/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/time/clocks.h"

#include "api/traits.h"
#include "base/array.h"
#include "base/map.h"
#include "tracesmith/error.h"

#include <stdlib.h>
#include <string.h>

#define STREAMS_MAX 4096u
#define LOOK_BACK   64u /* ends of other devices that are passed over */

/* The end of a command on its device's clock. */
struct end {
    bool is_known;
    size_t clock; /* its place in the list */
    int64_t ns;
    uint64_t seq;
    const char *call;
};

/* The host knew at `known_ns` that a stream's commands up to `position` are complete. */
struct wait {
    uint64_t position, known_ns, seq;
    const char *call;
    struct end last; /* of the commands that this one is the first to wait for */
};

/* An end that the host knew at a time. */
struct known {
    uint64_t at_ns;
    struct end end;
    bool is_counted; /* a later command starts before it */
};

struct stream_waits {
    uint64_t owner;            /* of the stream; 0: not known */
    uint64_t position;         /* of the last command that was sent ... */
    uint64_t latest_return_ns; /* ... and when the last of the calls that sent them returned */
    struct wait *list;         /* by position */
    size_t count, capacity;
};

/* The place at which an event was recorded last. */
struct event_place {
    uint32_t stream;
    uint64_t position, returned_ns;
};

struct collect {
    struct tsm_clocks *out;
    struct tsm_map events; /* id and API of an event -> place in `event_places` + 1 */
    struct event_place *event_places;
    size_t event_count, event_capacity;
    struct tsm_map places; /* stream -> place in `streams` + 1 */
    struct stream_waits *streams;
    size_t stream_count, stream_capacity;
    struct known *known; /* by time */
    size_t known_count, known_capacity;
};

/* ---- what the host waited for ------------------------------------------------------------------
 */

/* NULL: out of memory. Valid until the next call. */
static struct stream_waits *waits_of(struct collect *c, uint32_t stream)
{
    bool added;
    uint64_t *place = tsm_map_insert(&c->places, stream, &added);

    if (!place)
        return NULL;
    if (added || !*place) {
        if (!TSM_ARRAY_PUSH(c->streams, c->stream_count, c->stream_capacity,
                            (struct stream_waits){0}))
            return NULL;
        *place = c->stream_count;
    }
    return &c->streams[*place - 1];
}

static int add_wait(struct stream_waits *w, const struct wait *wait)
{
    /* A later wait for the same commands says less. */
    if (!wait->position || (w->count && w->list[w->count - 1].position >= wait->position))
        return 0;
    return TSM_ARRAY_PUSH(w->list, w->count, w->capacity, *wait)
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for %zu waits", w->count + 1);
}

/* Returns the event that a call records or waits for, as a key; 0: none. */
static uint64_t event_of(const struct tsm_call_node *call)
{
    const int object = sbt_schema_role(call->schema, SBT_ROLE_OBJECT);
    const uint64_t id = sbt_record_role(call->schema, call->record, SBT_ROLE_OBJECT, 0);

    if (!id || !(tsm_object_traits(call->schema->fields[object].detail) & TSM_OBJECT_EVENT))
        return 0;
    return (uint64_t)SBT_TYPE_API(call->record->type) << 56 | id;
}

static int note_event(struct collect *c, uint64_t event, const struct event_place *place)
{
    bool added;
    uint64_t *index = tsm_map_insert(&c->events, event, &added);

    if (index && !*index &&
        TSM_ARRAY_PUSH(c->event_places, c->event_count, c->event_capacity, *place))
        *index = c->event_count;
    if (!index || !*index)
        return tsm_fail(TSM_E_MEMORY, "no memory for events");
    c->event_places[*index - 1] = *place;
    return 0;
}

/* Notes what the host has sent to a stream. A call that blocks is a wait for it, too. */
static int note_command(struct collect *c, const struct tsm_call_node *call,
                        const struct wait *wait)
{
    const struct sbt_record *record = call->record;
    struct stream_waits *w = waits_of(c, record->stream);
    const uint64_t event = call->schema->kind == SBT_KIND_SIGNAL ? event_of(call) : 0;

    if (!w)
        return tsm_fail(TSM_E_MEMORY, "no memory for streams");
    w->owner = call->owner;
    w->position = record->position;
    if (w->latest_return_ns < wait->known_ns)
        w->latest_return_ns = wait->known_ns;
    if (event)
        return note_event(c, event,
                          &(struct event_place){record->stream, record->position, wait->known_ns});
    return call->schema->flags & SBT_SCHEMA_BLOCKS
               ? add_wait(w, &(struct wait){.position = w->position,
                                            .known_ns = wait->known_ns,
                                            .seq = wait->seq,
                                            .call = wait->call})
               : 0;
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
static int note_wait_for_all(struct collect *c, const struct tsm_call_node *call,
                             const struct wait *wait)
{
    int error = 0;

    for (size_t i = 0; i < c->stream_count && c->stream_count <= STREAMS_MAX && !error; i++) {
        struct stream_waits *w = &c->streams[i];

        if (w->owner == call->owner && call->record->time_ns >= w->latest_return_ns)
            error = add_wait(w, &(struct wait){.position = w->position,
                                               .known_ns = wait->known_ns,
                                               .seq = wait->seq,
                                               .call = wait->call});
    }
    return error;
}

/* A wait for an event, for a stream, or for all streams of a context. Nothing counts that another
 * thread sent while this one began to wait. */
static int note_wait(struct collect *c, const struct tsm_call_node *call, const struct wait *wait)
{
    const struct sbt_record *record = call->record;
    const uint64_t *index = tsm_map_find(&c->events, event_of(call));
    const struct event_place *place = index && *index ? &c->event_places[*index - 1] : NULL;
    const uint32_t stream = place ? place->stream : record->stream;
    struct stream_waits *w;
    uint64_t position, returned_ns;

    if (stream == SBT_STREAM_NONE)
        return waits_for_all(call) ? note_wait_for_all(c, call, wait) : 0;
    w = waits_of(c, stream);
    if (!w)
        return tsm_fail(TSM_E_MEMORY, "no memory for streams");
    position = place ? place->position : w->position;
    returned_ns = place ? place->returned_ns : w->latest_return_ns;
    return record->time_ns < returned_ns ? 0
                                         : add_wait(w, &(struct wait){.position = position,
                                                                      .known_ns = wait->known_ns,
                                                                      .seq = wait->seq,
                                                                      .call = wait->call});
}

static int visit_call(void *user, const struct tsm_call_node *call)
{
    const struct sbt_record *record = call->record;
    struct wait wait = {.known_ns = record->time_ns + record->duration_ns, .seq = record->seq};

    if (!call->schema || /* the trace is damaged: nothing is known of the call */
        record->flags & (SBT_RECORD_FAILED | SBT_RECORD_CAPTURED | SBT_RECORD_UNFINISHED))
        return 0;
    wait.call = call->schema->name;
    if (call->is_command)
        return note_command(user, call, &wait);
    return call->schema->kind == SBT_KIND_SYNC ? note_wait(user, call, &wait) : 0;
}

static struct wait *find_wait(const struct collect *c, const struct tsm_command_node *node)
{
    const uint64_t *place = tsm_map_find(&c->places, node->stream);
    struct stream_waits *w = place && *place ? &c->streams[*place - 1] : NULL;
    size_t at;

    if (!w)
        return NULL;
    TSM_BISECT(at, w->count, w->list[at].position >= node->position);
    return at < w->count ? &w->list[at] : NULL;
}

/* ---- clocks ------------------------------------------------------------------------------------
 */

static struct tsm_clock *clock_of(struct tsm_clocks *all, const struct tsm_command_node *node)
{
    const uint32_t api = SBT_TYPE_API(node->schema->type);

    for (size_t i = 0; i < all->count; i++)
        if (all->list[i].api == api && all->list[i].axis == node->gpu.axis &&
            tsm_device_is_same(&all->list[i].device, &node->device))
            return &all->list[i];
    if (!TSM_ARRAY_PUSH(all->list, all->count, all->capacity,
                        ((struct tsm_clock){.api = api,
                                            .device = node->device,
                                            .axis = node->gpu.axis,
                                            .first_ns = INT64_MAX,
                                            .last_ns = INT64_MIN})))
        return NULL;
    return &all->list[all->count - 1];
}

static int64_t minus(uint64_t a, int64_t b)
{
    return (int64_t)(a - (uint64_t)b);
}

/* Keeps the tighter one of two bounds: the larger `least`, the smaller `most`. */
static void tighten(struct tsm_clock_bound *bound, const struct tsm_clock_bound *other,
                    bool is_least)
{
    if (!bound->is_known ||
        (is_least ? other->offset_ns > bound->offset_ns : other->offset_ns < bound->offset_ns))
        *bound = *other;
}

/* A time on the host's clock must not need an offset that is larger than its error. */
static int judge(struct tsm_clocks *all, const struct tsm_command_node *node,
                 const struct tsm_clock_bound *bound, enum tsm_clock_rule rule)
{
    const int64_t beyond =
        rule == TSM_CLOCK_CALLED ? bound->offset_ns : (int64_t)(0 - (uint64_t)bound->offset_ns);
    struct tsm_clock_contradiction contradiction = {.rule = rule,
                                                    .seq = bound->seq,
                                                    .other_seq = bound->other_seq,
                                                    .stream = bound->stream,
                                                    .call = bound->call,
                                                    .other_call = bound->other_call,
                                                    .error_ns = node->gpu.error_ns};

    if (node->gpu.axis != TSM_AXIS_HOST || beyond <= 0 || (uint64_t)beyond <= node->gpu.error_ns)
        return 0;
    contradiction.by_ns = (uint64_t)beyond - node->gpu.error_ns;
    all->contradiction_total++;
    if (all->contradiction_count == TSM_CLOCK_CONTRADICTION_MAX)
        return 0;
    return TSM_ARRAY_PUSH(all->contradictions, all->contradiction_count,
                          all->contradiction_capacity, contradiction)
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for what clocks contradict");
}

/* Adds a bound with the error of the command's time. */
static int bound_drift(struct tsm_clock *clock, const struct tsm_command_node *node,
                       const struct tsm_clock_bound *bound, bool is_least)
{
    const uint64_t error_ns = node->gpu.error_ns, offset_ns = (uint64_t)bound->offset_ns;
    const struct tsm_drift_bound point = {
        .time_ns = is_least ? node->gpu.start_ns : node->gpu.end_ns,
        .offset_ns = (int64_t)(is_least ? offset_ns - error_ns : offset_ns + error_ns),
        .seq = bound->seq,
        .other_seq = bound->other_seq,
        .call = bound->call,
        .other_call = bound->other_call};
    const bool ok = is_least ? tsm_drift_at_least(&clock->drift, &point)
                             : tsm_drift_at_most(&clock->drift, &point);

    return ok ? 0 : tsm_fail(TSM_E_MEMORY, "no memory for bounds of clocks");
}

static void note_end(struct wait *wait, size_t clock, const struct tsm_command_node *node)
{
    if (!wait->last.is_known || node->gpu.end_ns > wait->last.ns)
        wait->last = (struct end){true, clock, node->gpu.end_ns, node->seq, node->schema->name};
}

static int bound_command(struct collect *c, struct tsm_clock *clock,
                         const struct tsm_command_node *node)
{
    struct wait *wait = node->gpu.is_at_most ? NULL : find_wait(c, node);
    struct tsm_clock_bound bound = {.is_known = true,
                                    .offset_ns = minus(node->call_ns, node->gpu.start_ns),
                                    .seq = node->seq,
                                    .other_seq = node->seq,
                                    .stream = node->stream,
                                    .call = node->schema->name,
                                    .other_call = node->schema->name};
    int error;

    tighten(&clock->least, &bound, true);
    error = judge(c->out, node, &bound, TSM_CLOCK_CALLED);
    if (!error)
        error = bound_drift(clock, node, &bound, true);
    if (error || !wait)
        return error;
    note_end(wait, (size_t)(clock - c->out->list), node);
    bound.offset_ns = minus(wait->known_ns, node->gpu.end_ns);
    bound.other_seq = wait->seq;
    bound.other_call = wait->call;
    tighten(&clock->most, &bound, false);
    error = bound_drift(clock, node, &bound, false);
    return error ? error : judge(c->out, node, &bound, TSM_CLOCK_KNOWN);
}

static int visit_command(void *user, const struct tsm_command_node *node)
{
    struct collect *c = user;
    struct tsm_clock *clock;

    if (node->gpu.kind != TSM_TIME_MEASURED) {
        if (node->work != TSM_WORK_ORDER)
            ++*(node->gpu.kind == TSM_TIME_DERIVED ? &c->out->derived_count
                                                   : &c->out->unknown_count);
        return 0;
    }
    clock = clock_of(c->out, node);
    if (!clock || !tsm_samples_add(&clock->errors, node->gpu.error_ns))
        return tsm_fail(TSM_E_MEMORY, "no memory for times");
    clock->command_count++;
    if (node->gpu.start_ns < clock->first_ns)
        clock->first_ns = node->gpu.start_ns;
    if (node->gpu.end_ns > clock->last_ns)
        clock->last_ns = node->gpu.end_ns;
    return node->gpu.axis == TSM_AXIS_VIRTUAL || c->out->is_replay ? 0
                                                                   : bound_command(c, clock, node);
}

/* ---- clocks that go back -----------------------------------------------------------------------
 */

static int by_known(const void *a, const void *b)
{
    const struct known *x = a, *y = b;

    return x->at_ns < y->at_ns ? -1 : x->at_ns > y->at_ns;
}

/* Collects the ends that waits told, in the order in which the host knew them. */
static int collect_ends(struct collect *c)
{
    for (size_t i = 0; i < c->stream_count; i++)
        for (size_t k = 0; k < c->streams[i].count; k++) {
            const struct wait *wait = &c->streams[i].list[k];
            const struct known known = {.at_ns = wait->known_ns, .end = wait->last};

            if (wait->last.is_known &&
                !TSM_ARRAY_PUSH(c->known, c->known_count, c->known_capacity, known))
                return tsm_fail(TSM_E_MEMORY, "no memory for ends of commands");
        }
    if (c->known_count)
        qsort(c->known, c->known_count, sizeof(*c->known), by_known);
    return 0;
}

/* Finds the last end on a clock that the host knew before a call; NULL: none near. */
static struct known *known_before(const struct collect *c, size_t clock, uint64_t call_ns)
{
    size_t at;

    TSM_BISECT(at, c->known_count, c->known[at].at_ns > call_ns);
    for (unsigned i = 0; at && i < LOOK_BACK; i++, at--)
        if (c->known[at - 1].end.clock == clock)
            return &c->known[at - 1];
    return NULL;
}

/* Counts a step back once, whatever comes behind it. */
static int visit_step(void *user, const struct tsm_command_node *node)
{
    struct collect *c = user;
    struct tsm_clock *clock;
    struct known *known;
    int64_t by_ns;

    if (node->gpu.kind != TSM_TIME_MEASURED || node->gpu.axis != TSM_AXIS_DEVICE)
        return 0;
    clock = clock_of(c->out, node);
    known = clock && !clock->fit.fits
                ? known_before(c, (size_t)(clock - c->out->list), node->call_ns)
                : NULL;
    by_ns = known ? (int64_t)((uint64_t)known->end.ns - (uint64_t)node->gpu.start_ns) : 0;
    if (by_ns <= 0 || (uint64_t)by_ns <= 2 * clock->errors.max || known->is_counted)
        return 0;
    known->is_counted = true;
    if (clock->steps.count++)
        return 0;
    clock->steps = (struct tsm_clock_steps){.count = 1,
                                            .by_ns = (uint64_t)by_ns,
                                            .seq = node->seq,
                                            .other_seq = known->end.seq,
                                            .call = node->schema->name,
                                            .other_call = known->end.call};
    return 0;
}

/* Looks for what makes a device's clock fit nothing. */
static int find_steps(struct collect *c, struct sbt_reader *reader, const struct sbt_filter *filter)
{
    const struct tsm_model_visitor steps = {.user = c, .command = visit_step};
    struct tsm_model_counts counts;
    bool is_needed = false;
    int error;

    for (size_t i = 0; i < c->out->count; i++) {
        c->out->list[i].fit = tsm_drift_fit(&c->out->list[i].drift);
        is_needed |= tsm_clock_misfits(&c->out->list[i]);
    }
    error = is_needed ? collect_ends(c) : 0;
    return error || !is_needed ? error : tsm_model_pass(&counts, reader, filter, &steps);
}

/* ---- the passes --------------------------------------------------------------------------------
 */

static uint64_t slept_ns(struct sbt_reader *reader)
{
    const char *text = sbt_reader_metadata_find(reader, "clock.slept_ns");

    return text ? strtoull(text, NULL, 10) : 0;
}

int tsm_clocks_collect(struct tsm_clocks *out, struct sbt_reader *reader,
                       const struct sbt_filter *filter)
{
    struct collect c = {.out = out};
    const struct tsm_model_visitor waits = {.user = &c, .call = visit_call};
    const struct tsm_model_visitor commands = {.user = &c, .command = visit_command};
    struct tsm_model_counts counts;
    int error;

    *out = (struct tsm_clocks){.is_replay = sbt_reader_metadata_find(reader, "timed.runs"),
                               .slept_ns = slept_ns(reader)};
    error = tsm_model_pass(&counts, reader, filter, &waits);
    if (!error)
        error = tsm_model_pass(&counts, reader, filter, &commands);
    if (!error)
        error = find_steps(&c, reader, filter);
    for (size_t i = 0; i < c.stream_count; i++)
        free(c.streams[i].list);
    free(c.streams);
    free(c.known);
    free(c.event_places);
    tsm_map_finish(&c.places);
    tsm_map_finish(&c.events);
    return error;
}

void tsm_clocks_finish(struct tsm_clocks *clocks)
{
    for (size_t i = 0; i < clocks->count; i++) {
        tsm_samples_finish(&clocks->list[i].errors);
        tsm_drift_finish(&clocks->list[i].drift);
    }
    free(clocks->list);
    free(clocks->contradictions);
    *clocks = (struct tsm_clocks){0};
}

bool tsm_clock_drifts(const struct tsm_clock *clock)
{
    return clock->least.is_known && clock->most.is_known &&
           clock->least.offset_ns > clock->most.offset_ns &&
           (uint64_t)clock->least.offset_ns - (uint64_t)clock->most.offset_ns >
               2 * clock->errors.max;
}

bool tsm_clock_misfits(const struct tsm_clock *clock)
{
    return !clock->fit.fits && (clock->is_ring || clock->axis == TSM_AXIS_DEVICE);
}
