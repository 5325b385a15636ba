/* SPDX-License-Identifier: Apache-2.0
 *
 * weave SEED [STEPS [KINDS]]: streams that hand work to each other in ways that a random number
 * chooses: by an event, an event that a graph records or waits for, a captured one, a value that a
 * stream writes or the program stores; the wait for a value may be sent before the value. Each
 * stream has a buffer of its own; KINDS has letters of what may be chosen: e(vents), g(raphs),
 * v(alues), p(rogram), w(aits). What is handed over is a copy of it that nobody changes any more.
 * So all results are fixed.
 */
#include "tests/programs/program.h"

enum { STREAMS = 4, COUNT = 64, STEPS_MAX = 400, EVENTS = 6 };

static struct {
    CUcontext context;
    CUfunction mix, add;
    CUstream streams[STREAMS];
    CUdeviceptr own[STREAMS], copies, flags;
    CUevent events[EVENTS];
    CUgraphExec record[EVENTS], await[EVENTS], launch[EVENTS];
    volatile uint32_t *words; /* of the program */
    CUdeviceptr words_there;
    uint32_t results[STEPS_MAX][COUNT];
    unsigned result_count;
    uint64_t random;
    uint32_t next_word; /* each value has a word of its own */
} t;

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .entry add(.param .u64 from, .param .u64 to)\n{\n"
                          " .reg .u32 %r<6>; .reg .u64 %d<6>;\n"
                          " ld.param.u64 %d1, [from]; ld.param.u64 %d2, [to];\n"
                          " mov.u32 %r1, %tid.x; mul.wide.u32 %d3, %r1, 4;\n"
                          " add.u64 %d1, %d1, %d3; add.u64 %d2, %d2, %d3;\n"
                          " ld.global.u32 %r2, [%d1]; ld.global.u32 %r3, [%d2];\n"
                          " mad.lo.u32 %r4, %r3, 31, %r2; st.global.u32 [%d2], %r4;\n ret;\n}\n";

static const char *kinds = "egvpw";

static int has(char kind)
{
    return strchr(kinds, kind) != NULL;
}

static uint32_t choose(uint32_t count)
{
    t.random = t.random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(t.random >> 33) % count;
}

static void make_graphs(unsigned i)
{
    CUgraphNode node;
    CUgraph graph;

    CU(cuGraphCreate(&graph, 0));
    CU(cuGraphAddEventRecordNode(&node, graph, NULL, 0, t.events[i]));
    CU(cuGraphInstantiateWithFlags(&t.record[i], graph, 0));
    CU(cuGraphDestroy(graph));
    CU(cuGraphCreate(&graph, 0));
    CU(cuGraphAddEventWaitNode(&node, graph, NULL, 0, t.events[i]));
    CU(cuGraphInstantiateWithFlags(&t.await[i], graph, 0));
    CU(cuGraphDestroy(graph));
    CU(cuStreamBeginCapture_v2(t.streams[0], CU_STREAM_CAPTURE_MODE_RELAXED));
    CU(cuEventRecordWithFlags(t.events[i], t.streams[0], CU_EVENT_RECORD_EXTERNAL));
    CU(cuStreamEndCapture(t.streams[0], &graph));
    CU(cuGraphInstantiateWithFlags(&t.launch[i], graph, 0));
    CU(cuGraphDestroy(graph));
}

static void work(unsigned stream)
{
    int count = COUNT, rounds = 1 + (int)choose(50);

    CU(cuLaunchKernel(t.mix, 1, 1, 1, COUNT, 1, 1, 0, t.streams[stream],
                      (void *[]){&count, &rounds, &t.own[stream]}, NULL));
}

static void take_over(unsigned stream, CUdeviceptr copy)
{
    CU(cuLaunchKernel(t.add, 1, 1, 1, COUNT, 1, 1, 0, t.streams[stream],
                      (void *[]){&copy, &t.own[stream]}, NULL));
}

static void signal_event(unsigned event, CUstream stream)
{
    switch (has('g') ? choose(3) : 0) {
    case 0:
        CU(cuEventRecord(t.events[event], stream));
        break;
    case 1:
        CU(cuGraphLaunch(t.record[event], stream));
        break;
    default:
        CU(cuGraphLaunch(t.launch[event], stream));
    }
}

static void await_event(unsigned event, CUstream stream)
{
    if (!has('g') || choose(2))
        CU(cuStreamWaitEvent(stream, t.events[event], 0));
    else
        CU(cuGraphLaunch(t.await[event], stream));
}

static void hand_over(unsigned step)
{
    const CUdeviceptr copy = t.copies + (CUdeviceptr)step * COUNT * 4;
    const unsigned from = choose(STREAMS), to = (from + 1 + choose(STREAMS - 1)) % STREAMS;
    const unsigned event = choose(EVENTS), way = has('v') ? choose(4) : 2;
    const CUdeviceptr flag = t.flags + 4 * step;

    if (way == 0) /* the wait first */
        CU(cuStreamWaitValue32_v2(t.streams[to], flag, 1, CU_STREAM_WAIT_VALUE_GEQ));
    CU(cuMemcpyDtoDAsync_v2(copy, t.own[from], COUNT * 4, t.streams[from]));
    if (way < 2)
        CU(cuStreamWriteValue32_v2(t.streams[from], flag, 1, 0));
    else
        signal_event(event, t.streams[from]);
    work(from);
    if (way == 1)
        CU(cuStreamWaitValue32_v2(t.streams[to], flag, 1, CU_STREAM_WAIT_VALUE_GEQ));
    else if (way >= 2)
        await_event(event, t.streams[to]);
    take_over(to, copy);
}

/* The program's turn: a stream waits for a word that it stores, and answers in another. */
static void ask_program(void)
{
    const unsigned stream = choose(STREAMS);
    const uint32_t word = t.next_word++, back = t.next_word++;
    const uint32_t polls = choose(2);

    CU(cuStreamWaitValue32_v2(t.streams[stream], t.words_there + 4 * word, 1,
                              CU_STREAM_WAIT_VALUE_EQ));
    work(stream);
    if (polls)
        CU(cuStreamWriteValue32_v2(t.streams[stream], t.words_there + 4 * back, 1, 0));
    t.words[word] = 1;
    while (polls && !t.words[back])
        usleep(50);
}

static void read_back(unsigned stream)
{
    CU(cuMemcpyDtoHAsync_v2(t.results[t.result_count++], t.own[stream], COUNT * 4,
                            t.streams[stream]));
    if (has('w') && choose(2))
        CU(cuStreamSynchronize(t.streams[stream]));
}

static void wait_somewhere(void)
{
    unsigned event = choose(EVENTS);

    switch (choose(4)) {
    case 0:
        CU(cuCtxSynchronize());
        break;
    case 1:
        CU(cuEventSynchronize(t.events[event]));
        break;
    case 2:
        while (cuEventQuery(t.events[event]) == CUDA_ERROR_NOT_READY)
            usleep(50);
        break;
    default:
        CU(cuStreamSynchronize(t.streams[choose(STREAMS)]));
    }
}

static void take_step(unsigned step)
{
    switch (choose(8)) {
    case 0:
    case 1:
        work(choose(STREAMS));
        break;
    case 2:
        read_back(choose(STREAMS));
        break;
    case 3:
        if (has('p'))
            ask_program();
        break;
    case 4:
        if (has('w'))
            wait_somewhere();
        break;
    default:
        hand_over(step);
    }
}

static void begin(CUmodule kernels, CUmodule *own)
{
    CU(cuModuleLoadData(own, ptx));
    t.mix = program_function(kernels, "mix");
    t.add = program_function(*own, "add");
    CU(cuMemAlloc_v2(&t.copies, STEPS_MAX * COUNT * 4));
    CU(cuMemAlloc_v2(&t.flags, STEPS_MAX * 4));
    CU(cuMemsetD32_v2(t.flags, 0, STEPS_MAX));
    CU(cuMemHostAlloc((void **)&t.words, 8192, CU_MEMHOSTALLOC_DEVICEMAP));
    CU(cuMemHostGetDevicePointer_v2(&t.words_there, (void *)t.words, 0));
    memset((void *)t.words, 0, 8192);
    for (unsigned i = 0; i < STREAMS; i++) {
        CU(cuStreamCreate(&t.streams[i], CU_STREAM_NON_BLOCKING));
        CU(cuMemAlloc_v2(&t.own[i], COUNT * 4));
        CU(cuMemsetD32_v2(t.own[i], i + 1, COUNT));
    }
    for (unsigned i = 0; i < EVENTS; i++) {
        CU(cuEventCreate(&t.events[i], CU_EVENT_DISABLE_TIMING));
        make_graphs(i);
    }
    CU(cuCtxSynchronize());
}

static void end(void)
{
    for (unsigned i = 0; i < STREAMS; i++)
        CU(cuMemcpyDtoHAsync_v2(t.results[t.result_count++], t.own[i], COUNT * 4, t.streams[i]));
    CU(cuCtxSynchronize());
    for (unsigned i = 0; i < EVENTS; i++) {
        CU(cuGraphExecDestroy(t.record[i]));
        CU(cuGraphExecDestroy(t.await[i]));
        CU(cuGraphExecDestroy(t.launch[i]));
        CU(cuEventDestroy_v2(t.events[i]));
    }
    CU(cuMemFreeHost((void *)t.words));
}

int main(int argc, char **argv)
{
    unsigned steps = argc > 2 ? (unsigned)atoi(argv[2]) : 40;
    CUmodule kernels, own;

    if (argc > 3)
        kinds = argv[3];
    t.random = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    kernels = program_begin(&t.context);
    begin(kernels, &own);
    for (unsigned i = 0; i < steps && i < STEPS_MAX - STREAMS; i++)
        take_step(i);
    end();
    CU(cuModuleUnload(own));
    program_end(kernels, t.context);
    printf("weave: %08x\n", program_digest(t.results, sizeof(t.results)));
    return 0;
}
