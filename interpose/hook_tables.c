/* SPDX-License-Identifier: Apache-2.0
 *
 * How AMD's runtimes offer tables of their functions since ROCm 6: their registration looks for
 * rocprofiler_configure, and where it is gives each table to rocprofiler_set_api_table. AMD's own
 * profiler has functions of the same names: it hears of the tables behind us.
 */
#include "api/api.h"
#include "capture/capture.h"
#include "interpose/real_library.h"

#include <dlfcn.h>
#include <errno.h>

typedef int (*set_api_table)(const char *name, uint64_t version, uint64_t instance, void **tables,
                             uint64_t count);

TSM_EXPORT void *rocprofiler_configure(uint32_t version, const char *runtime_version,
                                       uint32_t priority, void *client);
TSM_EXPORT int rocprofiler_set_api_table(const char *name, uint64_t version, uint64_t instance,
                                         void **tables, uint64_t count);

/* To AMD's profiler: no tool of its kind is here. */
void *rocprofiler_configure(uint32_t version, const char *runtime_version, uint32_t priority,
                            void *client)
{
    return NULL;
}

/* Without tables: shim/hsa_tool.c says that they are taken back. */
int rocprofiler_set_api_table(const char *name, uint64_t version, uint64_t instance, void **tables,
                              uint64_t count)
{
    set_api_table next = (set_api_table)tsm_real_symbol(RTLD_NEXT, "rocprofiler_set_api_table");
    int saved_errno = errno;

    for (unsigned i = 0; name && i < TSM_SOURCE_MAX && tsm_sources[i]; i++)
        if (tsm_sources[i]->tables && tsm_sources[i]->tables(name, tables, count))
            break;
    errno = saved_errno;
    return next && count ? next(name, version, instance, tables, count) : 0;
}
