/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that a schedule sends to streams of the replay's own ("on="): lanes. Behind each of them
 * an event stands for its end, for those that have to come after it and for waits of the recorded
 * stream. A call without a stream goes to the legacy default stream as ever: that waits for the
 * lane first, and the lane for it.
 */
#include "api/cuda/replay/state.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for streams of a schedule");
}

/* ---- waiting ------------------------------------------------------------------------------- */

static bool take_list(struct cuda_seq_list *to, const uint64_t *seqs, size_t count)
{
    to->count = 0;
    if (!TSM_ARRAY_RESERVE(to->list, to->capacity, count))
        return false;
    if (count)
        memcpy(to->list, seqs, count * sizeof(*seqs));
    to->count = count;
    return true;
}

/* Returns the event that stands for a command's end, or NULL: it was not sent, or its context, and
 * so all that was sent there, is over. */
static CUevent end_of(const struct cuda_replay *replay, uint64_t seq)
{
    const uint64_t place = tsm_map_get(&replay->placed.end_places, seq + 1, 0);

    return place ? replay->placed.ends[place - 1].event : NULL;
}

void cuda_place_await_next(struct cuda_replay *replay, const uint64_t *after, size_t count)
{
    replay->placed.has_failed |= !take_list(&replay->placed.awaited, after, count);
}

int cuda_place_await(struct cuda_replay *replay)
{
    const struct cuda_real *driver = &replay->library.calls;
    CUresult result = CUDA_SUCCESS;

    if (replay->placed.has_failed)
        return no_memory();
    for (size_t i = 0; i < replay->placed.awaited.count && result == CUDA_SUCCESS; i++) {
        CUevent end = end_of(replay, replay->placed.awaited.list[i]);

        result = end ? driver->cuEventSynchronize(end) : CUDA_SUCCESS;
    }
    return result == CUDA_SUCCESS ? 0 : cuda_fail(driver, "cuEventSynchronize", result);
}

CUresult cuda_place_wait(struct cuda_replay *replay, const struct cuda_stream_state *stream)
{
    CUresult result = CUDA_SUCCESS;

    for (size_t i = 0; i < stream->lane_count && result == CUDA_SUCCESS; i++)
        if (stream->lane_ends[i])
            result = replay->library.calls.cuEventSynchronize(stream->lane_ends[i]);
    return result;
}

/* ---- sending ------------------------------------------------------------------------------- */

int cuda_place_next(struct cuda_replay *replay, uint32_t on, const uint64_t *after, size_t count)
{
    struct cuda_placed *placed = &replay->placed;

    placed->is_next = true;
    placed->is_begun = placed->is_used = placed->has_waited = false;
    placed->on = on;
    return take_list(&placed->after, after, count) ? 0 : no_memory();
}

int cuda_place_begin(struct cuda_replay *replay, const struct sbt_record *record)
{
    const struct cuda_real *driver = &replay->library.calls;
    struct cuda_placed *placed = &replay->placed;
    CUcontext context = cuda_schedule_context(replay, record);
    struct cuda_lane *lane;
    CUresult result = CUDA_SUCCESS;

    if (!placed->is_next)
        return 0;
    placed->is_next = false;
    if (!TSM_ARRAY_EXTEND(placed->lanes, placed->lane_capacity, (size_t)placed->on + 1))
        return no_memory();
    lane = &placed->lanes[placed->on];
    if (lane->raw && lane->context != context)
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "the schedule sends commands of two contexts to stream %u; give each a "
                        "number of its own",
                        placed->on);
    if (!lane->raw) {
        result = driver->cuCtxSetCurrent(context);
        if (result == CUDA_SUCCESS)
            result = driver->cuStreamCreate(&lane->raw, CU_STREAM_NON_BLOCKING);
        lane->context = context;
    }
    placed->raw = lane->raw;
    placed->is_begun = result == CUDA_SUCCESS;
    return result == CUDA_SUCCESS ? 0 : cuda_fail(driver, "cuStreamCreate", result);
}

/* Makes an event behind what a stream was given. In virtual time it arrives with the command. */
static CUresult record_end(struct cuda_replay *replay, CUstream raw, CUevent *out)
{
    const struct cuda_real *driver = &replay->library.calls;
    CUresult result = driver->cuEventCreate(out, CU_EVENT_DISABLE_TIMING);

    cuda_clock_beside(replay);
    return result == CUDA_SUCCESS ? driver->cuEventRecord(*out, raw) : result;
}

