/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace with the times of the runs of `tsreplay --time` in place of its own (docs/FORMAT.md 10,
 * gpu_time).
 */
#ifndef TOOLS_REPLAY_TIMED_TRACE_H
#define TOOLS_REPLAY_TIMED_TRACE_H

#include "tools/named_output.h"
#include "tools/replay/run_times.h"

/* Facts about the runs. */
struct tsm_timed_facts {
    unsigned run_count;
    const char *device, *driver, *clocks; /* driver: "" where none was asked for */
    bool is_lossy; /* what is missing from the trace may be missing from the new one, too */
};

int tsm_timed_trace_write(const struct tsm_output *output, struct sbt_reader *reader,
                          struct tsm_run_times *times, const struct tsm_timed_facts *facts);

#endif
