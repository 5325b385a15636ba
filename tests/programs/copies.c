/* SPDX-License-Identifier: Apache-2.0 -- every form of copy and fill, one- to three-dimensional. */
#include "tests/programs/program.h"

enum { WIDTH = 48, HEIGHT = 6, DEPTH = 3, HOST_PITCH = 64 };

static CUdeviceptr pitched;
static size_t pitch;

static void fill_2d(void)
{
    CU(cuMemAllocPitch_v2(&pitched, &pitch, WIDTH, HEIGHT * DEPTH, 4));
    CU(cuMemsetD2D8_v2(pitched, pitch, 1, WIDTH, HEIGHT * DEPTH));
    CU(cuMemsetD2D16_v2(pitched, pitch, 0x0203, WIDTH / 4, HEIGHT));
    CU(cuMemsetD2D32Async(pitched + pitch, pitch, 0x04050607, WIDTH / 8, 2, NULL));
}

static void copy_2d(const uint8_t *in, uint8_t *out)
{
    CUDA_MEMCPY2D up = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = in,
                        .srcPitch = HOST_PITCH,
                        .srcXInBytes = 4,
                        .srcY = 1,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = pitched,
                        .dstPitch = pitch,
                        .dstXInBytes = 8,
                        .dstY = 2,
                        .WidthInBytes = 32,
                        .Height = 3};
    CUDA_MEMCPY2D down = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = pitched,
                          .srcPitch = pitch,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = out,
                          .dstPitch = HOST_PITCH,
                          .WidthInBytes = WIDTH,
                          .Height = HEIGHT};

    CU(cuMemcpy2D_v2(&up));
    CU(cuMemcpy2DAsync_v2(&down, NULL)); /* to pageable memory: complete when it returns */
}

static void copy_3d(const uint8_t *in, uint8_t *out)
{
    CUDA_MEMCPY3D up = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = in,
                        .srcPitch = HOST_PITCH,
                        .srcHeight = HEIGHT,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = pitched,
                        .dstPitch = pitch,
                        .dstHeight = HEIGHT,
                        .dstXInBytes = 16,
                        .WidthInBytes = 16,
                        .Height = 4,
                        .Depth = DEPTH};
    CUDA_MEMCPY3D down = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = pitched,
                          .srcPitch = pitch,
                          .srcHeight = HEIGHT,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = out,
                          .dstPitch = HOST_PITCH,
                          .dstHeight = HEIGHT,
                          .WidthInBytes = WIDTH,
                          .Height = HEIGHT,
                          .Depth = DEPTH};

    CU(cuMemcpy3DAsync_v2(&up, NULL));
    CU(cuMemcpy3D_v2(&down));
}

int main(void)
{
    static uint8_t in[HOST_PITCH * HEIGHT * DEPTH], out[HOST_PITCH * HEIGHT * DEPTH];
    CUcontext context;
    CUmodule module = program_begin(&context);
    CUdeviceptr a, b;

    for (size_t i = 0; i < sizeof(in); i++)
        in[i] = (uint8_t)(i * 7);
    fill_2d();
    copy_2d(in, out);
    printf("2D: %08x\n", program_digest(out, sizeof(out)));
    copy_3d(in, out);
    printf("3D: %08x\n", program_digest(out, sizeof(out)));

    CU(cuMemAlloc_v2(&a, 1024));
    CU(cuMemAlloc_v2(&b, 1024));
    CU(cuMemsetD16_v2(a, 0x1234, 512));
    CU(cuMemsetD16Async(a + 100, 0x4321, 10, NULL));
    CU(cuMemsetD8Async(a + 301, 0x55, 3, NULL));
    CU(cuMemcpyDtoD_v2(b, a, 1024));
    CU(cuMemcpyDtoDAsync_v2(b + 512, a + 256, 128, NULL));
    CU(cuMemcpyPeer(b + 700, context, a, context, 64));
    CU(cuMemcpy((CUdeviceptr)(uintptr_t)out, b, 512)); /* device to host */
    CU(cuMemcpy(b, (CUdeviceptr)(uintptr_t)in, 200));  /* host to device */
    CU(cuMemcpyAsync(b + 300, a, 50, NULL));           /* device to device */
    CU(cuMemcpyDtoHAsync_v2(out + 512, b, 512, NULL));
    CU(cuCtxSynchronize());
    printf("1D: %08x\n", program_digest(out, sizeof(out)));
    CU(cuMemFree_v2(a));
    CU(cuMemFree_v2(b));
    CU(cuMemFree_v2(pitched));
    program_end(module, context);
    return 0;
}
