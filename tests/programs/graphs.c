/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs built by hand: kernels, fills, copies from and to pageable and pinned memory, functions of
 * the program, memory of the graph's own, events, graphs in graphs; clones; launches on several
 * streams; nodes and whole graphs changed between launches.
 */
#include "tests/programs/program.h"

enum { COUNT = 4096, SIZE = COUNT * 4 };

static CUfunction mix, fill;
static CUcontext context;
static uint32_t digest;

static void note(const void *data, size_t size)
{
    digest = digest * 31 + program_digest(data, size);
}

static CUDA_KERNEL_NODE_PARAMS kernel(CUfunction function, void **arguments)
{
    return (CUDA_KERNEL_NODE_PARAMS){.func = function,
                                     .gridDimX = COUNT / 256,
                                     .gridDimY = 1,
                                     .gridDimZ = 1,
                                     .blockDimX = 256,
                                     .blockDimY = 1,
                                     .blockDimZ = 1,
                                     .kernelParams = arguments};
}

static CUDA_MEMCPY3D up(CUdeviceptr to, const void *from, size_t size)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = from,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = to,
                           .WidthInBytes = size,
                           .Height = 1,
                           .Depth = 1};
}

static CUDA_MEMCPY3D down(void *to, CUdeviceptr from, size_t size)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = from,
                           .dstMemoryType = CU_MEMORYTYPE_HOST,
                           .dstHost = to,
                           .WidthInBytes = size,
                           .Height = 1,
                           .Depth = 1};
}

static void run(CUgraphExec exec, CUstream stream)
{
    CU(cuGraphLaunch(exec, stream));
    CU(cuStreamSynchronize(stream));
}

/* Pageable memory -> mix -> pageable memory, in three launches with other bytes, then with other
 * arguments, another destination, a node switched off, and nodes of a clone changed. */
static void copies(CUstream stream)
{
    static uint32_t in[COUNT], out[COUNT], other[COUNT];
    CUgraph graph, clone;
    CUgraphExec exec, copied;
    CUgraphNode first, second, third, twin, nodes[4];
    uint32_t count = COUNT, seed = 3, seeds = 77;
    CUdeviceptr memory;
    size_t node_count = 4;

    CU(cuMemAlloc_v2(&memory, SIZE));
    void *arguments[] = {&count, &seed, &memory}, *changed[] = {&count, &seeds, &memory};
    CUDA_MEMCPY3D copy_in = up(memory, in, SIZE), copy_out = down(out, memory, SIZE);
    CUDA_KERNEL_NODE_PARAMS params = kernel(mix, arguments);
    CU(cuGraphCreate(&graph, 0));
    CU(cuGraphAddMemcpyNode(&first, graph, NULL, 0, &copy_in, context));
    CU(cuGraphAddKernelNode_v2(&second, graph, &first, 1, &params));
    CU(cuGraphAddMemcpyNode(&third, graph, &second, 1, &copy_out, context));
    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < COUNT; i++)
            in[i] = i * (round + 5);
        run(exec, stream);
        note(out, SIZE);
    }
    params = kernel(mix, changed);
    CU(cuGraphExecKernelNodeSetParams_v2(exec, second, &params));
    copy_out = down(other, memory, SIZE / 2);
    CU(cuGraphExecMemcpyNodeSetParams(exec, third, &copy_out, context));
    run(exec, stream);
    note(other, SIZE);
    CU(cuGraphNodeSetEnabled(exec, first, 0));
    run(exec, stream);
    note(other, SIZE);
    CU(cuGraphClone(&clone, graph));
    CU(cuGraphNodeFindInClone(&twin, second, clone));
    seeds = 1234;
    params = kernel(mix, changed);
    CU(cuGraphKernelNodeSetParams_v2(twin, &params));
    CU(cuGraphGetNodes(clone, nodes, &node_count));
    CU(cuGraphInstantiateWithFlags(&copied, clone, 0));
    run(copied, stream);
    note(out, SIZE);
    CU(cuGraphExecUpdate_v2(exec, clone, &(CUgraphExecUpdateResultInfo){0}));
    CU(cuGraphDestroy(clone));
    run(exec, stream);
    note(out, SIZE);
    CU(cuGraphExecDestroy(copied));
    CU(cuGraphExecDestroy(exec));
    CU(cuGraphDestroy(graph));
    CU(cuMemFree_v2(memory));
}

