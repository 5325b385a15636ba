/* SPDX-License-Identifier: Apache-2.0
 *
 * State of an event that processes share: how often it was recorded, and which records are
 * complete. Records are numbered from 1; a wait is for the number that was the last one when it was
 * issued.
 *
 * Threads and processes: any.
 */
#ifndef EMU_CUDA_STREAM_SHARED_EVENT_H
#define EMU_CUDA_STREAM_SHARED_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/cuda/core/abi.h"

struct emu_shared_event;
struct emu_command;

/* NULL: no room. */
struct emu_shared_event *emu_shared_event_create(void);

/* The bytes that another process opens it with. CUDA_ERROR_INVALID_HANDLE for an imported one. */
CUresult emu_shared_event_export(CUipcEventHandle *out, const struct emu_shared_event *cell);
/* CUDA_ERROR_INVALID_HANDLE; CUDA_ERROR_INVALID_CONTEXT when it is of this process. */
CUresult emu_shared_event_import(struct emu_shared_event **out, const CUipcEventHandle *handle);

/* Destroys an event of either kind; accepts NULL. */
void emu_shared_event_destroy(struct emu_shared_event *cell);

/* A command that completes a new record, and the number of that; NULL: out of memory. */
struct emu_command *emu_shared_event_record(struct emu_shared_event *cell);

/* A command that is ready when the last record is complete; NULL: out of memory. */
struct emu_command *emu_shared_event_wait(struct emu_shared_event *cell);

/* Is the last record complete? True before the first one, and when its process is gone. */
bool emu_shared_event_is_done(struct emu_shared_event *cell);

#endif
