/* SPDX-License-Identifier: Apache-2.0
 *
 * Work on two streams between events, copies that wait, a loop that polls, a graph: prints the
 * times between the events and how often it asked. In virtual time (TS_EMU_TIME) that is the same
 * in each run.
 */
#include "tests/programs/program.h"

#define COUNT 4096

static CUevent events[6];
static CUfunction mix;
static CUdeviceptr memory, memory_two; /* of the second stream */

static void launch(CUstream stream, int rounds, CUdeviceptr at)
{
    int width = COUNT;

    program_launch(mix, COUNT, stream, (void *[]){&width, &rounds, &at});
}

static void record(unsigned event, CUstream stream)
{
    CU(cuEventRecord(events[event], stream));
}

static void print(unsigned from, unsigned to)
{
    float ms;

    CU(cuEventElapsedTime(&ms, events[from], events[to]));
    printf("%u to %u: %.6f ms\n", from, to, (double)ms);
}

static CUgraphExec make_graph(CUstream stream)
{
    CUgraphExec exec;
    CUgraph graph;

    CU(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    launch(stream, 3, memory);
    CU(cuMemsetD32Async(memory, 5, COUNT / 2, stream));
    launch(stream, 2, memory);
    CU(cuStreamEndCapture(stream, &graph));
    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CU(cuGraphDestroy(graph));
    return exec;
}

static unsigned poll_stream(CUstream stream)
{
    unsigned asked = 0;

    while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY)
        asked++;
    return asked;
}

/* Each copy and launch waits for what is before it; pageable memory makes the copies wait. */
static void work(CUstream one, CUstream two, uint32_t *bytes, CUgraphExec exec)
{
    launch(one, 5, memory);
    record(0, one);
    launch(one, 4, memory);
    record(1, one);
    CU(cuMemcpyHtoDAsync_v2(memory_two, bytes, COUNT * 4, two));
    CU(cuStreamWaitEvent(two, events[1], 0));
    launch(two, 1, memory_two);
    record(2, two);
    CU(cuMemcpyDtoH_v2(bytes, memory, COUNT * 4));
    CU(cuMemcpyHtoD_v2(memory, bytes, COUNT * 4));
    record(3, one);
    CU(cuGraphLaunch(exec, one));
    record(4, one);
    printf("asked %u times\n", poll_stream(one));
    CU(cuMemsetD8Async(memory, 1, COUNT, NULL));
    CU(cuMemcpyDtoHAsync_v2(bytes, memory_two, 64, two));
    record(5, NULL);
    CU(cuCtxSynchronize());
}

int main(void)
{
    static uint32_t bytes[COUNT];
    CUcontext context;
    CUmodule module = program_begin(&context);
    CUstream one, two;

    mix = program_function(module, "mix");
    CU(cuMemAlloc_v2(&memory, sizeof(bytes)));
    CU(cuMemAlloc_v2(&memory_two, sizeof(bytes)));
    CU(cuMemsetD8_v2(memory, 3, sizeof(bytes)));
    CU(cuCtxSynchronize());
    for (unsigned i = 0; i < 6; i++)
        CU(cuEventCreate(&events[i], 0));
    CU(cuStreamCreate(&one, 0));
    CU(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
    CUgraphExec exec = make_graph(one);
    work(one, two, bytes, exec);
    for (unsigned i = 1; i < 6; i++)
        print(0, i);
    printf("%08x\n", program_digest(bytes, sizeof(bytes)));
    CU(cuGraphExecDestroy(exec));
    program_end(module, context);
    return 0;
}
