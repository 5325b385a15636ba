/* SPDX-License-Identifier: Apache-2.0
 *
 * Variables of modules and libraries. They lie where the driver puts them: what the program learnt
 * is translated. Managed ones are memory of the host, too, until their code is unloaded.
 */
#include "api/cuda/replay/state.h"

/* Slots of a call's record that have the parts of its answer. */
struct answer {
    uint32_t address, managed;
};

static int found(struct cuda_args *args, CUresult result, struct answer slots, CUdeviceptr actual,
                 size_t size)
{
    uint64_t recorded = cuda_arg(args, slots.address);

    if (result == CUDA_SUCCESS && !args->error && recorded)
        args->error = cuda_memory_moved(&args->replay->memory, recorded, size, actual);
    if (result == CUDA_SUCCESS && !args->error && recorded &&
        args->record->slot_count > slots.managed && cuda_arg(args, slots.managed))
        args->error = cuda_memory_variable(args->replay, recorded, actual, size, args->record->seq);
    return cuda_args_end(args, result);
}

int replay_cuModuleGetGlobal_v2(struct cuda_replay *replay, const struct sbt_record *record)
{
    const struct answer slots = {SLOT_cuModuleGetGlobal_v2_dptr, SLOT_cuModuleGetGlobal_v2_managed};
    struct cuda_args args;
    CUdeviceptr actual = 0;
    size_t size = 0;

    cuda_args_begin(&args, replay, record, SLOT_cuModuleGetGlobal_v2_name + 1);
    CUmodule module = cuda_arg_handle(&args, SLOT_cuModuleGetGlobal_v2_hmod, CUDA_OBJECT_MODULE);
    const char *name = cuda_arg_string(&args, SLOT_cuModuleGetGlobal_v2_name);
    if (args.error)
        return args.error;
    CUresult result = args.driver->cuModuleGetGlobal_v2(&actual, &size, module, name);
    return found(&args, result, slots, actual, size);
}

_Static_assert((int)SLOT_cuLibraryGetGlobal_dptr == (int)SLOT_cuLibraryGetManaged_dptr &&
                   (int)SLOT_cuLibraryGetGlobal_managed == (int)SLOT_cuLibraryGetManaged_managed,
               "records of both calls have the same slots");

static int library_variable(struct cuda_replay *replay, const struct sbt_record *record,
                            CUresult (*ask)(CUdeviceptr *, size_t *, CUlibrary, const char *))
{
    const struct answer slots = {SLOT_cuLibraryGetGlobal_dptr, SLOT_cuLibraryGetGlobal_managed};
    struct cuda_args args;
    CUdeviceptr actual = 0;
    size_t size = 0;

    cuda_args_begin(&args, replay, record, SLOT_cuLibraryGetGlobal_name + 1);
    CUlibrary library =
        cuda_arg_handle(&args, SLOT_cuLibraryGetGlobal_library, CUDA_OBJECT_LIBRARY);
    const char *name = cuda_arg_string(&args, SLOT_cuLibraryGetGlobal_name);
    if (args.error)
        return args.error;
    CUresult result = ask(&actual, &size, library, name);
    return found(&args, result, slots, actual, size);
}

int replay_cuLibraryGetGlobal(struct cuda_replay *replay, const struct sbt_record *record)
{
    return library_variable(replay, record, replay->library.calls.cuLibraryGetGlobal);
}

int replay_cuLibraryGetManaged(struct cuda_replay *replay, const struct sbt_record *record)
{
    return library_variable(replay, record, replay->library.calls.cuLibraryGetManaged);
}
