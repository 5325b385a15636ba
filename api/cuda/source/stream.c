/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams as the program names them, and the default streams that nobody creates: one for each
 * context, and one for each context and thread that asks for it. A context's default stream is made
 * together with the context, so that the first stream of a process is number 0. The one of a thread
 * is made at its first use and has no creating record: a replayer that meets a stream number which
 * no record made takes an ordinary stream for it, which orders the same.
 */
#include "api/cuda/source/source.h"

#include "api/cuda/cuda_hooks.h"
#include "api/cuda/cuda_wrappers.h"
#include "api/cuda/source/encode.h"
#include "capture/lock.h"

/* State of a context: the `user` of its handle. The memory is never freed, so that others can ask
 * whether it is gone. */
struct cuda_context {
    struct cuda_context *next; /* of all in this process */
    CUcontext raw;
    uint32_t id;
    int device; /* whose primary context it is; -1: no primary one */
    bool is_gone;
    struct tsm_stream *legacy;
    struct tsm_lock lock;
    struct context_stream *streams;   /* live ones, the legacy one too */
    struct context_stream *destroyed; /* of which something is still awaited */
    struct context_stream *free;
};

/* The `user` of a stream's handle. */
struct context_stream {
    struct context_stream *next, *previous;
    struct cuda_context *context;
    struct tsm_stream *stream;
    uint64_t raw; /* 0: it has no handle */
    uint32_t id;
};

static _Atomic(struct cuda_context *) contexts;

/* A thread's own default streams. The memory is never freed: threads end without telling us. */
struct thread_stream {
    struct thread_stream *next;
    const struct cuda_context *context;
    struct tsm_stream *stream;
};

/* Streams of this thread, in the process that `process` counts: after a fork the parent's are no
 * longer ours. */
static _Thread_local struct {
    struct thread_stream *first;
    uint32_t process;
} thread_streams __attribute__((tls_model("initial-exec")));
static uint32_t processes; /* forks between the first process and this one */

void cuda_streams_forked(void)
{
    processes++;
    atomic_store(&contexts, NULL);
}

/* ---- contexts -----------------------------------------------------------------------------------
 */

/* The lock is held. */
static void link_stream(struct context_stream **list, struct context_stream *entry)
{
    entry->previous = NULL;
    entry->next = *list;
    if (*list)
        (*list)->previous = entry;
    *list = entry;
}

static void unlink_stream(struct context_stream **list, struct context_stream *entry)
{
    if (entry->next)
        entry->next->previous = entry->previous;
    if (entry->previous)
        entry->previous->next = entry->next;
    else
        *list = entry->next;
}

static struct context_stream *add_stream(struct cuda_context *context, struct tsm_stream *stream)
{
    struct context_stream *entry;

    tsm_lock_take(&context->lock);
    entry = context->free;
    if (entry)
        context->free = entry->next;
    else
        entry = cuda_keep(sizeof(*entry));
    if (entry) {
        *entry = (struct context_stream){.context = context, .stream = stream};
        link_stream(&context->streams, entry);
    }
    tsm_lock_give(&context->lock);
    return entry;
}

/* The lock is held. Of what was destroyed, what nothing is awaited of any more is forgotten. */
static void forget_destroyed(struct cuda_context *context)
{
    struct context_stream *next;

    for (struct context_stream *entry = context->destroyed; entry; entry = next) {
        next = entry->next;
        if (tsm_stream_is_awaited(entry->stream))
            continue;
        tsm_stream_forget(entry->stream);
        unlink_stream(&context->destroyed, entry);
        entry->next = context->free;
        context->free = entry;
    }
}

/* The lock is held. */
static void destroy_stream(struct cuda_context *context, struct context_stream *entry)
{
    unlink_stream(&context->streams, entry);
    link_stream(&context->destroyed, entry);
}

/* Two threads may meet a context at once; the one that comes second drops what it made. */
static struct cuda_context *make_context(struct tsm_handle *handle)
{
    struct cuda_context *context = cuda_keep(sizeof(*context));
    void *there = NULL;

