/* SPDX-License-Identifier: Apache-2.0
 *
 * Virtual time to the nanosecond: what docs/emu.md says, computed by hand. Each test begins on an
 * idle device; its figures count from there. A call takes 10 ns and what it sends arrives 50 ns
 * later.
 */
#include <pthread.h>

#include "tests/emu/emu_virtual.h"

#define NOW(ns) CHECK_EQ_INT(times->now() - base, ns)

static uint64_t base;
static CUcontext context;
static CUdeviceptr memory;
static char *pinned;
static CUmodule module;

static void ran(struct tsm_emu_ticket *ticket, long long start, long long end, int line)
{
    uint64_t from = 0, to = 0;
    enum tsm_emu_times_state state = times->read(ticket, &from, &to);

    check_int(state, TSM_EMU_TIMES_KNOWN, __FILE__, line, "the ticket's state");
    check_int((long long)(from - base), start, __FILE__, line, "the start");
    check_int((long long)(to - base), end, __FILE__, line, "the end");
}
#define RAN(ticket, start, end) ran(ticket, start, end, __LINE__)

static CUstream stream_of(unsigned flags, int priority)
{
    CUstream stream = NULL;

    OK(cuStreamCreateWithPriority(&stream, flags, priority));
    return stream;
}

static void begin(void)
{
    OK(cuCtxSynchronize());
    base = times->now();
}

