/* SPDX-License-Identifier: Apache-2.0
 *
 * Multicast objects: a team of devices, memory of each bound to the same offsets, and one address
 * for all of them, which multimem instructions take (emu/ptx/handlers/multimem.c). Nothing else can
 * be done with that address: the instruction set leaves it undefined, here it ends the launch.
 */
#include "emu/cuda/memory/multicast.h"

#include <pthread.h>
#include <stdlib.h>

#include "emu/cuda/check/written.h"
#include "emu/cuda/core/device.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/memory/memory.h"

/* Memory of one device at an offset. */
struct binding {
    struct binding *next;
    CUdevice device;
    uint64_t offset, size;
    uint8_t *memory; /* where we reach it */
    void *piece;     /* of cuMemCreate; NULL: memory that the program had an address of */
};

/* The object that a handle points to. */
struct emu_multicast {
    struct emu_multicast *next;
    unsigned team_size, team; /* devices that are wanted; a bit each of those that are there */
    uint64_t size;
    unsigned references; /* handles given out, and mappings */
    unsigned handles;
    struct binding *bindings;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct emu_multicast *objects;

/* ---- objects ---- */

static struct emu_multicast *find(CUmemGenericAllocationHandle handle)
{
    struct emu_multicast *m = objects;

    while (m && ((uintptr_t)m != handle || !m->handles))
        m = m->next;
    return m;
}

static bool is_whole(const struct emu_multicast *m)
{
    return (unsigned)__builtin_popcount(m->team) == m->team_size;
}

static void unbind(struct binding *b)
{
    if (b->piece)
        emu_piece_leave(b->piece, b->memory, b->size);
    free(b);
}

/* Returns the object if it is gone now, for destroy(); else NULL. The lock is held. */
static struct emu_multicast *unref(struct emu_multicast *m)
{
    struct emu_multicast **at = &objects;

