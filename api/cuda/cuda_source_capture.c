/* SPDX-License-Identifier: Apache-2.0
 *
 * Stream capture: while a stream is captured, calls on it make a graph and nothing runs. They are
 * recorded as such (SBT_RECORD_CAPTURED) and replayed as calls on a stream that is captured.
 *
 * Whether a stream is captured only the driver knows: an event that was recorded in a capture draws
 * other streams into it. It is asked while any capture is known to run, and not otherwise.
 */
#include "api/cuda/cuda_source.h"

#include "api/cuda/cuda_encode.h"
#include "api/cuda/cuda_hooks.h"
#include "api/cuda/cuda_wrappers.h"

uint32_t cuda_captures_begun;

static CUstreamCaptureStatus status_of(CUstream stream, bool per_thread)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

    if (!stream && per_thread)
        stream = CU_STREAM_PER_THREAD;
    /* The legacy stream cannot be captured, and asking about it can fail. */
    if (!stream || stream == CU_STREAM_LEGACY ||
        real.cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS)
        return CU_STREAM_CAPTURE_STATUS_NONE;
    return status;
}

bool cuda_captures(CUstream stream, bool per_thread, CUevent event)
{
    const struct tsm_handle *handle =
        event ? tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_EVENT, CUDA_SLOT(event)) : NULL;

    return (handle && handle->user) ||
           status_of(stream, per_thread) != CU_STREAM_CAPTURE_STATUS_NONE;
}

void cuda_captures_forked(void)
{
    cuda_captures_begun = 0;
}

void cuda_capture_begun(void)
{
    __atomic_fetch_add(&cuda_captures_begun, 1, __ATOMIC_RELAXED);
}

/* ---- the end ------------------------------------------------------------------------------ */

/* A capture that went wrong ends, too, with an error and without a graph. */
static CUresult end(uint32_t type, CUresult (*real_end)(CUstream, CUgraph *), CUstream stream,
                    bool per_thread, CUgraph *graph)
{
    bool was = cuda_capture_runs() && status_of(stream, per_thread);
    struct tsm_call call;
    CUresult result;
    bool begun = tsm_call_begin(&call, type), ended;

    result = real_end(stream, graph);
    ended = result == CUDA_SUCCESS || (was && !status_of(stream, per_thread));
    if (ended && cuda_capture_runs())
        __atomic_fetch_sub(&cuda_captures_begun, 1, __ATOMIC_RELAXED);
    if (!begun)
        return result;
    tsm_call_returned(&call, result, !ended);
    tsm_call_slot(&call,
                  cuda_stream_slot(per_thread ? cuda_stream_ptsz(stream) : cuda_stream(stream)));
    tsm_call_slot(&call, result == CUDA_SUCCESS && *graph
                             ? cuda_id_shared(CUDA_OBJECT_GRAPH, CUDA_SLOT(*graph), NULL)
                             : 0);
    tsm_call_commit(&call);
    return result;
}

CUresult hook_cuStreamEndCapture(CUstream hStream, CUgraph *phGraph)
{
    return end(TYPE_cuStreamEndCapture, real.cuStreamEndCapture, hStream, false, phGraph);
}

CUresult hook_cuStreamEndCapture_ptsz(CUstream hStream, CUgraph *phGraph)
{
    return end(TYPE_cuStreamEndCapture_ptsz, real.cuStreamEndCapture_ptsz, hStream, true, phGraph);
}

/* ---- what a capture is -------------------------------------------------------------------- */

/* What is not captured has no graph: nothing was written there. */
static bool is_active(const CUstreamCaptureStatus *status)
{
    return status && *status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

void cuda_after_capture_told(struct tsm_call *call, bool ok, const CUstreamCaptureStatus *status,
                             const CUgraph *graph)
{
    bool told = ok && is_active(status) && graph;

    tsm_call_slot(call, told ? cuda_id_shared(CUDA_OBJECT_GRAPH, CUDA_SLOT(*graph), NULL) : 0);
}

void cuda_capture_told(const CUstreamCaptureStatus *status, const CUgraph *graph,
                       const CUgraphNode **nodes, const size_t *count)
{
    if (is_active(status) && graph && nodes && count)
        cuda_nodes_told(*graph, NULL, *nodes, *count);
}

/* ---- memory in a stream's order ----------------------------------------------------------- */

static bool flag_if_captured(struct tsm_call *call, bool ok, CUstream stream)
{
    if (!ok || !cuda_capture_runs())
        return false;
    /* The number of the stream is a field of the record. */
    if (status_of(stream, true) == CU_STREAM_CAPTURE_STATUS_NONE)
        return false;
    tsm_call_captured(call, cuda_stream_ptsz(stream));
    return true;
}

void cuda_after_alloc_async(struct tsm_call *call, bool ok, CUstream stream, CUdeviceptr start,
                            uint64_t size)
{
    if (!flag_if_captured(call, ok, stream))
        cuda_after_alloc(call, ok, start, size);
}

void cuda_after_free_async(struct tsm_call *call, bool ok, CUstream stream, CUdeviceptr start)
{
    if (!flag_if_captured(call, ok, stream))
        cuda_after_free(call, ok, start);
}
