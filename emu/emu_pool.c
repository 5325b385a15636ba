/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/emu_pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "emu/emu.h"
#include "emu/emu_capture.h"
#include "emu/emu_context.h"
#include "emu/emu_graph.h"
#include "emu/emu_memory.h"
#include "emu/emu_object.h"
#include "emu/emu_stack.h"
#include "emu/emu_stream.h"
#include "emu/emu_watch.h"

#define ATTRIBUTE_COUNT (CU_MEMPOOL_ATTR_USED_MEM_HIGH + 1)

struct CUmemPoolHandle_st {
    CUdevice device;
    bool is_default;
    bool is_destroyed; /* goes with its last block */
    size_t used;
    size_t used_high;
    uint64_t settings[ATTRIBUTE_COUNT]; /* kept and given back; they steer nothing here */
};

/* An allocation from a pool. */
struct block {
    CUmemoryPool pool;
    CUcontext context;
    uint64_t address;
    size_t size;
    bool is_freed;
    bool is_graphs;  /* its address belongs to a node: kept until the context goes */
    CUstream stream; /* where it was freed; only compared, may be gone */
    struct block *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *blocks;
static struct CUmemPoolHandle_st default_pools[EMU_DEVICE_COUNT_MAX];
static CUmemoryPool current_pools[EMU_DEVICE_COUNT_MAX];

/* ---- blocks ---- */

static struct block **find_block(uint64_t address)
{
    struct block **at = &blocks;

