/* SPDX-License-Identifier: Apache-2.0
 *
 * Times of loose commands (loose.h) that became jobs of the kernel's rings: from when the ring took
 * a job until it was done, as far as the kernel told.
 */
#ifndef ANALYSIS_SCHEDULE_LOOSE_RINGS_H
#define ANALYSIS_SCHEDULE_LOOSE_RINGS_H

#include "analysis/schedule/loose/loose.h"

/* Reads the trace again. Returns 0 or a negative tsm_error. */
int tsm_loose_rings_note(struct tsm_loose *l, struct sbt_reader *reader,
                         const struct tsm_ring_jobs *jobs);

#endif
