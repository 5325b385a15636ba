/* SPDX-License-Identifier: Apache-2.0
 *
 * Queues, and what else a stream of the recording needs here.
 */
#include "api/hsa/hsa_replay_calls.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_SIZE  ((size_t)1 << 20)
#define PACKET_SIZE 64u

#define WAITS_A_SECOND 100u
#define FOR_EVER       (UINT64_MAX / WAITS_A_SECOND) /* seconds */
#define HEADER(type)                                                                               \
    ((uint32_t)(type) << HSA_PACKET_HEADER_TYPE | 1u << HSA_PACKET_HEADER_BARRIER |                \
     HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |                           \
     HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE)

struct hsa_arguments {
    struct hsa_arguments *next;
    uint8_t *memory;
    size_t used, size;
};

struct hsa_stream *hsa_stream_of(struct hsa_replay *replay, uint32_t number)
{
    return number < replay->stream_count ? &replay->streams[number] : NULL;
}

/* ---- arguments ---------------------------------------------------------------------------------
 */

static uint64_t arguments_pool(const struct hsa_replay *replay)
{
    for (uint32_t i = 0; i < replay->here.pool_count; i++)
        if (replay->here.pools[i].flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT)
            return replay->here.pools[i].raw;
    return 0;
}

static struct hsa_arguments *add_chunk(struct hsa_replay *replay, struct hsa_stream *stream,
                                       size_t size)
{
    struct hsa_arguments *chunk = calloc(1, sizeof(*chunk));
    void *memory = NULL;

    if (!chunk)
        return NULL;
    chunk->size = size > CHUNK_SIZE ? size : CHUNK_SIZE;
    if (replay->calls.hsa_amd_memory_pool_allocate((hsa_amd_memory_pool_t){arguments_pool(replay)},
                                                   chunk->size, 0, &memory) != HSA_STATUS_SUCCESS) {
        free(chunk);
        return NULL;
    }
    for (uint32_t i = 0; i < replay->here.agent_count; i++)
        replay->calls.hsa_amd_agents_allow_access(1, &(hsa_agent_t){replay->here.agents[i].raw},
                                                  NULL, memory);
    chunk->memory = memory;
    chunk->next = stream->arguments;
    stream->arguments = chunk;
    return chunk;
}

void *hsa_stream_arguments(struct hsa_replay *replay, struct hsa_stream *stream, size_t size)
{
    struct hsa_arguments *chunk = stream->arguments;
    void *given;

    size = (size + 63) & ~(size_t)63;
    if (!chunk || size > chunk->size - chunk->used)
        chunk = add_chunk(replay, stream, size);
    if (!chunk)
        return NULL;
    given = chunk->memory + chunk->used;
    chunk->used += size;
    return given;
}

/* All but one chunk go. */
static void drop_arguments(struct hsa_replay *replay, struct hsa_stream *stream, bool all)
{
    while (stream->arguments && (all || stream->arguments->next)) {
        struct hsa_arguments *chunk = stream->arguments;
        stream->arguments = chunk->next;
        replay->calls.hsa_amd_memory_pool_free(chunk->memory);
        free(chunk);
    }
    if (stream->arguments)
        stream->arguments->used = 0;
}

/* ---- errors ------------------------------------------------------------------------------------
 */

static void on_error(hsa_status_t status, hsa_queue_t *queue, void *data)
{
    struct hsa_stream *stream = data;

    __atomic_store_n(&stream->error, status, __ATOMIC_RELEASE);
}

static bool has_failed(const struct hsa_stream *stream)
{
    return __atomic_load_n(&stream->error, __ATOMIC_ACQUIRE) != HSA_STATUS_SUCCESS;
}

static int failure(const struct hsa_replay *replay, const struct hsa_stream *stream)
{
    return hsa_fail(replay, "a packet", __atomic_load_n(&stream->error, __ATOMIC_ACQUIRE));
}

int hsa_streams_check(const struct hsa_replay *replay)
{
    char why[2] = "";

    if (replay->sandbox_why)
        replay->sandbox_why(why, sizeof(why));
    for (uint32_t i = 0; *why && i < replay->stream_count; i++)
        if (has_failed(&replay->streams[i]))
            return failure(replay, &replay->streams[i]);
    return 0;
}

/* ---- packets -----------------------------------------------------------------------------------
 */

