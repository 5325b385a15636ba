/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies and fills in all their shapes.
 */
#include "tests/emu/emu_test.h"

static void linear(void)
{
    CUdeviceptr a, b;
    char out[16] = "";

    OK(cuMemAlloc_v2(&a, 16));
    OK(cuMemAlloc_v2(&b, 16));
    OK(cuMemcpyHtoD_v2(a, "fifteen letters", 16));
    OK(cuMemcpyDtoD_v2(b, a, 16));
    OK(cuMemcpy((uintptr_t)out, b, 16));
    CHECK_EQ_STR(out, "fifteen letters");
    FAILS(cuMemcpyHtoD_v2(a, "more than there is", 17), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemcpyDtoH_v2(out, a + 16, 1), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemcpyDtoD_v2(a, (uintptr_t)out, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemcpyDtoH_v2(out, a, 0));
    OK(cuMemFree_v2(a));
    OK(cuMemFree_v2(b));
}

static void fills(void)
{
    CUdeviceptr p;
    uint16_t out[64];

    OK(cuMemAlloc_v2(&p, sizeof(out)));
    OK(cuMemsetD16_v2(p, 0x1234, 64));
    OK(cuMemsetD2D8_v2(p + 2, 32, 0xff, 2, 4)); /* the second element of each row of 16 */
    OK(cuMemcpyDtoH_v2(out, p, sizeof(out)));
    CHECK_EQ_INT(out[0], 0x1234);
    CHECK_EQ_INT(out[1], 0xffff);
    CHECK_EQ_INT(out[2], 0x1234);
    CHECK_EQ_INT(out[49], 0xffff);
    FAILS(cuMemsetD32_v2(p + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemsetD32_v2(p, 0, 33), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree_v2(p));
}

/* A rectangle out of the middle of one pitched area into another. */
static void rectangle(void)
{
    unsigned char from[8][16], to[4][8] = {{0}};
    CUdeviceptr p;
    size_t pitch;

    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 16; x++)
            from[y][x] = (unsigned char)(y * 16 + x);
    OK(cuMemAllocPitch_v2(&p, &pitch, 16, 8, 4));
    CUDA_MEMCPY2D in = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = from,
                        .srcPitch = 16,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = p,
                        .dstPitch = pitch,
                        .WidthInBytes = 16,
                        .Height = 8};
    OK(cuMemcpy2D_v2(&in));
    CUDA_MEMCPY2D out = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                         .srcDevice = p,
                         .srcPitch = pitch,
                         .srcXInBytes = 3,
                         .srcY = 2,
                         .dstMemoryType = CU_MEMORYTYPE_HOST,
                         .dstHost = to,
                         .dstPitch = 8,
                         .dstXInBytes = 1,
                         .dstY = 1,
                         .WidthInBytes = 5,
                         .Height = 3};
    OK(cuMemcpy2D_v2(&out));
    CHECK_EQ_INT(to[0][1], 0);
    CHECK_EQ_INT(to[1][0], 0);
    CHECK_EQ_INT(to[1][1], 2 * 16 + 3);
    CHECK_EQ_INT(to[3][5], 4 * 16 + 7);
    CHECK_EQ_INT(to[3][6], 0);
    out.srcPitch = 4;
    FAILS(cuMemcpy2D_v2(&out), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree_v2(p));
}

static void arrays(void)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {.Width = 4,
                                 .Height = 3,
                                 .Depth = 2,
                                 .Format = CU_AD_FORMAT_UNSIGNED_INT16,
                                 .NumChannels = 2};
    uint32_t from[2][3][4], one = 0;
    CUarray array;

    for (unsigned i = 0; i < 24; i++)
        from[i / 12][i / 4 % 3][i % 4] = i;
    OK(cuArray3DCreate_v2(&array, &d));
    CUDA_MEMCPY3D in = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = from,
                        .srcPitch = 16,
                        .srcHeight = 3,
                        .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                        .dstArray = array,
                        .WidthInBytes = 16,
                        .Height = 3,
                        .Depth = 2};
    OK(cuMemcpy3D_v2(&in));
    CUDA_MEMCPY3D out = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                         .srcArray = array,
                         .srcXInBytes = 8,
                         .srcY = 1,
                         .srcZ = 1,
                         .dstMemoryType = CU_MEMORYTYPE_HOST,
                         .dstHost = &one,
                         .WidthInBytes = 4,
                         .Height = 1,
                         .Depth = 1};
    OK(cuMemcpy3D_v2(&out));
    CHECK_EQ_INT(one, 12 + 4 + 2);
    out.srcZ = 2;
    FAILS(cuMemcpy3D_v2(&out), CUDA_ERROR_INVALID_VALUE);
    OK(cuArrayDestroy(array));
    FAILS(cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
}

int main(void)
{
    CUcontext context = test_context();

    linear();
    fills();
    rectangle();
    arrays();
    OK(cuCtxDestroy_v2(context));
    return check_result();
}
