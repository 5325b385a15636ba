/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph with a loop in which a kernel decides when it is over, and in it a choice between two
 * ways. With an argument the memory is the program's, and a command follows each launch at once.
 */
#include "tests/programs/program.h"

/* step(p, loop, choice, limit): *p = *p * 3 + 1 and p[1] += 1; the loop goes on while p[1] < limit;
 * the choice is the lowest bit of *p. */
static const char text[] =
    ".version 8.0\n.target sm_70\n.address_size 64\n"
    ".extern .func cudaGraphSetConditional(.param .b64 h, .param .b32 v);\n"
    ".visible .entry step(.param .u64 p, .param .u64 h, .param .u64 c, .param .u32 n)\n{\n"
    ".reg .b64 %rd<4>; .reg .b32 %r<8>; .reg .pred %q;\n"
    "ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [h]; ld.param.u64 %rd3, [c];\n"
    "ld.param.u32 %r1, [n];\n"
    "ld.global.u32 %r2, [%rd1]; mad.lo.u32 %r2, %r2, 3, 1; st.global.u32 [%rd1], %r2;\n"
    "ld.global.u32 %r4, [%rd1+4]; add.u32 %r4, %r4, 1; st.global.u32 [%rd1+4], %r4;\n"
    "setp.lt.u32 %q, %r4, %r1; selp.u32 %r3, 1, 0, %q; and.b32 %r5, %r2, 1;\n"
    "{ .param .b64 a; .param .b32 b; st.param.b64 [a], %rd2; st.param.b32 [b], %r3;\n"
    "call cudaGraphSetConditional, (a, b); }\n"
    "{ .param .b64 a; .param .b32 b; st.param.b64 [a], %rd3; st.param.b32 [b], %r5;\n"
    "call cudaGraphSetConditional, (a, b); }\nret;\n}\n";

static CUgraph *add(CUgraphNode *out, CUgraph graph, const CUgraphNode *after, size_t count,
                    CUgraphConditionalHandle handle, CUgraphConditionalNodeType type, unsigned size,
                    CUcontext context)
{
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};

    p.conditional = (CUDA_CONDITIONAL_NODE_PARAMS){handle, type, size, NULL, context};
    CU(cuGraphAddNode(out, graph, after, count, &p));
    return p.conditional.phGraph_out;
}

static void add_fill(CUgraph graph, CUdeviceptr at, unsigned value, CUcontext context)
{
    const CUDA_MEMSET_NODE_PARAMS p = {
        .dst = at, .value = value, .elementSize = 4, .width = 1, .height = 1};
    CUgraphNode node;

    CU(cuGraphAddMemsetNode(&node, graph, NULL, 0, &p, context));
}

/* A command on another stream, before the launch is known to be complete. */
static void follow(CUdeviceptr other_memory, CUstream other)
{
    CU(cuMemsetD32Async(other_memory, 1, 4, other));
}

int main(int argc, char **argv)
{
    CUgraphConditionalHandle loop, choice;
    uint32_t digest = 0, limit = 7, out[4], *shared = NULL;
    CUdeviceptr other_memory;
    CUstream other;
    CUgraph graph, *body, *ways;
    CUgraphNode node, work;
    CUdeviceptr memory;
    CUcontext context;
    CUmodule kernels = program_begin(&context), module;
    CUgraphExec exec;

    CU(cuModuleLoadData(&module, text));
    CU(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CU(cuMemAlloc_v2(&other_memory, sizeof(out)));
    if (argc > 1) {
        CU(cuMemHostAlloc((void **)&shared, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
        CU(cuMemHostGetDevicePointer_v2(&memory, shared, 0));
    } else {
        CU(cuMemAlloc_v2(&memory, sizeof(out)));
    }
    CU(cuGraphCreate(&graph, 0));
    CU(cuGraphConditionalHandleCreate(&loop, graph, context, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
    CU(cuGraphConditionalHandleCreate(&choice, graph, context, 0, 0));
    void *arguments[] = {&memory, &loop, &choice, &limit};
    CUDA_KERNEL_NODE_PARAMS params = {.func = program_function(module, "step"),
                                      .gridDimX = 1,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = 1,
                                      .blockDimY = 1,
                                      .blockDimZ = 1,
                                      .kernelParams = arguments};
    body = add(&node, graph, NULL, 0, loop, CU_GRAPH_COND_TYPE_WHILE, 1, context);
    CU(cuGraphAddKernelNode_v2(&work, body[0], NULL, 0, &params));
    ways = add(&node, body[0], &work, 1, choice, CU_GRAPH_COND_TYPE_IF, 2, context);
    add_fill(ways[0], memory + 8, 11, context);
    add_fill(ways[1], memory + 12, 22, context);
    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (unsigned start = 0; start < 4; start++) {
        for (unsigned i = 0; shared && i < 4; i++)
            shared[i] = start;
        if (!shared)
            CU(cuMemsetD32_v2(memory, start, 4));
        CU(cuGraphLaunch(exec, NULL));
        if (shared)
            follow(other_memory, other);
        CU(cuMemcpyDtoH_v2(out, memory, sizeof(out)));
        digest = digest * 31 + program_digest(out, sizeof(out));
    }
    CU(cuGraphExecDestroy(exec));
    CU(cuGraphDestroy(graph));
    CU(cuModuleUnload(module));
    program_end(kernels, context);
    printf("conditional: %08x\n", digest);
    return 0;
}
