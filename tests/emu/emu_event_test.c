/* SPDX-License-Identifier: Apache-2.0
 *
 * Events: what a wait waits for, and time.
 */
#include <stdatomic.h>
#include <unistd.h>

#include "tests/emu/emu_test.h"

static atomic_int gate;
static atomic_int seen;

static void wait_at_gate(void *data)
{
    while (!atomic_load(&gate))
        usleep(1000);
}

static void see(void *data)
{
    atomic_fetch_add(&seen, 1);
}

static void pause_20ms(void *data)
{
    usleep(20000);
}

static void waits(void)
{
    CUstream a, b;
    CUevent e;

    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    OK(cuEventQuery(e)); /* never recorded: nothing to wait for */
    OK(cuEventRecord(e, a));
    OK(cuLaunchHostFunc(a, wait_at_gate, NULL));
    OK(cuStreamWaitEvent(b, e, 0)); /* the record before the gate */
    OK(cuLaunchHostFunc(b, see, NULL));
    OK(cuStreamSynchronize(b));
    OK(cuEventRecord(e, a)); /* and now the one after it */
    FAILS(cuEventQuery(e), CUDA_ERROR_NOT_READY);
    OK(cuStreamWaitEvent(b, e, 0));
    OK(cuLaunchHostFunc(b, see, NULL));
    OK(cuEventDestroy_v2(e)); /* the wait holds */
    CHECK_EQ_INT(seen, 1);
    atomic_store(&gate, 1);
    OK(cuStreamSynchronize(b));
    CHECK_EQ_INT(seen, 2);
    FAILS(cuEventQuery(e), CUDA_ERROR_INVALID_HANDLE);
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
}

static void elapsed(void)
{
    CUevent start, end, untimed;
    float ms = 0;

    OK(cuEventCreate(&start, 0));
    OK(cuEventCreate(&end, 0));
    OK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
    FAILS(cuEventElapsedTime_v2(&ms, start, end), CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventRecord(start, NULL));
    OK(cuLaunchHostFunc(NULL, pause_20ms, NULL));
    OK(cuEventRecord(end, NULL));
    OK(cuEventRecord(untimed, NULL));
    FAILS(cuEventElapsedTime(&ms, start, end), CUDA_ERROR_NOT_READY);
    OK(cuEventSynchronize(end));
    OK(cuEventElapsedTime(&ms, start, end));
    CHECK(ms >= 20 && ms < 20000);
    FAILS(cuEventElapsedTime(&ms, start, untimed), CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventDestroy_v2(start));
    OK(cuEventDestroy_v2(end));
}

int main(void)
{
    CUcontext context = test_context();

    waits();
    elapsed();
    OK(cuCtxDestroy_v2(context));
    return check_result();
}
