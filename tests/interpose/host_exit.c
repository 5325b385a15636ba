/* SPDX-License-Identifier: Apache-2.0 -- ends in the way that its argument says, with status 3
 * where it has one. */
#include "tests/programs/program.h"

#include <pthread.h>
#include <sys/syscall.h>

/* The software GPU has no thread before something is sent. */
static void *work_last(void *unused)
{
    int version;

    usleep(300000); /* main() is likely to have ended; it makes no difference */
    CU(cuDriverGetVersion(&version));
    return NULL;
}

static void say_version(void)
{
    int version;

    printf("%d\n", (int)cuDriverGetVersion(&version));
}

static void end_with_thread(const char *way)
{
    pthread_t thread;

    if (strncmp(way, "last_", 5) != 0)
        return;
    say_version();
    atexit(say_version);
    fflush(stdout);
    if (strcmp(way, "last_call") == 0)
        syscall(SYS_exit, 3);
    pthread_create(&thread, NULL, work_last, NULL);
    pthread_detach(thread);
    pthread_exit(NULL);
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    CUcontext context;
    CUdeviceptr memory;

    end_with_thread(way);
    program_begin(&context);
    CU(cuMemAlloc_v2(&memory, 16));
    CU(cuMemsetD8_v2(memory, 7, 16));
    if (strcmp(way, "_exit") == 0)
        _exit(3);
    if (strcmp(way, "_Exit") == 0)
        _Exit(3);
    if (strcmp(way, "abort") == 0)
        abort();
    exit(3);
}
