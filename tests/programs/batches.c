/* SPDX-License-Identifier: Apache-2.0
 *
 * Batches of copies: from and to pageable, pinned and device memory, many in one call, boxes
 * between pointers and arrays, refused ones, and one that takes what a function of the program
 * writes first.
 */
#include "tests/programs/program.h"

enum { BLOCKS = 200, BLOCK = 64, SIZE = BLOCKS * BLOCK };

static CUstream stream;
static CUdeviceptr a, b;
static uint8_t *pinned, *pinned_out;

static void copy(CUdeviceptr *dst, CUdeviceptr *src, size_t *size, size_t count,
                 CUmemcpySrcAccessOrder order)
{
    CUmemcpyAttributes how = {.srcAccessOrder = order};
    size_t first = 0;

    CU(cuMemcpyBatchAsync_v2(dst, src, size, count, &how, &first, 1, stream));
}

static CUdeviceptr at(const void *memory)
{
    return (CUdeviceptr)(uintptr_t)memory;
}

/* Copies both kinds of host memory to the device, and changes the source after the call. */
static void send(void)
{
    uint8_t bytes[256];
    CUdeviceptr dst[] = {a, a + 512, b + 128, a + 256},
                src[] = {at(bytes), at(pinned), at(bytes + 100), at(bytes)};
    size_t size[] = {256, 300, 77, 40};

    for (unsigned i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 5 + 1);
    copy(dst, src, size, 4, CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL);
    memset(bytes, 0xee, sizeof(bytes));
}

/* Copies blocks of device memory in reverse order to others, and those to the host. */
static void shuffle(uint8_t *out, const char *name)
{
    static CUdeviceptr dst[BLOCKS], src[BLOCKS];
    static size_t size[BLOCKS];

    for (size_t i = 0; i < BLOCKS; i++) {
        dst[i] = b + i * BLOCK;
        src[i] = a + (BLOCKS - 1 - i) * BLOCK;
        size[i] = BLOCK;
    }
    copy(dst, src, size, BLOCKS, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM);
    for (size_t i = 0; i < BLOCKS; i++) {
        dst[i] = at(out) + i * BLOCK;
        src[i] = b + i * BLOCK;
    }
    copy(dst, src, size, BLOCKS, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM);
    CU(cuStreamSynchronize(stream));
    printf("%s: %08x\n", name, program_digest(out, SIZE));
}

static void fill(void *memory)
{
    memset(memory, 0x5a, 128);
}

/* Sends a batch behind a function of the program, which takes what that writes. */
static void follow(void)
{
    CUdeviceptr dst[] = {a + 1024, at(pinned_out)}, src[] = {at(pinned), b};
    size_t size[] = {128, 200};

    CU(cuLaunchHostFunc(stream, fill, pinned));
    copy(dst, src, size, 2, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM);
    CU(cuStreamSynchronize(stream));
    printf("behind a function: %08x\n", program_digest(pinned_out, 200));
}

static void refuse(void)
{
    CUmemcpyAttributes how = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    CUdeviceptr dst[] = {a, 8}, src[] = {b, b};
    size_t size[] = {16, 16}, first = 0, failed = 0;
    CUresult result = cuMemcpyBatchAsync(dst, src, size, 0, &how, &first, 1, &failed, stream);

    printf("none: %d\n", (int)result);
    result = cuMemcpyBatchAsync_v2(NULL, src, size, 2, &how, &first, 1, stream);
    printf("nowhere: %d\n", (int)result);
    CU(cuMemcpyBatchAsync(dst, src, size, 1, &how, &first, 1, &failed, stream));
}

int main(void)
{
    static uint8_t out[SIZE];
    CUcontext context;
    CUmodule module = program_begin(&context);

    CU(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    CU(cuMemAlloc_v2(&a, SIZE));
    CU(cuMemAlloc_v2(&b, SIZE));
    CU(cuMemsetD8_v2(a, 3, SIZE));
    CU(cuMemsetD8_v2(b, 4, SIZE));
    CU(cuMemAllocHost_v2((void **)&pinned, SIZE));
    CU(cuMemAllocHost_v2((void **)&pinned_out, SIZE));
    for (size_t i = 0; i < SIZE; i++)
        pinned[i] = (uint8_t)(i * 11 + i / 256);
    send();
    shuffle(out, "pageable");
    refuse();
    shuffle(pinned_out, "pinned");
    follow();
    shuffle(out, "after it");
    CU(cuMemFreeHost(pinned));
    CU(cuMemFreeHost(pinned_out));
    CU(cuMemFree_v2(a));
    CU(cuMemFree_v2(b));
    CU(cuStreamDestroy_v2(stream));
    program_end(module, context);
    return 0;
}