    if (--m->references)
        return NULL;
    while (*at != m)
        at = &(*at)->next;
    *at = m->next;
    return m;
}

/* Without the lock: physical memory has one of its own. */
static void destroy(struct emu_multicast *m)
{
    while (m && m->bindings) {
        struct binding *b = m->bindings;
        m->bindings = b->next;
        unbind(b);
    }
    free(m);
}

static CUresult check(const CUmulticastObjectProp *p)
{
    int count = 0;

    if (!p || p->numDevices < 1 || p->numDevices > EMU_DEVICE_COUNT_MAX || p->flags || !p->size ||
        p->size % EMU_GRANULARITY)
        return CUDA_ERROR_INVALID_VALUE;
    cuDeviceGetCount(&count);
    if (p->numDevices > (unsigned)count)
        return CUDA_ERROR_INVALID_DEVICE;
    return p->handleTypes ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

CUresult cuMulticastCreate(CUmemGenericAllocationHandle *mcHandle,
                           const CUmulticastObjectProp *prop)
{
    CUresult result = emu_ready();
    struct emu_multicast *m;

    if (!result)
        result = check(prop);
    if (!result && !mcHandle)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    m = calloc(1, sizeof(*m));
    if (!m)
        return CUDA_ERROR_OUT_OF_MEMORY;
    m->team_size = prop->numDevices;
    m->size = prop->size;
    m->references = m->handles = 1;
    pthread_mutex_lock(&lock);
    m->next = objects;
    objects = m;
    pthread_mutex_unlock(&lock);
    *mcHandle = (uintptr_t)m;
    return CUDA_SUCCESS;
}

CUresult cuMulticastAddDevice(CUmemGenericAllocationHandle mcHandle, CUdevice dev)
{
    CUresult result = emu_enter_device(dev);
    struct emu_multicast *m;

    if (result)
        return result;
    pthread_mutex_lock(&lock);
    m = find(mcHandle);
    if (!m || is_whole(m) || m->team & 1u << dev)
        result = CUDA_ERROR_INVALID_VALUE;
    else
        m->team |= 1u << dev;
    pthread_mutex_unlock(&lock);
    return result;
}

CUresult cuMulticastGetGranularity(size_t *granularity, const CUmulticastObjectProp *prop,
                                   CUmulticastGranularity_flags option)
{
    CUresult result = emu_ready();

    if (!result && (!granularity || !prop ||
                    (option != CU_MULTICAST_GRANULARITY_MINIMUM &&
                     option != CU_MULTICAST_GRANULARITY_RECOMMENDED)))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *granularity = EMU_GRANULARITY;
    return result;
}

/* ---- bound memory ---- */

/* Tests whether the device has memory in a part of the range. The lock is held. */
static bool is_taken(const struct emu_multicast *m, CUdevice device, uint64_t offset, uint64_t size)
{
    for (const struct binding *b = m->bindings; b; b = b->next)
        if (b->device == device && b->offset < offset + size && offset < b->offset + b->size)
            return true;
    return false;
}

/* Adds a copy of `what`. The driver would wait for the rest of the team: here nobody could come. */
static CUresult bind(CUmemGenericAllocationHandle handle, const struct binding *what)
{
    struct binding *b = malloc(sizeof(*b));
    struct emu_multicast *m;
    CUresult result = CUDA_SUCCESS;

    if (!b)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    m = find(handle);
    if (!m || !what->size || (what->offset | what->size) % EMU_GRANULARITY ||
        what->offset > m->size || what->size > m->size - what->offset || !is_whole(m) ||
        is_taken(m, what->device, what->offset, what->size))
        result = CUDA_ERROR_INVALID_VALUE;
    else if (!(m->team & 1u << what->device))
        result = CUDA_ERROR_INVALID_DEVICE;
    if (!result) {
        *b = *what;
        b->next = m->bindings;
        m->bindings = b;
    }
    pthread_mutex_unlock(&lock);
    if (result)
        free(b);
    return result;
}

CUresult cuMulticastBindMem(CUmemGenericAllocationHandle mcHandle, size_t mcOffset,
                            CUmemGenericAllocationHandle memHandle, size_t memOffset, size_t size,
                            unsigned long long flags)
{
    struct binding b = {.offset = mcOffset, .size = size};
    CUresult result = emu_ready();

    if (!result && (flags || memOffset % EMU_GRANULARITY || !size))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        b.piece = emu_piece_enter(memHandle, memOffset, size, &b.memory, &b.device);
    if (!result && !b.piece)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        result = bind(mcHandle, &b);
    if (result && b.piece)
        emu_piece_leave(b.piece, b.memory, size);
    return result;
}

CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle mcHandle, size_t mcOffset,
                             CUdeviceptr memptr, size_t size, unsigned long long flags)
{
    struct binding b = {.offset = mcOffset, .size = size, .memory = (uint8_t *)(uintptr_t)memptr};
    CUresult result = emu_ready();
    struct emu_memory memory;

    if (!result &&
        (flags || !emu_memory_find(&memory, memptr) || !emu_memory_covers(memptr, size) ||
         (memory.kind != EMU_MEMORY_DEVICE && memory.kind != EMU_MEMORY_MAPPED)))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    b.device = memory.device;
    return bind(mcHandle, &b);
}

CUresult cuMulticastUnbind(CUmemGenericAllocationHandle mcHandle, CUdevice dev, size_t mcOffset,
                           size_t size)
{
    CUresult result = emu_enter_device(dev);
    struct binding **at, *gone = NULL;
    struct emu_multicast *m;

    if (result)
        return result;
    pthread_mutex_lock(&lock);
    m = find(mcHandle);
    at = m ? &m->bindings : NULL;
    while (at && *at && ((*at)->device != dev || (*at)->offset != mcOffset || (*at)->size != size))
        at = &(*at)->next;
    if (at && *at) {
        gone = *at;
        *at = gone->next;
    }
    pthread_mutex_unlock(&lock);
    if (!gone)
        return CUDA_ERROR_INVALID_VALUE;
    unbind(gone);
    return CUDA_SUCCESS;
}

/* ---- as memory that is mapped ---- */

bool emu_multicast_release(CUmemGenericAllocationHandle handle)
{
    struct emu_multicast *m, *gone = NULL;

    pthread_mutex_lock(&lock);
    m = find(handle);
    if (m) {
        m->handles--;
        gone = unref(m);
    }
    pthread_mutex_unlock(&lock);
    destroy(gone);
    return m != NULL;
}

void *emu_multicast_map(CUmemGenericAllocationHandle handle, uint64_t size)
{
    pthread_mutex_lock(&lock);
    struct emu_multicast *m = find(handle);
    if (m && (!is_whole(m) || size > m->size))
        m = NULL;
    if (m)
        m->references++;
    pthread_mutex_unlock(&lock);
    return m;
}

void emu_multicast_unmap(void *object)
{
    struct emu_multicast *gone;

    pthread_mutex_lock(&lock);
    gone = unref(object);
    pthread_mutex_unlock(&lock);
    destroy(gone);
}

/* The lock is held. */
static uint8_t *replica(const struct emu_multicast *m, unsigned device, uint64_t offset,
                        uint64_t size)
{
    for (const struct binding *b = m->bindings; b; b = b->next)
        if ((unsigned)b->device == device && offset >= b->offset && offset - b->offset <= b->size &&
            size <= b->size - (offset - b->offset))
            return b->memory + (offset - b->offset);
    return NULL;
}

unsigned emu_multicast_find(void *user, uint64_t address, uint64_t size, bool write, uint8_t **out)
{
    struct emu_memory memory;
    unsigned count = 0;
    bool ok;

    (void)user;
    if (!emu_memory_find(&memory, address) || memory.kind != EMU_MEMORY_MULTICAST ||
        size > memory.address + memory.size - address ||
        !(memory.flags & (write ? EMU_MULTICAST_WRITABLE : EMU_MULTICAST_READABLE)))
        return 0;
    ok = true;
    pthread_mutex_lock(&lock);
    const struct emu_multicast *m = memory.owner;
    for (unsigned device = 0; device < EMU_DEVICE_COUNT_MAX && ok; device++) {
        if (!(m->team & 1u << device))
            continue;
        out[count] = replica(m, device, address - memory.address, size);
        ok = out[count++] != NULL;
    }
    pthread_mutex_unlock(&lock);
    for (unsigned i = 0; i < count && ok && write; i++)
        emu_written_all((uintptr_t)out[i], size);
    return ok ? count : 0;
}
