/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cuda/source/source.h"

#include "api/cuda/source/encode.h"
#include "base/arena.h"
#include "api/cuda/cuda_hooks.h"
#include "api/cuda/cuda_wrappers.h"

#include <string.h>

#define SOURCE_INDEX 0u /* in tsm_sources */

static struct tsm_arena arena;
static struct tsm_address_map addresses;
static _Atomic(void *) library;

void *cuda_keep(size_t size)
{
    return tsm_session_keep(&arena, size);
}

static void bind_library(void *handle)
{
    tsm_exports_bind(&cuda_exports, handle);
    for (size_t i = 0; i < cuda_exports.count; i++)
        if (tsm_real_symbol(handle, cuda_exports.rows[i].name))
            tsm_address_map_add(&addresses, &cuda_exports.rows[i]);
    atomic_store(&library, handle);
}

bool cuda_bind(void)
{
    void *handle = tsm_real_library(SOURCE_INDEX, NULL);

    if (handle && !atomic_load(&library))
        bind_library(handle); /* another thread has opened it and is binding */
    return handle != NULL;
}

bool cuda_driver_has(const char *name)
{
    void *handle = atomic_load(&library);

    return handle && tsm_real_symbol(handle, name);
}

/* cuInit, but not cudnnCreate or cublasCreate. */
static bool owns_name(const char *name)
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
    return owns_name(symbol) && !is_wrapper(address) ? tsm_unwrapped(symbol, address) : address;
}

static void forked(void)
{
    cuda_streams_forked();
    cuda_captures_forked();
    cuda_functions_forked();
    cuda_checksum_forked();
    cuda_checkpoint_forked();
    cuda_virtual_forked();
    cuda_values_forked();
    cuda_describe_again();
}

static const char *const sonames[] = {"libcuda.so.1", "libcuda.so", NULL};

const struct tsm_source cuda_source = {
    .description = &cuda_description,
    .sonames = sonames,
    .exports = &cuda_exports,
    .owns_name = owns_name,
    .bind = bind_library,
    .describe = cuda_describe,
    .quiet = cuda_checkpoint_quiet,
    .save = cuda_checkpoint_save,
    .is_complete = cuda_stream_is_complete,
    .forked = forked,
};
