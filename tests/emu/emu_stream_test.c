/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams run at the same time, each in order, and the legacy default stream waits both ways.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tests/emu/emu_test.h"

static atomic_int gate;
static atomic_int order[8];
static atomic_int count;

static void wait_at_gate(void *data)
{
    while (!atomic_load(&gate))
        usleep(1000);
}

static void note(void *data)
{
    atomic_store(&order[atomic_fetch_add(&count, 1)], (int)(intptr_t)data);
}

static void open_gate(void *data)
{
    atomic_store(&gate, 1);
}

static void reset(void)
{
    atomic_store(&gate, 0);
    atomic_store(&count, 0);
}

/* The second stream opens the gate at which the first one waits. */
static void concurrency(void)
{
    CUstream a, b;

    reset();
    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    OK(cuLaunchHostFunc(a, wait_at_gate, NULL));
    OK(cuLaunchHostFunc(a, note, (void *)2));
    OK(cuLaunchHostFunc(b, note, (void *)1));
    FAILS(cuStreamQuery(a), CUDA_ERROR_NOT_READY);
    OK(cuStreamSynchronize(b));
    OK(cuLaunchHostFunc(b, open_gate, NULL));
    OK(cuStreamSynchronize(a));
    OK(cuStreamQuery(a));
    CHECK_EQ_INT(order[0], 1);
    CHECK_EQ_INT(order[1], 2);
    OK(cuStreamDestroy_v2(a));
    FAILS(cuStreamDestroy_v2(a), CUDA_ERROR_INVALID_HANDLE);
    OK(cuStreamDestroy_v2(b));
}

static void legacy(void)
{
    CUstream a, b, free_running;

    reset();
    OK(cuStreamCreate(&a, CU_STREAM_DEFAULT));
    OK(cuStreamCreate(&b, CU_STREAM_DEFAULT));
    OK(cuStreamCreate(&free_running, CU_STREAM_NON_BLOCKING));
    OK(cuLaunchHostFunc(a, wait_at_gate, NULL));
    OK(cuLaunchHostFunc(a, note, (void *)2));
    OK(cuLaunchHostFunc(NULL, note, (void *)3));
    OK(cuLaunchHostFunc(b, note, (void *)4));
    OK(cuLaunchHostFunc(free_running, note, (void *)1));
    OK(cuStreamSynchronize(free_running));
    FAILS(cuStreamQuery(b), CUDA_ERROR_NOT_READY);
    FAILS(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    atomic_store(&gate, 1);
    OK(cuStreamSynchronize(b));
    for (int i = 0; i < 4; i++)
        CHECK_EQ_INT(order[i], i + 1);
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
    OK(cuStreamDestroy_v2(free_running));
}

static void *other_thread(void *context)
{
    unsigned long long id = 0;

    OK(cuCtxSetCurrent(context));
    OK(cuStreamGetId(CU_STREAM_PER_THREAD, &id));
    return (void *)(uintptr_t)id;
}

static void per_thread(CUcontext context)
{
    unsigned long long mine, again, legacy_id;
    pthread_t thread;
    void *theirs;

    OK(cuStreamGetId_ptsz(NULL, &mine));
    OK(cuStreamGetId(CU_STREAM_PER_THREAD, &again));
    OK(cuStreamGetId(CU_STREAM_LEGACY, &legacy_id));
    CHECK_EQ_INT(mine, again);
    CHECK(mine != legacy_id);
    pthread_create(&thread, NULL, other_thread, context);
    pthread_join(thread, &theirs);
    CHECK(theirs && (uintptr_t)theirs != mine);
}

/* A destroyed stream finishes its work. */
static void destroyed(void)
{
    CUstream a;

    reset();
    OK(cuStreamCreate(&a, 0));
    OK(cuLaunchHostFunc(a, wait_at_gate, NULL));
    OK(cuLaunchHostFunc(a, note, (void *)1));
    OK(cuStreamDestroy_v2(a));
    FAILS(cuStreamQuery(a), CUDA_ERROR_INVALID_HANDLE);
    atomic_store(&gate, 1);
    OK(cuCtxSynchronize());
    CHECK_EQ_INT(count, 1);
}

int main(void)
{
    CUcontext context = test_context();

    concurrency();
    legacy();
    per_thread(context);
    destroyed();
    OK(cuCtxDestroy_v2(context));
    return check_result();
}
