/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cuda/cuda_wrappers_fake.h"

#include "api/cuda/cuda_hooks.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

char fake_log[4096];
struct tsm_call fake_record;
uint32_t fake_type;
int64_t fake_result;
bool fake_recording;
struct tsm_handle fake_handle;
bool fake_driver;

static uint64_t fake_slots[SBT_FIELD_COUNT_MAX];

void fake_reset(void)
{
    fake_log[0] = 0;
    fake_recording = true;
    fake_driver = true;
    memset(&fake_handle, 0, sizeof(fake_handle));
}

void fake_note(const char *format, ...)
{
    size_t used = strlen(fake_log);
    va_list ap;

    va_start(ap, format);
    vsnprintf(fake_log + used, sizeof(fake_log) - used, format, ap);
    va_end(ap);
    strncat(fake_log, " ", sizeof(fake_log) - strlen(fake_log) - 1);
}

uint32_t tsm_checkpoint_due;
uint32_t cuda_captures_begun;
bool cuda_gpu_time_wanted;

/* While one runs, stream 6 is captured, and what waits for event 66 is. */
bool cuda_captures(CUstream stream, bool per_thread, CUevent event)
{
    return (size_t)stream == 6 || (size_t)event == 66;
}

void tsm_call_captured(struct tsm_call *call, struct tsm_stream *stream)
{
    call->flags |= SBT_RECORD_CAPTURED;
    fake_note("captured:%zu", (size_t)stream);
}

/* ---- capture ------------------------------------------------------------------------------- */

bool tsm_call_begin(struct tsm_call *call, uint32_t type)
{
    if (!fake_recording)
        return false;
    memset(call, 0, sizeof(*call));
    call->slots = fake_slots;
    fake_type = type;
    return true;
}

void tsm_call_on_stream(struct tsm_call *call, struct tsm_stream *stream, enum tsm_stream_use use)
{
    call->stream = stream;
    call->position = 7;
    fake_note("%s:%zu", use == TSM_ENQUEUES ? "enqueues" : "blocks", (size_t)stream);
}

void tsm_call_returned(struct tsm_call *call, int64_t result, bool failed)
{
    fake_result = result;
    fake_note(failed ? "failed" : "returned");
}

void tsm_call_bytes(struct tsm_call *call, const void *data, size_t size)
{
    fake_note("bytes:%zu", size);
    tsm_call_slot(call, 0);
}

void tsm_call_string(struct tsm_call *call, const char *text)
{
    fake_note("string:%s", text ? text : "none");
    tsm_call_slot(call, 0);
}

void tsm_call_blob(struct tsm_call *call, const void *data, uint64_t size)
{
    fake_note("blob:%zu", (size_t)size);
    tsm_call_slot(call, 0);
}

void tsm_call_payload(struct tsm_call *call, const void *data, uint64_t size, bool taken)
{
    tsm_call_blob(call, data, size);
}

void cuda_payload(struct tsm_call *call, const void *data, uint64_t size, bool taken)
{
    tsm_call_payload(call, data, size, taken);
}

bool cuda_is_device(const void *address)
{
    return false;
}

void tsm_call_flag(struct tsm_call *call, uint32_t flags)
{
    call->flags |= flags;
}

void tsm_call_commit(struct tsm_call *call)
{
    fake_record = *call;
    fake_note("commit");
}

uint32_t tsm_intern(const char *text, size_t size)
{
    return (uint32_t)size;
}

struct tsm_handle *tsm_handle_find(enum sbt_api api, uint32_t type, uint64_t raw)
{
    return raw && fake_handle.raw == raw ? &fake_handle : NULL;
}

struct tsm_handle *tsm_handle_add(enum sbt_api api, uint32_t type, uint64_t raw)
{
    fake_note("add:%zu", (size_t)raw);
    fake_handle.raw = raw;
    fake_handle.id++;
    return &fake_handle;
}

uint32_t tsm_handle_leaves(enum sbt_api api, uint32_t type, uint64_t raw)
{
    fake_note("leaves:%zu", (size_t)raw);
    return tsm_handle_id(api, type, raw);
}

void tsm_handle_left(enum sbt_api api, uint32_t type, uint64_t raw, uint32_t id, bool is_gone)
{
    fake_note("%s:%zu", is_gone ? "left" : "stays", (size_t)raw);
}

bool tsm_handle_is_leaving(const struct tsm_handle *handle)
{
    return false;
}

uint32_t tsm_handle_id(enum sbt_api api, uint32_t type, uint64_t raw)
{
    return raw ? (uint32_t)raw + 100 : 0;
}

uint32_t tsm_stream_number(const struct tsm_stream *stream)
{
    return (uint32_t)(size_t)stream;
}

void tsm_handle_stands(struct tsm_handle *event, struct tsm_stream *stream, uint64_t position,
                       void *user)
{
    event->stream = stream;
    event->position = position;
    event->user = user;
}

struct tsm_handle tsm_handle_now(const struct tsm_handle *event)
{
    return *event;
}

void tsm_stream_at(struct tsm_handle *handle, struct tsm_stream *stream, uint64_t position)
{
    handle->stream = stream;
    handle->position = position;
}

