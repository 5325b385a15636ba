/* SPDX-License-Identifier: Apache-2.0
 *
 * What a stream does besides copies and kernels: functions of the program, and waits for and
 * writes of values in memory.
 */
#include "emu/emu.h"

#include <stdatomic.h>
#include <string.h>

#include "emu/emu_context.h"
#include "emu/emu_memory.h"
#include "emu/emu_stream.h"
#include "emu/emu_watch.h"

/* ---- functions of the program ---- */

struct call {
    CUhostFn function;         /* or */
    CUstreamCallback callback; /* which is told the context's error */
    CUstream handle;           /* as the program named the stream */
    void *data;
};

static CUresult call_run(struct emu_command *command)
{
    struct call *call = (struct call *)(void *)command->payload;
    CUresult error = emu_context_error(command->stream->context);

    if (call->function && error)
        return CUDA_SUCCESS; /* as promised, not called after an error */
    emu_callback_begin();
    if (call->function)
        call->function(call->data);
    else
        call->callback(call->handle, error, call->data);
    emu_callback_end();
    return CUDA_SUCCESS;
}

static const struct emu_command_type call_type = {.run = call_run, .runs_after_error = true};

static CUresult send_call(struct call what, CUstream handle, bool per_thread)
{
    CUstream stream;
    CUresult result = emu_stream_enter(&stream, handle, per_thread);
    struct emu_command *command;

    if (result)
        return result;
    if (!what.function && !what.callback)
        return CUDA_ERROR_INVALID_VALUE;
    what.handle = handle;
    command = emu_command_create(&call_type, sizeof(what));
    if (command)
        memcpy(command->payload, &what, sizeof(what));
    return emu_stream_send(stream, command, false);
}

static CUresult add_callback(CUstream handle, CUstreamCallback callback, void *data, unsigned flags,
                             bool per_thread)
{
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    return send_call((struct call){.callback = callback, .data = data}, handle, per_thread);
}

CUresult cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData)
{
    return send_call((struct call){.function = fn, .data = userData}, hStream, false);
}

CUresult cuLaunchHostFunc_ptsz(CUstream hStream, CUhostFn fn, void *userData)
{
    return send_call((struct call){.function = fn, .data = userData}, hStream, true);
}

CUresult cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void *userData,
                             unsigned int flags)
{
    return add_callback(hStream, callback, userData, flags, false);
}

CUresult cuStreamAddCallback_ptsz(CUstream hStream, CUstreamCallback callback, void *userData,
                                  unsigned int flags)
{
    return add_callback(hStream, callback, userData, flags, true);
}

/* ---- values in memory ---- */

struct value {
    uint64_t address;
    uint64_t value;
    unsigned size; /* 4 or 8 */
    unsigned flags;
};

static uint64_t load(const struct value *v)
{
    void *p = (void *)(uintptr_t)v->address;

    return v->size == 8 ? __atomic_load_n((uint64_t *)p, __ATOMIC_ACQUIRE)
                        : __atomic_load_n((uint32_t *)p, __ATOMIC_ACQUIRE);
}

/* "Greater or equal" is cyclic: the difference as a signed number of the value's size. */
static bool is_value_there(struct emu_command *command)
{
    const struct value *v = (const struct value *)(const void *)command->payload;
    uint64_t now = load(v);

    switch (v->flags & 3u) {
    case CU_STREAM_WAIT_VALUE_GEQ:
        return v->size == 8 ? (int64_t)(now - v->value) >= 0
                            : (int32_t)(uint32_t)(now - v->value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
        return now == v->value;
    case CU_STREAM_WAIT_VALUE_AND:
        return (now & v->value) != 0;
    default:
        return (uint32_t) ~(now | v->value) != 0 || (v->size == 8 && ~(now | v->value) != 0);
    }
}

static CUresult wait_run(struct emu_command *command)
{
    return CUDA_SUCCESS;
}

static CUresult write_run(struct emu_command *command)
{
    const struct value *v = (const struct value *)(const void *)command->payload;
    void *p = (void *)(uintptr_t)v->address;

    if (v->size == 8)
        __atomic_store_n((uint64_t *)p, v->value, __ATOMIC_RELEASE);
    else
        __atomic_store_n((uint32_t *)p, (uint32_t)v->value, __ATOMIC_RELEASE);
    emu_watch_written(v->address, v->size);
    return CUDA_SUCCESS;
}

static const struct emu_command_type wait_type = {.run = wait_run, .is_ready = is_value_there};
static const struct emu_command_type write_type = {.run = write_run};

static CUresult check_value(const struct value *v)
{
    return v->address % v->size || !emu_memory_covers(v->address, v->size)
               ? CUDA_ERROR_INVALID_VALUE
               : CUDA_SUCCESS;
}

static CUresult send_value(CUstream stream, const struct emu_command_type *type, struct value what)
{
    CUresult result = check_value(&what);
    struct emu_command *command;

    if (result)
        return result;
    command = emu_command_create(type, sizeof(what));
    if (command)
        memcpy(command->payload, &what, sizeof(what));
    return emu_stream_send(stream, command, false);
}

static CUresult value(const struct emu_command_type *type, struct value what, unsigned flags_max,
                      CUstream handle, bool per_thread)
{
    CUstream stream;
    CUresult result = emu_stream_enter(&stream, handle, per_thread);

    if (!result && what.flags > flags_max)
        result = CUDA_ERROR_INVALID_VALUE;
    return result ? result : send_value(stream, type, what);
}

static CUresult send_operation(CUstream stream, const CUstreamBatchMemOpParams *p)
{
    switch ((int)p->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        return send_value(
            stream, &wait_type,
            (struct value){p->waitValue.address, p->waitValue.value, 4, p->waitValue.flags});
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        return send_value(
            stream, &wait_type,
            (struct value){p->waitValue.address, p->waitValue.value64, 8, p->waitValue.flags});
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        return send_value(
            stream, &write_type,
            (struct value){p->writeValue.address, p->writeValue.value, 4, p->writeValue.flags});
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        return send_value(
            stream, &write_type,
            (struct value){p->writeValue.address, p->writeValue.value64, 8, p->writeValue.flags});
    case CU_STREAM_MEM_OP_BARRIER:
        return CUDA_SUCCESS; /* commands of a stream see each other's memory anyway */
    }
    return CUDA_ERROR_NOT_SUPPORTED;
}

#define BATCH_MAX 256

static CUresult batch(CUstream handle, unsigned count, const CUstreamBatchMemOpParams *operations,
                      unsigned flags, bool per_thread)
{
    CUstream stream;
    CUresult result = emu_stream_enter(&stream, handle, per_thread);

    if (!result && (count > BATCH_MAX || (count && !operations) || flags))
        result = CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count && !result; i++)
        result = send_operation(stream, &operations[i]);
    return result;
}

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value_,
                                unsigned int flags)
{
    return value(&wait_type, (struct value){addr, value_, 4, flags}, CU_STREAM_WAIT_VALUE_NOR,
                 stream, false);
}

