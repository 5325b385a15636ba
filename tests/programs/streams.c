/* SPDX-License-Identifier: Apache-2.0
 *
 * streams COUNT: that many streams alive at once, each of which computes on its own and takes over
 * what the one before has computed.
 */
#include "tests/programs/program.h"

enum { WIDTH = 4 };

int main(int argc, char **argv)
{
    const unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
    CUstream *streams = calloc(count, sizeof(*streams));
    uint32_t *values = calloc(count, WIDTH * 4);
    CUcontext context;
    CUmodule module = program_begin(&context);
    CUfunction mix = program_function(module, "mix");
    CUdeviceptr memory;
    CUevent event;

    CU(cuMemAlloc_v2(&memory, (size_t)count * WIDTH * 4));
    CU(cuMemsetD32_v2(memory, 3, (size_t)count * WIDTH));
    CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CU(cuCtxSynchronize());
    for (unsigned i = 0; i < count; i++)
        CU(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < count; i++) {
        CUdeviceptr own = memory + (CUdeviceptr)i * WIDTH * 4;
        int width = WIDTH, rounds = (int)(i % 7);
        if (i)
            CU(cuStreamWaitEvent(streams[i], event, 0));
        if (i)
            CU(cuMemcpyDtoDAsync_v2(own, own - (CUdeviceptr)WIDTH * 4, 4, streams[i]));
        CU(cuLaunchKernel(mix, 1, 1, 1, WIDTH, 1, 1, 0, streams[i],
                          (void *[]){&width, &rounds, &own}, NULL));
        CU(cuEventRecord(event, streams[i]));
    }
    CU(cuCtxSynchronize());
    CU(cuMemcpyDtoH_v2(values, memory, (size_t)count * WIDTH * 4));
    for (unsigned i = 0; i < count; i++)
        CU(cuStreamDestroy_v2(streams[i]));
    CU(cuEventDestroy_v2(event));
    CU(cuMemFree_v2(memory));
    program_end(module, context);
    printf("streams %u: %08x\n", count, program_digest(values, (size_t)count * WIDTH * 4));
    free(values);
    free(streams);
    return 0;
}
