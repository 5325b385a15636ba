/* SPDX-License-Identifier: Apache-2.0
 *
 * Four threads, each of which captures its own default stream into a graph, again and again, and
 * launches it: none may see another's.
 */
#include "tests/programs/program.h"

#include <pthread.h>

enum { THREADS = 4, REPEAT = 8, LAUNCHES = 3, COUNT = 4096, SIZE = COUNT * 4 };

static CUcontext context;
static CUfunction mix;

struct part {
    pthread_t thread;
    uint32_t number, digest;
    CUdeviceptr memory;
    uint32_t in[COUNT], out[COUNT];
};

static CUgraphExec capture(struct part *part, uint32_t rounds)
{
    uint32_t count = COUNT;
    void *arguments[] = {&count, &rounds, &part->memory};
    CUgraphNode nodes[4];
    size_t node_count = 4;
    CUgraphExec exec;
    CUgraph graph;

    CU(cuStreamBeginCapture_v2_ptsz(NULL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    CU(cuMemcpyHtoDAsync_v2_ptsz(part->memory, part->in, SIZE, NULL));
    CU(cuLaunchKernel_ptsz(mix, COUNT / 256, 1, 1, 256, 1, 1, 0, NULL, arguments, NULL));
    CU(cuMemcpyDtoHAsync_v2_ptsz(part->out, part->memory, SIZE, NULL));
    CU(cuStreamEndCapture_ptsz(NULL, &graph));
    CU(cuGraphGetNodes(graph, nodes, &node_count));
    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CU(cuGraphDestroy(graph));
    return exec;
}

static void *work(void *user)
{
    struct part *part = user;

    CU(cuCtxSetCurrent(context));
    CU(cuMemAlloc_v2(&part->memory, SIZE));
    for (uint32_t i = 0; i < REPEAT; i++) {
        CUgraphExec exec = capture(part, part->number + i + 3);
        for (uint32_t launch = 0; launch < LAUNCHES; launch++) {
            for (uint32_t k = 0; k < COUNT; k++)
                part->in[k] = k * (launch + part->number);
            CU(cuGraphLaunch_ptsz(exec, NULL));
            CU(cuStreamSynchronize_ptsz(NULL));
            part->digest = part->digest * 31 + program_digest(part->out, SIZE);
        }
        CU(cuGraphExecDestroy(exec));
    }
    CU(cuMemFree_v2(part->memory));
    return NULL;
}

int main(void)
{
    static struct part parts[THREADS];
    CUmodule module = program_begin(&context);
    uint32_t digest = 0;

    mix = program_function(module, "mix");
    for (uint32_t i = 0; i < THREADS; i++) {
        parts[i].number = i;
        if (pthread_create(&parts[i].thread, NULL, work, &parts[i]))
            return 1;
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        pthread_join(parts[i].thread, NULL);
        digest = digest * 31 + parts[i].digest;
    }
    program_end(module, context);
    printf("capture_threads: %08x\n", digest);
    return 0;
}
