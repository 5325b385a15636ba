/* SPDX-License-Identifier: Apache-2.0
 *
 * Stream capture: what becomes a node, how streams join, and what breaks a capture.
 */
#include <pthread.h>
#include <string.h>

#include "tests/emu/emu_kernels.h"
#include "tests/emu/emu_test.h"

static CUfunction store;

static void send_store(CUstream stream, CUdeviceptr p, unsigned value)
{
    OK(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, stream, (void *[]){&p, &value}, NULL));
}

static CUstream new_stream(void)
{
    CUstream stream = NULL;

    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

static unsigned read_u32(CUdeviceptr p)
{
    unsigned value = 0;

    OK(cuMemcpyDtoH_v2(&value, p, 4));
    return value;
}

/* Nothing runs while capturing; the graph runs it, also from pageable memory as it is then. */
static void one_stream(void)
{
    CUstream stream = new_stream();
    CUstreamCaptureStatus status;
    CUgraph graph, given;
    const CUgraphNode *after;
    CUgraphExec exec;
    CUdeviceptr p, q;
    unsigned from = 1, to = 0;
    cuuint64_t id;
    size_t count;

    OK(cuMemAlloc_v2(&p, 8));
    OK(cuMemsetD8_v2(p, 0, 8));
    OK(cuCtxSynchronize());
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    FAILS(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_ILLEGAL_STATE);
    OK(cuMemcpyHtoDAsync_v2(p, &from, 4, stream));
    OK(cuMemAllocAsync(&q, 4, stream));
    send_store(stream, q, 40);
    OK(cuMemcpyDtoDAsync_v2(p + 4, q, 4, stream));
    OK(cuMemFreeAsync(q, stream));
    OK(cuMemcpyDtoHAsync_v2(&to, p + 4, 4, stream));
    OK(cuStreamIsCapturing(stream, &status));
    CHECK_EQ_INT(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(cuStreamGetCaptureInfo_v2(stream, &status, &id, &given, &after, &count));
    CHECK_EQ_INT(count, 1);
    OK(cuStreamEndCapture(stream, &graph));
    CHECK(graph == given);
    FAILS(cuStreamEndCapture(stream, &graph), CUDA_ERROR_ILLEGAL_STATE);
    CHECK_EQ_INT(to, 0);
    CHECK_EQ_INT(read_u32(p), 0);
    count = 0;
    OK(cuGraphGetNodes(given, NULL, &count));
    CHECK_EQ_INT(count, 6);
    OK(cuGraphInstantiateWithFlags(&exec, given, 0));
    from = 2;
    for (int i = 0; i < 2; i++) {
        to = 0;
        OK(cuGraphLaunch(exec, stream));
        OK(cuStreamSynchronize(stream));
        CHECK_EQ_INT(read_u32(p), 2);
        CHECK_EQ_INT(to, 40);
    }
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(given));
    OK(cuStreamDestroy_v2(stream));
    OK(cuMemFree_v2(p));
}

/* fork and join by events; the edges are there. */
static void two_streams(void)
{
    CUstream a = new_stream(), b = new_stream();
    CUevent fork, join;
    CUgraph graph;
    CUgraphNode from[8], to[8];
    CUgraphExec exec;
    CUdeviceptr p;
    size_t edges = 8;

    OK(cuMemAlloc_v2(&p, 12));
    OK(cuEventCreate(&fork, 0));
    OK(cuEventCreate(&join, 0));
    OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    send_store(a, p, 1);
    OK(cuEventRecord(fork, a));
    OK(cuStreamWaitEvent(b, fork, 0));
    send_store(b, p + 4, 2);
    OK(cuEventRecord(join, b));
    FAILS(cuStreamEndCapture(b, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    FAILS(cuStreamEndCapture(a, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(graph == NULL);

    OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    send_store(a, p, 1);
    OK(cuEventRecord(fork, a));
    OK(cuStreamWaitEvent(b, fork, 0));
    send_store(b, p + 4, 2);
    send_store(a, p + 8, 3);
    OK(cuEventRecord(join, b));
    FAILS(cuEventQuery(join), CUDA_ERROR_CAPTURED_EVENT);
    OK(cuStreamWaitEvent(a, join, 0));
    send_store(a, p, 4);
    OK(cuStreamEndCapture(a, &graph));
    OK(cuGraphGetEdges(graph, from, to, &edges));
    CHECK_EQ_INT(edges, 4);
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, b));
    OK(cuStreamSynchronize(b));
    CHECK_EQ_INT(read_u32(p), 4);
    CHECK_EQ_INT(read_u32(p + 4), 2);
    CHECK_EQ_INT(read_u32(p + 8), 3);
    FAILS(cuStreamWaitEvent(b, join, 0), CUDA_ERROR_CAPTURED_EVENT);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuEventDestroy_v2(fork));
    OK(cuEventDestroy_v2(join));
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
    OK(cuMemFree_v2(p));
}

/* begin, one forbidden thing, end. */
static void broken_by(CUstream stream, CUresult got, CUresult wanted)
{
    CUgraph graph;
    CUstreamCaptureStatus status;

    CHECK_EQ_INT(got, wanted);
    OK(cuStreamIsCapturing(stream, &status));
    CHECK_EQ_INT(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    FAILS(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
}

static void callback(CUstream stream, CUresult status, void *user)
{
    (void)stream, (void)status, (void)user;
}

static void forbidden(void)
{
    CUstream a = new_stream(), b = new_stream(), blocking;
    CUevent outside, inside;
    CUdeviceptr p, q;
    CUgraph graph;

    OK(cuStreamCreate(&blocking, 0));
    OK(cuMemAlloc_v2(&p, 4));
    OK(cuEventCreate(&outside, 0));
    OK(cuEventCreate(&inside, 0));
    OK(cuEventRecord(outside, b));
    OK(cuCtxSynchronize());
    FAILS(cuStreamBeginCapture_v2(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL),
          CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    broken_by(a, cuStreamSynchronize(a), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    broken_by(a, cuStreamQuery(a), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    broken_by(a, cuMemAlloc_v2(&q, 4), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    broken_by(a, cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    broken_by(a, cuStreamWaitEvent(a, outside, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    broken_by(a, cuStreamAddCallback(a, callback, NULL, 0), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    OK(cuStreamEndCapture(a, &graph));
    OK(cuGraphDestroy(graph));

    /* The legacy stream waits for blocking streams, which a capture cannot be part of. */
    OK(cuStreamBeginCapture_v2(blocking, CU_STREAM_CAPTURE_MODE_GLOBAL));
    broken_by(blocking, cuMemsetD8Async(p, 1, 4, NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    OK(cuStreamEndCapture(blocking, &graph));
    OK(cuGraphDestroy(graph));

    OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuMemAlloc_v2(&q, 4));
    OK(cuEventRecord(inside, a));
    OK(cuStreamWaitEvent(b, inside, 0));
    send_store(b, p, 1);
    FAILS(cuStreamEndCapture(a, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuStreamBeginCapture_v2(b, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuEventRecord(inside, a));
    FAILS(cuStreamWaitEvent(b, inside, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
    FAILS(cuStreamEndCapture(a, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    FAILS(cuStreamEndCapture(b, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    OK(cuMemFree_v2(q));
    OK(cuMemFree_v2(p));
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
}

struct other {
    CUcontext context;
    CUstream stream;
    CUresult end;
    CUresult alloc;
};

static void *other_thread(void *user)
{
    struct other *o = user;
    CUdeviceptr p;
    CUgraph graph;

    OK(cuCtxSetCurrent(o->context));
    o->end = cuStreamEndCapture(o->stream, &graph);
    o->alloc = cuMemAlloc_v2(&p, 4);
    return NULL;
}

/* A capture of one thread's own lets others allocate, but not end it. */
static void threads(CUcontext context)
{
    struct other o = {context, new_stream(), 0, -1};
    pthread_t thread;
    CUgraph graph;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

    OK(cuStreamBeginCapture_v2(o.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    pthread_create(&thread, NULL, other_thread, &o);
    pthread_join(thread, NULL);
    CHECK_EQ_INT(o.end, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    CHECK_EQ_INT(o.alloc, CUDA_SUCCESS);
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    CHECK_EQ_INT(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    OK(cuCtxSynchronize()); /* this thread takes the risk */
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    OK(cuStreamEndCapture(o.stream, &graph));
    OK(cuGraphDestroy(graph));
}

/* Into a graph that is there, after a node of it; events that are the program's, not the capture's.
 */
static void into_a_graph(void)
{
    CUstream stream = new_stream();
    CUgraph graph, same;
    CUgraphNode first, nodes[4];
    CUgraphNodeType type;
    CUevent event;
    size_t count = 4;

    OK(cuEventCreate(&event, 0));
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddEmptyNode(&first, graph, NULL, 0));
    OK(cuStreamBeginCaptureToGraph(stream, graph, &first, NULL, 1, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL));
    OK(cuStreamEndCapture(stream, &same));
    CHECK(same == graph);
    OK(cuGraphGetNodes(graph, nodes, &count));
    CHECK_EQ_INT(count, 2);
    OK(cuGraphNodeGetType(nodes[1], &type));
    CHECK_EQ_INT(type, CU_GRAPH_NODE_TYPE_EVENT_RECORD);
    OK(cuGraphNodeGetDependencies(nodes[1], nodes, &count));
    CHECK(count == 1 && nodes[0] == first);
    /* The graph need not be asked for: the program has given it. */
    OK(cuStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuStreamEndCapture(stream, NULL));
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    FAILS(cuStreamEndCapture(stream, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamEndCapture(stream, &same));
    OK(cuGraphDestroy(same));
    OK(cuGraphDestroy(graph));
    OK(cuStreamDestroy_v2(stream));
}

/* A stream that the first one has waited for may be destroyed before the end; one that it has not
 * waited for may not. */
static void streams_go(void)
{
    for (int is_joined = 0; is_joined < 2; is_joined++) {
        CUstream first = new_stream(), other = new_stream();
        CUgraph graph = NULL;
        CUevent fork, join;
        CUdeviceptr p;

        OK(cuMemAlloc_v2(&p, 8));
        OK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
        OK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
        OK(cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_GLOBAL));
        send_store(first, p, 1);
        OK(cuEventRecord(fork, first));
        OK(cuStreamWaitEvent(other, fork, 0));
        send_store(other, p, 2);
        OK(cuEventRecord(join, other));
        if (is_joined)
            OK(cuStreamWaitEvent(first, join, 0));
        OK(cuStreamDestroy_v2(other));
        FAILS(cuStreamEndCapture(first, &graph),
              is_joined ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        if (is_joined)
            OK(cuGraphDestroy(graph));
        OK(cuEventDestroy_v2(fork));
        OK(cuEventDestroy_v2(join));
        OK(cuStreamDestroy_v2(first));
        OK(cuMemFree_v2(p));
    }
}

int main(void)
{
    CUcontext context = test_context();
    CUmodule module;

    OK(cuModuleLoadData(&module, PTX_HEAD PTX_STORE));
    OK(cuModuleGetFunction(&store, module, "store"));
    one_stream();
    two_streams();
    forbidden();
    threads(context);
    into_a_graph();
    streams_go();
    OK(cuCtxDestroy_v2(context));
    return check_result();
}
