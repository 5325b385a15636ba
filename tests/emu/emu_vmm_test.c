/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory at addresses that the program asks for.
 */
#include "tests/emu/emu_test.h"

#define MIB2 (2ull << 20)

static const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                         .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
static const CUmemAccessDesc rights = {.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                       .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

/* New memory does not show what was there before. */
static void test_new_memory(CUdeviceptr wish)
{
    CUmemGenericAllocationHandle a;
    CUdeviceptr p;
    unsigned out = 1;

    OK(cuMemAddressReserve(&p, MIB2, 0, wish, 0));
    OK(cuMemCreate(&a, MIB2, &prop, 0));
    OK(cuMemMap(p, MIB2, 0, a, 0));
    OK(cuMemSetAccess(p, MIB2, &rights, 1));
    OK(cuMemcpyDtoH_v2(&out, p, 4));
    CHECK_EQ_INT(out, 0);
}

/* A reservation that begins before the place where memory of the host usually begins: when it has
 * gone, all of its place is free. */
static void test_across(void)
{
    void *first, *second, *third;
    CUdeviceptr p;

    OK(cuMemAllocHost_v2(&first, 4096));
    OK(cuMemFreeHost(first));
    OK(cuMemAddressReserve(&p, 64 * MIB2, 0, ((uintptr_t)first & ~(MIB2 - 1)) - MIB2, 0));
    OK(cuMemAllocHost_v2(&second, 4096));
    OK(cuMemAddressFree(p, 64 * MIB2));
    OK(cuMemAllocHost_v2(&third, 4096));
    CHECK_EQ_INT((uintptr_t)third, (uintptr_t)first);
    OK(cuMemFreeHost(second));
    OK(cuMemFreeHost(third));
}

int main(void)
{
    CUcontext context = test_context();
    CUmemGenericAllocationHandle a, b, retained;
    CUdeviceptr p, q, taken, wish;
    unsigned long long flags;
    size_t granularity;
    unsigned out = 0;

    OK(cuMemGetAllocationGranularity(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CHECK_EQ_INT(granularity, MIB2);
    OK(cuMemAddressReserve(&wish, 4 * MIB2, 0, 0, 0));
    OK(cuMemAddressFree(wish, 4 * MIB2));
    wish += 32 * MIB2;
    OK(cuMemAddressReserve(&p, 4 * MIB2, 0, wish, 0));
    CHECK_EQ_INT(p, wish);
    OK(cuMemAddressReserve(&taken, 4 * MIB2, 0, wish + MIB2, 0)); /* somewhere else */
    CHECK(taken != wish + MIB2);
    OK(cuMemCreate(&a, MIB2, &prop, 0));
    OK(cuMemCreate(&b, 2 * MIB2, &prop, 0));
    FAILS(cuMemCreate(&b, 1000, &prop, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemMap(p, MIB2, 0, a, 0));
    OK(cuMemMap(p + MIB2, 2 * MIB2, 0, b, 0));
    FAILS(cuMemMap(p, MIB2, 0, a, 0), CUDA_ERROR_ALREADY_MAPPED);
    FAILS(cuMemMap(p + 4 * MIB2, MIB2, 0, a, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemSetAccess(p, 3 * MIB2, &rights, 1));
    OK(cuMemGetAccess(&flags, &prop.location, p + MIB2));
    CHECK_EQ_INT(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cuMemsetD32_v2(p, 0xabcd, 3 * MIB2 / 4)); /* across the two */
    FAILS(cuMemsetD32_v2(p, 0, 4 * MIB2 / 4), CUDA_ERROR_INVALID_VALUE);

    /* The same memory at a second place. */
    OK(cuMemAddressReserve(&q, MIB2, 0, 0, 0));
    OK(cuMemMap(q, MIB2, 0, a, 0));
    OK(cuMemSetAccess(q, MIB2, &rights, 1));
    OK(cuMemcpyDtoH_v2(&out, q + MIB2 - 4, 4));
    CHECK_EQ_INT(out, 0xabcd);

    /* Its content outlives its handle and a mapping. */
    OK(cuMemRelease(a));
    OK(cuMemUnmap(p, MIB2));
    OK(cuMemRetainAllocationHandle(&retained, (void *)(uintptr_t)q));
    CHECK_EQ_INT(retained, a);
    OK(cuMemUnmap(q, MIB2));
    OK(cuMemMap(p, MIB2, 0, retained, 0));
    OK(cuMemSetAccess(p, MIB2, &rights, 1));
    out = 0;
    OK(cuMemcpyDtoH_v2(&out, p, 4));
    CHECK_EQ_INT(out, 0xabcd);

    FAILS(cuMemAddressFree(p, 4 * MIB2), CUDA_ERROR_INVALID_VALUE); /* still mapped */
    OK(cuMemUnmap(p, 3 * MIB2));
    FAILS(cuMemUnmap(p, MIB2), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemRelease(retained));
    OK(cuMemRelease(b));
    FAILS(cuMemRelease(b), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAddressFree(p, 4 * MIB2));
    OK(cuMemAddressFree(q, MIB2));
    OK(cuMemAddressFree(taken, 4 * MIB2));

    test_new_memory(wish);
    test_across();
    OK(cuCtxDestroy_v2(context));
    return check_result();
}
