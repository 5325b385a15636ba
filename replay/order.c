/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/order.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct tsm_event_order {
    struct tsm_signal signal;
    struct tsm_place *waits; /* for this signal; at most one a stream, the last */
    size_t wait_count, wait_capacity;
};

int tsm_order_init(struct tsm_order *order, uint32_t stream_count)
{
    memset(order, 0, sizeof(*order));
    order->tracks = calloc(stream_count + 1, sizeof(*order->tracks));
    order->recent = calloc(stream_count + 1, sizeof(*order->recent));
    if (!order->tracks || !order->recent) {
        tsm_order_finish(order);
        return tsm_fail(TSM_E_MEMORY, "no memory for %u streams", stream_count);
    }
    order->track_count = stream_count;
    return 0;
}

void tsm_order_finish(struct tsm_order *order)
{
    for (size_t i = 0; i < order->event_count; i++)
        free(order->events[i].waits);
    free(order->events);
    free(order->tracks);
    free(order->recent);
    free(order->after);
    tsm_map_finish(&order->event_index);
    memset(order, 0, sizeof(*order));
}

static int add_place(struct tsm_place **places, size_t *count, size_t *capacity,
                     struct tsm_place place)
{
    return TSM_ARRAY_PUSH(*places, *count, *capacity, place)
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for dependencies");
}

static int add_after(struct tsm_order *order, struct tsm_place place)
{
    if (!place.worker)
        return 0;
    return add_place(&order->after, &order->after_count, &order->after_capacity, place);
}

/* ---- events ------------------------------------------------------------------------------- */

static bool event_id(const struct sbt_record *record, const struct sbt_schema *schema, uint64_t *id)
{
    *id = sbt_record_role(schema, record, SBT_ROLE_OBJECT, 0);
    return *id != 0;
}

/* Finds the use that the record itself makes of the event that it names. */
static bool event_use(const struct sbt_record *record, const struct sbt_schema *schema,
                      struct tsm_event_use *use)
{
    use->is_signal = schema->kind == SBT_KIND_SIGNAL;
    return (use->is_signal || schema->kind == SBT_KIND_WAIT) && event_id(record, schema, &use->id);
}

static struct tsm_event_order *find_event(const struct tsm_order *order, uint64_t id)
{
    const uint64_t *index = tsm_map_find(&order->event_index, id);

    return index && *index ? &order->events[*index - 1] : NULL;
}

static struct tsm_event_order *make_event(struct tsm_order *order, uint64_t id)
{
    bool added;
    uint64_t *index = tsm_map_insert(&order->event_index, id, &added);

    if (!index)
        return NULL;
    if (*index)
        return &order->events[*index - 1];
    if (!TSM_ARRAY_RESERVE(order->events, order->event_capacity, order->event_count + 1))
        return NULL;
    *index = order->event_count + 1;
    memset(&order->events[order->event_count], 0, sizeof(*order->events));
    return &order->events[order->event_count++];
}

bool tsm_order_signal(const struct tsm_order *order, const struct sbt_record *record,
                      const struct sbt_schema *schema, struct tsm_signal *out)
{
    const struct tsm_event_order *event;
    uint64_t id;

    if (!event_id(record, schema, &id) || !(event = find_event(order, id)) ||
        !event->signal.place.worker)
        return false;
    *out = event->signal;
    return true;
}

/* A wait comes after the signal that it waits for; a new signal comes after the waits for the old
 * one, which would otherwise see the new one. */
int tsm_order_after_event(struct tsm_order *order, const struct tsm_event_use *use)
{
    const struct tsm_event_order *event = find_event(order, use->id);
    int error;

    if (!event)
        return 0;
    error = add_after(order, event->signal.place);
    if (use->is_signal)
        for (size_t i = 0; i < event->wait_count && !error; i++)
            error = add_after(order, event->waits[i]);
    return error;
}

int tsm_order_note_event(struct tsm_order *order, const struct tsm_event_use *use,
                         const struct sbt_record *record, struct tsm_place place)
{
    struct tsm_event_order *event = make_event(order, use->id);

    if (!event)
        return tsm_fail(TSM_E_MEMORY, "no memory for events");
    if (use->is_signal) {
        event->signal = (struct tsm_signal){place, record->stream, record->position, false};
        event->wait_count = 0;
        return 0;
    }
    for (size_t i = 0; i < event->wait_count; i++) {
        if (event->waits[i].worker == place.worker) {
            event->waits[i] = place;
            return 0;
        }
    }
    return add_place(&event->waits, &event->wait_count, &event->wait_capacity, place);
}

/* ---- streams ------------------------------------------------------------------------------ */

static int after_streams(struct tsm_order *order, const struct sbt_record *record)
{
    uint32_t stream = record->stream;
    bool after_all = !order->tracks[stream].is_made || (record->flags & SBT_RECORD_ORDERED);
    int error = order->ordered.worker ? add_after(order, order->ordered) : 0;

    for (uint32_t i = 0; i < order->track_count && !error; i++) {
        const struct tsm_track *other = &order->tracks[i];
        const bool is_others = other->api && other->api != SBT_TYPE_API(record->type);
        if (i != stream && other->worker && (after_all || !other->is_made || is_others))
            error = add_after(order, tsm_worker_last(other->worker));
    }
    return error;
}

int tsm_order_before(struct tsm_order *order, const struct sbt_record *record,
                     const struct sbt_schema *schema)
{
    struct tsm_event_use use;
    int error;

    order->after_count = 0;
    error = after_streams(order, record);
    if (!error && event_use(record, schema, &use))
        error = tsm_order_after_event(order, &use);
    return error;
}

int tsm_order_submitted(struct tsm_order *order, const struct sbt_record *record,
                        const struct sbt_schema *schema, struct tsm_place place)
{
    struct tsm_track *track = &order->tracks[record->stream];
    struct tsm_event_use use;

    order->has_sent = true;
    track->api = SBT_TYPE_API(record->type);
    if (!track->first_position || record->position < track->first_position)
        track->first_position = record->position;
    if (record->position > track->position)
        track->position = record->position;
    if (!track->is_recent)
        order->recent[order->recent_count++] = record->stream;
    track->is_recent = true;
    if (record->flags & SBT_RECORD_ORDERED)
        order->ordered = place;
    return event_use(record, schema, &use) ? tsm_order_note_event(order, &use, record, place) : 0;
}

int tsm_order_skipped(struct tsm_order *order, const struct sbt_record *record,
                      const struct sbt_schema *schema)
{
    const struct tsm_track *track = &order->tracks[record->stream];
    struct tsm_event_order *event;
    uint64_t id;

    if (!event_id(record, schema, &id) || !track->worker)
        return 0;
    if (!(event = make_event(order, id)))
        return tsm_fail(TSM_E_MEMORY, "no memory for events");
    event->signal =
        (struct tsm_signal){tsm_worker_last(track->worker), record->stream, track->position, true};
    return 0;
}

int tsm_order_add(struct tsm_order *order, struct tsm_place place)
{
    return add_after(order, place);
}

int tsm_order_before_host(struct tsm_order *order)
{
    int error = 0;

    order->after_count = 0;
    for (uint32_t i = 0; i < order->recent_count && !error; i++) {
        struct tsm_track *track = &order->tracks[order->recent[i]];
        track->is_recent = false;
        error = add_after(order, tsm_worker_last(track->worker));
    }
    order->recent_count = 0;
    return error;
}
