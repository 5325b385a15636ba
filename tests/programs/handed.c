/* SPDX-License-Identifier: Apache-2.0
 *
 * handed WAY: a thread has a stream of its own write into memory, waits for that stream, and tells
 * another thread, which began earlier and reads the memory on its own stream. No record shows that
 * it was told.
 *
 * WAY: copy, rows, box (which command writes), down (to pinned memory), pool (the memory is made in
 *      the stream's order), function (of the program, into pinned memory), mapped (physical memory,
 * at a second place), variable (of a module), list (an address that lies in memory), graph, freed
 * (the memory is made where other memory was freed in the stream's order)
 */
#include "tests/programs/program.h"

#include <pthread.h>
#include <stdatomic.h>

enum { COUNT = 256, SIZE = COUNT * 4 };
#define GRAIN ((size_t)2 << 20)

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .align 8 .b8 shared_words[1024];\n"
    ".visible .entry put(.param .u64 from)\n{\n .reg .u32 %r<4>; .reg .u64 %d<6>;\n"
    " ld.param.u64 %d1, [from]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4;\n"
    " add.u64 %d1, %d1, %d2; ld.global.u32 %r2, [%d1];\n"
    " mov.u64 %d3, shared_words; add.u64 %d3, %d3, %d2; st.global.u32 [%d3], %r2;\n ret;\n}\n"
    ".visible .entry take(.param .u64 to)\n{\n .reg .u32 %r<4>; .reg .u64 %d<6>;\n"
    " ld.param.u64 %d1, [to]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4;\n"
    " add.u64 %d1, %d1, %d2; mov.u64 %d3, shared_words; add.u64 %d3, %d3, %d2;\n"
    " ld.global.u32 %r2, [%d3]; st.global.u32 [%d1], %r2;\n ret;\n}\n"
    ".visible .entry follow(.param .u64 list, .param .u64 to)\n{\n"
    " .reg .u32 %r<4>; .reg .u64 %d<6>;\n"
    " ld.param.u64 %d1, [list]; ld.global.u64 %d1, [%d1]; ld.param.u64 %d3, [to];\n"
    " mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2;\n"
    " add.u64 %d3, %d3, %d2; ld.global.u32 %r2, [%d1]; st.global.u32 [%d3], %r2;\n ret;\n}\n";

static struct {
    const char *way;
    CUcontext context;
    CUmodule module;
    CUdeviceptr source, shared, other, out, list;
    uint32_t *pinned;
    atomic_int turn;
    uint32_t words[COUNT], result[COUNT];
} t;

static int is(const char *way)
{
    return !strcmp(t.way, way);
}

static void await_turn(int turn)
{
    while (atomic_load(&t.turn) < turn)
        usleep(200);
}

static void fill(void *user)
{
    (void)user;
    for (int i = 0; i < COUNT; i++)
        t.pinned[i] = 7u * (unsigned)i;
}

static void map(CUdeviceptr at, CUmemGenericAllocationHandle physical)
{
    CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

    CU(cuMemMap(at, GRAIN, 0, physical, 0));
    CU(cuMemSetAccess(at, GRAIN, &access, 1));
}

static void make_mapped(void)
{
    CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
    CUmemGenericAllocationHandle physical;

    CU(cuMemCreate(&physical, GRAIN, &properties, 0));
    CU(cuMemAddressReserve(&t.shared, GRAIN, 0, 0, 0));
    CU(cuMemAddressReserve(&t.other, GRAIN, 0, 0, 0));
    map(t.shared, physical);
    map(t.other, physical);
    CU(cuMemRelease(physical));
}

static void copy_rows(CUstream stream)
{
    CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                       .srcDevice = t.source,
                       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                       .dstDevice = t.shared,
                       .WidthInBytes = SIZE,
                       .Height = 1};

    CU(cuMemcpy2DAsync_v2(&c, stream));
}

static CUDA_MEMCPY3D box(void)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = t.source,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = t.shared,
                           .WidthInBytes = SIZE,
                           .Height = 1,
                           .Depth = 1};
}

static void copy_box(CUstream stream)
{
    CUDA_MEMCPY3D c = box();

    CU(cuMemcpy3DAsync_v2(&c, stream));
}

static void launch_graph(CUstream stream)
{
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode node;
    CUDA_MEMCPY3D c = box();

    CU(cuGraphCreate(&graph, 0));
    CU(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &c, t.context));
    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CU(cuGraphLaunch(exec, stream));
    CU(cuStreamSynchronize(stream));
    CU(cuGraphExecDestroy(exec));
    CU(cuGraphDestroy(graph));
}

