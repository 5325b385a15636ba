/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/memory/pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "emu/cuda/check/host_stack.h"
#include "emu/cuda/check/written.h"
#include "emu/cuda/core/context.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/core/object.h"
#include "emu/cuda/graph/capture.h"
#include "emu/cuda/graph/graph.h"
#include "emu/cuda/memory/memory.h"
#include "emu/cuda/stream/accesses.h"
#include "emu/cuda/stream/schedule.h"
#include "emu/cuda/stream/stream.h"

/* Lists of blocks: in use; freed, and free to be used again; of graphs' nodes, freed or not. */
enum block_list { LIST_USED, LIST_FREED, LIST_GRAPHS, LIST_COUNT };

/* An allocation from a pool. */
struct block {
    CUmemoryPool pool;
    CUcontext context;
    uint64_t address;
    size_t size;
    bool is_freed;
    bool is_graphs;  /* its address belongs to a node: kept until the context goes */
    bool is_joined;  /* the legacy stream waits for the one where it was freed */
    CUstream stream; /* where it was freed; only compared, may be gone */
    enum block_list list;
    struct block *next, *before; /* in that list */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *lists[LIST_COUNT]; /* the one that came last first */
static struct tsm_map addresses;        /* of all blocks -> block */

/* ---- blocks ---- */

static void link_block(struct block *block, enum block_list list)
{
    block->list = list;
    block->before = NULL;
    block->next = lists[list];
    if (block->next)
        block->next->before = block;
    lists[list] = block;
}

static void unlink_block(struct block *block)
{
    if (block->next)
        block->next->before = block->before;
    if (block->before)
        block->before->next = block->next;
    else
        lists[block->list] = block->next;
}

/* Notes that it is freed, or in use. One of a graph stays among those. */
static void set_freed(struct block *block, bool is_freed)
{
    block->is_freed = is_freed;
    if (block->is_graphs)
        return;
    unlink_block(block);
    link_block(block, is_freed ? LIST_FREED : LIST_USED);
}

static struct block *block_at(uint64_t address)
{
    return (struct block *)(uintptr_t)tsm_map_get(&addresses, address, 0);
}

/* Returns the block that is in use there, or NULL. */
static struct block *find_block(uint64_t address)
{
    struct block *block = block_at(address);

    return block && !block->is_freed ? block : NULL;
}

static struct block *take_freed(CUmemoryPool pool, CUstream stream, size_t size)
{
    for (struct block *b = lists[LIST_FREED]; b; b = b->next)
        if (b->pool == pool && b->stream == stream && b->size == size) {
            set_freed(b, false);
            return b;
        }
    return NULL;
}

static CUresult new_block(struct block **out, CUmemoryPool pool, CUcontext context, size_t size,
                          bool is_graphs)
{
    struct emu_memory what = {
        .kind = EMU_MEMORY_POOL, .context = context, .device = pool->device, .owner = pool};
    struct block *block = calloc(1, sizeof(*block));
    CUresult result;

    if (!block)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *block = (struct block){.pool = pool,
                            .context = context,
                            .size = size,
                            .is_freed = is_graphs,
                            .is_graphs = is_graphs};
    result = emu_memory_allocate(&block->address, EMU_WINDOW_DEVICE, size, &what);
    if (!result && !tsm_map_set(&addresses, block->address, (uintptr_t)block)) {
        emu_memory_remove(block->address, 1u << EMU_MEMORY_POOL);
        result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (result) {
        free(block);
        return result;
    }
    link_block(block, is_graphs ? LIST_GRAPHS : LIST_USED);
    pool->block_count++;
    *out = block;
    return CUDA_SUCCESS;
}

/* Its memory is another's business. */
static void free_block(struct block *block)
{
    CUmemoryPool pool = block->pool;

    unlink_block(block);
    tsm_map_remove(&addresses, block->address);
    free(block);
    if (!--pool->block_count && pool->is_destroyed)
        free(pool);
}

/* Tests whether a wait for a stream (NULL: for all) comes behind all that uses a freed block. */
static bool is_over(const struct block *block, CUstream stream)
{
    return !stream || block->stream == stream || (stream->is_legacy && block->is_joined);
}

static void release_where(CUcontext context, CUstream stream, CUmemoryPool pool)
{
    struct block *next;

    pthread_mutex_lock(&lock);
    for (struct block *b = lists[LIST_FREED]; b; b = next) {
        next = b->next;
        if ((context && b->context != context) || !is_over(b, stream) || (pool && b->pool != pool))
            continue;
        emu_memory_remove(b->address, 1u << EMU_MEMORY_POOL);
        free_block(b);
    }
    pthread_mutex_unlock(&lock);
}

void emu_pool_release(CUcontext context, CUstream stream)
{
    release_where(context, stream, NULL);
}

void emu_context_forget_blocks(CUcontext context)
{
    struct block *next;

    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < LIST_COUNT; i++)
        for (struct block *b = lists[i]; b; b = next) {
            next = b->next;
            if (b->context == context)
                free_block(b);
        }
    pthread_mutex_unlock(&lock);
}

void emu_pool_retire(CUmemoryPool pool)
{
    pthread_mutex_lock(&lock);
    pool->is_destroyed = true;
    if (!pool->block_count)
        free(pool);
    pthread_mutex_unlock(&lock);
}

void emu_pool_measure(CUmemoryPool pool, size_t *used, size_t *high, bool reset)
{
    pthread_mutex_lock(&lock);
    if (reset)
        pool->used_high = pool->used;
    *used = pool->used;
    *high = pool->used_high;
    pthread_mutex_unlock(&lock);
}

/* One of the two commands: memory begins to be the program's, or ends. */
struct step {
    uint64_t address;
    size_t size;
    bool is_reuse;  /* old content is there and must go */
    uint32_t stack; /* host stack of the call */
    CUdevice device;
};

static void make_unusable(struct emu_memory *memory, void *user);

CUresult emu_pool_free(uint64_t address, bool *stays)
{
    struct step step = {.address = address, .stack = emu_stack_take()};
    CUresult result = CUDA_SUCCESS;

    *stays = false;
    pthread_mutex_lock(&lock);
    struct block *block = block_at(address);
    if (block && block->is_freed && block->is_graphs)
        result = CUDA_ERROR_INVALID_VALUE;
    else if (block && !block->is_freed) {
        block->pool->used -= block->size;
        *stays = block->is_graphs;
        if (*stays)
            set_freed(block, true);
        else
            free_block(block);
    }
    pthread_mutex_unlock(&lock);
    if (*stays)
        emu_memory_change(address, make_unusable, &step);
    return result;
}

/* ---- the two commands ---- */

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
    emu_written_none(step->address, step->size);
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
                                                   .accesses = emu_accesses_none,
                                                   .node = CU_GRAPH_NODE_TYPE_MEM_ALLOC + 1,
                                                   .describe = begin_describe,
                                                   .submit = begin_submit};
