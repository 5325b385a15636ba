/* SPDX-License-Identifier: Apache-2.0
 *
 * flags WAY: streams that wait for values in memory, written in ways that are easy to miss.
 * function: by functions of the program. program: by the program, behind its next call another
 * stream works. there: the values are there, nothing waits; in single calls and in batches.
 * overwritten: a second value comes before the wait does. skipped: a graph with a conditional node
 * that does nothing, while the device is busy. many: streams by the dozen. again: a primary context
 * that is destroyed, and made again. blocking: streams that wait for the default one are captured.
 * failed: a kernel before what writes the value fails.
 */
#include "tests/programs/program.h"

enum { STREAMS = 4, MANY = 100, COUNT = 4096 };

static CUstream streams[STREAMS];
static CUdeviceptr own[STREAMS], flags;
static volatile uint32_t *word; /* of the program, which the device reads */
static CUdeviceptr word_there;
static CUfunction mix, wild;
static CUcontext context;

static void work_on(CUstream stream, CUdeviceptr memory, int count, int rounds)
{
    program_launch(mix, (unsigned)count, stream, (void *[]){&count, &rounds, &memory});
}

static void work(unsigned i, int rounds)
{
    work_on(streams[i], own[i], COUNT, rounds);
}

static void await(unsigned i, CUdeviceptr address, uint32_t value, unsigned how)
{
    CU(cuStreamWaitValue32_v2(streams[i], address, value, how));
}

static void signal(unsigned i, CUdeviceptr address, uint32_t value)
{
    CU(cuStreamWriteValue32_v2(streams[i], address, value, 0));
}

static void store(void *value)
{
    *word = (uint32_t)(uintptr_t)value;
}

static void store_later(CUstream stream, CUresult status, void *value)
{
    (void)stream;
    CU(status);
    store(value);
}

static void by_function(void)
{
    await(1, word_there, 5, CU_STREAM_WAIT_VALUE_EQ);
    work(1, 5);
    await(2, word_there, 6, CU_STREAM_WAIT_VALUE_EQ);
    work(2, 5);
    work(0, 20);
    CU(cuLaunchHostFunc(streams[0], store, (void *)5));
    work(0, 4);
    CU(cuStreamSynchronize(streams[1]));
    CU(cuStreamAddCallback(streams[0], store_later, (void *)6, 0));
    work(0, 4);
}

static void by_program(void)
{
    for (uint32_t i = 1; i < 5; i++) {
        await(1, word_there, i, CU_STREAM_WAIT_VALUE_GEQ);
        work(1, 5);
        work(0, 20 * (int)i);
        *word = i;
        work(2, 3);
    }
    work(3, 3);
}

static void already_there(void)
{
    CUstreamBatchMemOpParams wait = {
        .waitValue = {CU_STREAM_MEM_OP_WAIT_VALUE_32, flags, {0}, CU_STREAM_WAIT_VALUE_GEQ, 0}};

    await(1, flags, 0, CU_STREAM_WAIT_VALUE_EQ);
    work(1, 3);
    signal(0, flags, 1);
    work(0, 3);
    await(2, flags, 0, CU_STREAM_WAIT_VALUE_GEQ);
    work(2, 3);
    work(0, 30);
    CU(cuStreamBatchMemOp_v2(streams[3], 1, &wait, 0));
    work(3, 3);
    CU(cuLaunchHostFunc(streams[1], store, (void *)5));
    work(1, 3);
}

static void overwritten(void)
{
    work(0, 10);
    signal(0, flags, 1);
    work(0, 10);
    signal(0, flags, 2);
    work(0, 300);
    signal(0, flags, 0);
    work(1, 200);
    await(1, flags, 1, CU_STREAM_WAIT_VALUE_GEQ);
    work(1, 5);
    work(0, 1000);
    signal(0, flags, 1);
    work(0, 2);
}

/* An empty conditional node, and a kernel behind it and one beside it. */
static CUgraphExec make_skipped(void)
{
    int count = COUNT, rounds = 25;
    CUDA_KERNEL_NODE_PARAMS_v1 kernel = {.func = mix,
                                         .gridDimX = COUNT / 256,
                                         .gridDimY = 1,
                                         .gridDimZ = 1,
                                         .blockDimX = 256,
                                         .blockDimY = 1,
                                         .blockDimZ = 1,
                                         .kernelParams = (void *[]){&count, &rounds, &own[0]}};
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    CUgraphNode node, behind, beside;
    CUgraphExec exec;
    CUgraph graph;

    CU(cuGraphCreate(&graph, 0));
    CU(cuGraphConditionalHandleCreate(&params.conditional.handle, graph, context, 0,
                                      CU_GRAPH_COND_ASSIGN_DEFAULT));
    params.conditional.type = CU_GRAPH_COND_TYPE_IF;
    params.conditional.size = 1;
    params.conditional.ctx = context;
    CU(cuGraphAddNode(&node, graph, NULL, 0, &params));
    CU(cuGraphAddKernelNode(&behind, graph, &node, 1, &kernel));
    kernel.kernelParams = (void *[]){&count, &rounds, &own[3]};
    CU(cuGraphAddKernelNode(&beside, graph, NULL, 0, &kernel));
    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CU(cuGraphDestroy(graph));
    return exec;
}

