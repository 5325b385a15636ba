/* SPDX-License-Identifier: Apache-2.0
 *
 * Managed memory: written by plain stores, by kernels and by copies in turn, with hints; by a
 * kernel that takes its time, and is still at it when a copy is asked for; and copied row by row,
 * by calls that name it as memory of either kind, and of the host's.
 */
#include "tests/programs/program.h"

enum { COUNT = 5000, MANY = 1 << 18 };

/* Copies half of each row of 64 bytes. */
static uint32_t copy_rows(CUdeviceptr to, CUdeviceptr from, CUmemorytype type)
{
    static uint8_t out[COUNT * 4];
    CUDA_MEMCPY2D rows = {.srcMemoryType = type,
                          .srcHost = type == CU_MEMORYTYPE_HOST ? (void *)(uintptr_t)from : NULL,
                          .srcDevice = type == CU_MEMORYTYPE_HOST ? 0 : from,
                          .srcXInBytes = 16,
                          .srcY = 1,
                          .srcPitch = 64,
                          .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                          .dstDevice = to,
                          .dstPitch = 64,
                          .WidthInBytes = 32,
                          .Height = 100};

    CU(cuMemsetD32_v2(to, 0, COUNT));
    CU(cuMemcpy2D_v2(&rows));
    CU(cuMemcpyDtoH_v2(out, to, sizeof(out)));
    return program_digest(out, sizeof(out));
}

int main(void)
{
    CUcontext context;
    CUmodule module = program_begin(&context);
    CUfunction copy = program_function(module, "copy");
    static unsigned out[COUNT], many[MANY];
    CUdeviceptr in, device;
    uint32_t digest = 0;
    int count = COUNT;

    CU(cuMemAllocManaged(&in, COUNT * 4, CU_MEM_ATTACH_GLOBAL));
    CU(cuMemAlloc_v2(&device, COUNT * 4));
    CU(cuMemAdvise(in, COUNT * 4, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
    unsigned *words = (unsigned *)(uintptr_t)in;
    for (int round = 0; round < 6; round++) {
        for (int i = round; i < COUNT; i += 3)
            words[i] = (unsigned)(i * round + 1);
        CU(cuMemPrefetchAsync(in, COUNT * 4, 0, NULL));
        program_launch(copy, COUNT, NULL, (void *[]){&count, &in, &device});
        CU(cuMemcpyDtoH_v2(out, device, sizeof(out)));
        digest = digest * 31 + program_digest(out, sizeof(out));
    }
    CU(cuMemsetD32_v2(device, 9, COUNT));
    program_launch(copy, COUNT, NULL, (void *[]){&count, &device, &in});
    CU(cuMemcpyDtoH_v2(out, in, sizeof(out)));
    digest = digest * 31 + program_digest(out, sizeof(out));
    for (int i = 0; i < COUNT; i += 5)
        words[i] = (unsigned)i;
    digest = digest * 31 + copy_rows(device, in, CU_MEMORYTYPE_UNIFIED);
    digest = digest * 31 + copy_rows(device, in, CU_MEMORYTYPE_HOST);
    CU(cuMemFree_v2(in));
    CU(cuMemFree_v2(device));
    CU(cuMemAllocManaged(&in, MANY * 4, CU_MEM_ATTACH_GLOBAL));
    CU(cuMemAlloc_v2(&device, MANY * 4));
    CU(cuMemsetD32_v2(device, 7, MANY));
    count = MANY;
    program_launch(copy, MANY, NULL, (void *[]){&count, &device, &in});
    for (int i = 0; i < 10000000 && !*(volatile unsigned *)(uintptr_t)in; i++)
        ;
    CU(cuMemcpyDtoH_v2(many, in, sizeof(many)));
    digest = digest * 31 + program_digest(many, sizeof(many));
    CU(cuMemFree_v2(in));
    CU(cuMemFree_v2(device));
    program_end(module, context);
    printf("managed: %08x\n", digest);
    return 0;
}
