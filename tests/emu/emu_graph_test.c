/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs built by hand: every kind of node, edges, launches, changes between launches, and errors.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/emu/emu_kernels.h"
#include "tests/emu/emu_test.h"

static CUmodule module;
static CUfunction store;

static CUDA_KERNEL_NODE_PARAMS store_params(void **args)
{
    return (CUDA_KERNEL_NODE_PARAMS){.func = store,
                                     .gridDimX = 1,
                                     .gridDimY = 1,
                                     .gridDimZ = 1,
                                     .blockDimX = 1,
                                     .blockDimY = 1,
                                     .blockDimZ = 1,
                                     .kernelParams = args};
}

static unsigned read_u32(CUdeviceptr p)
{
    unsigned value = 0;

    OK(cuMemcpyDtoH_v2(&value, p, 4));
    return value;
}

static void launch(CUgraphExec exec)
{
    OK(cuGraphLaunch(exec, NULL));
    OK(cuCtxSynchronize());
}

/* fill -> store, and new arguments for one node of the executable graph only. */
static void kernel_after_fill(void)
{
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode fill, kernel, found[4];
    CUdeviceptr p;
    unsigned value = 7, other = 9;
    size_t count;

    OK(cuMemAlloc_v2(&p, 8));
    CUDA_MEMSET_NODE_PARAMS fill_params = {
        .dst = p, .value = 5, .elementSize = 4, .width = 2, .height = 1};
    CUDA_KERNEL_NODE_PARAMS params = store_params((void *[]){&p, &value}), got;
    OK(cuGraphCreate(&graph, 0));
    FAILS(cuGraphCreate(&graph, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphAddMemsetNode(&fill, graph, NULL, 0, &fill_params, NULL));
    OK(cuGraphAddKernelNode_v2(&kernel, graph, &fill, 1, &params));
    value = 1; /* the argument was taken when the node was made */
    OK(cuGraphKernelNodeGetParams_v2(kernel, &got));
    CHECK_EQ_INT(*(unsigned *)got.kernelParams[1], 7);
    CHECK(got.func == store);
    count = 4;
    OK(cuGraphGetRootNodes(graph, found, &count));
    CHECK(count == 1 && found[0] == fill);
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    launch(exec);
    CHECK_EQ_INT(read_u32(p), 7);
    CHECK_EQ_INT(read_u32(p + 4), 5);
    params = store_params((void *[]){&p, &other});
    OK(cuGraphExecKernelNodeSetParams_v2(exec, kernel, &params));
    launch(exec);
    CHECK_EQ_INT(read_u32(p), 9);
    OK(cuGraphNodeSetEnabled(exec, kernel, 0));
    launch(exec);
    CHECK_EQ_INT(read_u32(p), 5);
    OK(cuGraphDestroy(graph)); /* the executable one lives on */
    launch(exec);
    OK(cuGraphExecDestroy(exec));
    FAILS(cuGraphLaunch(exec, NULL), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree_v2(p));
}

static void add_ten(void *user)
{
    *(unsigned *)user += 10;
}

/* host memory -> device -> host memory, then a function of the program. Twice, with other bytes. */
static void copies_and_host(void)
{
    unsigned from = 3, to = 0;
    CUdeviceptr p;
    CUgraph graph, clone;
    CUgraphExec exec;
    CUgraphNode up, down, host, twin;
    CUgraphNodeType type;

    OK(cuMemAlloc_v2(&p, 4));
    CUDA_MEMCPY3D in = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = &from,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = p,
                        .WidthInBytes = 4,
                        .Height = 1,
                        .Depth = 1};
    CUDA_MEMCPY3D out = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                         .srcDevice = p,
                         .dstMemoryType = CU_MEMORYTYPE_HOST,
                         .dstHost = &to,
                         .WidthInBytes = 4,
                         .Height = 1,
                         .Depth = 1},
                  got;
    CUDA_HOST_NODE_PARAMS call = {add_ten, &to};
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddHostNode(&host, graph, NULL, 0, &call));
    OK(cuGraphAddMemcpyNode(&down, graph, NULL, 0, &out, NULL));
    OK(cuGraphAddMemcpyNode(&up, graph, NULL, 0, &in, NULL));
    OK(cuGraphAddDependencies(graph, (CUgraphNode[]){up, down}, (CUgraphNode[]){down, host}, 2));
    FAILS(cuGraphAddDependencies(graph, &up, &down, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphMemcpyNodeGetParams(down, &got));
    CHECK(got.dstHost == &to && got.srcDevice == p);
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    launch(exec);
    CHECK_EQ_INT(to, 13);
    from = 4;
    launch(exec);
    CHECK_EQ_INT(to, 14);
    OK(cuGraphClone(&clone, graph));
    OK(cuGraphNodeFindInClone(&twin, host, clone));
    OK(cuGraphNodeGetType(twin, &type));
    CHECK_EQ_INT(type, CU_GRAPH_NODE_TYPE_HOST);
    CHECK(twin != host);
    OK(cuGraphAddDependencies(graph, &host, &up, 1));
    OK(cuGraphExecDestroy(exec));
    CUgraphNode bad = NULL;
    char log[64] = "";
    FAILS(cuGraphInstantiate_v2(&exec, graph, &bad, log, sizeof(log)), CUDA_ERROR_INVALID_VALUE);
    CHECK(bad && *log);
    OK(cuGraphDestroy(clone));
    OK(cuGraphDestroy(graph));
    OK(cuMemFree_v2(p));
}

