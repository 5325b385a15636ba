/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/stream/accesses.h"
#include "emu/cuda/stream/event.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "emu/cuda/core/context.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/core/object.h"
#include "emu/cuda/graph/capture.h"
#include "emu/cuda/graph/graph.h"
#include "emu/cuda/stream/shared_event.h"
#include "emu/cuda/stream/stream.h"
#include "emu/cuda/stream/virtual_time.h"

struct CUevent_st {
    CUcontext context;
    unsigned flags;
    struct emu_command *record;    /* NULL: never recorded */
    struct emu_captured *captured; /* the last record was in a capturing stream; owned */
    struct emu_shared_event *cell; /* of an interprocess event, which asks this, not `record` */
    CUevent next;
};

/* Guards the list and every event's `record`. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUevent events;

/* The record that a wait issued now must wait for, with a reference; NULL: nothing to wait for. */
static struct emu_command *last_record(CUevent event)
{
    pthread_mutex_lock(&lock);
    struct emu_command *record = event->record;
    if (record)
        emu_command_ref(record);
    pthread_mutex_unlock(&lock);
    return record;
}

/* One of the two, or none. */
static void set_record(CUevent event, struct emu_command *record, struct emu_captured *captured)
{
    pthread_mutex_lock(&lock);
    struct emu_command *before = event->record;
    struct emu_captured *captured_before = event->captured;
    event->record = record;
    event->captured = captured;
    pthread_mutex_unlock(&lock);
    emu_command_unref(before);
    emu_captured_destroy(captured_before);
}

static struct emu_command *new_record(CUevent event)
{
    return event->cell ? emu_shared_event_record(event->cell)
                       : emu_command_create(&emu_command_mark, 0);
}

/* The event takes the reference. */
static CUresult send_record(CUevent event, CUstream stream, bool is_node)
{
    struct emu_command *mark = new_record(event);
    CUresult result = emu_capture_check_legacy(stream);

    if (mark && is_node)
        mark->event = event;
    if (!result)
        result = mark ? emu_stream_submit(stream, mark) : CUDA_ERROR_OUT_OF_MEMORY;
    if (result)
        emu_command_unref(mark);
    else
        set_record(event, mark, NULL);
    return result;
}

CUresult emu_event_record(CUevent event, CUstream stream)
{
    return send_record(event, stream, false);
}

CUresult emu_event_wait(CUevent event, CUstream stream)
{
    struct emu_command *record, *wait;

    if (event->cell)
        return emu_stream_send(stream, emu_shared_event_wait(event->cell), false);
    record = last_record(event);
    wait = emu_command_create(&emu_command_mark, 0);
    if (wait && !emu_command_after(wait, record)) {
        emu_command_unref(wait);
        wait = NULL;
    }
    emu_command_unref(record);
    return emu_stream_send(stream, wait, false);
}

/* ---- in graphs ---- */

static CUevent event_of(const struct emu_command *command)
{
    CUevent event;

    memcpy(&event, command->payload, sizeof(event));
    return event;
}

static CUresult do_nothing(struct emu_command *command)
{
    (void)command;
    return CUDA_SUCCESS;
}

