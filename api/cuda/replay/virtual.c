/* SPDX-License-Identifier: Apache-2.0
 *
 * Replay of virtual memory management. Recorded reservations are reserved before the first record
 * (address_range.c), so what is left is physical memory and its mappings, which are repeated as
 * they were: at the recorded addresses or not at all.
 */
#include "api/cuda/replay/state.h"

#include <string.h>

/* Physical memory is no object of the description: its handle is a number, and maps to ours. */
#define PHYSICAL ((enum cuda_object)0x7f)

static CUmemGenericAllocationHandle find_physical(struct cuda_args *args, uint32_t slot)
{
    void *raw = cuda_object_find(args->replay, PHYSICAL, cuda_arg(args, slot));

    if (!raw && !args->error)
        args->error = tsm_fail(TSM_E_NOT_FOUND, "record %llu: physical memory that was never made",
                               (unsigned long long)args->record->seq);
    return (uintptr_t)raw;
}

/* Another process's memory, of which the trace does not know the size: it is made when it is first
 * mapped. */
#define IMPORTED ((CUmemGenericAllocationHandle)1)

bool cuda_physical_any(const struct cuda_replay *replay)
{
    const struct tsm_map *objects = &replay->objects;

    for (size_t i = 0; i < objects->capacity; i++)
        if (objects->slots[i].used && objects->slots[i].key >> 56 == PHYSICAL &&
            objects->slots[i].value)
            return true;
    return false;
}

static int set_physical(struct cuda_args *args, uint32_t slot, CUmemGenericAllocationHandle handle)
{
    return cuda_object_set(args->replay, PHYSICAL, cuda_arg(args, slot), (void *)(uintptr_t)handle);
}

/* Devices are shifted like everywhere; handles for other processes are of no use here. */
static int device_of(struct cuda_args *args, int recorded)
{
    const int device = cuda_device_of(args->replay, recorded);

    if (device < 0 && !args->error)
        args->error = cuda_device_missing(args->replay, recorded);
    return device;
}

int replay_cuMemCreate(struct cuda_replay *replay, const struct sbt_record *record)
{
    CUmemGenericAllocationHandle handle = 0;
    CUmemAllocationProp properties;
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuMemCreate_flags + 1);
    const uint8_t *recorded = cuda_arg_bytes(&args, SLOT_cuMemCreate_prop, sizeof(properties));
    if (args.error)
        return args.error;
    memcpy(&properties, recorded, sizeof(properties));
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
    if (properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE)
        properties.location.id = device_of(&args, properties.location.id);
    if (args.error)
        return args.error;
    CUresult result =
        args.driver->cuMemCreate(&handle, cuda_arg(&args, SLOT_cuMemCreate_size), &properties,
                                 cuda_arg(&args, SLOT_cuMemCreate_flags));
    if (result == CUDA_SUCCESS)
        args.error = set_physical(&args, SLOT_cuMemCreate_handle, handle);
    return cuda_args_end(&args, result);
}

int replay_cuMemImportFromShareableHandle(struct cuda_replay *replay,
                                          const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuMemImportFromShareableHandle_handle + 1);
    if (args.error)
        return args.error;
    return set_physical(&args, SLOT_cuMemImportFromShareableHandle_handle, IMPORTED);
}

/* In the place of imported memory: as much as the mapping needs. */
static CUmemGenericAllocationHandle make_imported(struct cuda_args *args, uint32_t slot,
                                                  uint64_t size)
{
    CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemGenericAllocationHandle handle = 0;
    CUdevice device = 0;
    CUresult result = args->driver->cuCtxGetDevice(&device);

    properties.location.id = device;
    if (result == CUDA_SUCCESS)
        result = args->driver->cuMemCreate(&handle, (size + CUDA_PAGE - 1) & ~(CUDA_PAGE - 1),
                                           &properties, 0);
    if (result == CUDA_SUCCESS)
        args->error = set_physical(args, slot, handle);
    cuda_args_end(args, result);
    return handle;
}