/* A function of the program between a copy out of the GPU and one into it; both memories pinned.
 * Two launches are under way at once. */
struct scale {
    uint32_t *words;
    uint32_t by;
};

static void scale(void *user)
{
    const struct scale *s = user;

    usleep(2000);
    for (int i = 0; i < COUNT; i++)
        s->words[i] = s->words[i] * s->by + 1;
}

static void functions(CUstream stream)
{
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode nodes[5];
    CUdeviceptr memory;
    uint32_t *pinned, count = COUNT, seed = 9;
    static uint32_t out[COUNT];

    CU(cuMemAlloc_v2(&memory, SIZE));
    CU(cuMemAllocHost_v2((void **)&pinned, SIZE));
    CU(cuMemsetD32_v2(memory, 5, COUNT));
    CU(cuCtxSynchronize());
    struct scale by[2] = {{pinned, 3}, {pinned, 7}};
    void *arguments[] = {&count, &seed, &memory};
    CUDA_KERNEL_NODE_PARAMS params = kernel(mix, arguments);
    CUDA_MEMCPY3D out_of = down(pinned, memory, SIZE), into = up(memory, pinned, SIZE);
    CUDA_HOST_NODE_PARAMS host[2] = {{scale, &by[0]}, {scale, &by[1]}}, got;
    CU(cuGraphCreate(&graph, 0));
    CU(cuGraphAddKernelNode_v2(&nodes[0], graph, NULL, 0, &params));
    CU(cuGraphAddMemcpyNode(&nodes[1], graph, &nodes[0], 1, &out_of, context));
    CU(cuGraphAddHostNode(&nodes[2], graph, &nodes[1], 1, &host[0]));
    CU(cuGraphAddHostNode(&nodes[3], graph, &nodes[2], 1, &host[1]));
    CU(cuGraphAddMemcpyNode(&nodes[4], graph, &nodes[3], 1, &into, context));
    CU(cuGraphHostNodeGetParams(nodes[3], &got));
    if (got.fn != scale || got.userData != &by[1])
        exit(1);
    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CU(cuGraphLaunch(exec, stream));
    CU(cuGraphLaunch(exec, stream));
    CU(cuMemcpyDtoHAsync_v2(out, memory, SIZE, stream));
    CU(cuStreamSynchronize(stream));
    note(out, SIZE);
    CU(cuGraphExecDestroy(exec));
    CU(cuGraphDestroy(graph));
    CU(cuMemFreeHost(pinned));
    CU(cuMemFree_v2(memory));
}

/* A graph with memory of its own, in another one twice, made by the general call. */
static void inner(CUstream stream)
{
    CUgraph graph, outer, child;
    CUgraphExec exec;
    CUgraphNode alloc, use, give, drop, twice[2], seen[8];
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
    CUdeviceptr memory;
    uint32_t count = COUNT, seed = 21;
    static uint32_t out[COUNT];
    size_t seen_count = 8;

    p.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.alloc.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p.alloc.bytesize = SIZE;
    CU(cuGraphCreate(&graph, 0));
    CU(cuGraphAddNode(&alloc, graph, NULL, 0, &p));
    memory = p.alloc.dptr;
    void *arguments[] = {&count, &seed, &memory};
    CUDA_KERNEL_NODE_PARAMS params = kernel(fill, arguments);
    CUDA_MEMCPY3D copy = down(out, memory, SIZE);
    CU(cuGraphAddKernelNode_v2(&use, graph, &alloc, 1, &params));
    CU(cuGraphAddMemcpyNode(&give, graph, &use, 1, &copy, context));
    CU(cuGraphAddMemFreeNode(&drop, graph, &give, 1, memory));
    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 2; i++) {
        run(exec, stream);
        note(out, SIZE);
    }
    CU(cuGraphExecDestroy(exec));
    CU(cuGraphDestroy(graph));

    CU(cuMemAlloc_v2(&memory, SIZE));
    params = kernel(mix, arguments);
    CU(cuGraphCreate(&child, 0));
    CU(cuGraphAddKernelNode_v2(&use, child, NULL, 0, &params));
    CU(cuGraphCreate(&outer, 0));
    CUDA_MEMSET_NODE_PARAMS zero = {
        .dst = memory, .value = 4, .elementSize = 4, .width = COUNT, .height = 1};
    CU(cuGraphAddMemsetNode(&alloc, outer, NULL, 0, &zero, context));
    CU(cuGraphAddChildGraphNode(&twice[0], outer, &alloc, 1, child));
    CU(cuGraphAddChildGraphNode(&twice[1], outer, NULL, 0, child));
    CU(cuGraphAddDependencies(outer, &twice[0], &twice[1], 1));
    CU(cuGraphChildGraphNodeGetGraph(twice[1], &graph));
    CU(cuGraphGetNodes(graph, seen, &seen_count));
    seed = 99;
    params = kernel(mix, arguments);
    CU(cuGraphKernelNodeSetParams_v2(seen[0], &params)); /* in the second one only */
    CU(cuGraphInstantiateWithFlags(&exec, outer, 0));
    CU(cuGraphDestroy(outer));
    CU(cuGraphDestroy(child));
    run(exec, stream);
    CU(cuMemcpyDtoH_v2(out, memory, SIZE));
    note(out, SIZE);
    CU(cuGraphExecDestroy(exec));
    CU(cuMemFree_v2(memory));
}