static void ask(CUstream stream, unsigned times_asked)
{
    for (unsigned i = 0; i < times_asked; i++)
        CHECK_EQ_INT(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
}

/* ---- tests --------------------------------------------------------------------------------- */

static void one_kernel(void)
{
    struct tsm_emu_ticket *kernel;
    uint64_t unused;

    begin();
    SENT(kernel, spin(NULL, 1, 900));
    NOW(10);
    CHECK_EQ_INT(times->read(kernel, &unused, &unused), TSM_EMU_TIMES_NOT_YET);
    OK(cuCtxSynchronize());
    NOW(1060);
    RAN(kernel, 60, 1060);
    OK(cuCtxSynchronize());
    NOW(1070);
    SENT(kernel, cuCtxGetDevice(&(CUdevice){0}));
    CHECK_EQ_INT(times->read(kernel, &unused, &unused), TSM_EMU_TIMES_NONE);
    NOW(1070);
}

/* Ten blocks on four slots are three turns; two launches share the slots. */
static void slots(void)
{
    CUstream other = stream_of(CU_STREAM_NON_BLOCKING, 0);
    struct tsm_emu_ticket *many, *few;

    begin();
    SENT(many, spin(NULL, 10, 900));
    SENT(few, spin(other, 1, 300));
    OK(cuCtxSynchronize());
    RAN(many, 60, 60 + 3 * 900 + 100);
    RAN(few, 60 + 2 * 900, 60 + 2 * 900 + 300 + 100);
    NOW(60 + 3 * 900 + 100);
    OK(cuStreamDestroy_v2(other));
}

static void copies_beside_kernels(void)
{
    CUstream a = stream_of(CU_STREAM_NON_BLOCKING, 0), b = stream_of(CU_STREAM_NON_BLOCKING, 0);
    struct tsm_emu_ticket *kernel, *in, *out, *in_again, *inside;

    begin();
    SENT(kernel, spin(a, 1, 900));
    SENT(in, cuMemcpyHtoDAsync_v2(memory, pinned, 500, b));
    SENT(out, cuMemcpyDtoHAsync_v2(pinned, memory, 500, b));
    SENT(in_again, cuMemcpyHtoDAsync_v2(memory, pinned, 3, a));
    SENT(inside, cuMemcpyDtoDAsync_v2(memory, memory + 1024, 1001, a));
    OK(cuStreamSynchronize(a));
    NOW(1184);
    OK(cuCtxSynchronize());
    NOW(1610);
    RAN(kernel, 60, 1060);
    RAN(in, 70, 70 + 20 + 500);
    RAN(out, 590, 590 + 20 + 1000);
    RAN(in_again, 1060, 1083);
    RAN(inside, 1083, 1083 + 101);
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
}

/* An engine serves who is ready first, not who was sent first. */
static void first_come(void)
{
    CUstream a = stream_of(CU_STREAM_NON_BLOCKING, 0), b = stream_of(CU_STREAM_NON_BLOCKING, 0);
    struct tsm_emu_ticket *late, *early;

    begin();
    OK(spin(a, 1, 900));
    SENT(late, cuMemcpyHtoDAsync_v2(memory, pinned, 100, a));
    SENT(early, cuMemcpyHtoDAsync_v2(memory + 4096, pinned, 2000, b));
    OK(cuCtxSynchronize());
    RAN(early, 80, 80 + 20 + 2000);
    RAN(late, 2100, 2220);
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
}

static void events(void)
{
    CUstream a = stream_of(CU_STREAM_NON_BLOCKING, 0), b = stream_of(CU_STREAM_NON_BLOCKING, 0);
    struct tsm_emu_ticket *kernel, *mark;
    CUevent from, to;
    float ms = 0;

    OK(cuEventCreate(&from, 0));
    OK(cuEventCreate(&to, 0));
    begin();
    SENT(mark, cuEventRecord(from, a));
    OK(spin(a, 1, 900));
    OK(cuEventRecord(to, a));
    OK(cuStreamWaitEvent(b, to, 0));
    SENT(kernel, spin(b, 1, 300));
    OK(cuEventSynchronize(to));
    NOW(1070);
    OK(cuEventElapsedTime(&ms, from, to));
    NOW(1080);
    CHECK(ms == (float)(1010 / 1e6));
    OK(cuCtxSynchronize());
    RAN(mark, 60, 60);
    RAN(kernel, 1070, 1470);
    /* A wait for what is over by now costs nothing but the call. */
    OK(cuStreamWaitEvent(b, from, 0));
    SENT(kernel, spin(b, 1, 300));
    OK(cuCtxSynchronize());
    RAN(kernel, 1470 + 20 + 50, 1470 + 20 + 50 + 400);
    OK(cuEventDestroy_v2(from));
    OK(cuEventDestroy_v2(to));
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
}

static void default_stream(void)
{
    CUstream a = stream_of(0, 0), b = stream_of(0, 0), c = stream_of(CU_STREAM_NON_BLOCKING, 0);
    struct tsm_emu_ticket *first, *fill, *after, *beside;

    begin();
    SENT(first, spin(a, 1, 900));
    SENT(fill, cuMemsetD8Async(memory, 1, 1000, NULL));
    SENT(after, spin(b, 1, 300));
    SENT(beside, spin(c, 1, 300));
    OK(cuStreamSynchronize(NULL));
    NOW(1560);
    OK(cuCtxSynchronize());
    RAN(first, 60, 1060);
    RAN(fill, 1060, 1160);
    RAN(after, 1160, 1560);
    RAN(beside, 90, 490);
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
    OK(cuStreamDestroy_v2(c));
}

/* Both wait for the same event: the one with the higher priority takes the slots. */
static void priorities(void)
{
    CUstream first = stream_of(CU_STREAM_NON_BLOCKING, 0);
    CUstream low = stream_of(CU_STREAM_NON_BLOCKING, 0);
    CUstream high = stream_of(CU_STREAM_NON_BLOCKING, -1);
    CUstream low_too = stream_of(CU_STREAM_NON_BLOCKING, 0);
    struct tsm_emu_ticket *of_low, *of_high, *of_low_too;
    CUevent event;

    OK(cuEventCreate(&event, 0));
    begin();
    OK(spin(first, 1, 900));
    OK(cuEventRecord(event, first));
    OK(cuStreamWaitEvent(low_too, event, 0));
    OK(cuStreamWaitEvent(low, event, 0));
    OK(cuStreamWaitEvent(high, event, 0));
    SENT(of_low_too, spin(low_too, 4, 300));
    SENT(of_low, spin(low, 4, 300));
    SENT(of_high, spin(high, 4, 300));
    OK(cuCtxSynchronize());
    RAN(of_high, 1060, 1460);
    RAN(of_low, 1360, 1760);
    RAN(of_low_too, 1660, 2060);
    OK(cuEventDestroy_v2(event));
    OK(cuStreamDestroy_v2(first));
    OK(cuStreamDestroy_v2(low));
    OK(cuStreamDestroy_v2(high));
    OK(cuStreamDestroy_v2(low_too));
}

static void add_one(void *user)
{
    ++*(int *)user;
}

static void functions(void)
{
    CUstream a = stream_of(CU_STREAM_NON_BLOCKING, 0), b = stream_of(CU_STREAM_NON_BLOCKING, 0);
    struct tsm_emu_ticket *one, *two, *kernel;
    int count = 0;

    begin();
    SENT(one, cuLaunchHostFunc(a, add_one, &count));
    SENT(two, cuLaunchHostFunc(b, add_one, &count));
    SENT(kernel, spin(b, 1, 300));
    OK(cuCtxSynchronize());
    CHECK_EQ_INT(count, 2);
    RAN(one, 60, 360);
    RAN(two, 360, 660);
    RAN(kernel, 660, 1060);
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
}

/* Each question takes 10 ns; the kernel ends at 1060. */
static void polling(void)
{
    CUstream a = stream_of(CU_STREAM_NON_BLOCKING, 0);
    CUevent from, to;
    unsigned asked = 0;
    float ms;

    OK(cuEventCreate(&from, 0));
    OK(cuEventCreate(&to, 0));
    begin();
    OK(spin(a, 1, 900));
    while (cuStreamQuery(a) == CUDA_ERROR_NOT_READY)
        asked++;
    CHECK_EQ_INT(asked, 104);
    NOW(1060);
    OK(cuEventRecord(from, a)); /* at 1120 */
    OK(spin(a, 1, 900));        /* from 1130 to 2130 */
    OK(cuEventRecord(to, a));
    for (asked = 0; cuEventQuery(to) == CUDA_ERROR_NOT_READY;)
        asked++;
    CHECK_EQ_INT(asked, 103);
    NOW(2130);
    begin();
    OK(spin(a, 1, 900));
    OK(cuEventRecord(to, a));
    for (asked = 0; cuEventElapsedTime(&ms, from, to) == CUDA_ERROR_NOT_READY;)
        asked++;
    CHECK_EQ_INT(asked, 103);
    OK(cuEventDestroy_v2(from));
    OK(cuEventDestroy_v2(to));
    OK(cuStreamDestroy_v2(a));
}

/* A question lets run what is ready, and nothing more: what is sent afterwards may come first. */
static void question_does_not_hurry(void)
{
    CUstream a = stream_of(CU_STREAM_NON_BLOCKING, 0), b = stream_of(CU_STREAM_NON_BLOCKING, 0);
    struct tsm_emu_ticket *late, *early;

    begin();
    OK(spin(a, 1, 900));
    SENT(late, spin(a, 4, 300));
    ask(a, 4); /* it is 60 now */
    SENT(early, spin(b, 4, 1500));
    OK(cuCtxSynchronize());
    RAN(early, 120, 960 + 1500 + 100); /* its last block waits for the first kernel's slot */
    RAN(late, 1620, 1620 + 2 * 300 + 100);
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
}

static void waiting_calls(void)
{
    struct tsm_emu_ticket *copy;
    CUdeviceptr extra;
    char pageable[100];

    begin();
    SENT(copy, cuMemcpyHtoD_v2(memory, pageable, 100));
    NOW(180);
    RAN(copy, 60, 180);
    SENT(copy, cuMemcpyDtoH_v2(pageable, memory, 100));
    NOW(180 + 60 + 220);
    RAN(copy, 240, 460);
    OK(cuMemAlloc_v2(&extra, 64));
    NOW(460);
    OK(spin(NULL, 1, 900));
    OK(cuMemFree_v2(extra));
    NOW(460 + 60 + 1000);
    SENT(copy, cuMemsetD8_v2(memory, 0, 1000));
    NOW(1530);
    OK(cuCtxSynchronize());
    RAN(copy, 1580, 1680);
    NOW(1680);
}

/* A stream that is gone is waited for all the same. */
static void gone_streams(void)
{
    CUstream a = stream_of(0, 0), b = stream_of(CU_STREAM_NON_BLOCKING, 0);
    struct tsm_emu_ticket *kernel;

    begin();
    OK(spin(a, 1, 900));
    OK(spin(b, 1, 1500));
    ask(a, 5); /* both have run, and end later */
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
    SENT(kernel, spin(NULL, 1, 300));
    OK(cuStreamSynchronize(NULL));
    RAN(kernel, 1060, 1460);
    NOW(1460);
    OK(cuCtxSynchronize());
    NOW(1670);
}

/* A wait for a value ends when the command ends that writes it, or at the program's next call. */
static void values(void)
{
    CUstream a = stream_of(CU_STREAM_NON_BLOCKING, 0), b = stream_of(CU_STREAM_NON_BLOCKING, 0);
    struct tsm_emu_ticket *kernel;

    OK(cuMemsetD32_v2(memory, 0, 1));
    begin();
    OK(cuStreamWaitValue32(a, memory, 1, CU_STREAM_WAIT_VALUE_EQ));
    SENT(kernel, spin(a, 1, 300));
    OK(spin(b, 1, 900));
    OK(cuStreamWriteValue32(b, memory, 1, 0));
    OK(cuStreamSynchronize(a));
    RAN(kernel, 1080, 1480);
    NOW(1480);
    begin();
    OK(cuStreamWaitValue32(a, memory, 1, CU_STREAM_WAIT_VALUE_EQ)); /* it is there already */
    SENT(kernel, spin(a, 1, 300));
    OK(cuCtxSynchronize());
    RAN(kernel, 70, 470);
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
}

/* A recorder's own calls move no clock and take no engine. */
static void aside(void)
{
    CUstream a = stream_of(CU_STREAM_NON_BLOCKING, 0);
    struct tsm_emu_ticket *copy;
    char bytes[100];

    begin();
    OK(spin(a, 1, 900));
    times->aside(true);
    OK(cuStreamSynchronize(a));
    OK(cuMemcpyHtoD_v2(memory, bytes, 100));
    CHECK_EQ_INT(cuStreamQuery(a), CUDA_ERROR_NOT_READY);
    times->aside(false);
    NOW(10);
    CHECK_EQ_INT(cuStreamQuery(a), CUDA_ERROR_NOT_READY);
    NOW(20);
    OK(cuMemcpyHtoDAsync_v2(memory, pinned, 100, a));
    SENT(copy, cuMemcpyHtoD_v2(memory, bytes, 100));
    NOW(210);
    OK(cuCtxSynchronize());
    RAN(copy, 90, 210);
    NOW(1180);
    OK(cuStreamDestroy_v2(a));
}

/* %globaltimer: the launch's start, and the warp's instructions before the reading. */
static void timer(void)
{
    struct tsm_emu_ticket *kernel;
    uint64_t seen[2] = {0, 0};
    CUfunction function;
    void *arguments[] = {&memory};

    OK(cuModuleGetFunction(&function, module, "timer"));
    begin();
    SENT(kernel, cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    OK(cuMemcpyDtoH_v2(seen, memory, 16));
    RAN(kernel, 60,
        60 + 9 + 100); /* a reading is two instructions, and the end of the kernel one */
    CHECK_EQ_INT(seen[0] - base, 62);
    CHECK_EQ_INT(seen[1] - base, 64);
}

/* ---- threads that share no engine ----------------------------------------------------------- */

#define ROUNDS 50

/* Each round: the call, the way there and the kernel. */
static void *launches(void *user)
{
    CUstream stream;

    OK(cuCtxSetCurrent(context));
    stream = stream_of(CU_STREAM_NON_BLOCKING, 0);
    for (unsigned i = 0; i < ROUNDS; i++) {
        OK(spin(stream, 1, 900));
        OK(cuStreamSynchronize(stream));
    }
    *(uint64_t *)user = times->now();
    return NULL;
}

/* Fills take no engine. */
static void *fills(void *user)
{
    CUstream stream;

    OK(cuCtxSetCurrent(context));
    stream = stream_of(CU_STREAM_NON_BLOCKING, 0);
    for (unsigned i = 0; i < ROUNDS; i++) {
        OK(cuMemsetD8Async(memory, 1, 1000, stream));
        while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY) {
        }
    }
    *(uint64_t *)user = times->now();
    return NULL;
}

static void threads(void)
{
    uint64_t one = 0, two = 0;
    pthread_t a, b;

    CHECK(pthread_create(&a, NULL, launches, &one) == 0);
    CHECK(pthread_create(&b, NULL, fills, &two) == 0);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    CHECK_EQ_INT(one, ROUNDS * 1060);
    CHECK_EQ_INT(two, ROUNDS * 160);
    CHECK_EQ_INT(times->now(), 0);
}

/* ---- graphs -------------------------------------------------------------------------------- */

static CUDA_KERNEL_NODE_PARAMS kernel_node(void **arguments)
{
    return (CUDA_KERNEL_NODE_PARAMS){.func = spin_function,
                                     .gridDimX = 1,
                                     .gridDimY = 1,
                                     .gridDimZ = 1,
                                     .blockDimX = 32,
                                     .blockDimY = 1,
                                     .blockDimZ = 1,
                                     .kernelParams = arguments};
}

/* A fill, two kernels side by side, then a third one, which a host function precedes. */
static void graph_branches(void)
{
    const CUDA_MEMSET_NODE_PARAMS fill = {
        .dst = memory, .value = 1, .elementSize = 1, .width = 1000, .height = 1};
    unsigned long_n = 298, short_n = 98;
    void *long_arguments[] = {&long_n}, *short_arguments[] = {&short_n};
    CUDA_KERNEL_NODE_PARAMS long_one = kernel_node(long_arguments);
    CUDA_KERNEL_NODE_PARAMS short_one = kernel_node(short_arguments);
    int count = 0;
    const CUDA_HOST_NODE_PARAMS function = {add_one, &count};
    struct tsm_emu_ticket *launch;
    CUgraphNode first, one, two, host, last;
    CUgraphExec exec;
    CUgraph graph;

    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddMemsetNode(&first, graph, NULL, 0, &fill, context));
    OK(cuGraphAddKernelNode_v2(&one, graph, &first, 1, &long_one));
    OK(cuGraphAddKernelNode_v2(&two, graph, &first, 1, &short_one));
    OK(cuGraphAddHostNode(&host, graph, &two, 1, &function));
    OK(cuGraphAddKernelNode_v2(&last, graph, (CUgraphNode[]){one, host}, 2, &short_one));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    begin();
    SENT(launch, cuGraphLaunch(exec, NULL));
    NOW(10);
    OK(cuStreamSynchronize(NULL));
    /* 60 fill 160, kernels until 1160 and 560, function until 860, last kernel from 1160. */
    RAN(launch, 60, 1560);
    NOW(1560);
    CHECK_EQ_INT(count, 1);
    OK(cuGraphLaunch(exec, NULL));
    SENT(launch, cuGraphLaunch(exec, NULL));
    OK(cuStreamSynchronize(NULL));
    RAN(launch, 1560 + 60 + 1500, 1560 + 60 + 3000);
    CHECK_EQ_INT(count, 3);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

/* A graph in a graph, and a node that is switched off. */
static void graph_in_graph(void)
{
    unsigned n = 298;
    void *arguments[] = {&n};
    CUDA_KERNEL_NODE_PARAMS kernel = kernel_node(arguments);
    CUgraphNode in[3], before, child, after, beside;
    struct tsm_emu_ticket *launch;
    CUgraph graph, inner;
    CUgraphExec exec;

    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphCreate(&inner, 0));
    OK(cuGraphAddKernelNode_v2(&in[0], inner, NULL, 0, &kernel));
    OK(cuGraphAddKernelNode_v2(&in[1], inner, NULL, 0, &kernel));
    OK(cuGraphAddKernelNode_v2(&in[2], inner, &in[1], 1, &kernel));
    OK(cuGraphAddKernelNode_v2(&before, graph, NULL, 0, &kernel));
    OK(cuGraphAddChildGraphNode(&child, graph, &before, 1, inner));
    OK(cuGraphAddKernelNode_v2(&after, graph, &child, 1, &kernel));
    OK(cuGraphAddKernelNode_v2(&beside, graph, NULL, 0, &kernel));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    begin();
    SENT(launch, cuGraphLaunch(exec, NULL));
    OK(cuCtxSynchronize());
    RAN(launch, 60, 60 + 4 * 1000);
    OK(cuGraphNodeSetEnabled(exec, before, 0));
    begin();
    SENT(launch, cuGraphLaunch(exec, NULL));
    OK(cuCtxSynchronize());
    RAN(launch, 60, 60 + 3 * 1000);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuGraphDestroy(inner));
}

