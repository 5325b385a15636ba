/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams by their recorded numbers, and the bytes that are on their way: sent ones must live until
 * the device has read them, received ones until they were compared.
 */
#include "api/cuda/cuda_replay_state.h"

#include <stdlib.h>
#include <string.h>

/* What is kept of one stream before it is waited for, or dropped unasked. */
#define SENT_MAX     (512ull << 20)
#define RECEIVED_MAX (512ull << 20)

struct cuda_bytes {
    struct cuda_bytes *next;
    uint64_t position, size;
    uint8_t own[];
};

/* ---- the table ---------------------------------------------------------------------------- */

static bool grow(struct cuda_replay *replay, uint32_t number)
{
    uint32_t more = replay->stream_capacity ? replay->stream_capacity : 64;

    while (more <= number)
        more *= 2;
    struct cuda_stream_state **grown = realloc(replay->streams, more * sizeof(*grown));
    if (!grown)
        return false;
    memset(grown + replay->stream_capacity, 0, (more - replay->stream_capacity) * sizeof(*grown));
    replay->streams = grown;
    replay->stream_capacity = more;
    return true;
}

struct cuda_stream_state *cuda_stream_find(struct cuda_replay *replay, uint32_t number)
{
    struct cuda_stream_state *stream = NULL;

    pthread_mutex_lock(&replay->streams_lock);
    if (number < replay->stream_capacity || (number < 0x10000000u && grow(replay, number))) {
        stream = replay->streams[number];
        if (!stream)
            stream = replay->streams[number] = calloc(1, sizeof(*stream));
        if (stream)
            stream->number = number;
    }
    pthread_mutex_unlock(&replay->streams_lock);
    return stream;
}

static void free_list(struct cuda_bytes *list)
{
    while (list) {
        struct cuda_bytes *next = list->next;
        free(list);
        list = next;
    }
}

void cuda_streams_finish(struct cuda_replay *replay)
{
    for (uint32_t i = 0; i < replay->stream_capacity; i++) {
        struct cuda_stream_state *stream = replay->streams[i];
        if (!stream)
            continue;
        free_list(stream->sent);
        free_list(stream->received);
        free(stream);
    }
    free(replay->streams);
    replay->streams = NULL;
    replay->stream_capacity = 0;
}

/* ---- sent bytes --------------------------------------------------------------------------- */

void cuda_stream_settled(struct cuda_stream_state *stream)
{
    free_list(stream->sent);
    stream->sent = NULL;
    stream->sent_size = 0;
}

void *cuda_stream_send(struct cuda_replay *replay, struct cuda_stream_state *stream, uint64_t size)
{
    struct cuda_bytes *bytes;

    /* A program that never waits would have us hold all it sent. */
    if (stream->sent_size > SENT_MAX && stream->is_made &&
        replay->library.calls.cuStreamSynchronize(stream->raw) == CUDA_SUCCESS)
        cuda_stream_settled(stream);
    if (size > SIZE_MAX - sizeof(*bytes) - 1 || !(bytes = malloc(sizeof(*bytes) + size + 1)))
        return NULL;
    bytes->next = stream->sent;
    stream->sent = bytes;
    stream->sent_size += size;
    bytes->own[size] = 0; /* PTX ends with a NUL, which a file may lack */
    return bytes->own;
}

/* ---- received bytes ----------------------------------------------------------------------- */

static void drop_first(struct cuda_stream_state *stream)
{
    struct cuda_bytes *first = stream->received;

    stream->received = first->next;
    if (!stream->received)
        stream->received_last = NULL;
    stream->received_size -= first->size;
    free(first);
}

void *cuda_stream_receive(struct cuda_stream_state *stream, uint64_t position, uint64_t size)
{
    struct cuda_bytes *bytes;

    /* Not every recording asks for them. */
    while (stream->received && stream->received_size > RECEIVED_MAX)
        drop_first(stream);
    if (size > SIZE_MAX - sizeof(*bytes) || !(bytes = malloc(sizeof(*bytes) + size)))
        return NULL;
    *bytes = (struct cuda_bytes){.position = position, .size = size};
    if (stream->received_last)
        stream->received_last->next = bytes;
    else
        stream->received = bytes;
    stream->received_last = bytes;
    stream->received_size += size;
    return bytes->own;
}

int cuda_stream_received(struct cuda_stream_state *stream, uint64_t position, const uint8_t **data,
                         uint64_t *size)
{
    while (stream->received && stream->received->position < position)
        drop_first(stream);
    if (!stream->received || stream->received->position != position)
        return TSM_E_NOT_FOUND;
    *data = stream->received->own;
    *size = stream->received->size;
    return 0;
}
