/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs captured from streams: forks and joins, every kind of copy, functions of the program,
 * memory in a stream's order, launches of other graphs; nodes looked up and changed, dependencies
 * set by hand; a capture that the legacy stream breaks, while the program goes on; memory that
 * comes and goes meanwhile.
 */
#include "tests/programs/program.h"

enum { COUNT = 4096, SIZE = COUNT * 4, PITCH = 256, ROW = 100, ROWS = 40 };

static CUfunction mix, fill;
static uint32_t digest;

static void note(const void *data, size_t size)
{
    digest = digest * 31 + program_digest(data, size);
}

static void launch_mix(CUdeviceptr memory, uint32_t seed, CUstream stream)
{
    uint32_t count = COUNT;
    void *arguments[] = {&count, &seed, &memory};

    program_launch(mix, COUNT, stream, arguments);
}

static CUgraphExec instantiate(CUgraph graph)
{
    CUgraphExec exec;

    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CU(cuGraphDestroy(graph));
    return exec;
}

static void run(CUgraphExec exec, CUstream stream)
{
    CU(cuGraphLaunch(exec, stream));
    CU(cuStreamSynchronize(stream));
}

/* Two streams work on two memories at once and meet again; pageable bytes in, pinned bytes out. */
static void fork_and_join(CUstream one, CUstream two)
{
    static uint32_t in[COUNT];
    uint32_t *out;
    CUdeviceptr memory[2];
    CUevent forked, joined;
    CUgraph graph;
    CUgraphExec exec;

    CU(cuMemAllocHost_v2((void **)&out, 2 * SIZE));
    for (int i = 0; i < 2; i++)
        CU(cuMemAlloc_v2(&memory[i], SIZE));
    CU(cuEventCreate(&forked, CU_EVENT_DISABLE_TIMING));
    CU(cuEventCreate(&joined, CU_EVENT_DISABLE_TIMING));
    CU(cuStreamBeginCapture_v2(one, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CU(cuMemcpyHtoDAsync_v2(memory[0], in, SIZE, one));
    CU(cuMemcpyDtoDAsync_v2(memory[1], memory[0], SIZE, one));
    CU(cuEventRecord(forked, one));
    CU(cuStreamWaitEvent(two, forked, 0));
    launch_mix(memory[1], 5, two);
    CU(cuMemcpyDtoHAsync_v2(out + COUNT, memory[1], SIZE, two));
    CU(cuEventRecord(joined, two));
    CU(cuMemsetD32Async(memory[0], 7, COUNT / 2, one));
    launch_mix(memory[0], 6, one);
    CU(cuStreamWaitEvent(one, joined, 0));
    CU(cuMemcpyDtoHAsync_v2(out, memory[0], SIZE, one));
    CU(cuStreamEndCapture(one, &graph));
    exec = instantiate(graph);
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < COUNT; i++)
            in[i] = i ^ (round * 1000);
        run(exec, round % 2 ? one : two);
        note(out, 2 * SIZE);
    }
    CU(cuGraphExecDestroy(exec));
    CU(cuEventDestroy_v2(forked));
    CU(cuEventDestroy_v2(joined));
    for (int i = 0; i < 2; i++)
        CU(cuMemFree_v2(memory[i]));
    CU(cuMemFreeHost(out));
}

static void count_up(void *user)
{
    uint32_t *words = user;

    for (uint32_t i = 0; i < COUNT; i++)
        words[i] += i;
}

/* Rows, unified addresses, a function that changes what is copied after it, memory in the stream's
 * order; and the whole as a node of another capture. */
