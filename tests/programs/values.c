/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams that wait for values in memory: written by another stream, by the program, by the program
 * while it waits for the GPU, back and forth; in batches, and in graphs.
 *
 * values [calm | late]: calm: nothing in which the program watches memory; late: alone, waits for
 * what it stores long after.
 */
#include "tests/programs/program.h"

#include <pthread.h>

enum { COUNT = 1000 };

static CUstream one, two;
static CUdeviceptr data, flag;  /* the flag: 64 bits of the device */
static volatile uint32_t *word; /* ... of the program, which the device reads */
static CUdeviceptr word_there;
static CUfunction fill, mix;

/* fill, which comes before what must not be earlier. */
static void send_fill(CUstream stream, uint32_t value)
{
    int count = COUNT;
    void *arguments[] = {&count, &value, &data};

    program_launch(fill, COUNT, stream, arguments);
}

/* Sends a step whose result depends on earlier contents. */
static void send_step(CUstream stream)
{
    int count = COUNT, rounds = 3;
    void *arguments[] = {&count, &rounds, &data};

    program_launch(mix, COUNT, stream, arguments);
}

static void show(const char *what, CUstream stream)
{
    static uint32_t values[COUNT];

    CU(cuMemcpyDtoHAsync_v2(values, data, sizeof(values), stream));
    CU(cuStreamSynchronize(stream));
    printf("%s: %08x\n", what, program_digest(values, sizeof(values)));
}

/* The wait is sent before the write. */
static void between_streams(void)
{
    CU(cuMemsetD32_v2(flag, 0, 2));
    CU(cuCtxSynchronize()); /* these streams do not wait for it by themselves */
    CU(cuStreamWaitValue32_v2(two, flag, 1, CU_STREAM_WAIT_VALUE_GEQ));
    send_step(two);
    send_fill(one, 17);
    CU(cuStreamWriteValue32_v2(one, flag, 1, 0));
    show("between streams", two);

    CU(cuStreamWaitValue64_v2(two, flag, 0x4000000000ull, CU_STREAM_WAIT_VALUE_AND));
    send_step(two);
    send_fill(one, 23);
    CU(cuStreamWriteValue64_v2(one, flag, 0xff00000000ull, 0));
    show("64 bits", two);
}

static void *answer(void *user)
{
    usleep(20000);
    *word = 7;
    return NULL;
}

/* Nothing more is sent after the program has written. */
static void by_program(void)
{
    pthread_t thread;

    *word = 0;
    send_fill(one, 3);
    CU(cuStreamWaitValue32_v2(one, word_there, 5, CU_STREAM_WAIT_VALUE_EQ));
    send_step(one);
    *word = 5;
    show("by the program", one);

    CU(cuStreamWaitValue32_v2(one, word_there, 7, CU_STREAM_WAIT_VALUE_EQ));
    send_step(one);
    CU(pthread_create(&thread, NULL, answer, NULL));
    CU(cuStreamSynchronize(one));
    pthread_join(thread, NULL);
    show("while it waits", one);
}

/* The device takes back what the program gives. */
static void back_and_forth(void)
{
    *word = 0;
    for (unsigned i = 0; i < 3; i++) {
        CUstreamBatchMemOpParams wait = {
            .waitValue = {
                CU_STREAM_MEM_OP_WAIT_VALUE_32, word_there, {1}, CU_STREAM_WAIT_VALUE_EQ, 0}};
        CUstreamBatchMemOpParams write = {
            .writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_32, word_there, {0}, 0, 0}};
        CU(cuStreamBatchMemOp_v2(one, 1, &wait, 0));
        send_step(one);
        CU(cuStreamBatchMemOp_v2(one, 1, &write, 0));
        *word = 1;
        while (*word)
            usleep(100);
    }
    CU(cuStreamSynchronize(one));
    show("back and forth", one);
}