/* A graph in a graph is copied when the node is made; an update takes over what another says. */
static void child_and_update(void)
{
    CUgraph inner, outer, other;
    CUgraphNode node, child, first;
    CUgraphExec exec;
    CUgraphExecUpdateResultInfo info;
    CUdeviceptr p;
    unsigned a = 21, b = 22;

    OK(cuMemAlloc_v2(&p, 4));
    CUDA_KERNEL_NODE_PARAMS params = store_params((void *[]){&p, &a});
    OK(cuGraphCreate(&inner, 0));
    OK(cuGraphAddKernelNode_v2(&node, inner, NULL, 0, &params));
    OK(cuGraphCreate(&outer, 0));
    OK(cuGraphAddEmptyNode(&first, outer, NULL, 0));
    OK(cuGraphAddChildGraphNode(&child, outer, &first, 1, inner));
    OK(cuGraphInstantiateWithFlags(&exec, outer, 0));
    launch(exec);
    CHECK_EQ_INT(read_u32(p), 21);
    params = store_params((void *[]){&p, &b});
    OK(cuGraphKernelNodeSetParams_v2(node, &params));
    OK(cuGraphExecChildGraphNodeSetParams(exec, child, inner));
    launch(exec);
    CHECK_EQ_INT(read_u32(p), 22);
    OK(cuGraphExecUpdate_v2(exec, outer, &info));
    CHECK_EQ_INT(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
    launch(exec);
    CHECK_EQ_INT(read_u32(p), 21);
    OK(cuGraphCreate(&other, 0));
    FAILS(cuGraphExecUpdate_v2(exec, other, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    CHECK_EQ_INT(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(other));
    OK(cuGraphDestroy(outer));
    OK(cuGraphDestroy(inner));
    OK(cuMemFree_v2(p));
}

/* Memory of a graph has one address for all launches; it can be freed in or after the graph. */
static void memory(void)
{
    CUDA_MEM_ALLOC_NODE_PARAMS alloc = {
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}},
        .bytesize = 4};
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode made, kernel, freed, copied;
    unsigned value = 77, to = 0;

    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddMemAllocNode(&made, graph, NULL, 0, &alloc));
    CHECK(alloc.dptr != 0);
    FAILS(cuMemcpyDtoH_v2(&to, 0, 4), CUDA_ERROR_INVALID_VALUE);
    CUDA_KERNEL_NODE_PARAMS params = store_params((void *[]){&alloc.dptr, &value});
    OK(cuGraphAddKernelNode_v2(&kernel, graph, &made, 1, &params));
    CUDA_MEMCPY3D out = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                         .srcDevice = alloc.dptr,
                         .dstMemoryType = CU_MEMORYTYPE_HOST,
                         .dstHost = &to,
                         .WidthInBytes = 4,
                         .Height = 1,
                         .Depth = 1};
    OK(cuGraphAddMemcpyNode(&copied, graph, &kernel, 1, &out, NULL));
    OK(cuGraphAddMemFreeNode(&freed, graph, &copied, 1, alloc.dptr));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    launch(exec);
    CHECK_EQ_INT(to, 77);
    to = 0;
    launch(exec);
    CHECK_EQ_INT(to, 77);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

/* Memory that a graph leaves allocated is freed by the program, in either way, before the next
 * launch has it again at the same address. */
