/* SPDX-License-Identifier: Apache-2.0
 *
 * Contexts of the program: state for each, found by its handle. A context's default stream is made
 * together with the context, so that the first stream of a process is number 0.
 */
#include "api/cuda/source/context.h"

#include "api/cuda/cuda_hooks.h"

_Atomic(struct cuda_context *) cuda_contexts;

void cuda_contexts_forked(void)
{
    atomic_store(&cuda_contexts, NULL);
}

/* The lock is held. */
static void link_stream(struct cuda_context_stream **list, struct cuda_context_stream *entry)
{
    entry->previous = NULL;
    entry->next = *list;
    if (*list)
        (*list)->previous = entry;
    *list = entry;
}

static void unlink_stream(struct cuda_context_stream **list, struct cuda_context_stream *entry)
{
    if (entry->next)
        entry->next->previous = entry->previous;
    if (entry->previous)
        entry->previous->next = entry->next;
    else
        *list = entry->next;
}

struct cuda_context_stream *cuda_context_add_stream(struct cuda_context *context,
                                                    struct tsm_stream *stream)
{
    struct cuda_context_stream *entry;

    tsm_lock_take(&context->lock);
    entry = context->free;
    if (entry)
        context->free = entry->next;
    else
        entry = cuda_keep(sizeof(*entry));
    if (entry) {
        *entry = (struct cuda_context_stream){.context = context, .stream = stream};
        link_stream(&context->streams, entry);
    }
    tsm_lock_give(&context->lock);
    return entry;
}

void cuda_context_forget_destroyed(struct cuda_context *context)
{
    struct cuda_context_stream *next;

    for (struct cuda_context_stream *entry = context->destroyed; entry; entry = next) {
        next = entry->next;
        if (tsm_stream_is_awaited(entry->stream))
            continue;
        tsm_stream_forget(entry->stream);
        unlink_stream(&context->destroyed, entry);
        entry->next = context->free;
        context->free = entry;
    }
}

void cuda_context_destroy_stream(struct cuda_context *context, struct cuda_context_stream *entry)
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
    cuda_context_add_stream(context, context->legacy);
    if (!__atomic_compare_exchange_n(&handle->user, &there, context, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        return there;
    context->next = atomic_load(&cuda_contexts);
    while (!atomic_compare_exchange_weak(&cuda_contexts, &context->next, context))
        ;
    return context;
}

struct tsm_handle *cuda_handle_of(enum cuda_object object, const void *raw)
{
    struct tsm_handle *handle = tsm_handle_find(SBT_API_CUDA, object, CUDA_SLOT(raw));

    if (handle)
        return handle;
    cuda_id(object, CUDA_SLOT(raw)); /* made before capture began: this says so */
    return tsm_handle_find(SBT_API_CUDA, object, CUDA_SLOT(raw));
}

struct cuda_context *cuda_context_of(CUcontext raw)
{
    struct tsm_handle *handle = raw ? cuda_handle_of(CUDA_OBJECT_CONTEXT, raw) : NULL;
    struct cuda_context *context;

    if (!handle)
        return NULL;
    context = __atomic_load_n(&handle->user, __ATOMIC_ACQUIRE);
    return context ? context : make_context(handle);
}

struct cuda_context *cuda_context_current(void)
{
    return cuda_context_of_thread();
}

uint32_t cuda_context_created(CUcontext raw)
{
    struct cuda_context *context = cuda_context_of(raw);

    return context ? tsm_stream_number(context->legacy) : SBT_STREAM_NONE;
}

uint32_t cuda_primary_created(CUcontext raw, CUdevice device)
{
    struct cuda_context *context = cuda_context_of(raw);

    if (context)
        context->device = device;
    return cuda_context_created(raw);
}

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
