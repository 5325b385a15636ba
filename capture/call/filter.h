/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that the user asked to leave out (capture/call/filter.c).
 */
#ifndef CAPTURE_CALL_FILTER_H
#define CAPTURE_CALL_FILTER_H

#include "capture/session.h"

/* Returns false when the call is to be left out; counts it then. */
bool tsm_filter_keeps(struct tsm_lane *lane, const struct tsm_call *call);

#endif
