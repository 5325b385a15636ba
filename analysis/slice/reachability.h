/* SPDX-License-Identifier: Apache-2.0
 *
 * Which submits of a Vulkan trace have nothing to do with those of some streams. No record says
 * which bytes a submit reads or writes, but all that it can reach are objects that its command
 * buffers name, and what those were made of, bound to or written into. Two submits that reach no
 * object in common cannot see each other's bytes.
 */
#ifndef ANALYSIS_SLICE_REACHABILITY_H
#define ANALYSIS_SLICE_REACHABILITY_H

#include "base/map.h"
#include "tracesmith/reader.h"

struct tsm_reachability {
    struct tsm_map apart; /* seq + 1 of submits that nothing wanted is connected with */
};

/* Wanted are the submits on filter->streams, and memory whose checksums are theirs. One pass over
 * the trace, in memory that grows with objects and submits. Where memory may be reached without a
 * name (addresses of buffers, memory that is shared or the program's own) all is connected. */
int tsm_reachability_find(struct tsm_reachability *out, struct sbt_reader *reader,
                          const struct sbt_filter *filter);
bool tsm_reachability_is_apart(const struct tsm_reachability *connected, uint64_t seq);
void tsm_reachability_finish(struct tsm_reachability *connected);

#endif
