/* SPDX-License-Identifier: Apache-2.0
 *
 * Replay of allocations.
 */
#include "api/cuda/replay/state.h"

static int allocate(struct cuda_args *args, uint32_t address_slot, uint32_t size_slot)
{
    if (args->error)
        return args->error;
    return cuda_memory_allocate(args->replay, cuda_arg(args, address_slot),
                                cuda_arg(args, size_slot), args->record->seq);
}

int replay_cuMemAlloc_v2(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuMemAlloc_v2_bytesize + 1);
    return allocate(&args, SLOT_cuMemAlloc_v2_dptr, SLOT_cuMemAlloc_v2_bytesize);
}

int replay_cuMemAllocPitch_v2(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuMemAllocPitch_v2_size + 1);
    return allocate(&args, SLOT_cuMemAllocPitch_v2_dptr, SLOT_cuMemAllocPitch_v2_size);
}

/* On a stream that is captured it is a graph's. */
static int allocate_async(struct cuda_args *args, uint32_t address_slot, uint32_t size_slot)
{
    uint64_t address = cuda_arg(args, address_slot), size = cuda_arg(args, size_slot);

    if (!(args->record->flags & SBT_RECORD_CAPTURED))
        return allocate(args, address_slot, size_slot);
    if (!args->error)
        args->error = cuda_graph_memory_make(args->replay, address, size, args->record->seq);
    return cuda_capture_empty(args, cuda_arg_stream(args));
}

int replay_cuMemAllocAsync(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuMemAllocAsync_bytesize + 1);
    return allocate_async(&args, SLOT_cuMemAllocAsync_dptr, SLOT_cuMemAllocAsync_bytesize);
}

int replay_cuMemAllocFromPoolAsync(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuMemAllocFromPoolAsync_bytesize + 1);
    return allocate_async(&args, SLOT_cuMemAllocFromPoolAsync_dptr,
                          SLOT_cuMemAllocFromPoolAsync_bytesize);
}

/* All kinds of memory are released alike: what it was is known by its address. */
static int release(struct cuda_replay *replay, const struct sbt_record *record, uint32_t slot)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, slot + 1);
    if (record->flags & SBT_RECORD_CAPTURED)
        return cuda_capture_empty(&args, cuda_arg_stream(&args));
    if (args.error || cuda_graph_memory_is(replay, cuda_arg(&args, slot)))
        return args.error; /* the next launch allocates it again */
    return cuda_memory_release(replay, cuda_arg(&args, slot));
}

int replay_cuMemFree_v2(struct cuda_replay *replay, const struct sbt_record *record)
{
    return release(replay, record, SLOT_cuMemFree_v2_dptr);
}

/* The region's pages are given up after a wait for the device: no later than the stream does. */
int replay_cuMemFreeAsync(struct cuda_replay *replay, const struct sbt_record *record)
{
    return release(replay, record, SLOT_cuMemFreeAsync_dptr);
}

int replay_cuMemFreeHost(struct cuda_replay *replay, const struct sbt_record *record)
{
    return release(replay, record, SLOT_cuMemFreeHost_p);
}

int replay_cuMemHostUnregister(struct cuda_replay *replay, const struct sbt_record *record)
{
    return release(replay, record, SLOT_cuMemHostUnregister_p);
}

/* Host memory of the driver's is memory of ours at the same address, made known to the device. */
static int register_host(struct cuda_args *args, uint32_t address_slot, uint32_t size_slot)
{
    if (args->error)
        return args->error;
    return cuda_memory_register(
        args->replay, cuda_arg(args, address_slot), cuda_arg(args, size_slot),
        CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP, args->record->seq);
}

int replay_cuMemAllocHost_v2(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuMemAllocHost_v2_bytesize + 1);
    return register_host(&args, SLOT_cuMemAllocHost_v2_pp, SLOT_cuMemAllocHost_v2_bytesize);
}

int replay_cuMemHostAlloc(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuMemHostAlloc_bytesize + 1);
    return register_host(&args, SLOT_cuMemHostAlloc_pp, SLOT_cuMemHostAlloc_bytesize);
}

int replay_cuMemAllocManaged(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuMemAllocManaged_bytesize + 1);
    return register_host(&args, SLOT_cuMemAllocManaged_dptr, SLOT_cuMemAllocManaged_bytesize);
}

int replay_cuMemHostRegister_v2(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuMemHostRegister_v2_bytesize + 1);
    return register_host(&args, SLOT_cuMemHostRegister_v2_p, SLOT_cuMemHostRegister_v2_bytesize);
}
