/* SPDX-License-Identifier: Apache-2.0
 *
 * TS_GPU_TIME=cupti: when the device ran each command, and each node of a launched graph, by
 * CUPTI's Activity API. Our number of the command is pushed before the driver's call and popped
 * after it; CUPTI says beside it which records are that call's.
 *
 * Where CUPTI cannot be had, or fails later, or the program begins to use it, one line on stderr
 * says so, events take its place (gpu_time.h), and the trace's metadata say which it was.
 */
#ifndef API_CUDA_SOURCE_CUPTI_CUPTI_H
#define API_CUDA_SOURCE_CUPTI_CUPTI_H

#include "capture/capture.h"

extern bool cuda_cupti_is_on;

/* A session begins that wants it. Inside tsm_inside_enter(). */
void cuda_cupti_begin_session(void);

/* The call has its place on a stream, and the driver gets it next. Returns the command's number, 0:
 * it is not timed. */
uint64_t cuda_cupti_begin(const struct tsm_call *call, bool is_graph);
/* The driver has returned. */
void cuda_cupti_end(uint64_t id, bool ok);

/* Writes the times that are known by now, where it is time to ask for them. `waited`: the program
 * has waited for the device just now. Call outside of a call. */
void cuda_cupti_collect(bool waited);

/* The process ends in the ordinary way; the session ends, and no more is asked for. */
void cuda_cupti_ending(void);
void cuda_cupti_unseen(void);

/* The program is about to open a library. */
void cuda_cupti_opening(const char *path);

/* In the child of a fork: CUPTI is its parent's. */
void cuda_cupti_forked(void);

#endif
