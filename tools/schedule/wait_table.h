/* SPDX-License-Identifier: Apache-2.0
 *
 * A table of single waits, for tracesmith critical.
 */
#ifndef TOOLS_SCHEDULE_WAIT_TABLE_H
#define TOOLS_SCHEDULE_WAIT_TABLE_H

#include "analysis/schedule/waits.h"
#include "tools/text/table.h"

/* Adds the columns, and a row for each wait; `reader`: also what needs it (NULL: not). */
int tsm_wait_table_make(struct tsm_table *t, const struct tsm_wait_costs *costs,
                        const struct tsm_workload *w, struct sbt_reader *reader);

#endif
