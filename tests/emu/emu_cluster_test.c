/* SPDX-License-Identifier: Apache-2.0
 *
 * Clusters through the driver API: attributes of functions, kernels, launches and nodes; which
 * launches are refused, and why; occupancy; the program's settings are in its environment.
 */
#include <string.h>

#include "tests/emu/emu_test.h"

#define ENTRY(name, directives)                                                                    \
    ".visible .entry " name "(.param .u64 out)" directives " {\n"                                  \
    ".reg .b32 %r<9>; .reg .b64 %d<4>; .shared .b32 word;\n"                                       \
    "ld.param.u64 %d0, [out]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %cluster_ctarank;\n"             \
    "st.shared.u32 [word], %r0; barrier.cluster.arrive; barrier.cluster.wait;\n"                   \
    "mov.u32 %r2, word; xor.b32 %r3, %r1, 1; mapa.shared::cluster.u32 %r4, %r2, %r3;\n"            \
    "ld.shared::cluster.u32 %r5, [%r4]; barrier.cluster.arrive; barrier.cluster.wait;\n"           \
    "mov.u32 %r6, %cluster_nctarank; mad.lo.u32 %r5, %r6, 100, %r5;\n"                             \
    "mad.wide.u32 %d1, %r0, 4, %d0; st.global.u32 [%d1], %r5; ret; }\n"

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n" ENTRY("any", "")
    ENTRY("pair", " .reqnctapercluster 2") ENTRY("asked", " .explicitcluster")
        ENTRY("small", " .maxclusterrank 4");
static const char ptx9[] = ".version 9.0\n.target sm_90\n.address_size 64\n" ENTRY(
    "counts", " .blocksareclusters .reqntid 1 "
              ".reqnctapercluster 2");

static CUmodule module;
static CUdeviceptr memory;
static unsigned out[64];

static CUfunction function(const char *name)
{
    CUfunction f = NULL;

    OK(cuModuleGetFunction(&f, module, name));
    return f;
}

static CUresult launch(CUfunction f, unsigned grid, unsigned cluster)
{
    CUlaunchAttribute attributes[2] = {
        {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = {cluster, 1, 1}},
        {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
         .value.clusterSchedulingPolicyPreference = CU_CLUSTER_SCHEDULING_POLICY_SPREAD}};
    CUlaunchConfig config = {.gridDimX = grid,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 1,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .attrs = attributes,
                             .numAttrs = cluster ? 2 : 0};
    void *params[] = {&memory};

    OK(cuMemsetD8_v2(memory, 0, sizeof(out)));
    CUresult result = cuLaunchKernelEx(&config, f, params, NULL);
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH_v2(out, memory, sizeof(out)));
    return result;
}

static void check_results(unsigned grid, unsigned cluster)
{
    for (unsigned k = 0; k < grid; k++)
        CHECK_EQ_INT(out[k], 100 * cluster + (k ^ 1));
    CHECK_EQ_INT(out[grid], 0);
}

static void test_launches(void)
{
    OK(launch(function("any"), 16, 4));
    check_results(16, 4);
    OK(launch(function("pair"), 6, 0));
    check_results(6, 2);
    OK(launch(function("pair"), 6, 2));
    OK(launch(function("asked"), 8, 8));
    check_results(8, 8);
    OK(launch(function("small"), 8, 4));
    check_results(8, 4);

    FAILS(launch(function("any"), 6, 4), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    FAILS(launch(function("any"), 16, 16), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    FAILS(launch(function("any"), 34, 17), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    FAILS(launch(function("pair"), 7, 0), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    FAILS(launch(function("pair"), 8, 4), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    FAILS(launch(function("asked"), 8, 0), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    FAILS(launch(function("small"), 8, 8), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    CHECK_EQ_INT(out[0], 0);
    OK(cuCtxSynchronize());
}

/* The grid of such a kernel counts clusters. */
static void test_counts(void)
{
    CUmodule other = module;

    OK(cuModuleLoadData(&module, ptx9));
    OK(launch(function("counts"), 3, 0));
    check_results(6, 2);
    OK(cuModuleUnload(module));
    module = other;
}

static void test_attributes(void)
{
    CUfunction any = function("any");
    CUfunction pair = function("pair");
    int value;

    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 0));
    CHECK_EQ_INT(value, 1);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, pair));
    CHECK_EQ_INT(value, 2);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, pair));
    CHECK_EQ_INT(value, 1);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, function("asked")));
    CHECK_EQ_INT(value, 1);
    FAILS(cuFuncSetAttribute(pair, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 4),
          CUDA_ERROR_NOT_PERMITTED);
    FAILS(cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, -1),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 2),
          CUDA_ERROR_INVALID_VALUE);

    OK(cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
    OK(launch(any, 32, 16));
    check_results(32, 16);
    OK(cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2));
    FAILS(launch(any, 4, 0), CUDA_ERROR_INVALID_CLUSTER_SIZE); /* the others are 0 */
    OK(cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, 1));
    OK(cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, 1));
    OK(launch(any, 4, 0));
    check_results(4, 2);
    for (int a = 0; a < 4; a++)
        OK(cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH + a, 0));
}