int hsa_stream_send(struct hsa_replay *replay, struct hsa_stream *stream, const void *packet)
{
    const struct hsa_real *calls = &replay->calls;
    hsa_queue_t *queue = stream->queue;
    uint64_t index;
    uint8_t *place;
    uint32_t head;

    if (!queue)
        return tsm_fail(TSM_E_FORMAT, "a packet on a stream that is no queue");
    index = calls->hsa_queue_add_write_index_scacq_screl(queue, 1);
    while (index - calls->hsa_queue_load_read_index_scacquire(queue) >= queue->size) {
        if (has_failed(stream))
            return failure(replay, stream);
        sched_yield();
    }
    place = (uint8_t *)queue->base_address + (index & (queue->size - 1)) * PACKET_SIZE;
    memcpy(&head, packet, sizeof(head));
    memcpy(place + sizeof(head), (const uint8_t *)packet + sizeof(head),
           PACKET_SIZE - sizeof(head));
    __atomic_store_n((uint32_t *)(void *)place, head, __ATOMIC_RELEASE);
    calls->hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
    stream->sent++;
    return 0;
}

/* Until the fence is counted down, or the queue has failed, or a while is over. */
static int await_fence(struct hsa_replay *replay, struct hsa_stream *stream, uint64_t seconds)
{
    uint64_t second = 1000000000u;

    replay->calls.hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &second);
    for (uint64_t part = 0; part < seconds * WAITS_A_SECOND; part++) {
        if (replay->calls.hsa_signal_wait_scacquire(stream->fence, HSA_SIGNAL_CONDITION_LT, 1,
                                                    second / WAITS_A_SECOND,
                                                    HSA_WAIT_STATE_BLOCKED) < 1)
            break;
        if (has_failed(stream))
            return failure(replay, stream);
    }
    return 0;
}

static int wait_queue(struct hsa_replay *replay, struct hsa_stream *stream, uint64_t seconds)
{
    hsa_barrier_and_packet_t barrier = {.completion_signal = stream->fence};
    const uint32_t head = HEADER(HSA_PACKET_TYPE_BARRIER_AND);
    int error;

    if (!stream->sent)
        return 0;
    if (has_failed(stream))
        return failure(replay, stream);
    memcpy(&barrier, &head, sizeof(head));
    replay->calls.hsa_signal_store_screlease(stream->fence, 1);
    error = hsa_stream_send(replay, stream, &barrier);
    if (!error)
        error = await_fence(replay, stream, seconds);
    stream->sent = 0;
    return error;
}

int hsa_stream_wait(struct hsa_replay *replay, struct hsa_stream *stream)
{
    uint64_t count = stream->flight_count < HSA_FLIGHT_MAX ? stream->flight_count : HSA_FLIGHT_MAX;
    int error = stream->queue ? wait_queue(replay, stream, FOR_EVER) : 0;

    for (uint64_t i = 0; i < count; i++)
        error = error ? error : hsa_signal_wait_complete(replay, stream->flight[i]);
    stream->flight_count = 0;
    if (!error)
        stream->dispatched_count = 0;
    if (!error && stream->arguments)
        drop_arguments(replay, stream, false);
    return error;
}

/* ---- bytes for the host ------------------------------------------------------------------------
 */

void hsa_stream_receives(struct hsa_stream *stream, uint64_t position, const uint8_t *data,
                         uint64_t size, uint8_t *own)
{
    for (uint32_t i = 0; own && i < HSA_FLIGHT_MAX; i++)
        if (stream->own && stream->received[i].data == stream->own)
            stream->received[i].data = NULL;
    if (own) {
        free(stream->own);
        stream->own = own;
    }
    stream->received[stream->received_count++ % HSA_FLIGHT_MAX] =
        (struct hsa_received){.position = position, .size = size, .data = data};
}

void hsa_stream_receives_box(struct hsa_stream *stream, const struct hsa_received *box)
{
    stream->received[stream->received_count++ % HSA_FLIGHT_MAX] = *box;
}

/* Rows without the gaps between them. */
static int pack(struct hsa_stream *stream, const struct hsa_received *box)
{
    uint8_t *grown = realloc(stream->packed, box->size + 1), *to = grown;

    if (!grown)
        return tsm_fail(TSM_E_MEMORY, "no memory for %llu bytes", (unsigned long long)box->size);
    stream->packed = grown;
    for (uint64_t z = 0; z < box->depth; z++)
        for (uint64_t y = 0; y < box->height; y++, to += box->width)
            memcpy(to, box->data + z * box->plane + y * box->pitch, box->width);
    return 0;
}

