/* SPDX-License-Identifier: Apache-2.0
 *
 * Library that NVTX loads because NVTX_INJECTION64_PATH names it: it hands what NVTX offers to
 * libts_capture.so. It does not need that library: a child process inherits the variable, also one
 * from which LD_PRELOAD was taken, and is not to have it loaded.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

typedef const void *(*get_export_table)(uint32_t number);

EXPORT int InitializeInjectionNvtx2(get_export_table get);

/* Returns 0 where there is no tool: NVTX unloads us then, and its calls do nothing. */
int InitializeInjectionNvtx2(get_export_table get)
{
    void *capture = dlopen("libts_capture.so", RTLD_LAZY | RTLD_NOLOAD);
    int (*attach)(get_export_table) =
        capture ? (int (*)(get_export_table))dlsym(capture, "ts_nvtx_attach") : NULL;

    return attach ? attach(get) : 0;
}