/* The number may be retained once more: it stays known. */
int replay_cuMemRelease(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuMemRelease_handle + 1);
    CUmemGenericAllocationHandle handle = find_physical(&args, SLOT_cuMemRelease_handle);
    if (args.error || handle == IMPORTED)
        return args.error;
    return cuda_args_end(&args, args.driver->cuMemRelease(handle));
}

int replay_cuMemRetainAllocationHandle(struct cuda_replay *replay, const struct sbt_record *record)
{
    CUmemGenericAllocationHandle handle = 0;
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuMemRetainAllocationHandle_addr + 1);
    if (args.error)
        return args.error;
    void *address = (void *)(uintptr_t)cuda_arg(&args, SLOT_cuMemRetainAllocationHandle_addr);
    CUresult result = args.driver->cuMemRetainAllocationHandle(&handle, address);
    if (result == CUDA_SUCCESS)
        args.error = set_physical(&args, SLOT_cuMemRetainAllocationHandle_handle, handle);
    return cuda_args_end(&args, result);
}

int replay_cuMemMap(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuMemMap_flags + 1);
    uint64_t address = cuda_arg(&args, SLOT_cuMemMap_ptr),
             size = cuda_arg(&args, SLOT_cuMemMap_size);
    CUmemGenericAllocationHandle handle = find_physical(&args, SLOT_cuMemMap_handle);
    const struct tsm_address_range *range =
        tsm_address_space_find(&replay->memory.device, address, size);
    if (!args.error && handle == IMPORTED)
        handle = make_imported(&args, SLOT_cuMemMap_handle,
                               size + cuda_arg(&args, SLOT_cuMemMap_offset));
    if (args.error)
        return args.error;
    if (!range || !range->is_reserved)
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "record %llu: the addresses from 0x%llx on, where the program mapped "
                        "memory, cannot be had here",
                        (unsigned long long)record->seq, (unsigned long long)address);
    return cuda_args_end(&args,
                         args.driver->cuMemMap(address, size, cuda_arg(&args, SLOT_cuMemMap_offset),
                                               handle, cuda_arg(&args, SLOT_cuMemMap_flags)));
}

/* Running commands may use the memory: the program's driver would have waited as well. */
int replay_cuMemUnmap(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuMemUnmap_size + 1);
    if (args.error)
        return args.error;
    cuda_context_wait(replay);
    return cuda_args_end(&args, args.driver->cuMemUnmap(cuda_arg(&args, SLOT_cuMemUnmap_ptr),
                                                        cuda_arg(&args, SLOT_cuMemUnmap_size)));
}

#define ACCESS_MAX 64

int replay_cuMemSetAccess(struct cuda_replay *replay, const struct sbt_record *record)
{
    CUmemAccessDesc access[ACCESS_MAX];
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuMemSetAccess_count + 1);
    uint64_t count = cuda_arg(&args, SLOT_cuMemSetAccess_count);
    if (!args.error && count > ACCESS_MAX)
        return tsm_fail(TSM_E_UNSUPPORTED, "record %llu: rights for %llu places at once",
                        (unsigned long long)record->seq, (unsigned long long)count);
    const uint8_t *recorded =
        cuda_arg_bytes(&args, SLOT_cuMemSetAccess_desc, count * sizeof(*access));
    if (args.error)
        return args.error;
    memcpy(access, recorded, count * sizeof(*access));
    for (uint64_t i = 0; i < count; i++)
        if (access[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE)
            access[i].location.id = device_of(&args, access[i].location.id);
    if (args.error)
        return args.error;
    return cuda_args_end(&args, args.driver->cuMemSetAccess(
                                    cuda_arg(&args, SLOT_cuMemSetAccess_ptr),
                                    cuda_arg(&args, SLOT_cuMemSetAccess_size), access, count));
}

/* ---- multicast objects -------------------------------------------------------------------- */

