/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory in the order of streams: from the default pool and from one of the program's own, freed
 * while kernels that use it are still to run, and addresses that come again.
 */
#include "tests/programs/program.h"

enum { COUNT = 3000, ROUNDS = 12 };

int main(void)
{
    CUcontext context;
    CUmodule module = program_begin(&context);
    CUfunction copy = program_function(module, "copy");
    static unsigned in[COUNT], out[COUNT];
    CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
    uint64_t keep = UINT64_MAX, used = 0;
    uint32_t digest = 0;
    CUmemoryPool pool, standard;
    CUstream stream;
    int count = COUNT;

    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuDeviceGetDefaultMemPool(&standard, 0));
    CU(cuMemPoolSetAttribute(standard, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
    CU(cuMemPoolCreate(&pool, &properties));
    for (int round = 0; round < ROUNDS; round++) {
        CUdeviceptr from, to;
        for (int i = 0; i < COUNT; i++)
            in[i] = (unsigned)(i * (round + 1));
        CU(cuMemAllocAsync(&from, sizeof(in), stream));
        CU(cuMemAllocFromPoolAsync(&to, sizeof(in), pool, stream));
        CU(cuMemcpyHtoDAsync_v2(from, in, sizeof(in), stream));
        program_launch(copy, COUNT, stream, (void *[]){&count, &from, &to});
        CU(cuMemFreeAsync(from, stream));
        CU(cuMemcpyDtoHAsync_v2(out, to, sizeof(out), stream));
        CU(cuMemFreeAsync(to, stream));
        if (round % 3 == 2)
            CU(cuStreamSynchronize(stream));
        else
            CU(cuCtxSynchronize());
        digest = digest * 31 + program_digest(out, sizeof(out));
    }
    CU(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    CU(cuMemPoolTrimTo(pool, 0));
    CU(cuMemPoolDestroy(pool));
    CU(cuStreamDestroy_v2(stream));
    program_end(module, context);
    printf("pools: %08x, %llu bytes left\n", digest, (unsigned long long)used);
    return 0;
}
