/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams as the program names them, and the default streams that nobody creates: one for each
 * context, and one for each context and thread that asks for it. A context's default stream is made
 * together with the context, so that the first stream of a process is number 0. The one of a thread
 * is made at its first use and has no creating record: a replayer that meets a stream number which no
 * record made takes an ordinary stream for it, which orders the same.
 */
#include "api/cuda/cuda_source.h"

#include "api/cuda/cuda_encode.h"
#include "cuda_hooks.h"
#include "cuda_wrappers.h"

/* A thread's own default streams. The memory is never freed: threads end without telling us. */
struct thread_stream {
    struct thread_stream *next;
    uint32_t context; /* stable id */
    uint32_t process; /* value of `processes` when it was made */
    struct tsm_stream *stream;
};

static _Thread_local struct thread_stream *thread_streams
    __attribute__((tls_model("initial-exec")));
static uint32_t processes; /* forks between the first process and this one */

void cuda_streams_forked(void)
{
    processes++;
}

/* The stream of an entry, made when it has none. */
static struct tsm_stream *stream_of(struct tsm_handle *handle)
{
    struct tsm_stream *there = __atomic_load_n(&handle->stream, __ATOMIC_ACQUIRE), *made;

    if (there)
        return there;
    made = tsm_stream_create(SBT_API_CUDA);
    if (!__atomic_compare_exchange_n(&handle->stream, &there, made, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        made = there; /* another thread's; ours keeps its number and stays unused */
    return made;
}

/* The context's entry, with its default stream. NULL without a context. */
static struct tsm_handle *context_entry(CUcontext context)
{
    struct tsm_handle *handle;

    if (!context)
        return NULL;
    handle = tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_CONTEXT, CUDA_SLOT(context));
    if (!handle) {
        cuda_id(CUDA_OBJECT_CONTEXT, CUDA_SLOT(context)); /* made before capture began: says so */
        handle = tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_CONTEXT, CUDA_SLOT(context));
    }
    if (handle)
        stream_of(handle);
    return handle;
}

static struct tsm_handle *current_context(void)
{
    CUcontext context = NULL;

    if (real.cuCtxGetCurrent(&context) != CUDA_SUCCESS)
        return NULL;
    return context_entry(context);
}

static struct tsm_stream *default_stream(void)
{
    struct tsm_handle *context = current_context();

    return context ? context->stream : NULL;
}

static struct tsm_stream *per_thread_stream(void)
{
    struct tsm_handle *context = current_context();
    struct thread_stream *own;

    if (!context)
        return NULL;
    for (own = thread_streams; own; own = own->next)
        if (own->context == context->id && own->process == processes)
            return own->stream;
    own = cuda_keep(sizeof(*own));
    if (!own)
        return context->stream;
    own->next = thread_streams;
    own->context = context->id;
    own->process = processes;
    own->stream = tsm_stream_create(SBT_API_CUDA);
    tsm_stream_joins(own->stream, context->stream);
    thread_streams = own;
    return own->stream;
}

static struct tsm_stream *named_stream(CUstream stream)
{
    struct tsm_handle *handle = tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_STREAM, CUDA_SLOT(stream));

    if (!handle) {
        cuda_id(CUDA_OBJECT_STREAM, CUDA_SLOT(stream));
        handle = tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_STREAM, CUDA_SLOT(stream));
    }
    return handle ? stream_of(handle) : NULL;
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
    struct tsm_stream *made = named_stream(stream);

    if (!made)
        return SBT_STREAM_NONE;
    if (!(flags & CU_STREAM_NON_BLOCKING))
        tsm_stream_joins(made, default_stream());
    return tsm_stream_number(made);
}

uint32_t cuda_context_made(CUcontext context)
{
    struct tsm_handle *handle = context_entry(context);

    return handle ? tsm_stream_number(handle->stream) : SBT_STREAM_NONE;
}
