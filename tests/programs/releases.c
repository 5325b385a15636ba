/* SPDX-License-Identifier: Apache-2.0
 *
 * Each call that destroys or releases something. Where one fails the program goes on with what it
 * wanted to give up, and tries again: tests/programs/failing/ makes them fail.
 */
#include "tests/programs/program.h"

#include <stdbool.h>

enum { COUNT = 4096, SIZE = COUNT * 4 };

static CUcontext context;
static CUmodule module;
static CUfunction copy, mix;
static CUdeviceptr memory;
static unsigned round_number;
static uint32_t digest;

static void note(const void *data, size_t size)
{
    digest = digest * 31 + program_digest(data, size);
}

/* Prints the present content of `device`. */
static void note_device(CUdeviceptr device, size_t size)
{
    static unsigned char bytes[SIZE];

    CU(cuMemcpyDtoH_v2(bytes, device, size));
    note(bytes, size);
}

/* `use` stands for a use of what `release` gives up: before it, and again when it fails. */
#define RELEASE(release, use)                                                                      \
    do {                                                                                           \
        use;                                                                                       \
        use;                                                                                       \
        if ((release) == CUDA_SUCCESS)                                                             \
            break;                                                                                 \
        use;                                                                                       \
        use;                                                                                       \
        CU(release);                                                                               \
    } while (0)

/* ---- memory ------------------------------------------------------------------------------- */

/* The host writes it with plain stores, a kernel reads it. */
static void use_host(unsigned *words, CUdeviceptr seen)
{
    int count = COUNT;

    round_number++;
    words[round_number % COUNT] = round_number;
    words[COUNT - 1 - round_number % COUNT] = round_number * 7;
    program_launch(copy, COUNT, NULL, (void *[]){&count, &seen, &memory});
    CU(cuCtxSynchronize());
    note_device(memory, SIZE);
}

static void host_memory(void)
{
    static unsigned registered[COUNT + 1024] __attribute__((aligned(4096)));
    unsigned *words;
    CUdeviceptr seen;

    CU(cuMemHostAlloc((void **)&words, SIZE, CU_MEMHOSTALLOC_DEVICEMAP));
    CU(cuMemHostGetDevicePointer_v2(&seen, words, 0));
    RELEASE(cuMemFreeHost(words), use_host(words, seen));
    CU(cuMemHostRegister_v2(registered, sizeof(registered), CU_MEMHOSTREGISTER_DEVICEMAP));
    CU(cuMemHostGetDevicePointer_v2(&seen, registered, 0));
    RELEASE(cuMemHostUnregister(registered), use_host(registered, seen));
    CU(cuMemAllocManaged(&seen, SIZE, CU_MEM_ATTACH_GLOBAL));
    RELEASE(cuMemFree_v2(seen), use_host((unsigned *)(uintptr_t)seen, seen));
}

static void use_device(CUdeviceptr device)
{
    CU(cuMemsetD32_v2(device, ++round_number, COUNT / 2));
    note_device(device, SIZE);
}

static void device_memory(void)
{
    CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
    CUdeviceptr device;
    CUmemoryPool pool;

    CU(cuMemAlloc_v2(&device, SIZE));
    CU(cuMemsetD8_v2(device, 3, SIZE));
    RELEASE(cuMemFree_v2(device), use_device(device));
    CU(cuMemAllocAsync(&device, SIZE, NULL));
    CU(cuMemsetD8_v2(device, 4, SIZE));
    RELEASE(cuMemFreeAsync(device, NULL), use_device(device));
    CU(cuMemPoolCreate(&pool, &properties));
    CU(cuMemAllocFromPoolAsync(&device, SIZE, pool, NULL));
    CU(cuMemsetD8_v2(device, 5, SIZE));
    CU(cuMemFreeAsync(device, NULL));
    CU(cuCtxSynchronize());
    RELEASE(cuMemPoolDestroy(pool), );
}

static void map(CUdeviceptr at, size_t size, CUmemGenericAllocationHandle physical)
{
    CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

    CU(cuMemMap(at, size, 0, physical, 0));
    CU(cuMemSetAccess(at, size, &access, 1));
}

static void virtual_memory(void)
{
    CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
    const size_t grain = (size_t)2 << 20;
    CUmemGenericAllocationHandle physical;
    CUdeviceptr base;

    CU(cuMemAddressReserve(&base, grain, 0, 0, 0));
    CU(cuMemCreate(&physical, grain, &properties, 0));
    map(base, grain, physical);
    CU(cuMemsetD8_v2(base, 6, grain));
    RELEASE(cuMemRelease(physical), use_device(base));
    RELEASE(cuMemUnmap(base, grain), use_device(base));
    RELEASE(cuMemAddressFree(base, grain), );
}

/* ---- streams, events, code ---------------------------------------------------------------- */

static void use_stream(CUstream stream)
{
    static unsigned words[COUNT];
    unsigned count = COUNT, seed = ++round_number;

    program_launch(mix, COUNT, stream, (void *[]){&count, &seed, &memory});
    CU(cuMemcpyDtoHAsync_v2(words, memory, SIZE, stream));
    CU(cuStreamSynchronize(stream));
    note(words, SIZE);
}

