/* SPDX-License-Identifier: Apache-2.0
 *
 * Locks: a stream's own lock gives its commands their order and is held across enqueueing calls.
 * One lock for all edges is taken inside it, and alone when completion is worked out; it is never
 * held while anything else is waited for.
 */
#include "capture/call/streams.h"

#include "capture/session.h"

#include <string.h>

#define STREAM_COUNT_MAX 65536u
#define DEPTH_MAX        256u
#define REUSE_DISTANCE   1024u /* streams that are forgotten before one of them is used again */

struct tsm_streams {
    struct tsm_lock edge_lock;
    uint32_t count;
    bool functions; /* some were sent and are not known to have run */
    uint32_t number; /* of the next one; under the edge lock, like what follows */
    uint32_t forgotten_count;
    struct tsm_stream *oldest_forgotten, *newest_forgotten;
    struct tsm_stream all[STREAM_COUNT_MAX];
};

/* Where commands go when there is no session or no room: harmless, never recorded as a stream. */
static struct tsm_stream nowhere = {.number = SBT_STREAM_NONE};

struct tsm_streams *tsm_streams_create(void)
{
    return tsm_memory_map(sizeof(struct tsm_streams));
}

static struct tsm_streams *current(void)
{
    struct tsm_session *s = tsm_session_of_call();

    return s ? s->streams : NULL;
}

/* ---- life -------------------------------------------------------------------------------------
 */

/* The edge lock is held. */
static void push_forgotten(struct tsm_streams *streams, struct tsm_stream *stream)
{
    stream->next_forgotten = NULL;
    if (streams->forgotten_count++ == 0)
        streams->oldest_forgotten = stream;
    else
        streams->newest_forgotten->next_forgotten = stream;
    streams->newest_forgotten = stream;
}

static struct tsm_stream *pop_forgotten(struct tsm_streams *streams)
{
    struct tsm_stream *stream = streams->oldest_forgotten;

    if (streams->forgotten_count == 0)
        return NULL;
    streams->oldest_forgotten = stream->next_forgotten;
    streams->forgotten_count--;
    return stream;
}

/* A thread may still hold a pointer to it, and gets the new one's number then. */
static void init(struct tsm_stream *stream, enum sbt_api api, uint32_t number)
{
    const struct tsm_lock lock = stream->lock;
    const uint16_t incarnation = (uint16_t)(stream->incarnation + stream->is_forgotten);

    memset(stream, 0, offsetof(struct tsm_stream, edges));
    stream->lock = lock;
    stream->incarnation = incarnation;
    stream->number = number;
    stream->api = api;
}

bool tsm_stream_is_awaited(const struct tsm_stream *stream)
{
    struct tsm_session *s = tsm_session_of_call();

    return s && (stream->function > stream->completed || tsm_readbacks_await(s, stream) ||
                 tsm_values_await(s, stream));
}

/* One that was forgotten long ago, and of which nothing is awaited. NULL: there is none. */
static struct tsm_stream *take_forgotten(struct tsm_streams *streams)
{
    struct tsm_stream *stream = NULL;

    tsm_lock_take(&streams->edge_lock);
    if (streams->forgotten_count > REUSE_DISTANCE)
        stream = pop_forgotten(streams);
    tsm_lock_give(&streams->edge_lock);
    if (!stream || !tsm_stream_is_awaited(stream))
        return stream;
    tsm_lock_take(&streams->edge_lock);
    push_forgotten(streams, stream);
    tsm_lock_give(&streams->edge_lock);
    return NULL;
}

static struct tsm_stream *take_new(struct tsm_streams *streams)
{
    uint32_t index = __atomic_fetch_add(&streams->count, 1, __ATOMIC_RELAXED);

    if (index < STREAM_COUNT_MAX)
        return &streams->all[index];
    __atomic_store_n(&streams->count, STREAM_COUNT_MAX, __ATOMIC_RELAXED);
    return NULL;
}

struct tsm_stream *tsm_stream_create(enum sbt_api api)
{
    struct tsm_streams *streams = current();
    struct tsm_stream *stream;

