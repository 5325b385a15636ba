/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that are a call of the driver API by another name.
 */
#include "emu/cudart/cudart.h"

/* clang-format off */
#define CALL(name, parameters)
#define FORWARD(name, driver, parameters, arguments)                                               \
    cudaError_t name parameters                                                                    \
    {                                                                                              \
        return CUDART_DRIVER(driver arguments);                                                    \
    }
#include "emu/cudart/calls.inc"
/* clang-format on */