static void write_memory(CUstream stream)
{
    if (is("rows")) {
        copy_rows(stream);
    } else if (is("box")) {
        copy_box(stream);
    } else if (is("graph")) {
        launch_graph(stream);
    } else if (is("down")) {
        CU(cuMemcpyDtoHAsync_v2(t.pinned, t.source, SIZE, stream));
    } else if (is("function")) {
        CU(cuLaunchHostFunc(stream, fill, NULL));
    } else if (is("variable")) {
        CU(cuLaunchKernel(program_function(t.module, "put"), 1, 1, 1, COUNT, 1, 1, 0, stream,
                          (void *[]){&t.source}, NULL));
    } else if (is("pool")) {
        CU(cuMemAllocAsync(&t.shared, SIZE, stream));
    } else if (is("freed")) {
        CU(cuMemAllocAsync(&t.shared, SIZE, stream));
        CU(cuMemFreeAsync(t.shared, stream));
    } else {
        CU(cuMemcpyDtoDAsync_v2(t.shared, t.source, SIZE, stream));
    }
}

static void *writer(void *user)
{
    CUstream stream;

    (void)user;
    CU(cuCtxSetCurrent(t.context));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    atomic_store(&t.turn, 1);
    await_turn(2);
    CU(cuMemcpyHtoDAsync_v2(t.source, t.words, SIZE, stream));
    write_memory(stream);
    CU(cuStreamSynchronize(stream));
    atomic_store(&t.turn, 3);
    await_turn(4);
    CU(cuStreamDestroy_v2(stream));
    return NULL;
}

static void read_memory(CUstream stream)
{
    CUdeviceptr from = is("mapped") ? t.other : t.shared;

    if (is("freed"))
        CU(cuMemAllocAsync(&from, SIZE, stream));
    if (is("pool") || is("freed"))
        CU(cuMemsetD32Async(from, 9, COUNT, stream));
    if (is("variable"))
        CU(cuLaunchKernel(program_function(t.module, "take"), 1, 1, 1, COUNT, 1, 1, 0, stream,
                          (void *[]){&t.out}, NULL));
    else if (is("list"))
        CU(cuLaunchKernel(program_function(t.module, "follow"), 1, 1, 1, COUNT, 1, 1, 0, stream,
                          (void *[]){&t.list, &t.out}, NULL));
    else
        CU(cuMemcpyDtoDAsync_v2(t.out, from, SIZE, stream));
    CU(cuMemcpyDtoHAsync_v2(t.result, t.out, SIZE, stream));
    if (is("pool") || is("freed"))
        CU(cuMemFreeAsync(from, stream));
    CU(cuStreamSynchronize(stream));
}

static void *reader(void *user)
{
    CUstream stream;

    (void)user;
    CU(cuCtxSetCurrent(t.context));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuMemcpyHtoDAsync_v2(t.list, &t.shared, 8, stream));
    atomic_store(&t.turn, 2);
    await_turn(3);
    read_memory(stream);
    CU(cuStreamDestroy_v2(stream));
    atomic_store(&t.turn, 4);
    return NULL;
}

static void make_memory(void)
{
    for (int i = 0; i < COUNT; i++)
        t.words[i] = (unsigned)i * 2654435761u;
    CU(cuMemAlloc_v2(&t.source, SIZE));
    CU(cuMemAlloc_v2(&t.out, SIZE));
    CU(cuMemAlloc_v2(&t.list, 8));
    CU(cuMemHostAlloc((void **)&t.pinned, SIZE, CU_MEMHOSTALLOC_DEVICEMAP));
    memset(t.pinned, 0, SIZE);
    if (is("mapped"))
        make_mapped();
    else if (is("function") || is("down"))
        CU(cuMemHostGetDevicePointer_v2(&t.shared, t.pinned, 0));
    else if (!is("pool") && !is("freed"))
        CU(cuMemAlloc_v2(&t.shared, SIZE));
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    CUmodule kernels = program_begin(&t.context);

    t.way = argc > 1 ? argv[1] : "copy";
    CU(cuModuleLoadData(&t.module, ptx));
    make_memory();
    if (pthread_create(&threads[0], NULL, writer, NULL))
        return 1;
    await_turn(1);
    if (pthread_create(&threads[1], NULL, reader, NULL))
        return 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("handed %s: %08x\n", t.way, program_digest(t.result, SIZE));
    CU(cuModuleUnload(t.module));
    program_end(kernels, t.context);
    return 0;
}
