/* SPDX-License-Identifier: Apache-2.0
 *
 * The page that says in which state this process's session is (struct tsm_live), and its changes:
 * live.c. Used by session.c, which starts a session, and session_end.c, which ends it.
 */
#ifndef CAPTURE_LIVE_H
#define CAPTURE_LIVE_H

#include "capture/session.h"

#define TSM_LIVE_NO_MEMORY "no memory for recording; capture is off"

/* Returns this process's id, never cached: it is right directly after vfork and raw clone, too. */
pid_t tsm_own_pid(void);

/* Returns the present enum tsm_live_state; sets it, and wakes who waits for a change. */
uint32_t tsm_live_state_now(void);
void tsm_live_set_state(uint32_t state);

/* Returns the page that a fork zeroes, and maps it the first time: two threads may both map one,
 * the first counts. NULL: no memory. */
struct tsm_live *tsm_live_page(void);
/* Turns capture off for good because there is no memory for the page: a later call must not begin a
 * trace without those before it. Returns the state. */
uint32_t tsm_live_give_up(void);

/* Returns this process's session, not that of a parent whose memory we share (vfork). */
struct tsm_session *tsm_session_own(void);

#endif
