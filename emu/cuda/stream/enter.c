/* SPDX-License-Identifier: Apache-2.0
 *
 * The stream that a call means.
 */
#include "emu/cuda/stream/stream.h"

#include "emu/cuda/core/context.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/core/object.h"

uint64_t emu_thread_number(void)
{
    static _Thread_local uint64_t number;

    if (!number)
        number = emu_next_id();
    return number;
}

CUresult emu_stream_enter(CUstream *out, CUstream handle, bool per_thread)
{
    CUcontext context;
    CUresult result = emu_enter(&context);
    CUstream stream = handle;

    if (result)
        return result;
    if (handle == CU_STREAM_PER_THREAD || (!handle && per_thread)) {
        stream = emu_stream_of_thread(context, emu_thread_number());
        if (!stream)
            return CUDA_ERROR_OUT_OF_MEMORY;
    } else if (!handle || handle == CU_STREAM_LEGACY) {
        stream = context->legacy;
    } else if (!emu_object_is(EMU_STREAM, handle)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (stream->green && !emu_object_is(EMU_GREEN, stream->green))
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *out = stream;
    return emu_context_error(stream->context);
}