/* Has a stream wait for such an event, likewise. */
static CUresult wait_end(struct cuda_replay *replay, CUstream raw, CUevent end)
{
    cuda_clock_beside(replay);
    return replay->library.calls.cuStreamWaitEvent(raw, end, 0);
}

/* Has the default stream wait for all that the lane was given. */
static CUresult join_lane(struct cuda_replay *replay, CUstream lane)
{
    CUevent end = NULL;
    CUresult result = record_end(replay, lane, &end);

    if (result == CUDA_SUCCESS)
        result = wait_end(replay, CU_STREAM_LEGACY, end);
    if (end)
        replay->library.calls.cuEventDestroy_v2(end);
    return result;
}

int cuda_place_send(struct cuda_replay *replay)
{
    const struct cuda_real *driver = &replay->library.calls;
    struct cuda_placed *placed = &replay->placed;
    const CUstream to = placed->is_used ? placed->raw : CU_STREAM_LEGACY;
    CUresult result = CUDA_SUCCESS;

    if (!placed->is_begun || placed->has_waited)
        return 0;
    placed->has_waited = true;
    if (!placed->is_used)
        result = join_lane(replay, placed->raw);
    for (size_t i = 0; i < placed->after.count && result == CUDA_SUCCESS; i++) {
        CUevent end = end_of(replay, placed->after.list[i]);

        result = end ? wait_end(replay, to, end) : CUDA_SUCCESS;
    }
    return result == CUDA_SUCCESS ? 0 : cuda_fail(driver, "cuStreamWaitEvent", result);
}

/* Notes the end of what a recorded stream sent to the lane last. */
static bool note_lane_end(struct cuda_stream_state *stream, uint32_t on, CUevent end)
{
    if (!TSM_ARRAY_EXTEND(stream->lane_ends, stream->lane_capacity, (size_t)on + 1))
        return false;
    for (; stream->lane_count <= on; stream->lane_count++)
        stream->lane_ends[stream->lane_count] = NULL;
    stream->lane_ends[on] = end;
    return true;
}

static bool note_end(struct cuda_placed *placed, uint64_t seq, CUevent event)
{
    const struct cuda_placed_end end = {event, placed->lanes[placed->on].context};

    return TSM_ARRAY_PUSH(placed->ends, placed->end_count, placed->end_capacity, end) &&
           tsm_map_set(&placed->end_places, seq + 1, placed->end_count);
}

int cuda_place_end(struct cuda_replay *replay, const struct sbt_record *record)
{
    const struct cuda_real *driver = &replay->library.calls;
    struct cuda_placed *placed = &replay->placed;
    struct cuda_stream_state *stream = cuda_stream_find(replay, record->stream);
    CUevent end = NULL;
    CUresult result;

    if (!placed->is_begun)
        return 0;
    placed->is_begun = false;
    result = record_end(replay, placed->is_used ? placed->raw : CU_STREAM_LEGACY, &end);
    if (result == CUDA_SUCCESS && !placed->is_used)
        result = wait_end(replay, placed->raw, end);
    if (result != CUDA_SUCCESS)
        return cuda_fail(driver, "cuEventRecord", result);
    return stream && note_lane_end(stream, placed->on, end) && note_end(placed, record->seq, end)
               ? 0
               : no_memory();
}

CUstream cuda_place_stream(struct cuda_replay *replay, CUstream raw)
{
    replay->placed.is_used |= replay->placed.is_begun;
    return replay->placed.is_begun ? replay->placed.raw : raw;
}

void cuda_place_leave(struct cuda_replay *replay, CUcontext context)
{
    struct cuda_placed *placed = &replay->placed;

    for (size_t i = 0; i < placed->lane_capacity; i++)
        if (placed->lanes[i].context == context)
            placed->lanes[i] = (struct cuda_lane){NULL, NULL};
    for (size_t i = 0; i < placed->end_count; i++)
        if (placed->ends[i].context == context)
            placed->ends[i].event = NULL;
    for (size_t i = 0; i < replay->stream_capacity; i++)
        if (replay->streams[i] && replay->streams[i]->context == context)
            replay->streams[i]->lane_count = 0;
}

void cuda_place_finish(struct cuda_replay *replay)
{
    struct cuda_placed *placed = &replay->placed;

    free(placed->lanes);
    free(placed->after.list);
    free(placed->awaited.list);
    free(placed->ends);
    tsm_map_finish(&placed->end_places);
    *placed = (struct cuda_placed){0};
}
