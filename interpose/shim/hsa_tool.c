/* SPDX-License-Identifier: Apache-2.0
 *
 * Library that ROCr 5 loads because HSA_TOOLS_LIB names it: it hands the tables on as ROCr 6 does
 * by itself. A library of its own, because OnLoad is a name that programs have, too.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* libts_capture.so */
extern int rocprofiler_set_api_table(const char *name, uint64_t version, uint64_t instance,
                                     void **tables, uint64_t count);

EXPORT bool OnLoad(void *table, uint64_t runtime_version, uint64_t failed_tool_count,
                   const char *const *failed_tool_names);
EXPORT void OnUnload(void);

static bool names(const char *variable, const char *library)
{
    const char *list = getenv(variable);

    return list && strstr(list, library);
}

/* A child process inherits the variable that brings us; one from which LD_PRELOAD was taken is not
 * meant to be recorded. */
bool OnLoad(void *table, uint64_t runtime_version, uint64_t failed_tool_count,
            const char *const *failed_tool_names)
{
    if (names("LD_PRELOAD", "libts_capture.so") || names("LD_AUDIT", "libts_audit.so"))
        rocprofiler_set_api_table("hsa", runtime_version, 0, &table, 1);
    return true;
}

void OnUnload(void)
{
    rocprofiler_set_api_table("hsa", 0, 0, 0, 0);
}