static void skipped(void)
{
    CUgraphExec exec = make_skipped();

    work(1, 30);
    CU(cuGraphLaunch(exec, streams[1]));
    work(2, 50);
    CU(cuGraphLaunch(exec, streams[2]));
    CU(cuCtxSynchronize());
    CU(cuGraphExecDestroy(exec));
}

static void many(void)
{
    static CUstream more[MANY];

    for (unsigned i = 0; i < MANY; i++) {
        CU(cuStreamCreate(&more[i], CU_STREAM_NON_BLOCKING));
        CU(cuStreamWaitValue32_v2(more[i], flags + 4 * i, 1, CU_STREAM_WAIT_VALUE_GEQ));
        work_on(more[i], flags + 4096 + 256 * i, 64, (int)i);
    }
    for (unsigned i = 0; i < MANY; i++) {
        work(0, 1 + (int)i % 7);
        CU(cuStreamWriteValue32_v2(streams[0], flags + 4 * (i * 37 % MANY), 1, 0));
    }
}

static void again(void)
{
    static uint32_t result[2][COUNT];
    CUdeviceptr memory[2];
    CUcontext primary;
    CUstream stream;

    for (unsigned i = 0; i < 3; i++) {
        CU(cuDevicePrimaryCtxRetain(&primary, 0));
        CU(cuCtxSetCurrent(primary));
        CU(cuMemAlloc_v2(&memory[0], COUNT * 4));
        CU(cuMemAlloc_v2(&memory[1], COUNT * 4));
        CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        CU(cuMemsetD32Async(memory[0], i, COUNT, stream));
        CU(cuMemsetD32Async(memory[1], 7, COUNT, stream));
        CU(cuMemcpyDtoDAsync_v2(memory[1], memory[0], COUNT, stream));
        CU(cuStreamSynchronize(stream));
        for (unsigned k = 0; k < 2; k++)
            CU(cuMemcpyDtoH_v2(result[k], memory[k], sizeof(result[k])));
        printf("%08x\n", program_digest(result, sizeof(result)));
        CU(cuDevicePrimaryCtxRelease_v2(0));
    }
    CU(cuCtxSetCurrent(context));
}

static CUgraphExec capture(CUstream stream, unsigned i)
{
    CUgraphExec exec;
    CUgraph graph;

    CU(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    work_on(stream, own[i], COUNT, 30);
    work_on(stream, own[i], COUNT, 40);
    CU(cuStreamEndCapture(stream, &graph));
    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CU(cuGraphDestroy(graph));
    return exec;
}

/* The second stream is captured while the first one works: they do not wait for each other. */
static void blocking(void)
{
    CUgraphExec execs[3];

    for (unsigned i = 0; i < 3; i++) {
        CUstream stream;

        CU(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
        execs[i] = capture(stream, i);
        CU(cuGraphLaunch(execs[i], stream));
    }
    CU(cuCtxSynchronize());
    for (unsigned i = 0; i < 3; i++)
        CU(cuGraphExecDestroy(execs[i]));
}

static void failed(void)
{
    uint64_t address = 64;

    await(1, flags, 1, CU_STREAM_WAIT_VALUE_GEQ);
    CU(cuLaunchKernel(wild, 1, 1, 1, 1, 1, 1, 0, streams[0], (void *[]){&address}, NULL));
    signal(0, flags, 1);
    printf("%d\n", (int)cuCtxSynchronize());
    exit(0);
}

static void begin(CUmodule kernels)
{
    void *host;

    mix = program_function(kernels, "mix");
    wild = program_function(kernels, "write_wild");
    for (unsigned i = 0; i < STREAMS; i++) {
        CU(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
        CU(cuMemAlloc_v2(&own[i], COUNT * 4));
        CU(cuMemsetD32_v2(own[i], i + 1, COUNT));
    }
    CU(cuMemAlloc_v2(&flags, 1 << 16));
    CU(cuMemsetD8_v2(flags, 0, 1 << 16));
    CU(cuMemHostAlloc(&host, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
    CU(cuMemHostGetDevicePointer_v2(&word_there, host, 0));
    memset(host, 0, 4096);
    word = host;
    CU(cuCtxSynchronize());
}

static const struct {
    const char *name;
    void (*run)(void);
} ways[] = {{"function", by_function}, {"program", by_program},
            {"there", already_there},  {"overwritten", overwritten},
            {"skipped", skipped},      {"many", many},
            {"again", again},          {"blocking", blocking},
            {"failed", failed}};

int main(int argc, char **argv)
{
    static uint32_t results[STREAMS][COUNT];
    CUmodule kernels = program_begin(&context);

    begin(kernels);
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
        if (argc > 1 && !strcmp(argv[1], ways[i].name))
            ways[i].run();
    CU(cuCtxSynchronize());
    for (unsigned i = 0; i < STREAMS; i++)
        CU(cuMemcpyDtoH_v2(results[i], own[i], sizeof(results[i])));
    printf("%08x\n", program_digest(results, sizeof(results)));
    CU(cuMemFreeHost((void *)word));
    program_end(kernels, context);
    return 0;
}
