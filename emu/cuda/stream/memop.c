/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands of a stream besides copies and kernels: functions of the program, and waits for and
 * writes of values in memory.
 */
#include "emu/cuda/core/emu.h"

#include <stdatomic.h>
#include <string.h>

#include "base/machine.h"
#include "emu/cuda/check/written.h"
#include "emu/cuda/core/context.h"
#include "emu/cuda/graph/capture.h"
#include "emu/cuda/memory/memory.h"
#include "emu/cuda/stream/accesses.h"
#include "emu/cuda/stream/memop.h"
#include "emu/cuda/stream/stream.h"

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

static void call_describe(struct emu_command *command, CUgraphNodeParams *out)
{
    const struct call *call = (const struct call *)(const void *)command->payload;

    out->host = (CUDA_HOST_NODE_PARAMS_v2){.fn = call->function, .userData = call->data};
}

static void call_measure(const struct emu_command *command, struct tsm_device_work *out)
{
    out->kind = TSM_DEVICE_HOST_FUNCTION;
}

static const struct emu_command_type call_type = {.run = call_run,
                                                  .measure = call_measure,
                                                  .is_programs = true,
                                                  .runs_after_error = true,
                                                  .node = CU_GRAPH_NODE_TYPE_HOST + 1,
                                                  .describe = call_describe};
/* Callbacks, unlike host functions, cannot be captured. */
static const struct emu_command_type callback_type = {
    .run = call_run, .measure = call_measure, .is_programs = true, .runs_after_error = true};

CUresult emu_call_prepare(struct emu_command **out, const CUDA_HOST_NODE_PARAMS_v2 *p)
{
    struct call what = {.function = p->fn, .data = p->userData};

    if (!p->fn)
        return CUDA_ERROR_INVALID_VALUE;
    *out = emu_command_create(&call_type, sizeof(what));
    if (!*out)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy((*out)->payload, &what, sizeof(what));
    return CUDA_SUCCESS;
}

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
    command = emu_command_create(what.function ? &call_type : &callback_type, sizeof(what));
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
    emu_written_all(v->address, v->size);
    return CUDA_SUCCESS;
}

static bool write_accesses(const struct emu_command *command, struct emu_accesses *out)
{
    const struct value *v = (const struct value *)(const void *)command->payload;

    return emu_accesses_add(out, v->address, v->size, SBT_ACCESS_WRITTEN);
}

static void wait_value_of(const struct emu_command *command, struct emu_value *out)
{
    const struct value *v = (const struct value *)(const void *)command->payload;

    *out = (struct emu_value){(enum sbt_value_access)(SBT_VALUE_AT_LEAST + (v->flags & 3u)),
                              v->size, v->address, v->value};
}

static void write_value_of(const struct emu_command *command, struct emu_value *out)
{
    const struct value *v = (const struct value *)(const void *)command->payload;

    *out = (struct emu_value){SBT_VALUE_WRITE, v->size, v->address, v->value};
}

/* The value that a command waits for is there to be changed meanwhile: it does not count. */
static const struct emu_command_type wait_type = {.run = wait_run,
                                                  .accesses = emu_accesses_none,
                                                  .is_ready = is_value_there,
                                                  .value = wait_value_of};
static const struct emu_command_type write_type = {
    .run = write_run, .accesses = write_accesses, .value = write_value_of};

static CUresult check_value(const struct value *v)
{
    return v->address % v->size || !emu_memory_covers(v->address, v->size)
               ? CUDA_ERROR_INVALID_VALUE
               : CUDA_SUCCESS;
}

/* Reads an operation of a batch. A barrier has no type: commands of a stream see each other's
 * memory anyway. */
static CUresult read_operation(struct value *out, const struct emu_command_type **type,
                               const CUstreamBatchMemOpParams *p)
{
    bool is_wait = p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
                   p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;

    *type = is_wait ? &wait_type : &write_type;
    switch ((int)p->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        *out = (struct value){p->waitValue.address, p->waitValue.value, 4, p->waitValue.flags};
        break;
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        *out = (struct value){p->waitValue.address, p->waitValue.value64, 8, p->waitValue.flags};
        break;
    case CU_STREAM_MEM_OP_BARRIER:
        *type = NULL;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (out->flags >
        (unsigned)(is_wait ? CU_STREAM_WAIT_VALUE_NOR : CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER))
        return CUDA_ERROR_INVALID_VALUE;
    return check_value(out);
}

static CUresult send_operation(CUstream stream, const CUstreamBatchMemOpParams *p)
{
    const struct emu_command_type *type;
    struct value what;
    CUresult result = read_operation(&what, &type, p);

    if (result || !type)
        return result;
    struct emu_command *command = emu_command_create(type, sizeof(what));
    if (command)
        memcpy(command->payload, &what, sizeof(what));
    return emu_stream_send(stream, command, false);
}

#define BATCH_MAX 256

/* A batch in a graph: one node, several commands. */
struct batch {
    unsigned count;
    CUstreamBatchMemOpParams operations[];
};

static CUresult batch_submit(const struct emu_command *command, CUstream stream)
{
    const struct batch *batch = (const struct batch *)(const void *)command->payload;
    CUresult result = CUDA_SUCCESS;

    for (unsigned i = 0; i < batch->count && !result; i++)
        result = send_operation(stream, &batch->operations[i]);
    return result;
}

static void batch_describe(struct emu_command *command, CUgraphNodeParams *out)
{
    struct batch *batch = (struct batch *)(void *)command->payload;

    out->memOp =
        (CUDA_BATCH_MEM_OP_NODE_PARAMS_v2){.count = batch->count, .paramArray = batch->operations};
}

static const struct emu_command_type batch_type = {.run = wait_run,
                                                   .node = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP + 1,
                                                   .describe = batch_describe,
                                                   .submit = batch_submit};

CUresult emu_batch_prepare(struct emu_command **out, const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *p)
{
    size_t size = p->count * sizeof(*p->paramArray);
    const struct emu_command_type *type;
    CUresult result = CUDA_SUCCESS;
    struct value what;

    if (!p->count || p->count > BATCH_MAX || !p->paramArray || p->flags)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < p->count && !result; i++)
        result = read_operation(&what, &type, &p->paramArray[i]);
    if (result)
        return result;
    *out = emu_command_create(&batch_type, sizeof(struct batch) + size);
    if (!*out)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct batch *batch = (struct batch *)(void *)(*out)->payload;
    batch->count = p->count;
    memcpy(batch->operations, p->paramArray, size);
    return CUDA_SUCCESS;
}

