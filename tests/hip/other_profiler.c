/* SPDX-License-Identifier: Apache-2.0
 *
 * Another tool that takes HIP's table, as AMD's profiler does: it counts two functions and passes
 * nothing on to the next of its kind. What it counted is told at the end.
 */
#include "api/hip/hip_prototypes.h"
#include "interpose/interpose.h"

#include <stdio.h>
#include <string.h>

#include "api/hip/hip_tables.inc"

#define EXPORTED __attribute__((visibility("default")))
EXPORTED void *rocprofiler_configure(uint32_t version, const char *runtime_version,
                                     uint32_t priority, void *client);
EXPORTED int rocprofiler_set_api_table(const char *name, uint64_t version, uint64_t instance,
                                       void **tables, uint64_t count);

static __typeof__(&hipMalloc) next_malloc;
static __typeof__(&hipFree) next_free;
static unsigned mallocs, frees;

static hipError_t count_malloc(void **ptr, size_t size)
{
    mallocs++;
    return next_malloc(ptr, size);
}

static hipError_t count_free(void *ptr)
{
    frees++;
    return next_free(ptr);
}

void *rocprofiler_configure(uint32_t version, const char *runtime_version, uint32_t priority,
                            void *client)
{
    return NULL;
}

/* A table begins with its size. */
int rocprofiler_set_api_table(const char *name, uint64_t version, uint64_t instance, void **tables,
                              uint64_t count)
{
    void **functions = (void **)tables[0] + 1;

    for (size_t i = 0; strcmp(name, "hip") == 0 && i < table_hip.count; i++) {
        if (strcmp(table_hip.names[i], "hipMalloc") == 0) {
            next_malloc = (__typeof__(next_malloc))functions[i];
            functions[i] = (void *)count_malloc;
        } else if (strcmp(table_hip.names[i], "hipFree") == 0) {
            next_free = (__typeof__(next_free))functions[i];
            functions[i] = (void *)count_free;
        }
    }
    return 0;
}

__attribute__((destructor)) static void tell(void)
{
    fprintf(stderr, "profiler: %u %u\n", mallocs, frees);
}