static void use_event(CUevent event, CUstream stream, CUstream other)
{
    static unsigned words[COUNT];

    CU(cuMemsetD32Async(memory, ++round_number, COUNT, stream));
    CU(cuEventRecord(event, stream));
    CU(cuStreamWaitEvent(other, event, 0));
    CU(cuMemcpyDtoHAsync_v2(words, memory, SIZE, other));
    CU(cuEventRecord(event, other));
    CU(cuEventSynchronize(event));
    note(words, SIZE);
}

static void order(void)
{
    CUstream stream, other;
    CUevent event;

    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuStreamCreate(&other, CU_STREAM_DEFAULT));
    CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    RELEASE(cuEventDestroy_v2(event), use_event(event, stream, other));
    RELEASE(cuStreamDestroy_v2(stream), use_stream(stream));
    RELEASE(cuStreamDestroy_v2(other), use_stream(other));
}

static void use_code(CUfunction function, CUdeviceptr table)
{
    unsigned count = COUNT, seed = ++round_number;

    program_launch(function, COUNT, NULL, (void *[]){&count, &seed, &memory});
    note_device(memory, SIZE);
    CU(cuMemsetD32_v2(table, round_number, 8));
    note_device(table, 256);
}

static void code(void)
{
    CUlibrary library;
    CUmodule loaded;
    CUfunction function;
    CUdeviceptr table;
    CUkernel kernel;
    size_t size;

    CU(cuModuleLoad(&loaded, getenv("TS_TEST_PTX")));
    CU(cuModuleGetFunction(&function, loaded, "mix"));
    CU(cuModuleGetGlobal_v2(&table, &size, loaded, "global_table"));
    RELEASE(cuModuleUnload(loaded), use_code(function, table));
    CU(cuLibraryLoadFromFile(&library, getenv("TS_TEST_PTX"), NULL, NULL, 0, NULL, NULL, 0));
    CU(cuLibraryGetKernel(&kernel, library, "mix"));
    CU(cuKernelGetFunction(&function, kernel));
    CU(cuLibraryGetGlobal(&table, &size, library, "global_table"));
    RELEASE(cuLibraryUnload(library), use_code(function, table));
}

static void use_link(CUlinkState state)
{
    void *image;
    size_t size;

    (void)state, (void)image, (void)size;
}

static void linking(void)
{
    CUlinkState state;

    CU(cuLinkCreate_v2(0, NULL, NULL, &state));
    RELEASE(cuLinkDestroy(state), use_link(state));
}

/* ---- arrays ------------------------------------------------------------------------------- */

static void use_array(CUarray array)
{
    static unsigned in[256], out[256];
    CUDA_MEMCPY2D up = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = in,
                        .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                        .dstArray = array,
                        .WidthInBytes = 64,
                        .Height = 16};
    CUDA_MEMCPY2D down = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                          .srcArray = array,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = out,
                          .WidthInBytes = 64,
                          .Height = 16};

    round_number++;
    in[round_number % 256] = round_number;
    CU(cuMemcpy2D_v2(&up));
    CU(cuMemcpy2D_v2(&down));
    note(out, sizeof(out));
}

static void use_texture(CUtexObject texture)
{
    CUDA_RESOURCE_DESC resource;

    CU(cuTexObjectGetResourceDesc(&resource, texture));
}

static void use_surface(CUsurfObject surface)
{
    CUDA_RESOURCE_DESC resource;

    CU(cuSurfObjectGetResourceDesc(&resource, surface));
}

static void arrays(void)
{
    CUDA_ARRAY3D_DESCRIPTOR shape = {.Width = 16,
                                     .Height = 16,
                                     .Format = CU_AD_FORMAT_UNSIGNED_INT32,
                                     .NumChannels = 1,
                                     .Flags = CUDA_ARRAY3D_SURFACE_LDST};
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY};
    CUDA_TEXTURE_DESC how = {.flags = CU_TRSF_READ_AS_INTEGER};
    CUmipmappedArray mipmap;
    CUarray array, level;
    CUtexObject texture;
    CUsurfObject surface;
    CUtexref reference;

    CU(cuArray3DCreate_v2(&array, &shape));
    resource.res.array.hArray = array;
    CU(cuTexObjectCreate(&texture, &resource, &how, NULL));
    CU(cuSurfObjectCreate(&surface, &resource));
    RELEASE(cuTexObjectDestroy(texture), use_texture(texture));
    RELEASE(cuSurfObjectDestroy(surface), use_surface(surface));
    RELEASE(cuArrayDestroy(array), use_array(array));
    shape.Width = shape.Height = 32;
    CU(cuMipmappedArrayCreate(&mipmap, &shape, 2));
    CU(cuMipmappedArrayGetLevel(&level, mipmap, 1));
    RELEASE(cuMipmappedArrayDestroy(mipmap), use_array(level));
    CU(cuTexRefCreate(&reference));
    RELEASE(cuTexRefDestroy(reference), );
}

/* ---- graphs ------------------------------------------------------------------------------- */

static uint32_t *written; /* by a function of the graph, read by its copy */

