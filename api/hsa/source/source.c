/* SPDX-License-Identifier: Apache-2.0 */
#include "api/hsa/source/source.h"

#include "api/hsa/hsa_wrappers.h"
#include "api/hsa/source/encode.h"
#include "base/arena.h"

#include <string.h>

static struct tsm_arena arena;
static _Atomic(void *) library;

void *hsa_keep(size_t size)
{
    return tsm_session_keep(&arena, size);
}

static void bind_library(void *handle)
{
    tsm_exports_bind(&hsa_exports, handle);
    atomic_store(&library, handle);
}

bool hsa_is_loaded(void)
{
    return tsm_real_library_loaded(tsm_source_index(&hsa_source));
}

bool hsa_bind(void)
{
    void *handle;

    /* One that is seen by its tables alone: another one must not be opened beside it. */
    if (hsa_has_tables && !atomic_load(&library) && !hsa_is_loaded())
        return false;
    handle = tsm_real_library(tsm_source_index(&hsa_source), NULL);

    if (handle && !atomic_load(&library))
        bind_library(handle); /* another thread has opened it and is binding */
    return handle != NULL;
}

static bool owns_name(const char *name)
{
    return strncmp(name, "hsa_", 4) == 0;
}

static void forked(void)
{
    hsa_queues_forked();
    hsa_intercept_forked();
    hsa_signals_forked();
    hsa_counts_forked();
    hsa_pointers_forked();
    hsa_copies_forked();
    hsa_memory_forked();
    hsa_locks_forked();
    hsa_virtual_forked();
    hsa_gpu_time_forget();
}

static void end(void)
{
    hsa_gpu_time_collect();
    hsa_memory_ending();
}

static const char *const sonames[] = {"libhsa-runtime64.so.1", "libhsa-runtime64.so", NULL};

const struct tsm_source hsa_source = {
    .description = &hsa_description,
    .sonames = sonames,
    .exports = &hsa_exports,
    .owns_name = owns_name,
    .bind = bind_library,
    .forked = forked,
    .quiet = hsa_checkpoint_quiet,
    .save = hsa_checkpoint_save,
    .unseen = end,
    .opening = hsa_opening,
    .tables = hsa_tables,
};
