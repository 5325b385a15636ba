/* SPDX-License-Identifier: Apache-2.0
 *
 * spins WAY [ROUNDS]: kernels that spin on words of the program's memory, which it stores while
 * they run, and nothing tells so. WAY:
 *
 *   plain       the store, then a wait for the stream
 *   command     a command on another stream between them
 *   query       the stream is asked until it is done
 *   event       an event is waited for
 *   copy        a copy that waits
 *   polled      the program polls a word that the kernel writes, and sends the next command
 *   thread      another thread stores while the program waits
 *   free        device memory is freed, which waits
 *   ping_pong   several words in turn, each answered by the kernel
 *   handshake   one word, which the program counts up, each time when the kernel has answered
 *   toggle      the same with a word that is 1, 0, 1, 0...
 *   data        the kernel reads what the program has written before the word
 *   managed, registered   where the word lies
 *   hidden      the kernel finds the word's address in memory
 *   fresh       plain, with memory that nobody has written
 *   last        plain, and nothing is read back
 *   graph       the kernel is a node of a graph
 */
#include "tests/programs/program.h"

#include <pthread.h>

enum { COUNT = 256, TURNS = 6, DATA = 512 };

/* spin: for each of `turns`: wait until flag[k] >= value, out[i] = out[i] * 5 + data[i] + k, then
 * ack[k] = value. One block. */
