/* SPDX-License-Identifier: Apache-2.0
 *
 * Replay of external memory. What another API of the trace gave away is imported from a descriptor
 * that its backend gives; what came from elsewhere is memory of our own.
 */
#include "api/cuda/replay/state.h"

#include <unistd.h>

#include "api/cuda/abi_place.h"

static int import(struct cuda_args *args, uint32_t api, uint64_t id)
{
    const struct tsm_peers *peers = args->replay->peers;
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = {
        .type = (CUexternalMemoryHandleType)cuda_arg(args, SLOT_cuImportExternalMemory_type),
        .size = cuda_arg(args, SLOT_cuImportExternalMemory_size),
        .flags = (unsigned)cuda_arg(args, SLOT_cuImportExternalMemory_flags)};
    CUexternalMemory memory = NULL;
    int fd = -1, error;

    if (!peers)
        return tsm_fail(TSM_E_UNSUPPORTED, "memory of another API, which is not replayed with it");
    error = peers->give(peers->user, api, TSM_SHARED_MEMORY, id, &fd);
    if (error)
        return error;
    desc.handle.fd = fd;
    CUresult result = args->driver->cuImportExternalMemory(&memory, &desc);
    if (result != CUDA_SUCCESS)
        close(fd); /* else it is the driver's */
    else
        cuda_arg_created(args, SLOT_cuImportExternalMemory_extMem_out, CUDA_OBJECT_EXTMEM, memory);
    return cuda_args_end(args, result);
}

int replay_cuImportExternalMemory(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    uint64_t origin;

    cuda_args_begin(&args, replay, record, SLOT_cuImportExternalMemory_origin + 1);
    origin = cuda_arg(&args, SLOT_cuImportExternalMemory_origin);
    if (args.error || !origin)
        return args.error;
    return import(&args, (uint32_t)cuda_arg(&args, SLOT_cuImportExternalMemory_origin_api), origin);
}

int replay_cuDestroyExternalMemory(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    CUexternalMemory memory;
    uint64_t id;

    cuda_args_begin(&args, replay, record, SLOT_cuDestroyExternalMemory_extMem + 1);
    id = cuda_arg(&args, SLOT_cuDestroyExternalMemory_extMem);
    memory = args.error ? NULL : cuda_object_find(replay, CUDA_OBJECT_EXTMEM, id);
    if (!memory)
        return args.error;
    cuda_args_end(&args, args.driver->cuDestroyExternalMemory(memory));
    return args.error ? args.error : cuda_object_set(replay, CUDA_OBJECT_EXTMEM, id, NULL);
}

static int map(struct cuda_args *args, uint64_t address, uint64_t size)
{
    const CUDA_EXTERNAL_MEMORY_BUFFER_DESC desc = {
        .offset = cuda_arg(args, SLOT_cuExternalMemoryGetMappedBuffer_offset), .size = size};
    CUexternalMemory memory =
        cuda_arg_handle(args, SLOT_cuExternalMemoryGetMappedBuffer_extMem, CUDA_OBJECT_EXTMEM);
    const struct tsm_emu_place *place = args->replay->memory.place;
    CUdeviceptr actual = 0;

    if (args->error)
        return args->error;
    if (place)
        place->wish(address);
    CUresult result = args->driver->cuExternalMemoryGetMappedBuffer(&actual, memory, &desc);
    if (result == CUDA_SUCCESS)
        args->error = cuda_memory_adopt(args->replay, address, size, actual, args->record->seq);
    return cuda_args_end(args, result);
}

int replay_cuExternalMemoryGetMappedBuffer(struct cuda_replay *replay,
                                           const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuExternalMemoryGetMappedBuffer_content + 1);
    uint64_t address = cuda_arg(&args, SLOT_cuExternalMemoryGetMappedBuffer_devPtr);
    uint64_t size = cuda_arg(&args, SLOT_cuExternalMemoryGetMappedBuffer_size);
    if (args.error || !size)
        return args.error;
    if (cuda_arg(&args, SLOT_cuExternalMemoryGetMappedBuffer_origin))
        return map(&args, address, size);
    return cuda_open_memory(replay, record, SLOT_cuExternalMemoryGetMappedBuffer_devPtr,
                            SLOT_cuExternalMemoryGetMappedBuffer_size,
                            SLOT_cuExternalMemoryGetMappedBuffer_content);
}
