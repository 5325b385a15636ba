/* SPDX-License-Identifier: Apache-2.0
 *
 * Every export that nothing here implements. Each is weak: the linker prefers an implementation.
 * They are counted, and named with TS_LOG=info: at the first call of each, and with their counts at
 * the end of the process.
 */
#include "emu/cuda/core/emu.h"

#include <stdatomic.h>

#include "base/log.h"

#define CALL_COUNT 1024

static atomic_uint counts[CALL_COUNT]; /* by the id of the call */

static CUresult unsupported(unsigned id, const char *name)
{
    if (id < CALL_COUNT && atomic_fetch_add(&counts[id], 1) == 0)
        tsm_log(TSM_LOG_INFO, "%s is not supported", name);
    return emu_refuse(CUDA_ERROR_NOT_SUPPORTED);
}

/* clang-format off */
#define TSM_CUDA_CALL(id, name, parameters, arguments)                                             \
    __attribute__((weak)) CUresult name parameters { return unsupported(id, #name); }
#include "api/cuda/cuda_calls.inc"
#undef TSM_CUDA_CALL

static const char *const names[CALL_COUNT] = {
#define TSM_CUDA_CALL(id, name, parameters, arguments) [id] = #name,
#include "api/cuda/cuda_calls.inc"
#undef TSM_CUDA_CALL
};
/* clang-format on */

__attribute__((destructor)) static void report_counts(void)
{
    for (unsigned i = 0; i < CALL_COUNT; i++) {
        unsigned count = atomic_load(&counts[i]);
        if (count)
            tsm_log(TSM_LOG_INFO, "%s: %u calls were not supported", names[i], count);
    }
}
