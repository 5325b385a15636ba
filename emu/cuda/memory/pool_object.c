/* SPDX-License-Identifier: Apache-2.0
 *
 * Pools as objects: their life, attributes, and passing them and their memory to other processes.
 */
#include "emu/cuda/memory/pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/cuda/core/context.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/core/object.h"
#include "emu/cuda/memory/memory.h"
#include "emu/cuda/memory/share.h"

/* Guards what follows, and the settings of all pools. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUmemPoolHandle_st default_pools[EMU_DEVICE_COUNT_MAX];
static CUmemoryPool current_pools[EMU_DEVICE_COUNT_MAX];

/* ---- pools ---- */

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev)
{
    CUresult result = emu_enter_device(dev);
    CUmemoryPool pool;

    if (result)
        return result;
    if (!pool_out)
        return CUDA_ERROR_INVALID_VALUE;
    pool = &default_pools[dev];
    pthread_mutex_lock(&lock);
    if (!pool->is_default) {
        pool->is_default = true;
        pool->device = dev;
        if (!emu_object_add(EMU_POOL, pool))
            result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_unlock(&lock);
    *pool_out = pool;
    return result;
}

CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
    CUmemoryPool found;
    CUresult result = cuDeviceGetDefaultMemPool(&found, dev);

    if (result)
        return result;
    if (!pool)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    *pool = current_pools[dev] ? current_pools[dev] : found;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
    CUresult result = emu_enter_device(dev);

    if (result)
        return result;
    if (!emu_object_is(EMU_POOL, pool) || pool->device != dev)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    current_pools[dev] = pool;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

static CUmemoryPool new_pool(void)
{
    CUmemoryPool pool = calloc(1, sizeof(*pool));

    if (pool && emu_object_add(EMU_POOL, pool))
        return pool;
    free(pool);
    return NULL;
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *poolProps)
{
    CUresult result = emu_ready();
    CUmemoryPool made;

    if (result)
        return result;
    if (!pool || !poolProps || poolProps->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if (poolProps->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        poolProps->handleTypes & ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_NOT_SUPPORTED;
    result = emu_enter_device(poolProps->location.id);
    if (result)
        return result;
    made = new_pool();
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    made->device = poolProps->location.id;
    made->is_shareable = poolProps->handleTypes != CU_MEM_HANDLE_TYPE_NONE;
    made->size_max = poolProps->maxSize;
    *pool = made;
    return CUDA_SUCCESS;
}

/* Blocks that are still in use keep the pool alive; its handle is destroyed at once. */
CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
    CUresult result = emu_ready();

    if (!result && (!emu_object_is(EMU_POOL, pool) || pool->is_default))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    pthread_mutex_lock(&lock);
    emu_object_remove(pool);
    if (current_pools[pool->device] == pool)
        current_pools[pool->device] = NULL;
    pthread_mutex_unlock(&lock);
    emu_pool_retire(pool);
    return CUDA_SUCCESS;
}

static CUresult enter_pool(CUmemoryPool pool)
{
    CUresult result = emu_ready();

    return !result && !emu_object_is(EMU_POOL, pool) ? CUDA_ERROR_INVALID_VALUE : result;
}

/* Only what a wait made free can go, and that is gone already. */
CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep)
{
    return enter_pool(pool);
}

/* The three REUSE_* attributes are ints, the others 64-bit numbers. */
static bool is_flag(CUmemPool_attribute attribute)
{
    return attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
    CUresult result = enter_pool(pool);
    uint64_t wanted = 0;
    size_t used, high;

    if (result)
        return result;
    if (!value || (unsigned)attr < 1 || (unsigned)attr >= EMU_POOL_ATTRIBUTES)
        return CUDA_ERROR_INVALID_VALUE;
    if (attr == CU_MEMPOOL_ATTR_USED_MEM_HIGH || attr == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)
        emu_pool_measure(pool, &used, &high, true);
    memcpy(&wanted, value, is_flag(attr) ? sizeof(int) : sizeof(uint64_t));
    pthread_mutex_lock(&lock);
    pool->settings[attr] = wanted;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
    CUresult result = enter_pool(pool);
    size_t used, high;
    uint64_t answer;

    if (result)
        return result;
    if (!value || (unsigned)attr < 1 || (unsigned)attr >= EMU_POOL_ATTRIBUTES)
        return CUDA_ERROR_INVALID_VALUE;
    emu_pool_measure(pool, &used, &high, false);
    pthread_mutex_lock(&lock);
    answer = pool->settings[attr];
    pthread_mutex_unlock(&lock);
    if (attr == CU_MEMPOOL_ATTR_USED_MEM_CURRENT || attr == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)
        answer = used;
    if (attr == CU_MEMPOOL_ATTR_USED_MEM_HIGH || attr == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)
        answer = high;
    memcpy(value, &answer, is_flag(attr) ? sizeof(int) : sizeof(uint64_t));
    return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count)
{
    CUresult result = enter_pool(pool);

    return !result && count && !map ? CUDA_ERROR_INVALID_VALUE : result;
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool memPool, CUmemLocation *location)
{
    CUresult result = enter_pool(memPool);

    if (!result && (!flags || !location))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return result;
}

/* ---- pools of a place: those of its device ---- */

static CUresult enter_location(const CUmemLocation *location, CUmemAllocationType type)
{
    CUresult result = emu_ready();

    if (!result && !location)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_NOT_SUPPORTED;
    return emu_enter_device(location->id);
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool *pool_out, CUmemLocation *location,
                                CUmemAllocationType type)
{
    CUresult result = enter_location(location, type);

    return result ? result : cuDeviceGetDefaultMemPool(pool_out, location->id);
}

CUresult cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type)
{
    CUresult result = enter_location(location, type);

    return result ? result : cuDeviceGetMemPool(pool, location->id);
}

