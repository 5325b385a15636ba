/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that wait for the GPU: for all of a context, or for what a stream was given before.
 */
#include "api/cuda/source/context.h"

#include "api/cuda/cuda_hooks.h"
#include "api/cuda/source/emu_times.h"

void cuda_context_synchronised(CUcontext raw)
{
    struct cuda_context *context = raw ? cuda_context_of(raw) : cuda_context_current();

    if (context) {
        tsm_lock_take(&context->lock);
        for (struct cuda_context_stream *entry = context->streams; entry; entry = entry->next)
            tsm_synchronised(SBT_API_CUDA, entry->stream);
        for (struct cuda_context_stream *entry = context->destroyed; entry; entry = entry->next)
            tsm_synchronised(SBT_API_CUDA, entry->stream);
        cuda_context_forget_destroyed(context);
        tsm_lock_give(&context->lock);
    }
    cuda_checksum_sync(context ? context->legacy : NULL);
    tsm_checkpoint_point(true);
}

/* ---- commands that wait -------------------------------------------------------------------------
 */

/* Tests whether a wait is allowed. Returns false if the stream is captured, or is the legacy one
 * and another stream is captured: a call that waits would fail at once. */
static bool may_wait_for(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

    return real.cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
           status == CU_STREAM_CAPTURE_STATUS_NONE;
}

/* Waits for the stream, so that no kernel writes a page while it is read, and records what changed.
 * Ignores errors: the call that follows gets them. */
static void settle(void *stream)
{
    tsm_values_publish();
    cuda_aside_begin();
    real.cuStreamSynchronize(stream);
    cuda_aside_end();
    cuda_publish();
}

void cuda_on_synchronized_stream(struct tsm_call *call, CUstream raw, bool per_thread)
{
    const CUstream stream = raw ? raw : per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
    struct tsm_stream *known = cuda_stream(stream);

    if (known && may_wait_for(stream)) {
        tsm_call_on_synchronized_stream(call, known, settle, stream);
        return;
    }
    cuda_publish();
    cuda_on_stream(call, raw, per_thread, NULL, TSM_SENDS_AND_BLOCKS);
}
