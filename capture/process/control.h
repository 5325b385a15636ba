/* SPDX-License-Identifier: Apache-2.0
 *
 * Orders from outside of the program (capture/process/control.c).
 */
#ifndef CAPTURE_PROCESS_CONTROL_H
#define CAPTURE_PROCESS_CONTROL_H

#include "capture/session.h"

/* ---- being told from outside (capture/process/control.c)
 * --------------------------------------------- */

/* The session's lanes file is there: take orders through its header, and from TS_START_SIGNAL. */
void tsm_control_begin(struct tsm_session *session);

/* Has somebody asked for the start? */
bool tsm_control_start(const struct tsm_session *session);

/* The drain thread, now and then: carry out the other orders, show what goes on. */
void tsm_control_poll(struct tsm_session *session);

#endif
