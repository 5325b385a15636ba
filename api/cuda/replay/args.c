/* SPDX-License-Identifier: Apache-2.0
 *
 * A record's slots as arguments of the driver's function. See replay.h.
 */
#include "api/cuda/replay/state.h"

#include <string.h>

#include "api/cuda/image.h"
#include "replay/region.h"

/* ---- begin and end ------------------------------------------------------------------------ */

void cuda_args_begin(struct cuda_args *args, struct cuda_replay *replay,
                     const struct sbt_record *record, uint32_t slot_count)
{
    CUcontext context = cuda_schedule_context(replay, record);

    *args =
        (struct cuda_args){.replay = replay, .driver = &replay->library.calls, .record = record};
    if (record->slot_count < slot_count) {
        args->error =
            tsm_fail(TSM_E_FORMAT, "has %u fields, not %u", record->slot_count, slot_count);
        return;
    }
    CUresult result = args->driver->cuCtxSetCurrent(context);
    if (result != CUDA_SUCCESS)
        args->error = cuda_fail(args->driver, "cuCtxSetCurrent", result);
}

/* Keeps the bytes to compare with the recording: others may write there as soon as they have
 * arrived. */
static int receive(struct cuda_args *args, const struct sbt_schema *schema)
{
    const struct sbt_record *record = args->record;

    if (schema->flags & SBT_SCHEMA_BLOCKS)
        return cuda_stream_take_now(args->replay, record, &args->arriving);
    return cuda_stream_take(args->replay, record, cuda_arg_stream(args), 0, &args->arriving);
}

int cuda_args_end(struct cuda_args *args, CUresult result)
{
    const struct sbt_schema *schema = cuda_schema(args->record->type);

    cuda_args_sent(args);
    if (result == CUDA_SUCCESS && !args->error && args->arriving.from && schema) {
        cuda_clock_behind(args->replay, true);
        args->error = receive(args, schema);
        cuda_clock_behind(args->replay, false);
    }
    if (result != CUDA_SUCCESS && !args->error)
        args->error = cuda_fail(args->driver, schema ? schema->name : "call", result);
    return args->error;
}

/* ---- slots -------------------------------------------------------------------------------- */

uint64_t cuda_arg(struct cuda_args *args, uint32_t slot)
{
    if (args->error || slot >= args->record->slot_count)
        return 0;
    return args->record->slots[slot];
}