static const struct emu_command_type end_type = {.run = end_run,
                                                 .accesses = emu_accesses_none,
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
    if (!block && pool->size_max && pool->used + size > pool->size_max)
        result = CUDA_ERROR_OUT_OF_MEMORY;
    else if (!block)
        result = new_block(&block, pool, stream->context, size, false);
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
    else if (!emu_object_is(EMU_POOL, pool) || pool->is_imported)
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
    struct block *block = block_at(address);

    return block && block->is_graphs ? block : NULL;
}

static CUresult send_step(CUstream stream, const struct emu_command_type *type, struct step step);

/* Bytes of the device's graphs, by CUgraphMem_attribute: in use, and of all nodes; after each the
 * most that it was. */
#define GRAPH_SIZES (CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH + 1)
static uint64_t graph_sizes[EMU_DEVICE_COUNT_MAX][GRAPH_SIZES];

static void measure_graphs(CUdevice device)
{
    uint64_t *sizes = graph_sizes[device];
    uint64_t used = 0, all = 0;

    for (struct block *b = lists[LIST_GRAPHS]; b; b = b->next)
        if (b->pool->device == device) {
            all += b->size;
            used += b->is_freed ? 0 : b->size;
        }
    sizes[CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT] = used;
    sizes[CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT] = all;
    for (unsigned i = 0; i < GRAPH_SIZES; i += 2)
        if (sizes[i + 1] < sizes[i])
            sizes[i + 1] = sizes[i];
}

static CUresult enter_attribute(CUdevice device, CUgraphMem_attribute attr, const void *value)
{
    CUresult result = emu_enter_device(device);

    return !result && ((unsigned)attr >= GRAPH_SIZES || !value) ? CUDA_ERROR_INVALID_VALUE : result;
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void *value)
{
    CUresult result = enter_attribute(device, attr, value);

    if (result)
        return result;
    pthread_mutex_lock(&lock);
    measure_graphs(device);
    memcpy(value, &graph_sizes[device][attr], sizeof(uint64_t));
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

/* The highs can be set to 0, from where they grow again. */
CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void *value)
{
    CUresult result = enter_attribute(device, attr, value);
    uint64_t wanted = 1;

    if (!result)
        memcpy(&wanted, value, sizeof(wanted));
    if (!result && (wanted || attr % 2 == 0))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    pthread_mutex_lock(&lock);
    graph_sizes[device][attr] = 0;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

/* It goes with its context. */
CUresult cuDeviceGraphMemTrim(CUdevice device)
{
    return emu_enter_device(device);
}

/* The memory is the program's again from here on; what an earlier launch left is gone. */
static CUresult begin_submit(const struct emu_command *command, CUstream stream)
{
    const struct step *step = (const struct step *)(const void *)command->payload;

    pthread_mutex_lock(&lock);
    struct block *block = find_graphs_block(step->address);
    if (block && block->is_freed) {
        set_freed(block, false);
        block->pool->used += block->size;
        measure_graphs(block->pool->device);
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
    result = new_block(&block, pool, context, size, true);
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
    struct block *block = find_block(address);
    if (block) {
        set_freed(block, true);
        block->is_joined = emu_stream_is_blocking(stream);
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
    if (memory.kind == EMU_MEMORY_DEVICE || memory.kind == EMU_MEMORY_IMPORTED)
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
    return pool ? allocate(dptr, bytesize, pool, hStream, false)
                : emu_refuse(CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
                                      CUstream hStream)
{
    return pool ? allocate(dptr, bytesize, pool, hStream, true)
                : emu_refuse(CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
    return release(dptr, hStream, false);
}

CUresult cuMemFreeAsync_ptsz(CUdeviceptr dptr, CUstream hStream)
{
    return release(dptr, hStream, true);
}