static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry spin(.param .u64 flag, .param .u32 value, .param .u64 data,\n"
    "                     .param .u64 out, .param .u64 ack, .param .u32 turns)\n"
    "{\n"
    "  .reg .pred %p<4>; .reg .u32 %r<10>; .reg .u64 %d<12>;\n"
    "  ld.param.u64 %d1, [flag]; ld.param.u32 %r1, [value]; ld.param.u64 %d2, [data];\n"
    "  ld.param.u64 %d3, [out]; ld.param.u64 %d4, [ack]; ld.param.u32 %r2, [turns];\n"
    "  mov.u32 %r3, %tid.x; mul.wide.u32 %d5, %r3, 4;\n"
    "  add.u64 %d6, %d2, %d5; add.u64 %d7, %d3, %d5;\n"
    "  mov.u32 %r4, 0;\n"
    "TURN:\n"
    "  setp.ge.u32 %p1, %r4, %r2; @%p1 bra END;\n"
    "SPIN:\n"
    "  ld.volatile.global.u32 %r5, [%d1]; setp.lt.u32 %p2, %r5, %r1; @%p2 bra SPIN;\n"
    "  ld.volatile.global.u32 %r6, [%d6]; ld.global.u32 %r7, [%d7];\n"
    "  mad.lo.u32 %r7, %r7, 5, %r6; add.u32 %r7, %r7, %r4; st.global.u32 [%d7], %r7;\n"
    "  bar.sync 0;\n"
    "  setp.ne.u32 %p3, %r3, 0; @%p3 bra NEXT;\n"
    "  st.volatile.global.u32 [%d4], %r1;\n"
    "NEXT:\n"
    "  add.u64 %d1, %d1, 4; add.u64 %d4, %d4, 4; add.u32 %r4, %r4, 1;\n"
    "  bra TURN;\n"
    "END:\n  ret;\n}\n"
    /* For k from 1 to `turns`: wait until *flag == base + k, or k & mask; out[i] = out[i] * 5 + k;
     * *ack = base + k. One block. */
    ".visible .entry hand(.param .u64 flag, .param .u32 base, .param .u64 ack, .param .u64 out,\n"
    "                     .param .u32 turns, .param .u32 mask)\n"
    "{\n"
    "  .reg .pred %p<4>; .reg .u32 %r<12>; .reg .u64 %d<8>;\n"
    "  ld.param.u64 %d1, [flag]; ld.param.u32 %r1, [base]; ld.param.u64 %d4, [ack];\n"
    "  ld.param.u64 %d3, [out]; ld.param.u32 %r2, [turns]; ld.param.u32 %r9, [mask];\n"
    "  mov.u32 %r3, %tid.x; mul.wide.u32 %d5, %r3, 4; add.u64 %d3, %d3, %d5; mov.u32 %r4, 1;\n"
    "TURN:\n"
    "  setp.gt.u32 %p1, %r4, %r2; @%p1 bra END;\n"
    "  add.u32 %r8, %r1, %r4; and.b32 %r10, %r8, %r9;\n"
    "SPIN:\n"
    "  ld.volatile.global.u32 %r5, [%d1]; setp.ne.u32 %p2, %r5, %r10; @%p2 bra SPIN;\n"
    "  ld.global.u32 %r7, [%d3]; mad.lo.u32 %r7, %r7, 5, %r4; st.global.u32 [%d3], %r7;\n"
    "  bar.sync 0;\n"
    "  setp.ne.u32 %p3, %r3, 0; @%p3 bra NEXT;\n"
    "  st.volatile.global.u32 [%d4], %r8;\n"
    "NEXT:\n"
    "  add.u32 %r4, %r4, 1; bra TURN;\n"
    "END:\n  ret;\n}\n"
    ".visible .entry spin_at(.param .u64 place, .param .u32 value, .param .u64 out)\n"
    "{\n"
    "  .reg .pred %p<2>; .reg .u32 %r<6>; .reg .u64 %d<6>;\n"
    "  ld.param.u64 %d1, [place]; ld.global.u64 %d2, [%d1]; ld.param.u32 %r1, [value];\n"
    "  ld.param.u64 %d3, [out]; mov.u32 %r3, %tid.x; mul.wide.u32 %d4, %r3, 4;\n"
    "  add.u64 %d3, %d3, %d4;\n"
    "SPIN:\n"
    "  ld.volatile.global.u32 %r2, [%d2]; setp.lt.u32 %p1, %r2, %r1; @%p1 bra SPIN;\n"
    "  ld.global.u32 %r4, [%d3]; mad.lo.u32 %r4, %r4, 5, %r1; st.global.u32 [%d3], %r4;\n"
    "  ret;\n}\n";

static struct {
    const char *way;
    CUcontext context;
    CUstream stream, other;
    CUevent event;
    CUgraphExec exec;
    CUfunction spin, spin_at, hand, fill;
    volatile uint32_t *words; /* flags, answers, data */
    void *pages;
    CUdeviceptr words_there, out, rest, place;
} t;

static int is(const char *way)
{
    return !strcmp(t.way, way);
}

static int is_hand(void)
{
    return is("handshake") || is("toggle");
}

static void make_words(void)
{
    if (is("managed")) {
        CU(cuMemAllocManaged(&t.words_there, 4096, CU_MEM_ATTACH_GLOBAL));
        t.words = (void *)(uintptr_t)t.words_there;
        return;
    }
    if (is("registered")) {
        if (posix_memalign(&t.pages, 4096, 4096))
            exit(1);
        memset(t.pages, 0, 4096);
        CU(cuMemHostRegister_v2(t.pages, 4096, CU_MEMHOSTREGISTER_DEVICEMAP));
        t.words = t.pages;
    } else {
        CU(cuMemHostAlloc((void **)&t.words, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
    }
    CU(cuMemHostGetDevicePointer_v2(&t.words_there, (void *)t.words, 0));
}

static void free_words(void)
{
    if (is("managed"))
        CU(cuMemFree_v2(t.words_there));
    else if (is("registered"))
        CU(cuMemHostUnregister(t.pages));
    else
        CU(cuMemFreeHost((void *)t.words));
    free(t.pages);
}

static unsigned turns(void)
{
    return is("ping_pong") ? TURNS : 1;
}

static void send_graph(void **arguments)
{
    const CUDA_KERNEL_NODE_PARAMS kernel = {.func = t.spin,
                                            .gridDimX = 1,
                                            .gridDimY = 1,
                                            .gridDimZ = 1,
                                            .blockDimX = COUNT,
                                            .blockDimY = 1,
                                            .blockDimZ = 1,
                                            .kernelParams = arguments};
    CUgraphNode node;
    CUgraph graph;

    if (t.exec)
        CU(cuGraphExecDestroy(t.exec));
    CU(cuGraphCreate(&graph, 0));
    CU(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &kernel));
    CU(cuGraphInstantiateWithFlags(&t.exec, graph, 0));
    CU(cuGraphLaunch(t.exec, t.stream));
    CU(cuGraphDestroy(graph));
}

static void send_spin(uint32_t round)
{
    CUdeviceptr data = t.words_there + 4 * DATA, ack = t.words_there + 256;
    unsigned count = turns();

    unsigned base = (round - 1) * TURNS, last = TURNS, mask = is("toggle") ? 1 : ~0u;
    void *hand[] = {&t.words_there, &base, &ack, &t.out, &last, &mask};
    void *list[] = {&t.words_there, &round, &data, &t.out, &ack, &count};

    if (is("graph"))
        send_graph(list);
    else if (is_hand())
        CU(cuLaunchKernel(t.hand, 1, 1, 1, COUNT, 1, 1, 0, t.stream, hand, NULL));
    else if (is("hidden"))
        CU(cuLaunchKernel(t.spin_at, 1, 1, 1, COUNT, 1, 1, 0, t.stream,
                          (void *[]){&t.place, &round, &t.out}, NULL));
    else
        CU(cuLaunchKernel(t.spin, 1, 1, 1, COUNT, 1, 1, 0, t.stream, list, NULL));
}

static void *store_late(void *round)
{
    usleep(20000); /* later is as good */
    t.words[0] = (uint32_t)(uintptr_t)round;
    return NULL;
}

static void shake_hands(uint32_t round)
{
    for (uint32_t k = (round - 1) * TURNS + 1; k <= round * TURNS; k++) {
        t.words[0] = is("toggle") ? k & 1 : k;
        while (t.words[64] != k)
            usleep(50);
    }
}

static void answer(uint32_t round)
{
    if (is_hand()) {
        shake_hands(round);
        return;
    }
    for (unsigned i = 0; i < turns(); i++) {
        for (unsigned k = 0; is("data") && k < COUNT; k++)
            t.words[DATA + k] = round * k;
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        t.words[i] = round;
        while (is("ping_pong") && t.words[64 + i] != round)
            usleep(50);
    }
}

static void wait_for_it(uint32_t round)
{
    uint32_t first;

    if (is("command") || is("polled")) {
        while (is("polled") && t.words[64] != round)
            usleep(50);
        program_launch(t.fill, COUNT, t.other, (void *[]){&(int){COUNT}, &round, &t.rest});
    }
    if (is("event")) {
        CU(cuEventRecord(t.event, t.stream));
        CU(cuEventSynchronize(t.event));
    }
    while (is("query") && cuStreamQuery(t.stream) == CUDA_ERROR_NOT_READY)
        usleep(50);
    if (is("copy"))
        CU(cuMemcpyDtoH_v2(&first, t.out, 4));
    if (is("free")) {
        CU(cuMemFree_v2(t.rest));
        CU(cuMemAlloc_v2(&t.rest, COUNT * 4));
    }
    if (!is("event") && !is("query") && !is("copy") && !is("free"))
        CU(cuStreamSynchronize(t.stream));
}

static void run_round(uint32_t round)
{
    pthread_t thread;

    send_spin(round);
    if (is("thread")) {
        pthread_create(&thread, NULL, store_late, (void *)(uintptr_t)round);
        wait_for_it(round);
        pthread_join(thread, NULL);
        return;
    }
    answer(round);
    wait_for_it(round);
}

int main(int argc, char **argv)
{
    uint32_t rounds = argc > 2 ? (uint32_t)atoi(argv[2]) : 3;
    uint32_t out[COUNT] = {0};
    CUmodule kernels, spins;

    t.way = argc > 1 ? argv[1] : "plain";
    kernels = program_begin(&t.context);
    CU(cuModuleLoadData(&spins, ptx));
    t.fill = program_function(kernels, "fill");
    t.spin = program_function(spins, "spin");
    t.spin_at = program_function(spins, "spin_at");
    t.hand = program_function(spins, "hand");
    CU(cuStreamCreate(&t.stream, is("copy") ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING));
    CU(cuStreamCreate(&t.other, CU_STREAM_NON_BLOCKING));
    CU(cuEventCreate(&t.event, CU_EVENT_DISABLE_TIMING));
    CU(cuMemAlloc_v2(&t.out, COUNT * 4));
    CU(cuMemAlloc_v2(&t.rest, COUNT * 4));
    CU(cuMemAlloc_v2(&t.place, 8));
    if (!is("fresh"))
        CU(cuMemsetD32_v2(t.out, 1, COUNT));
    make_words();
    CU(cuMemcpyHtoD_v2(t.place, &t.words_there, 8));
    CU(cuCtxSynchronize());
    for (uint32_t round = 1; round <= rounds; round++)
        run_round(round);
    if (!is("last")) {
        CU(cuMemcpyDtoHAsync_v2(out, t.out, sizeof(out), t.stream));
        CU(cuStreamSynchronize(t.stream));
    }
    free_words();
    CU(cuMemFree_v2(t.place));
    CU(cuMemFree_v2(t.rest));
    CU(cuMemFree_v2(t.out));
    CU(cuModuleUnload(spins));
    program_end(kernels, t.context);
    printf("spins %s: %08x\n", t.way, program_digest(out, sizeof(out)));
    return 0;
}
