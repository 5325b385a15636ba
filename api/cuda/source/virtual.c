/* SPDX-License-Identifier: Apache-2.0
 *
 * Virtual memory, for checkpoints: the program's physical memory, by its handles while it has any
 * and by where it is mapped otherwise. Programs release a handle as soon as the memory is mapped,
 * and others keep it, unmap the memory and map it again with what it held.
 */
#include "api/cuda/source/source.h"

#include "api/cuda/cuda_hooks.h"
#include "api/cuda/cuda_wrappers.h"
#include "api/cuda/physical_window.h"
#include "api/cuda/source/encode.h"
#include "base/clock.h"
#include "capture/lock.h"

#include <stdatomic.h>
#include <string.h>

#define PHYSICAL_MAX 16384u
#define MAPPING_MAX  65536u

struct physical {
    CUmemGenericAllocationHandle raw; /* 0: the entry is free */
    uint64_t size;
    uint32_t handles; /* how often the program has still to release it */
    uint64_t made;    /* time stamp: a call that began before does not speak of it */
};

struct mapping {
    CUdeviceptr start; /* 0: the entry is free */
    uint64_t size;
    CUmemGenericAllocationHandle raw;
    uint64_t made;
};

static struct tables {
    struct tsm_lock lock;
    bool too_many;
    uint32_t physical_count, mapping_count; /* in use are some of the first */
    struct physical physical[PHYSICAL_MAX];
    struct mapping mappings[MAPPING_MAX];
} * tables;

/* NULL: not wanted. With the lock held. */
static struct tables *open_tables(void)
{
    struct tables *t = __atomic_load_n(&tables, __ATOMIC_ACQUIRE), *made;