    if (!streams)
        return &nowhere;
    stream = take_forgotten(streams);
    if (!stream)
        stream = take_new(streams);
    if (!stream) {
        tsm_session_unmodelled("more than 64512 streams alive", true);
        return &nowhere;
    }
    tsm_lock_take(&streams->edge_lock);
    init(stream, api, streams->number++);
    tsm_lock_give(&streams->edge_lock);
    return stream;
}

uint64_t tsm_call_began(const struct tsm_call *call)
{
    return tsm_call_record(call)->begin;
}

uint32_t tsm_stream_number(const struct tsm_stream *stream)
{
    return stream ? stream->number : SBT_STREAM_NONE;
}

/* The edge lock is held. */
static void add_edge(struct tsm_stream *stream, struct tsm_stream *from, uint64_t position)
{
    if (position > from->completed)
        stream->edges[stream->edge_count++ % TSM_EDGE_COUNT] =
            (struct tsm_edge){stream->position, position, tsm_ticks(), from, from->incarnation};
}

/* Follows an edge, unless the stream that it comes from was forgotten. */
static void complete(struct tsm_stream *stream, uint64_t position, unsigned depth);

static void follow(const struct tsm_edge *edge, unsigned depth)
{
    if (edge->incarnation == edge->from->incarnation)
        complete(edge->from, edge->position, depth);
}

/* The legacy default stream waits for all that join it. */
static void join_others(struct tsm_streams *streams, struct tsm_stream *legacy)
{
    tsm_lock_take(&streams->edge_lock);
    for (struct tsm_stream *j = legacy->joined; j; j = j->next_joined) {
        uint64_t sent = __atomic_load_n(&j->sent, __ATOMIC_ACQUIRE);
        if (sent != j->joined_seen)
            add_edge(legacy, j, sent);
        j->joined_seen = sent;
    }
    tsm_lock_give(&streams->edge_lock);
}

static void join_legacy(struct tsm_streams *streams, struct tsm_stream *stream, uint64_t sent)
{
    tsm_lock_take(&streams->edge_lock);
    add_edge(stream, stream->legacy, sent);
    stream->legacy_seen = sent;
    tsm_lock_give(&streams->edge_lock);
}

void tsm_stream_join(struct tsm_stream *stream)
{
    struct tsm_streams *streams = current();

    if (!streams)
        return;
    if (stream->legacy) {
        uint64_t sent = __atomic_load_n(&stream->legacy->sent, __ATOMIC_ACQUIRE);
        if (sent != stream->legacy_seen)
            join_legacy(streams, stream, sent);
    }
    if (__atomic_load_n(&stream->joined, __ATOMIC_RELAXED))
        join_others(streams, stream);
}

void tsm_stream_joins(struct tsm_stream *stream, struct tsm_stream *legacy)
{
    struct tsm_streams *streams = current();

    if (!streams || stream == legacy || stream->legacy || stream == &nowhere)
        return;
    tsm_lock_take(&streams->edge_lock);
    stream->next_joined = legacy->joined;
    if (legacy->joined)
        legacy->joined->previous_joined = stream;
    __atomic_store_n(&legacy->joined, stream, __ATOMIC_RELAXED);
    tsm_lock_give(&streams->edge_lock);
    stream->legacy = legacy;
}

/* The edge lock is held. */
static void leave_legacy(struct tsm_stream *stream)
{
    if (!stream->legacy)
        return;
    if (stream->next_joined)
        stream->next_joined->previous_joined = stream->previous_joined;
    if (stream->previous_joined)
        stream->previous_joined->next_joined = stream->next_joined;
    else
        __atomic_store_n(&stream->legacy->joined, stream->next_joined, __ATOMIC_RELAXED);
}

void tsm_stream_forget(struct tsm_stream *stream)
{
    struct tsm_streams *streams = current();
    uint64_t sent;

    if (!streams || !stream || stream == &nowhere)
        return;
    tsm_lock_take(&streams->edge_lock);
    sent = __atomic_load_n(&stream->sent, __ATOMIC_ACQUIRE);
    if (!stream->is_forgotten) {
        /* What is in it still runs, and the default stream waits for it. */
        if (stream->legacy && sent != stream->joined_seen)
            add_edge(stream->legacy, stream, sent);
        leave_legacy(stream);
        stream->is_forgotten = true;
        push_forgotten(streams, stream);
    }
    tsm_lock_give(&streams->edge_lock);
}

