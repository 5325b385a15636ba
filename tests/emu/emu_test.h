/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared parts of the tests of the software GPU. Each is a driver-API program of its own.
 */
#ifndef TESTS_EMU_EMU_TEST_H
#define TESTS_EMU_EMU_TEST_H

#include <stdint.h>
#include <stdlib.h>

#include "api/cuda/cuda_prototypes.h"
#include "tests/unit/check.h"

#define OK(call)         CHECK_EQ_INT(call, CUDA_SUCCESS)
#define FAILS(call, why) CHECK_EQ_INT(call, why)

/* Initialise, and make a context of the first device current. */
static inline CUcontext test_context(void)
{
    CUcontext context = NULL;

    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    return context;
}

#endif
