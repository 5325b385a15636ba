/* SPDX-License-Identifier: Apache-2.0
 *
 * awaits WHERE: functions of the program, in a stream's order, that wait for what another thread,
 * or the same one, does later with the API. WHERE: stream, destroyed (the stream is destroyed
 * meanwhile), value (the same, with a wait for a value in place of a function), graph, shared (the
 * other thread sends to the same stream).
 */
#include "tests/programs/program.h"

#include <pthread.h>

enum { COUNT = 1024, ROUNDS = 3 };

static CUcontext context;
static CUfunction fill;
static CUstream waiting, other;
static CUdeviceptr memory;
static volatile int flag;
static volatile uint32_t *word; /* the same for the GPU */
static CUdeviceptr word_there;
static uint32_t digest;

static void wait_for_flag(void *user)
{
    (void)user;
    while (!flag)
        usleep(50);
}

static void work(CUstream stream, int round)
{
    static unsigned out[COUNT];

    for (int i = 0; i < 4; i++)
        program_launch(fill, COUNT, stream, (void *[]){&(int){COUNT}, &(int){round + i}, &memory});
    if (stream != other)
        return;
    CU(cuMemcpyDtoHAsync_v2(out, memory, sizeof(out), stream));
    CU(cuStreamSynchronize(stream));
    digest = digest * 31 + program_digest(out, sizeof(out));
}

static void *send_from_thread(void *round)
{
    CU(cuCtxSetCurrent(context));
    work(waiting, (int)(intptr_t)round);
    flag = 1;
    return NULL;
}

static CUgraphExec make_graph(void)
{
    const CUDA_HOST_NODE_PARAMS params = {.fn = wait_for_flag};
    CUgraphExec exec;
    CUgraphNode node;
    CUgraph graph;

    CU(cuGraphCreate(&graph, 0));
    CU(cuGraphAddHostNode(&node, graph, NULL, 0, &params));
    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CU(cuGraphDestroy(graph));
    return exec;
}

static void run_round(const char *where, CUgraphExec exec, int round)
{
    CUstream stream = waiting;
    pthread_t thread;

    flag = 0;
    *word = 0;
    if (!strcmp(where, "destroyed") || !strcmp(where, "value"))
        CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    if (!strcmp(where, "graph"))
        CU(cuGraphLaunch(exec, stream));
    else if (!strcmp(where, "value"))
        CU(cuStreamWaitValue32_v2(stream, word_there, 1, CU_STREAM_WAIT_VALUE_EQ));
    else
        CU(cuLaunchHostFunc(stream, wait_for_flag, NULL));
    if (stream != waiting)
        CU(cuStreamDestroy_v2(stream));
    if (!strcmp(where, "shared")) {
        pthread_create(&thread, NULL, send_from_thread, (void *)(intptr_t)round);
        CU(cuStreamSynchronize(stream));
        pthread_join(thread, NULL);
        CU(cuStreamSynchronize(stream));
    }
    work(other, round);
    flag = 1;
    *word = 1;
    CU(cuStreamSynchronize(waiting));
    if (!strcmp(where, "value"))
        CU(cuCtxSynchronize()); /* the word is awaited until then */
}

int main(int argc, char **argv)
{
    const char *where = argc > 1 ? argv[1] : "stream";
    CUmodule module = program_begin(&context);
    CUgraphExec exec = make_graph();

    fill = program_function(module, "fill");
    CU(cuStreamCreate(&waiting, CU_STREAM_NON_BLOCKING));
    CU(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CU(cuMemAlloc_v2(&memory, COUNT * 4));
    CU(cuMemHostAlloc((void **)&word, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
    CU(cuMemHostGetDevicePointer_v2(&word_there, (void *)word, 0));
    for (int round = 0; round < ROUNDS; round++)
        run_round(where, exec, round);
    CU(cuCtxSynchronize());
    CU(cuGraphExecDestroy(exec));
    CU(cuMemFree_v2(memory));
    program_end(module, context);
    printf("awaits %s: %08x\n", where, digest);
    return 0;
}
