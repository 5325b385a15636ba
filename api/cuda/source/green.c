/* SPDX-License-Identifier: Apache-2.0
 *
 * Green contexts, and what is said to all streams of a context at once: an event behind them, or a
 * wait before what comes. In a trace such a call is on a stream of ours that has nothing else; its
 * record says that its place among all commands matters.
 *
 * A part of a device's resources is a value that the program copies as it likes. It counts as an
 * object whose handle is the hash of its bytes.
 */
#include "api/cuda/source/context.h"

#include "api/cuda/cuda_hooks.h"
#include "base/hash.h"

/* ---- parts of resources -------------------------------------------------------------------------
 */

static uint64_t part_id(const CUdevResource *part, bool is_made)
{
    const uint64_t key = tsm_hash64(part, sizeof(*part));

    return is_made ? cuda_id_shared(CUDA_OBJECT_RESOURCE, key, 0, NULL)
                   : cuda_id_if_known(CUDA_OBJECT_RESOURCE, key);
}

static unsigned sm_count(const CUdevResource *part)
{
    return part->type == CU_DEV_RESOURCE_TYPE_SM ? part->sm.smCount : 0;
}

/* The ids of several, as a list. */
static void append_parts(struct tsm_call *call, const CUdevResource *parts, unsigned count,
                         bool is_made)
{
    uint32_t *ids = count && count <= TSM_BYTES_MAX / sizeof(*ids)
                        ? tsm_call_scratch(call, count * sizeof(*ids))
                        : NULL;

    for (unsigned i = 0; ids && i < count; i++)
        ids[i] = (uint32_t)part_id(&parts[i], is_made);
    tsm_call_bytes(call, ids, ids ? count * sizeof(*ids) : 0);
}

void cuda_after_resource(struct tsm_call *call, bool ok, const CUdevResource *resource)
{
    tsm_call_slot(call, ok ? part_id(resource, true) : 0);
    tsm_call_slot(call, ok ? sm_count(resource) : 0);
}

void cuda_after_split(struct tsm_call *call, bool ok, const CUdevResource *parts,
                      const unsigned int *count, const CUdevResource *input,
                      const CUdevResource *rest)
{
    const unsigned made = ok && parts ? *count : 0;
    const bool has_rest = ok && parts && rest && sm_count(rest);

    tsm_call_slot(call, ok ? part_id(input, false) : 0);
    append_parts(call, parts, made, true);
    tsm_call_slot(call, made ? sm_count(parts) : 0);
    tsm_call_slot(call, has_rest ? part_id(rest, true) : 0);
    tsm_call_slot(call, has_rest ? sm_count(rest) : 0);
}

void cuda_after_partition(struct tsm_call *call, bool ok, const CUdevResource *parts,
                          unsigned int count)
{
    append_parts(call, parts, ok ? count : 0, false);
}

/* ---- green contexts -----------------------------------------------------------------------------
 */

/* NULL: made before capture began, or no memory. */
static struct cuda_green *green_of(CUgreenCtx raw)
{
    const struct tsm_handle *handle =
        raw ? tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_GREEN, CUDA_SLOT(raw)) : NULL;

    return handle ? __atomic_load_n(&handle->user, __ATOMIC_ACQUIRE) : NULL;
}

/* The program need not ask for the context; its streams belong there. */
static void record_context(CUcontext context, CUgreenCtx green)
{
    struct tsm_call call;

    if (!tsm_call_begin(&call, TYPE_cuCtxFromGreenCtx))
        return;
    tsm_call_returned(&call, CUDA_SUCCESS, false);
    tsm_call_slot(&call, cuda_id_shared(CUDA_OBJECT_CONTEXT, CUDA_SLOT(context), 0, NULL));
    tsm_call_slot(&call, cuda_id(CUDA_OBJECT_GREEN, CUDA_SLOT(green)));
    tsm_call_slot(&call, (uint64_t)(int64_t)cuda_green_device(green));
    tsm_call_slot(&call, cuda_green_context(context, green));
    tsm_call_commit(&call);
}