bool tsm_stream_is_at(const struct tsm_handle *handle, const struct tsm_stream *stream)
{
    return handle->stream && (!stream || handle->stream == stream);
}

void tsm_stream_waits(struct tsm_stream *stream, const struct tsm_handle *event)
{
    fake_note("waits:%u:%zu", event->id, (size_t)event->position);
}

void tsm_readback(struct tsm_call *call, const struct tsm_box *box, bool complete)
{
    fake_note("readback:%zu%s", (size_t)box->width, complete ? ":complete" : "");
}

void tsm_synchronised(enum sbt_api api, struct tsm_stream *stream)
{
    fake_note("synchronised:%zu", (size_t)stream);
}

void tsm_synchronised_event(const struct tsm_handle *event)
{
    fake_note("synchronised:event:%u:%zu", event->id, (size_t)event->position);
}

void tsm_hostmem_track(uint64_t start, uint64_t size)
{
    fake_note("track:%zu", (size_t)size);
}

void tsm_memory_leaves(uint64_t start)
{
    fake_note("memory-leaves:%zu", (size_t)start);
}

void tsm_memory_left(uint64_t start, bool is_gone)
{
    fake_note("%s:%zu", is_gone ? "untrack" : "memory-stays", (size_t)start);
}

bool fake_is_shared, tsm_handed_any;

void tsm_handed_tell_send(enum sbt_api api) {}

bool tsm_hostmem_publish(void)
{
    fake_note("publish");
    return fake_is_shared;
}

bool tsm_hostmem_any(void)
{
    return fake_is_shared;
}

void tsm_device_foretold(struct tsm_call *call)
{
    fake_note("foretold");
}

/* Around each wait for the GPU: not looked at here. */
void tsm_values_publish(void) {}

void tsm_values_publish_completed(const struct tsm_stream *stream, uint64_t position) {}

/* ---- by hand ------------------------------------------------------------------------------- */

bool cuda_bind(void)
{
    return false;
}

/* Streams are named by their handle; the default ones by 1000 and 2000. */
struct tsm_stream *cuda_stream(CUstream stream)
{
    return (struct tsm_stream *)(stream ? (size_t)stream : 1000);
}

struct tsm_stream *cuda_stream_ptsz(CUstream stream)
{
    return (struct tsm_stream *)(stream ? (size_t)stream : 2000);
}

void cuda_on_synchronized_stream(struct tsm_call *call, CUstream stream, bool per_thread)
{
    call->stream = per_thread ? cuda_stream_ptsz(stream) : cuda_stream(stream);
    call->position = 7;
    fake_note("settles:%zu", (size_t)call->stream);
}

void cuda_context_synchronised(CUcontext context)
{
    fake_note("synchronised:context");
}

void cuda_memory_exported(void)
{
    fake_note("exported");
}

void cuda_checksum_sync(struct tsm_stream *stream) {}

void cuda_after_function(struct tsm_call *call, bool ok, const CUfunction *function,
                         CUmodule module, const char *name)
{
}

void cuda_after_alloc(struct tsm_call *call, bool ok, CUdeviceptr start, uint64_t size) {}

void cuda_after_free(struct tsm_call *call, bool ok, CUdeviceptr start) {}

void cuda_after_device_bytes(struct tsm_call *call, bool ok, CUdeviceptr start, uint64_t size) {}

void cuda_after_device_rows(struct tsm_call *call, bool ok, CUdeviceptr start, uint64_t pitch,
                            uint64_t width, uint64_t height)
{
}

void cuda_before_device_bytes(struct tsm_call *call, CUdeviceptr start, uint64_t size)
{
    fake_note("writes:%zu", (size_t)size);
}

void cuda_before_device_rows(struct tsm_call *call, CUdeviceptr start, uint64_t pitch,
                             uint64_t width, uint64_t height)
{
    fake_note("writes:%zu", (size_t)(width * height));
}

void cuda_checksum_command(struct tsm_stream *stream, uint64_t position) {}

bool tsm_hostmem_is_tracked(uint64_t address)
{
    return false;
}

/* ---- which copies wait: none ---------------------------------------------------------------- */

bool cuda_copy_waits(CUdeviceptr dst, CUdeviceptr src)
{
    return false;
}

void cuda_after_copy(struct tsm_call *call, bool ok, CUdeviceptr dst, CUdeviceptr src, size_t size,
                     bool waited)
{
}

bool cuda_copy_is_taken(const void *dst)
{
    return false;
}

bool cuda_copy2d_waits(const CUDA_MEMCPY2D *copy, bool synchronous)
{
    return false;
}

bool cuda_copy2d_v1_waits(const CUDA_MEMCPY2D_v1 *copy, bool synchronous)
{
    return false;
}

bool cuda_copy3d_waits(const CUDA_MEMCPY3D *copy, bool synchronous)
{
    return false;
}

bool cuda_copy3d_v1_waits(const CUDA_MEMCPY3D_v1 *copy, bool synchronous)
{
    return false;
}

bool cuda_copy3d_peer_waits(const CUDA_MEMCPY3D_PEER *copy, bool synchronous)
{
    return false;
}