    if (!context)
        return NULL;
    context->raw = (CUcontext)(uintptr_t)handle->raw;
    context->id = handle->id;
    context->device = -1;
    context->legacy = tsm_stream_create(SBT_API_CUDA);
    add_stream(context, context->legacy);
    if (!__atomic_compare_exchange_n(&handle->user, &there, context, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        return there;
    context->next = atomic_load(&contexts);
    while (!atomic_compare_exchange_weak(&contexts, &context->next, context))
        ;
    return context;
}

static struct tsm_handle *handle_of(enum cuda_object object, const void *raw)
{
    struct tsm_handle *handle = tsm_handle_find(SBT_API_CUDA, object, CUDA_SLOT(raw));

    if (handle)
        return handle;
    cuda_id(object, CUDA_SLOT(raw)); /* made before capture began: this says so */
    return tsm_handle_find(SBT_API_CUDA, object, CUDA_SLOT(raw));
}

static struct cuda_context *context_of(CUcontext raw)
{
    struct tsm_handle *handle = raw ? handle_of(CUDA_OBJECT_CONTEXT, raw) : NULL;
    struct cuda_context *context;

    if (!handle)
        return NULL;
    context = __atomic_load_n(&handle->user, __ATOMIC_ACQUIRE);
    return context ? context : make_context(handle);
}

struct cuda_context *cuda_context_current(void)
{
    CUcontext context = NULL;

    if (real.cuCtxGetCurrent(&context) != CUDA_SUCCESS)
        return NULL;
    return context_of(context);
}

uint32_t cuda_context_created(CUcontext raw)
{
    struct cuda_context *context = context_of(raw);

    return context ? tsm_stream_number(context->legacy) : SBT_STREAM_NONE;
}

uint32_t cuda_primary_created(CUcontext raw, CUdevice device)
{
    struct cuda_context *context = context_of(raw);

    if (context)
        context->device = device;
    return cuda_context_created(raw);
}

void cuda_context_synchronised(CUcontext raw)
{
    struct cuda_context *context = raw ? context_of(raw) : cuda_context_current();

    if (context) {
        tsm_lock_take(&context->lock);
        for (struct context_stream *entry = context->streams; entry; entry = entry->next)
            tsm_synchronised(SBT_API_CUDA, entry->stream);
        for (struct context_stream *entry = context->destroyed; entry; entry = entry->next)
            tsm_synchronised(SBT_API_CUDA, entry->stream);
        forget_destroyed(context);
        tsm_lock_give(&context->lock);
    }
    cuda_checksum_sync(context ? context->legacy : NULL);
    tsm_checkpoint_point(true);
}

/* ---- the end of contexts ------------------------------------------------------------------------
 */

bool cuda_context_enter(const struct cuda_context *context)
{
    return context && !__atomic_load_n(&context->is_gone, __ATOMIC_ACQUIRE) &&
           real.cuCtxPushCurrent_v2(context->raw) == CUDA_SUCCESS;
}

void cuda_context_leave(void)
{
    CUcontext context;

    real.cuCtxPopCurrent_v2(&context);
}

/* Marks everything created in the context as destroyed: no call of ours may name it again. */
static void gone(struct cuda_context *context)
{
    struct tsm_handle *handle =
        tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_CONTEXT, CUDA_SLOT(context->raw));
    void *there = context;

    __atomic_store_n(&context->is_gone, true, __ATOMIC_RELEASE);
    cuda_capture_context_destroyed(context);
    cuda_allocations_destroyed(context);
    cuda_arrays_destroyed(context);
    tsm_lock_take(&context->lock);
    while (context->streams) {
        struct context_stream *entry = context->streams;
        if (entry->raw)
            tsm_handle_left(SBT_API_CUDA, CUDA_OBJECT_STREAM, entry->raw, entry->id, true);
        destroy_stream(context, entry);
    }
    for (struct context_stream *entry = context->destroyed; entry; entry = entry->next)
        tsm_stream_ended(entry->stream);
    forget_destroyed(context);
    tsm_lock_give(&context->lock);
    if (handle) /* a primary context may be used again, with nothing in it */
        __atomic_compare_exchange_n(&handle->user, &there, NULL, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE);
}

void cuda_after_context_destroyed(struct tsm_call *call, bool ok, uint64_t id)
{
    struct cuda_context *context = ok ? atomic_load(&contexts) : NULL;

    for (; context; context = context->next)
        if (context->id == id && context->device < 0 && !context->is_gone)
            gone(context);
}

void cuda_after_primary_destroyed(struct tsm_call *call, bool ok, CUdevice device)
{
    struct cuda_context *context = ok ? atomic_load(&contexts) : NULL;

    for (; context; context = context->next)
        if (context->device == device && !context->is_gone)
            gone(context);
}

void cuda_after_primary_released(struct tsm_call *call, bool ok, CUdevice device)
{
    unsigned int flags;
    int active = 1;

    if (ok && real.cuDevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS && !active)
        cuda_after_primary_destroyed(call, true, device);
}

void cuda_after_stream_destroyed(struct tsm_call *call, bool ok, CUstream raw, uint64_t id)
{
    const struct tsm_handle *handle =
        ok && raw ? tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_STREAM, CUDA_SLOT(raw)) : NULL;
    struct context_stream *entry = handle && handle->id == id ? handle->user : NULL;

