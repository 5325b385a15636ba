/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests that the attributes of devices of each compute capability agree with each other, and that
 * occupancy follows from them.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/emu/emu_kernels.h"
#include "tests/emu/emu_test.h"

struct generation {
    const char *capability;
    int threads, blocks, shared_kib, optin_kib, reserved;
};

static const struct generation generations[] = {
    {"7.0", 2048, 32, 96, 96, 0},       {"7.2", 2048, 32, 96, 96, 0},
    {"7.5", 1024, 16, 64, 64, 0},       {"8.0", 2048, 32, 164, 163, 1024},
    {"8.6", 1536, 16, 100, 99, 1024},   {"8.7", 1536, 16, 164, 163, 1024},
    {"8.9", 1536, 24, 100, 99, 1024},   {"9.0", 2048, 32, 228, 227, 1024},
    {"10.0", 2048, 32, 228, 227, 1024}, {"12.0", 1536, 24, 100, 99, 1024},
};

static int get(CUdevice_attribute attribute)
{
    int value = -12345;

    OK(cuDeviceGetAttribute(&value, attribute, 0));
    return value;
}

static void check_attributes(const struct generation *g)
{
    int value, major, minor;
    CUdevprop prop;

    for (int a = 1; a < CU_DEVICE_ATTRIBUTE_MAX; a++)
        OK(cuDeviceGetAttribute(&value, (CUdevice_attribute)a, 0));
    FAILS(cuDeviceGetAttribute(&value, (CUdevice_attribute)0, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuDeviceGetAttribute(NULL, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 1),
          CUDA_ERROR_INVALID_DEVICE);
    OK(cuDeviceComputeCapability(&major, &minor, 0));
    CHECK_EQ_INT(major * 10 + minor, (int)(atof(g->capability) * 10 + 0.5));
    CHECK_EQ_INT(get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), major);
    CHECK_EQ_INT(get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR), minor);
    CHECK_EQ_INT(get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR), g->threads);
    CHECK_EQ_INT(get(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR), g->blocks);
    CHECK_EQ_INT(get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
                 g->shared_kib * 1024);
    CHECK_EQ_INT(get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN), g->optin_kib * 1024);
    CHECK_EQ_INT(get(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK), g->reserved);
    CHECK_EQ_INT(get(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH), major >= 9);
    CHECK_EQ_INT(get(CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED), major >= 9);
    CHECK_EQ_INT(get(CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED), major >= 9);
    /* Features that the device lacks. */
    CHECK_EQ_INT(get(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS), 0);
    OK(cuDeviceGetProperties(&prop, 0));
    CHECK_EQ_INT(prop.maxThreadsPerBlock, get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
    CHECK_EQ_INT(prop.maxThreadsDim[2], get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z));
    CHECK_EQ_INT(prop.maxGridSize[1], get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y));
    CHECK_EQ_INT(prop.sharedMemPerBlock, get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK));
    CHECK_EQ_INT(prop.regsPerBlock, get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK));
    CHECK_EQ_INT(prop.clockRate, get(CU_DEVICE_ATTRIBUTE_CLOCK_RATE));
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

static void check_occupancy(const struct generation *g)
{
    int blocks, grid, size, optin = g->optin_kib * 1024;
    CUfunction store;
    CUmodule module;
    size_t shared;

    OK(cuModuleLoadData(&module, PTX_HEAD PTX_STORE));
    OK(cuModuleGetFunction(&store, module, "store"));
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, store, 32, 0));
    CHECK_EQ_INT(blocks, least(g->blocks, g->threads / 32));
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, store, 1024, 0));
    CHECK_EQ_INT(blocks, g->threads / 1024);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, store, 32, 20000));
    CHECK_EQ_INT(blocks, least(g->blocks, g->shared_kib * 1024 / (20096 + g->reserved)));
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, store, 32, (size_t)optin));
    CHECK_EQ_INT(blocks, 1);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, store, 32, (size_t)optin + 1));
    CHECK_EQ_INT(blocks, 0);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, store, 1025, 0));
    CHECK_EQ_INT(blocks, 0);
    FAILS(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, store, 0, 0),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuOccupancyMaxActiveBlocksPerMultiprocessor(NULL, store, 32, 0),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, NULL, 32, 0),
          CUDA_ERROR_INVALID_HANDLE);

    OK(cuOccupancyMaxPotentialBlockSize(&grid, &size, store, NULL, 0, 0));
    CHECK_EQ_INT(size % 32, 0);
    CHECK_EQ_INT(grid * size, get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) * g->threads);
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &size, store, NULL, 0, 100));
    CHECK(size <= 100);

    /* Memory that is reported as free can be had, and not much more. */
    OK(cuOccupancyAvailableDynamicSMemPerBlock(&shared, store, 2, 64));
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, store, 64, shared));
    CHECK(blocks >= 2);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, store, 64, shared + 257));
    CHECK(blocks < 2);
}