/* The nodes of a conditional node's graph run one after the other, in its turn. */
static void conditional(void)
{
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    unsigned n = 298;
    void *arguments[] = {&n};
    CUDA_KERNEL_NODE_PARAMS kernel = kernel_node(arguments);
    CUgraphConditionalHandle handle;
    CUgraphNode node, in[2];
    struct tsm_emu_ticket *launch;
    CUgraphExec exec;
    CUgraph graph, *body;

    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphConditionalHandleCreate(&handle, graph, context, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
    p.conditional = (CUDA_CONDITIONAL_NODE_PARAMS){handle, CU_GRAPH_COND_TYPE_IF, 1, NULL, context};
    OK(cuGraphAddNode(&node, graph, NULL, 0, &p));
    body = p.conditional.phGraph_out;
    OK(cuGraphAddKernelNode_v2(&in[0], *body, NULL, 0, &kernel));
    OK(cuGraphAddKernelNode_v2(&in[1], *body, NULL, 0, &kernel));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    begin();
    SENT(launch, cuGraphLaunch(exec, NULL));
    OK(cuCtxSynchronize());
    RAN(launch, 60, 60 + 2 * 1000);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

/* The clock goes where it is set, also back; a later call adds its cost there. */
static void set_clock(void)
{
    CUstream a = stream_of(CU_STREAM_NON_BLOCKING, 0), b = stream_of(CU_STREAM_NON_BLOCKING, 0);
    struct tsm_emu_ticket *late, *early;

    CHECK(times->version >= 2);
    begin();
    times->set_now(times->now() + 5000);
    SENT(late, spin(a, 1, 900));
    NOW(5010);
    times->set_now(times->now() - 5010 + 300);
    SENT(early, spin(b, 1, 300));
    NOW(310);
    OK(cuCtxSynchronize());
    RAN(early, 360, 760);
    RAN(late, 5060, 6060);
    NOW(6060);
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
}

int main(void)
{
    static const char text[] = PTX_HEAD PTX_SPIN
        ".visible .entry timer(.param .u64 p)\n{\n"
        ".reg .b64 %rd<4>;\n"
        "ld.param.u64 %rd1, [p]; mov.u64 %rd2, %globaltimer; mov.u64 %rd3, %globaltimer;\n"
        "st.global.u64 [%rd1], %rd2; st.global.u64 [%rd1+8], %rd3; ret;\n}\n";

    context = virtual_context(text);
    OK(cuModuleLoadData(&module, text));
    OK(cuMemAlloc_v2(&memory, 1 << 16));
    OK(cuMemAllocHost_v2((void **)&pinned, 1 << 16));
    CHECK_EQ_INT(times->now(), 0);
    threads();
    one_kernel();
    slots();
    copies_beside_kernels();
    first_come();
    events();
    default_stream();
    priorities();
    functions();
    polling();
    question_does_not_hurry();
    waiting_calls();
    gone_streams();
    values();
    aside();
    set_clock();
    timer();
    graph_branches();
    graph_in_graph();
    conditional();
    OK(cuCtxDestroy_v2(context));
    return check_result();
}
