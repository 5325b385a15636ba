/* SPDX-License-Identifier: Apache-2.0
 *
 * Host functions, and waits for and writes of values in memory.
 */
#include "tests/emu/emu_test.h"

static CUresult inner;
static int called;

static void forbidden(void *data)
{
    inner = cuCtxSynchronize();
}

static void callback(CUstream stream, CUresult status, void *data)
{
    called = (int)(intptr_t)data + (int)status;
}

/* The wait was added before what it is for, on another branch. */
static void test_branches(CUcontext context, CUstream stream, CUdeviceptr flag)
{
    CUstreamBatchMemOpParams wait = {.waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32,
                                                   .address = flag,
                                                   .value = 77,
                                                   .flags = CU_STREAM_WAIT_VALUE_EQ}};
    CUstreamBatchMemOpParams write = {
        .writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = flag, .value = 77}};
    CUDA_BATCH_MEM_OP_NODE_PARAMS first = {context, 1, &wait, 0}, second = {context, 1, &write, 0};
    CUgraphNode node;
    CUgraphExec exec;
    CUgraph graph;

    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddBatchMemOpNode(&node, graph, NULL, 0, &first));
    OK(cuGraphAddEmptyNode(&node, graph, NULL, 0));
    OK(cuGraphAddBatchMemOpNode(&node, graph, &node, 1, &second));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

int main(void)
{
    CUcontext context = test_context();
    CUstream a, b;
    CUdeviceptr flag;
    unsigned out = 0;
    CUstreamBatchMemOpParams batch[2] = {0};

    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc_v2(&flag, 8));
    OK(cuStreamWaitValue32_v2(a, flag, 3, CU_STREAM_WAIT_VALUE_GEQ));
    OK(cuStreamWriteValue32_v2(a, flag + 4, 9, 0));
    FAILS(cuStreamQuery(a), CUDA_ERROR_NOT_READY);
    batch[0].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    batch[0].writeValue.address = flag;
    batch[0].writeValue.value = 3;
    batch[1].operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    batch[1].waitValue.address = flag + 4;
    batch[1].waitValue.value = 9;
    batch[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    OK(cuStreamBatchMemOp_v2(b, 2, batch, 0));
    OK(cuStreamSynchronize(b));
    OK(cuMemcpyDtoH_v2(&out, flag + 4, 4));
    CHECK_EQ_INT(out, 9);
    FAILS(cuStreamWriteValue32_v2(b, flag + 2, 0, 0), CUDA_ERROR_INVALID_VALUE);

    OK(cuLaunchHostFunc(a, forbidden, NULL));
    OK(cuStreamAddCallback(a, callback, (void *)5, 0));
    OK(cuStreamSynchronize(a));
    CHECK_EQ_INT(inner, CUDA_ERROR_NOT_PERMITTED);
    CHECK_EQ_INT(called, 5);
    test_branches(context, a, flag);
    OK(cuCtxDestroy_v2(context));
    return check_result();
}