void cuda_green_created(CUgreenCtx raw, CUdevice device)
{
    struct tsm_handle *handle = tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_GREEN, CUDA_SLOT(raw));
    struct cuda_green *green = handle ? cuda_keep(sizeof(*green)) : NULL;
    CUcontext context = NULL;
    CUresult result;

    if (!green)
        return;
    green->device = device;
    __atomic_store_n(&handle->user, green, __ATOMIC_RELEASE);
    tsm_inside_enter();
    result = real.cuCtxFromGreenCtx(&context, raw);
    tsm_inside_leave();
    if (result == CUDA_SUCCESS)
        record_context(context, raw);
}

int cuda_green_device(CUgreenCtx raw)
{
    const struct cuda_green *green = green_of(raw);

    return green ? green->device : 0;
}

uint32_t cuda_green_context(CUcontext raw, CUgreenCtx of)
{
    struct cuda_green *green = of ? green_of(of) : NULL;
    struct cuda_context *context = cuda_context_of(raw);

    if (green)
        green->context = context;
    return cuda_primary_created(raw, cuda_green_device(of));
}

/* It held its device's primary context. */
void cuda_after_green_destroyed(struct tsm_call *call, bool ok, CUgreenCtx raw)
{
    const struct cuda_green *green = ok ? green_of(raw) : NULL;

    if (green)
        cuda_after_primary_released(call, true, green->device);
}

void cuda_after_green_stream(struct tsm_call *call, bool ok, const CUstream *stream, CUgreenCtx raw,
                             unsigned int flags)
{
    const struct cuda_green *green = ok ? green_of(raw) : NULL;
    struct cuda_context *context = green ? green->context : NULL;

    tsm_call_slot(call, context ? context->id : 0);
    tsm_call_slot(call,
                  ok ? cuda_stream_created_in(*stream, flags, context, green) : SBT_STREAM_NONE);
}

/* ---- all streams at once ------------------------------------------------------------------------
 */

/* A context, or the green one in it, whose streams a call means. */
struct whole {
    struct cuda_context *context; /* NULL: not known */
    const struct cuda_green *green;
    struct cuda_streams_at_once *own;
};

static struct whole whole_of_context(CUcontext raw)
{
    struct cuda_context *context = raw ? cuda_context_of(raw) : cuda_context_current();

    return (struct whole){context, NULL, context ? &context->at_once : NULL};
}

static struct whole whole_of_green(CUgreenCtx raw)
{
    struct cuda_green *green = green_of(raw);

    return (struct whole){green ? green->context : NULL, green, green ? &green->at_once : NULL};
}

/* Returns a stream of ours; of two threads that make it at once the second drops its own. */
static struct tsm_stream *own_stream(struct tsm_stream **place)
{
    struct tsm_stream *there = __atomic_load_n(place, __ATOMIC_ACQUIRE), *made;

