/* SPDX-License-Identifier: Apache-2.0
 *
 * The entry points of streams. What runs when is emu/cuda/stream/schedule.c's.
 */
#include "emu/cuda/stream/stream.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "emu/cuda/core/context.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/core/object.h"
#include "emu/cuda/graph/capture.h"
#include "emu/cuda/memory/pool.h"
#include "emu/cuda/stream/event.h"

/* ---- life ---- */

int emu_priority(int wanted)
{
    return wanted > 0 ? 0 : wanted < EMU_PRIORITY_GREATEST ? EMU_PRIORITY_GREATEST : wanted;
}

CUresult cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags, int priority)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (result)
        return result;
    if (!phStream || flags & ~(unsigned)CU_STREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_VALUE;
    return emu_stream_create(phStream, context, flags, emu_priority(priority), false, 0);
}

CUresult cuStreamCreate(CUstream *phStream, unsigned int Flags)
{
    return cuStreamCreateWithPriority(phStream, Flags, 0);
}

CUresult cuStreamDestroy_v2(CUstream hStream)
{
    CUresult result = emu_ready();

    if (!result && (!emu_object_is(EMU_STREAM, hStream) || hStream->is_legacy || hStream->thread))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (!result && hStream->green && !emu_object_is(EMU_GREEN, hStream->green))
        result = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (!result) {
        emu_capture_forget(hStream);
        emu_stream_destroy(hStream);
    }
    return result;
}

CUresult cuStreamDestroy(CUstream hStream)
{
    return cuStreamDestroy_v2(hStream);
}

/* ---- waiting ---- */

static CUresult query(CUstream handle, bool per_thread)
{
    CUstream stream;
    CUresult result = emu_stream_enter(&stream, handle, per_thread);

    if (!result)
        result = emu_capture_forbid(stream);
    if (result)
        return result;
    emu_query();
    if (!emu_stream_is_idle(stream))
        return CUDA_ERROR_NOT_READY;
    return emu_context_error(stream->context);
}

static CUresult synchronize(CUstream handle, bool per_thread)
{
    CUstream stream;
    CUresult result = emu_stream_enter(&stream, handle, per_thread);

    if (!result)
        result = emu_capture_forbid(stream);
    if (!result)
        result = emu_stream_synchronize(stream);
    if (!result)
        emu_pool_release(stream->context, stream);
    return result;
}

static CUresult wait_event(CUstream handle, CUevent event, unsigned flags, bool per_thread)
{
    CUstream stream;
    CUresult result = emu_stream_enter(&stream, handle, per_thread);

    if (!result && !emu_object_is(EMU_EVENT, event))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (!result && flags & ~1u)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result || emu_event_wait_captured(&result, event, stream, flags))
        return result;
    return emu_event_wait(event, stream);
}

CUresult cuStreamQuery(CUstream hStream)
{
    return query(hStream, false);
}

CUresult cuStreamQuery_ptsz(CUstream hStream)
{
    return query(hStream, true);
}

CUresult cuStreamSynchronize(CUstream hStream)
{
    return synchronize(hStream, false);
}

CUresult cuStreamSynchronize_ptsz(CUstream hStream)
{
    return synchronize(hStream, true);
}

CUresult cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
    return wait_event(hStream, hEvent, Flags, false);
}

CUresult cuStreamWaitEvent_ptsz(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
    return wait_event(hStream, hEvent, Flags, true);
}

static CUresult wait_in(CUstream stream, void *event)
{
    return emu_event_wait(event, stream);
}

/* All that is sent to the context from now on waits: a mark in each of its streams. */
CUresult cuCtxWaitEvent(CUcontext hCtx, CUevent hEvent)
{
    CUcontext context;
    CUresult result = emu_context_resolve(&context, hCtx);

    if (!result && !emu_object_is(EMU_EVENT, hEvent))
        result = CUDA_ERROR_INVALID_HANDLE;
    return result ? result : emu_stream_each(context, wait_in, hEvent);
}

/* ---- what a program asks of a stream ---- */

/* The stream that is asked about; the answer must have a place. */
static CUresult asked(CUstream *stream, CUstream handle, const void *out, bool per_thread)
{
    CUresult result = emu_stream_enter(stream, handle, per_thread);

    return !result && !out ? CUDA_ERROR_INVALID_VALUE : result;
}

static CUresult get_priority(CUstream handle, int *out, bool per_thread)
{
    CUstream stream;
    CUresult result = asked(&stream, handle, out, per_thread);

    if (!result)
        *out = stream->priority;
    return result;
}

static CUresult get_flags(CUstream handle, unsigned *out, bool per_thread)
{
    CUstream stream;
    CUresult result = asked(&stream, handle, out, per_thread);

    if (!result)
        *out = stream->flags;
    return result;
}

static CUresult get_id(CUstream handle, unsigned long long *out, bool per_thread)
{
    CUstream stream;
    CUresult result = asked(&stream, handle, out, per_thread);

    if (!result)
        *out = stream->id;
    return result;
}

static CUresult get_context(CUstream handle, CUcontext *out, bool per_thread)
{
    CUstream stream;
    CUresult result = asked(&stream, handle, out, per_thread);

    if (!result)
        *out = stream->context;
    return result;
}

static CUresult get_device(CUstream handle, CUdevice *out, bool per_thread)
{
    CUstream stream;
    CUresult result = asked(&stream, handle, out, per_thread);

    if (!result)
        *out = stream->context->device;
    return result;
}

CUresult cuStreamGetPriority(CUstream hStream, int *priority)
{
    return get_priority(hStream, priority, false);
}

CUresult cuStreamGetPriority_ptsz(CUstream hStream, int *priority)
{
    return get_priority(hStream, priority, true);
}

CUresult cuStreamGetFlags(CUstream hStream, unsigned int *flags)
{
    return get_flags(hStream, flags, false);
}

CUresult cuStreamGetFlags_ptsz(CUstream hStream, unsigned int *flags)
{
    return get_flags(hStream, flags, true);
}

CUresult cuStreamGetId(CUstream hStream, unsigned long long *streamId)
{
    return get_id(hStream, streamId, false);
}

CUresult cuStreamGetId_ptsz(CUstream hStream, unsigned long long *streamId)
{
    return get_id(hStream, streamId, true);
}

CUresult cuStreamGetCtx(CUstream hStream, CUcontext *pctx)
{
    return get_context(hStream, pctx, false);
}

CUresult cuStreamGetCtx_ptsz(CUstream hStream, CUcontext *pctx)
{
    return get_context(hStream, pctx, true);
}

/* No stream belongs to a green context here. */
CUresult cuStreamGetCtx_v2(CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx)
{
    if (pGreenCtx)
        *pGreenCtx = NULL;
    return get_context(hStream, pCtx, false);
}

CUresult cuStreamGetCtx_v2_ptsz(CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx)
{
    if (pGreenCtx)
        *pGreenCtx = NULL;
    return get_context(hStream, pCtx, true);
}

CUresult cuStreamGetDevice(CUstream hStream, CUdevice *device)
{
    return get_device(hStream, device, false);
}

CUresult cuStreamGetDevice_ptsz(CUstream hStream, CUdevice *device)
{
    return get_device(hStream, device, true);
}
