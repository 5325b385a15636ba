/* SPDX-License-Identifier: Apache-2.0
 *
 * Managed variables of modules and libraries: the host writes them by itself from when the program
 * has asked for their address, so that they are tracked like managed memory.
 */
#include "api/cuda/source/source.h"

#include "api/cuda/cuda_hooks.h"
#include "api/cuda/cuda_wrappers.h"
#include "api/cuda/source/encode.h"
#include "capture/lock.h"

#define VARIABLE_MAX 1024u /* no more ranges are tracked */

struct variables {
    struct tsm_lock lock;
    uint32_t count;
    CUdeviceptr starts[VARIABLE_MAX];
};

static struct variables *variables;

static struct variables *current(void)
{
    return __atomic_load_n(&variables, __ATOMIC_ACQUIRE);
}

/* NULL: no memory. */
static struct variables *make(void)
{
    struct variables *there = current(), *made = there ? NULL : cuda_keep(sizeof(*made));

    if (!made)
        return there;
    return __atomic_compare_exchange_n(&variables, &there, made, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE)
               ? made
               : there;
}

static bool is_managed(CUdeviceptr start)
{
    unsigned value = 0; /* the driver writes one byte, or four */

    return start &&
           real.cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_IS_MANAGED, start) ==
               CUDA_SUCCESS &&
           value;
}

static void add(struct variables *v, CUdeviceptr start)
{
    bool is_full;

    tsm_lock_take(&v->lock);
    is_full = v->count == VARIABLE_MAX;
    if (!is_full) {
        __atomic_store_n(&v->starts[v->count], start, __ATOMIC_RELAXED);
        __atomic_store_n(&v->count, v->count + 1, __ATOMIC_RELEASE);
    }
    tsm_lock_give(&v->lock);
    if (is_full)
        tsm_session_unmodelled("more than 1024 managed variables", true);
}

/* Returns the size. */
static uint64_t track(CUdeviceptr start, size_t size)
{
    struct variables *v = make();

    if (v && !tsm_hostmem_is_tracked(start)) {
        tsm_hostmem_track(start, size);
        add(v, start);
    }
    return size;
}

uint64_t cuda_module_managed(CUdeviceptr start, CUmodule module, const char *name)
{
    CUdeviceptr again;
    size_t size = 0;

    return is_managed(start) &&
                   real.cuModuleGetGlobal_v2(&again, &size, module, name) == CUDA_SUCCESS
               ? track(start, size)
               : 0;
}

uint64_t cuda_library_managed(CUdeviceptr start, CUlibrary library, const char *name)
{
    CUdeviceptr again;
    size_t size = 0;

    return is_managed(start) &&
                   real.cuLibraryGetManaged(&again, &size, library, name) == CUDA_SUCCESS
               ? track(start, size)
               : 0;
}

void cuda_managed_may_write(struct tsm_call *call)
{
    const struct variables *v = current();
    const uint32_t count = v ? __atomic_load_n(&v->count, __ATOMIC_ACQUIRE) : 0;

    for (uint32_t i = 0; i < count; i++) {
        const CUdeviceptr start = __atomic_load_n(&v->starts[i], __ATOMIC_RELAXED);
        tsm_device_may_write(call, &start, sizeof(start));
    }
}

/* A variable may have come since, at the same place, or another have taken its place in the list.
 */
static void remove_at(struct variables *v, uint32_t at, CUdeviceptr start)
{
    bool found;

    tsm_lock_take(&v->lock);
    found = at < v->count && v->starts[at] == start;
    if (found) {
        __atomic_store_n(&v->starts[at], v->starts[v->count - 1], __ATOMIC_RELAXED);
        __atomic_store_n(&v->count, v->count - 1, __ATOMIC_RELEASE);
    }
    tsm_lock_give(&v->lock);
    if (found)
        tsm_hostmem_untrack(start);
}

void cuda_managed_sweep(void)
{
    struct variables *v = current();

    for (uint32_t i = v ? __atomic_load_n(&v->count, __ATOMIC_ACQUIRE) : 0; i-- > 0;) {
        CUdeviceptr start = __atomic_load_n(&v->starts[i], __ATOMIC_RELAXED);
        if (!is_managed(start))
            remove_at(v, i, start);
    }
}

void cuda_after_unload(struct tsm_call *call, bool ok, const void *code)
{
    if (ok)
        cuda_managed_sweep();
}
