/* SPDX-License-Identifier: Apache-2.0
 *
 * overtakes: each kind of command that writes memory which host and GPU share, while another thread
 * waits for the bytes and then sends a command of its own: perhaps before the call that sent the
 * first one has returned. Then calls that fail, after which the program writes the same memory.
 */
#include "tests/programs/program.h"

#include <pthread.h>
#include <sched.h>

enum { COUNT = 2048, PITCH = 128, ROWS = 16, WIDTH = 64, SPACE = 16384 };

struct test {
    CUcontext context;
    CUstream stream, other;
    CUfunction add, copy;
    CUdeviceptr ones, device, there; /* where the GPU finds the shared memory */
    volatile unsigned *shared;
    CUevent event;
    pthread_barrier_t barrier;
    int is_inside;
};

static void by_kernel(struct test *t)
{
    int count = COUNT;
    float one = 1;

    program_launch(t->add, COUNT, t->stream, (void *[]){&count, &one, &t->ones, &t->there});
}

static void by_block(struct test *t)
{
    struct {
        int count;
        float one;
        CUdeviceptr x, y;
    } block = {COUNT, 1, t->ones, t->there};
    size_t size = sizeof(block);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_BUFFER_POINTER, &block,
                     CU_LAUNCH_PARAM_END};

    CU(cuLaunchKernel(t->add, COUNT / 256, 1, 1, 256, 1, 1, 0, t->stream, NULL, extra));
}

static void by_config(struct test *t)
{
    CUlaunchConfig config = {COUNT / 256, 1, 1, 256, 1, 1, 0, t->stream, NULL, 0};
    int count = COUNT;
    float one = 1;

    CU(cuLaunchKernelEx(&config, t->add, (void *[]){&count, &one, &t->ones, &t->there}, NULL));
}

static void by_copy(struct test *t)
{
    CU(cuMemcpyDtoHAsync_v2((void *)t->shared, t->ones, COUNT * 4, t->stream));
}

static void by_plain_copy(struct test *t)
{
    CU(cuMemcpyAsync(t->there, t->ones, COUNT * 4, t->stream));
}

static void by_device_copy(struct test *t)
{
    CU(cuMemcpyDtoDAsync_v2(t->there, t->ones, COUNT * 4, t->stream));
}

static void by_rows(struct test *t)
{
    const CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                .srcDevice = t->ones,
                                .srcPitch = PITCH,
                                .dstMemoryType = CU_MEMORYTYPE_HOST,
                                .dstHost = (void *)t->shared,
                                .dstPitch = PITCH,
                                .WidthInBytes = WIDTH,
                                .Height = ROWS};

    CU(cuMemcpy2DAsync_v2(&copy, t->stream));
}

static void by_planes(struct test *t)
{
    const CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                .srcDevice = t->ones,
                                .srcPitch = PITCH,
                                .srcHeight = ROWS,
                                .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                                .dstDevice = t->there,
                                .dstPitch = PITCH,
                                .dstHeight = ROWS,
                                .WidthInBytes = WIDTH,
                                .Height = ROWS,
                                .Depth = 2};

    CU(cuMemcpy3DAsync_v2(&copy, t->stream));
}

static void by_fill(struct test *t)
{
    CU(cuMemsetD32Async(t->there, 0x3f800000, COUNT, t->stream));
}

static void by_fill_rows(struct test *t)
{
    CU(cuMemsetD2D8Async(t->there, PITCH, 9, WIDTH, ROWS, t->stream));
}

static void by_value(struct test *t)
{
    CU(cuStreamWriteValue32_v2(t->stream, t->there, 7, 0));
}

static void by_waiting_copy(struct test *t)
{
    CU(cuMemcpyDtoH_v2((void *)t->shared, t->ones, COUNT * 4));
}

/* ---- in graphs ---------------------------------------------------------------------------- */

static CUgraph begin_graph(void)
{
    CUgraph graph;

    CU(cuGraphCreate(&graph, 0));
    return graph;
}

static void launch(struct test *t, CUgraph graph)
{
    CUgraphExec exec;

    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CU(cuGraphDestroy(graph));
    CU(cuGraphLaunch(exec, t->stream));
    CU(cuStreamSynchronize(t->stream));
    CU(cuGraphExecDestroy(exec));
}

struct add_arguments {
    int count;
    float one;
    CUdeviceptr x, y;
    void *list[4];
};

