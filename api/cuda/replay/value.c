/* SPDX-License-Identifier: Apache-2.0
 *
 * Replay of waits for and writes of values in memory: sent as they were, to the addresses of this
 * replay.
 */
#include "api/cuda/replay/state.h"

#include <stdlib.h>
#include <string.h>

static bool is_wait(const CUstreamBatchMemOpParams *p)
{
    return p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
           p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
}

static bool has_address(const CUstreamBatchMemOpParams *p)
{
    return is_wait(p) || p->operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 ||
           p->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
}

bool cuda_values_wait(const CUstreamBatchMemOpParams *params, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_wait(&params[i]))
            return true;
    return false;
}

int cuda_values_read(struct cuda_args *args, uint32_t slot, size_t count,
                     CUstreamBatchMemOpParams **out)
{
    const void *bytes = cuda_arg_bytes(args, slot, count * sizeof(**out));

    *out = NULL;
    if (args->error || !count)
        return args->error;
    *out = malloc(count * sizeof(**out));
    if (!*out)
        return args->error = tsm_fail(TSM_E_MEMORY, "no memory for %zu values", count);
    memcpy(*out, bytes, count * sizeof(**out));
    for (size_t i = 0; i < count; i++) {
        CUstreamBatchMemOpParams *p = *out + i;
        if (has_address(p)) /* the same place in both kinds */
            p->waitValue.address =
                cuda_memory_translate(&args->replay->memory, p->waitValue.address);
    }
    return 0;
}

int replay_cuStreamBatchMemOp_v2(struct cuda_replay *replay, const struct sbt_record *record)
{
#define AT(name) SLOT_cuStreamBatchMemOp_v2_##name
    CUstreamBatchMemOpParams *params;
    struct cuda_args args;
    CUresult result;

    cuda_args_begin(&args, replay, record, AT(flags) + 1);
    CUstream stream = cuda_arg_stream(&args);
    unsigned count = (unsigned)cuda_arg(&args, AT(count));
    unsigned flags = (unsigned)cuda_arg(&args, AT(flags));
    if (cuda_values_read(&args, AT(paramArray), count, &params))
        return args.error;
    cuda_args_place(&args);
    if (args.error) {
        free(params);
        return args.error;
    }
    cuda_awaited_note_values(replay, record->stream, params, count);
    result = args.driver->cuStreamBatchMemOp_v2(stream, count, params, flags);
    if (result == CUDA_ERROR_NOT_FOUND) /* before CUDA 11.7 */
        result = args.driver->cuStreamBatchMemOp(stream, count, params, flags);
    free(params);
    cuda_args_end(&args, result);
    return cuda_functions_behind(&args, stream);
#undef AT
}

int replay_cuStreamWriteValue32_v2(struct cuda_replay *replay, const struct sbt_record *record)
{
#define AT(name) SLOT_cuStreamWriteValue32_v2_##name
    struct cuda_args args;
    CUresult result;

    cuda_args_begin(&args, replay, record, AT(size) + 1);
    CUstream stream = cuda_arg_stream(&args);
    CUdeviceptr address = cuda_arg_address(&args, AT(addr));
    uint64_t value = cuda_arg(&args, AT(value));
    unsigned flags = (unsigned)cuda_arg(&args, AT(flags));
    cuda_args_place(&args);
    if (args.error)
        return args.error;
    if (cuda_arg(&args, AT(size)) == 8)
        result = args.driver->cuStreamWriteValue64_v2(
            stream, address, cuda_memory_translate_word(&replay->memory, value), flags);
    else
        result = args.driver->cuStreamWriteValue32_v2(stream, address, (cuuint32_t)value, flags);
    cuda_args_end(&args, result);
    return cuda_functions_behind(&args, stream);
#undef AT
}

static bool batch_waits(const struct sbt_record *record)
{
    CUstreamBatchMemOpParams p;
    const uint8_t *bytes;
    size_t size;

    if (!sbt_record_bytes(record, SLOT_cuStreamBatchMemOp_v2_paramArray, &bytes, &size))
        return false;
    for (size_t at = 0; at + sizeof(p) <= size; at += sizeof(p)) {
        memcpy(&p, bytes + at, sizeof(p));
        if (is_wait(&p))
            return true;
    }
    return false;
}

static bool is_value_wait(uint32_t type)
{
    switch (type) {
    case TYPE_cuStreamWaitValue32:
    case TYPE_cuStreamWaitValue32_ptsz:
    case TYPE_cuStreamWaitValue32_v2:
    case TYPE_cuStreamWaitValue32_v2_ptsz:
    case TYPE_cuStreamWaitValue64:
    case TYPE_cuStreamWaitValue64_ptsz:
    case TYPE_cuStreamWaitValue64_v2:
    case TYPE_cuStreamWaitValue64_v2_ptsz:
        return true;
    default:
        return false;
    }
}

void cuda_value_before_submit(struct cuda_replay *replay, const struct sbt_record *record)
{
    if (is_value_wait(record->type))
        cuda_awaited_note(replay, record);
    else if ((record->type == TYPE_cuGraphLaunch || record->type == TYPE_cuGraphLaunch_ptsz) &&
             record->slot_count > SLOT_cuGraphLaunch_hGraph)
        cuda_exec_note_awaited(replay, record->slots[SLOT_cuGraphLaunch_hGraph], record->stream);
}

bool cuda_may_stay(struct cuda_replay *replay, const struct sbt_record *record)
{
    switch (record->type) {
    case TYPE_cuStreamBatchMemOp:
    case TYPE_cuStreamBatchMemOp_ptsz:
    case TYPE_cuStreamBatchMemOp_v2:
    case TYPE_cuStreamBatchMemOp_v2_ptsz:
        return batch_waits(record);
    case TYPE_cuWaitExternalSemaphoresAsync:
    case TYPE_cuWaitExternalSemaphoresAsync_ptsz:
        return true; /* for another API, which may be asked for it later */
    case TYPE_cuGraphLaunch:
    case TYPE_cuGraphLaunch_ptsz:
        return record->slot_count > SLOT_cuGraphLaunch_hGraph &&
               cuda_exec_waits(replay, record->slots[SLOT_cuGraphLaunch_hGraph]);
    default:
        return is_value_wait(record->type);
    }
}
