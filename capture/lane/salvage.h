/* SPDX-License-Identifier: Apache-2.0
 *
 * After a crash: bring what the lanes file beside a trace still holds into the trace. For tools;
 * never part of a traced program. Layout of the lanes file: capture/lane/lane.h.
 *
 * Exact: what was committed before the process died is in the trace afterwards, nothing twice. A
 * call that a thread was in becomes a record flagged SBT_RECORD_UNFINISHED.
 */
#ifndef CAPTURE_LANE_SALVAGE_H
#define CAPTURE_LANE_SALVAGE_H

#include "tracesmith/error.h"

#include <stdbool.h>
#include <stdint.h>

struct tsm_salvage_result {
    bool running;              /* the process still writes: nothing was done */
    bool unbegun;              /* the process ended before its first call: nothing was recorded */
    uint32_t pid;              /* of the process that wrote the lanes */
    char stopped[256];         /* why it had stopped recording by itself; "" it had not */
    uint64_t record_count;     /* records added */
    uint64_t unfinished_count; /* of these: calls that threads were in */
    uint64_t lost_count;       /* records that had been in the trace and are gone, as after a power
                                  loss; the trace has a LOST record */
    uint32_t torn_count;       /* lanes whose end made no sense; what came after it is lost, and
                                  the trace has a LOST record for each */
};

/* 1: done, the trace ends with SBT_END_RECOVERED and the lanes file is removed. 0: nothing to do
 * (no lanes file; `result->running`; `result->unbegun`, or a trace that the recorder itself has
 * finished: then the lanes file is removed). A trailer that a repair wrote does not count. Negative: neither file was given up; trying again is safe. `result` may be NULL. */
int tsm_salvage(const char *trace_path, struct tsm_salvage_result *result);

#endif
