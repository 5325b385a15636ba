/* SPDX-License-Identifier: Apache-2.0
 *
 * Report of `tsreplay --time`: how long commands took in the runs, beside the recording, and
 * whether the machine was steady meanwhile.
 */
#ifndef TOOLS_REPLAY_TIME_REPORT_H
#define TOOLS_REPLAY_TIME_REPORT_H

#include "analysis/time/steadiness.h"
#include "analysis/time/summary.h"
#include "tools/replay/run_times.h"
#include "tools/text/json_out.h"

struct tsm_time_report {
    struct sbt_reader *reader;
    struct tsm_summary recorded, timed; /* commands of the recording, and of all runs */
    struct tsm_steadiness steadiness;   /* of the time of all work of a run */
};

/* Reads the trace two or three times, as far as `filter` selects. Finish it in any case. */
int tsm_time_report_make(struct tsm_time_report *out, struct sbt_reader *reader,
                         const struct sbt_filter *filter, struct tsm_run_times *times);
void tsm_time_report_finish(struct tsm_time_report *report);

/* Prints tables, and notes; or members of the open object `json`. */
int tsm_time_report_print(struct tsm_time_report *report, const char *clocks,
                          struct tsm_json *json);

#endif
