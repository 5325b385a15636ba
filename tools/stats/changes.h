/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of what took longer or shorter in a second trace: `tracesmith stats --compare`.
 */
#ifndef TOOLS_STATS_CHANGES_H
#define TOOLS_STATS_CHANGES_H

#include "analysis/time/compare.h"
#include "tools/stats/tables.h"

/* Compares one section of two summaries, kernels, commands, copies, calls or waits, and fills a
 * zeroed table. Adds what was decided to counts[]. Returns a negative tsm_error. */
int tsm_stats_changes(struct tsm_table *out, const struct tsm_stats_source *a,
                      const struct tsm_stats_source *b, enum tsm_stats_section section,
                      const struct tsm_compare_options *options, size_t counts[TSM_CHANGE_COUNT]);

/* The same of runs of a replay, `b`, beside the recording, `a`: rows have the distribution of `b`.
 */
int tsm_stats_runs(struct tsm_table *out, const struct tsm_stats_source *a,
                   const struct tsm_stats_source *b, enum tsm_stats_section section,
                   const struct tsm_compare_options *options, size_t counts[TSM_CHANGE_COUNT]);

#endif
