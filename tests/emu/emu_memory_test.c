/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocation: addresses that repeat, limits, and what a pointer is.
 */
#include "tests/emu/emu_test.h"

static void addresses(void)
{
    CUdeviceptr a, b, again, base;
    size_t size, free_before, free_after, total;

    OK(cuMemGetInfo_v2(&free_before, &total));
    OK(cuMemAlloc_v2(&a, 1000));
    OK(cuMemAlloc_v2(&b, 3 << 20));
    CHECK_EQ_INT(a % 512, 0);
    CHECK_EQ_INT(b % (2 << 20), 0);
    OK(cuMemGetInfo_v2(&free_after, &total));
    CHECK_EQ_INT(free_before - free_after, 1000 + (3 << 20));
    OK(cuMemGetAddressRange_v2(&base, &size, a + 999));
    CHECK_EQ_INT(base, a);
    CHECK_EQ_INT(size, 1000);
    FAILS(cuMemGetAddressRange_v2(&base, &size, a + 1000), CUDA_ERROR_NOT_FOUND);
    OK(cuMemFree_v2(a));
    FAILS(cuMemFree_v2(a), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemFree_v2(b + 512), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAlloc_v2(&again, 500));
    CHECK_EQ_INT(again, a);
    OK(cuMemFree_v2(b));
    OK(cuMemFree_v2(again));
    OK(cuMemFree_v2(0));
    FAILS(cuMemAlloc_v2(&a, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemAlloc_v2(&a, total + 1), CUDA_ERROR_OUT_OF_MEMORY);
}

/* Pages that are used again must not show what they held. */
static void fresh(void)
{
    CUdeviceptr p;
    unsigned char byte = 1;

    for (int i = 0; i < 3; i++) {
        OK(cuMemAlloc_v2(&p, 1000));
        OK(cuMemcpyDtoH_v2(&byte, p + 999, 1));
        CHECK_EQ_INT(byte, 0);
        OK(cuMemsetD8_v2(p, 7, 1000));
        OK(cuMemFree_v2(p));
    }
}

static void pointers(void)
{
    CUdeviceptr p, mapped;
    void *host, *own = malloc(100);
    unsigned type = 0, flags;
    CUcontext context, current;
    int ordinal;
    CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *answers[] = {&type, &ordinal};

    OK(cuMemAllocManaged(&p, 100, CU_MEM_ATTACH_GLOBAL));
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p + 50));
    CHECK_EQ_INT(type, CU_MEMORYTYPE_DEVICE);
    OK(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, p));
    OK(cuCtxGetCurrent(&current));
    CHECK(context == current);
    OK(cuMemHostAlloc(&host, 100, CU_MEMHOSTALLOC_PORTABLE));
    OK(cuMemHostGetDevicePointer_v2(&mapped, host, 0));
    CHECK_EQ_INT(mapped, (uintptr_t)host);
    OK(cuMemHostGetFlags(&flags, host));
    CHECK_EQ_INT(flags & CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_PORTABLE);
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, mapped));
    CHECK_EQ_INT(type, CU_MEMORYTYPE_HOST);
    FAILS(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)own),
          CUDA_ERROR_INVALID_VALUE);
    OK(cuPointerGetAttributes(2, wanted, answers, (uintptr_t)own));
    CHECK_EQ_INT(type, 0);
    CHECK_EQ_INT(ordinal, -2);
    OK(cuMemHostRegister_v2(own, 100, 0));
    FAILS(cuMemHostRegister_v2(own, 100, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    OK(cuMemHostUnregister(own));
    FAILS(cuMemHostUnregister(own), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    OK(cuMemFreeHost(host));
    OK(cuMemFree_v2(p));
    free(own);
}

int main(void)
{
    CUcontext context = test_context();

    addresses();
    fresh();
    pointers();
    OK(cuCtxDestroy_v2(context));
    return check_result();
}
