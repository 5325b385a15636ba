/* SPDX-License-Identifier: Apache-2.0
 *
 * GPU calls from where there is little stack: a thread of 16 KiB, a signal handler on 16 KiB, a coroutine
 * of 16 KiB. Prints what the GPU's memory holds.
 */
#include "tests/programs/program.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#define COUNT 256u
#define SIZE  16384u

static CUstream stream;
static CUdeviceptr memory;
static CUcontext context;
static unsigned words[COUNT];

static void calls(void)
{
    cuCtxSetCurrent(context);
    for (unsigned i = 0; i < 10; i++) {
        cuMemsetD32Async(memory, i, COUNT, stream);
        cuMemcpyHtoDAsync_v2(memory + 4 * i, words, 64, stream);
        cuMemcpyDtoHAsync_v2(words, memory, sizeof(words), stream);
        cuStreamSynchronize(stream);
        words[i] += i;
    }
}

static char *make_stack(void)
{
    char *stack = mmap(NULL, 4096 + SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    mprotect(stack, 4096, PROT_NONE);
    return stack + 4096;
}

static void *thread_main(void *unused)
{
    calls();
    return NULL;
}

static void on_signal(int number)
{
    calls();
}

static ucontext_t main_context, coroutine_context;

static void coroutine(void)
{
    calls();
    swapcontext(&coroutine_context, &main_context);
}

int main(void)
{
    stack_t alternative = {.ss_sp = make_stack(), .ss_size = SIZE};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    pthread_attr_t attributes;
    pthread_t thread;
    CUdevice device;

    CU(cuInit(0));
    CU(cuDeviceGet(&device, 0));
    CU(cuCtxCreate_v2(&context, 0, device));
    CU(cuStreamCreate(&stream, 0));
    CU(cuMemAlloc_v2(&memory, sizeof(words)));

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, SIZE);
    pthread_create(&thread, &attributes, thread_main, NULL);
    pthread_join(thread, NULL);

    sigaltstack(&alternative, NULL);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);

    getcontext(&coroutine_context);
    coroutine_context.uc_stack = (stack_t){.ss_sp = make_stack(), .ss_size = SIZE};
    coroutine_context.uc_link = &main_context;
    makecontext(&coroutine_context, coroutine, 0);
    swapcontext(&main_context, &coroutine_context);

    for (unsigned i = 0; i < COUNT; i++)
        printf("%u%c", words[i], i % 16 == 15 ? '\n' : ' ');
    return 0;
}