    if (!ok)
        return;
    cuda_capture_stream_destroyed(raw);
    if (!entry)
        return;
    tsm_lock_take(&entry->context->lock);
    destroy_stream(entry->context, entry);
    forget_destroyed(entry->context);
    tsm_lock_give(&entry->context->lock);
}

uint64_t cuda_stream_leaves(CUstream raw)
{
    const struct tsm_handle *handle =
        tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_STREAM, CUDA_SLOT(raw));
    const struct context_stream *entry = handle ? handle->user : NULL;
    uint64_t id;

    cuda_checkpoint_stream_leaves(raw);
    if (!entry)
        return cuda_id_leaves(CUDA_OBJECT_STREAM, CUDA_SLOT(raw));
    tsm_lock_take(&entry->context->lock);
    id = cuda_id_leaves(CUDA_OBJECT_STREAM, CUDA_SLOT(raw));
    tsm_lock_give(&entry->context->lock);
    return id;
}

/* ---- streams ------------------------------------------------------------------------------------
 */

static struct tsm_stream *per_thread_stream(void)
{
    struct cuda_context *context = cuda_context_current();
    struct thread_stream *own;

    if (!context)
        return NULL;
    if (thread_streams.process != processes)
        thread_streams.first = NULL;
    thread_streams.process = processes;
    for (own = thread_streams.first; own; own = own->next)
        if (own->context == context)
            return own->stream;
    own = cuda_keep(sizeof(*own));
    if (!own)
        return context->legacy;
    own->next = thread_streams.first;
    own->context = context;
    own->stream = tsm_stream_create(SBT_API_CUDA);
    tsm_stream_joins(own->stream, context->legacy);
    add_stream(context, own->stream);
    thread_streams.first = own;
    return own->stream;
}

static struct tsm_stream *default_stream(void)
{
    struct cuda_context *context = cuda_context_current();

    return context ? context->legacy : NULL;
}

/* A stream made before capture began joins the default stream, as most do. */
static struct tsm_stream *make_stream(struct tsm_handle *handle, bool joins)
{
    struct cuda_context *context = cuda_context_current();
    struct tsm_stream *made = tsm_stream_create(SBT_API_CUDA), *there = NULL;
    struct context_stream *entry;

    if (!__atomic_compare_exchange_n(&handle->stream, &there, made, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        tsm_stream_forget(made);
        return there;
    }
    if (context && joins)
        tsm_stream_joins(made, context->legacy);
    entry = context ? add_stream(context, made) : NULL;
    if (entry) {
        entry->raw = handle->raw;
        entry->id = handle->id;
        handle->user = entry;
    }
    return made;
}

/* NULL: there is no such stream, so that the call fails. */
static struct tsm_stream *named_stream(CUstream raw)
{
    struct tsm_handle *handle = tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_STREAM, CUDA_SLOT(raw));
    struct tsm_stream *stream;
    unsigned int flags;

