/* SPDX-License-Identifier: Apache-2.0
 *
 * Managed memory, its hints and its attributes; batches of copies; attributes of streams.
 */
#include <string.h>

#include "tests/emu/emu_test.h"

static int get(CUdeviceptr p, CUmem_range_attribute attribute)
{
    int value = -99;

    OK(cuMemRangeGetAttribute(&value, sizeof(value), attribute, p, 16));
    return value;
}

static void hints(void)
{
    CUmemLocation here = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    CUstream stream;
    CUdeviceptr p, plain;
    int by[3] = {5, 5, 5};
    size_t index = 0, size = 16;

    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAllocManaged(&p, 16, CU_MEM_ATTACH_GLOBAL));
    FAILS(cuMemAllocManaged(&plain, 16, 7), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAlloc_v2(&plain, 16));
    memset((void *)(uintptr_t)p, 1, 16); /* the host uses it as it is */
    CHECK_EQ_INT(get(p, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 0);
    CHECK_EQ_INT(get(p, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), CU_DEVICE_INVALID);
    OK(cuMemAdvise(p, 16, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
    OK(cuMemAdvise(p, 16, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_DEVICE_CPU));
    OK(cuMemAdvise_v2(p, 16, CU_MEM_ADVISE_SET_ACCESSED_BY, here));
    OK(cuMemPrefetchAsync(p, 16, 0, stream));
    CHECK_EQ_INT(get(p, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 1);
    CHECK_EQ_INT(get(p, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), CU_DEVICE_CPU);
    CHECK_EQ_INT(get(p, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION), 0);
    OK(cuMemRangeGetAttribute(by, sizeof(by), CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, p, 16));
    CHECK(by[0] == 0 && by[1] == CU_DEVICE_INVALID && by[2] == CU_DEVICE_INVALID);
    OK(cuMemPrefetchBatchAsync(&p, &size, 1, &here, &index, 1, 0, stream));
    FAILS(cuMemAdvise(plain, 16, CU_MEM_ADVISE_SET_READ_MOSTLY, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemAdvise(p, 17, CU_MEM_ADVISE_SET_READ_MOSTLY, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemAdvise(p, 16, CU_MEM_ADVISE_SET_ACCESSED_BY, 3), CUDA_ERROR_INVALID_DEVICE);
    FAILS(cuMemRangeGetAttribute(by, 3, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, 16),
          CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamAttachMemAsync(stream, p, 0, CU_MEM_ATTACH_SINGLE));
    FAILS(cuStreamAttachMemAsync(stream, plain, 0, CU_MEM_ATTACH_SINGLE), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuStreamAttachMemAsync(NULL, p, 0, CU_MEM_ATTACH_SINGLE), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree_v2(p));
    OK(cuMemFree_v2(plain));
    OK(cuStreamDestroy_v2(stream));
}

static void batches(void)
{
    CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    CUdeviceptr p, to[2], from[2];
    unsigned in[2] = {3, 4}, out[2] = {0, 0};
    size_t sizes[2] = {4, 4}, index = 0, failed = 0;
    CUstream stream;

    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc_v2(&p, 8));
    to[0] = p, to[1] = p + 4;
    from[0] = (uintptr_t)&in[1], from[1] = (uintptr_t)&in[0];
    OK(cuMemcpyBatchAsync(to, from, sizes, 2, &attributes, &index, 1, &failed, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH_v2(out, p, 8));
    CHECK(out[0] == 4 && out[1] == 3);
    sizes[1] = 8; /* over the end */
    FAILS(cuMemcpyBatchAsync(to, from, sizes, 2, &attributes, &index, 1, &failed, stream),
          CUDA_ERROR_INVALID_VALUE);
    CHECK_EQ_INT(failed, 1);
    FAILS(cuMemcpyBatchAsync_v2(to, from, sizes, 2, &attributes, &index, 1, NULL),
          CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree_v2(p));
    OK(cuStreamDestroy_v2(stream));
}

static void stream_attributes(void)
{
    CUstreamAttrValue value = {.syncPolicy = CU_SYNC_POLICY_SPIN}, got;
    CUstream a, b;

    OK(cuStreamCreate(&a, 0));
    OK(cuStreamCreate(&b, 0));
    OK(cuStreamSetAttribute(a, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
    OK(cuStreamCopyAttributes(b, a));
    OK(cuStreamGetAttribute(b, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &got));
    CHECK_EQ_INT(got.syncPolicy, CU_SYNC_POLICY_SPIN);
    FAILS(cuStreamGetAttribute(b, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &got), CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
}

static void core_dumps(void)
{
    bool on = true, got = false;
    size_t size = sizeof(on);

    OK(cuCoredumpSetAttributeGlobal(CU_COREDUMP_ENABLE_ON_EXCEPTION, &on, &size));
    OK(cuCoredumpGetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &got, &size));
    CHECK_EQ_INT(got, true);
    size = 3;
    FAILS(cuCoredumpSetAttributeGlobal(CU_COREDUMP_ENABLE_ON_EXCEPTION, &on, &size),
          CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
    CUcontext context = test_context();

    hints();
    batches();
    stream_attributes();
    core_dumps();
    OK(cuCtxDestroy_v2(context));
    return check_result();
}