static CUgraph make_graph(CUgraphNode *node, CUstreamBatchMemOpParams *wait, CUcontext context)
{
    CUDA_BATCH_MEM_OP_NODE_PARAMS values = {context, 1, wait, 0};
    int count = COUNT, rounds = 3;
    void *arguments[] = {&count, &rounds, &data};
    CUDA_KERNEL_NODE_PARAMS_v1 kernel = {.func = mix,
                                         .gridDimX = 4,
                                         .gridDimY = 1,
                                         .gridDimZ = 1,
                                         .blockDimX = 256,
                                         .blockDimY = 1,
                                         .blockDimZ = 1,
                                         .kernelParams = arguments};
    CUgraphNode step;
    CUgraph graph;

    CU(cuGraphCreate(&graph, 0));
    CU(cuGraphAddBatchMemOpNode(node, graph, NULL, 0, &values));
    CU(cuGraphAddKernelNode(&step, graph, node, 1, &kernel));
    return graph;
}

static void in_graph(CUcontext context)
{
    CUstreamBatchMemOpParams wait = {
        .waitValue = {CU_STREAM_MEM_OP_WAIT_VALUE_32, flag, {40}, CU_STREAM_WAIT_VALUE_EQ, 0}};
    CUDA_BATCH_MEM_OP_NODE_PARAMS values = {context, 1, &wait, 0};
    CUgraphNode node;
    CUgraph graph = make_graph(&node, &wait, context);
    CUgraphExec exec;

    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (uint32_t i = 40; i < 42; i++) {
        wait.waitValue.value = i;
        if (i > 40)
            CU(cuGraphExecBatchMemOpNodeSetParams(exec, node, &values));
        CU(cuGraphLaunch(exec, two));
        send_fill(one, i);
        CU(cuStreamWriteValue32_v2(one, flag, i, 0));
        show("in a graph", two);
    }
    CU(cuGraphExecDestroy(exec));
    CU(cuGraphDestroy(graph));
}

static void captured(void)
{
    CUgraphExec exec;
    CUgraph graph;

    CU(cuStreamBeginCapture_v2(two, CU_STREAM_CAPTURE_MODE_RELAXED));
    CU(cuStreamWaitValue32_v2(two, flag, 90, CU_STREAM_WAIT_VALUE_GEQ));
    send_step(two);
    CU(cuStreamWriteValue32_v2(two, flag, 0, 0));
    CU(cuStreamEndCapture(two, &graph));
    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CU(cuGraphLaunch(exec, two));
    send_fill(one, 5);
    CU(cuStreamWriteValue32_v2(one, flag, 90, 0));
    show("captured", two);
    CU(cuGraphExecDestroy(exec));
    CU(cuGraphDestroy(graph));
}

/* The program stores the value when the wait for it has long been there. */
static void stored_late(void)
{
    *word = 0;
    for (uint32_t i = 1; i < 4; i++) {
        CU(cuStreamWaitValue32_v2(two, word_there, i, CU_STREAM_WAIT_VALUE_GEQ));
        send_step(two);
        for (uint32_t k = 0; k < 20; k++)
            send_fill(one, k);
        *word = i;
        if (i == 2)
            CU(cuStreamSynchronize(one));
        show("stored late", two);
    }
    CU(cuStreamSynchronize(one));
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    CUcontext context;
    CUmodule kernels = program_begin(&context);
    void *host;

    fill = program_function(kernels, "fill");
    mix = program_function(kernels, "mix");
    CU(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
    CU(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
    CU(cuMemAlloc_v2(&data, COUNT * 4));
    CU(cuMemAlloc_v2(&flag, 8));
    CU(cuMemAllocHost_v2(&host, 4096));
    CU(cuMemHostGetDevicePointer_v2(&word_there, host, 0));
    word = host;
    if (!strcmp(way, "late")) {
        stored_late();
    } else {
        between_streams();
        by_program();
        if (strcmp(way, "calm") != 0)
            back_and_forth();
        in_graph(context);
        captured();
    }
    CU(cuMemFreeHost(host));
    CU(cuMemFree_v2(flag));
    CU(cuMemFree_v2(data));
    program_end(kernels, context);
    return 0;
}