static CUresult record_submit(const struct emu_command *command, CUstream stream)
{
    CUevent event = event_of(command);

    return emu_object_is(EMU_EVENT, event) ? send_record(event, stream, true)
                                           : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult wait_submit(const struct emu_command *command, CUstream stream)
{
    CUevent event = event_of(command);

    return emu_object_is(EMU_EVENT, event) ? emu_event_wait(event, stream)
                                           : CUDA_ERROR_INVALID_HANDLE;
}

static void record_describe(struct emu_command *command, CUgraphNodeParams *out)
{
    out->eventRecord.event = event_of(command);
}

static void wait_describe(struct emu_command *command, CUgraphNodeParams *out)
{
    out->eventWait.event = event_of(command);
}

static const struct emu_command_type record_type = {.run = do_nothing,
                                                    .accesses = emu_accesses_none,
                                                    .node = CU_GRAPH_NODE_TYPE_EVENT_RECORD + 1,
                                                    .describe = record_describe,
                                                    .submit = record_submit};
static const struct emu_command_type wait_type = {.run = do_nothing,
                                                  .accesses = emu_accesses_none,
                                                  .node = CU_GRAPH_NODE_TYPE_WAIT_EVENT + 1,
                                                  .describe = wait_describe,
                                                  .submit = wait_submit};

CUresult emu_event_prepare(struct emu_command **out, CUevent event, bool is_wait)
{
    if (!emu_object_is(EMU_EVENT, event))
        return CUDA_ERROR_INVALID_VALUE;
    *out = emu_command_create(is_wait ? &wait_type : &record_type, sizeof(event));
    if (!*out)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy((*out)->payload, &event, sizeof(event));
    return CUDA_SUCCESS;
}

/* A node, for what the program calls external. */
static CUresult capture_external(CUevent event, CUstream stream, bool is_wait)
{
    struct emu_command *command;
    CUresult result = emu_event_prepare(&command, event, is_wait);

    return result ? result : emu_stream_send(stream, command, false);
}

/* An event that is recorded while capturing stands for a place in the graph. */
static CUresult record_captured(CUevent event, CUstream stream, unsigned flags)
{
    struct emu_captured *captured;

    if (flags & CU_EVENT_RECORD_EXTERNAL)
        return capture_external(event, stream, false);
    captured = emu_capture_snapshot(stream);
    if (!captured)
        return CUDA_ERROR_OUT_OF_MEMORY;
    set_record(event, NULL, captured);
    return CUDA_SUCCESS;
}

bool emu_event_wait_captured(CUresult *result, CUevent event, CUstream stream, unsigned flags)
{
    bool is_capturing = emu_stream_is_capturing(stream);

    if (flags & CU_EVENT_WAIT_EXTERNAL && is_capturing)
        *result = capture_external(event, stream, true);
    else if (event->captured)
        *result = emu_capture_join(stream, event->captured);
    else if (is_capturing)
        *result = emu_capture_isolated(stream);
    else
        return false;
    return true;
}

/* ---- life ---- */

/* The event takes the cell, also when it fails. */
static CUresult create(CUevent *out, CUcontext context, unsigned flags,
                       struct emu_shared_event *cell)
{
    CUevent event = calloc(1, sizeof(*event));

    if (!event || !emu_object_add(EMU_EVENT, event)) {
        free(event);
        emu_shared_event_destroy(cell);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    event->context = context;
    event->flags = flags;
    event->cell = cell;
    pthread_mutex_lock(&lock);
    event->next = events;
    events = event;
    pthread_mutex_unlock(&lock);
    *out = event;
    return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *phEvent, unsigned int Flags)
{
    struct emu_shared_event *cell = NULL;
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (result)
        return result;
    if (!phEvent || Flags & ~7u ||
        (Flags & CU_EVENT_INTERPROCESS && !(Flags & CU_EVENT_DISABLE_TIMING)))
        return CUDA_ERROR_INVALID_VALUE;
    if (Flags & CU_EVENT_INTERPROCESS && !(cell = emu_shared_event_create()))
        return CUDA_ERROR_OUT_OF_MEMORY;
    return create(phEvent, context, Flags, cell);
}

/* `at` points to it in the list. What waits for its record keeps that alive. */
static void destroy_locked(CUevent *at)
{
    CUevent event = *at;

    *at = event->next;
    emu_object_remove(event);
    emu_command_unref(event->record);
    emu_captured_destroy(event->captured);
    emu_shared_event_destroy(event->cell);
    free(event);
}

CUresult cuEventDestroy_v2(CUevent hEvent)
{
    CUresult result = emu_ready();
    CUevent *at = &events;

    if (!result && !emu_object_is(EMU_EVENT, hEvent))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result)
        return result;
    pthread_mutex_lock(&lock);
    while (*at && *at != hEvent)
        at = &(*at)->next;
    if (*at)
        destroy_locked(at);
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent hEvent)
{
    return cuEventDestroy_v2(hEvent);
}

void emu_context_destroy_events(CUcontext context)
{
    pthread_mutex_lock(&lock);
    for (CUevent *at = &events; *at;) {
        if ((*at)->context == context)
            destroy_locked(at);
        else
            at = &(*at)->next;
    }
    pthread_mutex_unlock(&lock);
}

/* ---- use ---- */

CUresult emu_event_check(CUevent event, CUcontext context)
{
    return event->context == context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* An event needs no current context; the error is that of its own. */
static CUresult enter(CUevent event)
{
    CUresult result = emu_ready();

    if (!result && !emu_object_is(EMU_EVENT, event))
        result = CUDA_ERROR_INVALID_HANDLE;
    return result ? result : emu_context_error(event->context);
}

static CUresult record(CUevent event, CUstream handle, unsigned flags, bool per_thread)
{
    CUstream stream;
    CUresult result = emu_stream_enter(&stream, handle, per_thread);

    if (!result)
        result = enter(event);
    if (!result && (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result && event->context != stream->context)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result)
        return result;
    return emu_stream_is_capturing(stream) ? record_captured(event, stream, flags)
                                           : emu_event_record(event, stream);
}

CUresult cuEventRecord(CUevent hEvent, CUstream hStream)
{
    return record(hEvent, hStream, 0, false);
}

CUresult cuEventRecord_ptsz(CUevent hEvent, CUstream hStream)
{
    return record(hEvent, hStream, 0, true);
}

CUresult cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags)
{
    return record(hEvent, hStream, flags, false);
}

CUresult cuEventRecordWithFlags_ptsz(CUevent hEvent, CUstream hStream, unsigned int flags)
{
    return record(hEvent, hStream, flags, true);
}

CUresult cuEventQuery(CUevent hEvent)
{
    CUresult result = enter(hEvent);

    if (!result)
        result = hEvent->captured ? CUDA_ERROR_CAPTURED_EVENT : emu_capture_unsafe();
    if (result)
        return result;
    emu_query();
    struct emu_command *record = last_record(hEvent);
    if (hEvent->cell ? !emu_shared_event_is_done(hEvent->cell)
                     : record && !emu_command_is_past(record))
        result = CUDA_ERROR_NOT_READY;
    emu_command_unref(record);
    return result ? result : emu_context_error(hEvent->context);
}

/* Other processes do not wake us, so we look. */
static CUresult wait_for_cell(CUevent event)
{
    const struct timespec moment = {.tv_nsec = 100000};

    while (!emu_shared_event_is_done(event->cell) && !emu_context_error(event->context)) {
        emu_poll();
        nanosleep(&moment, NULL);
    }
    return emu_context_error(event->context);
}

CUresult cuEventSynchronize(CUevent hEvent)
{
    CUresult result = enter(hEvent);

    if (!result)
        result = hEvent->captured ? CUDA_ERROR_CAPTURED_EVENT : emu_capture_unsafe();
    if (result)
        return result;
    emu_clock_charge();
    if (hEvent->cell)
        return wait_for_cell(hEvent);
    struct emu_command *record = last_record(hEvent);
    if (record)
        emu_command_wait(record);
    emu_command_unref(record);
    return emu_context_error(hEvent->context);
}

/* The time of a done record; CUDA_ERROR_INVALID_HANDLE when there was no timed record. */
static CUresult time_of(CUevent event, uint64_t *out_ns)
{
    CUresult result = enter(event);
    struct emu_command *record;

    if (!result && event->captured)
        result = CUDA_ERROR_CAPTURED_EVENT;
    if (result)
        return result;
    record = last_record(event);
    if (!record || event->flags & CU_EVENT_DISABLE_TIMING)
        result = CUDA_ERROR_INVALID_HANDLE;
    else if (!emu_command_is_past(record))
        result = CUDA_ERROR_NOT_READY;
    else
        *out_ns = record->done_ns;
    emu_command_unref(record);
    return result;
}

CUresult cuEventElapsedTime(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
    uint64_t start = 0, end = 0;
    CUresult result_start, result_end;

    if (emu_settings.is_virtual && !emu_ready()) /* a program may ask for nothing else */
        emu_query();
    result_start = time_of(hStart, &start);
    result_end = time_of(hEnd, &end);
    if (!pMilliseconds)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    /* An event that can never answer comes before one that cannot answer yet. */
    if (result_start && result_start != CUDA_ERROR_NOT_READY)
        return result_start;
    if (result_end || result_start)
        return result_end ? result_end : result_start;
    *pMilliseconds = (float)((double)(int64_t)(end - start) / 1e6);
    return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime_v2(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
    return cuEventElapsedTime(pMilliseconds, hStart, hEnd);
}

/* ---- a whole context as a source or a sink ---- */

CUresult cuCtxRecordEvent(CUcontext hCtx, CUevent hEvent)
{
    CUcontext context;
    CUresult result = emu_context_resolve(&context, hCtx);
    struct emu_command *mark;

    if (!result)
        result = enter(hEvent);
    if (result)
        return result;
    mark = new_record(hEvent);
    if (!mark || !emu_command_after_context(mark, context))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    else
        result = emu_stream_submit(context->legacy, mark);
    if (result)
        emu_command_unref(mark);
    else
        set_record(hEvent, mark, NULL);
    return result;
}

/* ---- between processes ---- */

CUresult cuIpcGetEventHandle(CUipcEventHandle *pHandle, CUevent event)
{
    CUresult result = enter(event);

    if (!result && !event->cell)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (!result && !pHandle)
        result = CUDA_ERROR_INVALID_VALUE;
    return result ? result : emu_shared_event_export(pHandle, event->cell);
}

CUresult cuIpcOpenEventHandle(CUevent *phEvent, CUipcEventHandle handle)
{
    struct emu_shared_event *cell;
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (!result && !phEvent)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        result = emu_shared_event_import(&cell, &handle);
    return result ? result
                  : create(phEvent, context, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING, cell);
}
