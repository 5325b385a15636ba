/* SPDX-License-Identifier: Apache-2.0
 *
 * All streams there are: made, found, destroyed.
 */
#include <stdlib.h>

#include "emu/cuda/core/context.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/core/object.h"
#include "emu/cuda/stream/schedule.h"

bool emu_stream_is_blocking(CUstream stream)
{
    return !stream->is_legacy && !(stream->flags & CU_STREAM_NON_BLOCKING);
}

/* Notes the end of the stream's work for waits on its context and its default stream. */
static void note_end(CUstream stream)
{
    CUcontext context = stream->context;

    if (context->freed_ns < stream->end_ns)
        context->freed_ns = stream->end_ns;
    if (emu_stream_is_blocking(stream) && context->freed_blocking_ns < stream->end_ns)
        context->freed_blocking_ns = stream->end_ns;
}

void emu_stream_free(CUstream stream)
{
    CUstream *at = &emu_scheduler.streams;

    if (emu_settings.is_virtual)
        note_end(stream);
    while (*at != stream)
        at = &(*at)->next;
    *at = stream->next;
    pthread_cond_destroy(&stream->wake);
    free(stream);
}

CUresult emu_stream_create(CUstream *out, CUcontext context, unsigned flags, int priority,
                           bool is_legacy, uint64_t thread)
{
    CUstream stream = calloc(1, sizeof(*stream));
    CUstream *at = &emu_scheduler.streams;

    if (!stream || !emu_object_add(EMU_STREAM, stream)) {
        free(stream);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    stream->context = context;
    stream->flags = flags;
    stream->priority = priority;
    stream->is_legacy = is_legacy;
    stream->thread = thread;
    stream->id = emu_next_id();
    pthread_cond_init(&stream->wake, NULL);
    pthread_mutex_lock(&emu_scheduler.lock);
    while (*at)
        at = &(*at)->next;
    *at = stream;
    pthread_mutex_unlock(&emu_scheduler.lock);
    *out = stream;
    return CUDA_SUCCESS;
}

static void destroy_locked(CUstream stream)
{
    emu_object_remove(stream);
    stream->is_destroyed = true;
    if (stream->has_worker)
        pthread_cond_signal(&stream->wake);
    else if (!stream->head)
        emu_stream_free(stream);
}

void emu_stream_destroy(CUstream stream)
{
    if (!stream)
        return;
    pthread_mutex_lock(&emu_scheduler.lock);
    destroy_locked(stream);
    pthread_mutex_unlock(&emu_scheduler.lock);
}

void emu_context_destroy_streams(CUcontext context)
{
    pthread_mutex_lock(&emu_scheduler.lock);
    for (CUstream s = emu_scheduler.streams, next; s; s = next) {
        next = s->next;
        if (s->context == context && !s->is_destroyed)
            destroy_locked(s);
    }
    pthread_mutex_unlock(&emu_scheduler.lock);
}

CUstream emu_stream_of_thread(CUcontext context, uint64_t thread)
{
    CUstream found = NULL;

    pthread_mutex_lock(&emu_scheduler.lock);
    for (CUstream s = emu_scheduler.streams; s && !found; s = s->next)
        if (s->context == context && s->thread == thread)
            found = s;
    pthread_mutex_unlock(&emu_scheduler.lock);
    if (!found)
        emu_stream_create(&found, context, 0, 0, false, thread);
    return found;
}

/* The callback may submit, so it runs without the lock: a list of the streams is made first. */
CUresult emu_stream_each(CUcontext context, CUresult (*callback)(CUstream stream, void *user),
                         void *user)
{
    CUresult result = CUDA_SUCCESS;
    CUstream *list;
    size_t count = 0;

    pthread_mutex_lock(&emu_scheduler.lock);
    for (CUstream s = emu_scheduler.streams; s; s = s->next)
        count++;
    list = calloc(count + 1, sizeof(*list));
    count = 0;
    for (CUstream s = emu_scheduler.streams; s && list; s = s->next)
        if (s->context == context && !s->is_destroyed)
            list[count++] = s;
    pthread_mutex_unlock(&emu_scheduler.lock);
    if (!list)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < count && !result; i++)
        result = callback(list[i], user);
    free(list);
    return result;
}

bool emu_streams_are_idle(void)
{
    bool is_idle = true;

    pthread_mutex_lock(&emu_scheduler.lock);
    for (CUstream s = emu_scheduler.streams; s && is_idle; s = s->next)
        is_idle = !s->head;
    pthread_mutex_unlock(&emu_scheduler.lock);
    return is_idle;
}
