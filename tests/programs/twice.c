/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph that copies twice to one place of the program's memory: twice grow|shrink|rows, the
 * second time more, less, or all after rows of it.
 */
#include "tests/programs/program.h"

enum { SIZE = 4096, COUNT = SIZE / 4, PITCH = 256, ROWS = SIZE / PITCH };

static CUdeviceptr filled(CUfunction fill, uint32_t value)
{
    uint32_t count = COUNT;
    CUdeviceptr memory;

    CU(cuMemAlloc_v2(&memory, SIZE));
    program_launch(fill, COUNT, NULL, (void *[]){&count, &value, &memory});
    return memory;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "grow";
    CUcontext context;
    CUmodule module = program_begin(&context);
    CUfunction fill = program_function(module, "fill");
    const CUdeviceptr first = filled(fill, 5), second = filled(fill, 5000);
    CUDA_MEMCPY2D rows = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = first,
                          .srcPitch = PITCH,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstPitch = PITCH,
                          .WidthInBytes = PITCH / 2 - 1,
                          .Height = ROWS};
    CUgraphExec exec;
    CUgraph graph;
    CUstream stream;

    CU(cuMemHostAlloc(&rows.dstHost, SIZE, 0));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuCtxSynchronize());
    CU(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    if (!strcmp(way, "rows"))
        CU(cuMemcpy2DAsync_v2(&rows, stream));
    else
        CU(cuMemcpyDtoHAsync_v2(rows.dstHost, first, !strcmp(way, "grow") ? SIZE / 2 : SIZE,
                                stream));
    CU(cuMemcpyDtoHAsync_v2(rows.dstHost, second, !strcmp(way, "shrink") ? SIZE / 2 : SIZE,
                            stream));
    CU(cuStreamEndCapture(stream, &graph));
    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 2; i++) {
        CU(cuGraphLaunch(exec, stream));
        CU(cuStreamSynchronize(stream));
    }
    printf("twice %s: %08x\n", way, program_digest(rows.dstHost, SIZE));
    program_end(module, context);
    return 0;
}