CUresult cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
    CUresult result = enter_location(location, type);

    return result ? result : cuDeviceSetMemPool(location->id, pool);
}

/* ---- in other processes ---- */

_Static_assert(sizeof(struct emu_share_handle) <= sizeof(CUmemPoolPtrExportData), "it fits");

/* Content of the file of an exported pool. */
struct label {
    uint64_t magic;
    uint32_t process;
    int32_t device;
};
#define MAGIC 0x306c6f6f70736d74ull

CUresult cuMemPoolExportToShareableHandle(void *handle_out, CUmemoryPool pool,
                                          CUmemAllocationHandleType handleType,
                                          unsigned long long flags)
{
    CUresult result = enter_pool(pool);
    struct label label = {MAGIC, (uint32_t)getpid(), 0};
    int file;

    if (!result && (!handle_out || flags || !pool->is_shareable || pool->is_imported ||
                    handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    label.device = pool->device;
    file = memfd_create("tracesmith-emu-pool", MFD_CLOEXEC);
    if (file < 0)
        return CUDA_ERROR_OPERATING_SYSTEM;
    if (pwrite(file, &label, sizeof(label), 0) != sizeof(label)) {
        close(file);
        return CUDA_ERROR_OPERATING_SYSTEM;
    }
    memcpy(handle_out, &file, sizeof(file));
    return CUDA_SUCCESS;
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *pool_out, void *handle,
                                            CUmemAllocationHandleType handleType,
                                            unsigned long long flags)
{
    CUresult result = emu_ready();
    CUmemoryPool pool;
    struct label label;

    if (result)
        return result;
    if (!pool_out || flags || handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
        pread((int)(intptr_t)handle, &label, sizeof(label), 0) != sizeof(label) ||
        label.magic != MAGIC || emu_enter_device(label.device))
        return CUDA_ERROR_INVALID_VALUE;
    pool = new_pool();
    if (!pool)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pool->device = label.device;
    pool->process = label.process;
    pool->is_imported = true;
    *pool_out = pool;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *shareData_out, CUdeviceptr ptr)
{
    struct emu_share_handle handle;
    struct emu_memory memory;
    CUresult result = emu_ready();

    if (!result && (!shareData_out || !emu_memory_find(&memory, ptr) ||
                    memory.kind != EMU_MEMORY_POOL || !((CUmemoryPool)memory.owner)->is_shareable))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        result = emu_share_export(&handle, ptr, 1u << EMU_MEMORY_POOL);
    if (!result) {
        memset(shareData_out, 0, sizeof(*shareData_out));
        memcpy(shareData_out, &handle, sizeof(handle));
    }
    return result;
}

CUresult cuMemPoolImportPointer(CUdeviceptr *ptr_out, CUmemoryPool pool,
                                CUmemPoolPtrExportData *shareData)
{
    struct emu_share_handle handle;
    CUresult result = enter_pool(pool);
    CUcontext context;
    uint64_t address;

    if (!result)
        result = emu_enter(&context);
    if (!result && (!ptr_out || !shareData || !pool->is_imported))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    memcpy(&handle, shareData, sizeof(handle));
    if (handle.file.process != pool->process)
        return CUDA_ERROR_INVALID_VALUE;
    result = emu_share_import(&address, &handle, context, pool);
    if (!result)
        *ptr_out = address;
    return result;
}