static CUDA_KERNEL_NODE_PARAMS add_node(struct test *t, struct add_arguments *a, CUdeviceptr to)
{
    *a = (struct add_arguments){COUNT, 1, t->ones, to, {&a->count, &a->one, &a->x, &a->y}};
    return (CUDA_KERNEL_NODE_PARAMS){.func = t->add,
                                     .gridDimX = COUNT / 256,
                                     .gridDimY = 1,
                                     .gridDimZ = 1,
                                     .blockDimX = 256,
                                     .blockDimY = 1,
                                     .blockDimZ = 1,
                                     .kernelParams = a->list};
}

static CUgraph kernel_graph(struct test *t, CUdeviceptr to, CUgraphNode *node)
{
    CUgraph graph = begin_graph();
    struct add_arguments a;
    CUDA_KERNEL_NODE_PARAMS kernel = add_node(t, &a, to);

    CU(cuGraphAddKernelNode_v2(node, graph, NULL, 0, &kernel));
    return graph;
}

static void by_kernel_node(struct test *t)
{
    CUgraphNode node;

    launch(t, kernel_graph(t, t->there, &node));
}

static void by_child(struct test *t)
{
    CUgraphNode node;
    CUgraph graph = begin_graph(), child = kernel_graph(t, t->there, &node);

    CU(cuGraphAddChildGraphNode(&node, graph, NULL, 0, child));
    CU(cuGraphDestroy(child));
    launch(t, graph);
}

/* The kernel gets its address, and the next one loses it, when the graph can be launched already.
 */
static void by_set_kernel(struct test *t)
{
    struct add_arguments a;
    CUDA_KERNEL_NODE_PARAMS kernel;
    CUgraphNode node;
    CUgraph graph = kernel_graph(t, t->device, &node);
    CUgraphExec exec;

    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 3; i++) {
        kernel = add_node(t, &a, i == 1 ? t->there : t->device);
        CU(cuGraphExecKernelNodeSetParams_v2(exec, node, &kernel));
        CU(cuGraphLaunch(exec, t->stream));
    }
    CU(cuStreamSynchronize(t->stream));
    CU(cuGraphExecDestroy(exec));
    CU(cuGraphDestroy(graph));
}

static void by_update(struct test *t)
{
    CUgraphNode node;
    CUgraph graph = kernel_graph(t, t->device, &node), other = kernel_graph(t, t->there, &node);
    CUgraphExecUpdateResultInfo info;
    CUgraphExec exec;

    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CU(cuGraphExecUpdate_v2(exec, other, &info));
    CU(cuGraphDestroy(other));
    CU(cuGraphDestroy(graph));
    CU(cuGraphLaunch(exec, t->stream));
    CU(cuStreamSynchronize(t->stream));
    CU(cuGraphExecDestroy(exec));
}

static void by_captured(struct test *t)
{
    CUgraph graph;

    CU(cuStreamBeginCapture_v2(t->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    by_block(t);
    CU(cuStreamEndCapture(t->stream, &graph));
    launch(t, graph);
}

static void by_fill_node(struct test *t)
{
    const CUDA_MEMSET_NODE_PARAMS fill = {t->there, PITCH, 9, 1, WIDTH, ROWS};
    CUgraph graph = begin_graph();
    CUgraphNode node;

    CU(cuGraphAddMemsetNode(&node, graph, NULL, 0, &fill, t->context));
    launch(t, graph);
}

static void by_copy_node(struct test *t)
{
    const CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                .srcDevice = t->ones,
                                .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                .dstDevice = t->there,
                                .WidthInBytes = COUNT * 4,
                                .Height = 1,
                                .Depth = 1};
    CUgraph graph = begin_graph();
    CUgraphNode node;

    CU(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, t->context));
    launch(t, graph);
}

static void by_value_node(struct test *t)
{
    CUstreamBatchMemOpParams value = {.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32,
                                                     .address = t->there,
                                                     .value = 7}};
    CUDA_BATCH_MEM_OP_NODE_PARAMS values;
    CUgraph graph = begin_graph();
    CUgraphNode node;

    memset(&values, 0, sizeof(values)); /* what lies between members is recorded, too */
    values.ctx = t->context;
    values.count = 1;
    values.paramArray = &value;
    CU(cuGraphAddBatchMemOpNode(&node, graph, NULL, 0, &values));
    launch(t, graph);
}

static void (*const ways[])(struct test *t) = {
    by_kernel,     by_block,  by_config,    by_copy,      by_plain_copy,   by_device_copy, by_rows,
    by_planes,     by_fill,   by_fill_rows, by_value,     by_waiting_copy, by_kernel_node, by_child,
    by_set_kernel, by_update, by_captured,  by_fill_node, by_copy_node,    by_value_node};

enum { WAY_COUNT = sizeof(ways) / sizeof(ways[0]) };

