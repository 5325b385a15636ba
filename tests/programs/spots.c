/* SPDX-License-Identifier: Apache-2.0
 *
 * spots MIB WAITS [read|graph]: MIB MiB in one allocation and 16 bytes in another one; WAITS times
 * both begin with another value, and the program waits. It reads nothing back, or the small one in
 * the end; or a graph has a kernel fill the small one in the end.
 */
#include "tests/programs/program.h"

enum { SMALL = 16 };

static void fill_by_graph(CUmodule module, CUdeviceptr small)
{
    int count = SMALL / 4, first = 100;
    CUgraphExec exec;
    CUstream stream;
    CUgraph graph;

    CU(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    CU(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    program_launch(program_function(module, "fill"), SMALL / 4, stream,
                   (void *[]){&count, &first, &small});
    CU(cuStreamEndCapture(stream, &graph));
    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CU(cuGraphLaunch(exec, stream));
    CU(cuStreamSynchronize(stream));
    CU(cuGraphExecDestroy(exec));
    CU(cuGraphDestroy(graph));
    CU(cuStreamDestroy_v2(stream));
}

int main(int argc, char **argv)
{
    const size_t size = (size_t)atoi(argv[1]) << 20;
    const int waits = atoi(argv[2]);
    CUcontext context;
    CUmodule module = program_begin(&context);
    CUdeviceptr large, small;
    uint32_t result[SMALL / 4] = {0};

    CU(cuMemAlloc_v2(&large, size));
    CU(cuMemAlloc_v2(&small, SMALL));
    CU(cuMemsetD8_v2(small, 0, SMALL));
    for (int i = 0; i < waits; i++) {
        CU(cuMemsetD32Async(large + (size - 4), (unsigned)i + 1, 1, NULL));
        CU(cuMemsetD32Async(small, (unsigned)i + 1, 1, NULL));
        CU(cuCtxSynchronize());
    }
    if (argc > 3 && strcmp(argv[3], "graph") == 0)
        fill_by_graph(module, small);
    else if (argc > 3)
        CU(cuMemcpyDtoH_v2(result, small, SMALL));
    printf("spots: %u\n", result[0]);
    CU(cuMemFree_v2(small));
    CU(cuMemFree_v2(large));
    program_end(module, context);
    return 0;
}
