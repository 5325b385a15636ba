/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers questions about a capture and changes its dependencies.
 */
#include <stdlib.h>

#include "base/array.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/core/object.h"
#include "emu/cuda/graph/capture_state.h"
#include "emu/cuda/graph/graph.h"
#include "emu/cuda/stream/stream.h"

/* ---- questions ---- */

/* Output of the forms of cuStreamGetCaptureInfo(); any member may be NULL. */
struct info {
    CUstreamCaptureStatus *status;
    cuuint64_t *id;
    CUgraph *graph;
    const CUgraphNode **after;
    const CUgraphEdgeData **data;
    size_t *count;
};

/* The arrays live until the next call on the capture. */
static CUresult tell_after(struct emu_capture *c, const struct emu_edges *after,
                           const struct info *out)
{
    if (!TSM_ARRAY_RESIZE(c->told, after->count) || !TSM_ARRAY_RESIZE(c->told_data, after->count))
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < after->count; i++) {
        c->told[i] = after->items[i].node;
        c->told_data[i] = after->items[i].data;
    }
    if (out->after)
        *out->after = c->told;
    if (out->data)
        *out->data = c->told_data;
    if (out->count)
        *out->count = after->count;
    return CUDA_SUCCESS;
}

static CUresult tell(CUstream stream, const struct info *out)
{
    struct emu_capture *c = stream->capture;

    *out->status = !c             ? CU_STREAM_CAPTURE_STATUS_NONE
                   : c->is_broken ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                  : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (!c || c->is_broken)
        return CUDA_SUCCESS;
    if (out->id)
        *out->id = c->id;
    if (out->graph)
        *out->graph = c->graph;
    return tell_after(c, stream->captured, out);
}

static bool is_in_implicit_capture(CUstream stream)
{
    for (struct emu_capture *c = emu_captures; c; c = c->next)
        for (size_t i = 0; i < c->stream_count; i++)
            if (c->streams[i]->context == stream->context &&
                !(c->streams[i]->flags & CU_STREAM_NON_BLOCKING))
                return true;
    return false;
}

static CUresult get_info(CUstream handle, struct info out, bool per_thread)
{
    CUstream stream;
    CUresult result = emu_stream_enter(&stream, handle, per_thread);

    if (!result && !out.status)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    pthread_mutex_lock(&emu_captures_lock);
    result = stream->is_legacy && is_in_implicit_capture(stream)
                 ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
                 : tell(stream, &out);
    pthread_mutex_unlock(&emu_captures_lock);
    return result;
}

CUresult cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus *captureStatus)
{
    return get_info(hStream, (struct info){.status = captureStatus}, false);
}

CUresult cuStreamIsCapturing_ptsz(CUstream hStream, CUstreamCaptureStatus *captureStatus)
{
    return get_info(hStream, (struct info){.status = captureStatus}, true);
}

CUresult cuStreamGetCaptureInfo(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                cuuint64_t *id_out)
{
    return get_info(hStream, (struct info){captureStatus_out, id_out, 0, 0, 0, 0}, false);
}

CUresult cuStreamGetCaptureInfo_ptsz(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                     cuuint64_t *id_out)
{
    return get_info(hStream, (struct info){captureStatus_out, id_out, 0, 0, 0, 0}, true);
}

CUresult cuStreamGetCaptureInfo_v2(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                   cuuint64_t *id_out, CUgraph *graph_out,
                                   const CUgraphNode **dependencies_out,
                                   size_t *numDependencies_out)
{
    struct info out = {captureStatus_out, id_out, graph_out,
                       dependencies_out,  NULL,   numDependencies_out};

    return get_info(hStream, out, false);
}

CUresult cuStreamGetCaptureInfo_v2_ptsz(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                        cuuint64_t *id_out, CUgraph *graph_out,
                                        const CUgraphNode **dependencies_out,
                                        size_t *numDependencies_out)
{
    struct info out = {captureStatus_out, id_out, graph_out,
                       dependencies_out,  NULL,   numDependencies_out};

    return get_info(hStream, out, true);
}

CUresult cuStreamGetCaptureInfo_v3(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                   cuuint64_t *id_out, CUgraph *graph_out,
                                   const CUgraphNode **dependencies_out,
                                   const CUgraphEdgeData **edgeData_out,
                                   size_t *numDependencies_out)
{
    struct info out = {captureStatus_out, id_out,       graph_out,
                       dependencies_out,  edgeData_out, numDependencies_out};

    return get_info(hStream, out, false);
}

CUresult cuStreamGetCaptureInfo_v3_ptsz(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                        cuuint64_t *id_out, CUgraph *graph_out,
                                        const CUgraphNode **dependencies_out,
                                        const CUgraphEdgeData **edgeData_out,
                                        size_t *numDependencies_out)
{
    struct info out = {captureStatus_out, id_out,       graph_out,
                       dependencies_out,  edgeData_out, numDependencies_out};

    return get_info(hStream, out, true);
}

/* ---- changing what comes next ---- */

static CUresult update_locked(CUstream stream, const CUgraphNode *after,
                              const CUgraphEdgeData *data, size_t count, unsigned flags)
{
    struct emu_capture *c = stream->capture;

    if (!c)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (c->is_broken)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    for (size_t i = 0; i < count; i++)
        if (!emu_object_is(EMU_GRAPH_NODE, after[i]) || after[i]->graph != c->graph)
            return CUDA_ERROR_INVALID_VALUE;
    if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
        stream->captured->count = 0;
    for (size_t i = 0; i < count; i++)
        if (!emu_edges_add(stream->captured, after[i], data ? &data[i] : NULL))
            return CUDA_ERROR_OUT_OF_MEMORY;
    return CUDA_SUCCESS;
}

static CUresult update(CUstream handle, const CUgraphNode *after, const CUgraphEdgeData *data,
                       size_t count, unsigned flags, bool per_thread)
{
    CUstream stream;
    CUresult result = emu_stream_enter(&stream, handle, per_thread);

    if (!result && ((count && !after) || flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    pthread_mutex_lock(&emu_captures_lock);
    result = update_locked(stream, after, data, count, flags);
    pthread_mutex_unlock(&emu_captures_lock);
    return result;
}

CUresult cuStreamUpdateCaptureDependencies(CUstream hStream, CUgraphNode *dependencies,
                                           size_t numDependencies, unsigned int flags)
{
    return update(hStream, dependencies, NULL, numDependencies, flags, false);
}

CUresult cuStreamUpdateCaptureDependencies_ptsz(CUstream hStream, CUgraphNode *dependencies,
                                                size_t numDependencies, unsigned int flags)
{
    return update(hStream, dependencies, NULL, numDependencies, flags, true);
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream hStream, CUgraphNode *dependencies,
                                              const CUgraphEdgeData *dependencyData,
                                              size_t numDependencies, unsigned int flags)
{
    return update(hStream, dependencies, dependencyData, numDependencies, flags, false);
}

CUresult cuStreamUpdateCaptureDependencies_v2_ptsz(CUstream hStream, CUgraphNode *dependencies,
                                                   const CUgraphEdgeData *dependencyData,
                                                   size_t numDependencies, unsigned int flags)
{
    return update(hStream, dependencies, dependencyData, numDependencies, flags, true);
}