static void all_kinds(CUstream stream)
{
    static uint8_t rows[PITCH * ROWS], back[PITCH * ROWS];
    static uint32_t out[COUNT];
    uint32_t *pinned;
    CUdeviceptr memory, scratch;
    CUgraph graph;
    CUgraphExec exec, outer;

    CU(cuMemAlloc_v2(&memory, SIZE));
    CU(cuMemAllocHost_v2((void **)&pinned, SIZE));
    for (int i = 0; i < COUNT; i++)
        pinned[i] = (uint32_t)i * 3;
    for (size_t i = 0; i < sizeof(rows); i++)
        rows[i] = (uint8_t)(i * 7);
    const CUDA_MEMCPY2D in = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                              .srcHost = rows,
                              .srcPitch = PITCH,
                              .srcXInBytes = 9,
                              .srcY = 2,
                              .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                              .dstDevice = memory,
                              .dstPitch = ROW,
                              .WidthInBytes = ROW,
                              .Height = ROWS - 2};
    const CUDA_MEMCPY2D out_of = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                  .srcDevice = memory,
                                  .srcPitch = ROW,
                                  .dstMemoryType = CU_MEMORYTYPE_HOST,
                                  .dstHost = back,
                                  .dstPitch = PITCH,
                                  .dstXInBytes = 30,
                                  .WidthInBytes = ROW,
                                  .Height = ROWS - 2};
    CU(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    CU(cuMemcpy2DAsync_v2(&in, stream));
    CU(cuMemcpy2DAsync_v2(&out_of, stream));
    CU(cuLaunchHostFunc(stream, count_up, pinned));
    CU(cuMemcpyAsync(memory, (CUdeviceptr)(uintptr_t)pinned, SIZE, stream));
    CU(cuMemAllocAsync(&scratch, SIZE, stream));
    CU(cuMemcpyDtoDAsync_v2(scratch, memory, SIZE, stream));
    launch_mix(scratch, 40, stream);
    CU(cuMemcpyAsync((CUdeviceptr)(uintptr_t)out, scratch, SIZE, stream));
    CU(cuMemFreeAsync(scratch, stream));
    CU(cuStreamEndCapture(stream, &graph));
    exec = instantiate(graph);
    for (int round = 0; round < 2; round++) {
        run(exec, stream);
        note(out, SIZE);
        note(back, sizeof(back));
    }
    CU(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    CU(cuMemsetD8Async(memory, 1, SIZE, stream));
    CU(cuGraphLaunch(exec, stream));
    launch_mix(memory, 3, stream);
    CU(cuStreamEndCapture(stream, &graph));
    CU(cuGraphExecDestroy(exec));
    outer = instantiate(graph);
    rows[PITCH * 3 + 20]++;
    run(outer, stream);
    note(out, SIZE);
    note(back, sizeof(back));
    CU(cuMemcpyDtoH_v2(out, memory, SIZE));
    note(out, SIZE);
    CU(cuGraphExecDestroy(outer));
    CU(cuMemFreeHost(pinned));
    CU(cuMemFree_v2(memory));
}

/* Nodes are looked up in a captured graph and changed; a node is put into a capture by hand; a
 * capture goes on in a graph that there is already. */
static void by_hand(CUstream stream)
{
    static uint32_t out[COUNT];
    uint32_t count = COUNT, seed = 70;
    CUstreamCaptureStatus status;
    const CUgraphNode *after;
    CUgraphNode nodes[8], node;
    size_t after_count, node_count = 8;
    CUgraph graph, same;
    CUgraphExec exec;
    CUdeviceptr memory;
    CUgraphNodeType type;

    CU(cuMemAlloc_v2(&memory, SIZE));
    CU(cuMemsetD32_v2(memory, 0, COUNT));
    CU(cuCtxSynchronize());
    void *arguments[] = {&count, &seed, &memory};
    CUDA_KERNEL_NODE_PARAMS params = {.func = fill,
                                      .gridDimX = COUNT / 256,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = 256,
                                      .blockDimY = 1,
                                      .blockDimZ = 1,
                                      .kernelParams = arguments};
    CU(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    launch_mix(memory, 1, stream);
    CU(cuStreamGetCaptureInfo_v2(stream, &status, NULL, &graph, &after, &after_count));
    CU(cuGraphAddKernelNode_v2(&node, graph, after, after_count, &params));
    CU(cuStreamUpdateCaptureDependencies(stream, &node, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    launch_mix(memory, 2, stream);
    CU(cuStreamEndCapture(stream, &same));
    if (same != graph)
        exit(1);
    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    run(exec, stream);
    CU(cuMemcpyDtoH_v2(out, memory, SIZE));
    note(out, SIZE);
    CU(cuGraphGetNodes(graph, nodes, &node_count));
    for (size_t i = 0; i < node_count; i++) {
        CU(cuGraphNodeGetType(nodes[i], &type));
        if (type == CU_GRAPH_NODE_TYPE_KERNEL && nodes[i] != node)
            node = nodes[i];
    }
    seed = 71;
    params.func = mix;
    CU(cuGraphExecKernelNodeSetParams_v2(exec, node, &params));
    run(exec, stream);
    CU(cuMemcpyDtoH_v2(out, memory, SIZE));
    note(out, SIZE);
    CU(cuGraphExecDestroy(exec));
    CU(cuStreamBeginCaptureToGraph(stream, graph, &node, NULL, 1, CU_STREAM_CAPTURE_MODE_GLOBAL));
    launch_mix(memory, 8, stream);
    CU(cuStreamEndCapture(stream, NULL)); /* it is known */
    exec = instantiate(graph);
    run(exec, stream);
    CU(cuMemcpyDtoH_v2(out, memory, SIZE));
    note(out, SIZE);
    CU(cuGraphExecDestroy(exec));
    CU(cuMemFree_v2(memory));
}

/* The legacy stream may not be used while a stream that joins it is captured: both calls say so,
 * the capture is lost, and what was captured never runs. */
static void broken(void)
{
    static uint32_t out[COUNT];
    CUstream joins;
    CUdeviceptr memory;
    CUgraph graph = NULL;

    CU(cuStreamCreate(&joins, CU_STREAM_DEFAULT));
    CU(cuMemAlloc_v2(&memory, SIZE));
    CU(cuMemsetD32_v2(memory, 12, COUNT));
    CU(cuCtxSynchronize());
    CU(cuStreamBeginCapture_v2(joins, CU_STREAM_CAPTURE_MODE_RELAXED));
    launch_mix(memory, 1, joins);
    printf("legacy: %d\n", (int)cuMemcpyDtoH_v2(out, memory, SIZE));
    printf("captured: %d\n", (int)cuMemsetD32Async(memory, 3, COUNT, joins));
    printf("end: %d\n", (int)cuStreamEndCapture(joins, &graph));
    launch_mix(memory, 2, joins);
    CU(cuMemcpyDtoH_v2(out, memory, SIZE));
    note(out, SIZE);
    CU(cuMemFree_v2(memory));
    CU(cuStreamDestroy_v2(joins));
}

/* Frees memory that the legacy stream still uses while a stream that joins it is captured. */
static void freed_meanwhile(void)
{
    static uint32_t out[COUNT];
    CUstream joins;
    CUdeviceptr memory, next;
    CUgraph graph;
    CUgraphExec exec;

    CU(cuStreamCreate(&joins, CU_STREAM_DEFAULT));
    CU(cuMemAlloc_v2(&memory, SIZE));
    for (uint32_t seed = 0; seed < 20; seed++)
        launch_mix(memory, seed, CU_STREAM_LEGACY);
    CU(cuStreamBeginCapture_v2(joins, CU_STREAM_CAPTURE_MODE_RELAXED));
    CU(cuMemFree_v2(memory));
    CU(cuMemAlloc_v2(&next, SIZE));
    CU(cuMemsetD32Async(next, 5, COUNT, joins));
    launch_mix(next, 1, joins);
    CU(cuStreamEndCapture(joins, &graph));
    exec = instantiate(graph);
    run(exec, joins);
    CU(cuMemcpyDtoH_v2(out, next, SIZE));
    note(out, SIZE);
    CU(cuGraphExecDestroy(exec));
    CU(cuMemFree_v2(next));
    CU(cuStreamDestroy_v2(joins));
}

int main(void)
{
    CUcontext context;
    CUstream one, two;
    CUmodule module = program_begin(&context);

    mix = program_function(module, "mix");
    fill = program_function(module, "fill");
    CU(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
    CU(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
    fork_and_join(one, two);
    all_kinds(one);
    by_hand(two);
    broken();
    freed_meanwhile();
    CU(cuStreamDestroy_v2(one));
    CU(cuStreamDestroy_v2(two));
    program_end(module, context);
    printf("captures: %08x\n", digest);
    return 0;
}