    if (there)
        return there;
    made = tsm_stream_create(SBT_API_CUDA);
    if (__atomic_compare_exchange_n(place, &there, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return made;
    tsm_stream_forget(made);
    return there;
}

static bool has(const struct whole *w, const struct cuda_context_stream *entry)
{
    return !w->green || entry->green == w->green;
}

/* Has what was sent to the streams so far come before the next command of `stream`. */
static void gather(const struct whole *w, struct tsm_stream *stream)
{
    tsm_lock_take(&w->context->lock);
    for (struct cuda_context_stream *entry = w->context->streams; entry; entry = entry->next) {
        struct tsm_handle at = {.stream = NULL};
        if (!has(w, entry))
            continue;
        tsm_handle_stands(&at, entry->stream, tsm_stream_accepted(entry->stream), NULL);
        tsm_stream_waits(stream, &at);
    }
    tsm_lock_give(&w->context->lock);
}

static void spread(const struct whole *w, const struct tsm_handle *event)
{
    tsm_lock_take(&w->context->lock);
    for (struct cuda_context_stream *entry = w->context->streams; entry; entry = entry->next)
        if (has(w, entry))
            tsm_stream_waits(entry->stream, event);
    tsm_lock_give(&w->context->lock);
}

static void signal_begin(struct tsm_call *call, const struct whole *w)
{
    struct tsm_stream *stream = w->own ? own_stream(&w->own->signals) : NULL;

    tsm_hostmem_publish();
    if (stream && w->context)
        gather(w, stream);
    tsm_call_on_stream(call, stream, TSM_ENQUEUES);
}

static void end(struct tsm_call *call, enum cuda_object object, const void *of, CUevent event,
                bool ok)
{
    tsm_call_slot(call, cuda_id(object, CUDA_SLOT(of)));
    tsm_call_slot(call, cuda_id(CUDA_OBJECT_EVENT, CUDA_SLOT(event)));
    if (ok)
        tsm_call_flag(call, SBT_RECORD_ORDERED);
}

CUresult hook_cuCtxRecordEvent(CUcontext hCtx, CUevent hEvent)
{
    struct tsm_call call;
    CUresult returned;
    struct whole w;

    if (!tsm_call_begin(&call, TYPE_cuCtxRecordEvent))
        return real.cuCtxRecordEvent(hCtx, hEvent);
    w = whole_of_context(hCtx);
    signal_begin(&call, &w);
    returned = real.cuCtxRecordEvent(hCtx, hEvent);
    tsm_call_returned(&call, returned, returned != CUDA_SUCCESS);
    end(&call, CUDA_OBJECT_CONTEXT, hCtx, hEvent, returned == CUDA_SUCCESS);
    if (returned == CUDA_SUCCESS)
        cuda_signalled(&call, hEvent);
    tsm_call_commit(&call);
    return returned;
}

CUresult hook_cuGreenCtxRecordEvent(CUgreenCtx hCtx, CUevent hEvent)
{
    struct tsm_call call;
    CUresult returned;
    struct whole w;

    if (!tsm_call_begin(&call, TYPE_cuGreenCtxRecordEvent))
        return real.cuGreenCtxRecordEvent(hCtx, hEvent);
    w = whole_of_green(hCtx);
    signal_begin(&call, &w);
    returned = real.cuGreenCtxRecordEvent(hCtx, hEvent);
    tsm_call_returned(&call, returned, returned != CUDA_SUCCESS);
    end(&call, CUDA_OBJECT_GREEN, hCtx, hEvent, returned == CUDA_SUCCESS);
    if (returned == CUDA_SUCCESS)
        cuda_signalled(&call, hEvent);
    tsm_call_commit(&call);
    return returned;
}

static void wait_begin(struct tsm_call *call, const struct whole *w)
{
    tsm_hostmem_publish();
    tsm_call_on_stream(call, w->own ? own_stream(&w->own->waits) : NULL, TSM_ENQUEUES);
}

static void wait_end(struct tsm_call *call, const struct whole *w, const struct tsm_handle *event)
{
    cuda_waits(call, event);
    if (w->context && event->raw)
        spread(w, event);
}

CUresult hook_cuCtxWaitEvent(CUcontext hCtx, CUevent hEvent)
{
    struct tsm_handle event;
    struct tsm_call call;
    CUresult returned;
    struct whole w;

    if (!tsm_call_begin(&call, TYPE_cuCtxWaitEvent))
        return real.cuCtxWaitEvent(hCtx, hEvent);
    w = whole_of_context(hCtx);
    event = cuda_event_now(hEvent);
    wait_begin(&call, &w);
    returned = real.cuCtxWaitEvent(hCtx, hEvent);
    tsm_call_returned(&call, returned, returned != CUDA_SUCCESS);
    end(&call, CUDA_OBJECT_CONTEXT, hCtx, hEvent, returned == CUDA_SUCCESS);
    if (returned == CUDA_SUCCESS)
        wait_end(&call, &w, &event);
    tsm_call_commit(&call);
    return returned;
}

CUresult hook_cuGreenCtxWaitEvent(CUgreenCtx hCtx, CUevent hEvent)
{
    struct tsm_handle event;
    struct tsm_call call;
    CUresult returned;
    struct whole w;

    if (!tsm_call_begin(&call, TYPE_cuGreenCtxWaitEvent))
        return real.cuGreenCtxWaitEvent(hCtx, hEvent);
    w = whole_of_green(hCtx);
    event = cuda_event_now(hEvent);
    wait_begin(&call, &w);
    returned = real.cuGreenCtxWaitEvent(hCtx, hEvent);
    tsm_call_returned(&call, returned, returned != CUDA_SUCCESS);
    end(&call, CUDA_OBJECT_GREEN, hCtx, hEvent, returned == CUDA_SUCCESS);
    if (returned == CUDA_SUCCESS)
        wait_end(&call, &w, &event);
    tsm_call_commit(&call);
    return returned;
}
