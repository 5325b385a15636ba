/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams by their recorded numbers, and the bytes that are on their way: sent ones must live until
 * the device has read them, received ones until they were compared.
 */
#include "api/cuda/replay/state.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Limits on the bytes kept of one stream before it is waited for, or dropped without being
 * checked. */
#define SENT_MAX     (512ull << 20)
#define RECEIVED_MAX (512ull << 20)

struct cuda_bytes {
    struct cuda_bytes *next;
    uint64_t position, size;
    uint64_t address; /* that the recorded program had it at; 0: not known, the only one */
    bool is_told;     /* asked for: can go with the next question */
    bool is_awaited;  /* a function of the stream still writes them; atomic */
    _Alignas(16) uint8_t own[];
};

/* ---- the table ---------------------------------------------------------------------------- */

struct cuda_stream_state *cuda_stream_find(struct cuda_replay *replay, uint32_t number)
{
    struct cuda_stream_state *stream = NULL;

    pthread_mutex_lock(&replay->streams_lock);
    if (number < 0x10000000u &&
        TSM_ARRAY_EXTEND(replay->streams, replay->stream_capacity, (size_t)number + 1)) {
        stream = replay->streams[number];
        if (!stream && (stream = replay->streams[number] = calloc(1, sizeof(*stream)))) {
            stream->number = number;
            pthread_mutex_init(&stream->received_lock, NULL);
        }
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
        free(stream->lane_ends);
        pthread_mutex_destroy(&stream->received_lock);
        free(stream);
    }
    free(replay->streams);
    replay->streams = NULL;
    replay->stream_capacity = 0;
}

/* ---- sent bytes --------------------------------------------------------------------------- */

void cuda_stream_synchronized(struct cuda_stream_state *stream)
{
    free_list(stream->sent);
    stream->sent = NULL;
    stream->sent_size = 0;
}

void *cuda_stream_send(struct cuda_replay *replay, struct cuda_stream_state *stream, uint64_t size)
{
    struct cuda_bytes *bytes;

    /* A program that never waits would have us hold all it sent. */
    if (stream->sent_size > SENT_MAX && stream->is_made && !replay->capture_count &&
        replay->library.calls.cuStreamSynchronize(stream->raw) == CUDA_SUCCESS)
        cuda_stream_synchronized(stream);
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

static struct cuda_bytes *add_received(struct cuda_stream_state *stream, uint64_t position,
                                       uint64_t address, uint64_t size, bool is_awaited)
{
    struct cuda_bytes *bytes;

    if (size > SIZE_MAX - sizeof(*bytes) || !(bytes = malloc(sizeof(*bytes) + size)))
        return NULL;
    *bytes = (struct cuda_bytes){
        .position = position, .size = size, .address = address, .is_awaited = is_awaited};
    pthread_mutex_lock(&stream->received_lock);
    /* Not every recording asks for them. */
    while (stream->received && stream->received_size > RECEIVED_MAX &&
           !__atomic_load_n(&stream->received->is_awaited, __ATOMIC_ACQUIRE))
        drop_first(stream);
    if (stream->received_last) {
        stream->received_last->next = bytes;
        stream->is_unordered |= position < stream->received_last->position;
    } else {
        stream->received = bytes;
    }
    stream->received_last = bytes;
    stream->received_size += size;
    pthread_mutex_unlock(&stream->received_lock);
    return bytes;
}

void *cuda_stream_receive(struct cuda_stream_state *stream, uint64_t position, uint64_t address,
                          uint64_t size)
{
    struct cuda_bytes *bytes = add_received(stream, position, address, size, false);

    return bytes ? bytes->own : NULL;
}

struct taking {
    struct cuda_host_box box;
    struct cuda_bytes *to;
};

static void take_bytes(void *user)
{
    const struct taking *taking = user;
    const struct cuda_host_box *b = &taking->box;
    uint8_t *to = taking->to->own;

    for (size_t z = 0; z < b->depth; z++)
        for (size_t y = 0; y < b->height; y++)
            memcpy(to + (z * b->height + y) * b->width, b->from + z * b->plane + y * b->pitch,
                   b->width);
    __atomic_store_n(&taking->to->is_awaited, false, __ATOMIC_RELEASE);
}

int cuda_stream_take(struct cuda_replay *replay, const struct sbt_record *record, CUstream raw,
                     uint64_t address, const struct cuda_host_box *box)
{
    const struct cuda_real *driver = &replay->library.calls;
    struct cuda_stream_state *stream = cuda_stream_find(replay, record->stream);
    struct taking *taking = stream ? cuda_stream_send(replay, stream, sizeof(*taking)) : NULL;
    CUresult result;

    if (taking)
        *taking = (struct taking){
            .box = *box,
            .to = add_received(stream, record->position, address,
                               (uint64_t)box->width * box->height * box->depth, true)};
    if (!taking || !taking->to)
        return tsm_fail(TSM_E_MEMORY, "no memory for bytes to receive");
    result = driver->cuLaunchHostFunc(raw, take_bytes, taking);
    return result == CUDA_SUCCESS ? 0 : cuda_fail(driver, "cuLaunchHostFunc", result);
}

int cuda_stream_take_now(struct cuda_replay *replay, const struct sbt_record *record,
                         const struct cuda_host_box *box)
{
    struct cuda_stream_state *stream = cuda_stream_find(replay, record->stream);
    struct taking taking = {.box = *box};

    if (stream)
        taking.to = add_received(stream, record->position, 0,
                                 (uint64_t)box->width * box->height * box->depth, true);
    if (!taking.to)
        return tsm_fail(TSM_E_MEMORY, "no memory for bytes to receive");
    take_bytes(&taking);
    return 0;
}

bool cuda_stream_has_received(struct cuda_stream_state *stream, uint64_t position)
{
    pthread_mutex_lock(&stream->received_lock);
    bool has = stream->received_last && stream->received_last->position == position;
    pthread_mutex_unlock(&stream->received_lock);
    return has;
}

/* All but those of the command at `position`: they may be asked for part by part. */
static void drop_told(struct cuda_stream_state *stream, uint64_t position)
{
    struct cuda_bytes **at = &stream->received;

    stream->received_last = NULL;
    while (*at) {
        struct cuda_bytes *bytes = *at;
        if (!bytes->is_told || bytes->position == position) {
            stream->received_last = bytes;
            at = &bytes->next;
            continue;
        }
        *at = bytes->next;
        stream->received_size -= bytes->size;
        free(bytes);
    }
}

/* NULL: the command has none. A graph may copy twice to one place: those count that were recorded
 * there, not those that the program never saw. */
static struct cuda_bytes *find_received(struct cuda_stream_state *stream, uint64_t position,
                                        uint64_t address, uint64_t size)
{
    struct cuda_bytes *first = NULL;

    for (struct cuda_bytes *b = stream->received;
         b && (stream->is_unordered || b->position <= position); b = b->next) {
        if (b->position != position || (b->address && address - b->address >= b->size) ||
            (b->is_told && size >= b->size))
            continue;
        if (b->address == address && b->size == size)
            return b;
        first = first ? first : b;
    }
    return first;
}

/* Not always in the order of the commands: one that the program was given at once is told before
 * those that it still had to wait for. */
int cuda_stream_received(struct cuda_stream_state *stream, uint64_t position, uint64_t address,
                         const uint8_t **data, uint64_t *size)
{
    struct cuda_bytes *found;

    pthread_mutex_lock(&stream->received_lock);
    drop_told(stream, position);
    found = find_received(stream, position, address, *size);
    if (found) {
        found->is_told = true;
        *data = found->own;
        *size = found->size;
    }
    pthread_mutex_unlock(&stream->received_lock);
    return found ? 0 : TSM_E_NOT_FOUND;
}

/* ---- captured ones ------------------------------------------------------------------------ */

bool cuda_stream_is_captured(const struct cuda_replay *replay, CUstream raw)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult result;

    if (!replay->capture_count || !raw)
        return false;
    result = replay->library.calls.cuStreamIsCapturing(raw, &status);
    return result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ||
           (result == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE);
}

