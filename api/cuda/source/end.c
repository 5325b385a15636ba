/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of contexts and streams: those who keep what was made in one hear of it here.
 */
#include "api/cuda/source/context.h"

#include "api/cuda/cuda_hooks.h"

/* Marks everything created in the context as destroyed: no call of ours may name it again. */
static void end_context(struct cuda_context *context)
{
    struct tsm_handle *handle =
        tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_CONTEXT, CUDA_SLOT(context->raw));
    void *there = context;

    __atomic_store_n(&context->is_gone, true, __ATOMIC_RELEASE);
    cuda_capture_context_destroyed(context);
    cuda_allocations_destroyed(context);
    cuda_arrays_destroyed(context);
    cuda_managed_sweep();
    tsm_lock_take(&context->lock);
    while (context->streams) {
        struct cuda_context_stream *entry = context->streams;
        if (entry->raw)
            tsm_handle_left(SBT_API_CUDA, CUDA_OBJECT_STREAM, entry->raw, entry->id, true);
        cuda_context_destroy_stream(context, entry);
    }
    for (struct cuda_context_stream *entry = context->destroyed; entry; entry = entry->next)
        tsm_stream_ended(entry->stream);
    cuda_context_forget_destroyed(context);
    tsm_lock_give(&context->lock);
    if (handle) /* a primary context may be used again, with nothing in it */
        __atomic_compare_exchange_n(&handle->user, &there, NULL, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE);
}

void cuda_after_context_destroyed(struct tsm_call *call, bool ok, uint64_t id)
{
    struct cuda_context *context = ok ? atomic_load(&cuda_contexts) : NULL;

    for (; context; context = context->next)
        if (context->id == id && context->device < 0 && !context->is_gone)
            end_context(context);
}

void cuda_after_primary_destroyed(struct tsm_call *call, bool ok, CUdevice device)
{
    struct cuda_context *context = ok ? atomic_load(&cuda_contexts) : NULL;

    for (; context; context = context->next)
        if (context->device == device && !context->is_gone)
            end_context(context);
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
    struct cuda_context_stream *entry = handle && handle->id == id ? handle->user : NULL;

    if (!ok)
        return;
    cuda_capture_stream_destroyed(raw);
    if (!entry)
        return;
    tsm_lock_take(&entry->context->lock);
    cuda_context_destroy_stream(entry->context, entry);
    cuda_context_forget_destroyed(entry->context);
    tsm_lock_give(&entry->context->lock);
}

uint64_t cuda_stream_leaves(CUstream raw)
{
    const struct tsm_handle *handle =
        tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_STREAM, CUDA_SLOT(raw));
    const struct cuda_context_stream *entry = handle ? handle->user : NULL;
    uint64_t id;

    cuda_checkpoint_stream_leaves(raw);
    if (!entry)
        return cuda_id_leaves(CUDA_OBJECT_STREAM, CUDA_SLOT(raw));
    tsm_lock_take(&entry->context->lock);
    id = cuda_id_leaves(CUDA_OBJECT_STREAM, CUDA_SLOT(raw));
    tsm_lock_give(&entry->context->lock);
    return id;
}
