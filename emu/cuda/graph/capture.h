/* SPDX-License-Identifier: Apache-2.0
 *
 * Stream capture: streams that put commands into a graph instead of running them. A capture begins
 * in one stream; others join it when they wait for an event that was recorded in it, and must have
 * been joined again by the first one when it ends. What may not happen meanwhile breaks the
 * capture, and its end says so.
 *
 * Threads: any. One lock; never held while another file's function takes one of its own, but for
 * those of graphs and handles.
 */
#ifndef EMU_CAPTURE_H
#define EMU_CAPTURE_H

#include <stdbool.h>

#include "emu/cuda/core/abi.h"

struct emu_command;
struct emu_captured;

/* Also true of a broken capture that was not ended yet. */
bool emu_stream_is_capturing(CUstream stream);

/* Make a node of the command, keeping a reference. Breaks the capture when the command cannot be in
 * a graph, or the caller wants to wait for it. */
CUresult emu_capture_command(CUstream stream, struct emu_command *command, bool wait);
/* A child graph's node; takes `child` over. */
CUresult emu_capture_child(CUstream stream, CUgraph child);

/* CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, and the capture is broken, when this is the legacy stream and
 * a stream that waits for it captures. */
CUresult emu_capture_check_legacy(CUstream stream);

/* For a call that may wait for the device or for all threads: what the modes forbid while something
 * captures is CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED and breaks it. */
CUresult emu_capture_unsafe(void);
/* The same for a question about this stream, which it cannot answer itself while it captures. */
CUresult emu_capture_forbid(CUstream stream);

/* Returns the present end of the stream's capture, which an event recorded now stands for. NULL:
 * out of memory. */
struct emu_captured *emu_capture_snapshot(CUstream stream);
void emu_captured_destroy(struct emu_captured *captured); /* NULL: nothing */
/* The stream waits for that place, and joins the capture when it is not in it. */
CUresult emu_capture_join(CUstream stream, const struct emu_captured *captured);
/* A capturing stream was told to wait for what is outside of its capture. */
CUresult emu_capture_isolated(CUstream stream);

/* The stream goes. */
void emu_capture_forget(CUstream stream);
/* All streams of the context go. */
void emu_context_forget_captures(CUcontext context);

#endif