float cuda_arg_f32(struct cuda_args *args, uint32_t slot)
{
    uint32_t bits = (uint32_t)cuda_arg(args, slot);
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

void *cuda_arg_handle(struct cuda_args *args, uint32_t slot, enum cuda_object object)
{
    uint64_t id = cuda_arg(args, slot);
    void *raw = id ? cuda_object_find(args->replay, object, id) : NULL;

    if (id && !raw && !args->error)
        args->error = tsm_fail(TSM_E_NOT_FOUND, "object %llu was made by no record of this trace",
                               (unsigned long long)id);
    return raw;
}

CUdeviceptr cuda_arg_address(struct cuda_args *args, uint32_t slot)
{
    return cuda_memory_translate(&args->replay->memory, cuda_arg(args, slot));
}

CUdevice cuda_arg_device(struct cuda_args *args, uint32_t slot)
{
    const int recorded = (int)cuda_arg(args, slot);
    const int device = cuda_device_of(args->replay, recorded);

    if (!args->error && device < 0)
        args->error = cuda_device_missing(args->replay, recorded);
    return device;
}

static CUstream stream_of(struct cuda_args *args, uint32_t number)
{
    struct cuda_stream_state *stream;

    if (args->error || number == SBT_STREAM_NONE)
        return NULL;
    stream = cuda_stream_find(args->replay, number);
    if (!stream) {
        args->error = tsm_fail(TSM_E_MEMORY, "no memory for stream %u", number);
        return NULL;
    }
    if (!stream->is_made) {
        /* No record made it: it was a thread's own default stream. */
        stream->raw = CU_STREAM_PER_THREAD;
        stream->context = cuda_schedule_context(args->replay, args->record);
        stream->is_made = true;
    }
    return number == args->record->stream ? cuda_place_stream(args->replay, stream->raw)
                                          : stream->raw;
}

/* Returns the stream to capture in place of a recorded stream. One thread sends all captured work,
 * and its default stream would be that of all recorded threads. */
static CUstream captured_stream(struct cuda_args *args, uint32_t number)
{
    CUstream raw = stream_of(args, number);
    struct cuda_stream_state *stream;

    if (raw != CU_STREAM_PER_THREAD)
        return raw;
    stream = cuda_stream_find(args->replay, number);
    if (stream && !stream->captured)
        cuda_args_end(args, args->driver->cuStreamCreate(&stream->captured, CU_STREAM_DEFAULT));
    return stream ? stream->captured : NULL;
}

CUstream cuda_arg_stream(struct cuda_args *args)
{
    if (args->record->flags & SBT_RECORD_CAPTURED)
        return captured_stream(args, args->record->stream);
    return stream_of(args, args->record->stream);
}

CUstream cuda_arg_stream_number(struct cuda_args *args, uint32_t slot)
{
    return captured_stream(args, (uint32_t)cuda_arg(args, slot));
}

const char *cuda_arg_string(struct cuda_args *args, uint32_t slot)
{
    uint64_t id = cuda_arg(args, slot);
    const char *text = id ? sbt_reader_string(args->replay->reader, (uint32_t)id) : NULL;

    if (id && !text && !args->error)
        args->error = tsm_fail(TSM_E_FORMAT, "names string %llu, which is not in the trace",
                               (unsigned long long)id);
    return text;
}

const void *cuda_arg_bytes(struct cuda_args *args, uint32_t slot, size_t size)
{
    const uint8_t *data = NULL;
    size_t have = 0;

    if (args->error)
        return NULL;
    if (!sbt_record_bytes(args->record, slot, &data, &have) || have < size) {
        args->error = tsm_fail(TSM_E_FORMAT, "field %u has %zu bytes, not %zu", slot, have, size);
        return NULL;
    }
    return have ? data : NULL;
}

/* ---- bytes that come and go --------------------------------------------------------------- */

static void *read_blob(struct cuda_args *args, uint32_t slot, size_t size)
{
    struct cuda_stream_state *stream;
    struct sbt_blob blob;
    void *bytes = NULL;

    if (args->error)
        return NULL;
    if (!sbt_record_blob(args->record, slot, &blob) || blob.size < size) {
        args->error =
            tsm_fail(TSM_E_FORMAT, "field %u has not the bytes that the call takes", slot);
        return NULL;
    }
    /* Host records have no stream; what they take is kept with stream 0's. */
    stream = cuda_stream_find(args->replay,
                              args->record->stream == SBT_STREAM_NONE ? 0 : args->record->stream);
    if (stream)
        bytes = cuda_stream_send(args->replay, stream, blob.size);
    if (!bytes) {
        args->error = tsm_fail(TSM_E_MEMORY, "no memory for %llu bytes to send",
                               (unsigned long long)blob.size);
        return NULL;
    }
    int error = sbt_reader_blob(args->replay->reader, &blob, 0, bytes, blob.size);
    if (error < 0)
        args->error = error;
    return error < 0 ? NULL : bytes;
}

const void *cuda_arg_blob(struct cuda_args *args, uint32_t slot, size_t size)
{
    return read_blob(args, slot, size);
}

const void *cuda_arg_sent(struct cuda_args *args, uint32_t slot, size_t size)
{
    const struct sbt_schema *schema = cuda_schema(args->record->type);
    void *bytes = read_blob(args, slot, size);

    if (bytes && schema)
        cuda_translate_sent(args->replay, sbt_record_role(schema, args->record, SBT_ROLE_DST, 0),
                            bytes, size);
    return bytes;
}

const void *cuda_arg_image(struct cuda_args *args, uint32_t slot)
{
    const void *image = cuda_arg_blob(args, slot, 0);
    struct sbt_blob blob;

    cuda_memory_wish_module(args->replay, args->record);
    if (args->error || !sbt_record_blob(args->record, slot, &blob) ||
        cuda_image_is_whole(image, blob.size))
        return args->error ? image : cuda_replace_image(args->replay, args->record, image);
    args->error =
        tsm_fail(TSM_E_FORMAT,
                 "record %llu: its code object says that it is longer than the %llu bytes "
                 "that the trace has of it; no driver is given such",
                 (unsigned long long)args->record->seq, (unsigned long long)blob.size);
    return NULL;
}

const void *cuda_arg_late(struct cuda_args *args, uint64_t address, uint64_t size)
{
    const void *there = cuda_program_late(args->replay, address, size);

    if (!there && !args->error)
        args->error = tsm_fail(TSM_E_NOT_FOUND,
                               "host memory 0x%llx, which it copies from, was made "
                               "by no record of this trace",
                               (unsigned long long)address);
    return there;
}

const void *cuda_arg_payload(struct cuda_args *args, uint32_t slot, size_t size)
{
    uint64_t address = cuda_arg(args, slot);

    if (args->record->flags & SBT_RECORD_CAPTURED)
        return args->error ? NULL : cuda_program_memory(args->replay, address, size);
    if (!(args->record->flags & SBT_RECORD_LATE))
        return cuda_arg_sent(args, slot + 1, size);
    return cuda_arg_late(args, address, size);
}

void *cuda_arg_readback(struct cuda_args *args, size_t size)
{
    const struct sbt_schema *schema = cuda_schema(args->record->type);
    struct cuda_stream_state *stream;
    void *bytes = NULL;

    if (args->error || !schema)
        return NULL;
    if (args->record->flags & SBT_RECORD_CAPTURED)
        return cuda_program_memory(
            args->replay, sbt_record_role(schema, args->record, SBT_ROLE_HOST_DST, 0), size);
    uint64_t to = sbt_record_role(schema, args->record, SBT_ROLE_HOST_DST, 0);
    if (to && !cuda_program_host(args->replay, to, 1) &&
        (bytes = cuda_program_late(args->replay, to, size)))
        return bytes;
    bytes = cuda_registered(args->replay, to, size);
    if (bytes) {
        args->arriving = (struct cuda_host_box){bytes, size, 1, 1, size, size};
        return bytes;
    }
    stream = cuda_stream_find(args->replay, args->record->stream);
    if (stream)
        bytes = cuda_stream_receive(stream, args->record->position, 0, size);
    if (!bytes)
        args->error = tsm_fail(TSM_E_MEMORY, "no memory for %zu bytes to receive", size);
    return bytes;
}

void cuda_arg_created(struct cuda_args *args, uint32_t slot, enum cuda_object object,
                      const void *raw)
{
    uint64_t id = cuda_arg(args, slot);

    if (object == CUDA_OBJECT_MODULE || object == CUDA_OBJECT_LIBRARY)
        cuda_replace_leave(args->replay, object, id, false);
    if (!args->error && object == CUDA_OBJECT_FUNCTION)
        args->error = cuda_replace_function(args->replay, args->record, &raw);
    if (!args->error)
        args->error = cuda_object_set(args->replay, object, id, raw);
    if (!args->error && object == CUDA_OBJECT_ARRAY)
        args->error = cuda_array_created(args, id, (CUarray)(uintptr_t)raw);
}

void cuda_arg_destroyed(struct cuda_args *args, uint32_t slot, enum cuda_object object)
{
    uint64_t id = cuda_arg(args, slot);

    if (object == CUDA_OBJECT_MODULE || object == CUDA_OBJECT_LIBRARY)
        cuda_replace_leave(args->replay, object, id, !args->error);
    if (!args->error)
        args->error = cuda_object_set(args->replay, object, id, NULL);
    if (object == CUDA_OBJECT_ARRAY)
        cuda_array_destroyed(args->replay, id);
    if (object == CUDA_OBJECT_MIPMAP)
        cuda_mipmap_destroyed(args->replay, id);
    if (object == CUDA_OBJECT_MODULE || object == CUDA_OBJECT_LIBRARY)
        cuda_memory_sweep(args->replay);
}
