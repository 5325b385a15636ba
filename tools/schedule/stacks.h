/* SPDX-License-Identifier: Apache-2.0
 *
 * Host stacks of the calls that tables name.
 */
#ifndef TOOLS_SCHEDULE_STACKS_H
#define TOOLS_SCHEDULE_STACKS_H

#include "tools/text/json_out.h"
#include "tracesmith/reader.h"

struct tsm_named_record {
    uint64_t seq;
    const char *call; /* lives as long as the reader */
    uint32_t stack;
};

/* Records that are named and have a stack, each once. A zeroed struct is empty. */
struct tsm_named_records {
    struct tsm_named_record *list; /* by seq */
    size_t count, capacity;
};

/* Adds a record, if it has a stack. Returns 0 or a negative tsm_error. */
int tsm_named_records_add(struct tsm_named_records *n, const struct tsm_named_record *record);
void tsm_named_records_finish(struct tsm_named_records *n);

/* Prints the stack of each record; as a member of the open object, "stacks". Return 0 or a negative
 * tsm_error. */
int tsm_stacks_print(const struct tsm_named_records *n, struct sbt_reader *reader);
int tsm_stacks_print_json(const struct tsm_named_records *n, struct sbt_reader *reader,
                          struct tsm_json *j);

#endif
