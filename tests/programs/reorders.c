/* SPDX-License-Identifier: Apache-2.0
 *
 * reorders WAY: work whose order matters, or does not, for tests of schedules. Stream `one` is busy
 * for long before it does what stream `two` needs. WAYS:
 *   events   by an event; and a wait for an event that says nothing
 *   host     because the program waits; and a wait for nothing
 *   upload   because the program sends what it has read back
 *   mapped   because the program writes memory that kernels read in place
 *   pinned   because the program writes other bytes where an earlier copy takes its own
 *   free     because memory is freed between
 *   contexts apart, in two contexts
 *   results  bytes come back into pinned memory, and are written over later
 *   function a function of the program writes what a later copy takes
 */
#include "tests/programs/program.h"

enum { COUNT = 64, SIZE = COUNT * 4, LONG = 40000 };

static CUcontext context;
static CUstream one, two;
static CUfunction mix;
static CUdeviceptr first, second, third;
static uint32_t results[3][COUNT];

static void work(CUstream stream, CUdeviceptr at, int rounds)
{
    int count = COUNT;

    CU(cuLaunchKernel(mix, 1, 1, 1, COUNT, 1, 1, 0, stream, (void *[]){&count, &rounds, &at},
                      NULL));
}

static void begin_streams(void)
{
    CU(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
    CU(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
}

/* Reads back what stream two has in the end. */
static void finish(CUdeviceptr at)
{
    work(two, at, 3);
    CU(cuStreamSynchronize(two));
    CU(cuStreamSynchronize(one));
    CU(cuMemcpyDtoH_v2(results[0], at, SIZE));
}

static void by_event(void)
{
    CUevent done, nothing;

    CU(cuEventCreate(&done, 0));
    CU(cuEventCreate(&nothing, 0));
    work(one, first, LONG);
    CU(cuMemcpyDtoDAsync_v2(second, first, SIZE, one));
    CU(cuEventRecord(done, one));
    CU(cuEventRecord(nothing, two));
    CU(cuStreamWaitEvent(two, nothing, 0));
    CU(cuStreamWaitEvent(two, done, 0));
    CU(cuMemcpyDtoDAsync_v2(third, second, SIZE, two));
    finish(third);
    CU(cuEventDestroy_v2(done));
    CU(cuEventDestroy_v2(nothing));
}

static void by_host(void)
{
    CU(cuStreamSynchronize(two));
    work(one, first, LONG);
    CU(cuMemcpyDtoDAsync_v2(second, first, SIZE, one));
    CU(cuStreamSynchronize(one));
    CU(cuMemcpyDtoDAsync_v2(third, second, SIZE, two));
    finish(third);
}

static void by_upload(void)
{
    uint32_t *there;

    CU(cuMemHostAlloc((void **)&there, SIZE, 0));
    work(one, first, LONG);
    CU(cuMemcpyDtoHAsync_v2(there, first, SIZE, one));
    CU(cuStreamSynchronize(one));
    for (unsigned i = 0; i < COUNT; i++)
        results[1][i] = there[i] + 1;
    CU(cuMemcpyHtoDAsync_v2(third, results[1], SIZE, two));
    finish(third);
    CU(cuMemFreeHost(there));
}

static void by_mapped(void)
{
    CUdeviceptr there;
    uint32_t *mapped;

    CU(cuMemHostAlloc((void **)&mapped, SIZE, CU_MEMHOSTALLOC_DEVICEMAP));
    CU(cuMemHostGetDevicePointer_v2(&there, mapped, 0));
    memset(mapped, 1, SIZE);
    CU(cuMemcpyDtoDAsync_v2(second, there, SIZE, one));
    CU(cuStreamSynchronize(one));
    memset(mapped, 2, SIZE);
    CU(cuMemcpyDtoDAsync_v2(third, there, SIZE, two));
    work(one, second, 2);
    finish(third);
    CU(cuMemcpyDtoH_v2(results[1], second, SIZE));
    CU(cuMemFreeHost(mapped));
}

static void by_pinned(void)
{
    uint32_t *there, *back;
    CUdeviceptr spare;

    CU(cuMemAlloc_v2(&spare, SIZE));
    CU(cuMemHostAlloc((void **)&there, 2 * SIZE, 0));
    CU(cuMemHostAlloc((void **)&back, SIZE, 0));
    memset(there, 1, 2 * SIZE);
    work(one, first, LONG);
    CU(cuMemcpyHtoDAsync_v2(second, there, SIZE, one));
    CU(cuStreamSynchronize(one));
    CU(cuMemsetD32Async(spare, 9, COUNT, two));
    CU(cuMemcpyDtoHAsync_v2(back, spare, SIZE, two));
    CU(cuMemcpyHtoDAsync_v2(first, there + COUNT, SIZE, two));
    memset(there, 2, SIZE);
    CU(cuMemcpyHtoDAsync_v2(third, there, SIZE, two));
    finish(third);
    memcpy(results[1], back, SIZE);
    CU(cuMemcpyDtoH_v2(results[2], second, SIZE));
    CU(cuMemFreeHost(there));
    CU(cuMemFreeHost(back));
}

static void by_free(void)
{
    work(one, first, 2);
    CU(cuStreamSynchronize(one));
    CU(cuMemFree_v2(first));
    work(two, second, 2);
    finish(second);
}

static void by_contexts(void)
{
    CUcontext other;
    CUdevice device;
    CUdeviceptr there;

    CU(cuDeviceGet(&device, 0));
    CU(cuMemcpyDtoD_v2(second, first, SIZE));
    CU(cuCtxCreate_v2(&other, 0, device));
    CU(cuMemAlloc_v2(&there, SIZE));
    CU(cuMemsetD32Async(there, 5, COUNT, NULL));
    CU(cuCtxPopCurrent_v2(&other));
    CU(cuMemsetD32Async(first, 6, COUNT, NULL));
    CU(cuCtxPushCurrent_v2(other));
    CU(cuMemcpyDtoH_v2(results[1], there, SIZE));
    CU(cuCtxPopCurrent_v2(&other));
    CU(cuMemcpyDtoH_v2(results[2], first, SIZE));
    finish(second);
    CU(cuCtxDestroy_v2(other));
}

static void by_results(void)
{
    uint32_t *there;

    CU(cuMemHostAlloc((void **)&there, SIZE, 0));
    work(one, first, LONG);
    CU(cuMemcpyDtoHAsync_v2(there, first, SIZE, one));
    CU(cuStreamSynchronize(one));
    memcpy(results[1], there, SIZE);
    work(two, second, 2);
    CU(cuMemcpyDtoHAsync_v2(there, second, SIZE, two));
    CU(cuStreamSynchronize(two));
    memcpy(results[2], there, SIZE);
    finish(second);
    CU(cuMemFreeHost(there));
}

static uint32_t *written;

static void write_words(void *user)
{
    for (unsigned i = 0; i < COUNT; i++)
        written[i] += (uint32_t)(uintptr_t)user;
}

static void by_function(void)
{
    CUdeviceptr there;

    CU(cuMemHostAlloc((void **)&written, SIZE, CU_MEMHOSTALLOC_DEVICEMAP));
    CU(cuMemHostGetDevicePointer_v2(&there, written, 0));
    memset(written, 0, SIZE);
    CU(cuLaunchHostFunc(one, write_words, (void *)(uintptr_t)3));
    CU(cuMemcpyDtoDAsync_v2(second, there, SIZE, one));
    CU(cuStreamSynchronize(one));
    CU(cuLaunchHostFunc(two, write_words, (void *)(uintptr_t)4));
    CU(cuMemcpyDtoDAsync_v2(third, there, SIZE, two));
    finish(third);
    CU(cuMemcpyDtoH_v2(results[1], second, SIZE));
    CU(cuMemFreeHost(written));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } ways[] = {{"events", by_event},      {"host", by_host},       {"upload", by_upload},
                {"mapped", by_mapped},     {"pinned", by_pinned},   {"free", by_free},
                {"contexts", by_contexts}, {"results", by_results}, {"function", by_function}};
    CUmodule module = program_begin(&context);

    mix = program_function(module, "mix");
    CU(cuMemAlloc_v2(&first, SIZE));
    CU(cuMemAlloc_v2(&second, SIZE));
    CU(cuMemAlloc_v2(&third, SIZE));
    CU(cuMemsetD32_v2(first, 1, COUNT));
    CU(cuMemsetD32_v2(second, 2, COUNT));
    CU(cuMemsetD32_v2(third, 3, COUNT));
    CU(cuCtxSynchronize());
    begin_streams();
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
        if (argc > 1 && strcmp(argv[1], ways[i].name) == 0)
            ways[i].run();
    printf("reorders: %08x\n", program_digest(results, sizeof(results)));
    program_end(module, context);
    return 0;
}
