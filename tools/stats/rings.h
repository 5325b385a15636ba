/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs of the GPU's rings, as the kernel recorded them (`tsrecord --kernel`), summed up by ring.
 */
#ifndef TOOLS_STATS_RINGS_H
#define TOOLS_STATS_RINGS_H

#include "tools/stats/tables.h"

/* Fills a zeroed table with a row for each ring that took a job, the busiest first. With
 * source->is_part: jobs that begin while the calls of that part were made. Returns 0 or a negative
 * tsm_error. */
int tsm_stats_rings(struct tsm_table *t, const struct tsm_stats_source *source);

#endif
