/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread's stack of contexts, primary contexts, and what a destroyed context leaves.
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

/* An address says whose it is: memory can be freed when no context is current, or another one. */
static void free_without_context(void)
{
    CUcontext context;
    CUdeviceptr device, managed, pooled;
    void *host;

    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuMemAlloc_v2(&device, 100));
    OK(cuMemAllocManaged(&managed, 100, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemAllocAsync(&pooled, 100, NULL));
    OK(cuMemAllocHost_v2(&host, 100));
    OK(cuMemsetD8Async(device, 1, 100, NULL));
    OK(cuCtxSetCurrent(NULL));
    FAILS(cuMemFree_v2(0), CUDA_ERROR_INVALID_CONTEXT);
    FAILS(cuMemFree_v2(device + 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree_v2(device));
    FAILS(cuMemFree_v2(device), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree_v2(managed));
    OK(cuMemFree_v2(pooled));
    OK(cuMemFreeHost(host));
    FAILS(cuMemAlloc_v2(&device, 100), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxDestroy_v2(context));
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
    free_without_context();
    primary();
    limits();
    return check_result();
}
