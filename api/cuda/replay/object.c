/* SPDX-License-Identifier: Apache-2.0
 *
 * Replay of what makes and unmakes contexts, streams and modules.
 */
#include "api/cuda/replay/state.h"

#include <stdlib.h>
#include <string.h>

/* ---- contexts ----------------------------------------------------------------------------- */

/* A context brings its default stream, whose number its record tells. */
static void note_default_stream(struct cuda_args *args, CUcontext context)
{
    const struct sbt_schema *schema = cuda_schema(args->record->type);
    uint64_t number =
        schema ? sbt_record_role(schema, args->record, SBT_ROLE_STREAM_MADE, SBT_STREAM_NONE)
               : SBT_STREAM_NONE;
    struct cuda_stream_state *stream;

    if (args->error || number >= SBT_STREAM_NONE)
        return;
    stream = cuda_stream_find(args->replay, (uint32_t)number);
    if (!stream) {
        args->error = tsm_fail(TSM_E_MEMORY, "no memory for a stream");
        return;
    }
    stream->raw = CU_STREAM_LEGACY;
    stream->context = context;
    stream->is_made = true;
}

int cuda_context_created(struct cuda_args *args, uint32_t slot, CUresult result, CUcontext context)
{
    if (result == CUDA_SUCCESS) {
        cuda_arg_created(args, slot, CUDA_OBJECT_CONTEXT, context);
        note_default_stream(args, context);
    }
    return cuda_args_end(args, result);
}

int replay_cuDevicePrimaryCtxRetain(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    CUcontext context = NULL;

    cuda_args_begin(&args, replay, record, SLOT_cuDevicePrimaryCtxRetain_dev + 1);
    CUdevice device = cuda_arg_device(&args, SLOT_cuDevicePrimaryCtxRetain_dev);
    if (args.error)
        return args.error;
    CUresult result = args.driver->cuDevicePrimaryCtxRetain(&context, device);
    return cuda_context_created(&args, SLOT_cuDevicePrimaryCtxRetain_pctx, result, context);
}

/* NULL: there is none. */
static CUcontext primary_context(const struct cuda_real *driver, CUdevice device)
{
    CUcontext context = NULL;

    if (driver->cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS)
        return NULL;
    driver->cuDevicePrimaryCtxRelease_v2(device);
    return context;
}

static bool is_active(const struct cuda_real *driver, CUdevice device)
{
    unsigned flags;
    int active = 1;

    return driver->cuDevicePrimaryCtxGetState(device, &flags, &active) != CUDA_SUCCESS || active;
}

/* Reads times before their events go with the context. What waits for the program has none. */
static void leave_times(struct cuda_replay *replay, CUcontext context)
{
    if (!replay->timing.is_on || replay->library.calls.cuCtxSetCurrent(context) != CUDA_SUCCESS)
        return;
    for (size_t i = 0; i < replay->stream_capacity; i++) {
        const struct cuda_stream_state *stream = replay->streams[i];

        if (stream && stream->is_made && stream->context == context &&
            !cuda_awaited_on(replay, stream->raw))
            cuda_timing_await(replay, stream);
    }
    cuda_timing_leave(replay, context);
}

static void leave_context(struct cuda_replay *replay, CUcontext context)
{
    leave_times(replay, context);
    cuda_context_destroyed(replay, context);
}

CUcontext cuda_primary_leaves(struct cuda_replay *replay, CUdevice device)
{
    CUcontext context = primary_context(&replay->library.calls, device);

    if (context)
        leave_times(replay, context);
    return context;
}

void cuda_primary_left(struct cuda_replay *replay, CUdevice device, CUcontext context)
{
    if (context && !is_active(&replay->library.calls, device))
        leave_context(replay, context);
}

int replay_cuDevicePrimaryCtxRelease_v2(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    CUcontext context;

    cuda_args_begin(&args, replay, record, SLOT_cuDevicePrimaryCtxRelease_v2_dev + 1);
    CUdevice device = cuda_arg_device(&args, SLOT_cuDevicePrimaryCtxRelease_v2_dev);
    if (args.error)
        return args.error;
    context = cuda_primary_leaves(replay, device);
    cuda_args_end(&args, args.driver->cuDevicePrimaryCtxRelease_v2(device));
    if (!args.error)
        cuda_primary_left(replay, device, context);
    return args.error;
}

