/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that the program knew to be complete without a call: an event after each of them.
 */
#include "api/cuda/replay/state.h"

#include <unistd.h>

static uint64_t key_of(uint64_t stream, uint64_t position)
{
    return stream << 40 ^ position;
}

static uint64_t key_told(const struct sbt_record *record, const struct sbt_schema *schema)
{
    return key_of(sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE),
                  sbt_record_role(schema, record, SBT_ROLE_OF_POSITION, 0));
}

int cuda_completed_plan(struct cuda_replay *replay, const struct sbt_record *record,
                        const struct sbt_schema *schema)
{
    bool added;

    if (record->type != SBT_TYPE(SBT_API_CORE, SBT_CORE_COMPLETE) || !schema)
        return 0;
    return tsm_map_insert(&replay->reached, key_told(record, schema), &added)
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for what is waited for");
}

/* Each thread writes the places of its own stream. */
int cuda_completed_mark(struct cuda_replay *replay, const struct sbt_record *record)
{
    const struct cuda_real *driver = &replay->library.calls;
    uint64_t *event = tsm_map_find(&replay->reached, key_of(record->stream, record->position));
    const struct cuda_stream_state *stream =
        event && record->position ? cuda_stream_find(replay, record->stream) : NULL;
    CUevent made = NULL;
    CUresult result;

    if (!stream || !stream->is_made || cuda_stream_is_captured(replay, stream->raw))
        return 0;
    result = driver->cuCtxSetCurrent(stream->context);
    if (result == CUDA_SUCCESS)
        result = driver->cuEventCreate(&made, CU_EVENT_DISABLE_TIMING);
    if (result == CUDA_SUCCESS)
        result = driver->cuEventRecord(made, cuda_place_stream(replay, stream->raw));
    *event = (uint64_t)(uintptr_t)made;
    return result == CUDA_SUCCESS ? 0 : cuda_fail(driver, "cuEventRecord", result);
}

uint64_t *cuda_completed_by_function(struct cuda_replay *replay, uint32_t stream, uint64_t position)
{
    return tsm_map_find(&replay->reached, key_of(stream, position));
}

/* A function in a graph is over before what is behind it there, which may wait for the program. */
static int await_function(struct cuda_replay *replay, const uint64_t *told, uint32_t number)
{
    const struct cuda_real *driver = &replay->library.calls;
    const struct cuda_stream_state *stream = cuda_stream_find(replay, number);
    CUresult result = CUDA_ERROR_NOT_READY;

    if (stream)
        driver->cuCtxSetCurrent(stream->context);
    while (__atomic_load_n(told, __ATOMIC_ACQUIRE) != CUDA_REACHED_DONE &&
           result == CUDA_ERROR_NOT_READY) {
        if (stream && !cuda_stream_is_captured(replay, stream->raw))
            result = driver->cuStreamQuery(stream->raw);
        usleep(50);
    }
    return result == CUDA_ERROR_NOT_READY || result == CUDA_SUCCESS
               ? 0
               : cuda_fail(driver, "cuStreamQuery", result);
}

int cuda_completed_await(struct cuda_replay *replay, const struct sbt_record *record,
                         const struct sbt_schema *schema)
{
    const struct cuda_real *driver = &replay->library.calls;
    uint64_t *event = tsm_map_find(&replay->reached, key_told(record, schema));
    const uint64_t value = event ? __atomic_load_n(event, __ATOMIC_ACQUIRE) : 0;
    CUevent made = (CUevent)(uintptr_t)value;
    CUresult result;

    if (!value || value == CUDA_REACHED_DONE)
        return 0; /* that command is not replayed, or over */
    if (value == CUDA_REACHED_SENT)
        return await_function(
            replay, event,
            (uint32_t)sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE));
    *event = 0;
    result = driver->cuEventSynchronize(made);
    driver->cuEventDestroy_v2(made);
    return result == CUDA_SUCCESS ? 0 : cuda_fail(driver, "cuEventSynchronize", result);
}