void cuda_legacy_sent(struct cuda_stream_state *stream)
{
    if (stream && stream->raw == CU_STREAM_LEGACY)
        __atomic_store_n(&stream->is_unmarked, true, __ATOMIC_RELEASE);
}

/* None where nothing came since the last one: it would put other streams into an order. */
CUresult cuda_legacy_mark(struct cuda_replay *replay)
{
    const struct cuda_real *driver = &replay->library.calls;
    CUcontext context = NULL;
    CUresult result = CUDA_SUCCESS;

    if (cuda_stream_is_captured(replay, CU_STREAM_LEGACY))
        return CUDA_SUCCESS; /* since then nothing more came */
    driver->cuCtxGetCurrent(&context);
    for (uint32_t i = 0; i < replay->stream_capacity; i++) {
        struct cuda_stream_state *stream = replay->streams[i];
        if (!stream || !stream->is_made || stream->raw != CU_STREAM_LEGACY ||
            stream->context != context)
            continue;
        if (!__atomic_exchange_n(&stream->is_unmarked, false, __ATOMIC_ACQ_REL))
            return CUDA_SUCCESS;
        if (!stream->mark)
            result = driver->cuEventCreate(&stream->mark, CU_EVENT_DISABLE_TIMING);
        return result ? result : driver->cuEventRecord(stream->mark, CU_STREAM_LEGACY);
    }
    return CUDA_SUCCESS;
}

CUresult cuda_stream_wait(struct cuda_replay *replay, struct cuda_stream_state *stream)
{
    const struct cuda_real *driver = &replay->library.calls;

    if (!cuda_stream_is_captured(replay, stream->raw)) {
        __atomic_store_n(&stream->is_unmarked, false, __ATOMIC_RELEASE);
        return driver->cuStreamSynchronize(stream->raw);
    }
    return stream->mark ? driver->cuEventSynchronize(stream->mark) : CUDA_SUCCESS;
}

CUresult cuda_context_wait(struct cuda_replay *replay)
{
    const struct cuda_real *driver = &replay->library.calls;
    CUcontext context = NULL;
    CUresult result = CUDA_SUCCESS;

    if (!replay->capture_count)
        return driver->cuCtxSynchronize();
    driver->cuCtxGetCurrent(&context);
    for (uint32_t i = 0; i < replay->stream_capacity && result == CUDA_SUCCESS; i++) {
        struct cuda_stream_state *stream = replay->streams[i];
        if (stream && stream->is_made && stream->context == context && stream->raw)
            result = cuda_stream_wait(replay, stream);
    }
    return result;
}
