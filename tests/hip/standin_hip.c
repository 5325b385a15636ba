/* SPDX-License-Identifier: Apache-2.0
 *
 * A small libamdhip64: HIP's calls made of HSA's, each export through a dispatch table, which is
 * offered to tools as ROCm 6 does it (TEST_DOOR=register; TEST_ROWS: how many functions it holds).
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/hip/hip_prototypes.h"
#include "interpose/interpose.h"
#include "tests/hsa/hsa_helper.h"

#include "api/hip/hip_tables.inc"

#define ROW_MAX 512u

static struct {
    size_t size;
    void *functions[ROW_MAX];
} dispatch;

#define EXPORTED __attribute__((visibility("default")))
EXPORTED const char *hipKernelNameRef(hipFunction_t f);
EXPORTED const char *hipKernelNameRefByPtr(const void *hostFunction, hipStream_t stream);

/* ---- HIP, as far as it is here ------------------------------------------------------------------
 */

static struct hsa_machine machine;

static hipError_t do_init(unsigned int flags)
{
    return 0;
}

static hipError_t do_count(int *count)
{
    *count = 1;
    return 0;
}

static hipError_t do_malloc(void **ptr, size_t size)
{
    *ptr = size ? hsa_pool_take(machine.device, size) : NULL;
    return 0;
}

static hipError_t do_free(void *ptr)
{
    return hsa_amd_memory_pool_free(ptr) == HSA_STATUS_SUCCESS ? 0 : 17; /* InvalidDevicePointer */
}

static hipError_t do_copy(void *dst, const void *src, size_t size, hipMemcpyKind kind)
{
    return hsa_memory_copy(dst, src, size) == HSA_STATUS_SUCCESS ? 0 : 1;
}

static hipError_t do_stream_create(hipStream_t *stream)
{
    *stream = hsa_queue_take(&machine, 64);
    return 0;
}

static hipError_t do_stream_destroy(hipStream_t stream)
{
    return hsa_queue_destroy(stream) == HSA_STATUS_SUCCESS ? 0 : 400;
}

static hipError_t do_stream_synchronize(hipStream_t stream)
{
    hsa_signal_t done = hsa_signal_take(1);

    hsa_ring(stream, hsa_barrier(stream, HSA_PACKET_TYPE_BARRIER_AND, NULL, 0, done));
    hsa_await(done);
    hsa_signal_destroy(done);
    return 0;
}

static hipError_t do_module_load(hipModule_t *module, const char *fname)
{
    hsa_machine_load(&machine, fname);
    *module = &machine;
    return 0;
}

static hipError_t do_function_count(unsigned int *count, hipModule_t module)
{
    *count = 2;
    return 0;
}

struct function {
    struct hsa_found_kernel kernel; /* first */
    char name[128];
};

static hipError_t do_get_function(hipFunction_t *out, hipModule_t module, const char *kname)
{
    struct function *function = malloc(sizeof(*function));
    char name[128];

    snprintf(name, sizeof(name), "%s.kd", kname);
    function->kernel = hsa_kernel_find(module, name);
    snprintf(function->name, sizeof(function->name), "%s", kname);
    *out = function;
    return 0;
}

const char *hipKernelNameRef(hipFunction_t f)
{
    return ((const struct function *)f)->name;
}

/* Returns the kernel's name, which stands for the kernel in this program. */
const char *hipKernelNameRefByPtr(const void *hostFunction, hipStream_t stream)
{
    return hostFunction;
}

/* Arguments by the third of the ways: {1, buffer, 2, size, 3}. */
static hipError_t do_launch(hipFunction_t f, unsigned int gridDimX, unsigned int gridDimY,
                            unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
                            unsigned int blockDimZ, unsigned int sharedMemBytes, hipStream_t stream,
                            void **kernelParams, void **extra)
{
    const uint32_t grid[3] = {gridDimX * blockDimX, gridDimY * blockDimY, gridDimZ * blockDimZ};
    const uint16_t group[3] = {(uint16_t)blockDimX, (uint16_t)blockDimY, (uint16_t)blockDimZ};
    void *arguments = hsa_pool_take(machine.kernarg, 256);

    memcpy(arguments, extra[1], *(size_t *)extra[3]);
    hsa_ring(stream, hsa_dispatch(stream, f, grid, group, arguments, (hsa_signal_t){0}));
    return 0;
}

/* The kernels of the test take one block of arguments. */
static hipError_t do_launch_host(const void *function_address, dim3 numBlocks, dim3 dimBlocks,
                                 void **args, size_t sharedMemBytes, hipStream_t stream)
{
    size_t size = sharedMemBytes;
    void *extra[] = {(void *)1, args[0], (void *)2, &size, (void *)3};
    hipFunction_t function;

    do_get_function(&function, &machine, function_address);
    return do_launch(function, numBlocks.x, numBlocks.y, numBlocks.z, dimBlocks.x, dimBlocks.y,
                     dimBlocks.z, 0, stream, NULL, extra);
}

static hipError_t do_last_error(void)
{
    return 0;
}

/* ---- the table and the exports that go through it ----------------------------------------------
 */

#define FUNCTIONS(F)                                                                               \
    F(hipInit, do_init)                                                                            \
    F(hipGetDeviceCount, do_count)                                                                 \
    F(hipMalloc, do_malloc)                                                                        \
    F(hipFree, do_free)                                                                            \
    F(hipMemcpy, do_copy)                                                                          \
    F(hipStreamCreate, do_stream_create)                                                           \
    F(hipStreamDestroy, do_stream_destroy)                                                         \
    F(hipStreamSynchronize, do_stream_synchronize)                                                 \
    F(hipModuleLoad, do_module_load)                                                               \
    F(hipModuleGetFunction, do_get_function)                                                       \
    F(hipModuleGetFunctionCount, do_function_count)                                                \
    F(hipLaunchKernel, do_launch_host)                                                             \
    F(hipModuleLaunchKernel, do_launch)                                                            \
    F(hipGetLastError, do_last_error)

#define EXPORT(name, function)                                                                     \
    static __typeof__(&name) own_##name = function;                                                \
    __attribute__((visibility("hidden"), used)) void **place_##name = (void **)&own_##name;        \
    __asm__(".globl " #name "\n.type " #name ", @function\n" #name ": movq place_" #name           \
            "(%rip), %r11\njmp *(%r11)\n");
FUNCTIONS(EXPORT)

static void put(const char *name, void ***place, void *function, size_t rows)
{
    for (size_t i = 0; i < rows && i < table_hip.count; i++)
        if (strcmp(table_hip.names[i], name) == 0) {
            dispatch.functions[i] = function;
            *place = &dispatch.functions[i];
        }
}

static void offer(void)
{
    typedef int (*set_function)(const char *, uint64_t, uint64_t, void **, uint64_t);
    set_function set = (set_function)dlsym(RTLD_DEFAULT, "rocprofiler_set_api_table");
    void *tables[] = {&dispatch};

    if (set && dlsym(RTLD_DEFAULT, "rocprofiler_configure"))
        set("hip", 60000, 0, tables, 1);
}

__attribute__((constructor)) static void begin(void)
{
    const char *door = getenv("TEST_DOOR"), *rows = getenv("TEST_ROWS");
    size_t count = rows ? (size_t)atoi(rows) : table_hip.count;

#define PUT(name, function) put(#name, &place_##name, (void *)(function), count);
    FUNCTIONS(PUT)
    dispatch.size = sizeof(dispatch.size) + count * sizeof(void *);
    hsa_machine_find(&machine);
    if (door && strcmp(door, "register") == 0)
        offer();
}
