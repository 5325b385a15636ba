/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels write memory of the program, and the program, its functions and later commands use it
 * where it lies: in_place functions|graph|capture|contexts.
 */
#include "tests/programs/program.h"

enum { COUNT = 512, SIZE = COUNT * 4, ROUNDS = 4 };

/* change(p, n, k): p[i] = p[i] * k + i; move(s, d, n): d[i] = s[i] * 5 + 1. */
static const char text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry change(.param .u64 p, .param .u32 n, .param .u32 k)\n{\n"
    ".reg .u64 %rd<4>; .reg .u32 %r<7>; .reg .pred %q;\n"
    "ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; ld.param.u32 %r2, [k];\n"
    "mov.u32 %r3, %tid.x; mov.u32 %r4, %ctaid.x; mad.lo.u32 %r3, %r4, 256, %r3;\n"
    "setp.ge.u32 %q, %r3, %r1; @%q ret; mul.wide.u32 %rd2, %r3, 4; add.u64 %rd3, %rd1, %rd2;\n"
    "ld.global.u32 %r5, [%rd3]; mad.lo.u32 %r6, %r5, %r2, %r3; st.global.u32 [%rd3], %r6; ret;\n}\n"
    ".visible .entry move(.param .u64 s, .param .u64 d, .param .u32 n)\n{\n"
    ".reg .u64 %rd<6>; .reg .u32 %r<7>; .reg .pred %q;\n"
    "ld.param.u64 %rd1, [s]; ld.param.u64 %rd4, [d]; ld.param.u32 %r1, [n];\n"
    "mov.u32 %r3, %tid.x; mov.u32 %r4, %ctaid.x; mad.lo.u32 %r3, %r4, 256, %r3;\n"
    "setp.ge.u32 %q, %r3, %r1; @%q ret; mul.wide.u32 %rd2, %r3, 4;\n"
    "add.u64 %rd3, %rd1, %rd2; add.u64 %rd5, %rd4, %rd2;\n"
    "ld.global.u32 %r5, [%rd3]; mad.lo.u32 %r6, %r5, 5, 1; st.global.u32 [%rd5], %r6; ret;\n}\n";

static CUcontext context;
static CUfunction change, move;
static CUstream first, second;
static CUevent event;
static uint32_t digest, out[COUNT], *memory; /* 2 * SIZE of memory */
static CUdeviceptr mapped, device;

static void note(const void *bytes, size_t size)
{
    digest = digest * 31 + program_digest(bytes, size);
}

static void send_change(CUdeviceptr at, unsigned factor, CUstream stream)
{
    unsigned count = COUNT;

    program_launch(change, COUNT, stream, (void *[]){&at, &count, &factor});
}

static void send_move(CUdeviceptr from, CUdeviceptr to, CUstream stream)
{
    unsigned count = COUNT;

    program_launch(move, COUNT, stream, (void *[]){&from, &to, &count});
}

static void order(CUstream before, CUstream behind)
{
    CU(cuEventRecord(event, before));
    CU(cuStreamWaitEvent(behind, event, 0));
}

static void change_some(void *user)
{
    static unsigned calls;

    calls++;
    for (unsigned i = 0; i < COUNT; i += 3)
        memory[i] = memory[i] * 3 + calls;
}

/* Functions of two streams stand between kernels; a fill that is sent early comes last. */
static void run_functions(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        send_change(mapped, 5, first);
        CU(cuLaunchHostFunc(first, change_some, NULL));
        send_change(mapped, 3, first);
        order(first, second);
        send_move(mapped, mapped + SIZE, second);
        CU(cuLaunchHostFunc(second, change_some, NULL));
        send_move(mapped, device, second);
        order(second, first);
        CU(cuMemsetD8Async(mapped + 16, 3, 40, first));
        CU(cuStreamSynchronize(first));
        note(memory, 2 * SIZE);
        CU(cuMemcpyDtoH_v2(out, device, SIZE));
        note(out, SIZE);
    }
}

