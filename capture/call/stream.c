/* SPDX-License-Identifier: Apache-2.0
 *
 * Locks: a stream's own lock gives its commands their order and is held across enqueueing calls.
 * One lock for all edges is taken inside it, and alone when completion is worked out; it is never
 * held while anything else is waited for.
 */
#include "capture/call/stream_table.h"

#include "capture/session.h"
#include "capture/call/place.h"
#include "capture/memory/gaps.h"

#define DEPTH_MAX 256u /* edges from one stream to another */

uint64_t tsm_call_began(const struct tsm_call *call)
{
    return tsm_call_record(call)->begin;
}

uint32_t tsm_stream_number(const struct tsm_stream *stream)
{
    return stream ? stream->number : SBT_STREAM_NONE;
}

uint64_t tsm_stream_accepted(const struct tsm_stream *stream)
{
    return __atomic_load_n(&stream->sent, __ATOMIC_ACQUIRE);
}

static uint32_t edges_kept(const struct tsm_stream *stream)
{
    return stream->edge_count < TSM_EDGE_COUNT ? stream->edge_count : TSM_EDGE_COUNT;
}

/* The edge lock is held. */
static void add_edge(struct tsm_stream *stream, struct tsm_stream *from, uint64_t position)
{
    if (position > from->completed)
        stream->edges[stream->edge_count++ % TSM_EDGE_COUNT] =
            (struct tsm_edge){.at = stream->position,
                              .position = position,
                              .ticks = tsm_ticks(),
                              .from = from,
                              .incarnation = from->incarnation};
}

/* Follows an edge, unless the stream that it comes from was forgotten. */
static void complete(struct tsm_stream *stream, uint64_t position, unsigned depth);

static void follow(const struct tsm_edge *edge, unsigned depth)
{
    if (edge->incarnation == edge->from->incarnation && !edge->is_exact)
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
    struct tsm_streams *streams = tsm_streams_current();

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
    struct tsm_streams *streams = tsm_streams_current();

    if (!streams || stream == legacy || stream->legacy || stream == &tsm_stream_nowhere)
        return;
    tsm_lock_take(&streams->edge_lock);
    stream->next_joined = legacy->joined;
    if (legacy->joined)
        legacy->joined->previous_joined = stream;
    __atomic_store_n(&legacy->joined, stream, __ATOMIC_RELAXED);
    tsm_lock_give(&streams->edge_lock);
    stream->legacy = legacy;
}

void tsm_stream_leave_legacy(struct tsm_stream *stream, uint64_t sent)
{
    if (!stream->legacy)
        return;
    if (sent != stream->joined_seen)
        add_edge(stream->legacy, stream, sent);
    if (stream->next_joined)
        stream->next_joined->previous_joined = stream->previous_joined;
    if (stream->previous_joined)
        stream->previous_joined->next_joined = stream->next_joined;
    else
        __atomic_store_n(&stream->legacy->joined, stream->next_joined, __ATOMIC_RELAXED);
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
    struct tsm_streams *streams = tsm_streams_current();

    if (!streams || !stream || !event || !tsm_stream_is_at(event, NULL) || event->stream == stream)
        return;
    tsm_lock_take(&streams->edge_lock);
    add_edge(stream, event->stream, event->position);
    tsm_lock_give(&streams->edge_lock);
}

void tsm_stream_follows(struct tsm_stream *stream, uint64_t position, struct tsm_stream *from,
                        uint64_t from_position, bool is_own)
{
    struct tsm_streams *streams = tsm_streams_current();

    if (!streams)
        return;
    tsm_lock_take(&streams->edge_lock);
    if (from_position > from->completed)
        stream->edges[stream->edge_count++ % TSM_EDGE_COUNT] =
            (struct tsm_edge){.at = position - 1,
                              .position = from_position,
                              .ticks = tsm_ticks(),
                              .from = from,
                              .incarnation = from->incarnation,
                              .is_exact = true,
                              .is_own = is_own};
    tsm_lock_give(&streams->edge_lock);
}

void tsm_stream_holds(struct tsm_stream *stream, uint64_t position)
{
    struct tsm_streams *streams = tsm_streams_current();

    if (!streams)
        return;
    tsm_lock_take(&streams->edge_lock);
    stream->hold = position;
    tsm_lock_give(&streams->edge_lock);
}

/* The edge lock is held. `completed` only grows, so each edge is followed few times. */
static void complete(struct tsm_stream *stream, uint64_t position, unsigned depth)
{
    uint32_t kept = edges_kept(stream);

    if (position <= stream->completed || depth == DEPTH_MAX)
        return;
    __atomic_store_n(&stream->completed, position, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < kept; i++) {
        const struct tsm_edge *edge = &stream->edges[i];
        if (edge->at < position)
            follow(edge, depth + 1);
    }
}

