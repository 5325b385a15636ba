/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of the program that the GPU calls in a stream's order: each fills pinned memory which
 * commands that were sent before it ran then copy, linearly, as rows, and between unified
 * addresses, on its own stream and on one that waits for an event.
 */
#include "tests/programs/program.h"

enum { SIZE = 65536, ROUNDS = 8, PITCH = 512, ROW = 200, ROWS = 100 };

struct fill {
    uint8_t *bytes;
    uint8_t value;
};

static void fill(void *user)
{
    const struct fill *fill = user;

    usleep(3000); /* whatever was sent after this has been sent by now */
    for (size_t i = 0; i < SIZE; i++)
        fill->bytes[i] = (uint8_t)(fill->value + i);
}

static void fill_as_callback(CUstream stream, CUresult status, void *user)
{
    if (status == CUDA_SUCCESS)
        fill(user);
}

static void copy_rows(CUdeviceptr to, const uint8_t *from, CUstream stream)
{
    const CUDA_MEMCPY2D rows = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                                .srcHost = from,
                                .srcPitch = PITCH,
                                .srcXInBytes = 8,
                                .srcY = 3,
                                .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                .dstDevice = to,
                                .dstPitch = ROW,
                                .WidthInBytes = ROW,
                                .Height = ROWS};

    CU(cuMemcpy2DAsync_v2(&rows, stream));
}

int main(void)
{
    static uint8_t out[3][SIZE];
    uint8_t *pinned[2];
    CUstream streams[2];
    CUdeviceptr memory[3];
    CUcontext context;
    CUmodule module = program_begin(&context);
    uint32_t digest = 0;
    CUevent filled;

    for (int i = 0; i < 2; i++) {
        CU(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
        CU(cuMemAllocHost_v2((void **)&pinned[i], SIZE));
    }
    for (int i = 0; i < 3; i++)
        CU(cuMemAlloc_v2(&memory[i], SIZE));
    CU(cuEventCreate(&filled, CU_EVENT_DISABLE_TIMING));
    for (int round = 0; round < ROUNDS; round++) {
        struct fill fills[2] = {{pinned[0], (uint8_t)(round * 3)}, {pinned[1], (uint8_t)(~round)}};

        CU(cuLaunchHostFunc(streams[0], fill, &fills[0]));
        CU(cuMemcpyHtoDAsync_v2(memory[0], pinned[0], SIZE, streams[0]));
        CU(cuEventRecord(filled, streams[0]));
        CU(cuStreamAddCallback(streams[1], fill_as_callback, &fills[1], 0));
        copy_rows(memory[1], pinned[1], streams[1]);
        CU(cuStreamWaitEvent(streams[1], filled, 0));
        CU(cuMemcpyAsync(memory[2], (CUdeviceptr)(uintptr_t)pinned[0], SIZE / 2, streams[1]));
        CU(cuStreamSynchronize(streams[1]));
        CU(cuMemcpyDtoH_v2(out[0], memory[0], SIZE));
        CU(cuMemcpyDtoH_v2(out[1], memory[1], (size_t)ROW * ROWS));
        CU(cuMemcpyDtoH_v2(out[2], memory[2], SIZE / 2));
        digest = digest * 31 + program_digest(out, sizeof(out));
    }
    for (int i = 0; i < 2; i++) {
        CU(cuStreamDestroy_v2(streams[i]));
        CU(cuMemFreeHost(pinned[i]));
    }
    program_end(module, context);
    printf("functions: %08x\n", digest);
    return 0;
}