    if (!t) {
        if (!tsm_checkpoint_possible() || !(made = cuda_keep(sizeof(*made))))
            return NULL;
        if (__atomic_compare_exchange_n(&tables, &t, made, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
            t = made;
    }
    tsm_lock_take(&t->lock);
    return t;
}

static void close_tables(struct tables *t)
{
    bool told = t->too_many;

    tsm_lock_give(&t->lock);
    if (told)
        tsm_session_unmodelled("more virtual memory than a checkpoint can keep in mind", false);
}

static struct physical *find(struct tables *t, CUmemGenericAllocationHandle raw)
{
    for (uint32_t i = 0; i < t->physical_count; i++)
        if (t->physical[i].raw == raw)
            return &t->physical[i];
    return NULL;
}

static struct physical *add(struct tables *t, CUmemGenericAllocationHandle raw, uint64_t size)
{
    struct physical *p = find(t, 0);

    if (!p && t->physical_count < PHYSICAL_MAX)
        p = &t->physical[t->physical_count++];
    if (p)
        *p = (struct physical){.raw = raw, .size = size, .made = tsm_ticks()};
    t->too_many = t->too_many || !p;
    return p;
}

static bool is_mapped(const struct tables *t, CUmemGenericAllocationHandle raw)
{
    for (uint32_t i = 0; i < t->mapping_count; i++)
        if (t->mappings[i].start && t->mappings[i].raw == raw)
            return true;
    return false;
}

/* Its number may be given out again. */
static void drop_if_gone(struct tables *t, struct physical *p)
{
    if (p && p->handles == 0 && !is_mapped(t, p->raw))
        *p = (struct physical){0};
}

/* Handles of multicast objects, in a ring: of more than that those that were made last. A number
 * may be given out again. */
#define MULTICAST_MAX 256u

static _Atomic(CUmemGenericAllocationHandle) multicasts[MULTICAST_MAX];
static atomic_uint multicast_count;

void cuda_after_multicast(struct tsm_call *call, bool ok,
                          const CUmemGenericAllocationHandle *handle)
{
    if (ok)
        atomic_store(&multicasts[atomic_fetch_add(&multicast_count, 1) % MULTICAST_MAX], *handle);
}

static void forget_multicast(CUmemGenericAllocationHandle handle)
{
    for (unsigned i = 0; i < MULTICAST_MAX; i++) {
        CUmemGenericAllocationHandle there = handle;
        atomic_compare_exchange_strong(&multicasts[i], &there, 0);
    }
}

static bool is_multicast(CUmemGenericAllocationHandle handle)
{
    bool found = false;

    for (unsigned i = 0; i < MULTICAST_MAX && !found; i++)
        found = handle && atomic_load(&multicasts[i]) == handle;
    return found;
}

/* ---- what the program does ---------------------------------------------------------------------
 */

void cuda_after_physical(struct tsm_call *call, bool ok, const CUmemGenericAllocationHandle *handle,
                         uint64_t size)
{
    struct tables *t = ok ? open_tables() : NULL;
    struct physical *p;

    if (ok && atomic_load(&multicast_count))
        forget_multicast(*handle);
    if (!t)
        return;
    p = find(t, *handle);
    if (!p)
        p = add(t, *handle, size);
    if (p)
        *p = (struct physical){*handle, size, 1, tsm_ticks()};
    close_tables(t);
}

void cuda_after_retain(struct tsm_call *call, bool ok, const CUmemGenericAllocationHandle *handle,
                       const void *address)
{
    struct tables *t = ok ? open_tables() : NULL;
    uint64_t at = CUDA_SLOT(address), size = 0;
    struct physical *p;

    if (!t)
        return;
    p = find(t, *handle);
    for (uint32_t i = 0; !p && i < t->mapping_count; i++)
        if (t->mappings[i].start && at - t->mappings[i].start < t->mappings[i].size)
            size = t->mappings[i].size;
    if (!p && size)
        p = add(t, *handle, size);
    if (p)
        p->handles++;
    close_tables(t);
}

void cuda_after_release(struct tsm_call *call, bool ok, CUmemGenericAllocationHandle handle)
{
    struct tables *t = ok ? open_tables() : NULL;
    struct physical *p;

    if (!t)
        return;
    p = find(t, handle);
    if (p && p->made > tsm_call_began(call))
        p = NULL; /* its number was given out again before the call returned */
    if (p && p->handles)
        p->handles--;
    drop_if_gone(t, p);
    close_tables(t);
}

void cuda_after_map(struct tsm_call *call, bool ok, CUdeviceptr start, uint64_t size,
                    CUmemGenericAllocationHandle handle)
{
    struct tables *t;
    uint32_t at = 0;

    if (!ok || is_multicast(handle))
        return;
    cuda_after_alloc(call, true, start, size);
    t = open_tables();
    if (!t)
        return;
    while (at < t->mapping_count && t->mappings[at].start)
        at++;
    if (at < MAPPING_MAX)
        t->mappings[at] = (struct mapping){start, size, handle, tsm_ticks()};
    else
        t->too_many = true;
    if (at == t->mapping_count && at < MAPPING_MAX)
        t->mapping_count++;
    close_tables(t);
}

void cuda_after_unmap(struct tsm_call *call, bool ok, CUdeviceptr start, uint64_t size)
{
    struct tables *t = ok ? open_tables() : NULL;

    if (!t)
        return;
    for (uint32_t i = 0; i < t->mapping_count; i++) {
        struct mapping *m = &t->mappings[i];
        if (!m->start || m->start - start >= size || m->made > tsm_call_began(call))
            continue;
        m->start = 0;
        drop_if_gone(t, find(t, m->raw));
    }
    close_tables(t);
}

void cuda_virtual_forked(void)
{
    __atomic_store_n(&tables, NULL, __ATOMIC_RELEASE);
}

/* ---- saving ------------------------------------------------------------------------------------
 */

static bool read_window(const struct tsm_memory *m, uint64_t offset, void *out, size_t size)
{
    const struct cuda_window *window = m->user;

    return real.cuMemcpyDtoH_v2(out, window->start + offset, size) == CUDA_SUCCESS;
}

struct location {
    int device;
    const struct cuda_context *context;
};

static bool is_elsewhere(void *user, const struct tsm_handle *handle)
{
    struct location *where = user;
    const struct cuda_context *context = __atomic_load_n(&handle->user, __ATOMIC_ACQUIRE);
    CUdevice device = -1;

    if (!cuda_context_enter(context))
        return true;
    real.cuCtxGetDevice(&device);
    cuda_context_leave();
    if (device != where->device)
        return true;
    where->context = context;
    return false;
}

/* A context on the GPU where that memory is; false: there is none. */
static bool enter(CUmemGenericAllocationHandle raw)
{
    CUmemAllocationProp properties = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    struct location where = {0};

    if (real.cuMemGetAllocationPropertiesFromHandle(&properties, raw) != CUDA_SUCCESS ||
        properties.location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return false;
    where.device = properties.location.id;
    tsm_handle_each(SBT_API_CUDA, CUDA_OBJECT_CONTEXT, is_elsewhere, &where);
    return cuda_context_enter(where.context);
}

/* Memory for sparse arrays is saved with these. */
static bool is_tile_pool(CUmemGenericAllocationHandle raw)
{
    CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_INVALID};

    return real.cuMemGetAllocationPropertiesFromHandle(&properties, raw) == CUDA_SUCCESS &&
           properties.allocFlags.usage & CU_MEM_CREATE_USAGE_TILE_POOL;
}

static bool save(CUmemGenericAllocationHandle raw, struct tsm_memory *m)
{
    struct cuda_window window;
    bool saved = true;

    if (is_tile_pool(raw)) {
        if (cuda_tiles_are_left())
            tsm_session_unmodelled("a checkpoint without tiles that no sparse array has mapped",
                                   true);
        return true;
    }
    if (!enter(raw)) {
        tsm_session_unmodelled("a checkpoint without virtual memory of a GPU without a context",
                               true);
        return true;
    }
    if (cuda_window_open(&window, &real, raw, m->size) == CUDA_SUCCESS) {
        m->read = read_window;
        m->user = &window;
        saved = tsm_checkpoint_memory(m);
        cuda_window_close(&window, &real);
    } else {
        tsm_session_unmodelled("a checkpoint without virtual memory that could not be read", true);
    }
    cuda_context_leave();
    return saved;
}

/* By an address: the program has no handle to it. */
static bool save_mapping(const struct mapping *m)
{
    struct tsm_memory memory = {.kind = SBT_MEMORY_DEVICE, .address = m->start, .size = m->size};
    CUmemGenericAllocationHandle raw;
    bool saved;

    if (real.cuMemRetainAllocationHandle(&raw, (void *)(uintptr_t)m->start) != CUDA_SUCCESS) {
        tsm_session_unmodelled("a checkpoint without virtual memory that could not be read", true);
        return true;
    }
    saved = save(raw, &memory);
    real.cuMemRelease(raw);
    return saved;
}

bool cuda_virtual_save(void)
{
    struct tables *t = __atomic_load_n(&tables, __ATOMIC_ACQUIRE);
    bool saved = !t || !t->too_many;

    for (uint32_t i = 0; t && saved && i < t->physical_count; i++) {
        struct tsm_memory memory = {.kind = SBT_MEMORY_PHYSICAL,
                                    .address = t->physical[i].raw,
                                    .size = t->physical[i].size};
        if (t->physical[i].raw && t->physical[i].handles)
            saved = save(t->physical[i].raw, &memory);
    }
    for (uint32_t i = 0; t && saved && i < t->mapping_count; i++) {
        const struct physical *p = t->mappings[i].start ? find(t, t->mappings[i].raw) : NULL;
        if (p && !p->handles)
            saved = save_mapping(&t->mappings[i]);
    }
    return saved;
}

bool cuda_virtual_holds(CUdeviceptr start)
{
    const struct tables *t = __atomic_load_n(&tables, __ATOMIC_ACQUIRE);

    for (uint32_t i = 0; t && i < t->mapping_count; i++)
        if (t->mappings[i].start == start)
            return true;
    return false;
}
