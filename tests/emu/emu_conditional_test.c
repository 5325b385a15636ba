/* SPDX-License-Identifier: Apache-2.0
 *
 * Conditional nodes: a loop, an if with else, a switch, one in the other; values that kernels set and
 * that launches begin with; what is refused.
 */
#include "tests/emu/emu_kernels.h"
#include "tests/emu/emu_test.h"

/* step(u32 *p, u64 handle, u32 limit): *p += 1; the condition is *p < limit. choose(handle, value): the
 * condition is the value. */
static const char text[] =
    ".version 8.0\n.target sm_70\n.address_size 64\n"
    ".extern .func cudaGraphSetConditional(.param .b64 h, .param .b32 v);\n"
    ".visible .entry step(.param .u64 p, .param .u64 h, .param .u32 n)\n{\n"
    ".reg .b64 %rd<4>; .reg .b32 %r<6>; .reg .pred %q;\n"
    "ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [h]; ld.param.u32 %r1, [n];\n"
    "ld.global.u32 %r2, [%rd1]; add.u32 %r2, %r2, 1; st.global.u32 [%rd1], %r2;\n"
    "setp.lt.u32 %q, %r2, %r1; selp.u32 %r3, 1, 0, %q;\n"
    "{ .param .b64 a; .param .b32 b; st.param.b64 [a], %rd2; st.param.b32 [b], %r3;\n"
    "call cudaGraphSetConditional, (a, b); }\nret;\n}\n"
    ".visible .entry choose(.param .u64 h, .param .u32 v)\n{\n"
    ".reg .b64 %rd<4>; .reg .b32 %r<6>;\n"
    "ld.param.u64 %rd2, [h]; ld.param.u32 %r1, [v];\n"
    "{ .param .b64 a; .param .b32 b; st.param.b64 [a], %rd2; st.param.b32 [b], %r1;\n"
    "call cudaGraphSetConditional, (a, b); }\nret;\n}\n";

static CUfunction step, choose;
static CUcontext context;

static CUDA_KERNEL_NODE_PARAMS one_thread(CUfunction function, void **args)
{
    return (CUDA_KERNEL_NODE_PARAMS){.func = function, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1,
                                     .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1,
                                     .kernelParams = args};
}

static CUgraph *add(CUgraphNode *out, CUgraph graph, const CUgraphNode *after, size_t count,
                    CUgraphConditionalHandle handle, CUgraphConditionalNodeType type, unsigned size)
{
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};

    p.conditional = (CUDA_CONDITIONAL_NODE_PARAMS){handle, type, size, NULL, context};
    OK(cuGraphAddNode(out, graph, after, count, &p));
    CHECK(p.conditional.phGraph_out != NULL);
    return p.conditional.phGraph_out;
}

static void add_fill(CUgraph graph, CUdeviceptr at, unsigned value)
{
    const CUDA_MEMSET_NODE_PARAMS p = {
        .dst = at, .value = value, .elementSize = 4, .width = 1, .height = 1};
    CUgraphNode node;

    OK(cuGraphAddMemsetNode(&node, graph, NULL, 0, &p, context));
}

static unsigned word(CUdeviceptr at)
{
    unsigned value = 0;

    OK(cuMemcpyDtoH_v2(&value, at, 4));
    return value;
}

static void run(CUgraphExec exec)
{
    OK(cuGraphLaunch(exec, NULL));
    OK(cuCtxSynchronize());
}

