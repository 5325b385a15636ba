/* SPDX-License-Identifier: Apache-2.0
 *
 * Every export of the real library that nothing here implements: weak, so that the linker prefers
 * an implementation. Each says so at its first call.
 */
#include "emu/hsa/runtime.h"

#include <stdatomic.h>

#include "base/log.h"

#define CALL_COUNT 1024u

static atomic_bool said[CALL_COUNT]; /* by the id of the call */

static void unsupported(unsigned id, const char *name)
{
    if (id < CALL_COUNT && !atomic_exchange(&said[id], true))
        tsm_log(TSM_LOG_WARN, "%s is not supported by the software GPU", name);
}

/* clang-format off */
#define TSM_HSA_CALL(id, name, type, parameters, value)                                            \
    __attribute__((weak, visibility("default"))) type name parameters                              \
    {                                                                                              \
        unsupported(id, #name);                                                                    \
        return value;                                                                              \
    }
#include "api/hsa/hsa_calls.inc"
#undef TSM_HSA_CALL
/* clang-format on */

/* Debuggers look for it. */
__attribute__((visibility("default"))) extern uint64_t _amdgpu_r_debug[5];
uint64_t _amdgpu_r_debug[5];
