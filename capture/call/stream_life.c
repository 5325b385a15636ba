/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams are created, forgotten and, long after, used again for others: as long as something of
 * one is awaited it stays what it was.
 */
#include "capture/call/stream_table.h"

#include "capture/call/readbacks.h"
#include "capture/call/value.h"
#include "capture/parts.h"

#include <string.h>

#define REUSE_DISTANCE 1024u /* streams that are forgotten before one of them is used again */

struct tsm_stream tsm_stream_nowhere = {.number = SBT_STREAM_NONE};

struct tsm_streams *tsm_streams_create(void)
{
    return tsm_memory_map(sizeof(struct tsm_streams));
}

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
    struct tsm_streams *streams = tsm_streams_current();
    struct tsm_stream *stream;

    if (!streams)
        return &tsm_stream_nowhere;
    stream = take_forgotten(streams);
    if (!stream)
        stream = take_new(streams);
    if (!stream) {
        tsm_session_unmodelled("more than 64512 streams alive", true);
        return &tsm_stream_nowhere;
    }
    tsm_lock_take(&streams->edge_lock);
    init(stream, api, streams->number++);
    tsm_lock_give(&streams->edge_lock);
    return stream;
}

void tsm_stream_forget(struct tsm_stream *stream)
{
    struct tsm_streams *streams = tsm_streams_current();
    uint64_t sent;

    if (!streams || !stream || stream == &tsm_stream_nowhere)
        return;
    tsm_lock_take(&streams->edge_lock);
    sent = __atomic_load_n(&stream->sent, __ATOMIC_ACQUIRE);
    if (!stream->is_forgotten) {
        tsm_stream_leave_legacy(stream, sent);
        stream->is_forgotten = true;
        push_forgotten(streams, stream);
    }
    tsm_lock_give(&streams->edge_lock);
}
