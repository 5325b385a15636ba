/* SPDX-License-Identifier: Apache-2.0
 *
 * Green contexts: parts of a device, their streams and events.
 */
#include "tests/emu/emu_kernels.h"
#include "tests/emu/emu_test.h"

static void check_resources(void)
{
    CUdevResource whole, parts[16], rest;
    CUdevResourceDesc desc;
    unsigned count = 0;

    OK(cuDeviceGetDevResource(0, &whole, CU_DEV_RESOURCE_TYPE_SM));
    CHECK_EQ_INT(whole.sm.smCount, 16);
    CHECK_EQ_INT(whole.sm.minSmPartitionSize, 2); /* of capability 7.5 */
    FAILS(cuDeviceGetDevResource(0, &whole, CU_DEV_RESOURCE_TYPE_INVALID),
          CUDA_ERROR_INVALID_RESOURCE_TYPE);
    FAILS(cuDeviceGetDevResource(9, &whole, CU_DEV_RESOURCE_TYPE_SM), CUDA_ERROR_INVALID_DEVICE);
    OK(cuDevSmResourceSplitByCount(NULL, &count, &whole, NULL, 0, 5));
    CHECK_EQ_INT(count, 2); /* of six */
    count = 16;
    OK(cuDevSmResourceSplitByCount(parts, &count, &whole, &rest, 0, 5));
    CHECK_EQ_INT(count, 2);
    CHECK_EQ_INT(parts[1].sm.smCount, 6);
    CHECK_EQ_INT(rest.sm.smCount, 4);
    FAILS(cuDevSmResourceSplitByCount(parts, &count, &rest, NULL, 0, 2),
          CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    FAILS(cuDevSmResourceSplitByCount(parts, &count, &whole, NULL, 0, 17),
          CUDA_ERROR_INVALID_VALUE);
    parts[1] = whole; /* not of one split */
    FAILS(cuDevResourceGenerateDesc(&desc, parts, 2), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    whole.type = CU_DEV_RESOURCE_TYPE_INVALID;
    FAILS(cuDevResourceGenerateDesc(&desc, &whole, 1), CUDA_ERROR_INVALID_RESOURCE_TYPE);
    FAILS(cuDevResourceGenerateDesc(NULL, parts, 1), CUDA_ERROR_INVALID_VALUE);
}

static CUgreenCtx make(unsigned size)
{
    CUdevResource whole, part, again;
    CUgreenCtx green = NULL;
    CUdevResourceDesc desc;
    unsigned count = 1;

    OK(cuDeviceGetDevResource(0, &whole, CU_DEV_RESOURCE_TYPE_SM));
    OK(cuDevSmResourceSplitByCount(&part, &count, &whole, NULL, 0, size));
    OK(cuDevResourceGenerateDesc(&desc, &part, 1));
    FAILS(cuGreenCtxCreate(&green, desc, 0, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuGreenCtxCreate(&green, NULL, 0, CU_GREEN_CTX_DEFAULT_STREAM), CUDA_ERROR_INVALID_VALUE);
    OK(cuGreenCtxCreate(&green, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    OK(cuGreenCtxGetDevResource(green, &again, CU_DEV_RESOURCE_TYPE_SM));
    CHECK_EQ_INT(again.sm.smCount, size);
    return green;
}

static CUstream stream_of(CUgreenCtx green)
{
    CUgreenCtx again = NULL;
    CUstream stream;

    FAILS(cuGreenCtxStreamCreate(&stream, green, 0, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
    OK(cuStreamGetGreenCtx(stream, &again));
    CHECK(again == green);
    return stream;
}

int main(void)
{
    unsigned long long id_a, id_b;
    CUcontext context, primary;
    CUgreenCtx a, b, none;
    CUstream in_a, in_b, plain;
    CUfunction store;
    CUmodule module;
    CUdeviceptr p;
    CUevent event;
    unsigned value = 3;
    void *params[] = {&p, &value};

    OK(cuInit(0));
    check_resources();
    a = make(4);
    b = make(6);
    OK(cuGreenCtxGetId(a, &id_a));
    OK(cuGreenCtxGetId(b, &id_b));
    CHECK(id_a != id_b);
    OK(cuCtxFromGreenCtx(&context, a));
    OK(cuCtxSetCurrent(context));
    in_a = stream_of(a);
    in_b = stream_of(b);
    OK(cuStreamCreate(&plain, 0));
    OK(cuStreamGetGreenCtx(plain, &none));
    CHECK(!none);

    /* Results in one context are seen by the other, in the order of their event. */
    OK(cuEventCreate(&event, 0));
    OK(cuModuleLoadData(&module, PTX_HEAD PTX_STORE));
    OK(cuModuleGetFunction(&store, module, "store"));
    OK(cuMemAlloc_v2(&p, 8));
    OK(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, in_a, params, NULL));
    OK(cuGreenCtxRecordEvent(a, event));
    OK(cuGreenCtxWaitEvent(b, event));
    OK(cuMemcpyDtoDAsync_v2(p + 4, p, 4, in_b));
    OK(cuStreamSynchronize(in_b));
    value = 0;
    OK(cuMemcpyDtoH_v2(&value, p + 4, 4));
    CHECK_EQ_INT(value, 3);

    OK(cuStreamDestroy_v2(in_a));
    OK(cuGreenCtxDestroy(b));
    FAILS(cuGreenCtxDestroy(b), CUDA_ERROR_INVALID_CONTEXT);
    FAILS(cuStreamSynchronize(in_b), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    FAILS(cuStreamDestroy_v2(in_b), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    FAILS(cuCtxFromGreenCtx(&context, b), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuDevicePrimaryCtxRetain(&primary, 0));
    CHECK(primary == context);
    OK(cuGreenCtxDestroy(a));
    OK(cuDevicePrimaryCtxRelease_v2(0));
    return check_result();
}
