/* SPDX-License-Identifier: Apache-2.0
 *
 * Every export that nothing here implements. Each is weak: the linker prefers an implementation.
 * Each is named once with TS_LOG=info.
 */
#include "emu/cudart/cudart.h"

#include <stdatomic.h>

#include "base/log.h"

static cudaError_t refuse(atomic_flag *is_named, const char *name)
{
    if (!atomic_flag_test_and_set(is_named))
        tsm_log(TSM_LOG_INFO, "%s is not supported", name);
    return cudart_fail(cudaErrorNotSupported);
}

/* clang-format off */
#define FORWARD(name, driver, parameters, arguments)
#define REFUSE(name, parameters)                                                                   \
    __attribute__((weak)) cudaError_t name parameters                                              \
    {                                                                                              \
        static atomic_flag is_named = ATOMIC_FLAG_INIT;                                            \
        return refuse(&is_named, #name);                                                           \
    }
#define CALL(name, parameters) REFUSE(name, parameters)
#include "emu/cudart/calls.inc"

/* Exports of NVIDIA's library about which nothing public says what they take. */
#define PRIVATE(name)                                                                              \
    __attribute__((weak, visibility("default"))) cudaError_t name(void);                           \
    REFUSE(name, (void))
PRIVATE(__cudaGetProcAddress)
PRIVATE(__cudaRegisterHostVar)
PRIVATE(__cudaRegisterUnifiedTable)
/* clang-format on */