/* A launch signals another stream by a node, that one's launch waits by a node; and one executable
 * graph on two streams, whose launches come one after another. */
static void streams(CUstream one, CUstream two)
{
    CUgraph graphs[2];
    CUgraphExec execs[2];
    CUgraphNode work, node;
    CUevent event;
    CUdeviceptr memory;
    uint32_t count = COUNT, seed = 2;
    static uint32_t out[COUNT];

    CU(cuMemAlloc_v2(&memory, SIZE));
    CU(cuMemsetD32_v2(memory, 1, COUNT));
    CU(cuCtxSynchronize());
    CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    void *arguments[] = {&count, &seed, &memory};
    CUDA_KERNEL_NODE_PARAMS params = kernel(mix, arguments);
    for (int i = 0; i < 2; i++)
        CU(cuGraphCreate(&graphs[i], 0));
    CU(cuGraphAddKernelNode_v2(&work, graphs[0], NULL, 0, &params));
    CU(cuGraphAddEventRecordNode(&node, graphs[0], &work, 1, event));
    CU(cuGraphAddEventWaitNode(&node, graphs[1], NULL, 0, event));
    seed = 17;
    params = kernel(mix, arguments);
    CU(cuGraphAddKernelNode_v2(&work, graphs[1], &node, 1, &params));
    for (int i = 0; i < 2; i++)
        CU(cuGraphInstantiateWithFlags(&execs[i], graphs[i], 0));
    for (int round = 0; round < 4; round++) {
        CU(cuGraphLaunch(execs[0], one));
        CU(cuGraphLaunch(execs[1], two));
        CU(cuMemcpyDtoHAsync_v2(out, memory, SIZE, two));
        CU(cuStreamSynchronize(two));
        note(out, SIZE);
    }
    CU(cuGraphLaunch(execs[0], one));
    CU(cuStreamWaitEvent(two, event, 0));
    CU(cuMemcpyDtoHAsync_v2(out, memory, SIZE, two));
    CU(cuStreamSynchronize(two));
    note(out, SIZE);
    for (int round = 0; round < 6; round++)
        CU(cuGraphLaunch(execs[0], round % 2 ? one : two));
    CU(cuEventSynchronize(event));
    CU(cuCtxSynchronize());
    CU(cuMemcpyDtoH_v2(out, memory, SIZE));
    note(out, SIZE);
    for (int i = 0; i < 2; i++) {
        CU(cuGraphExecDestroy(execs[i]));
        CU(cuGraphDestroy(graphs[i]));
    }
    CU(cuEventDestroy_v2(event));
    CU(cuMemFree_v2(memory));
}

int main(void)
{
    CUstream one, two;
    CUmodule module = program_begin(&context);

    mix = program_function(module, "mix");
    fill = program_function(module, "fill");
    CU(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
    CU(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
    copies(one);
    functions(one);
    inner(two);
    streams(one, two);
    CU(cuStreamDestroy_v2(one));
    CU(cuStreamDestroy_v2(two));
    program_end(module, context);
    printf("graphs: %08x\n", digest);
    return 0;
}
