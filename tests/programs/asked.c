/* SPDX-License-Identifier: Apache-2.0
 *
 * One thread captures, in the mode in which any question about a stream or an event in any thread
 * ends the capture; another one sends kernels that write memory of the program, and asks nothing
 * meanwhile: asked.
 */
#include "tests/programs/program.h"

#include <pthread.h>
#include <sched.h>

enum { ROUNDS = 300, COUNT = 256, SIZE = COUNT * 4 };

static CUcontext context;
static CUfunction mix;
static uint32_t *memory;
static CUdeviceptr mapped;
static unsigned begun; /* captures; ROUNDS + 1: all are over */

static void *capture(void *unused)
{
    uint32_t count = COUNT, rounds = 3;
    CUdeviceptr own;
    void *arguments[] = {&count, &rounds, &own};
    CUstream stream;

    CU(cuCtxSetCurrent(context));
    CU(cuMemAlloc_v2(&own, SIZE));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < ROUNDS; i++) {
        CUgraph graph;

        __atomic_store_n(&begun, i + 1, __ATOMIC_RELEASE);
        CU(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        CU(cuLaunchKernel(mix, 1, 1, 1, COUNT, 1, 1, 0, stream, arguments, NULL));
        CU(cuStreamEndCapture(stream, &graph));
        CU(cuGraphDestroy(graph));
    }
    __atomic_store_n(&begun, ROUNDS + 1, __ATOMIC_RELEASE);
    return NULL;
}

int main(void)
{
    CUmodule module = program_begin(&context);
    uint32_t count = COUNT, rounds = 5;
    void *arguments[] = {&count, &rounds, &mapped};
    pthread_t thread;
    CUstream stream;

    mix = program_function(module, "mix");
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuMemHostAlloc((void **)&memory, SIZE, CU_MEMHOSTALLOC_DEVICEMAP));
    CU(cuMemHostGetDevicePointer_v2(&mapped, memory, 0));
    CU(cuLaunchKernel(mix, 1, 1, 1, COUNT, 1, 1, 0, stream, arguments, NULL));
    if (pthread_create(&thread, NULL, capture, NULL))
        return 1;
    for (unsigned seen = 0, now; seen <= ROUNDS; seen = now) {
        while ((now = __atomic_load_n(&begun, __ATOMIC_ACQUIRE)) == seen)
            sched_yield();
        CU(cuLaunchKernel(mix, 1, 1, 1, COUNT, 1, 1, 0, stream, arguments, NULL));
    }
    pthread_join(thread, NULL);
    CU(cuStreamSynchronize(stream));
    program_end(module, context);
    puts("asked: no capture was ended");
    return 0;
}