static void memory_left(void)
{
    CUDA_MEM_ALLOC_NODE_PARAMS alloc = {
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}},
        .bytesize = 4};
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode node, fill;
    unsigned to = 0;

    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &alloc));
    CUDA_MEMSET_NODE_PARAMS params = {alloc.dptr, 0, 9, 4, 1, 1};
    OK(cuGraphAddMemsetNode(&fill, graph, &node, 1, &params, NULL));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 4; i++) {
        launch(exec);
        OK(cuMemcpyDtoH_v2(&to, alloc.dptr, 4));
        CHECK_EQ_INT(to, 9);
        to = 0;
        OK(i % 2 ? cuMemFreeAsync(alloc.dptr, NULL) : cuMemFree_v2(alloc.dptr));
        FAILS(cuMemFree_v2(alloc.dptr), CUDA_ERROR_INVALID_VALUE);
        FAILS(cuMemFreeAsync(alloc.dptr, NULL), CUDA_ERROR_INVALID_VALUE);
    }
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

/* A record in the graph, a wait for it in a stream; a value written and waited for. */
static void events_and_values(void)
{
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode record, write, refused_node;
    CUevent event, got;
    CUdeviceptr p;

    OK(cuMemAlloc_v2(&p, 4));
    OK(cuEventCreate(&event, 0));
    CUstreamBatchMemOpParams op = {
        .writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = p, .value = 31}};
    CUDA_BATCH_MEM_OP_NODE_PARAMS batch = {.count = 1, .paramArray = &op};
    CUexternalSemaphore none = NULL;
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS value = {0};
    CUDA_EXT_SEM_WAIT_NODE_PARAMS semaphores = {&none, &value, 1};
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddBatchMemOpNode(&write, graph, NULL, 0, &batch));
    OK(cuGraphAddEventRecordNode(&record, graph, &write, 1, event));
    OK(cuGraphEventRecordNodeGetEvent(record, &got));
    CHECK(got == event);
    FAILS(cuGraphAddExternalSemaphoresWaitNode(&refused_node, graph, NULL, 0, &semaphores),
          CUDA_ERROR_INVALID_HANDLE);
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphUpload(exec, NULL));
    OK(cuGraphLaunch(exec, NULL));
    OK(cuEventSynchronize(event));
    CHECK_EQ_INT(read_u32(p), 31);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuEventDestroy_v2(event));
    OK(cuMemFree_v2(p));
}

static int destroyed;

static void destroy(void *user)
{
    destroyed += *(int *)user;
}

static void user_objects_and_pictures(void)
{
    char path[] = "/tmp/emu_graph_XXXXXX", text[512] = "";
    int one = 1, fd = mkstemp(path);
    CUuserObject object;
    CUgraph graph, clone;
    CUgraphNode node;

    OK(cuUserObjectCreate(&object, &one, destroy, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    OK(cuGraphClone(&clone, graph));
    OK(cuGraphAddEmptyNode(&node, graph, NULL, 0));
    OK(cuGraphDebugDotPrint(graph, path, 0));
    CHECK(read(fd, text, sizeof(text) - 1) > 0 && strstr(text, "digraph") && strstr(text, "EMPTY"));
    close(fd);
    unlink(path);
    OK(cuGraphDestroy(graph));
    CHECK_EQ_INT(destroyed, 0);
    OK(cuGraphDestroy(clone));
    CHECK_EQ_INT(destroyed, 1);
    FAILS(cuUserObjectRelease(object, 1), CUDA_ERROR_INVALID_VALUE);
}

/* Memory that the allocations of graphs take, and took at most. */
static void memory_figures(void)
{
    CUDA_MEM_ALLOC_NODE_PARAMS alloc = {.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
                                        .bytesize = 3000};
    cuuint64_t used = 99, high = 99, none = 0;
    CUgraphNode node, free_node;
    CUgraphExec exec;
    CUgraph graph;

    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &alloc));
    OK(cuGraphAddMemFreeNode(&free_node, graph, &node, 1, alloc.dptr));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &none));
    OK(cuGraphLaunch(exec, NULL));
    OK(cuCtxSynchronize());
    OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used));
    OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &high));
    CHECK_EQ_INT(used, 0);
    CHECK_EQ_INT(high, 3072);
    FAILS(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &none),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, NULL),
          CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

int main(void)
{
    CUcontext context = test_context();

    OK(cuModuleLoadData(&module, PTX_HEAD PTX_STORE));
    OK(cuModuleGetFunction(&store, module, "store"));
    kernel_after_fill();
    copies_and_host();
    child_and_update();
    memory();
    memory_left();
    memory_figures();
    events_and_values();
    user_objects_and_pictures();
    OK(cuCtxDestroy_v2(context));
    return check_result();
}