static void check_clusters(void)
{
    CUlaunchAttribute cluster = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                 .value.clusterDim = {1, 1, 1}};
    CUlaunchConfig config = {.gridDimX = 4,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 1024,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .attrs = &cluster,
                             .numAttrs = 1};
    CUfunction store;
    CUmodule module;
    int count = 0;

    OK(cuModuleLoadData(&module, PTX_HEAD PTX_STORE));
    OK(cuModuleGetFunction(&store, module, "store"));
    OK(cuOccupancyMaxPotentialClusterSize(&count, store, &config));
    CHECK_EQ_INT(count, get(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) ? 8 : 1);
    OK(cuOccupancyMaxActiveClusters(&count, store, &config));
    CHECK_EQ_INT(count, get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) *
                            (get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / 1024));
    cluster.value.clusterDim.x = get(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) ? 3 : 2;
    FAILS(cuOccupancyMaxActiveClusters(&count, store, &config), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    FAILS(cuOccupancyMaxActiveClusters(&count, store, NULL), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuOccupancyMaxPotentialClusterSize(NULL, store, &config), CUDA_ERROR_INVALID_VALUE);
}

static int check_generation(const struct generation *g)
{
    setenv("TS_EMU_CC", g->capability, 1);
    test_context();
    check_attributes(g);
    check_occupancy(g);
    check_clusters();
    if (check_failures)
        fprintf(stderr, "with TS_EMU_CC=%s\n", g->capability);
    return check_result();
}

/* Between two devices. */
static int check_peers(void)
{
    int value = -1;
    unsigned caps[2] = {0};
    const CUatomicOperation operations[2] = {CU_ATOMIC_OPERATION_INTEGER_ADD,
                                             CU_ATOMIC_OPERATION_EXCHANGE};

    setenv("TS_EMU_DEVICES", "2", 1);
    OK(cuInit(0));
    OK(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1));
    CHECK_EQ_INT(value, 1);
    OK(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED, 1, 0));
    CHECK_EQ_INT(value, 1);
    OK(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK, 1, 0));
    CHECK_EQ_INT(value, 0);
    FAILS(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 1, 1),
          CUDA_ERROR_INVALID_DEVICE);
    FAILS(cuDeviceGetP2PAttribute(&value, (CUdevice_P2PAttribute)99, 0, 1),
          CUDA_ERROR_INVALID_VALUE);
    OK(cuDeviceGetP2PAtomicCapabilities(caps, operations, 2, 0, 1));
    CHECK(caps[0] & CU_ATOMIC_CAPABILITY_SCALAR_32);
    CHECK(caps[1] & CU_ATOMIC_CAPABILITY_SCALAR_64);
    OK(cuDeviceGetHostAtomicCapabilities(caps, operations, 2, 0));
    CHECK(caps[0] & CU_ATOMIC_CAPABILITY_SIGNED);
    FAILS(cuDeviceGetHostAtomicCapabilities(NULL, operations, 2, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuDeviceGetP2PAtomicCapabilities(caps, operations, 2, 1, 1), CUDA_ERROR_INVALID_DEVICE);
    CHECK(get(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) == 1);
    return check_result();
}

/* The settings are read once a process. */
static void in_child(int (*check)(const struct generation *g), const struct generation *g)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0)
        _exit(g ? check(g) : check_peers());
    waitpid(pid, &status, 0);
    CHECK_EQ_INT(status, 0);
}

int main(void)
{
    for (size_t i = 0; i < sizeof(generations) / sizeof(*generations); i++)
        in_child(check_generation, &generations[i]);
    in_child(NULL, NULL);
    return check_result();
}
