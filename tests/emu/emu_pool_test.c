/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocation in the order of a stream.
 */
#include "tests/emu/emu_test.h"

/* A wait for the default stream leaves alone what a stream that it has nothing to do with still
 * uses. */
static void test_other_stream(CUstream s)
{
    CUdeviceptr p, flag;
    unsigned out = 0;

    OK(cuMemAlloc_v2(&flag, 4));
    OK(cuMemsetD32_v2(flag, 0, 1));
    OK(cuStreamWaitValue32_v2(s, flag, 1, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuMemAllocAsync(&p, 4096, s));
    OK(cuMemsetD32Async(p, 7, 1024, s));
    OK(cuMemcpyDtoDAsync_v2(flag, p, 4, s));
    OK(cuMemFreeAsync(p, s));
    OK(cuStreamSynchronize(NULL));
    OK(cuStreamWriteValue32_v2(NULL, flag, 1, 0));
    OK(cuStreamSynchronize(s));
    OK(cuMemcpyDtoH_v2(&out, flag, 4));
    CHECK_EQ_INT(out, 7);
    OK(cuMemFree_v2(flag));

    OK(cuMemAllocAsync(&p, 4096, NULL));
    OK(cuMemFreeAsync(p, NULL));
    OK(cuStreamSynchronize(NULL));
    FAILS(cuMemcpyDtoH_v2(&out, p, 4), CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
    CUcontext context = test_context();
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemoryPool pool, found;
    CUdeviceptr p, q;
    CUstream s;
    uint64_t used;
    unsigned out = 1;

    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuMemAllocAsync(&p, 4096, s));
    OK(cuMemsetD32Async(p, 5, 1024, s));
    OK(cuMemcpyDtoHAsync_v2(&out, p + 4092, 4, s));
    CHECK_EQ_INT(out, 5);
    OK(cuMemFreeAsync(p, s));
    FAILS(cuMemFreeAsync(p, s), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAllocAsync(&q, 4096, s)); /* the same block, emptied */
    CHECK_EQ_INT(q, p);
    OK(cuMemcpyDtoHAsync_v2(&out, q, 4, s));
    CHECK_EQ_INT(out, 0);
    OK(cuMemFreeAsync(q, s));
    OK(cuStreamSynchronize(s));
    FAILS(cuMemcpyDtoH_v2(&out, q, 4), CUDA_ERROR_INVALID_VALUE);

    test_other_stream(s);

    OK(cuMemPoolCreate(&pool, &props));
    OK(cuMemAllocFromPoolAsync(&p, 100, pool, s));
    OK(cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p));
    CHECK(found == pool);
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    CHECK_EQ_INT(used, 512);
    OK(cuMemFree_v2(p)); /* as good as a free in a stream */
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    CHECK_EQ_INT(used, 0);
    FAILS(cuMemFreeAsync(p, s), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemPoolDestroy(pool));
    FAILS(cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxDestroy_v2(context));
    return check_result();
}
