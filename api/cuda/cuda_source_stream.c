/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams as the program names them, and the default streams that nobody creates: one for each
 * context, and one for each context and thread that asks for it. A context's default stream is made
 * together with the context, so that the first stream of a process is number 0. The one of a thread
 * is made at its first use and has no creating record: a replayer that meets a stream number which
 * no record made takes an ordinary stream for it, which orders the same.
 */
#include "api/cuda/cuda_source.h"

#include "api/cuda/cuda_encode.h"
#include "api/cuda/cuda_hooks.h"
#include "api/cuda/cuda_wrappers.h"

/* What is known of a context: the `user` of its handle. */
struct context {
    struct tsm_stream *legacy;
    _Atomic(struct context_stream *) streams; /* all of them, the legacy one too */
};

struct context_stream {
    struct context_stream *next;
    struct tsm_stream *stream;
};

/* A thread's own default streams. The memory is never freed: threads end without telling us. */
struct thread_stream {
    struct thread_stream *next;
    const struct context *context;
    struct tsm_stream *stream;
};

/* Of the process that `process` counts: after a fork the parent's are no longer ours. */
static _Thread_local struct {
    struct thread_stream *first;
    uint32_t process;
} thread_streams __attribute__((tls_model("initial-exec")));
static uint32_t processes; /* forks between the first process and this one */

void cuda_streams_forked(void)
{
    processes++;
}

/* ---- contexts -----------------------------------------------------------------------------------
 */

static void add_stream(struct context *context, struct tsm_stream *stream)
{
    struct context_stream *entry = cuda_keep(sizeof(*entry));

    if (!entry)
        return;
    entry->stream = stream;
    entry->next = atomic_load(&context->streams);
    while (!atomic_compare_exchange_weak(&context->streams, &entry->next, entry))
        ;
}

/* Two threads may meet a context at once; the one that comes second drops what it made. */
static struct context *make_context(struct tsm_handle *handle)
{
    struct context *context = cuda_keep(sizeof(*context));
    void *there = NULL;

    if (!context)
        return NULL;
    context->legacy = tsm_stream_create(SBT_API_CUDA);
    add_stream(context, context->legacy);
    if (!__atomic_compare_exchange_n(&handle->user, &there, context, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        return there;
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

static struct context *context_of(CUcontext raw)
{
    struct tsm_handle *handle = raw ? handle_of(CUDA_OBJECT_CONTEXT, raw) : NULL;
    struct context *context;

    if (!handle)
        return NULL;
    context = __atomic_load_n(&handle->user, __ATOMIC_ACQUIRE);
    return context ? context : make_context(handle);
}

static struct context *current_context(void)
{
    CUcontext context = NULL;

    if (real.cuCtxGetCurrent(&context) != CUDA_SUCCESS)
        return NULL;
    return context_of(context);
}

uint32_t cuda_context_made(CUcontext raw)
{
    struct context *context = context_of(raw);

    return context ? tsm_stream_number(context->legacy) : SBT_STREAM_NONE;
}

void cuda_context_synchronised(CUcontext raw)
{
    struct context *context = raw ? context_of(raw) : current_context();
    struct context_stream *entry = context ? atomic_load(&context->streams) : NULL;

    for (; entry; entry = entry->next)
        tsm_synchronised(SBT_API_CUDA, entry->stream);
    cuda_checksum_sync(context ? context->legacy : NULL);
    tsm_checkpoint_point(true);
}

/* ---- streams ------------------------------------------------------------------------------------
 */

static struct tsm_stream *per_thread_stream(void)
{
    struct context *context = current_context();
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
    struct context *context = current_context();

    return context ? context->legacy : NULL;
}

/* A stream made before capture began joins the default stream, as most do. */
static struct tsm_stream *make_stream(struct tsm_handle *handle, bool joins)
{
    struct context *context = current_context();
    struct tsm_stream *made = tsm_stream_create(SBT_API_CUDA), *there = NULL;

    if (context && joins)
        tsm_stream_joins(made, context->legacy);
    if (context)
        add_stream(context, made);
    if (!__atomic_compare_exchange_n(&handle->stream, &there, made, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        made = there;
    return made;
}

static struct tsm_stream *named_stream(CUstream raw)
{
    struct tsm_handle *handle = handle_of(CUDA_OBJECT_STREAM, raw);
    struct tsm_stream *stream;

    if (!handle)
        return NULL;
    stream = __atomic_load_n(&handle->stream, __ATOMIC_ACQUIRE);
    return stream ? stream : make_stream(handle, true);
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

uint32_t cuda_stream_made(CUstream stream, unsigned int flags)
{
    struct tsm_handle *handle = handle_of(CUDA_OBJECT_STREAM, stream);

    if (!handle)
        return SBT_STREAM_NONE;
    return tsm_stream_number(make_stream(handle, !(flags & CU_STREAM_NON_BLOCKING)));
}

void cuda_settle(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

    if (tsm_hostmem_any() && real.cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
        status == CU_STREAM_CAPTURE_STATUS_NONE)
        real.cuStreamSynchronize(stream);
}