int replay_cuDevicePrimaryCtxReset_v2(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    CUcontext context;

    cuda_args_begin(&args, replay, record, SLOT_cuDevicePrimaryCtxReset_v2_dev + 1);
    CUdevice device = cuda_arg_device(&args, SLOT_cuDevicePrimaryCtxReset_v2_dev);
    if (args.error)
        return args.error;
    context = primary_context(args.driver, device);
    if (context)
        leave_context(replay, context);
    return cuda_args_end(&args, args.driver->cuDevicePrimaryCtxReset_v2(device));
}

#define REPLACED                                                                                   \
    (1ull << 55) /* in the number of a context whose own number another one has now                \
                  */

/* Keeps a context whose number is used again, so that it is destroyed at the end. */
static int keep_replaced(struct cuda_replay *replay, uint64_t id)
{
    const void *old = cuda_object_find(replay, CUDA_OBJECT_CONTEXT, id);

    return old ? cuda_object_set(replay, CUDA_OBJECT_CONTEXT, REPLACED | (uintptr_t)old, old) : 0;
}

/* A made context is current at once. */
static int create_context(struct cuda_args *args, uint32_t slot, uint32_t thread, unsigned flags,
                          CUdevice device)
{
    CUcontext context = NULL;
    CUresult result;
    int error;

    if (!args->error)
        args->error = keep_replaced(args->replay, cuda_arg(args, slot));
    if (args->error)
        return args->error;
    result = args->driver->cuCtxCreate_v2(&context, flags, device);
    if (result == CUDA_SUCCESS)
        args->error = cuda_context_push(args->replay, thread, context);
    error = cuda_context_created(args, slot, result, context);
    if (error && context) {
        leave_context(args->replay, context);
        args->driver->cuCtxDestroy_v2(context);
    }
    return error;
}

int replay_cuCtxCreate_v2(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuCtxCreate_v2_dev + 1);
    return create_context(&args, SLOT_cuCtxCreate_v2_pctx, record->thread,
                          (unsigned)cuda_arg(&args, SLOT_cuCtxCreate_v2_flags),
                          cuda_arg_device(&args, SLOT_cuCtxCreate_v2_dev));
}

/* How many multiprocessors a context may use changes when, not what. */
int replay_cuCtxCreate_v3(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuCtxCreate_v3_dev + 1);
    return create_context(&args, SLOT_cuCtxCreate_v3_pctx, record->thread,
                          (unsigned)cuda_arg(&args, SLOT_cuCtxCreate_v3_flags),
                          cuda_arg_device(&args, SLOT_cuCtxCreate_v3_dev));
}

int replay_cuCtxCreate_v4(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuCtxCreate_v4_dev + 1);
    return create_context(&args, SLOT_cuCtxCreate_v4_pctx, record->thread,
                          (unsigned)cuda_arg(&args, SLOT_cuCtxCreate_v4_flags),
                          cuda_arg_device(&args, SLOT_cuCtxCreate_v4_dev));
}

int replay_cuCtxDestroy_v2(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuCtxDestroy_v2_ctx + 1);
    CUcontext context = cuda_arg_handle(&args, SLOT_cuCtxDestroy_v2_ctx, CUDA_OBJECT_CONTEXT);
    if (args.error)
        return args.error;
    if (cuda_context_of(replay, record->thread) == context)
        cuda_context_pop(replay, record->thread);
    leave_context(replay, context);
    cuda_arg_destroyed(&args, SLOT_cuCtxDestroy_v2_ctx, CUDA_OBJECT_CONTEXT);
    return cuda_args_end(&args, args.driver->cuCtxDestroy_v2(context));
}

int replay_cuCtxPushCurrent_v2(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuCtxPushCurrent_v2_ctx + 1);
    CUcontext context = cuda_arg_handle(&args, SLOT_cuCtxPushCurrent_v2_ctx, CUDA_OBJECT_CONTEXT);
    return args.error ? args.error : cuda_context_push(replay, record->thread, context);
}

int replay_cuCtxPopCurrent_v2(struct cuda_replay *replay, const struct sbt_record *record)
{
    cuda_context_pop(replay, record->thread);
    return 0;
}