    while (*at && ((*at)->address != address || (*at)->is_freed))
        at = &(*at)->next;
    return at;
}

static struct block *take_freed(CUmemoryPool pool, CUstream stream, size_t size)
{
    for (struct block *b = blocks; b; b = b->next)
        if (b->is_freed && !b->is_graphs && b->pool == pool && b->stream == stream &&
            b->size == size) {
            b->is_freed = false;
            return b;
        }
    return NULL;
}

static CUresult new_block(struct block **out, CUmemoryPool pool, CUcontext context, size_t size)
{
    struct emu_memory what = {
        .kind = EMU_MEMORY_POOL, .context = context, .device = pool->device, .owner = pool};
    struct block *block = calloc(1, sizeof(*block));
    CUresult result;

    if (!block)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *block = (struct block){.pool = pool, .context = context, .size = size, .next = blocks};
    result = emu_memory_allocate(&block->address, EMU_WINDOW_DEVICE, size, &what);
    if (result) {
        free(block);
        return result;
    }
    blocks = block;
    *out = block;
    return CUDA_SUCCESS;
}

static bool has_blocks(CUmemoryPool pool)
{
    for (struct block *b = blocks; b; b = b->next)
        if (b->pool == pool)
            return true;
    return false;
}

static void free_block(struct block *block)
{
    CUmemoryPool pool = block->pool;

    free(block);
    if (pool->is_destroyed && !has_blocks(pool))
        free(pool);
}

static void release_where(CUcontext context, CUstream stream, CUmemoryPool pool)
{
    pthread_mutex_lock(&lock);
    for (struct block **at = &blocks; *at;) {
        struct block *b = *at;
        if (!b->is_freed || b->is_graphs || (context && b->context != context) ||
            (stream && b->stream != stream) || (pool && b->pool != pool)) {
            at = &b->next;
            continue;
        }
        *at = b->next;
        emu_memory_remove(b->address, 1u << EMU_MEMORY_POOL);
        free_block(b);
    }
    pthread_mutex_unlock(&lock);
}

void emu_pool_release(CUcontext context, CUstream stream)
{
    release_where(context, stream && stream->is_legacy ? NULL : stream, NULL);
}

void emu_context_forget_blocks(CUcontext context)
{
    pthread_mutex_lock(&lock);
    for (struct block **at = &blocks; *at;) {
        struct block *b = *at;
        if (b->context == context) {
            *at = b->next;
            free_block(b);
        } else {
            at = &b->next;
        }
    }
    pthread_mutex_unlock(&lock);
}

void emu_pool_forget(uint64_t address)
{
    pthread_mutex_lock(&lock);
    struct block **at = find_block(address), *block = *at;
    if (block) {
        block->pool->used -= block->size;
        *at = block->next;
        free_block(block);
    }
    pthread_mutex_unlock(&lock);
}

/* ---- the two commands ---- */

struct step {
    uint64_t address;
    size_t size;
    bool is_reuse;  /* old content is there and must go */
    uint32_t stack; /* host stack of the call */
    CUdevice device;
};

static void make_usable(struct emu_memory *memory, void *user)
{
    memory->is_readable = memory->is_writable = true;
    memory->stack = ((const struct step *)user)->stack;
    memory->free_stack = 0;
}

static void make_unusable(struct emu_memory *memory, void *user)
{
    memory->is_readable = memory->is_writable = false;
    memory->free_stack = ((const struct step *)user)->stack;
}

static CUresult begin_run(struct emu_command *command)
{
    struct step *step = (struct step *)(void *)command->payload;

    if (step->is_reuse)
        memset((void *)(uintptr_t)step->address, emu_settings.fill, step->size);
    emu_watch_fresh(step->address, step->size);
    emu_memory_change(step->address, make_usable, step);
    return CUDA_SUCCESS;
}

static CUresult end_run(struct emu_command *command)
{
    struct step *step = (struct step *)(void *)command->payload;

    emu_memory_change(step->address, make_unusable, step);
    return CUDA_SUCCESS;
}

static void begin_describe(struct emu_command *command, CUgraphNodeParams *out)
{
    const struct step *step = (const struct step *)(const void *)command->payload;

    out->alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    out->alloc.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    out->alloc.poolProps.location.id = step->device;
    out->alloc.bytesize = step->size;
    out->alloc.dptr = step->address;
}

static void end_describe(struct emu_command *command, CUgraphNodeParams *out)
{
    const struct step *step = (const struct step *)(const void *)command->payload;

    out->free.dptr = step->address;
}

static CUresult begin_submit(const struct emu_command *command, CUstream stream);
static CUresult end_submit(const struct emu_command *command, CUstream stream);

static const struct emu_command_type begin_type = {.run = begin_run,
                                                   .node = CU_GRAPH_NODE_TYPE_MEM_ALLOC + 1,
                                                   .describe = begin_describe,
                                                   .submit = begin_submit};
static const struct emu_command_type end_type = {.run = end_run,
                                                 .runs_after_error = true,
                                                 .node = CU_GRAPH_NODE_TYPE_MEM_FREE + 1,
                                                 .describe = end_describe,
                                                 .submit = end_submit};

static CUresult send_step(CUstream stream, const struct emu_command_type *type, struct step step)
{
    struct emu_command *command = emu_command_create(type, sizeof(step));

    step.stack = emu_stack_take();

    if (command)
        memcpy(command->payload, &step, sizeof(step));
    return emu_stream_send(stream, command, false);
}

/* ---- allocation ---- */

static CUresult take_block(struct step *out, CUmemoryPool pool, CUstream stream, size_t size)
{
    struct block *block;
    CUresult result = CUDA_SUCCESS;

    pthread_mutex_lock(&lock);
    block = take_freed(pool, stream, size);
    *out = (struct step){.size = size, .is_reuse = block != NULL};
    if (!block)
        result = new_block(&block, pool, stream->context, size);
    if (!result) {
        out->address = block->address;
        pool->used += size;
        if (pool->used > pool->used_high)
            pool->used_high = pool->used;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

static CUresult capture_block(CUdeviceptr *dptr, size_t size, CUdevice device, CUstream stream)
{
    CUDA_MEM_ALLOC_NODE_PARAMS_v2 p = {
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}},
        .bytesize = size};
    struct emu_command *command;
    CUresult result = emu_block_prepare(&command, &p);

    if (!result)
        result = emu_stream_send(stream, command, false);
    if (!result)
        *dptr = p.dptr;
    return result;
}

static CUresult allocate(CUdeviceptr *dptr, size_t size, CUmemoryPool pool, CUstream handle,
                         bool per_thread)
{
    CUstream stream;
    CUresult result = emu_stream_enter(&stream, handle, per_thread);
    struct step step;

    if (result)
        return result;
    if (!dptr || !size || size > emu_settings.memory_size)
        return CUDA_ERROR_INVALID_VALUE;
    size = (size + 511) & ~(size_t)511;
    if (!pool)
        result = cuDeviceGetMemPool(&pool, stream->context->device);
    else if (!emu_object_is(EMU_POOL, pool))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result && emu_stream_is_capturing(stream))
        return capture_block(dptr, size, pool->device, stream);
    if (!result)
        result = take_block(&step, pool, stream, size);
    if (!result)
        result = send_step(stream, &begin_type, step);
    if (!result)
        *dptr = step.address;
    return result;
}