int replay_cuMulticastCreate(struct cuda_replay *replay, const struct sbt_record *record)
{
    CUmemGenericAllocationHandle handle = 0;
    CUmulticastObjectProp properties;
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuMulticastCreate_prop + 1);
    const uint8_t *recorded =
        cuda_arg_bytes(&args, SLOT_cuMulticastCreate_prop, sizeof(properties));
    if (args.error)
        return args.error;
    memcpy(&properties, recorded, sizeof(properties));
    properties.handleTypes = CU_MEM_HANDLE_TYPE_NONE;
    CUresult result = args.driver->cuMulticastCreate(&handle, &properties);
    if (result == CUDA_SUCCESS)
        args.error = set_physical(&args, SLOT_cuMulticastCreate_mcHandle, handle);
    return cuda_args_end(&args, result);
}

int replay_cuMulticastAddDevice(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuMulticastAddDevice_dev + 1);
    CUmemGenericAllocationHandle handle = find_physical(&args, SLOT_cuMulticastAddDevice_mcHandle);
    CUdevice device = cuda_arg_device(&args, SLOT_cuMulticastAddDevice_dev);
    if (args.error)
        return args.error;
    return cuda_args_end(&args, args.driver->cuMulticastAddDevice(handle, device));
}

int replay_cuMulticastBindMem(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuMulticastBindMem_flags + 1);
    CUmemGenericAllocationHandle handle = find_physical(&args, SLOT_cuMulticastBindMem_mcHandle),
                                 memory = find_physical(&args, SLOT_cuMulticastBindMem_memHandle);
    if (args.error)
        return args.error;
    return cuda_args_end(&args, args.driver->cuMulticastBindMem(
                                    handle, cuda_arg(&args, SLOT_cuMulticastBindMem_mcOffset),
                                    memory, cuda_arg(&args, SLOT_cuMulticastBindMem_memOffset),
                                    cuda_arg(&args, SLOT_cuMulticastBindMem_size),
                                    cuda_arg(&args, SLOT_cuMulticastBindMem_flags)));
}

int replay_cuMulticastBindAddr(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuMulticastBindAddr_flags + 1);
    CUmemGenericAllocationHandle handle = find_physical(&args, SLOT_cuMulticastBindAddr_mcHandle);
    CUdeviceptr memory = cuda_arg_address(&args, SLOT_cuMulticastBindAddr_memptr);
    if (args.error)
        return args.error;
    return cuda_args_end(&args, args.driver->cuMulticastBindAddr(
                                    handle, cuda_arg(&args, SLOT_cuMulticastBindAddr_mcOffset),
                                    memory, cuda_arg(&args, SLOT_cuMulticastBindAddr_size),
                                    cuda_arg(&args, SLOT_cuMulticastBindAddr_flags)));
}

/* Running commands of any device of the team may use the memory. */
int replay_cuMulticastUnbind(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuMulticastUnbind_size + 1);
    CUmemGenericAllocationHandle handle = find_physical(&args, SLOT_cuMulticastUnbind_mcHandle);
    CUdevice device = cuda_arg_device(&args, SLOT_cuMulticastUnbind_dev);
    if (args.error)
        return args.error;
    cuda_context_wait(replay);
    return cuda_args_end(
        &args, args.driver->cuMulticastUnbind(handle, device,
                                              cuda_arg(&args, SLOT_cuMulticastUnbind_mcOffset),
                                              cuda_arg(&args, SLOT_cuMulticastUnbind_size)));
}

/* ---- sparse arrays ------------------------------------------------------------------------ */

