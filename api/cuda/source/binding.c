/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver that the program opened: binds its functions and maps their addresses to wrappers.
 */
#include "api/cuda/source/source.h"

#include "base/arena.h"
#include "api/cuda/cuda_hooks.h"
#include "api/cuda/cuda_wrappers.h"
#include "api/cuda/source/emu_times.h"

#define SOURCE_INDEX 0u /* in tsm_sources */

static struct tsm_arena arena;
static struct tsm_address_map addresses;
static _Atomic(void *) library;

void *cuda_keep(size_t size)
{
    return tsm_session_keep(&arena, size);
}

void cuda_bind_library(void *handle)
{
    tsm_exports_bind(&cuda_exports, handle);
    for (size_t i = 0; i < cuda_exports.count; i++)
        if (tsm_real_symbol(handle, cuda_exports.rows[i].name))
            tsm_address_map_add(&addresses, &cuda_exports.rows[i]);
    cuda_emu_times_found(tsm_real_symbol(handle, TSM_EMU_TIMES_SYMBOL));
    atomic_store(&library, handle);
}

bool cuda_bind(void)
{
    void *handle = tsm_real_library(SOURCE_INDEX, NULL);

    if (handle && !atomic_load(&library))
        cuda_bind_library(handle); /* another thread has opened it and is binding */
    return handle != NULL;
}

bool cuda_driver_has(const char *name)
{
    void *handle = atomic_load(&library);

    return handle && tsm_real_symbol(handle, name);
}

bool cuda_owns_name(const char *name)
{
    return name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z';
}

/* A driver that is not bound to itself gives out our own functions. */
static bool is_wrapper(const void *address)
{
    for (size_t i = 0; i < cuda_exports.count; i++)
        if (cuda_exports.rows[i].wrapper == address)
            return true;
    return false;
}

void *cuda_wrapper_of(const char *symbol, void *address, bool per_thread)
{
    const struct tsm_export *row =
        tsm_address_map_find(&addresses, address, symbol, "_pt", per_thread);

    if (row)
        return row->wrapper;
    return cuda_owns_name(symbol) && !is_wrapper(address) ? tsm_unwrapped(symbol, address)
                                                          : address;
}
