/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that the driver refuses because what they are given is no object any more: they change nothing.
 */
#include "tests/programs/program.h"

enum { COUNT = 1024, SIZE = COUNT * 4 };

static int refused;

static void must_fail(CUresult result)
{
    if (result == CUDA_SUCCESS)
        exit(1);
    refused++;
}

int main(void)
{
    CUcontext context;
    CUmodule module = program_begin(&context), gone_module = program_begin(&context);
    static uint32_t words[COUNT];
    CUdeviceptr memory;
    CUstream stream;
    CUevent event;
    CUgraph graph;

    CU(cuMemAlloc_v2(&memory, SIZE));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CU(cuGraphCreate(&graph, 0));
    CU(cuGraphDestroy(graph));
    CU(cuEventDestroy_v2(event));
    CU(cuStreamDestroy_v2(stream));
    CU(cuModuleUnload(gone_module));
    must_fail(cuGraphDestroy(graph));
    must_fail(cuEventDestroy_v2(event));
    must_fail(cuStreamDestroy_v2(stream));
    must_fail(cuModuleUnload(gone_module));
    must_fail(cuEventRecord(event, NULL));
    must_fail(cuEventSynchronize(event));
    must_fail(cuStreamWaitEvent(NULL, event, 0));
    must_fail(cuStreamSynchronize(stream));
    must_fail(cuMemsetD32Async(memory, 1, COUNT, stream));
    must_fail(cuMemcpyDtoHAsync_v2(words, memory, SIZE, stream));
    must_fail(cuLaunchHostFunc(stream, NULL, NULL));
    CU(cuMemsetD32_v2(memory, 7, COUNT));
    CU(cuMemcpyDtoH_v2(words, memory, SIZE));
    CU(cuMemFree_v2(memory));
    program_end(module, context);
    printf("refused: %d, %08x\n", refused, program_digest(words, SIZE));
    return 0;
}