/* A kernel, a function and a copy are nodes of a graph. */
static void run_graph(void)
{
    unsigned count = COUNT, factor = 3;
    void *arguments[] = {&mapped, &count, &factor};
    const CUDA_KERNEL_NODE_PARAMS kernel = {.func = change,
                                            .gridDimX = 2,
                                            .gridDimY = 1,
                                            .gridDimZ = 1,
                                            .blockDimX = 256,
                                            .blockDimY = 1,
                                            .blockDimZ = 1,
                                            .kernelParams = arguments};
    const CUDA_HOST_NODE_PARAMS function = {change_some, NULL};
    const CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                .srcDevice = mapped,
                                .dstMemoryType = CU_MEMORYTYPE_HOST,
                                .dstHost = out,
                                .WidthInBytes = SIZE,
                                .Height = 1,
                                .Depth = 1};
    CUgraphExec exec;
    CUgraphNode node[3];
    CUgraph graph;

    CU(cuGraphCreate(&graph, 0));
    CU(cuGraphAddKernelNode_v2(&node[0], graph, NULL, 0, &kernel));
    CU(cuGraphAddHostNode(&node[1], graph, &node[0], 1, &function));
    CU(cuGraphAddMemcpyNode(&node[2], graph, &node[1], 1, &copy, context));
    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (unsigned i = 0; i < ROUNDS; i++) {
        memory[i] = 5;
        CU(cuGraphLaunch(exec, first));
        CU(cuMemsetD32Async(device, i, COUNT, second));
        CU(cuStreamSynchronize(first));
        note(memory, 2 * SIZE);
        note(out, SIZE);
    }
    CU(cuGraphExecDestroy(exec));
    CU(cuGraphDestroy(graph));
}

/* Two captured streams write there. */
static void run_capture(void)
{
    CUgraphExec exec;
    CUgraph graph;

    CU(cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_GLOBAL));
    send_change(mapped, 3, first);
    order(first, second);
    send_move(mapped, mapped + SIZE, second);
    order(second, first);
    CU(cuMemsetD32Async(mapped + 128, 6, 8, first));
    CU(cuStreamEndCapture(first, &graph));
    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CU(cuGraphDestroy(graph));
    for (unsigned i = 0; i < ROUNDS; i++) {
        memory[i] = i;
        CU(cuGraphLaunch(exec, i % 2 ? first : second));
        CU(cuCtxSynchronize());
        note(memory, 2 * SIZE);
    }
    CU(cuGraphExecDestroy(exec));
    CU(cuMemcpyDtoH_v2(out, mapped + SIZE, SIZE));
    note(out, SIZE);
}

/* Contexts are destroyed with work in them that writes memory of another context, and their own. */
static void run_contexts(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned count = COUNT, factor = 3;
        CUcontext other;
        CUdeviceptr own;
        CUmodule module;
        CUstream stream;
        void *host;

        CU(cuCtxCreate_v2(&other, 0, 0));
        CU(cuModuleLoadData(&module, text));
        CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        CU(cuMemHostAlloc(&host, SIZE, CU_MEMHOSTALLOC_DEVICEMAP));
        CU(cuMemHostGetDevicePointer_v2(&own, host, 0));
        program_launch(program_function(module, "change"), COUNT, stream,
                       (void *[]){&mapped, &count, &factor});
        CU(cuMemcpyDtoDAsync_v2(own, mapped, SIZE, stream));
        CU(cuCtxDestroy_v2(other));
        CU(cuCtxSetCurrent(context));
        note(memory, 2 * SIZE);
        memory[i] = 1;
        send_change(mapped, 5, NULL);
        CU(cuCtxSynchronize());
        note(memory, 2 * SIZE);
    }
    CU(cuMemcpyDtoH_v2(out, mapped, SIZE));
    note(out, SIZE);
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "functions";
    CUmodule kernels = program_begin(&context), module;

    CU(cuModuleLoadData(&module, text));
    change = program_function(module, "change");
    move = program_function(module, "move");
    CU(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    CU(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CU(cuMemAlloc_v2(&device, SIZE));
    CU(cuMemHostAlloc((void **)&memory, (size_t)2 * SIZE,
                      CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE));
    CU(cuMemHostGetDevicePointer_v2(&mapped, memory, 0));
    if (!strcmp(way, "functions"))
        run_functions();
    else if (!strcmp(way, "graph"))
        run_graph();
    else if (!strcmp(way, "capture"))
        run_capture();
    else
        run_contexts();
    CU(cuCtxSynchronize());
    CU(cuModuleUnload(module));
    program_end(kernels, context);
    printf("in_place %s: %08x\n", way, digest);
    return 0;
}