static CUarrayMapInfo read_map(struct cuda_args *args)
{
    CUarrayMapInfo i = {
        .subresourceType =
            (CUarraySparseSubresourceType)cuda_arg(args, SLOT_cuMemMapArrayAsync_subresource),
        .memOperationType = (CUmemOperationType)cuda_arg(args, SLOT_cuMemMapArrayAsync_operation),
        .memHandleType = CU_MEM_HANDLE_TYPE_GENERIC,
        .offset = cuda_arg(args, SLOT_cuMemMapArrayAsync_memory_offset)};

    if (i.subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL) {
        i.subresource.miptail.layer = (unsigned)cuda_arg(args, SLOT_cuMemMapArrayAsync_layer);
        i.subresource.miptail.offset = cuda_arg(args, SLOT_cuMemMapArrayAsync_tail_offset);
        i.subresource.miptail.size = cuda_arg(args, SLOT_cuMemMapArrayAsync_tail_size);
        return i;
    }
    i.subresource.sparseLevel.level = (unsigned)cuda_arg(args, SLOT_cuMemMapArrayAsync_level);
    i.subresource.sparseLevel.layer = (unsigned)cuda_arg(args, SLOT_cuMemMapArrayAsync_layer);
    i.subresource.sparseLevel.offsetX = (unsigned)cuda_arg(args, SLOT_cuMemMapArrayAsync_x);
    i.subresource.sparseLevel.offsetY = (unsigned)cuda_arg(args, SLOT_cuMemMapArrayAsync_y);
    i.subresource.sparseLevel.offsetZ = (unsigned)cuda_arg(args, SLOT_cuMemMapArrayAsync_z);
    i.subresource.sparseLevel.extentWidth = (unsigned)cuda_arg(args, SLOT_cuMemMapArrayAsync_width);
    i.subresource.sparseLevel.extentHeight =
        (unsigned)cuda_arg(args, SLOT_cuMemMapArrayAsync_height);
    i.subresource.sparseLevel.extentDepth = (unsigned)cuda_arg(args, SLOT_cuMemMapArrayAsync_depth);
    return i;
}

/* Finds the array, or the mipmapped one. False: it is gone where the replay begins. */
static bool read_resource(struct cuda_args *args, CUarrayMapInfo *info)
{
    const uint64_t array = cuda_arg(args, SLOT_cuMemMapArrayAsync_array),
                   mipmap = cuda_arg(args, SLOT_cuMemMapArrayAsync_mipmap);

    info->resourceType = array ? CU_RESOURCE_TYPE_ARRAY : CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    if (array)
        info->resource.array = cuda_object_find(args->replay, CUDA_OBJECT_ARRAY, array);
    else
        info->resource.mipmap = cuda_object_find(args->replay, CUDA_OBJECT_MIPMAP, mipmap);
    return array ? info->resource.array != NULL : info->resource.mipmap != NULL;
}

/* The mask has one bit. */
static unsigned read_devices(struct cuda_args *args)
{
    const unsigned recorded = (unsigned)cuda_arg(args, SLOT_cuMemMapArrayAsync_devices);
    const int device = recorded ? device_of(args, __builtin_ctz(recorded)) : 0;

    return device >= 0 && device < 32 ? 1u << device : 0;
}

int replay_cuMemMapArrayAsync(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuMemMapArrayAsync_tail_size + 1);
    CUstream stream = cuda_arg_stream(&args);
    CUarrayMapInfo info = read_map(&args);
    info.deviceBitMask = read_devices(&args);
    if (args.error || !read_resource(&args, &info))
        return args.error;
    if (info.memOperationType == CU_MEM_OPERATION_TYPE_MAP)
        info.memHandle.memHandle = find_physical(&args, SLOT_cuMemMapArrayAsync_memory);
    if (args.error)
        return args.error;
    cuda_args_send(&args);
    return cuda_args_end(&args, args.driver->cuMemMapArrayAsync(&info, 1, stream));
}

/* ---- checkpoints -------------------------------------------------------------------------- */

int cuda_physical_find(struct cuda_replay *replay, uint64_t recorded,
                       CUmemGenericAllocationHandle *out)
{
    void *raw = cuda_object_find(replay, PHYSICAL, recorded);

    *out = (uintptr_t)raw;
    return raw ? 0
               : tsm_fail(TSM_E_FORMAT, "speaks of physical memory 0x%llx, which no record made",
                          (unsigned long long)recorded);
}
