/* SPDX-License-Identifier: Apache-2.0
 *
 * Decompression: each format, sizes that are not said, what is refused, and damaged bytes, after
 * which the context is unusable.
 */
#include "tests/emu/emu_test.h"
#include "tests/programs/unpacks.h"

static CUdeviceptr memory;
static char text[UNPACKS_ROOM];
static size_t length;

static CUmemDecompressParams params(size_t size, size_t room, CUmemDecompressAlgorithm how)
{
    return (CUmemDecompressParams){.src = (const void *)(uintptr_t)memory,
                                   .srcNumBytes = size,
                                   .dst = (void *)(uintptr_t)(memory + UNPACKS_ROOM),
                                   .dstNumBytes = room,
                                   .dstActBytes = (cuuint32_t *)(uintptr_t)(memory + 4096),
                                   .algo = how};
}

static void unpack(const uint8_t *bytes, size_t size, size_t room, CUmemDecompressAlgorithm how)
{
    CUmemDecompressParams p = params(size, room, how);
    char out[UNPACKS_ROOM];
    uint32_t written = 0;

    OK(cuMemcpyHtoD_v2(memory, bytes, size));
    OK(cuMemsetD8_v2(memory + UNPACKS_ROOM, 0, UNPACKS_ROOM));
    OK(cuMemBatchDecompressAsync(&p, 1, 0, NULL, NULL));
    OK(cuMemcpyDtoH_v2(&written, memory + 4096, 4));
    CHECK_EQ_INT(written, length);
    OK(cuMemcpyDtoH_v2(out, memory + UNPACKS_ROOM, length));
    CHECK(memcmp(out, text, length) == 0);
}

static void test_refused(void)
{
    CUmemDecompressParams p[2] = {params(10, 100, CU_MEM_DECOMPRESS_ALGORITHM_LZ4),
                                  params(10, 100, CU_MEM_DECOMPRESS_ALGORITHM_LZ4)};
    size_t failed = 0;

    FAILS(cuMemBatchDecompressAsync(p, 0, 0, &failed, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK(failed == SIZE_MAX);
    FAILS(cuMemBatchDecompressAsync(p, 2, 1, &failed, NULL), CUDA_ERROR_INVALID_VALUE);
    p[1].src = text; /* not of the device */
    FAILS(cuMemBatchDecompressAsync(p, 2, 0, &failed, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_EQ_INT(failed, 1);
    p[1] = p[0];
    p[1].padding[3] = 1;
    FAILS(cuMemBatchDecompressAsync(p, 2, 0, &failed, NULL), CUDA_ERROR_INVALID_VALUE);
    p[1] = p[0];
    p[1].srcNumBytes = 5 << 20;
    FAILS(cuMemBatchDecompressAsync(p, 2, 0, &failed, NULL), CUDA_ERROR_INVALID_VALUE);
}

static void test_damaged(void)
{
    CUmemDecompressParams p =
        params(sizeof(unpacks_deflate), length - 1, CU_MEM_DECOMPRESS_ALGORITHM_DEFLATE);

    OK(cuMemcpyHtoD_v2(memory, unpacks_deflate, sizeof(unpacks_deflate)));
    OK(cuMemBatchDecompressAsync(&p, 1, 0, NULL, NULL)); /* a byte too few */
    FAILS(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
}

int main(void)
{
    uint8_t packed[UNPACKS_ROOM];
    CUcontext context;
    int mask = 0, capable = 0;
    size_t size;

    length = unpacks_text(text);
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuMemAlloc_v2(&memory, 8192));
    OK(cuDeviceGetAttribute(&mask, CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK, 0));
    CHECK_EQ_INT(mask, 7);
    OK(cuPointerGetAttribute(&capable, CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE, memory));
    CHECK(capable & 1);
    unpack(unpacks_deflate, sizeof(unpacks_deflate), 0, CU_MEM_DECOMPRESS_ALGORITHM_DEFLATE);
    size = unpacks_stored(packed, text, length);
    unpack(packed, size, length, CU_MEM_DECOMPRESS_ALGORITHM_DEFLATE);
    size = unpacks_snappy(packed, text, length);
    CHECK(size < length);
    unpack(packed, size, length, CU_MEM_DECOMPRESS_ALGORITHM_SNAPPY);
    size = unpacks_lz4(packed, text, length);
    unpack(packed, size, 0, CU_MEM_DECOMPRESS_ALGORITHM_LZ4);
    test_refused();
    test_damaged();
    return check_result();
}
