/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies that speak of host memory and are given a device's: addresses are of one space, so the driver
 * knows better.
 */
#include "tests/programs/program.h"

enum { COUNT = 4096, SIZE = COUNT * 4 };

int main(void)
{
    CUcontext context;
    CUmodule module = program_begin(&context);
    static uint32_t words[COUNT];
    CUdeviceptr from, to, other;
    CUstream stream;

    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuMemAlloc_v2(&from, SIZE));
    CU(cuMemAlloc_v2(&to, SIZE));
    CU(cuMemAlloc_v2(&other, SIZE));
    CU(cuMemsetD32_v2(from, 0x01020304, COUNT));
    CU(cuMemcpyHtoD_v2(to, (const void *)(uintptr_t)from, SIZE));
    CU(cuMemcpyDtoH_v2((void *)(uintptr_t)other, to, SIZE));
    CU(cuMemcpyDtoH_v2(words, other, SIZE));
    printf("waits: %08x\n", program_digest(words, SIZE));
    CU(cuMemsetD32Async(from, 0x05060708, COUNT, stream));
    CU(cuMemcpyHtoDAsync_v2(to, (const void *)(uintptr_t)from, SIZE, stream));
    CU(cuMemcpyDtoHAsync_v2((void *)(uintptr_t)other, to, SIZE, stream));
    CU(cuMemcpyDtoHAsync_v2(words, other, SIZE, stream));
    CU(cuStreamSynchronize(stream));
    printf("runs: %08x\n", program_digest(words, SIZE));
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = (const void *)(uintptr_t)from,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = to,
                          .WidthInBytes = 64,
                          .Height = 16};
    CU(cuMemsetD32_v2(from, 0x090a0b0c, COUNT));
    CU(cuMemcpy2D_v2(&copy));
    CU(cuMemcpyDtoH_v2(words, to, SIZE));
    printf("box: %08x\n", program_digest(words, SIZE));
    CU(cuMemFree_v2(from));
    CU(cuMemFree_v2(to));
    CU(cuMemFree_v2(other));
    CU(cuStreamDestroy_v2(stream));
    program_end(module, context);
    return 0;
}
