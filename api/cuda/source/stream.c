/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams as the program names them, and the default streams that nobody creates: one for each
 * context, and one for each context and thread that asks for it. The one of a thread is made at its
 * first use and has no creating record: a replayer that meets a stream number which no record made
 * takes an ordinary stream for it, which orders the same.
 */
#include "api/cuda/source/context.h"

#include "api/cuda/cuda_hooks.h"
#include "api/cuda/source/emu_times.h"

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
}

/* ---- streams ------------------------------------------------------------------------------------
 */

static struct tsm_stream *per_thread_stream(void)
{
    struct cuda_context *context = cuda_context_of_thread();
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
    cuda_context_add_stream(context, own->stream);
    thread_streams.first = own;
    return own->stream;
}

static struct tsm_stream *default_stream(void)
{
    struct cuda_context *context = cuda_context_of_thread();

    return context ? context->legacy : NULL;
}

/* A stream made before capture began joins the default stream, as most do. */
static struct tsm_stream *make_stream(struct tsm_handle *handle, struct cuda_context *context,
                                      const struct cuda_green *green, bool joins)
{
    struct tsm_stream *made = tsm_stream_create(SBT_API_CUDA), *there = NULL;
    struct cuda_context_stream *entry;

    if (!__atomic_compare_exchange_n(&handle->stream, &there, made, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        tsm_stream_forget(made);
        return there;
    }
    if (context && joins)
        tsm_stream_joins(made, context->legacy);
    entry = context ? cuda_context_add_stream(context, made) : NULL;
    if (entry) {
        entry->green = green;
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
        handle = cuda_handle_of(CUDA_OBJECT_STREAM, raw);
    if (!handle)
        return NULL;
    stream = __atomic_load_n(&handle->stream, __ATOMIC_ACQUIRE);
    return stream ? stream : make_stream(handle, cuda_context_of_thread(), NULL, true);
}

struct cuda_context *cuda_stream_context(CUstream stream)
{
    const struct tsm_handle *handle = NULL;
    const struct cuda_context_stream *entry;

    if (stream && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD)
        handle = tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_STREAM, CUDA_SLOT(stream));
    entry = handle ? handle->user : NULL;
    return entry ? entry->context : cuda_context_of_thread();
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

uint32_t cuda_stream_created_in(CUstream stream, unsigned int flags, struct cuda_context *context,
                                const struct cuda_green *green)
{
    struct tsm_handle *handle = cuda_handle_of(CUDA_OBJECT_STREAM, stream);

    if (!handle)
        return SBT_STREAM_NONE;
    return tsm_stream_number(make_stream(handle, context ? context : cuda_context_of_thread(),
                                         green, !(flags & CU_STREAM_NON_BLOCKING)));
}

uint32_t cuda_stream_created(CUstream stream, unsigned int flags)
{
    return cuda_stream_created_in(stream, flags, NULL, NULL);
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
static bool ask(const struct cuda_context *context, const struct cuda_context_stream *entry)
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
    struct cuda_context *context = cuda_values_are_awaited() ? NULL : cuda_context_of_thread();
    const struct cuda_context_stream *entry;
    bool is_complete;

    if (!context || !cuda_asking_begin())
        return false;
    tsm_lock_take(&context->lock);
    entry = context->streams;
    while (entry && entry->stream != stream)
        entry = entry->next;
    cuda_aside_begin();
    is_complete = entry && ask(context, entry);
    cuda_aside_end();
    tsm_lock_give(&context->lock);
    cuda_asking_end();
    return is_complete;
}