static CUresult batch(CUstream handle, unsigned count, CUstreamBatchMemOpParams *operations,
                      unsigned flags, bool per_thread)
{
    CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 all = {.count = count, .paramArray = operations};
    CUstream stream;
    struct emu_command *command;
    CUresult result = emu_stream_enter(&stream, handle, per_thread);

    if (!result && (count > BATCH_MAX || (count && !operations) || flags))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result && count && emu_stream_is_capturing(stream)) {
        result = emu_batch_prepare(&command, &all);
        return result ? result : emu_stream_send(stream, command, false);
    }
    for (unsigned i = 0; i < count && !result; i++)
        result = send_operation(stream, &operations[i]);
    return result;
}

/* A single operation is a batch of one. The forms without a version take the same arguments. */
static CUresult wait_value(CUstream stream, CUdeviceptr address, uint64_t value, unsigned flags,
                           bool is_64, bool per_thread)
{
    CUstreamBatchMemOpParams p = {.waitValue = {.operation = is_64 ? CU_STREAM_MEM_OP_WAIT_VALUE_64
                                                                   : CU_STREAM_MEM_OP_WAIT_VALUE_32,
                                                .address = address,
                                                .value64 = value,
                                                .flags = flags}};

    return batch(stream, 1, &p, 0, per_thread);
}

static CUresult write_value(CUstream stream, CUdeviceptr address, uint64_t value, unsigned flags,
                            bool is_64, bool per_thread)
{
    CUstreamBatchMemOpParams p = {.writeValue = {.operation = is_64
                                                                  ? CU_STREAM_MEM_OP_WRITE_VALUE_64
                                                                  : CU_STREAM_MEM_OP_WRITE_VALUE_32,
                                                 .address = address,
                                                 .value64 = value,
                                                 .flags = flags}};

    return batch(stream, 1, &p, 0, per_thread);
}

#define VALUE_CALLS(name, function, type, is_64)                                                   \
    CUresult name(CUstream stream, CUdeviceptr addr, type value, unsigned int flags)               \
    {                                                                                              \
        return function(stream, addr, value, flags, is_64, false);                                 \
    }                                                                                              \
    CUresult name##_ptsz(CUstream stream, CUdeviceptr addr, type value, unsigned int flags)        \
    {                                                                                              \
        return function(stream, addr, value, flags, is_64, true);                                  \
    }

VALUE_CALLS(cuStreamWaitValue32, wait_value, cuuint32_t, false)
VALUE_CALLS(cuStreamWaitValue32_v2, wait_value, cuuint32_t, false)
VALUE_CALLS(cuStreamWaitValue64, wait_value, cuuint64_t, true)
VALUE_CALLS(cuStreamWaitValue64_v2, wait_value, cuuint64_t, true)
VALUE_CALLS(cuStreamWriteValue32, write_value, cuuint32_t, false)
VALUE_CALLS(cuStreamWriteValue32_v2, write_value, cuuint32_t, false)
VALUE_CALLS(cuStreamWriteValue64, write_value, cuuint64_t, true)
VALUE_CALLS(cuStreamWriteValue64_v2, write_value, cuuint64_t, true)

#define BATCH_CALLS(name)                                                                          \
    CUresult name(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *paramArray,       \
                  unsigned int flags)                                                              \
    {                                                                                              \
        return batch(stream, count, paramArray, flags, false);                                     \
    }                                                                                              \
    CUresult name##_ptsz(CUstream stream, unsigned int count,                                      \
                         CUstreamBatchMemOpParams *paramArray, unsigned int flags)                 \
    {                                                                                              \
        return batch(stream, count, paramArray, flags, true);                                      \
    }

BATCH_CALLS(cuStreamBatchMemOp)
BATCH_CALLS(cuStreamBatchMemOp_v2)
