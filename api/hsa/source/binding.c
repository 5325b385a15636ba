/* SPDX-License-Identifier: Apache-2.0
 *
 * The runtime that the program opened: binds its functions.
 */
#include "api/hsa/source/source.h"

#include "api/hsa/hsa_wrappers.h"
#include "base/arena.h"

#include <string.h>

static struct tsm_arena arena;
static _Atomic(void *) library;

void *hsa_keep(size_t size)
{
    return tsm_session_keep(&arena, size);
}

void hsa_bind_library(void *handle)
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
        hsa_bind_library(handle); /* another thread has opened it and is binding */
    return handle != NULL;
}

bool hsa_owns_name(const char *name)
{
    return strncmp(name, "hsa_", 4) == 0;
}
