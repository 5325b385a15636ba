/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies of more bytes than one record can name: large MEBIBYTES. Most are zero; a few are not,
 * also at the end. Forth and back through memory of each kind, by calls that wait and calls that do
 * not.
 */
#include "tests/programs/program.h"

#define MIB ((size_t)1 << 20)

static size_t size;

static void mark(unsigned char *bytes, unsigned char value)
{
    for (size_t at = 0; at < size; at += 16 * MIB + 4096)
        bytes[at] = value;
    bytes[size - 1] = (unsigned char)(value + 1);
}

static unsigned digest(const unsigned char *bytes)
{
    unsigned value = bytes[size - 1];

    for (size_t at = 0; at < size; at += 16 * MIB + 4096)
        value = value * 31 + bytes[at];
    return value;
}

static unsigned waiting(unsigned char *bytes, CUdeviceptr device)
{
    mark(bytes, 3);
    CU(cuMemcpyHtoD_v2(device, bytes, size));
    mark(bytes, 9);
    CU(cuMemcpyDtoH_v2(bytes, device, size));
    return digest(bytes);
}

static unsigned in_stream(unsigned char *bytes, CUdeviceptr device, CUstream stream)
{
    mark(bytes, 20);
    CU(cuMemcpyHtoDAsync_v2(device, bytes, size, stream));
    CU(cuStreamSynchronize(stream));
    mark(bytes, 40);
    CU(cuMemcpyAsync((CUdeviceptr)(uintptr_t)bytes, device, size, stream));
    CU(cuStreamSynchronize(stream));
    return digest(bytes);
}

/* Rows with gaps between them. */
static unsigned rows(unsigned char *bytes, CUdeviceptr device, CUstream stream)
{
    CUDA_MEMCPY2D to = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = bytes,
                        .srcPitch = MIB,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = device,
                        .dstPitch = MIB - 512,
                        .WidthInBytes = MIB - 512,
                        .Height = size / MIB};
    CUDA_MEMCPY2D from = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = device,
                          .srcPitch = MIB - 512,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = bytes,
                          .dstPitch = MIB,
                          .WidthInBytes = MIB - 512,
                          .Height = size / MIB};

    mark(bytes, 60);
    CU(cuMemcpy2DAsync_v2(&to, stream));
    CU(cuStreamSynchronize(stream));
    mark(bytes, 80);
    CU(cuMemcpy2DAsync_v2(&from, stream));
    CU(cuStreamSynchronize(stream));
    return digest(bytes);
}

int main(int argc, char **argv)
{
    unsigned char *pageable, *pinned;
    CUcontext context;
    CUmodule module = program_begin(&context);
    CUdeviceptr device;
    CUstream stream;

    size = MIB * strtoul(argc > 1 ? argv[1] : "2048", NULL, 10);
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuMemAlloc_v2(&device, size));
    pageable = calloc(1, size);
    if (!pageable)
        return 1;
    printf("waiting: %08x\n", waiting(pageable, device));
    printf("in a stream: %08x\n", in_stream(pageable, device, stream));
    printf("rows: %08x\n", rows(pageable, device, stream));
    free(pageable);
    CU(cuMemHostAlloc((void **)&pinned, size, CU_MEMHOSTALLOC_PORTABLE));
    printf("pinned: %08x\n", waiting(pinned, device));
    printf("pinned, in a stream: %08x\n", in_stream(pinned, device, stream));
    CU(cuMemFreeHost(pinned));
    CU(cuMemFree_v2(device));
    CU(cuStreamDestroy_v2(stream));
    program_end(module, context);
    return 0;
}
