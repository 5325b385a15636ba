/* SPDX-License-Identifier: Apache-2.0
 *
 * Pieces of device memory that the device unpacks: the same text in each format, in one call; then
 * a batch that is refused, and one that says which of its pieces is to blame.
 */
#include "tests/programs/unpacks.h"

#include "tests/programs/program.h"

enum { PIECES = 4 };

static CUdeviceptr memory;
static CUstream stream;

static CUmemDecompressParams piece(unsigned at, size_t size, CUmemDecompressAlgorithm how)
{
    const CUdeviceptr own = memory + (CUdeviceptr)at * 2 * UNPACKS_ROOM;

    return (CUmemDecompressParams){.src = (const void *)(uintptr_t)own,
                                   .srcNumBytes = size,
                                   .dst = (void *)(uintptr_t)(own + UNPACKS_ROOM),
                                   .dstNumBytes = UNPACKS_ROOM - 8,
                                   .dstActBytes =
                                       (cuuint32_t *)(uintptr_t)(own + 2 * UNPACKS_ROOM - 4),
                                   .algo = how};
}

int main(void)
{
    static const CUmemDecompressAlgorithm how[PIECES] = {
        CU_MEM_DECOMPRESS_ALGORITHM_DEFLATE, CU_MEM_DECOMPRESS_ALGORITHM_DEFLATE,
        CU_MEM_DECOMPRESS_ALGORITHM_SNAPPY, CU_MEM_DECOMPRESS_ALGORITHM_LZ4};
    uint8_t packed[PIECES][UNPACKS_ROOM], all[PIECES][2][UNPACKS_ROOM];
    CUmemDecompressParams list[PIECES];
    char text[UNPACKS_ROOM];
    const size_t length = unpacks_text(text);
    size_t sizes[PIECES], failed = 9;
    CUcontext context;
    CUmodule module = program_begin(&context);

    memcpy(packed[0], unpacks_deflate, sizeof(unpacks_deflate));
    sizes[0] = sizeof(unpacks_deflate);
    sizes[1] = unpacks_stored(packed[1], text, length);
    sizes[2] = unpacks_snappy(packed[2], text, length);
    sizes[3] = unpacks_lz4(packed[3], text, length);
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuMemAlloc_v2(&memory, sizeof(all)));
    CU(cuMemsetD8Async(memory, 0, sizeof(all), stream));
    for (unsigned i = 0; i < PIECES; i++) {
        list[i] = piece(i, sizes[i], how[i]);
        CU(cuMemcpyHtoDAsync_v2((CUdeviceptr)(uintptr_t)list[i].src, packed[i], sizes[i], stream));
    }
    CU(cuMemBatchDecompressAsync(list, PIECES, 0, &failed, stream));
    CU(cuStreamSynchronize(stream));
    CU(cuMemcpyDtoH_v2(all, memory, sizeof(all)));
    for (unsigned i = 0; i < PIECES; i++) {
        cuuint32_t written;
        memcpy(&written, &all[i][1][UNPACKS_ROOM - 4], sizeof(written));
        printf("%u: %u bytes, %s\n", i, written,
               written == length && !memcmp(all[i][1], text, length) ? "the text" : "others");
    }
    list[1].algo = CU_MEM_DECOMPRESS_UNSUPPORTED;
    printf("refused: %d", (int)cuMemBatchDecompressAsync(list, PIECES, 0, &failed, stream));
    printf(" for piece %zu\n", failed);
    CU(cuMemFree_v2(memory));
    CU(cuStreamDestroy_v2(stream));
    program_end(module, context);
    return 0;
}
