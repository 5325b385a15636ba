/* SPDX-License-Identifier: Apache-2.0
 *
 * Events: a name for the last record, which is a command in a stream.
 */
#ifndef EMU_EVENT_H
#define EMU_EVENT_H

#include <stdbool.h>

#include "emu/cuda/core/abi.h"

/* CUDA_ERROR_INVALID_HANDLE when the event is of another context. */
CUresult emu_event_check(CUevent event, CUcontext context);

/* Record in the stream, as cuEventRecord() does. */
CUresult emu_event_record(CUevent event, CUstream stream);

/* Makes later commands of the stream wait for the event's last record. */
CUresult emu_event_wait(CUevent event, CUstream stream);

/* When capturing has to do with it, do what a wait of the stream means then, and say true. flags:
 * CU_EVENT_WAIT_EXTERNAL makes a node of the wait. */
bool emu_event_wait_captured(CUresult *result, CUevent event, CUstream stream, unsigned flags);

/* All events of the context. */
void emu_context_destroy_events(CUcontext context);

#endif
