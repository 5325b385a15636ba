/* SPDX-License-Identifier: Apache-2.0
 *
 * Encodes common arguments for the generated wrappers (cuda_wrappers.c) and hooks: an object as its
 * stable id, an event's place, a stream's number. Runs inside the traced program: the rules of
 * capture/capture.h hold.
 */
#ifndef API_CUDA_SOURCE_ENCODE_H
#define API_CUDA_SOURCE_ENCODE_H

#include "api/cuda/cuda_calls.h"
#include "api/cuda/source/gpu_time.h"
#include "api/cuda/source/source.h"

#include <string.h>

/* Any pointer or 64-bit number as the value of a slot. */
#define CUDA_SLOT(value) ((uint64_t)(uintptr_t)(value))

/* IEEE bits. */
static inline uint64_t cuda_slot_f32(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* Id of an object that a call uses. */
static inline uint64_t cuda_id(enum cuda_object object, uint64_t raw)
{
    return tsm_handle_id(SBT_API_CUDA, object, raw);
}

/* Id of an object that a query gives: one that we have not met is no reason to mark the trace. */
static inline uint64_t cuda_id_if_known(enum cuda_object object, uint64_t raw)
{
    const struct tsm_handle *handle = tsm_handle_find(SBT_API_CUDA, object, raw);

    return handle ? handle->id : 0;
}

/* Id of an object that a call has made. `name` may be NULL. */
static inline uint64_t cuda_id_new(enum cuda_object object, uint64_t raw, const char *name)
{
    struct tsm_handle *handle = tsm_handle_add(SBT_API_CUDA, object, raw);

    handle->name = name ? tsm_intern(name, strlen(name)) : 0;
    return handle->id;
}

/* The same where each call may give the same object again. The driver reuses values: an object of
 * another name or owner is another object. `owner`: the id of what it belongs to (a function's
 * module), which may be gone without a call that names the object; 0: unknown. */
static inline uint64_t cuda_id_shared(enum cuda_object object, uint64_t raw, uint64_t owner,
                                      const char *name)
{
    struct tsm_handle *handle = tsm_handle_find(SBT_API_CUDA, object, raw);

    if (handle && !tsm_handle_is_leaving(handle) &&
        (!owner || !handle->owner || handle->owner == owner) &&
        (!name || handle->name == tsm_intern(name, strlen(name))))
        return handle->id;
    handle = tsm_handle_add(SBT_API_CUDA, object, raw);
    handle->owner = (uint32_t)owner;
    handle->name = name ? tsm_intern(name, strlen(name)) : 0;
    return handle->id;
}

/* Id of an object that a call is about to destroy. It is forgotten when the call has succeeded. */
static inline uint64_t cuda_id_leaves(enum cuda_object object, uint64_t raw)
{
    return tsm_handle_leaves(SBT_API_CUDA, object, raw);
}

static inline void cuda_id_left(enum cuda_object object, uint64_t raw, uint64_t id, bool is_gone)
{
    tsm_handle_left(SBT_API_CUDA, object, raw, (uint32_t)id, is_gone);
}

static inline bool cuda_is_captured(const struct tsm_call *call)
{
    return (call->flags & SBT_RECORD_CAPTURED) != 0;
}

/* The call is a command of the stream, or, while that is captured, becomes part of a graph: also by
 * waiting for `event` (NULL: it waits for none). */
static inline void cuda_on_stream(struct tsm_call *call, CUstream raw, bool per_thread,
                                  CUevent event, enum tsm_stream_use use)
{
    struct tsm_stream *stream = per_thread ? cuda_stream_ptsz(raw) : cuda_stream(raw);

    if (__builtin_expect(cuda_capture_runs(), 0) && cuda_captures(raw, per_thread, event))
        tsm_call_captured(call, stream);
    else
        tsm_call_on_stream(call, stream, use);
}

/* An event now stands for the call's place on its stream, or for one in a graph: then its `user` is
 * not NULL. */
static inline void cuda_signalled(const struct tsm_call *call, CUevent event)
{
    struct tsm_handle *handle = tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_EVENT, CUDA_SLOT(event));

    if (handle)
        tsm_handle_stands(handle, call->stream, call->position,
                          cuda_is_captured(call) ? handle : NULL);
}

/* Returns where the event stands before a call that waits for it: another thread may record it
 * before that call returns, and then more is not known to be complete. Zeroed: it is not known. */
static inline struct tsm_handle cuda_event_now(CUevent event)
{
    const struct tsm_handle *handle =
        tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_EVENT, CUDA_SLOT(event));

    return handle ? tsm_handle_now(handle) : (struct tsm_handle){0};
}

/* The call's stream waits for that place. */
static inline void cuda_waits(const struct tsm_call *call, const struct tsm_handle *event)
{
    if (event->raw && call->stream)
        tsm_stream_waits(call->stream, event);
}

static inline void cuda_event_settled(const struct tsm_handle *event)
{
    if (tsm_stream_is_at(event, NULL))
        tsm_values_publish_completed(event->stream, event->position);
}

static inline void cuda_event_synchronised(const struct tsm_handle *event)
{
    if (event->raw)
        tsm_synchronised_event(event);
    cuda_checksum_sync(tsm_stream_is_at(event, NULL) ? event->stream : NULL);
    tsm_checkpoint_point(true);
}

static inline void cuda_stream_synchronised(struct tsm_stream *stream)
{
    if (stream)
        tsm_synchronised(SBT_API_CUDA, stream);
    cuda_checksum_sync(stream);
    tsm_checkpoint_point(true);
}

static inline uint64_t cuda_stream_slot(const struct tsm_stream *stream)
{
    return stream ? tsm_stream_number(stream) : SBT_STREAM_NONE;
}

/* A command is recorded; its call is over. */
static inline void cuda_commanded(const struct tsm_call *call)
{
    if (!cuda_is_captured(call))
        cuda_checksum_command(call->stream, call->position);
    tsm_checkpoint_point(false);
}

/* The device writes `size` bytes at `address` by this call. */
static inline void cuda_readback(struct tsm_call *call, const void *address, uint64_t size,
                                 bool complete)
{
    const struct tsm_box box = {
        .data = address, .width = size, .height = 1, .depth = 1, .pitch = size, .plane = size};

    if (!cuda_is_device(address))
        tsm_readback(call, &box, complete);
}

#endif
