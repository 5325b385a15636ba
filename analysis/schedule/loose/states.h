/* SPDX-License-Identifier: Apache-2.0
 *
 * States of loose commands (loose.h), of their streams and devices. The state of a stream or device
 * is that of a command of it: of one that runs, else of the first that waits or is pending, else of
 * the first of which no more is known than that it was sent. A command whose time is not known is
 * TSM_STATE_SENT as long as nothing says more.
 */
#ifndef ANALYSIS_SCHEDULE_LOOSE_STATES_H
#define ANALYSIS_SCHEDULE_LOOSE_STATES_H

#include "analysis/schedule/loose/loose.h"
#include "analysis/schedule/states.h"

/* Makes states that cover the time from begin_ns to end_ns; places are those of `l`, and steps
 * those of ready.h. Finish them in any case. */
int tsm_loose_states_make(struct tsm_states *out, const struct tsm_loose *l, uint64_t begin_ns,
                          uint64_t end_ns);

#endif
