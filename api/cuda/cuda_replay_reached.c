/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that the program knew to be complete without a call: an event behind each of them.
 */
#include "api/cuda/cuda_replay_state.h"

static uint64_t key_of(uint64_t stream, uint64_t position)
{
    return stream << 40 ^ position;
}

static uint64_t key_told(const struct sbt_record *record, const struct sbt_schema *schema)
{
    return key_of(sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE),
                  sbt_record_role(schema, record, SBT_ROLE_OF_POSITION, 0));
}

int cuda_reached_plan(struct cuda_replay *replay, const struct sbt_record *record,
                      const struct sbt_schema *schema)
{
    bool added;

    if (record->type != SBT_TYPE(SBT_API_CORE, SBT_CORE_COMPLETE) || !schema)
        return 0;
    return sbt_map_insert(&replay->reached, key_told(record, schema), &added)
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for what is waited for");
}

/* Each thread writes the places of its own stream. */
int cuda_reached_mark(struct cuda_replay *replay, const struct sbt_record *record)
{
    const struct cuda_real *driver = &replay->library.calls;
    uint64_t *event = sbt_map_find(&replay->reached, key_of(record->stream, record->position));
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
        result = driver->cuEventRecord(made, stream->raw);
    *event = (uint64_t)(uintptr_t)made;
    return result == CUDA_SUCCESS ? 0 : cuda_fail(driver, "cuEventRecord", result);
}

int cuda_reached_await(struct cuda_replay *replay, const struct sbt_record *record,
                       const struct sbt_schema *schema)
{
    const struct cuda_real *driver = &replay->library.calls;
    uint64_t *event = sbt_map_find(&replay->reached, key_told(record, schema));
    CUevent made = event ? (CUevent)(uintptr_t)*event : NULL;
    CUresult result;

    if (!made)
        return 0; /* that command is not replayed */
    *event = 0;
    result = driver->cuEventSynchronize(made);
    driver->cuEventDestroy_v2(made);
    return result == CUDA_SUCCESS ? 0 : cuda_fail(driver, "cuEventSynchronize", result);
}
