/* SPDX-License-Identifier: Apache-2.0
 *
 * Many threads in one context: each with streams, events and memory of its own, all through the
 * same tables.
 */
#include <pthread.h>

#include "tests/emu/emu_test.h"

#define THREADS 4
#define ROUNDS  50
#define WORDS   1024

static CUcontext shared;

static void round_trip(unsigned seed)
{
    static _Thread_local unsigned out[WORDS];
    CUdeviceptr a, b;
    CUstream s, t;
    CUevent e;

    OK(cuStreamCreate(&s, seed % 2 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
    OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    OK(cuMemAllocAsync(&a, sizeof(out), s));
    OK(cuMemAlloc_v2(&b, sizeof(out)));
    OK(cuMemsetD32Async(a, seed, WORDS, s));
    OK(cuMemcpyDtoDAsync_v2(b, a, sizeof(out), s));
    OK(cuEventRecord(e, s));
    OK(cuStreamWaitEvent(t, e, 0));
    OK(cuMemcpyDtoHAsync_v2(out, b, sizeof(out), t));
    for (unsigned i = 0; i < WORDS; i++)
        if (!CHECK_EQ_INT(out[i], seed))
            break;
    OK(cuMemFreeAsync(a, s));
    OK(cuStreamDestroy_v2(s));
    OK(cuMemsetD8_v2(b, 1, sizeof(out))); /* the default stream, between the others */
    OK(cuMemFree_v2(b));
    OK(cuStreamDestroy_v2(t));
    OK(cuEventDestroy_v2(e));
}

static void *run(void *number)
{
    OK(cuCtxSetCurrent(shared));
    for (unsigned i = 0; i < ROUNDS; i++)
        round_trip((unsigned)(uintptr_t)number * 1000 + i);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];

    shared = test_context();
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run, (void *)i);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    OK(cuCtxSynchronize());
    OK(cuCtxDestroy_v2(shared));
    return check_result();
}