/* Sees the GPU's bytes, and gives it something to do. */
static void *watch(void *argument)
{
    struct test *t = argument;

    CU(cuCtxSetCurrent(t->context));
    for (int i = 0; i < WAY_COUNT; i++) {
        pthread_barrier_wait(&t->barrier);
        while (!t->shared[0] && __atomic_load_n(&t->is_inside, __ATOMIC_ACQUIRE))
            sched_yield();
        CU(cuEventRecord(t->event, t->other));
        pthread_barrier_wait(&t->barrier);
    }
    return NULL;
}

/* Copies the present bytes to the device. */
static uint32_t seen(struct test *t)
{
    static unsigned out[SPACE / 4];
    int count = SPACE / 4;

    program_launch(t->copy, SPACE / 4, t->stream, (void *[]){&count, &t->there, &t->device});
    CU(cuMemcpyDtoHAsync_v2(out, t->device, SPACE, t->stream));
    CU(cuStreamSynchronize(t->stream));
    return program_digest(out, SPACE);
}

static void share(struct test *t)
{
    CU(cuMemHostAlloc((void **)&t->shared, SPACE, CU_MEMHOSTALLOC_DEVICEMAP));
    CU(cuMemHostGetDevicePointer_v2(&t->there, (void *)t->shared, 0));
}

static void overtake(struct test *t, int way)
{
    share(t);
    __atomic_store_n(&t->is_inside, 1, __ATOMIC_RELEASE);
    pthread_barrier_wait(&t->barrier);
    ways[way](t);
    __atomic_store_n(&t->is_inside, 0, __ATOMIC_RELEASE);
    pthread_barrier_wait(&t->barrier);
    CU(cuStreamSynchronize(t->stream));
    printf("%d: %08x\n", way, seen(t));
    CU(cuMemFreeHost((void *)t->shared));
}

/* None of these writes anything: what follows is the program's. */
static void fail(struct test *t)
{
    int count = COUNT;
    float one = 1;
    void *arguments[] = {&count, &one, &t->ones, &t->there};
    const CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                .srcDevice = t->ones,
                                .srcPitch = WIDTH / 2,
                                .dstMemoryType = CU_MEMORYTYPE_HOST,
                                .dstHost = (void *)t->shared,
                                .dstPitch = WIDTH / 2,
                                .WidthInBytes = WIDTH,
                                .Height = ROWS};

    printf("failed: %d %d %d %d %d\n",
           cuLaunchKernel(t->add, 0, 1, 1, 256, 1, 1, 0, t->stream, arguments, NULL) != 0,
           cuLaunchKernel(t->add, 0, 1, 1, 256, 1, 1, 0, t->stream, (void **)8, NULL) != 0,
           cuLaunchKernel(t->add, 0, 1, 1, 256, 1, 1, 0, t->stream, NULL, (void **)8) != 0,
           cuMemcpyDtoHAsync_v2((void *)t->shared, 64, SPACE, t->stream) != 0,
           cuMemcpy2DAsync_v2(&copy, t->stream) != 0);
}

int main(void)
{
    struct test t = {0};
    CUmodule module = program_begin(&t.context);
    pthread_t thread;

    t.add = program_function(module, "saxpy");
    t.copy = program_function(module, "copy");
    CU(cuStreamCreate(&t.stream, CU_STREAM_NON_BLOCKING));
    CU(cuStreamCreate(&t.other, CU_STREAM_NON_BLOCKING));
    CU(cuEventCreate(&t.event, CU_EVENT_DISABLE_TIMING));
    CU(cuMemAlloc_v2(&t.ones, SPACE));
    CU(cuMemAlloc_v2(&t.device, SPACE));
    CU(cuMemsetD32_v2(t.ones, 0x3f800000, SPACE / 4));
    CU(cuCtxSynchronize());
    pthread_barrier_init(&t.barrier, NULL, 2);
    pthread_create(&thread, NULL, watch, &t);
    for (int i = 0; i < WAY_COUNT; i++)
        overtake(&t, i);
    pthread_join(thread, NULL);
    share(&t);
    fail(&t);
    for (unsigned i = 0; i < SPACE / 4; i++)
        t.shared[i] = i;
    printf("own: %08x\n", seen(&t));
    CU(cuMemFreeHost((void *)t.shared));
    CU(cuMemFree_v2(t.device));
    CU(cuMemFree_v2(t.ones));
    CU(cuEventDestroy_v2(t.event));
    CU(cuStreamDestroy_v2(t.other));
    CU(cuStreamDestroy_v2(t.stream));
    program_end(module, t.context);
    return 0;
}