CUresult cuStreamWaitValue32_v2_ptsz(CUstream stream, CUdeviceptr addr, cuuint32_t value_,
                                     unsigned int flags)
{
    return value(&wait_type, (struct value){addr, value_, 4, flags}, CU_STREAM_WAIT_VALUE_NOR,
                 stream, true);
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value_,
                                 unsigned int flags)
{
    return value(&write_type, (struct value){addr, value_, 4, flags},
                 CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER, stream, false);
}

CUresult cuStreamWriteValue32_v2_ptsz(CUstream stream, CUdeviceptr addr, cuuint32_t value_,
                                      unsigned int flags)
{
    return value(&write_type, (struct value){addr, value_, 4, flags},
                 CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER, stream, true);
}

CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value_,
                                unsigned int flags)
{
    return value(&wait_type, (struct value){addr, value_, 8, flags}, CU_STREAM_WAIT_VALUE_NOR,
                 stream, false);
}

CUresult cuStreamWaitValue64_v2_ptsz(CUstream stream, CUdeviceptr addr, cuuint64_t value_,
                                     unsigned int flags)
{
    return value(&wait_type, (struct value){addr, value_, 8, flags}, CU_STREAM_WAIT_VALUE_NOR,
                 stream, true);
}

CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value_,
                                 unsigned int flags)
{
    return value(&write_type, (struct value){addr, value_, 8, flags},
                 CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER, stream, false);
}

CUresult cuStreamWriteValue64_v2_ptsz(CUstream stream, CUdeviceptr addr, cuuint64_t value_,
                                      unsigned int flags)
{
    return value(&write_type, (struct value){addr, value_, 8, flags},
                 CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER, stream, true);
}

CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned int count,
                               CUstreamBatchMemOpParams *paramArray, unsigned int flags)
{
    return batch(stream, count, paramArray, flags, false);
}

CUresult cuStreamBatchMemOp_v2_ptsz(CUstream stream, unsigned int count,
                                    CUstreamBatchMemOpParams *paramArray, unsigned int flags)
{
    return batch(stream, count, paramArray, flags, true);
}

CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value_,
                             unsigned int flags)
{
    return value(&wait_type, (struct value){addr, value_, 4, flags}, CU_STREAM_WAIT_VALUE_NOR,
                 stream, false);
}

CUresult cuStreamWaitValue32_ptsz(CUstream stream, CUdeviceptr addr, cuuint32_t value_,
                                  unsigned int flags)
{
    return value(&wait_type, (struct value){addr, value_, 4, flags}, CU_STREAM_WAIT_VALUE_NOR,
                 stream, true);
}

CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value_,
                              unsigned int flags)
{
    return value(&write_type, (struct value){addr, value_, 4, flags},
                 CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER, stream, false);
}

CUresult cuStreamWriteValue32_ptsz(CUstream stream, CUdeviceptr addr, cuuint32_t value_,
                                   unsigned int flags)
{
    return value(&write_type, (struct value){addr, value_, 4, flags},
                 CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER, stream, true);
}

CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value_,
                             unsigned int flags)
{
    return value(&wait_type, (struct value){addr, value_, 8, flags}, CU_STREAM_WAIT_VALUE_NOR,
                 stream, false);
}

CUresult cuStreamWaitValue64_ptsz(CUstream stream, CUdeviceptr addr, cuuint64_t value_,
                                  unsigned int flags)
{
    return value(&wait_type, (struct value){addr, value_, 8, flags}, CU_STREAM_WAIT_VALUE_NOR,
                 stream, true);
}

CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value_,
                              unsigned int flags)
{
    return value(&write_type, (struct value){addr, value_, 8, flags},
                 CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER, stream, false);
}

CUresult cuStreamWriteValue64_ptsz(CUstream stream, CUdeviceptr addr, cuuint64_t value_,
                                   unsigned int flags)
{
    return value(&write_type, (struct value){addr, value_, 8, flags},
                 CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER, stream, true);
}

CUresult cuStreamBatchMemOp(CUstream stream, unsigned int count,
                            CUstreamBatchMemOpParams *paramArray, unsigned int flags)
{
    return batch(stream, count, paramArray, flags, false);
}

CUresult cuStreamBatchMemOp_ptsz(CUstream stream, unsigned int count,
                                 CUstreamBatchMemOpParams *paramArray, unsigned int flags)
{
    return batch(stream, count, paramArray, flags, true);
}
