/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of functions that a copy of NVTX hands to a tool. Facts: NVIDIA's nvtx3/nvtxDetail/
 * nvtxTypes.h. A later version may have more tables and functions; they stay as they are.
 */
#include "api/nvtx/source/source.h"

#include "base/log.h"

#include <errno.h>

enum { EXPORT_CALLBACKS = 1 };
enum { MODULE_CORE = 1, MODULE_CORE2 = 5 };

typedef void (*function)(void);

struct callbacks {
    size_t size;
    int (*get_table)(int module, function ***table, unsigned *size);
};

typedef const void *(*get_export_table)(uint32_t number);

TSM_EXPORT int ts_nvtx_attach(get_export_table get);

/* Returns how many functions are ours now. */
static unsigned take(const struct callbacks *callbacks, int module, const function *ours,
                     uint32_t count)
{
    function **table = NULL;
    unsigned size = 0, taken = 0;

    if (!callbacks->get_table(module, &table, &size) || !table)
        return 0;
    for (uint32_t i = 0; i < count && i < size; i++)
        if (ours[i] && table[i]) {
            __atomic_store_n(table[i], ours[i], __ATOMIC_RELEASE);
            taken++;
        }
    return taken;
}

/* From interpose/shim/nvtx_tool.c. Returns 1, or 0: there is no tool. */
int ts_nvtx_attach(get_export_table get)
{
    int saved_errno = errno;
    const struct callbacks *callbacks = nvtx_is_wanted() && get ? get(EXPORT_CALLBACKS) : NULL;
    unsigned taken = 0;

    if (callbacks && callbacks->size >= sizeof(*callbacks) && callbacks->get_table) {
        taken = take(callbacks, MODULE_CORE, nvtx_core, nvtx_core_count);
        taken += take(callbacks, MODULE_CORE2, nvtx_core2, nvtx_core2_count);
        tsm_log(TSM_LOG_INFO, "%u functions of NVTX", taken);
    }
    errno = saved_errno;
    return taken > 0;
}
