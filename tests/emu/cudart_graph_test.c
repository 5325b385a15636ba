/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs: built of every kind of node, captured, changed before and after they are made executable,
 * and asked what they hold.
 */
#include "tests/emu/cudart_test.h"

#define COUNT 256u
#define SIZE  (COUNT * sizeof(float))

static char add_stub, table_name;
static float *a, *b, *c; /* on the device */
static float ones[COUNT], twos[COUNT], out[COUNT];
static unsigned count = COUNT;
static void *arguments[] = {&c, &a, &b, &count};
static const dim3 grid = {2, 1, 1}, block = {128, 1, 1};

static void check_out(float wanted)
{
    unsigned right = 0;

    for (unsigned i = 0; i < COUNT; i++)
        right += out[i] == wanted;
    CHECK_EQ_INT(right, COUNT);
    memset(out, 0, SIZE);
}

static void run(cudaGraphExec_t exec, float wanted)
{
    OK(cudaGraphLaunch(exec, NULL));
    OK(cudaStreamSynchronize(NULL));
    check_out(wanted);
}

static int called;

static void call(void *number)
{
    called += *(int *)number;
}

/* copies, then the kernel, then a copy back and a function */
static void built(void)
{
    static int number = 3;
    cudaKernelNodeParams kernel = {
        .func = &add_stub, .gridDim = grid, .blockDim = block, .kernelParams = arguments};
    cudaKernelNodeParams found;
    cudaHostNodeParams host = {call, &number};
    cudaGraph_t graph, clone;
    cudaGraphExec_t exec;
    cudaGraphNode_t nodes[5], in_clone;
    cudaGraphNodeType type;
    size_t node_count = 0;

    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemcpyNode1D(&nodes[0], graph, NULL, 0, a, ones, SIZE, cudaMemcpyHostToDevice));
    OK(cudaGraphAddMemcpyNode1D(&nodes[1], graph, NULL, 0, b, twos, SIZE, cudaMemcpyHostToDevice));
    OK(cudaGraphAddKernelNode(&nodes[2], graph, nodes, 2, &kernel));
    OK(cudaGraphAddMemcpyNode1D(&nodes[3], graph, &nodes[2], 1, out, c, SIZE,
                                cudaMemcpyDeviceToHost));
    OK(cudaGraphAddHostNode(&nodes[4], graph, &nodes[3], 1, &host));
    OK(cudaGraphGetNodes(graph, NULL, &node_count));
    CHECK_EQ_INT(node_count, 5);
    OK(cudaGraphNodeGetType(nodes[2], &type));
    CHECK_EQ_INT(type, CU_GRAPH_NODE_TYPE_KERNEL);
    OK(cudaGraphKernelNodeGetParams(nodes[2], &found));
    CHECK(found.func == (void *)&add_stub && found.gridDim.x == 2 && found.blockDim.x == 128);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    run(exec, 3);
    CHECK_EQ_INT(called, 3);

    /* Parameters that were asked for can be given back. */
    OK(cudaGraphKernelNodeSetParams(nodes[2], &found));
    OK(cudaGraphExecMemcpyNodeSetParams1D(exec, nodes[0], a, twos, SIZE, cudaMemcpyHostToDevice));
    run(exec, 4);
    OK(cudaGraphExecKernelNodeSetParams(exec, nodes[2], &kernel));
    run(exec, 4);
    OK(cudaGraphClone(&clone, graph));
    OK(cudaGraphNodeFindInClone(&in_clone, nodes[0], clone));
    OK(cudaGraphMemcpyNodeSetParams1D(in_clone, a, ones, SIZE, cudaMemcpyHostToDevice));
    OK(cudaGraphExecUpdate(exec, clone, &(cudaGraphExecUpdateResultInfo){0}));
    run(exec, 3);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(clone));
    OK(cudaGraphDestroy(graph));

    kernel.func = &called;
    OK(cudaGraphCreate(&graph, 0));
    FAILS(cudaGraphAddKernelNode(&nodes[0], graph, NULL, 0, &kernel),
          cudaErrorInvalidDeviceFunction);
    FAILS(cudaGraphAddKernelNode(&nodes[0], graph, NULL, 0, NULL), cudaErrorInvalidValue);
    FAILS(cudaGraphAddMemcpyNode(&nodes[0], graph, NULL, 0, NULL), cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaGetLastError(), cudaErrorInvalidValue);
    OK(cudaGraphDestroy(graph));
}

