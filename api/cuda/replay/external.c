/* SPDX-License-Identifier: Apache-2.0
 *
 * Replay of external memory and semaphores. What another API of the trace gave away is imported
 * from a descriptor that its backend gives; what came from elsewhere is memory of our own, and
 * semaphores at which nobody waits.
 */
#include "api/cuda/replay/state.h"

#include <stdlib.h>
#include <unistd.h>

#include "api/cuda/abi_place.h"
#include "base/bytes.h"

static int ask_peer(const struct cuda_args *args, uint32_t api, enum tsm_shared kind, uint64_t id,
                    int *fd)
{
    const struct tsm_peers *peers = args->replay->peers;

    return peers ? peers->give(peers->user, api, kind, id, fd)
                 : tsm_fail(TSM_E_UNSUPPORTED,
                            "an object of another API, which is not replayed with it");
}

static int import(struct cuda_args *args, uint32_t api, uint64_t id)
{
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = {
        .type = (CUexternalMemoryHandleType)cuda_arg(args, SLOT_cuImportExternalMemory_type),
        .size = cuda_arg(args, SLOT_cuImportExternalMemory_size),
        .flags = (unsigned)cuda_arg(args, SLOT_cuImportExternalMemory_flags)};
    CUexternalMemory memory = NULL;
    int fd = -1, error;

    error = ask_peer(args, api, TSM_SHARED_MEMORY, id, &fd);
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
    if (address + size < address)
        return tsm_fail(TSM_E_FORMAT, "maps 0x%llx bytes at 0x%llx", (unsigned long long)size,
                        (unsigned long long)address);
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

/* ---- semaphores --------------------------------------------------------------------------- */

/* By the id of the semaphore here: the API that it is of, and its id there; 0: others'. */
static int note_origin(struct cuda_args *args, uint32_t api, uint64_t id)
{
    const uint64_t own = cuda_arg(args, SLOT_cuImportExternalSemaphore_extSem_out);

    return tsm_map_set(&args->replay->semaphores, own, (uint64_t)api << 48 | id)
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for semaphores");
}

static int import_semaphore(struct cuda_args *args, uint32_t api, uint64_t id)
{
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc = {
        .type = (CUexternalSemaphoreHandleType)cuda_arg(args, SLOT_cuImportExternalSemaphore_type),
        .flags = (unsigned)cuda_arg(args, SLOT_cuImportExternalSemaphore_flags)};
    CUexternalSemaphore semaphore = NULL;
    int fd = -1, error = ask_peer(args, api, TSM_SHARED_SEMAPHORE, id, &fd);

    if (!error)
        error = note_origin(args, api, id);
    if (error)
        return error;
    desc.handle.fd = fd;
    CUresult result = args->driver->cuImportExternalSemaphore(&semaphore, &desc);
    if (result != CUDA_SUCCESS)
        close(fd);
    else
        cuda_arg_created(args, SLOT_cuImportExternalSemaphore_extSem_out, CUDA_OBJECT_EXTSEM,
                         semaphore);
    return cuda_args_end(args, result);
}

int replay_cuImportExternalSemaphore(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    uint64_t origin;

    cuda_args_begin(&args, replay, record, SLOT_cuImportExternalSemaphore_origin + 1);
    origin = cuda_arg(&args, SLOT_cuImportExternalSemaphore_origin);
    if (args.error)
        return args.error;
    if (!origin)
        return note_origin(&args, 0, 0);
    return import_semaphore(
        &args, (uint32_t)cuda_arg(&args, SLOT_cuImportExternalSemaphore_origin_api), origin);
}

int replay_cuDestroyExternalSemaphore(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    CUexternalSemaphore semaphore;
    uint64_t id;

    cuda_args_begin(&args, replay, record, SLOT_cuDestroyExternalSemaphore_extSem + 1);
    id = cuda_arg(&args, SLOT_cuDestroyExternalSemaphore_extSem);
    semaphore = args.error ? NULL : cuda_object_find(replay, CUDA_OBJECT_EXTSEM, id);
    if (!semaphore)
        return args.error;
    cuda_args_end(&args, args.driver->cuDestroyExternalSemaphore(semaphore));
    return args.error ? args.error : cuda_object_set(replay, CUDA_OBJECT_EXTSEM, id, NULL);
}

#define SEMAPHORE_SIZE 24u /* of one in a record */

/* Semaphores of a record that are there, and what to do with each. */
struct semaphores {
    CUexternalSemaphore *list;
    uint32_t *ids; /* as recorded */
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *signals;
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *waits;
    unsigned count;
};

static void semaphores_finish(struct semaphores *s)
{
    free(s->list);
    free(s->ids);
    free(s->signals);
    free(s->waits);
}

/* Leaves out those of others. */
static void add_semaphore(struct cuda_args *args, struct semaphores *s, const uint8_t *bytes)
{
    const uint32_t id = tsm_get_u32(bytes);
    const uint64_t *origin = tsm_map_find(&args->replay->semaphores, id);
    CUexternalSemaphore semaphore = cuda_object_find(args->replay, CUDA_OBJECT_EXTSEM, id);
    const unsigned flags = tsm_get_u32(bytes + 4), at = s->count;
    const uint64_t value = tsm_get_u64(bytes + 8), key = tsm_get_u64(bytes + 16);

    if ((!origin || (*origin && !semaphore)) && !args->error)
        args->error =
            tsm_fail(TSM_E_NOT_FOUND, "semaphore %u was made by no record of this trace", id);
    if (!semaphore)
        return;
    s->list[s->count++] = semaphore;
    s->ids[at] = id;
    s->signals[at].flags = s->waits[at].flags = flags;
    s->signals[at].params.fence.value = s->waits[at].params.fence.value = value;
    s->signals[at].params.keyedMutex.key = s->waits[at].params.keyedMutex.key = key;
}

/* Tells the API that the semaphores are of. */
static int tell_uses(struct cuda_args *args, const struct semaphores *s, bool is_signal)
{
    const struct tsm_peers *peers = args->replay->peers;

    if (args->record->flags & SBT_RECORD_CAPTURED)
        return args->error;
    for (unsigned i = 0; i < s->count && peers && !args->error; i++) {
        const uint64_t origin = tsm_map_get(&args->replay->semaphores, s->ids[i], 0);
        const struct tsm_semaphore_use use = {.id = origin & 0xffffffffffff,
                                              .value = s->waits[i].params.fence.value,
                                              .stream = args->record->stream,
                                              .is_signal = is_signal};
        if (origin)
            args->error = peers->use(peers->user, (uint32_t)(origin >> 48), &use);
    }
    return args->error;
}

static int read_semaphores(struct cuda_args *args, uint32_t slot, struct semaphores *out)
{
    const uint8_t *bytes = NULL;
    size_t size = 0, most;

    *out = (struct semaphores){0};
    if (args->error || !sbt_record_bytes(args->record, slot, &bytes, &size))
        return args->error;
    most = size / SEMAPHORE_SIZE;
    out->list = calloc(most + 1, sizeof(*out->list));
    out->ids = calloc(most + 1, sizeof(*out->ids));
    out->signals = calloc(most + 1, sizeof(*out->signals));
    out->waits = calloc(most + 1, sizeof(*out->waits));
    if (!out->list || !out->ids || !out->signals || !out->waits)
        return args->error = tsm_fail(TSM_E_MEMORY, "no memory for %zu semaphores", most);
    for (size_t i = 0; i < most; i++)
        add_semaphore(args, out, bytes + i * SEMAPHORE_SIZE);
    return args->error;
}

/* With none left the command is a node all the same, where it was captured. */
static int send_nothing(struct cuda_args *args, CUstream stream)
{
    return args->record->flags & SBT_RECORD_CAPTURED ? cuda_capture_empty(args, stream)
                                                     : args->error;
}

int replay_cuSignalExternalSemaphoresAsync(struct cuda_replay *replay,
                                           const struct sbt_record *record)
{
    struct semaphores s;
    struct cuda_args args;
    CUstream stream;

    cuda_args_begin(&args, replay, record, SLOT_cuSignalExternalSemaphoresAsync_semaphores + 1);
    stream = cuda_arg_stream(&args);
    if (!read_semaphores(&args, SLOT_cuSignalExternalSemaphoresAsync_semaphores, &s)) {
        cuda_args_place(&args);
        tell_uses(&args, &s, true);
        if (!args.error && s.count)
            cuda_args_end(&args, args.driver->cuSignalExternalSemaphoresAsync(s.list, s.signals,
                                                                              s.count, stream));
        else
            send_nothing(&args, stream);
    }
    semaphores_finish(&s);
    return args.error;
}

int replay_cuWaitExternalSemaphoresAsync(struct cuda_replay *replay,
                                         const struct sbt_record *record)
{
    struct semaphores s;
    struct cuda_args args;
    CUstream stream;

    cuda_args_begin(&args, replay, record, SLOT_cuWaitExternalSemaphoresAsync_semaphores + 1);
    stream = cuda_arg_stream(&args);
    if (!read_semaphores(&args, SLOT_cuWaitExternalSemaphoresAsync_semaphores, &s)) {
        cuda_args_place(&args);
        tell_uses(&args, &s, false);
        if (!args.error && s.count)
            cuda_args_end(&args, args.driver->cuWaitExternalSemaphoresAsync(s.list, s.waits,
                                                                            s.count, stream));
        else
            send_nothing(&args, stream);
    }
    semaphores_finish(&s);
    return args.error;
}