void tsm_stream_at(struct tsm_handle *handle, struct tsm_stream *stream, uint64_t position)
{
    tsm_handle_stands(handle, stream, position, handle->user);
}

bool tsm_stream_is_at(const struct tsm_handle *handle, const struct tsm_stream *stream)
{
    return handle->stream && handle->incarnation == handle->stream->incarnation &&
           (!stream || handle->stream == stream);
}

void tsm_stream_waits(struct tsm_stream *stream, const struct tsm_handle *event)
{
    struct tsm_streams *streams = current();

    if (!streams || !stream || !event || !tsm_stream_is_at(event, NULL) || event->stream == stream)
        return;
    tsm_lock_take(&streams->edge_lock);
    add_edge(stream, event->stream, event->position);
    tsm_lock_give(&streams->edge_lock);
}

/* The edge lock is held. `completed` only grows, so each edge is followed few times. */
static void complete(struct tsm_stream *stream, uint64_t position, unsigned depth)
{
    uint32_t kept = stream->edge_count < TSM_EDGE_COUNT ? stream->edge_count : TSM_EDGE_COUNT;

    if (position <= stream->completed || depth == DEPTH_MAX)
        return;
    __atomic_store_n(&stream->completed, position, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < kept; i++) {
        const struct tsm_edge *edge = &stream->edges[i];
        if (edge->at < position)
            follow(edge, depth + 1);
    }
}

void tsm_stream_complete(struct tsm_stream *stream, uint64_t position)
{
    struct tsm_streams *streams = current();

    if (!streams)
        return;
    tsm_lock_take(&streams->edge_lock);
    complete(stream, position, 0);
    tsm_lock_give(&streams->edge_lock);
}

void tsm_stream_complete_waits(struct tsm_stream *stream, uint64_t ticks)
{
    struct tsm_streams *streams = current();
    uint32_t kept = stream->edge_count < TSM_EDGE_COUNT ? stream->edge_count : TSM_EDGE_COUNT;

    if (!streams)
        return;
    tsm_lock_take(&streams->edge_lock);
    for (uint32_t i = 0; i < kept; i++) {
        const struct tsm_edge *edge = &stream->edges[i];
        if (edge->ticks < ticks)
            follow(edge, 0);
    }
    tsm_lock_give(&streams->edge_lock);
}

/* ---- functions of the program -----------------------------------------------------------------
 */

void tsm_stream_function_sent(struct tsm_stream *stream, uint64_t position)
{
    struct tsm_streams *streams = current();

    if (!streams || stream == &nowhere)
        return;
    tsm_lock_take(&streams->edge_lock);
    stream->function = position;
    stream->function_ticks = tsm_ticks();
    __atomic_store_n(&streams->functions, true, __ATOMIC_RELEASE);
    tsm_lock_give(&streams->edge_lock);
}

bool tsm_streams_await_functions(struct tsm_streams *streams)
{
    uint32_t count = __atomic_load_n(&streams->count, __ATOMIC_ACQUIRE);
    bool awaited = false;

    if (!__atomic_load_n(&streams->functions, __ATOMIC_ACQUIRE))
        return false;
    tsm_lock_take(&streams->edge_lock);
    for (uint32_t i = 0; i < count && !awaited; i++)
        awaited = streams->all[i].function > streams->all[i].completed;
    __atomic_store_n(&streams->functions, awaited, __ATOMIC_RELEASE);
    tsm_lock_give(&streams->edge_lock);
    return awaited;
}

void tsm_streams_functions_complete(struct tsm_streams *streams, enum sbt_api api,
                                    const struct tsm_stream *stream, uint64_t ticks)
{
    uint32_t count = __atomic_load_n(&streams->count, __ATOMIC_ACQUIRE);

    tsm_lock_take(&streams->edge_lock);
    for (uint32_t i = 0; i < count; i++) {
        struct tsm_stream *s = &streams->all[i];
        if ((stream ? s == stream : s->api == api) && s->function_ticks < ticks)
            complete(s, s->function, 0);
    }
    tsm_lock_give(&streams->edge_lock);
}
