/* SPDX-License-Identifier: Apache-2.0
 *
 * Replay of what came from other processes: memory and events of our own take its place.
 */
#include "api/cuda/replay/state.h"

static int fill(struct cuda_args *args, uint32_t content_slot, uint64_t address)
{
    const struct cuda_real *driver = args->driver;
    CUcontext context = NULL;
    struct sbt_blob blob;
    CUstream stream;
    const void *bytes;
    int error;

    if (!sbt_record_blob(args->record, content_slot, &blob) || !blob.size)
        return 0;
    bytes = cuda_arg_blob(args, content_slot, 0);
    driver->cuCtxGetCurrent(&context);
    error = args->error ? args->error : cuda_context_own_stream(args->replay, context, &stream);
    if (error)
        return error;
    CUresult result = driver->cuMemcpyHtoDAsync_v2(
        cuda_memory_translate(&args->replay->memory, address), bytes, blob.size, stream);
    if (result == CUDA_SUCCESS)
        result = driver->cuStreamSynchronize(stream);
    return cuda_args_end(args, result);
}

int cuda_open_memory(struct cuda_replay *replay, const struct sbt_record *record,
                     uint32_t address_slot, uint32_t size_slot, uint32_t content_slot)
{
    struct cuda_args args;
    int error;

    cuda_args_begin(&args, replay, record, content_slot + 1);
    uint64_t address = cuda_arg(&args, address_slot), size = cuda_arg(&args, size_slot);
    if (args.error || !size)
        return args.error;
    error = cuda_memory_allocate(replay, address, size, record->seq);
    return error ? error : fill(&args, content_slot, address);
}

int replay_cuIpcOpenMemHandle(struct cuda_replay *replay, const struct sbt_record *record)
{
    return cuda_open_memory(replay, record, SLOT_cuIpcOpenMemHandle_pdptr,
                            SLOT_cuIpcOpenMemHandle_size, SLOT_cuIpcOpenMemHandle_content);
}

int replay_cuMemPoolImportPointer(struct cuda_replay *replay, const struct sbt_record *record)
{
    return cuda_open_memory(replay, record, SLOT_cuMemPoolImportPointer_ptr_out,
                            SLOT_cuMemPoolImportPointer_size, SLOT_cuMemPoolImportPointer_content);
}

int replay_cuIpcCloseMemHandle(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuIpcCloseMemHandle_dptr + 1);
    return args.error ? args.error
                      : cuda_memory_release(replay, cuda_arg(&args, SLOT_cuIpcCloseMemHandle_dptr));
}

/* Nobody records it here: waits for what the other process did are over at once. */
int replay_cuIpcOpenEventHandle(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    CUevent event = NULL;

    cuda_args_begin(&args, replay, record, SLOT_cuIpcOpenEventHandle_phEvent + 1);
    if (args.error)
        return args.error;
    cuda_args_end(&args, args.driver->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    if (!args.error)
        cuda_arg_created(&args, SLOT_cuIpcOpenEventHandle_phEvent, CUDA_OBJECT_EVENT, event);
    return args.error;
}