static CUresult release_block(struct step *out, CUstream stream, uint64_t address);

/* ---- nodes of graphs: the address is chosen once, and used by every launch ---- */

static struct block *find_graphs_block(uint64_t address)
{
    struct block *b = blocks;

    while (b && (!b->is_graphs || b->address != address))
        b = b->next;
    return b;
}

static CUresult send_step(CUstream stream, const struct emu_command_type *type, struct step step);

/* The memory is the program's again from here on; what an earlier launch left is gone. */
static CUresult begin_submit(const struct emu_command *command, CUstream stream)
{
    const struct step *step = (const struct step *)(const void *)command->payload;

    pthread_mutex_lock(&lock);
    struct block *block = find_graphs_block(step->address);
    if (block && block->is_freed) {
        block->is_freed = false;
        block->pool->used += block->size;
    }
    pthread_mutex_unlock(&lock);
    return send_step(stream, &begin_type, *step);
}

static CUresult end_submit(const struct emu_command *command, CUstream stream)
{
    const struct step *step = (const struct step *)(const void *)command->payload;
    struct step freed;

    CUresult result = release_block(&freed, stream, step->address);
    return result ? result : send_step(stream, &end_type, *step);
}

CUresult emu_block_prepare(struct emu_command **out, CUDA_MEM_ALLOC_NODE_PARAMS_v2 *p)
{
    size_t size = (p->bytesize + 511) & ~(size_t)511;
    struct block *block;
    CUcontext context;
    CUmemoryPool pool;
    CUresult result = emu_enter(&context);

    if (!result && (!p->bytesize || p->poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
                    p->poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        result = cuDeviceGetDefaultMemPool(&pool, p->poolProps.location.id);
    if (result)
        return result;
    pthread_mutex_lock(&lock);
    result = new_block(&block, pool, context, size);
    if (!result)
        block->is_freed = block->is_graphs = true;
    pthread_mutex_unlock(&lock);
    *out = result ? NULL : emu_command_create(&begin_type, sizeof(struct step));
    if (!*out)
        return result ? result : CUDA_ERROR_OUT_OF_MEMORY;
    *(struct step *)(void *)(*out)->payload =
        (struct step){block->address, size, true, emu_stack_take(), p->poolProps.location.id};
    p->dptr = block->address;
    return CUDA_SUCCESS;
}

CUresult emu_block_free_prepare(struct emu_command **out, CUdeviceptr address)
{
    struct step step = {.address = address};

    pthread_mutex_lock(&lock);
    struct block *block = find_graphs_block(address);
    if (block)
        step.size = block->size;
    pthread_mutex_unlock(&lock);
    if (!block)
        return CUDA_ERROR_INVALID_VALUE;
    *out = emu_command_create(&end_type, sizeof(step));
    if (!*out)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy((*out)->payload, &step, sizeof(step));
    return CUDA_SUCCESS;
}

static CUresult release_block(struct step *out, CUstream stream, uint64_t address)
{
    CUresult result = CUDA_ERROR_INVALID_VALUE;

    pthread_mutex_lock(&lock);
    struct block *block = *find_block(address);
    if (block) {
        block->is_freed = true;
        block->stream = stream;
        block->pool->used -= block->size;
        *out = (struct step){.address = address,
                             .size = block->size,
                             .stack = emu_stack_take(),
                             .device = block->pool->device};
        result = CUDA_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

/* Memory of cuMemAlloc may be freed in a stream, too; it goes at the call's next wait. */
static CUresult release(CUdeviceptr address, CUstream handle, bool per_thread)
{
    CUstream stream;
    CUresult result = emu_stream_enter(&stream, handle, per_thread);
    struct emu_memory memory;
    struct step step;

    if (result || !address)
        return result;
    if (emu_stream_is_capturing(stream)) {
        struct emu_command *command;
        result = emu_block_free_prepare(&command, address);
        return result ? result : emu_stream_send(stream, command, false);
    }
    if (!emu_memory_find(&memory, address) || memory.address != address)
        return CUDA_ERROR_INVALID_VALUE;
    if (memory.kind == EMU_MEMORY_DEVICE)
        return cuMemFree_v2(address);
    result = release_block(&step, stream, address);
    return result ? result : send_step(stream, &end_type, step);
}

CUresult cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    return allocate(dptr, bytesize, NULL, hStream, false);
}

CUresult cuMemAllocAsync_ptsz(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    return allocate(dptr, bytesize, NULL, hStream, true);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
                                 CUstream hStream)
{
    return pool ? allocate(dptr, bytesize, pool, hStream, false) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
                                      CUstream hStream)
{
    return pool ? allocate(dptr, bytesize, pool, hStream, true) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
    return release(dptr, hStream, false);
}

CUresult cuMemFreeAsync_ptsz(CUdeviceptr dptr, CUstream hStream)
{
    return release(dptr, hStream, true);
}

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

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *poolProps)
{
    CUresult result = emu_ready();
    CUmemoryPool made;

    if (result)
        return result;
    if (!pool || !poolProps || poolProps->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if (poolProps->location.type != CU_MEM_LOCATION_TYPE_DEVICE || poolProps->handleTypes)
        return CUDA_ERROR_NOT_SUPPORTED;
    result = emu_enter_device(poolProps->location.id);
    if (result)
        return result;
    made = calloc(1, sizeof(*made));
    if (!made || !emu_object_add(EMU_POOL, made)) {
        free(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->device = poolProps->location.id;
    *pool = made;
    return CUDA_SUCCESS;
}

/* Blocks that are still in use keep the pool alive; its handle is gone at once. */
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
    pool->is_destroyed = true;
    if (!has_blocks(pool))
        free(pool);
    pthread_mutex_unlock(&lock);
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

    if (result)
        return result;
    if (!value || (unsigned)attr < 1 || (unsigned)attr >= ATTRIBUTE_COUNT)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&wanted, value, is_flag(attr) ? sizeof(int) : sizeof(uint64_t));
    pthread_mutex_lock(&lock);
    if (attr == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
        pool->used_high = pool->used;
    pool->settings[attr] = wanted;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
    CUresult result = enter_pool(pool);
    uint64_t answer;

    if (result)
        return result;
    if (!value || (unsigned)attr < 1 || (unsigned)attr >= ATTRIBUTE_COUNT)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    answer = pool->settings[attr];
    if (attr == CU_MEMPOOL_ATTR_USED_MEM_CURRENT || attr == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)
        answer = pool->used;
    if (attr == CU_MEMPOOL_ATTR_USED_MEM_HIGH || attr == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)
        answer = pool->used_high;
    pthread_mutex_unlock(&lock);
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