static void test_occupancy(void)
{
    CUlaunchAttribute cluster = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                 .value.clusterDim = {4, 1, 1}};
    CUlaunchConfig config = {.gridDimX = 64,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 1024,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .attrs = &cluster,
                             .numAttrs = 1};
    int multiprocessors, count;

    OK(cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    OK(cuOccupancyMaxActiveClusters(&count, function("any"), &config));
    CHECK_EQ_INT(count, multiprocessors * 2 / 4);
    OK(cuOccupancyMaxPotentialClusterSize(&count, function("any"), &config));
    CHECK_EQ_INT(count, 8);
    OK(cuOccupancyMaxPotentialClusterSize(&count, function("small"), &config));
    CHECK_EQ_INT(count, 4);
    FAILS(cuOccupancyMaxActiveClusters(&count, function("pair"), &config),
          CUDA_ERROR_INVALID_CLUSTER_SIZE);
    config.numAttrs = 0;
    FAILS(cuOccupancyMaxActiveClusters(&count, function("any"), &config),
          CUDA_ERROR_INVALID_CLUSTER_SIZE);
    OK(cuOccupancyMaxPotentialClusterSize(&count, function("pair"), &config));
    CHECK_EQ_INT(count, 2);
}

static void run_graph(CUgraph graph)
{
    CUgraphExec exec;

    OK(cuMemsetD8_v2(memory, 0, sizeof(out)));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH_v2(out, memory, sizeof(out)));
    OK(cuGraphExecDestroy(exec));
}

static void test_graphs(void)
{
    void *params[] = {&memory};
    CUDA_KERNEL_NODE_PARAMS kernel = {.func = function("any"),
                                      .gridDimX = 8,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = 1,
                                      .blockDimY = 1,
                                      .blockDimZ = 1,
                                      .kernelParams = params};
    CUkernelNodeAttrValue value = {.clusterDim = {4, 1, 1}};
    CUgraphNode node;
    CUgraph graph;
    CUstream stream;
    size_t count = 1;

    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &kernel));
    OK(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value));
    run_graph(graph);
    check_results(8, 4);
    kernel.gridDimX = 12;
    OK(cuGraphKernelNodeSetParams_v2(node, &kernel));
    run_graph(graph);
    check_results(12, 4);
    value.clusterDim.x = 5;
    FAILS(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value),
          CUDA_ERROR_INVALID_CLUSTER_SIZE);
    OK(cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value));
    CHECK_EQ_INT(value.clusterDim.x, 4);
    OK(cuGraphDestroy(graph));

    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuLaunchKernel(function("pair"), 4, 1, 1, 1, 1, 1, 0, stream, params, NULL));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphGetNodes(graph, &node, &count));
    OK(cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value));
    CHECK_EQ_INT(value.clusterDim.x, 2);
    run_graph(graph);
    check_results(4, 2);
    OK(cuGraphDestroy(graph));
    OK(cuStreamDestroy_v2(stream));
}

int main(void)
{
    setenv("TS_EMU_CC", "9.0", 1);
    test_context();
    OK(cuModuleLoadData(&module, ptx));
    OK(cuMemAlloc_v2(&memory, sizeof(out)));
    test_launches();
    test_counts();
    test_attributes();
    test_occupancy();
    test_graphs();
    return check_result();
}
