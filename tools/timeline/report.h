/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports on the requests of a merged time line: where their time goes on average, and all that is
 * known of the slow ones.
 */
#ifndef TOOLS_TIMELINE_REPORT_H
#define TOOLS_TIMELINE_REPORT_H

#include "tools/timeline/timeline.h"

#include <stdio.h>

struct tsm_timeline_report {
    uint64_t above_ns; /* full detail for requests whose total is more; 0: for none */
    bool list;         /* a line for each request */
};

void tsm_timeline_print(const struct tsm_timeline *timeline, const struct tsm_timeline_report *report);
/* Schema "tsmerge/1". */
void tsm_timeline_json(const struct tsm_timeline *timeline, const struct tsm_timeline_report *report);

/* Writes CPUs, rings and threads on one time line, for Perfetto. */
void tsm_timeline_chrome(const struct tsm_timeline *timeline, FILE *out);
/* A part of that: the program's labels, and its HIP calls. */
struct tsm_json;
void tsm_timeline_calls(const struct tsm_timeline *timeline, struct tsm_json *j);

#endif
