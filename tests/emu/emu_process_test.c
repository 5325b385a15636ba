/* SPDX-License-Identifier: Apache-2.0
 *
 * A child of fork() gets errors, no hang; a process may end while streams run.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/emu/emu_test.h"

static void forever(void *data)
{
    for (;;)
        pause();
}

static int child(void)
{
    int count;
    CUcontext context;

    FAILS(cuInit(0), CUDA_ERROR_NOT_INITIALIZED);
    FAILS(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    FAILS(cuCtxGetCurrent(&context), CUDA_ERROR_NOT_INITIALIZED);
    FAILS(cuCtxSynchronize(), CUDA_ERROR_NOT_INITIALIZED);
    return check_result();
}

int main(void)
{
    CUstream s;
    int status;

    test_context();
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuLaunchHostFunc(s, forever, NULL));
    pid_t pid = fork();
    if (pid == 0)
        _exit(child());
    waitpid(pid, &status, 0);
    CHECK_EQ_INT(status, 0);
    return check_result();
}
