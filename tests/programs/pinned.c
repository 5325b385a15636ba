/* SPDX-License-Identifier: Apache-2.0
 *
 * pinned WAY HOW: bytes that a command gives back into memory which host and GPU share, and the
 * program reads there.
 *
 * WAY: copy (from the device to the host), plain (the driver finds out which is which), device (as
 *      if both sides were the device's), rows, fill
 * HOW: sync, event, query   how the program waits
 *      waits       the call itself does
 *      reader      a kernel after it reads the bytes
 *      writer      a kernel after it writes the second half
 *      beside      a kernel after it writes after them, in the same allocation
 *      part        a copy after it writes the second half
 *      polled      the program sees a value after it, and changes a byte before it waits
 *      changed     the program changes a byte when it has waited
 */
#include "tests/programs/program.h"

#include <sched.h>

enum { COUNT = 1024, SIZE = COUNT * 4, FLAG = 4 * COUNT };

static struct {
    const char *way, *how;
    CUstream stream;
    CUfunction copy, fill;
    volatile unsigned *shared;
    CUdeviceptr there, device, out;
} t;

static int is(const char *how)
{
    return !strcmp(t.how, how);
}

static void give_rows(void)
{
    const CUDA_MEMCPY2D rows = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                .srcDevice = t.device,
                                .srcPitch = 128,
                                .dstMemoryType = CU_MEMORYTYPE_HOST,
                                .dstHost = (void *)t.shared,
                                .dstPitch = 128,
                                .WidthInBytes = 64,
                                .Height = SIZE / 128};

    CU(cuMemcpy2DAsync_v2(&rows, t.stream));
}

static void give(unsigned round)
{
    if (is("waits"))
        CU(cuMemcpyDtoH_v2((void *)t.shared, t.device, SIZE));
    else if (!strcmp(t.way, "copy"))
        CU(cuMemcpyDtoHAsync_v2((void *)t.shared, t.device, SIZE, t.stream));
    else if (!strcmp(t.way, "plain"))
        CU(cuMemcpyAsync(t.there, t.device, SIZE, t.stream));
    else if (!strcmp(t.way, "device"))
        CU(cuMemcpyDtoDAsync_v2(t.there, t.device, SIZE, t.stream));
    else if (!strcmp(t.way, "rows"))
        give_rows();
    else
        CU(cuMemsetD32Async(t.there, round + 5, COUNT, t.stream));
}

static void follow(unsigned round)
{
    CUdeviceptr half = t.there + SIZE / 2, behind = t.there + 2 * SIZE;
    int count = COUNT / 2, all = COUNT;
    unsigned value = round + 9;

    if (is("reader"))
        program_launch(t.copy, COUNT, t.stream, (void *[]){&all, &t.there, &t.out});
    if (is("writer"))
        program_launch(t.fill, COUNT / 2, t.stream, (void *[]){&count, &value, &half});
    if (is("beside"))
        program_launch(t.fill, COUNT / 2, t.stream, (void *[]){&count, &value, &behind});
    if (is("part"))
        CU(cuMemcpyDtoHAsync_v2((char *)t.shared + SIZE / 2, t.device + SIZE, SIZE / 2, t.stream));
    if (is("polled")) {
        CU(cuStreamWriteValue32_v2(t.stream, t.there + 4 * FLAG, round + 1, 0));
        while (t.shared[FLAG] != round + 1)
            sched_yield();
        t.shared[3] = 77 + round;
        program_launch(t.copy, COUNT, t.stream, (void *[]){&all, &t.there, &t.out});
    }
}

static void wait_for_it(CUevent event)
{
    if (is("event")) {
        CU(cuEventRecord(event, t.stream));
        CU(cuEventSynchronize(event));
    }
    while (is("query") && cuStreamQuery(t.stream) == CUDA_ERROR_NOT_READY)
        usleep(50);
    CU(cuStreamSynchronize(t.stream));
}

static uint32_t run_round(unsigned round, CUevent event)
{
    int all = COUNT;
    uint32_t digest;

    CU(cuMemsetD32Async(t.device, 3 * round + 1, 2 * COUNT, t.stream));
    CU(cuStreamSynchronize(t.stream));
    give(round);
    follow(round);
    wait_for_it(event);
    digest = program_digest((const void *)t.shared, 4 * SIZE);
    if (is("changed"))
        t.shared[5] = round;
    /* The present bytes reach the device, where they are not compared. */
    program_launch(t.copy, COUNT, t.stream, (void *[]){&all, &t.there, &t.out});
    CU(cuStreamSynchronize(t.stream));
    return digest;
}

int main(int argc, char **argv)
{
    CUcontext context;
    CUmodule module = program_begin(&context);
    uint32_t digest = 0;
    CUevent event;

    t.way = argc > 1 ? argv[1] : "copy";
    t.how = argc > 2 ? argv[2] : "sync";
    t.copy = program_function(module, "copy");
    t.fill = program_function(module, "fill");
    CU(cuStreamCreate(&t.stream, CU_STREAM_NON_BLOCKING));
    CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CU(cuMemHostAlloc((void **)&t.shared, 8 * SIZE, CU_MEMHOSTALLOC_DEVICEMAP));
    CU(cuMemHostGetDevicePointer_v2(&t.there, (void *)t.shared, 0));
    CU(cuMemAlloc_v2(&t.device, 2 * SIZE));
    CU(cuMemAlloc_v2(&t.out, SIZE));
    CU(cuCtxSynchronize());
    for (unsigned round = 0; round < 3; round++)
        digest = digest * 31 + run_round(round, event);
    CU(cuMemFree_v2(t.out));
    CU(cuMemFree_v2(t.device));
    CU(cuMemFreeHost((void *)t.shared));
    CU(cuEventDestroy_v2(event));
    CU(cuStreamDestroy_v2(t.stream));
    program_end(module, context);
    printf("pinned %s %s: %08x\n", t.way, t.how, digest);
    return 0;
}
