/* SPDX-License-Identifier: Apache-2.0
 *
 * Things that programs with HIP do and come to, named by the argument, on any libamdhip64 that is
 * here. Copies show that it works on. Exits with 77 where there is no HIP.
 */
#include "tests/hip/hip_opened.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PER_THREAD ((hipStream_t)2)
#define SIZE       ((size_t)16 << 10)
#define THREADS    4u

/* There and back again. */
static bool works(hipStream_t stream, int value)
{
    unsigned char sent[SIZE], back[SIZE];
    void *memory;

    memset(sent, value, SIZE);
    memset(back, 0, SIZE);
    CALL(hipMalloc, &memory, SIZE);
    CALL(hipMemcpyAsync, memory, sent, SIZE, 1, stream);
    CALL(hipMemcpyAsync, back, memory, SIZE, 2, stream);
    CALL(hipStreamSynchronize, stream);
    CALL(hipFree, memory);
    return memcmp(sent, back, SIZE) == 0;
}

static void say(const char *what, int number)
{
    printf("%s %d\n", what, number);
    fflush(stdout);
}

/* ---- ends --------------------------------------------------------------------------------------
 */

static void end_here(hipStream_t stream, hipError_t status, void *unused)
{
    say("callback", (int)status);
    exit(3);
}

static void exit_in_callback(hipStream_t stream)
{
    F(hipStreamAddCallback)(stream, (void *)end_here, NULL, 0); /* may fail: HIP is ending */
    pause();
}

static void exit_quickly(hipStream_t stream)
{
    quick_exit(5);
}

static void at_exit(void)
{
    say("at exit", works(NULL, 6));
}

static bool is_late;
__attribute__((destructor)) static void after_main(void)
{
    if (is_late)
        say("destructor", works(NULL, 7));
}

static void late(hipStream_t stream)
{
    is_late = true;
    atexit(at_exit);
}

static void *kill_soon(void *unused)
{
    usleep(50000);
    kill(getpid(), SIGKILL);
    return NULL;
}

static void killed(hipStream_t stream)
{
    pthread_t thread;

    hip_check((hipError_t)pthread_create(&thread, NULL, kill_soon, NULL), "a thread");
    for (int i = 0;; i++)
        works(stream, i);
}

/* ---- goes on -----------------------------------------------------------------------------------
 */

/* In a child HIP is used where the parent has not begun to; else it only ends. */
static void child(bool uses_hip, int status)
{
    pid_t pid = fork();
    int ended = 0;

    if (pid == 0) {
        if (uses_hip)
            say("child", works(NULL, 2));
        _exit(status);
    }
    waitpid(pid, &ended, 0);
    say("status", WEXITSTATUS(ended));
}

static void fork_late(hipStream_t stream)
{
    child(false, 9);
}

static void reopen(hipStream_t stream)
{
    CALL(hipStreamDestroy, stream);
    dlclose(library);
    say("open", hip_open());
    CALL(hipInit, 0);
}

static void reset(hipStream_t stream)
{
    CALL(hipDeviceReset);
    CALL(hipStreamCreate, &stream);
    say("again", works(stream, 4));
}

static void *work_alone(void *number)
{
    const int value = *(const int *)number * 10;
    bool ok = true;

    for (int i = 0; i < 10; i++)
        ok &= works(PER_THREAD, value + i);
    return (void *)(uintptr_t)ok;
}

static void threads(hipStream_t stream)
{
    pthread_t all[THREADS];
    int numbers[THREADS], right = 0;

    for (unsigned i = 0; i < THREADS; i++) {
        numbers[i] = (int)i;
        hip_check((hipError_t)pthread_create(&all[i], NULL, work_alone, &numbers[i]), "a thread");
    }
    for (unsigned i = 0; i < THREADS; i++) {
        void *ok = NULL;
        pthread_join(all[i], &ok);
        right += ok != NULL;
    }
    say("threads", right);
}

static atomic_int called;
static void count(hipStream_t stream, hipError_t status, void *unused)
{
    called++;
}

static void callbacks(hipStream_t stream)
{
    for (int i = 0; i < 20; i++)
        CALL(hipStreamAddCallback, stream, (void *)count, NULL, 0);
    CALL(hipStreamSynchronize, stream);
    while (called < 20)
        usleep(1000);
    say("called", called);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(hipStream_t stream);
    } things[] = {{"exit", exit_in_callback}, {"quick", exit_quickly},  {"late", late},
                  {"killed", killed},         {"fork_late", fork_late}, {"reopen", reopen},
                  {"reset", reset},           {"threads", threads},     {"callbacks", callbacks}};
    hipStream_t stream;
    int devices = 0;

    if (!hip_open())
        return 77;
    if (strcmp(argv[1], "fork_early") == 0)
        child(true, 8);
    if (F(hipGetDeviceCount)(&devices) != 0 || !devices)
        return 1;
    CALL(hipStreamCreate, &stream);
    say("first", works(stream, 1));
    for (unsigned i = 0; i < sizeof(things) / sizeof(things[0]); i++)
        if (strcmp(argv[1], things[i].name) == 0)
            things[i].run(stream);
    say("last", works(NULL, 5));
    return 0;
}
