/* SPDX-License-Identifier: Apache-2.0
 *
 * An event that is recorded behind a long kernel on one stream, and then by a graph's node on
 * another, which has nothing else to do: a wait for the event does not wait for the kernel.
 * event_nodes added: the node was made with that event. changed: it got it later.
 */
#include "tests/programs/program.h"

enum { COUNT = 1 << 16 };

static CUgraphExec make_graph(CUevent first, CUevent event)
{
    CUgraphExec exec;
    CUgraphNode node;
    CUgraph graph;

    CU(cuGraphCreate(&graph, 0));
    CU(cuGraphAddEventRecordNode(&node, graph, NULL, 0, first));
    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    if (first != event)
        CU(cuGraphExecEventRecordNodeSetEvent(exec, node, event));
    CU(cuGraphDestroy(graph));
    return exec;
}

int main(int argc, char **argv)
{
    const int is_changed = argc > 1 && strcmp(argv[1], "changed") == 0;
    int width = COUNT, rounds = 400;
    CUevent event, other;
    CUdeviceptr memory;
    CUcontext context;
    CUmodule module = program_begin(&context);
    CUstream streams[2];
    CUgraphExec exec;
    uint32_t first;

    for (unsigned i = 0; i < 2; i++)
        CU(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    CU(cuEventCreate(&event, 0));
    CU(cuEventCreate(&other, 0));
    CU(cuMemAlloc_v2(&memory, COUNT * 4));
    CU(cuMemsetD8_v2(memory, 1, COUNT * 4));
    exec = make_graph(is_changed ? other : event, event);
    CU(cuCtxSynchronize());
    program_launch(program_function(module, "mix"), COUNT, streams[0],
                   (void *[]){&width, &rounds, &memory});
    CU(cuEventRecord(event, streams[0]));
    CU(cuGraphLaunch(exec, streams[1]));
    CU(cuEventSynchronize(event));
    CU(cuCtxSynchronize());
    CU(cuMemcpyDtoH_v2(&first, memory, sizeof(first)));
    printf("%08x\n", (unsigned)first);
    CU(cuGraphExecDestroy(exec));
    program_end(module, context);
    return 0;
}
