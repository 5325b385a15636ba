/* SPDX-License-Identifier: Apache-2.0
 *
 * Batches of boxes: between pageable, pinned and device memory and arrays, many in one call, and a
 * refused one; then batches of both kinds in a stream that is captured, whose graph is launched
 * twice with other bytes in pinned memory.
 */
#include "tests/programs/program.h"

enum { WIDTH = 24, HEIGHT = 10, DEPTH = 3, BYTES = WIDTH * HEIGHT * DEPTH };

static CUstream stream;
static CUarray array;
static CUdeviceptr memory;
static uint8_t *pinned;

static CUmemcpy3DOperand at(CUdeviceptr address, size_t row, size_t layer)
{
    return (CUmemcpy3DOperand){.type = CU_MEMCPY_OPERAND_TYPE_POINTER,
                               .op = {.ptr = {address, row, layer, {0}}}};
}

static CUmemcpy3DOperand host(const void *address)
{
    return at((CUdeviceptr)(uintptr_t)address, 0, 0);
}

static CUmemcpy3DOperand texels(size_t x, size_t y, size_t z)
{
    return (CUmemcpy3DOperand){.type = CU_MEMCPY_OPERAND_TYPE_ARRAY,
                               .op = {.array = {array, {x, y, z}}}};
}

static CUDA_MEMCPY3D_BATCH_OP box(CUmemcpy3DOperand dst, CUmemcpy3DOperand src, size_t width,
                                  size_t height, size_t depth)
{
    return (CUDA_MEMCPY3D_BATCH_OP){.src = src,
                                    .dst = dst,
                                    .extent = {width, height, depth},
                                    .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
}

static void show(const char *name, const void *bytes, size_t size)
{
    CU(cuStreamSynchronize(stream));
    printf("%s: %08x\n", name, program_digest(bytes, size));
}

/* The array has texels of 4 bytes: the sizes of the boxes are in these. */
static void through_array(void)
{
    uint8_t bytes[BYTES], back[BYTES] = {0}, some[4 * 3 * 2] = {0};
    CUDA_MEMCPY3D_BATCH_OP ops[3];
    size_t failed = 7;

    for (unsigned i = 0; i < BYTES; i++)
        bytes[i] = (uint8_t)(i * 7 + 3);
    ops[0] = box(texels(0, 0, 0), host(bytes), WIDTH / 4, HEIGHT, DEPTH);
    CU(cuMemcpy3DBatchAsync_v2(1, ops, 0, stream));
    memset(bytes, 0xee, sizeof(bytes));
    ops[0] = box(at(memory, 64, 16), texels(1, 2, 0), 4, 6, 2);
    ops[1] = box(host(back), texels(0, 0, 0), WIDTH / 4, HEIGHT, DEPTH);
    ops[2] = box(host(some), texels(2, 1, 1), 3, 2, 1);
    CU(cuMemcpy3DBatchAsync(3, ops, &failed, 0, stream));
    show("array", back, sizeof(back));
    show("some of it", some, sizeof(some));
    ops[0] = box(host(pinned), at(memory, 64, 16), 16, 6, 2);
    ops[1] = box(at(memory + 8192, 32, 0), at(memory + 64, 64, 16), 16, 5, 1);
    CU(cuMemcpy3DBatchAsync_v2(2, ops, 0, stream));
    show("pinned", pinned, 16 * 6 * 2);
    ops[1] = box(texels(0, 0, 0), host(bytes), WIDTH, HEIGHT, DEPTH);
    printf("too wide: %d\n", (int)cuMemcpy3DBatchAsync(2, &ops[1], &failed, 0, stream));
    printf("the one to blame: %zu\n", failed);
}

static void captured(void)
{
    CUDA_MEMCPY3D_BATCH_OP ops[2];
    CUmemcpyAttributes how = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    CUdeviceptr dst[2] = {memory + 3000, (CUdeviceptr)(uintptr_t)(pinned + 2048)},
                src[2] = {(CUdeviceptr)(uintptr_t)pinned, memory + 3000};
    size_t sizes[2] = {200, 100}, first = 0;
    CUgraphExec exec;
    CUgraph graph;

    CU(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CU(cuMemcpyBatchAsync_v2(dst, src, sizes, 1, &how, &first, 1, stream));
    CU(cuMemcpyBatchAsync_v2(dst + 1, src + 1, sizes + 1, 1, &how, &first, 1, stream));
    ops[0] = box(texels(0, 1, 1), host(pinned + 512), 3, 4, 1);
    ops[1] = box(at(memory + 5000, 64, 0), at(memory + 3000, 16, 0), 16, 8, 1);
    CU(cuMemcpy3DBatchAsync_v2(2, ops, 0, stream));
    ops[0] = box(host(pinned + 3072), texels(0, 0, 0), WIDTH / 4, HEIGHT, DEPTH);
    CU(cuMemcpy3DBatchAsync_v2(1, ops, 0, stream));
    CU(cuStreamEndCapture(stream, &graph));
    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 1024; i++)
            pinned[i] = (uint8_t)(i * 3 + round * 91);
        CU(cuGraphLaunch(exec, stream));
        show("graph", pinned + 2048, 100);
        show("graph's array", pinned + 3072, BYTES);
    }
    CU(cuGraphExecDestroy(exec));
    CU(cuGraphDestroy(graph));
}

int main(void)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {WIDTH / 4, HEIGHT, DEPTH, CU_AD_FORMAT_UNSIGNED_INT8, 4, 0};
    uint8_t all[16384];
    CUcontext context;
    CUmodule module = program_begin(&context);

    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuMemAlloc_v2(&memory, sizeof(all)));
    CU(cuMemsetD8_v2(memory, 5, sizeof(all)));
    CU(cuMemAllocHost_v2((void **)&pinned, 4096));
    CU(cuArray3DCreate_v2(&array, &d));
    CU(cuCtxSynchronize());
    through_array();
    captured();
    CU(cuMemcpyDtoH_v2(all, memory, sizeof(all)));
    show("memory", all, sizeof(all));
    CU(cuArrayDestroy(array));
    CU(cuMemFreeHost(pinned));
    CU(cuMemFree_v2(memory));
    CU(cuStreamDestroy_v2(stream));
    program_end(module, context);
    return 0;
}
