/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that fail on the device, behind others that do not: faults WAY [KIND]. The program goes
 * on after it was told, and exits 0. KIND: trap, assert, wild, odd (a misaligned address), stuck
 * (all warps wait). WAY, where the kernel fails and who says it:
 *
 *   plain     on a stream, which is waited for
 *   late      the same, with good kernels before and behind it that nobody waits for
 *   graph     it is a node of a graph
 *   event     another stream waits for it by an event, and is waited for
 *   copy      a copy that waits says it
 *   launch    the next launch says it, when the device has had time
 *   query     the stream is asked until it says it
 *   other     in a context of its own; another one goes on, and its results are read
 *   many      on one of eight streams, each of which has good kernels
 *   threads   beside a second thread, which sends, waits and reads in the same context until a call
 *             gives it the error
 *   reset     in the primary context, which is reset and used again
 *   aborts    plain, and the program aborts
 */
#include "tests/programs/program.h"

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

enum { COUNT = 64, SIZE = 4 * COUNT, MANY = 8 };

/* may_fail(words, seed, kind): each of 64 threads: words[i] = words[i] * 3 + seed; then fails. */
static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n,\n"
    "                           .param .b64 s);\n"
    ".global .align 1 .b8 text[6] = {119, 111, 114, 100, 115, 0};\n"
    ".visible .entry may_fail(.param .u64 words, .param .u32 seed, .param .u32 kind)\n"
    "{\n"
    "  .reg .pred %p<4>; .reg .u32 %r<10>; .reg .u64 %d<8>;\n"
    "  ld.param.u64 %d1, [words]; ld.param.u32 %r1, [seed]; ld.param.u32 %r2, [kind];\n"
    "  mov.u32 %r3, %tid.x; mul.wide.u32 %d2, %r3, 4; add.u64 %d3, %d1, %d2;\n"
    "  setp.eq.u32 %p1, %r2, 0; @%p1 bra GOOD;\n"
    "  setp.eq.u32 %p1, %r2, 1; @%p1 bra TRAP;\n"
    "  setp.eq.u32 %p1, %r2, 2; @%p1 bra ASSERT;\n"
    "  setp.eq.u32 %p1, %r2, 3; @%p1 bra WILD;\n"
    "  setp.eq.u32 %p1, %r2, 4; @%p1 bra ODD;\n"
    "  setp.lt.u32 %p2, %r3, 32; @%p2 bra WAIT;\n"
    "  bar.sync 1, 128;\n"
    "WAIT:\n"
    "  bar.sync 2, 128;\n"
    "GOOD:\n"
    "  ld.global.u32 %r4, [%d3]; mad.lo.u32 %r4, %r4, 3, %r1; st.global.u32 [%d3], %r4;\n"
    "  ret;\n"
    "TRAP:\n  trap;\n"
    "WILD:\n  mov.u64 %d4, 64; st.global.u32 [%d4], %r1; ret;\n"
    "ODD:\n  st.global.u32 [%d3+2], %r1; ret;\n"
    "ASSERT:\n"
    "  mov.u64 %d5, text; cvta.global.u64 %d5, %d5;\n"
    "  { .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;\n"
    "    st.param.b64 [a], %d5; st.param.b64 [b], %d5; st.param.b32 [c], 7;\n"
    "    st.param.b64 [d], %d5; st.param.b64 [e], 1;\n"
    "    call.uni __assertfail, (a, b, c, d, e); }\n"
    "  ret;\n}\n";

static const char *const kinds[] = {"none", "trap", "assert", "wild", "odd", "stuck"};

static struct {
    const char *way;
    unsigned kind;
} t;

struct setup {
    CUcontext context;
    CUfunction kernel;
    CUstream stream, other;
    CUdeviceptr words;
    CUevent event;
};

static bool is(const char *way)
{
    return !strcmp(t.way, way);
}

static void make(struct setup *s)
{
    CUmodule module;

    CU(cuCtxGetCurrent(&s->context));
    CU(cuModuleLoadData(&module, ptx));
    CU(cuModuleGetFunction(&s->kernel, module, "may_fail"));
    CU(cuStreamCreate(&s->stream, is("copy") ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING));
    CU(cuStreamCreate(&s->other, CU_STREAM_NON_BLOCKING));
    CU(cuEventCreate(&s->event, CU_EVENT_DISABLE_TIMING));
    CU(cuMemAlloc_v2(&s->words, SIZE));
    CU(cuMemsetD32_v2(s->words, 1, COUNT));
    CU(cuCtxSynchronize());
}

static CUresult launch(const struct setup *s, CUstream stream, unsigned seed, unsigned kind)
{
    CUdeviceptr words = s->words;

    return cuLaunchKernel(s->kernel, 1, 1, 1, COUNT, 1, 1, 0, stream,
                          (void *[]){&words, &seed, &kind}, NULL);
}

/* Good kernels, whose result the program has. */
static void begin(const struct setup *s)
{
    uint32_t words[COUNT];

    for (unsigned i = 1; i <= 2; i++)
        CU(launch(s, s->stream, i, 0));
    CU(cuMemcpyDtoHAsync_v2(words, s->words, SIZE, s->stream));
    CU(cuStreamSynchronize(s->stream));
    printf("%s: %08x\n", t.way, program_digest(words, SIZE));
}