#define BEHIND_EDGES_MAX 256u /* that are looked at */

struct behind {
    uint32_t stream;
    uint64_t position;
    uint32_t left; /* edges that may still be looked at */
};

/* The edge lock is held. */
static bool is_behind(const struct tsm_stream *stream, uint64_t position, struct behind *of)
{
    uint32_t kept = edges_kept(stream);

    for (uint32_t i = 0; i < kept && of->left; i++) {
        const struct tsm_edge *edge = &stream->edges[i];
        if (edge->at >= position || edge->position <= edge->from->completed ||
            edge->incarnation != edge->from->incarnation ||
            (edge->is_own && edge->at + 1 != position) ||
            (edge->is_exact && !edge->is_own && stream->hold > edge->at + 1 &&
             stream->hold <= position))
            continue;
        of->left--;
        if (edge->from->number == of->stream &&
            (edge->is_exact ? edge->position == of->position : edge->position >= of->position))
            return true;
        if ((edge->from != stream || edge->is_exact) && is_behind(edge->from, edge->position, of))
            return true;
    }
    return false;
}

bool tsm_stream_is_behind(const struct tsm_stream *stream, uint64_t position, uint32_t of_stream,
                          uint64_t of_position)
{
    struct behind of = {of_stream, of_position, BEHIND_EDGES_MAX};
    struct tsm_streams *streams = tsm_streams_current();
    bool found;

    if (!streams)
        return false;
    tsm_lock_take(&streams->edge_lock);
    found = is_behind(stream, position, &of);
    tsm_lock_give(&streams->edge_lock);
    return found;
}

void tsm_stream_complete(struct tsm_stream *stream, uint64_t position)
{
    struct tsm_streams *streams = tsm_streams_current();

    if (!streams)
        return;
    tsm_lock_take(&streams->edge_lock);
    complete(stream, position, 0);
    tsm_lock_give(&streams->edge_lock);
}

/* NULL: none has that number. */
static struct tsm_stream *find_number(uint32_t number)
{
    struct tsm_streams *streams = tsm_streams_current();
    uint32_t count = streams ? __atomic_load_n(&streams->count, __ATOMIC_ACQUIRE) : 0;
    uint32_t at = number;

    /* Most are where they were created first. */
    if (at >= count || streams->all[at].number != number)
        for (at = 0; at < count && streams->all[at].number != number; at++)
            ;
    return at < count ? &streams->all[at] : NULL;
}

uint32_t tsm_stream_joined_at(uint32_t number, uint64_t done, struct tsm_running *out,
                              uint32_t capacity)
{
    struct tsm_stream *stream = find_number(number);
    uint32_t count = 0;

    if (!stream)
        return 0;
    tsm_lock_take(&tsm_streams_current()->edge_lock);
    for (uint32_t i = 0; i < edges_kept(stream) && count < capacity; i++) {
        const struct tsm_edge *edge = &stream->edges[i];
        if (edge->at == done && !edge->is_exact && edge->incarnation == edge->from->incarnation &&
            edge->position > edge->from->completed)
            out[count++] = (struct tsm_running){edge->from->number, edge->position};
    }
    tsm_lock_give(&tsm_streams_current()->edge_lock);
    return count;
}

void tsm_stream_function_left(uint32_t number, uint64_t position)
{
    struct tsm_stream *stream = find_number(number);

    if (stream && __atomic_load_n(&stream->left, __ATOMIC_RELAXED) < position)
        __atomic_store_n(&stream->left, position, __ATOMIC_RELEASE);
}

void tsm_stream_reached(uint32_t number, uint64_t done)
{
    struct tsm_stream *stream = find_number(number);

    if (!stream)
        return;
    tsm_lock_take(&tsm_streams_current()->edge_lock);
    complete(stream, done, 0);
    for (uint32_t i = 0; i < edges_kept(stream); i++)
        if (stream->edges[i].at <= done)
            follow(&stream->edges[i], 1);
    tsm_lock_give(&tsm_streams_current()->edge_lock);
}

void tsm_stream_complete_waits(struct tsm_stream *stream, uint64_t ticks)
{
    struct tsm_streams *streams = tsm_streams_current();
    uint32_t kept = edges_kept(stream);

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
    struct tsm_streams *streams = tsm_streams_current();

    if (!streams || stream == &tsm_stream_nowhere)
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
