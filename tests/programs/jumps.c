/* SPDX-License-Identifier: Apache-2.0
 *
 * A signal handler that leaves a call that waits, by siglongjmp(), as a watchdog does; then the
 * program goes on with calls in which nothing waits, in the same thread.
 */
#include "tests/programs/program.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

static sigjmp_buf out;
static volatile sig_atomic_t may_end;

static void on_alarm(int number)
{
    siglongjmp(out, 1);
}

static void wait_for_host(void *unused)
{
    while (!may_end)
        usleep(1000); /* until the signal has come, however late */
}

int main(void)
{
    const struct itimerval soon = {.it_value = {.tv_usec = 20000}};
    CUcontext context;
    CUdeviceptr memory;
    CUstream stream;
    int version;

    program_begin(&context);
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    signal(SIGALRM, on_alarm);
    CU(cuLaunchHostFunc(stream, wait_for_host, NULL));
    if (sigsetjmp(out, 1) == 0) {
        setitimer(ITIMER_REAL, &soon, NULL);
        CU(cuStreamSynchronize(stream));
        printf("it was not left\n");
    }
    for (int i = 0; i < 5; i++)
        CU(cuMemAlloc_v2(&memory, 4096));
    CU(cuDriverGetVersion(&version));
    may_end = 1;
    printf("went on\n");
    return 0;
}