static void send_graph(const struct setup *s)
{
    unsigned seed = 3, kind = t.kind, good = 0;
    CUdeviceptr words = s->words;
    CUDA_KERNEL_NODE_PARAMS kernel = {.func = s->kernel,
                                      .gridDimX = 1,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = COUNT,
                                      .blockDimY = 1,
                                      .blockDimZ = 1,
                                      .kernelParams = (void *[]){&words, &seed, &good}};
    CUgraphNode first, second;
    CUgraphExec exec;
    CUgraph graph;

    CU(cuGraphCreate(&graph, 0));
    CU(cuGraphAddKernelNode_v2(&first, graph, NULL, 0, &kernel));
    kernel.kernelParams = (void *[]){&words, &seed, &kind};
    CU(cuGraphAddKernelNode_v2(&second, graph, &first, 1, &kernel));
    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CU(cuGraphLaunch(exec, s->stream));
}

static CUresult ask(const struct setup *s)
{
    CUresult result;
    uint32_t word;

    if (is("copy"))
        return cuMemcpyDtoH_v2(&word, s->words, 4);
    if (is("launch"))
        usleep(100000); /* long enough, as a rule; else a later call is the first to say it */
    if (is("launch"))
        return launch(s, s->other, 9, 0);
    while (is("query") && (result = cuStreamQuery(s->stream)) == CUDA_ERROR_NOT_READY)
        usleep(1000);
    if (is("query"))
        return result;
    return cuStreamSynchronize(is("event") ? s->other : s->stream);
}

/* Good kernels on a stream of its own, until a call fails. */
static void *work(void *user)
{
    struct setup own = *(const struct setup *)user;
    uint32_t words[COUNT];

    CU(cuCtxSetCurrent(own.context));
    if (cuMemAlloc_v2(&own.words, SIZE) ||
        cuMemsetD32Async(own.words, 1, COUNT, own.other)) /* in order with what follows */
        return NULL;
    while (!launch(&own, own.other, 2, 0) &&
           !cuMemcpyDtoHAsync_v2(words, own.words, SIZE, own.other) &&
           !cuStreamSynchronize(own.other))
        usleep(500);
    return NULL;
}

static CUresult fail_beside(const struct setup *s)
{
    pthread_t thread;
    CUresult result;

    pthread_create(&thread, NULL, work, (void *)(uintptr_t)s);
    usleep(5000); /* so that it is at work, as a rule: it may fail at its first call, too */
    launch(s, s->stream, 3, t.kind);
    result = cuStreamSynchronize(s->stream);
    pthread_join(thread, NULL);
    return result;
}

static CUresult fail(const struct setup *s)
{
    if (is("threads"))
        return fail_beside(s);
    if (is("graph"))
        send_graph(s);
    for (unsigned i = 0; i < MANY && is("many"); i++) {
        CUstream stream;
        CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        CU(launch(s, stream, i, 0));
        CU(cuStreamSynchronize(stream));
    }
    if (is("late"))
        CU(launch(s, s->stream, 5, 0));
    if (!is("graph"))
        CU(launch(s, s->stream, 3, t.kind));
    if (is("late"))
        launch(s, s->stream, 6, 0);
    if (is("event")) {
        cuEventRecord(s->event, s->stream);
        cuStreamWaitEvent(s->other, s->event, 0);
        launch(s, s->other, 4, 0);
    }
    return ask(s);
}

/* The calls of a program that goes on all the same. */
static void go_on(const struct setup *s)
{
    CUdeviceptr memory;

    launch(s, s->stream, 7, 0);
    cuStreamSynchronize(s->stream);
    cuMemAlloc_v2(&memory, 4096);
    cuMemFree_v2(s->words);
    cuCtxSynchronize();
}

int main(int argc, char **argv)
{
    CUcontext context, apart;
    struct setup s, other;
    CUresult result;

    t.way = argc > 1 ? argv[1] : "plain";
    for (unsigned i = 0; argc > 2 && i < sizeof(kinds) / sizeof(*kinds); i++)
        t.kind = strcmp(argv[2], kinds[i]) ? t.kind : i;
    CU(cuInit(0));
    if (is("reset"))
        CU(cuDevicePrimaryCtxRetain(&context, 0));
    else
        CU(cuCtxCreate_v2(&context, 0, 0));
    CU(cuCtxSetCurrent(context));
    make(&s);
    begin(&s);
    if (is("other")) {
        CU(cuCtxCreate_v2(&apart, 0, 0));
        make(&other);
        CU(cuCtxSetCurrent(context));
    }
    result = fail(&s);
    printf("%s: %d\n", t.way, (int)result);
    fflush(stdout);
    if (is("aborts"))
        abort();
    go_on(&s);
    if (is("other")) {
        CU(cuCtxSetCurrent(apart));
        begin(&other);
    }
    if (is("reset")) {
        CU(cuDevicePrimaryCtxReset_v2(0));
        CU(cuDevicePrimaryCtxRetain(&context, 0));
        CU(cuCtxSetCurrent(context));
        make(&s);
        begin(&s);
    }
    return 0;
}
