/* SPDX-License-Identifier: Apache-2.0
 *
 * Sends a command as a call of the program does: to its stream, or into the graph that the stream
 * captures.
 */
#include "emu/cuda/stream/stream.h"

#include <unistd.h>

#include "base/clock.h"
#include "emu/cuda/core/context.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/graph/capture.h"

/* TS_EMU_RETURN and TS_EMU_LINGER: a call that another thread, or the GPU itself, overtakes. */
static void linger(struct emu_command *command)
{
    const uint64_t until = tsm_monotonic_ns() + emu_settings.return_ns;

    while (!emu_command_is_done(command) && tsm_monotonic_ns() < until) {
        emu_poll();
        usleep(200);
    }
    usleep((useconds_t)(emu_settings.linger_ns / 1000));
}

CUresult emu_stream_send(CUstream stream, struct emu_command *command, bool wait)
{
    CUcontext context = stream->context;

    if (!command)
        return CUDA_ERROR_OUT_OF_MEMORY;
    bool is_captured = emu_stream_is_capturing(stream);
    CUresult result =
        is_captured ? emu_capture_command(stream, command, wait) : emu_capture_check_legacy(stream);
    if (!result && !is_captured)
        result = emu_stream_submit(stream, command);
    if (!result && !is_captured && (emu_settings.return_ns || emu_settings.linger_ns))
        linger(command);
    if (!result && wait) {
        emu_command_wait(command);
        result = emu_context_error(context);
    }
    emu_command_unref(command);
    return result;
}
