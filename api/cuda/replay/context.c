/* SPDX-License-Identifier: Apache-2.0
 *
 * Contexts. The replay has other threads than the program had, so we keep what was current on each
 * recorded thread, and make that current wherever one of its records is carried out.
 */
#include "api/cuda/replay/state.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct cuda_thread {
    struct cuda_thread *next;
    uint32_t id;
    CUcontext *stack; /* the last one is current */
    size_t depth, capacity;
};

struct cuda_own_stream {
    struct cuda_own_stream *next;
    CUcontext context;
    CUstream stream;
};

static struct cuda_thread *find_thread(struct cuda_replay *replay, uint32_t id)
{
    struct cuda_thread *t = replay->threads;

    while (t && t->id != id)
        t = t->next;
    return t;
}

static struct cuda_thread *make_thread(struct cuda_replay *replay, uint32_t id)
{
    struct cuda_thread *t = find_thread(replay, id);

    if (t || !(t = calloc(1, sizeof(*t))))
        return t;
    t->id = id;
    t->next = replay->threads;
    replay->threads = t;
    return t;
}

CUcontext cuda_context_of(struct cuda_replay *replay, uint32_t thread)
{
    const struct cuda_thread *t = find_thread(replay, thread);

    return t && t->depth ? t->stack[t->depth - 1] : NULL;
}

CUcontext cuda_context_any(struct cuda_replay *replay)
{
    for (const struct cuda_thread *t = replay->threads; t; t = t->next)
        if (t->depth && t->stack[t->depth - 1])
            return t->stack[t->depth - 1];
    return NULL;
}

int cuda_context_push(struct cuda_replay *replay, uint32_t thread, CUcontext context)
{
    struct cuda_thread *t = make_thread(replay, thread);

    return t && TSM_ARRAY_PUSH(t->stack, t->depth, t->capacity, context)
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for contexts");
}

void cuda_context_pop(struct cuda_replay *replay, uint32_t thread)
{
    struct cuda_thread *t = find_thread(replay, thread);

    if (t && t->depth)
        t->depth--;
}

int cuda_context_set(struct cuda_replay *replay, uint32_t thread, CUcontext context)
{
    cuda_context_pop(replay, thread);
    return context ? cuda_context_push(replay, thread, context) : 0;
}

int cuda_context_own_stream(struct cuda_replay *replay, CUcontext context, CUstream *out)
{
    struct cuda_own_stream *own = replay->own_streams;

    while (own && own->context != context)
        own = own->next;
    if (!own) {
        own = calloc(1, sizeof(*own));
        if (!own)
            return tsm_fail(TSM_E_MEMORY, "no memory for a stream");
        CUresult result =
            replay->library.calls.cuStreamCreate(&own->stream, CU_STREAM_NON_BLOCKING);
        if (result != CUDA_SUCCESS) {
            free(own);
            return cuda_fail(&replay->library.calls, "cuStreamCreate", result);
        }
        own->context = context;
        own->next = replay->own_streams;
        replay->own_streams = own;
    }
    *out = own->stream;
    return 0;
}

void cuda_context_destroyed(struct cuda_replay *replay, CUcontext context)
{
    struct cuda_own_stream **at = &replay->own_streams;

    cuda_memory_forget(replay, context);
    cuda_memory_sweep(replay);
    cuda_arrays_forget(replay, context);
    cuda_place_leave(replay, context);
    for (struct cuda_thread *t = replay->threads; t; t = t->next)
        for (size_t i = 0; i < t->depth; i++)
            if (t->stack[i] == context)
                t->stack[i] = NULL;
    while (*at && (*at)->context != context)
        at = &(*at)->next;
    if (*at) {
        struct cuda_own_stream *gone = *at;
        *at = gone->next;
        free(gone);
    }
    for (uint32_t i = 0; i < replay->stream_capacity; i++)
        if (replay->streams[i] && replay->streams[i]->context == context)
            replay->streams[i]->is_made = false;
}

static void destroy_left(struct cuda_replay *replay)
{
    const struct cuda_real *driver = &replay->library.calls;
    const struct tsm_map *objects = &replay->objects;

    for (size_t i = 0; i < objects->capacity; i++) {
        const struct tsm_map_slot *slot = &objects->slots[i];
        if (slot->used && slot->value && slot->key >> 56 == CUDA_OBJECT_CONTEXT)
            driver->cuCtxDestroy_v2((CUcontext)(uintptr_t)slot->value); /* refuses primary ones */
    }
    for (int i = 0; i < replay->device_count; i++)
        driver->cuDevicePrimaryCtxReset_v2(i);
}

void cuda_contexts_finish(struct cuda_replay *replay)
{
    if (replay->library.handle)
        destroy_left(replay);
    while (replay->threads) {
        struct cuda_thread *t = replay->threads;
        replay->threads = t->next;
        free(t->stack);
        free(t);
    }
    while (replay->own_streams) {
        struct cuda_own_stream *own = replay->own_streams;
        replay->own_streams = own->next;
        free(own);
    }
}
