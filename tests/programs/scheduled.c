/* SPDX-License-Identifier: Apache-2.0
 *
 * scheduled SEED [STEPS [CHANGE=N...]]: kernels, copies, fills, events, graphs and waits on streams
 * of several kinds, as a random number has it. Changes leave all else as it is: drop=N leaves out
 * the wait number N, from 0, of the host or of a stream; stream=N gives stream N, from 0,
 * priority=P. With pageable=1 copies are from and to memory of which the driver does not know,
 * rows=1 makes them copies of rows, on the default stream such that block; functions=1 sends a
 * function of the program behind each, after=1 waits for the stream behind each. What it computes
 * depends on the schedule: nothing is printed but the number of waits.
 */
#include "tests/programs/program.h"

enum { STREAMS = 5, COUNT = 16384, EVENTS = 4, DROP_MAX = 64 };

static struct {
    CUfunction mix;
    CUstream streams[STREAMS + 1]; /* the last one: the default stream */
    CUdeviceptr own[STREAMS + 1];
    uint8_t *memory; /* of the host; pinned, or pageable */
    CUevent events[EVENTS];
    int is_recorded[EVENTS];
    CUgraphExec graph;
    uint64_t random;
    long is_pageable, has_rows, has_functions, has_waits;
    long wait_count, drops[DROP_MAX], priorities[STREAMS + 1];
    unsigned drop_count;
} t;

static uint32_t choose(uint32_t count)
{
    t.random = t.random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(t.random >> 33) % count;
}

/* Counts a wait. Returns 0 if it is left out. */
static int waits(void)
{
    const long number = t.wait_count++;

    for (unsigned i = 0; i < t.drop_count; i++)
        if (t.drops[i] == number)
            return 0;
    return 1;
}

static void launch(unsigned s)
{
    int count = (int)(64 << choose(8)), rounds = 1 + (int)choose(40);

    program_launch(t.mix, (unsigned)count, t.streams[s], (void *[]){&count, &rounds, &t.own[s]});
}

/* Three kernels, of which two may run at once. */
static void make_graph(void)
{
    static int count = 512, rounds[3] = {9, 5, 3};
    CUgraphNode nodes[3];
    CUgraph graph;

    CU(cuGraphCreate(&graph, 0));
    for (unsigned i = 0; i < 3; i++) {
        void *arguments[] = {&count, &rounds[i], &t.own[i]};
        CUDA_KERNEL_NODE_PARAMS_v1 node = {.func = t.mix,
                                           .gridDimX = 2,
                                           .gridDimY = 1,
                                           .gridDimZ = 1,
                                           .blockDimX = 256,
                                           .blockDimY = 1,
                                           .blockDimZ = 1,
                                           .kernelParams = arguments};

        CU(cuGraphAddKernelNode(&nodes[i], graph, i == 2 ? nodes : NULL, i == 2 ? 2 : 0, &node));
    }
    CU(cuGraphInstantiateWithFlags(&t.graph, graph, 0));
    CU(cuGraphDestroy(graph));
}

static void do_nothing(void *user)
{
    (void)user;
}

static void copy_rows(unsigned s, int is_to_device, size_t size)
{
    const size_t width = size / 8;
    CUDA_MEMCPY2D rows = {.srcMemoryType = is_to_device ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
                          .srcHost = is_to_device ? t.memory : NULL,
                          .srcDevice = is_to_device ? 0 : t.own[s],
                          .srcPitch = width,
                          .dstMemoryType = is_to_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
                          .dstHost = is_to_device ? NULL : t.memory,
                          .dstDevice = is_to_device ? t.own[s] : 0,
                          .dstPitch = width,
                          .WidthInBytes = width,
                          .Height = 8};

    if (s == STREAMS)
        CU(cuMemcpy2D_v2(&rows));
    else
        CU(cuMemcpy2DAsync_v2(&rows, t.streams[s]));
}

