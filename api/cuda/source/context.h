/* SPDX-License-Identifier: Apache-2.0
 *
 * State of the program's contexts and the streams in them: shared by those who keep them
 * (context.c), find streams there (stream.c) and end both (end.c).
 */
#ifndef API_CUDA_SOURCE_CONTEXT_H
#define API_CUDA_SOURCE_CONTEXT_H

#include "api/cuda/cuda_wrappers.h"
#include "api/cuda/source/encode.h"
#include "api/cuda/source/source.h"
#include "capture/lock.h"

/* Streams of ours, in the trace alone, for what is said to all of a context's streams at once:
 * events behind them, and waits before what comes. NULL: none so far. */
struct cuda_streams_at_once {
    struct tsm_stream *signals, *waits;
};

/* State of a green context: the `user` of its handle. The memory is never freed. */
struct cuda_green {
    CUdevice device;
    struct cuda_context *context; /* that it is used as; NULL: not known */
    struct cuda_streams_at_once at_once;
};

/* State of a context: the `user` of its handle. The memory is never freed, so that others can ask
 * whether it is gone. */
struct cuda_context {
    struct cuda_context *next; /* of all in this process */
    CUcontext raw;
    uint32_t id;
    int device; /* whose primary context it is; -1: no primary one */
    bool is_gone;
    struct tsm_stream *legacy;
    struct cuda_streams_at_once at_once;
    struct tsm_lock lock;
    struct cuda_context_stream *streams;   /* live ones, the legacy one too */
    struct cuda_context_stream *destroyed; /* of which something is still awaited */
    struct cuda_context_stream *free;
};

/* The `user` of a stream's handle. */
struct cuda_context_stream {
    struct cuda_context_stream *next, *previous;
    struct cuda_context *context;
    const struct cuda_green *green; /* that it was made in; NULL: in none */
    struct tsm_stream *stream;
    uint64_t raw; /* 0: it has no handle */
    uint32_t id;
};

/* All contexts of this process, the newest first. */
extern _Atomic(struct cuda_context *) cuda_contexts;

/* Returns the handle of an object that exists, and makes one where the object was created before
 * capture began. */
struct tsm_handle *cuda_handle_of(enum cuda_object object, const void *raw);

/* Returns the context behind the driver's handle. NULL: there is none, or no memory. */
struct cuda_context *cuda_context_of(CUcontext raw);

/* Implements cuda_context_current(), for calls on streams, without a call of ours. */
static inline struct cuda_context *cuda_context_of_thread(void)
{
    CUcontext context = NULL;

    return real.cuCtxGetCurrent(&context) == CUDA_SUCCESS ? cuda_context_of(context) : NULL;
}

/* Adds a stream to the live ones of its context. NULL: no memory. Takes the context's lock. */
struct cuda_context_stream *cuda_context_add_stream(struct cuda_context *context,
                                                    struct tsm_stream *stream);

/* Moves a live stream to the destroyed ones. The context's lock is held. */
void cuda_context_destroy_stream(struct cuda_context *context, struct cuda_context_stream *entry);

/* Takes a stream into account that has just been made in a context (NULL: the thread's), and a
 * green one there or NULL; returns its number. */
uint32_t cuda_stream_created_in(CUstream stream, unsigned int flags, struct cuda_context *context,
                                const struct cuda_green *green);

/* Forgets destroyed streams of which nothing is awaited any more. The context's lock is held. */
void cuda_context_forget_destroyed(struct cuda_context *context);

#endif
