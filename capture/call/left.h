/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that a thread has left by a jump out of a signal handler or a callback: nobody ends them.
 */
#ifndef CAPTURE_CALL_LEFT_H
#define CAPTURE_CALL_LEFT_H

#include "capture/session.h"

/* Returns true if this thread has left the call that it is in, as `call`, which begins, shows. */
bool tsm_left_check(const struct tsm_call *call);
/* Tests whether tsm_thread.call stands for a call that was left: it has no members of use. */
bool tsm_left_is(const struct tsm_call *call);
/* Returns true if this thread's call was left; where its record was being made in `lane` another
 * entry may be written. */
bool tsm_left_make_way(const struct tsm_lane *lane);
/* Tests whether that was done. */
bool tsm_left_overwritten(void);

#endif