static void add_one(void *unused)
{
    for (int i = 0; i < COUNT; i++)
        written[i] += (uint32_t)i;
}

static void use_exec(CUgraphExec exec)
{
    written[round_number++ % COUNT] += 3;
    CU(cuGraphLaunch(exec, NULL));
    CU(cuCtxSynchronize());
    note_device(memory, SIZE);
}

static void use_graph(CUgraph graph, CUgraphNode node)
{
    CUgraphExec exec;
    CUDA_MEMSET_NODE_PARAMS params = {
        .dst = memory, .value = ++round_number, .elementSize = 4, .width = 77, .height = 1};

    CU(cuGraphMemsetNodeSetParams(node, &params));
    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    use_exec(exec);
    CU(cuGraphExecDestroy(exec));
}

static void graphs(void)
{
    static uint32_t first[COUNT], second[COUNT];
    CUDA_HOST_NODE_PARAMS function = {add_one, NULL};
    CUDA_MEMCPY3D up = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = first,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = memory,
                        .WidthInBytes = SIZE,
                        .Height = 1,
                        .Depth = 1};
    CUDA_MEMSET_NODE_PARAMS fill = {
        .dst = memory, .value = 9, .elementSize = 4, .width = 9, .height = 1};
    CUgraphNode called, copied, filled;
    CUgraphExec exec, twin;
    CUgraph graph;

    written = first;
    CU(cuGraphCreate(&graph, 0));
    CU(cuGraphAddHostNode(&called, graph, NULL, 0, &function));
    CU(cuGraphAddMemcpyNode(&copied, graph, &called, 1, &up, context));
    CU(cuGraphAddMemsetNode(&filled, graph, &copied, 1, &fill, context));
    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CU(cuGraphInstantiateWithFlags(&twin, graph, 0));
    RELEASE(cuGraphExecDestroy(twin), use_exec(twin));
    use_exec(exec);
    up.srcHost = second;
    written = second;
    CU(cuGraphExecMemcpyNodeSetParams(exec, copied, &up, context));
    RELEASE(cuGraphExecDestroy(exec), use_exec(exec));
    written = first;
    RELEASE(cuGraphDestroyNode(called), use_graph(graph, filled));
    RELEASE(cuGraphDestroy(graph), use_graph(graph, filled));
}

/* ---- contexts ----------------------------------------------------------------------------- */

static void use_context(CUdeviceptr device, CUstream stream)
{
    static unsigned words[COUNT];

    CU(cuMemsetD32Async(device, ++round_number, COUNT, stream));
    CU(cuMemcpyDtoHAsync_v2(words, device, SIZE, stream));
    CU(cuStreamSynchronize(stream));
    note(words, SIZE);
}

/* Its stream goes with it. */
static void own_context(void)
{
    CUdeviceptr device;
    CUcontext other;
    CUstream stream;

    CU(cuCtxCreate_v2(&other, 0, 0));
    CU(cuMemAlloc_v2(&device, SIZE));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    RELEASE(cuCtxDestroy_v2(other), use_context(device, stream));
    CU(cuCtxSetCurrent(context));
}

static void primary_context(bool reset)
{
    CUdeviceptr device;
    CUcontext primary;
    CUstream stream;

    CU(cuDevicePrimaryCtxRetain(&primary, 0));
    CU(cuCtxSetCurrent(primary));
    CU(cuMemAlloc_v2(&device, SIZE));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    if (reset)
        RELEASE(cuDevicePrimaryCtxReset_v2(0), use_context(device, stream));
    CU(cuCtxSetCurrent(context));
    RELEASE(cuDevicePrimaryCtxRelease_v2(0), );
}

/* Its stream goes with it, and so does the primary context, which nobody else holds. */
static void green_context(void)
{
    CUdevResourceDesc desc;
    CUdevResource whole;
    CUdeviceptr device;
    CUcontext primary;
    CUgreenCtx green;
    CUstream stream;

    CU(cuDeviceGetDevResource(0, &whole, CU_DEV_RESOURCE_TYPE_SM));
    CU(cuDevResourceGenerateDesc(&desc, &whole, 1));
    CU(cuGreenCtxCreate(&green, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    CU(cuCtxFromGreenCtx(&primary, green));
    CU(cuCtxSetCurrent(primary));
    CU(cuMemAlloc_v2(&device, SIZE));
    CU(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
    RELEASE(cuGreenCtxDestroy(green), use_context(device, stream));
    CU(cuCtxSetCurrent(context));
}

int main(void)
{
    module = program_begin(&context);
    copy = program_function(module, "copy");
    mix = program_function(module, "mix");
    CU(cuMemAlloc_v2(&memory, SIZE));
    CU(cuMemsetD8_v2(memory, 0, SIZE));
    host_memory();
    device_memory();
    virtual_memory();
    order();
    code();
    linking();
    arrays();
    graphs();
    own_context();
    green_context();
    primary_context(false);
    primary_context(true);
    primary_context(false);
    use_device(memory);
    CU(cuMemFree_v2(memory));
    program_end(module, context);
    printf("releases: %08x\n", digest);
    return 0;
}