static void captured(void)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamCaptureStatus status;

    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cudaStreamIsCapturing(stream, &status));
    CHECK_EQ_INT(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(cudaMemcpyAsync(a, ones, SIZE, cudaMemcpyHostToDevice, stream));
    OK(cudaMemsetAsync(b, 0, SIZE, stream));
    OK(cudaLaunchKernel(&add_stub, grid, block, arguments, 0, stream));
    OK(cudaMemcpyAsync(out, c, SIZE, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    run(exec, 1);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));

    OK(cudaStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    FAILS(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
    CHECK(cudaStreamEndCapture(stream, &graph) != cudaSuccess);
    CHECK(cudaGetLastError() != cudaSuccess);
    OK(cudaStreamDestroy(stream));
}

/* Nodes of any type in one struct; memory that the graph allocates; variables. */
static void general(void)
{
    cudaGraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
    cudaMemcpy3DParms read;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t nodes[4];
    void *memory;

    OK(cudaGraphCreate(&graph, 0));
    params.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params.alloc.poolProps.location = (cudaMemLocation){CU_MEM_LOCATION_TYPE_DEVICE, 0};
    params.alloc.bytesize = SIZE;
#if CUDART_MAJOR >= 13
#define ADD(node, parents, n) cudaGraphAddNode(node, graph, parents, NULL, n, &params)
#else
#define ADD(node, parents, n) cudaGraphAddNode(node, graph, parents, n, &params)
#endif
    OK(ADD(&nodes[0], NULL, 0));
    memory = (void *)(uintptr_t)params.alloc.dptr;
    CHECK(memory != NULL);
    params = (cudaGraphNodeParams){.type = CU_GRAPH_NODE_TYPE_MEMSET};
    params.memset = (cudaMemsetParams){(CUdeviceptr)(uintptr_t)memory, 0, 0x40400000, 4, COUNT, 1};
    OK(ADD(&nodes[1], nodes, 1)); /* 3.0 */
    params = (cudaGraphNodeParams){.type = CU_GRAPH_NODE_TYPE_MEMCPY};
    params.memcpy.copyParams = (cudaMemcpy3DParms){.srcPtr = {memory, SIZE, SIZE, 1},
                                                   .dstPtr = {out, SIZE, SIZE, 1},
                                                   .extent = {SIZE, 1, 1},
                                                   .kind = cudaMemcpyDeviceToHost};
    OK(ADD(&nodes[2], &nodes[1], 1));
    OK(cudaGraphMemcpyNodeGetParams(nodes[2], &read));
    CHECK(read.srcPtr.ptr == memory && read.dstPtr.ptr == out && read.extent.width == SIZE &&
          read.kind == cudaMemcpyDeviceToHost);
    OK(cudaGraphMemcpyNodeSetParams(nodes[2], &read));
    OK(cudaGraphAddMemFreeNode(&nodes[3], graph, &nodes[2], 1, memory));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    run(exec, 3);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));

    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemcpyNodeToSymbol(&nodes[0], graph, NULL, 0, &table_name, ones, SIZE, 0,
                                      cudaMemcpyHostToDevice));
    OK(cudaGraphAddMemcpyNodeFromSymbol(&nodes[1], graph, nodes, 1, out, &table_name, SIZE, 0,
                                        cudaMemcpyDeviceToHost));
    FAILS(cudaGraphAddMemcpyNodeFromSymbol(&nodes[2], graph, nodes, 1, out, &table_name, SIZE, 4,
                                           cudaMemcpyDeviceToHost),
          cudaErrorInvalidValue);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    run(exec, 1);
    OK(cudaGraphExecMemcpyNodeSetParamsToSymbol(exec, nodes[0], &table_name, twos, SIZE, 0,
                                                cudaMemcpyHostToDevice));
    run(exec, 2);
    CHECK_EQ_INT(cudaGetLastError(), cudaErrorInvalidValue);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

int main(void)
{
    struct test_image image = {0};

    test_register_ptx(&image, 70, PTX_HEAD ".visible .global .align 4 .b8 table[1024];\n" PTX_ADD);
    test_function(&image, &add_stub, "add");
    __cudaRegisterVar(image.handle, &table_name, &table_name, "table", 0, SIZE, 0, 0);
    for (unsigned i = 0; i < COUNT; i++) {
        ones[i] = 1;
        twos[i] = 2;
    }
    OK(cudaMalloc((void **)&a, SIZE));
    OK(cudaMalloc((void **)&b, SIZE));
    OK(cudaMalloc((void **)&c, SIZE));
    built();
    captured();
    general();
    test_finish(&image);
    return check_result();
}
