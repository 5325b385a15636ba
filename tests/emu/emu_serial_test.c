/* SPDX-License-Identifier: Apache-2.0
 *
 * Serial streams and a function of the program that waits for the program, which waits for another
 * stream, polls, or computes meanwhile. In each schedule.
 */
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/emu/emu_test.h"

static sem_t go;
static atomic_int done;

static void wait_for_program(void *user)
{
    (void)user;
    while (sem_wait(&go)) {
    }
    atomic_fetch_add(&done, 1);
}

static void spin_for_program(void *user)
{
    const atomic_bool *flag = user;

    while (!atomic_load(flag)) {
    }
    atomic_fetch_add(&done, 1);
}

static void in_one_schedule(void)
{
    static atomic_bool flag;
    CUstream one, two;
    CUcontext context;
    CUdeviceptr memory;
    unsigned value = 0;

    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc_v2(&memory, 4));

    /* The function's thread sleeps; the other stream is waited for. */
    OK(cuLaunchHostFunc(one, wait_for_program, NULL));
    OK(cuMemsetD32Async(memory, 1, 1, one));
    OK(cuMemsetD32Async(memory, 5, 1, two));
    OK(cuMemcpyDtoHAsync_v2(&value, memory, 4, two));
    OK(cuStreamSynchronize(two));
    CHECK_EQ_INT(value, 5);
    CHECK_EQ_INT(atomic_load(&done), 0);
    sem_post(&go);
    OK(cuStreamSynchronize(one));
    CHECK_EQ_INT(atomic_load(&done), 1);

    /* Two at once, and a program that asks instead of waiting. */
    OK(cuLaunchHostFunc(one, wait_for_program, NULL));
    OK(cuLaunchHostFunc(two, wait_for_program, NULL));
    for (int i = 0; i < 4; i++)
        CHECK_EQ_INT(cuStreamQuery(i % 2 ? one : two), CUDA_ERROR_NOT_READY);
    sem_post(&go);
    sem_post(&go);
    OK(cuCtxSynchronize());
    CHECK_EQ_INT(atomic_load(&done), 3);

    /* One that waits without sleeping. */
    OK(cuLaunchHostFunc(one, spin_for_program, &flag));
    OK(cuMemsetD32Async(memory, 6, 1, two));
    OK(cuStreamSynchronize(two));
    atomic_store(&flag, true);
    OK(cuStreamSynchronize(one));
    CHECK_EQ_INT(atomic_load(&done), 4);
    OK(cuCtxDestroy_v2(context));
}

static pid_t start(const char *schedule)
{
    pid_t child = fork();

    if (!child) {
        setenv("TS_EMU_SCHEDULE", schedule, 1);
        sem_init(&go, 0, 0);
        alarm(50);
        in_one_schedule();
        exit(check_result());
    }
    return child;
}

int main(void)
{
    static const char *const schedules[] = {"fifo", "reverse", "random:1", "random:2"};
    enum { COUNT = sizeof(schedules) / sizeof(schedules[0]) };
    pid_t children[COUNT];

    for (size_t i = 0; i < COUNT; i++)
        children[i] = start(schedules[i]);
    for (size_t i = 0; i < COUNT; i++) {
        int status = 1;
        CHECK(waitpid(children[i], &status, 0) == children[i]);
        if (status)
            fprintf(stderr, "schedule %s: status 0x%x\n", schedules[i], (unsigned)status);
        CHECK_EQ_INT(status, 0);
    }
    return check_result();
}
