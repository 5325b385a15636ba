/* SPDX-License-Identifier: Apache-2.0
 *
 * Locks: a stream's own lock gives its commands their order and is held across enqueueing calls.
 * One lock for all edges is taken inside it, and alone when completion is worked out; it is never
 * held while anything else is waited for.
 */
#include "capture/streams.h"

#include "capture/session.h"

#define STREAM_COUNT_MAX 65536u
#define DEPTH_MAX        256u

struct tsm_streams {
    struct tsm_lock edge_lock;
    uint32_t count;
    bool functions; /* some were sent and are not known to have run */
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

struct tsm_stream *tsm_stream_create(enum sbt_api api)
{
    struct tsm_streams *streams = current();
    struct tsm_stream *stream;
    uint32_t number;

    if (!streams)
        return &nowhere;
    number = __atomic_fetch_add(&streams->count, 1, __ATOMIC_RELAXED);
    if (number >= STREAM_COUNT_MAX) {
        __atomic_store_n(&streams->count, STREAM_COUNT_MAX, __ATOMIC_RELAXED);
        tsm_session_unmodelled("more than 65536 streams", true);
        return &nowhere;
    }
    stream = &streams->all[number];
    stream->number = number;
    stream->api = api;
    return stream;
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
            (struct tsm_edge){stream->position, position, tsm_ticks(), from};
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
    __atomic_store_n(&legacy->joined, stream, __ATOMIC_RELAXED);
    tsm_lock_give(&streams->edge_lock);
    stream->legacy = legacy;
}

void tsm_stream_waits(struct tsm_stream *stream, const struct tsm_handle *event)
{
    struct tsm_streams *streams = current();

    if (!streams || !stream || !event || !event->stream || event->stream == stream)
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
            complete(edge->from, edge->position, depth + 1);
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
            complete(edge->from, edge->position, 0);
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
