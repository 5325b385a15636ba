/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of the critical path of loose commands, of what their devices waited for, and of single
 * waits (analysis/schedule/loose/critical.h), for tracesmith critical.
 */
#ifndef TOOLS_SCHEDULE_LOOSE_CRITICAL_VIEW_H
#define TOOLS_SCHEDULE_LOOSE_CRITICAL_VIEW_H

#include "analysis/schedule/loose/critical.h"
#include "tools/schedule/stacks.h"
#include "tools/text/table.h"

struct tsm_loose_critical_options {
    size_t top;     /* rows that are printed, 0: all */
    bool has_list;  /* pieces of the path, ... */
    bool has_slack; /* ... and slack are there, too */
};

struct tsm_loose_critical {
    struct tsm_loose loose;
    struct tsm_loose_schedule s;
    struct tsm_loose_path path;
    struct tsm_table causes, waits, pieces, slack;
    struct tsm_table *idle; /* by device */
    uint64_t *idle_ns;      /* likewise */
    size_t timed_count;     /* commands with work that have a time */
    struct tsm_loose_critical_options options;
};

/* Reads the trace, and notes the calls that rows name, whose stacks may be printed. Nothing but
 * counts is there if it has no such commands. Commands of the kernel's own APIs, which drivers of
 * others send inside of their calls, are there if the trace has none but these; `has_others`: it
 * has. Finish it in any case. */
int tsm_loose_critical_make(struct tsm_loose_critical *out, struct sbt_reader *reader,
                            bool has_others, const struct tsm_loose_critical_options *options,
                            struct tsm_named_records *named);
void tsm_loose_critical_finish(struct tsm_loose_critical *v);

void tsm_loose_critical_print(const struct tsm_loose_critical *v);
/* Adds the member "loose": an object, or null. */
void tsm_loose_critical_print_json(const struct tsm_loose_critical *v, struct tsm_json *j);

/* Notes commands of which something is not known. */
void tsm_loose_critical_note(const struct tsm_loose_critical *v, struct sbt_reader *reader);

#endif
