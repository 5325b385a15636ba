/* SPDX-License-Identifier: Apache-2.0
 *
 * Host stacks of the calls that tables name.
 */
#ifndef TOOLS_SCHEDULE_STACKS_H
#define TOOLS_SCHEDULE_STACKS_H

#include "analysis/schedule/workload.h"
#include "tools/text/json_out.h"

/* Records that are named, each once. A zeroed struct is empty. */
struct tsm_named_records {
    uint64_t *list; /* seq */
    size_t count, capacity;
};

/* Adds a record. Returns 0 or a negative tsm_error. */
int tsm_named_records_add(struct tsm_named_records *n, uint64_t seq);
void tsm_named_records_finish(struct tsm_named_records *n);

/* Prints the stack of each record that has one; as a member of the open object, "stacks". Return 0
 * or a negative tsm_error. */
int tsm_stacks_print(const struct tsm_named_records *n, const struct tsm_workload *w,
                     struct sbt_reader *reader);
int tsm_stacks_print_json(const struct tsm_named_records *n, const struct tsm_workload *w,
                          struct sbt_reader *reader, struct tsm_json *j);

#endif
