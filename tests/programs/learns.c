/* SPDX-License-Identifier: Apache-2.0
 *
 * learns WAY: each round fills mapped memory, launches a kernel that reads it behind work that
 * takes a while, learns in some WAY that the kernel is done, and overwrites the memory at once,
 * which a kernel of another stream reads: stream_sync, stream_query, event_sync, event_query,
 * context_sync, blocking_copy, blocking_free, graph_event_sync, graph_event_query, host_function,
 * slow_function, callback, graph_function, polled_value, polled_memset, polled_managed,
 * other_stream, contextless_free.
 */
#include "tests/programs/program.h"

enum { COUNT = 8192, WORK = 1 << 18, ROUNDS = 4 };

static struct {
    CUstream stream, other;
    CUevent event;
    CUfunction copy;
    CUdeviceptr work, out, seen, device_mapped, device_word, managed;
    unsigned *mapped;
    volatile unsigned *word; /* mapped, too */
    volatile unsigned flag;  /* the program's own */
    CUgraphExec exec;
    const char *way;
} t;

static int is(const char *way)
{
    return !strcmp(t.way, way);
}

static void raise_flag(void *user)
{
    (void)user;
    t.flag++;
    if (is("slow_function")) /* the program has written, and not called yet, when it returns */
        usleep(5000); /* so that it often does; if not, nothing is tested and nothing fails */
}

static void stream_done(CUstream stream, CUresult status, void *user)
{
    (void)stream;
    (void)status;
    raise_flag(user);
}

static void make_graph(void)
{
    const CUDA_HOST_NODE_PARAMS params = {.fn = raise_flag};
    CUgraphNode node;
    CUgraph graph;

    CU(cuGraphCreate(&graph, 0));
    if (is("graph_function"))
        CU(cuGraphAddHostNode(&node, graph, NULL, 0, &params));
    else
        CU(cuGraphAddEventRecordNode(&node, graph, NULL, 0, t.event));
    CU(cuGraphInstantiateWithFlags(&t.exec, graph, 0));
    CU(cuGraphDestroy(graph));
}

