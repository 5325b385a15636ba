/* SPDX-License-Identifier: Apache-2.0
 *
 * Ends that objects do not name: streams and modules that go with their context, a primary context
 * that is reset or released and used again, captures that end with their stream, a thread's own
 * stream that is captured while others wait for the GPU, many streams one after another.
 */
#include "tests/programs/program.h"

#include <pthread.h>

enum { COUNT = 1024, SIZE = COUNT * 4 };

static uint32_t digest;

static void note(CUdeviceptr memory)
{
    static uint32_t words[COUNT];

    CU(cuMemcpyDtoH_v2(words, memory, SIZE));
    digest = digest * 31 + program_digest(words, SIZE);
}

/* Commands on a stream that nobody destroys, and code that nobody unloads. */
static void use_context(uint32_t value)
{
    unsigned count = COUNT, seed = value;
    CUdeviceptr memory, table;
    CUmodule module;
    CUstream stream;
    CUarray array;
    size_t size;
    CUDA_ARRAY3D_DESCRIPTOR shape = {
        .Width = 16, .Height = 16, .Format = CU_AD_FORMAT_UNSIGNED_INT32, .NumChannels = 1};

    CU(cuModuleLoad(&module, getenv("TS_TEST_PTX")));
    CU(cuModuleGetGlobal_v2(&table, &size, module, "global_table"));
    CU(cuArray3DCreate_v2(&array, &shape));
    CU(cuMemAlloc_v2(&memory, SIZE));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuMemsetD32Async(memory, value, COUNT, stream));
    program_launch(program_function(module, "mix"), COUNT, stream,
                   (void *[]){&count, &seed, &memory});
    CU(cuStreamSynchronize(stream));
    CU(cuMemsetD32_v2(table, value, 8));
    note(memory);
    note(memory);
}

static void contexts(CUcontext context)
{
    CUcontext other;

    for (uint32_t i = 0; i < 3; i++) {
        CU(cuCtxCreate_v2(&other, 0, 0));
        use_context(i);
        CU(cuCtxDestroy_v2(other));
        CU(cuCtxSetCurrent(context));
        CU(cuCtxSynchronize());
    }
    for (uint32_t i = 0; i < 4; i++) {
        CU(cuDevicePrimaryCtxRetain(&other, 0));
        CU(cuCtxSetCurrent(other));
        use_context(i + 10);
        if (i % 2)
            CU(cuDevicePrimaryCtxReset_v2(0));
        CU(cuDevicePrimaryCtxRelease_v2(0));
        CU(cuCtxSetCurrent(context));
        CU(cuCtxSynchronize());
    }
}

/* ---- captures ----------------------------------------------------------------------------- */

static struct {
    CUcontext context;
    CUdeviceptr memory;
    pthread_barrier_t barrier;
} shared;

/* Whatever the other thread does, this capture must succeed. */
static void *capture_own(void *unused)
{
    CUgraphExec exec;
    CUgraph graph;

    CU(cuCtxSetCurrent(shared.context));
    CU(cuStreamBeginCapture_v2(CU_STREAM_PER_THREAD, CU_STREAM_CAPTURE_MODE_RELAXED));
    pthread_barrier_wait(&shared.barrier);
    pthread_barrier_wait(&shared.barrier);
    for (uint32_t i = 0; i < 8; i++)
        CU(cuMemsetD32Async(shared.memory + 64 * i, i + 1, 16, CU_STREAM_PER_THREAD));
    CU(cuStreamEndCapture(CU_STREAM_PER_THREAD, &graph));
    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CU(cuGraphLaunch(exec, CU_STREAM_PER_THREAD));
    CU(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    CU(cuGraphExecDestroy(exec));
    CU(cuGraphDestroy(graph));
    return NULL;
}

static void own_stream(CUdeviceptr memory)
{
    pthread_t thread;
    CUstream stream;

    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    pthread_barrier_init(&shared.barrier, NULL, 2);
    pthread_create(&thread, NULL, capture_own, NULL);
    pthread_barrier_wait(&shared.barrier);
    for (uint32_t i = 0; i < 4; i++) {
        CU(cuMemsetD32Async(memory + SIZE, i, COUNT, stream));
        CU(cuStreamSynchronize(stream));
    }
    pthread_barrier_wait(&shared.barrier);
    pthread_join(thread, NULL);
    CU(cuStreamDestroy_v2(stream));
    note(memory);
}

/* Nobody ends it. */
static void abandoned_capture(CUdeviceptr memory)
{
    CUstream stream;

    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    CU(cuMemsetD32Async(memory, 99, COUNT, stream));
    CU(cuStreamDestroy_v2(stream));
}

/* ---- streams ------------------------------------------------------------------------------ */

/* Each gives bytes back that only the context's synchronisation shows to be there. */
static void streams(CUdeviceptr memory, unsigned count)
{
    static uint32_t words[4][COUNT];
    CUevent event;
    CUstream stream;

    CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (uint32_t i = 0; i < count; i++) {
        CU(cuStreamCreate(&stream, i % 2 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
        if (i)
            CU(cuStreamWaitEvent(stream, event, 0));
        CU(cuMemsetD32Async(memory, i, COUNT, stream));
        CU(cuMemcpyDtoHAsync_v2(words[i % 4], memory, SIZE, stream));
        CU(cuEventRecord(event, stream));
        CU(cuStreamDestroy_v2(stream));
        if (i % 4 == 3) {
            CU(cuCtxSynchronize());
            digest = digest * 31 + program_digest(words, sizeof(words));
        }
    }
    CU(cuEventDestroy_v2(event));
}

int main(int argc, char **argv)
{
    CUcontext context;
    CUmodule module = program_begin(&context);
    CUdeviceptr memory;

    shared.context = context;
    CU(cuMemAlloc_v2(&memory, 2 * SIZE));
    CU(cuMemsetD8_v2(memory, 0, 2 * SIZE));
    shared.memory = memory;
    contexts(context);
    own_stream(memory);
    abandoned_capture(memory);
    streams(memory, argc > 1 ? (unsigned)atoi(argv[1]) : 40);
    note(memory);
    CU(cuMemFree_v2(memory));
    program_end(module, context);
    printf("ends: %08x\n", digest);
    return 0;
}