int hsa_stream_received(struct hsa_stream *stream, uint64_t position, const uint8_t **data,
                        uint64_t *size)
{
    for (uint32_t i = 0; i < HSA_FLIGHT_MAX; i++) {
        const struct hsa_received *received = &stream->received[i];
        int error = 0;
        if (received->position != position || !received->data)
            continue;
        if (received->height)
            error = pack(stream, received);
        *data = received->height ? stream->packed : received->data;
        *size = received->size;
        return error;
    }
    return TSM_E_NOT_FOUND;
}

/* ---- records -----------------------------------------------------------------------------------
 */

int replay_hsa_queue_create(struct hsa_replay *replay, const struct sbt_record *record)
{
    uint64_t number = hsa_slot(record, SLOT_hsa_queue_create_stream);
    struct hsa_stream *stream = hsa_stream_of(replay, (uint32_t)number);
    hsa_agent_t agent = hsa_agents_agent(replay, hsa_slot(record, SLOT_hsa_queue_create_agent));
    hsa_status_t status;

    if (!stream)
        return tsm_fail(TSM_E_FORMAT, "a queue without a stream");
    if (stream->fence.handle)
        return tsm_fail(TSM_E_FORMAT, "a queue on a stream that has one");
    stream->is_software = hsa_agents_are_software(replay, agent);
    status = replay->calls.hsa_signal_create(1, 0, NULL, &stream->fence);
    if (status == HSA_STATUS_SUCCESS)
        status = replay->calls.hsa_queue_create(
            agent, (uint32_t)hsa_slot(record, SLOT_hsa_queue_create_size),
            (hsa_queue_type32_t)hsa_slot(record, SLOT_hsa_queue_create_type), on_error, stream,
            (uint32_t)hsa_slot(record, SLOT_hsa_queue_create_private_segment_size),
            (uint32_t)hsa_slot(record, SLOT_hsa_queue_create_group_segment_size), &stream->queue);
    if (status != HSA_STATUS_SUCCESS)
        return hsa_fail(replay, "hsa_queue_create", status);
    hsa_timing_queue(replay, stream, agent);
    return 0;
}

static void end_queue(struct hsa_replay *replay, struct hsa_stream *stream)
{
    if (stream->queue)
        replay->calls.hsa_queue_destroy(stream->queue);
    if (stream->fence.handle)
        replay->calls.hsa_signal_destroy(stream->fence);
    drop_arguments(replay, stream, true);
    free(stream->dispatched);
    free(stream->own);
    free(stream->packed);
    memset(stream, 0, sizeof(*stream));
}

/* With packets in flight, as the program did it: what ends by itself does so first. */
int replay_hsa_queue_destroy(struct hsa_replay *replay, const struct sbt_record *record)
{
    struct hsa_stream *stream =
        hsa_stream_of(replay, (uint32_t)hsa_slot(record, SLOT_hsa_queue_destroy_stream));
    int error = 0;

    if (!stream || !stream->queue)
        return 0;
    if (!hsa_slot(record, SLOT_hsa_queue_destroy_in_flight))
        error = hsa_stream_wait(replay, stream);
    else
        wait_queue(replay, stream, 1); /* it may have failed when it was recorded, too */
    end_queue(replay, stream);
    return error;
}

/* Copies of a replay that has failed may be under way: they use signals and memory that go next. */
static void await_copies(struct hsa_replay *replay, struct hsa_stream *stream)
{
    uint64_t count = stream->flight_count < HSA_FLIGHT_MAX ? stream->flight_count : HSA_FLIGHT_MAX;

    for (uint64_t i = 0; i < count; i++)
        hsa_signal_wait_complete(replay, stream->flight[i]);
    stream->flight_count = 0;
}

void hsa_streams_finish(struct hsa_replay *replay)
{
    for (uint32_t i = 0; replay->streams && i < replay->stream_count; i++)
        await_copies(replay, &replay->streams[i]);
    for (uint32_t i = 0; replay->streams && i < replay->stream_count; i++)
        end_queue(replay, &replay->streams[i]);
    free(replay->streams);
    replay->streams = NULL;
}