static void begin(CUmodule module)
{
    t.copy = program_function(module, "copy");
    CU(cuStreamCreate(&t.stream, CU_STREAM_NON_BLOCKING));
    CU(cuStreamCreate(&t.other, CU_STREAM_NON_BLOCKING));
    CU(cuEventCreate(&t.event, CU_EVENT_DISABLE_TIMING));
    CU(cuMemAlloc_v2(&t.work, WORK * 4));
    CU(cuMemAlloc_v2(&t.out, COUNT * 4));
    CU(cuMemAlloc_v2(&t.seen, COUNT * 4));
    CU(cuMemHostAlloc((void **)&t.mapped, COUNT * 4, CU_MEMHOSTALLOC_DEVICEMAP));
    CU(cuMemHostGetDevicePointer_v2(&t.device_mapped, t.mapped, 0));
    CU(cuMemHostAlloc((void **)&t.word, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
    CU(cuMemHostGetDevicePointer_v2(&t.device_word, (void *)t.word, 0));
    CU(cuMemAllocManaged(&t.managed, 4096, CU_MEM_ATTACH_GLOBAL));
    *t.word = 0;
    if (!strncmp(t.way, "graph_", 6))
        make_graph();
}

/* Sends a mark by which the program learns that earlier work is done. */
static void send_mark(unsigned round)
{
    if (is("event_sync") || is("event_query") || is("other_stream"))
        CU(cuEventRecord(t.event, t.stream));
    else if (!strncmp(t.way, "graph_", 6))
        CU(cuGraphLaunch(t.exec, t.stream));
    else if (is("host_function") || is("slow_function"))
        CU(cuLaunchHostFunc(t.stream, raise_flag, NULL));
    else if (is("callback"))
        CU(cuStreamAddCallback(t.stream, stream_done, NULL, 0));
    else if (is("polled_value"))
        CU(cuStreamWriteValue32_v2(t.stream, t.device_word, round, 0));
    else if (is("polled_memset"))
        CU(cuMemsetD32Async(t.device_word, round, 1, t.stream));
    else if (is("polled_managed"))
        CU(cuMemsetD32Async(t.managed, round, 1, t.stream));
}

static void learn_by_api(void)
{
    CUdeviceptr scratch;
    void *host;
    unsigned first;

    if (is("stream_sync"))
        CU(cuStreamSynchronize(t.stream));
    while (is("stream_query") && cuStreamQuery(t.stream) == CUDA_ERROR_NOT_READY)
        ;
    if (is("event_sync") || is("graph_event_sync"))
        CU(cuEventSynchronize(t.event));
    while ((is("event_query") || is("graph_event_query")) &&
           cuEventQuery(t.event) == CUDA_ERROR_NOT_READY)
        ;
    if (is("context_sync"))
        CU(cuCtxSynchronize());
    if (is("blocking_copy")) {
        CU(cuMemcpyDtoHAsync_v2(&first, t.out, sizeof(first), t.stream));
        CU(cuStreamSynchronize(t.stream));
    }
    if (is("blocking_free")) {
        CU(cuMemAlloc_v2(&scratch, 4096));
        CU(cuMemFree_v2(scratch));
        CU(cuCtxSynchronize());
    }
    if (is("contextless_free")) {
        CUcontext context;

        CU(cuMemAlloc_v2(&scratch, 4096));
        CU(cuMemAllocHost_v2(&host, 4096));
        CU(cuCtxPopCurrent_v2(&context));
        CU(cuMemFree_v2(scratch));
        CU(cuMemFreeHost(host));
        CU(cuCtxPushCurrent_v2(context));
        CU(cuStreamSynchronize(t.stream));
    }
    if (is("other_stream")) {
        CU(cuStreamWaitEvent(t.other, t.event, 0));
        CU(cuStreamSynchronize(t.other));
    }
}

static void learn(unsigned round)
{
    const volatile unsigned *managed = (const void *)(uintptr_t)t.managed;

    learn_by_api();
    while ((strstr(t.way, "_function") || is("callback")) && t.flag != round)
        usleep(50);
    while ((is("polled_value") || is("polled_memset")) && *t.word != round)
        usleep(50);
    while (is("polled_managed") && *managed != round)
        usleep(50);
}

static void run_round(unsigned round)
{
    int count = COUNT, work = WORK;

    for (unsigned i = 0; i < COUNT; i++)
        t.mapped[i] = i * round;
    for (int i = 0; i < 4; i++)
        program_launch(t.copy, WORK, t.stream, (void *[]){&work, &t.work, &t.work});
    program_launch(t.copy, COUNT, t.stream, (void *[]){&count, &t.device_mapped, &t.out});
    send_mark(round);
    learn(round);
    memset(t.mapped, 0xee, COUNT * 4);
    if (is("slow_function"))
        usleep(20000); /* until the function has returned; a later return is as right */
    /* The next command publishes the host's bytes, which it reads. */
    program_launch(t.copy, COUNT, t.other, (void *[]){&count, &t.device_mapped, &t.seen});
}

int main(int argc, char **argv)
{
    static unsigned out[COUNT];
    uint32_t digest = 0;
    CUcontext context;
    CUmodule module;

    t.way = argc > 1 ? argv[1] : "stream_sync";
    module = program_begin(&context);
    begin(module);
    for (unsigned round = 1; round <= ROUNDS; round++) {
        run_round(round);
        CU(cuMemcpyDtoHAsync_v2(out, t.out, sizeof(out), t.stream));
        CU(cuStreamSynchronize(t.stream));
        digest = digest * 31 + program_digest(out, sizeof(out));
        CU(cuMemcpyDtoHAsync_v2(out, t.seen, sizeof(out), t.other));
        CU(cuStreamSynchronize(t.other));
        digest = digest * 31 + program_digest(out, sizeof(out));
    }
    CU(cuCtxSynchronize());
    /* No context is needed for these. */
    CU(cuCtxSetCurrent(NULL));
    CU(cuStreamDestroy_v2(t.other));
    CU(cuStreamDestroy_v2(t.stream));
    CU(cuEventDestroy_v2(t.event));
    CU(cuCtxSetCurrent(context));
    program_end(module, context);
    printf("learns: %08x\n", digest);
    return 0;
}