int replay_cuCtxSetCurrent(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuCtxSetCurrent_ctx + 1);
    CUcontext context = cuda_arg_handle(&args, SLOT_cuCtxSetCurrent_ctx, CUDA_OBJECT_CONTEXT);
    return args.error ? args.error : cuda_context_set(replay, record->thread, context);
}

/* ---- streams ------------------------------------------------------------------------------ */

int cuda_stream_created(struct cuda_args *args, uint32_t slot, uint32_t number_slot,
                        CUresult result, CUstream raw)
{
    struct cuda_stream_state *stream;

    if (result != CUDA_SUCCESS)
        return cuda_args_end(args, result);
    cuda_arg_created(args, slot, CUDA_OBJECT_STREAM, raw);
    stream = cuda_stream_find(args->replay, (uint32_t)cuda_arg(args, number_slot));
    if (!stream)
        return tsm_fail(TSM_E_MEMORY, "no memory for a stream");
    stream->raw = raw;
    stream->context = cuda_context_of(args->replay, args->record->thread);
    stream->is_made = true;
    return cuda_args_end(args, result);
}

int replay_cuStreamCreate(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    CUstream raw = NULL;

    cuda_args_begin(&args, replay, record, SLOT_cuStreamCreate_number + 1);
    if (args.error)
        return args.error;
    CUresult result =
        args.driver->cuStreamCreate(&raw, (unsigned)cuda_arg(&args, SLOT_cuStreamCreate_Flags));
    return cuda_stream_created(&args, SLOT_cuStreamCreate_phStream, SLOT_cuStreamCreate_number,
                               result, raw);
}

int replay_cuStreamCreateWithPriority(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    CUstream raw = NULL;

    cuda_args_begin(&args, replay, record, SLOT_cuStreamCreateWithPriority_number + 1);
    if (args.error)
        return args.error;
    CUresult result = args.driver->cuStreamCreateWithPriority(
        &raw, (unsigned)cuda_arg(&args, SLOT_cuStreamCreateWithPriority_flags),
        (int)cuda_arg(&args, SLOT_cuStreamCreateWithPriority_priority));
    return cuda_stream_created(&args, SLOT_cuStreamCreateWithPriority_phStream,
                               SLOT_cuStreamCreateWithPriority_number, result, raw);
}

/* The replay may wait for the stream once more at its end. */
/* Waits until the stream is done, unless it is captured. The program may do without a current
 * context; the wait may not.
 */
static CUresult finish_stream(struct cuda_replay *replay, CUstream raw, bool is_captured)
{
    const struct cuda_real *driver = &replay->library.calls;
    CUcontext current = NULL;
    CUresult result = CUDA_SUCCESS;

    driver->cuCtxGetCurrent(&current);
    for (uint32_t i = 0; i < replay->stream_capacity && result == CUDA_SUCCESS; i++) {
        struct cuda_stream_state *stream = replay->streams[i];
        if (!stream || stream->raw != raw || !stream->is_made)
            continue;
        result = driver->cuCtxSetCurrent(stream->context);
        if (result == CUDA_SUCCESS && !is_captured)
            result = driver->cuStreamSynchronize(raw);
        if (result == CUDA_SUCCESS)
            result = cuda_place_wait(replay, stream);
        stream->is_made = false;
    }
    driver->cuCtxSetCurrent(current);
    return result;
}

int replay_cuStreamDestroy_v2(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuStreamDestroy_v2_hStream + 1);
    CUstream raw = cuda_arg_handle(&args, SLOT_cuStreamDestroy_v2_hStream, CUDA_OBJECT_STREAM);
    if (args.error)
        return args.error;
    /* A capture that nobody ended is over with its stream. */
    bool captured = cuda_stream_is_captured(replay, raw);
    replay->capture_count -= captured;
    /* The call waits for nothing. What the stream waits for may come later. */
    if (!captured && cuda_awaited_on(replay, raw)) {
        cuda_arg_destroyed(&args, SLOT_cuStreamDestroy_v2_hStream, CUDA_OBJECT_STREAM);
        return cuda_args_end(&args, CUDA_SUCCESS);
    }
    CUresult result = finish_stream(replay, raw, captured);
    if (result == CUDA_SUCCESS)
        result = args.driver->cuStreamDestroy_v2(raw);
    cuda_arg_destroyed(&args, SLOT_cuStreamDestroy_v2_hStream, CUDA_OBJECT_STREAM);
    return cuda_args_end(&args, result);
}

