/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that are to be cancelled when they call the driver: a call in which nothing waits
 * returns, and is carried out. Then the same calls are made by the main thread: nobody has left a
 * lock.
 */
#include "tests/programs/program.h"

#include <pthread.h>

enum { COUNT = 100000, SIZE = COUNT * 4 };

static CUcontext context;
static CUmodule module;
static CUfunction fill;
static CUdeviceptr memory;
static CUstream stream;
static uint32_t *pinned, *mapped, *registered, *pageable;

static void launch(void)
{
    int n = COUNT;
    float a = 2;
    CUdeviceptr second = memory + SIZE;

    program_launch(fill, COUNT, stream, (void *[]){&n, &a, &memory, &second});
}

static void copy_pinned(void)
{
    pinned[1]++;
    CU(cuMemcpyHtoDAsync_v2(memory, pinned, SIZE, stream));
}

static void copy_pageable(void)
{
    pageable[1]++;
    CU(cuMemcpyHtoDAsync_v2(memory, pageable, SIZE, stream));
}

static void copy_registered(void)
{
    registered[1]++;
    CU(cuMemcpyHtoDAsync_v2(memory, registered, SIZE, stream));
}

static void fill_memory(void)
{
    mapped[2]++;
    CU(cuMemsetD32Async(memory, 5, COUNT, stream));
}

static void allocate(void)
{
    CUdeviceptr more;

    CU(cuMemAlloc_v2(&more, SIZE));
    CU(cuMemFree_v2(more));
}

static void make_stream(void)
{
    CUstream other;

    CU(cuStreamCreate(&other, 0));
    CU(cuStreamDestroy_v2(other));
}

static void register_memory(void)
{
    CU(cuMemHostUnregister(registered));
    CU(cuMemHostRegister_v2(registered, SIZE, CU_MEMHOSTREGISTER_DEVICEMAP));
}

static void load(void)
{
    static const char ptx[] =
        ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry none()\n{ ret; }\n";
    CUmodule other;

    CU(cuModuleLoadData(&other, ptx));
    CU(cuModuleUnload(other));
}

static void ask(void)
{
    size_t free_size, size;

    CU(cuMemGetInfo_v2(&free_size, &size));
}

static const struct act {
    const char *name;
    void (*act)(void);
} acts[] = {
    {"launch", launch},
    {"pinned", copy_pinned},
    {"pageable", copy_pageable},
    {"registered", copy_registered},
    {"fill", fill_memory},
    {"allocate", allocate},
    {"stream", make_stream},
    {"register", register_memory},
    {"load", load},
    {"ask", ask},
};
#define ACT_COUNT (sizeof(acts) / sizeof(acts[0]))

static volatile int has_returned;

/* Its first call ever, too. */
static void *run(void *argument)
{
    const struct act *a = argument;

    has_returned = 0;
    pthread_cancel(pthread_self());
    CU(cuCtxSetCurrent(context));
    a->act();
    has_returned = 1;
    pthread_testcancel();
    return NULL;
}

int main(void)
{
    module = program_begin(&context);
    fill = program_function(module, "saxpy");
    CU(cuMemAlloc_v2(&memory, 2 * SIZE));
    CU(cuStreamCreate(&stream, 0));
    CU(cuMemHostAlloc((void **)&pinned, SIZE, 0));
    CU(cuMemHostAlloc((void **)&mapped, SIZE, CU_MEMHOSTALLOC_DEVICEMAP));
    pageable = calloc(1, SIZE);
    registered = aligned_alloc(4096, (SIZE + 4095) / 4096 * 4096);
    memset(registered, 0, SIZE);
    CU(cuMemHostRegister_v2(registered, SIZE, CU_MEMHOSTREGISTER_DEVICEMAP));
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < ACT_COUNT; i++) {
            pthread_t thread;
            void *result;

            CU(cuStreamSynchronize(stream));
            pthread_create(&thread, NULL, run, (void *)(uintptr_t)&acts[i]);
            pthread_join(thread, &result);
            printf("%s: %s%s\n", acts[i].name, has_returned ? "returned" : "did not return",
                   result == PTHREAD_CANCELED ? "" : ", was not cancelled");
            acts[i].act();
        }
    }
    CU(cuStreamSynchronize(stream));
    printf("%u %u %u\n", pinned[1], pageable[1], registered[1]);
    return 0;
}