static void copy(unsigned s)
{
    const size_t size = 256u << choose(8);
    const uint32_t kind = choose(4);

    switch (kind < 2 && t.has_rows ? 4 : kind) {
    case 4:
        copy_rows(s, !kind, size);
        break;
    case 0:
        CU(cuMemcpyHtoDAsync_v2(t.own[s], t.memory, size, t.streams[s]));
        break;
    case 1:
        CU(cuMemcpyDtoHAsync_v2(t.memory, t.own[s], size, t.streams[s]));
        break;
    case 2:
        CU(cuMemcpyDtoDAsync_v2(t.own[s], t.own[(s + 1) % STREAMS], size, t.streams[s]));
        break;
    default:
        CU(cuMemsetD32Async(t.own[s], 7, size / 4, t.streams[s]));
    }
    if (t.has_functions)
        CU(cuLaunchHostFunc(t.streams[s], do_nothing, NULL));
    if (t.has_waits && waits())
        CU(cuStreamSynchronize(t.streams[s]));
}

static void order(unsigned s)
{
    const unsigned event = choose(EVENTS);

    if (!t.is_recorded[event] || choose(2)) {
        CU(cuEventRecord(t.events[event], t.streams[s]));
        t.is_recorded[event] = 1;
    } else if (waits()) {
        CU(cuStreamWaitEvent(t.streams[s], t.events[event], 0));
    }
}

static void wait_for(unsigned s)
{
    const unsigned event = choose(EVENTS), kind = choose(4);

    if (!waits())
        return;
    if (kind == 0)
        CU(cuCtxSynchronize());
    else if (kind == 1 && t.is_recorded[event])
        CU(cuEventSynchronize(t.events[event]));
    else if (kind == 2)
        while (cuStreamQuery(t.streams[s]) == CUDA_ERROR_NOT_READY)
            ;
    else
        CU(cuStreamSynchronize(t.streams[s]));
}

static void step(void)
{
    const unsigned s = choose(16) ? choose(STREAMS) : STREAMS;

    switch (choose(12)) {
    case 0:
    case 1:
    case 2:
    case 3:
        launch(s);
        break;
    case 4:
    case 5:
    case 6:
        copy(s);
        break;
    case 7:
    case 8:
    case 9:
        order(s);
        break;
    case 10:
        CU(cuGraphLaunch(t.graph, t.streams[s]));
        break;
    default:
        wait_for(s);
    }
}

static void take(char *text)
{
    static unsigned stream;
    long number = atol(strchr(text, '=') ? strchr(text, '=') + 1 : "0");

    if (!strncmp(text, "drop=", 5) && t.drop_count < DROP_MAX)
        t.drops[t.drop_count++] = number;
    else if (!strncmp(text, "stream=", 7))
        stream = (unsigned)number % STREAMS;
    else if (!strncmp(text, "priority=", 9))
        t.priorities[stream] = number;
    else if (!strncmp(text, "pageable=", 9))
        t.is_pageable = number;
    else if (!strncmp(text, "rows=", 5))
        t.has_rows = number;
    else if (!strncmp(text, "functions=", 10))
        t.has_functions = number;
    else if (!strncmp(text, "after=", 6))
        t.has_waits = number;
}

int main(int argc, char **argv)
{
    unsigned steps = argc > 2 ? (unsigned)atoi(argv[2]) : 60;
    CUcontext context;
    CUmodule module = program_begin(&context);

    for (int i = 3; i < argc; i++)
        take(argv[i]);
    t.random = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    t.mix = program_function(module, "mix");
    if (t.is_pageable)
        t.memory = calloc(COUNT, 4);
    else
        CU(cuMemHostAlloc((void **)&t.memory, COUNT * 4, 0));
    if (!t.memory)
        return 1;
    for (unsigned i = 0; i < STREAMS; i++)
        CU(cuStreamCreateWithPriority(&t.streams[i], i % 2 ? CU_STREAM_NON_BLOCKING : 0,
                                      (int)t.priorities[i]));
    for (unsigned i = 0; i <= STREAMS; i++)
        CU(cuMemAlloc_v2(&t.own[i], COUNT * 4));
    for (unsigned i = 0; i < EVENTS; i++)
        CU(cuEventCreate(&t.events[i], CU_EVENT_DISABLE_TIMING));
    make_graph();
    for (unsigned i = 0; i < steps; i++)
        step();
    CU(cuCtxSynchronize());
    printf("%ld\n", t.wait_count);
    return 0;
}