/* ---- modules ------------------------------------------------------------------------------ */

static int load_module(struct cuda_args *args, uint32_t slot, const void *image)
{
    CUmodule module = NULL;
    CUresult result;

    if (args->error)
        return args->error;
    result = args->driver->cuModuleLoadData(&module, image);
    if (result == CUDA_SUCCESS)
        cuda_arg_created(args, slot, CUDA_OBJECT_MODULE, module);
    return cuda_args_end(args, result);
}

/* From the bytes that the file had then. */
int replay_cuModuleLoad(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuModuleLoad_code + 1);
    return load_module(&args, SLOT_cuModuleLoad_module,
                       cuda_arg_image(&args, SLOT_cuModuleLoad_code));
}

/* Options that change the code; the others take addresses of the program, or tell it something. */
static bool is_code_option(CUjit_option option)
{
    switch (option) {
    case CU_JIT_MAX_REGISTERS:
    case CU_JIT_THREADS_PER_BLOCK:
    case CU_JIT_OPTIMIZATION_LEVEL:
    case CU_JIT_FALLBACK_STRATEGY:
    case CU_JIT_GENERATE_DEBUG_INFO:
    case CU_JIT_GENERATE_LINE_INFO:
    case CU_JIT_CACHE_MODE:
    case CU_JIT_POSITION_INDEPENDENT_CODE:
        return true;
    default:
        return false;
    }
}

#define JIT_OPTION_MAX 64

struct jit_options {
    unsigned count;
    CUjit_option options[JIT_OPTION_MAX];
    void *values[JIT_OPTION_MAX];
};

static void read_options(struct cuda_args *args, uint32_t options_slot, uint32_t values_slot,
                         unsigned count, struct jit_options *out)
{
    const uint8_t *options = cuda_arg_bytes(args, options_slot, count * sizeof(CUjit_option));
    const uint8_t *values = cuda_arg_bytes(args, values_slot, count * sizeof(void *));

    out->count = 0;
    for (unsigned i = 0; options && values && i < count && out->count < JIT_OPTION_MAX; i++) {
        memcpy(&out->options[out->count], options + i * sizeof(CUjit_option), sizeof(CUjit_option));
        memcpy(&out->values[out->count], values + i * sizeof(void *), sizeof(void *));
        out->count += is_code_option(out->options[out->count]);
    }
}

int replay_cuModuleLoadDataEx(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    struct jit_options jit;
    CUmodule module = NULL;

    cuda_args_begin(&args, replay, record, SLOT_cuModuleLoadDataEx_optionValues + 1);
    const void *image = cuda_arg_image(&args, SLOT_cuModuleLoadDataEx_image);
    read_options(&args, SLOT_cuModuleLoadDataEx_options, SLOT_cuModuleLoadDataEx_optionValues,
                 (unsigned)cuda_arg(&args, SLOT_cuModuleLoadDataEx_numOptions), &jit);
    if (args.error)
        return args.error;
    CUresult result =
        args.driver->cuModuleLoadDataEx(&module, image, jit.count, jit.options, jit.values);
    if (result == CUDA_SUCCESS)
        cuda_arg_created(&args, SLOT_cuModuleLoadDataEx_module, CUDA_OBJECT_MODULE, module);
    return cuda_args_end(&args, result);
}

static int load_library(struct cuda_args *args, uint32_t slot, const void *image)
{
    CUlibrary library = NULL;
    CUresult result;

    if (args->error)
        return args->error;
    result = args->driver->cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0);
    if (result == CUDA_SUCCESS)
        cuda_arg_created(args, slot, CUDA_OBJECT_LIBRARY, library);
    return cuda_args_end(args, result);
}

int replay_cuLibraryLoadData(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuLibraryLoadData_code + 1);
    return load_library(&args, SLOT_cuLibraryLoadData_library,
                        cuda_arg_image(&args, SLOT_cuLibraryLoadData_code));
}

int replay_cuLibraryLoadFromFile(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuLibraryLoadFromFile_code + 1);
    return load_library(&args, SLOT_cuLibraryLoadFromFile_library,
                        cuda_arg_image(&args, SLOT_cuLibraryLoadFromFile_code));
}