/* The loop runs until a kernel in it ends it; each launch begins with the default. */
static void loop(CUdeviceptr p)
{
    CUgraphConditionalHandle handle;
    CUgraph graph, *body;
    CUgraphExec exec;
    CUgraphNode node, inside;
    unsigned limit = 10;

    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphConditionalHandleCreate(&handle, graph, context, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
    body = add(&node, graph, NULL, 0, handle, CU_GRAPH_COND_TYPE_WHILE, 1);
    void *args[] = {&p, &handle, &limit};
    const CUDA_KERNEL_NODE_PARAMS params = one_thread(step, args);
    OK(cuGraphAddKernelNode_v2(&inside, body[0], NULL, 0, &params));
    FAILS(cuGraphDestroy(body[0]), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuMemsetD32_v2(p, 0, 1));
    run(exec);
    CHECK_EQ_INT(word(p), 10);
    run(exec); /* once: the kernel ends it at once */
    CHECK_EQ_INT(word(p), 11);
    limit = 20;
    const CUDA_KERNEL_NODE_PARAMS more = one_thread(step, args);
    OK(cuGraphExecKernelNodeSetParams_v2(exec, inside, &more));
    OK(cuGraphDestroy(graph));
    run(exec);
    CHECK_EQ_INT(word(p), 20);
    OK(cuGraphExecDestroy(exec));
}

/* A kernel chooses: a switch, in which an if stands. */
static void branches(CUdeviceptr p)
{
    CUgraphConditionalHandle which, inner;
    CUgraph graph, *cases, *sides;
    CUgraphExec exec;
    CUgraphNode first, node, nested;
    unsigned value = 0;

    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphConditionalHandleCreate(&which, graph, context, 0, 0));
    OK(cuGraphConditionalHandleCreate(&inner, graph, context, 0, CU_GRAPH_COND_ASSIGN_DEFAULT));
    void *args[] = {&which, &value};
    CUDA_KERNEL_NODE_PARAMS params = one_thread(choose, args);
    OK(cuGraphAddKernelNode_v2(&first, graph, NULL, 0, &params));
    cases = add(&node, graph, &first, 1, which, CU_GRAPH_COND_TYPE_SWITCH, 3);
    add_fill(cases[0], p, 100);
    add_fill(cases[1], p, 200);
    sides = add(&nested, cases[2], NULL, 0, inner, CU_GRAPH_COND_TYPE_IF, 2);
    add_fill(sides[0], p, 301);
    add_fill(sides[1], p, 302);
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    static const unsigned expected[] = {100, 200, 302, 7};
    for (value = 0; value < 4; value++) {
        params = one_thread(choose, args);
        OK(cuGraphExecKernelNodeSetParams_v2(exec, first, &params));
        OK(cuMemsetD32_v2(p, 7, 1));
        run(exec);
        CHECK_EQ_INT(word(p), expected[value]);
    }
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

static void nothing(void *user)
{
}

static void refused(void)
{
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    const CUDA_HOST_NODE_PARAMS host = {nothing, NULL};
    CUgraphConditionalHandle handle;
    CUgraph graph, *body;
    CUgraphExec exec;
    CUgraphNode node;

    OK(cuGraphCreate(&graph, 0));
    FAILS(cuGraphConditionalHandleCreate(NULL, graph, context, 0, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuGraphConditionalHandleCreate(&handle, graph, context, 0, 8), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphConditionalHandleCreate(&handle, graph, context, 0, 0));
    p.conditional = (CUDA_CONDITIONAL_NODE_PARAMS){handle, CU_GRAPH_COND_TYPE_WHILE, 2, NULL, context};
    FAILS(cuGraphAddNode(&node, graph, NULL, 0, &p), CUDA_ERROR_INVALID_VALUE);
    p.conditional.size = 1;
    p.conditional.handle = 12345;
    FAILS(cuGraphAddNode(&node, graph, NULL, 0, &p), CUDA_ERROR_INVALID_VALUE);
    body = add(&node, graph, NULL, 0, handle, CU_GRAPH_COND_TYPE_IF, 1);
    OK(cuGraphAddHostNode(&node, body[0], NULL, 0, &host));
    FAILS(cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_ERROR_NOT_SUPPORTED);
    OK(cuGraphDestroy(graph));
}

int main(void)
{
    CUmodule module;
    CUdeviceptr p;
    uint64_t handle = 99;
    uint32_t value = 1;
    void *args[] = {&handle, &value};

    context = test_context();
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&step, module, "step"));
    OK(cuModuleGetFunction(&choose, module, "choose"));
    OK(cuMemAlloc_v2(&p, 4));
    loop(p);
    branches(p);
    refused();
    OK(cuLaunchKernel(choose, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
    CHECK(cuCtxSynchronize() != CUDA_SUCCESS); /* a handle that no graph has */
    return check_result();
}
