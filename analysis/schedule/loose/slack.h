/* SPDX-License-Identifier: Apache-2.0
 *
 * The slack of loose commands (loose.h): how much later each could have ended without anything
 * being over later at the end of all, by recorded times, the edges of the graph and the order of
 * the host's calls.
 */
#ifndef ANALYSIS_SCHEDULE_LOOSE_SLACK_H
#define ANALYSIS_SCHEDULE_LOOSE_SLACK_H

#include "analysis/schedule/loose/critical.h"

/* Says it for each command, in ns. A command without a time counts as if it took none, when what
 * it waited for was over; so its slack, and that of those before it, may be less. What
 * waited begins as long after the last thing that it waited for as it did. Free *out. */
int tsm_loose_slack(uint64_t **out, const struct tsm_loose_schedule *s);

#endif