    if (!handle && real.cuStreamGetFlags(raw, &flags) == CUDA_SUCCESS)
        handle = handle_of(CUDA_OBJECT_STREAM, raw);
    if (!handle)
        return NULL;
    stream = __atomic_load_n(&handle->stream, __ATOMIC_ACQUIRE);
    return stream ? stream : make_stream(handle, true);
}

struct cuda_context *cuda_stream_context(CUstream stream)
{
    const struct tsm_handle *handle = NULL;
    const struct context_stream *entry;

    if (stream && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD)
        handle = tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_STREAM, CUDA_SLOT(stream));
    entry = handle ? handle->user : NULL;
    return entry ? entry->context : cuda_context_current();
}

struct tsm_stream *cuda_stream(CUstream stream)
{
    if (!stream || stream == CU_STREAM_LEGACY)
        return default_stream();
    return stream == CU_STREAM_PER_THREAD ? per_thread_stream() : named_stream(stream);
}

struct tsm_stream *cuda_stream_ptsz(CUstream stream)
{
    return stream ? cuda_stream(stream) : per_thread_stream();
}

uint32_t cuda_stream_created(CUstream stream, unsigned int flags)
{
    struct tsm_handle *handle = handle_of(CUDA_OBJECT_STREAM, stream);

    if (!handle)
        return SBT_STREAM_NONE;
    return tsm_stream_number(make_stream(handle, !(flags & CU_STREAM_NON_BLOCKING)));
}

/* ---- how far a stream is ------------------------------------------------------------------------
 */

static bool is_own(const struct tsm_stream *stream)
{
    const struct thread_stream *own =
        thread_streams.process == processes ? thread_streams.first : NULL;

    while (own && own->stream != stream)
        own = own->next;
    return own != NULL;
}

/* The context's lock is held, so that the stream is not destroyed meanwhile. */
static bool ask(const struct cuda_context *context, const struct context_stream *entry)
{
    const struct tsm_handle *handle;

    if (entry->stream == context->legacy)
        return real.cuStreamQuery(CU_STREAM_LEGACY) == CUDA_SUCCESS;
    if (!entry->raw)
        return is_own(entry->stream) && real.cuStreamQuery(CU_STREAM_PER_THREAD) == CUDA_SUCCESS;
    handle = tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_STREAM, entry->raw);
    return handle && handle->id == entry->id && !tsm_handle_is_leaving(handle) &&
           real.cuStreamQuery((CUstream)(uintptr_t)entry->raw) == CUDA_SUCCESS;
}

/* A question would end a capture. And what waits for values may have waited for one that the
 * program wrote and that is not recorded yet: a replay must not wait for it before that is. */
bool cuda_stream_is_complete(const struct tsm_stream *stream)
{
    const bool may_ask = !cuda_capture_runs() && !cuda_values_are_awaited();
    struct cuda_context *context = may_ask ? cuda_context_current() : NULL;
    const struct context_stream *entry;
    bool is_complete;

    if (!context)
        return false;
    tsm_lock_take(&context->lock);
    entry = context->streams;
    while (entry && entry->stream != stream)
        entry = entry->next;
    is_complete = entry && ask(context, entry);
    tsm_lock_give(&context->lock);
    return is_complete;
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

/* No page is looked at while a kernel writes it. What went wrong the call itself is told. */
static void settle(void *stream)
{
    tsm_values_publish();
    real.cuStreamSynchronize(stream);
    tsm_hostmem_publish();
}

void cuda_on_synchronized_stream(struct tsm_call *call, CUstream raw, bool per_thread)
{
    const CUstream stream = raw ? raw : per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
    struct tsm_stream *known = cuda_stream(stream);

    if (known && may_wait_for(stream)) {
        tsm_call_on_synchronized_stream(call, known, settle, stream);
        return;
    }
    tsm_hostmem_publish();
    cuda_on_stream(call, raw, per_thread, NULL, TSM_SENDS_AND_BLOCKS);
}
