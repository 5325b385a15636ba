/* SPDX-License-Identifier: Apache-2.0
 *
 * Work on every sort of stream, in an order that is known: the default one, one that synchronises
 * with it, one that does not, the thread's own. record_test.py knows what its trace must say.
 */
#include "tests/programs/program.h"

enum { COUNT = 1024 };

static unsigned char in[4096], out[4096];
static CUdeviceptr a, b;

static void boxes(CUstream stream)
{
    CUDA_MEMCPY2D up = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = in,
                        .srcPitch = 64,
                        .srcXInBytes = 4,
                        .srcY = 1,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = a,
                        .dstPitch = 128,
                        .WidthInBytes = 32,
                        .Height = 3};
    CUDA_MEMCPY2D down = {.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                          .srcDevice = a,
                          .srcPitch = 128,
                          .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                          .dstPitch = 64,
                          .WidthInBytes = 32,
                          .Height = 3};

    down.dstDevice = (CUdeviceptr)(uintptr_t)out;
    CU(cuMemcpy2DAsync_v2(&up, stream));
    CU(cuMemcpy2DAsync_v2(&down, stream));
}

int main(void)
{
    struct {
        int count, steps;
        CUdeviceptr memory;
    } block = {COUNT, 3, 0};
    size_t block_size = sizeof(block);
    int count = COUNT, steps = 2;
    void *packed[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE,
                      &block_size, CU_LAUNCH_PARAM_END};
    CUstream joins, free_running;
    CUevent event;
    CUcontext context;
    CUmodule module = program_begin(&context);
    CUfunction mix = program_function(module, "mix");

    CU(cuMemAlloc_v2(&a, 4096));
    CU(cuMemAlloc_v2(&b, 4096));
    CU(cuStreamCreate(&joins, CU_STREAM_DEFAULT));
    CU(cuStreamCreate(&free_running, CU_STREAM_NON_BLOCKING));
    CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));

    CU(cuMemcpyHtoDAsync_v2(a, in, 4096, joins));
    CU(cuEventRecord(event, joins));
    CU(cuStreamWaitEvent(free_running, event, 0));
    program_launch(mix, COUNT, free_running, (void *[]){&count, &steps, &a});
    CU(cuMemcpyDtoHAsync_v2(out, a, 4096, free_running));
    CU(cuStreamSynchronize(free_running));
    CU(cuMemsetD32Async(b, 0x01020304, 16, NULL));
    CU(cuMemsetD32Async(b, 5, 16, CU_STREAM_LEGACY));
    CU(cuMemsetD32Async(b, 6, 16, CU_STREAM_PER_THREAD));
    CU(cuMemsetD32Async_ptsz(b, 7, 16, NULL));
    boxes(joins);
    block.memory = a;
    CU(cuLaunchKernel(mix, 4, 1, 1, 256, 1, 1, 0, joins, NULL, packed));
    CU(cuCtxSynchronize());
    CU(cuMemcpy(b, (CUdeviceptr)(uintptr_t)in, 100));
    CU(cuMemcpy((CUdeviceptr)(uintptr_t)out, b, 100));

    CU(cuEventDestroy_v2(event));
    CU(cuStreamDestroy_v2(joins));
    CU(cuStreamDestroy_v2(free_running));
    CU(cuMemFree_v2(a));
    CU(cuMemFree_v2(b));
    program_end(module, context);
    return 0;
}
