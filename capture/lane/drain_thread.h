/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests of other threads to the drain thread (capture/lane/drain.c, ask.c, guard.c).
 */
#ifndef CAPTURE_LANE_DRAIN_THREAD_H
#define CAPTURE_LANE_DRAIN_THREAD_H

#include "capture/session.h"

/* ---- the drain thread (capture/lane/drain.c)
 * ----------------------------------------------------- */

/* Create the thread; it opens the output and sets drain_state. Waits for that. */
bool tsm_drain_start(struct tsm_session *session);

/* capture/process/sandbox.c: another thread is about to forbid system calls of ours. */
bool tsm_sandbox_is_coming(void);

/* capture/process/thread_limit.c: threads that RLIMIT_NPROC still allows; UINT64_MAX: it does not
 * matter. Below TSM_THREADS_LEFT_MIN we start none: the last ones are the program's. */
#define TSM_THREADS_LEFT_MIN 8u

uint64_t tsm_threads_left(void);

/* capture/lane/guard.c: from now on the program survives when its lanes file is made shorter, and
 * `session->lanes_cut` is set. False: the program handles SIGBUS itself. */
bool tsm_lanes_guard(struct tsm_session *session);

/* Puts zeroed memory in place of all lanes. The drain thread only. */
void tsm_lanes_detach(struct tsm_session *session);

/* Have `favour` called on the drain thread, whose table of descriptors is its own; waits for it.
 * False: the thread has ended before. */
bool tsm_drain_ask(struct tsm_session *session, void (*favour)(void *argument), void *argument);

/* The first call of an API is about to begin: have the drain thread write what describes its
 * records (value tables, structs, schemas) to the trace file, and wait until it is there. So a
 * trace carries only what it uses, and whatever is committed can be salvaged by who knows no API.
 */
void tsm_api_used(struct tsm_session *session, uint32_t api);

#endif
