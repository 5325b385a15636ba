/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread's stack of contexts, primary contexts, and what a destroyed context leaves behind.
 */
#include "tests/emu/emu_test.h"

static void stack(void)
{
    CUcontext first = test_context(), second, current;
    CUdevice device;
    unsigned version;

    OK(cuCtxCreate_v4(&second, NULL, 0, 0));
    OK(cuCtxGetCurrent(&current));
    CHECK(current == second);
    OK(cuCtxPopCurrent_v2(&current));
    CHECK(current == second);
    OK(cuCtxGetCurrent(&current));
    CHECK(current == first);
    OK(cuCtxPushCurrent_v2(second));
    OK(cuCtxGetApiVersion(NULL, &version));
    OK(cuCtxDestroy_v2(first));
    OK(cuCtxDestroy_v2(second));
    /* The first one is still on the stack, and is gone. */
    FAILS(cuCtxGetDevice(&device), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    OK(cuCtxPopCurrent_v2(NULL));
    FAILS(cuCtxGetDevice(&device), CUDA_ERROR_INVALID_CONTEXT);
    FAILS(cuCtxPopCurrent_v2(NULL), CUDA_ERROR_INVALID_CONTEXT);
    FAILS(cuCtxSetCurrent(first), CUDA_ERROR_INVALID_CONTEXT);
}

static void primary(void)
{
    CUcontext context, again;
    CUdeviceptr p;
    unsigned flags;
    int active;

    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK_EQ_INT(active, 0);
    OK(cuDevicePrimaryCtxSetFlags_v2(0, CU_CTX_SCHED_BLOCKING_SYNC));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuDevicePrimaryCtxRetain(&again, 0));
    CHECK(context == again);
    OK(cuCtxSetCurrent(context));
    OK(cuCtxGetFlags(&flags));
    CHECK_EQ_INT(flags, CU_CTX_SCHED_BLOCKING_SYNC);
    FAILS(cuCtxDestroy_v2(context), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuMemAlloc_v2(&p, 100));
    OK(cuDevicePrimaryCtxReset_v2(0));
    FAILS(cuMemFree_v2(p), CUDA_ERROR_INVALID_VALUE);
    OK(cuDevicePrimaryCtxRelease_v2(0));
    OK(cuDevicePrimaryCtxRelease_v2(0));
    FAILS(cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK_EQ_INT(active, 0);
}

static void limits(void)
{
    CUcontext context = test_context();
    size_t value;

    OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
    OK(cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
    CHECK_EQ_INT(value, 4096);
    FAILS(cuCtxSetLimit(99, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxDestroy_v2(context));
}

int main(void)
{
    stack();
    primary();
    limits();
    return check_result();
}
