/* SPDX-License-Identifier: Apache-2.0
 *
 * Replay of stream capture. What was captured is captured again, call by call, all from one thread,
 * in the mode that forbids nothing: other threads of the replay go on meanwhile.
 */
#include "api/cuda/replay/state.h"

#include <stdlib.h>

static int begun(struct cuda_args *args, CUresult result)
{
    args->replay->capture_count += result == CUDA_SUCCESS;
    return cuda_args_end(args, result);
}

static int begin(struct cuda_replay *replay, const struct sbt_record *record, uint32_t slot)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, slot + 1);
    CUstream stream = cuda_arg_stream_number(&args, slot);
    if (args.error || cuda_args_end(&args, cuda_legacy_mark(replay)))
        return args.error;
    return begun(&args,
                 args.driver->cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
}

int replay_cuStreamBeginCapture(struct cuda_replay *replay, const struct sbt_record *record)
{
    return begin(replay, record, SLOT_cuStreamBeginCapture_hStream);
}

int replay_cuStreamBeginCapture_v2(struct cuda_replay *replay, const struct sbt_record *record)
{
    return begin(replay, record, SLOT_cuStreamBeginCapture_v2_hStream);
}

int replay_cuStreamBeginCaptureToGraph(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    CUgraphNode *nodes;
    size_t count;

#define AT(name) SLOT_cuStreamBeginCaptureToGraph_##name
    cuda_args_begin(&args, replay, record, AT(edges) + 1);
    CUstream stream = cuda_arg_stream_number(&args, AT(hStream));
    CUgraph graph = cuda_arg_handle(&args, AT(hGraph), CUDA_OBJECT_GRAPH);
    const CUgraphEdgeData *edges = cuda_arg_bytes(&args, AT(edges), 0);
#undef AT
    nodes = cuda_nodes_read(&args, SLOT_cuStreamBeginCaptureToGraph_dependencies, &count);
    if (!args.error && !cuda_args_end(&args, cuda_legacy_mark(replay)))
        begun(&args, args.driver->cuStreamBeginCaptureToGraph(stream, graph, nodes, edges, count,
                                                              CU_STREAM_CAPTURE_MODE_RELAXED));
    free(nodes);
    return args.error;
}

/* A capture that the recorded program broke is not broken here; it ends all the same. */
int replay_cuStreamEndCapture(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    CUgraph graph = NULL;
    CUresult result;

    cuda_args_begin(&args, replay, record, SLOT_cuStreamEndCapture_phGraph + 1);
    CUstream stream = cuda_arg_stream_number(&args, SLOT_cuStreamEndCapture_hStream);
    uint64_t id = cuda_arg(&args, SLOT_cuStreamEndCapture_phGraph);
    if (args.error)
        return args.error;
    result = args.driver->cuStreamEndCapture(stream, &graph);
    replay->capture_count -= replay->capture_count > 0;
    if (!id) {
        if (result == CUDA_SUCCESS && graph)
            args.driver->cuGraphDestroy(graph);
        return 0;
    }
    if (result == CUDA_SUCCESS)
        cuda_arg_created(&args, SLOT_cuStreamEndCapture_phGraph, CUDA_OBJECT_GRAPH, graph);
    return cuda_args_end(&args, result);
}

/* ---- a capture's graph -------------------------------------------------------------------- */

int replay_cuStreamGetCaptureInfo_v2(struct cuda_replay *replay, const struct sbt_record *record)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    struct cuda_args args;
    CUgraph graph = NULL;
    CUresult result;

    cuda_args_begin(&args, replay, record, SLOT_cuStreamGetCaptureInfo_v2_graph + 1);
    CUstream stream = cuda_arg_stream_number(&args, SLOT_cuStreamGetCaptureInfo_v2_hStream);
    if (args.error || !cuda_arg(&args, SLOT_cuStreamGetCaptureInfo_v2_graph))
        return args.error;
    result = args.driver->cuStreamGetCaptureInfo_v2(stream, &status, NULL, &graph, NULL, NULL);
    if (result == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_ACTIVE)
        cuda_arg_created(&args, SLOT_cuStreamGetCaptureInfo_v2_graph, CUDA_OBJECT_GRAPH, graph);
    return cuda_args_end(&args, result);
}

int replay_cuStreamUpdateCaptureDependencies(struct cuda_replay *replay,
                                             const struct sbt_record *record)
{
    struct cuda_args args;
    CUgraphNode *nodes;
    CUresult result;
    size_t count, edge_size = 0;
    const uint8_t *edges = NULL;

#define AT(name) SLOT_cuStreamUpdateCaptureDependencies_##name
    cuda_args_begin(&args, replay, record, AT(edges) + 1);
    CUstream stream = cuda_arg_stream_number(&args, AT(hStream));
    unsigned flags = (unsigned)cuda_arg(&args, AT(flags));
    nodes = cuda_nodes_read(&args, AT(dependencies), &count);
    if (!args.error)
        sbt_record_bytes(record, AT(edges), &edges, &edge_size);
#undef AT
    if (!args.error && edge_size >= count * sizeof(CUgraphEdgeData) && edge_size)
        result = args.driver->cuStreamUpdateCaptureDependencies_v2(
            stream, nodes, (const CUgraphEdgeData *)(const void *)edges, count, flags);
    else if (!args.error)
        result = args.driver->cuStreamUpdateCaptureDependencies(stream, nodes, count, flags);
    if (!args.error)
        cuda_args_end(&args, result);
    free(nodes);
    return args.error;
}

int cuda_capture_empty(struct cuda_args *args, CUstream stream)
{
    const struct cuda_real *driver = args->driver;
    CUstreamCaptureStatus status;
    const CUgraphNode *after = NULL;
    CUgraph graph = NULL;
    CUgraphNode node;
    size_t count = 0;
    CUresult result;

    if (args->error)
        return args->error;
    result = driver->cuStreamGetCaptureInfo_v2(stream, &status, NULL, &graph, &after, &count);
    if (result == CUDA_SUCCESS)
        result = driver->cuGraphAddEmptyNode(&node, graph, after, count);
    if (result == CUDA_SUCCESS)
        result = driver->cuStreamUpdateCaptureDependencies(stream, &node, 1,
                                                           CU_STREAM_SET_CAPTURE_DEPENDENCIES);
    return cuda_args_end(args, result);
}
