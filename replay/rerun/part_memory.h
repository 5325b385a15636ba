/* SPDX-License-Identifier: Apache-2.0
 *
 * A part of a trace without any result: memory at its end is compared with that of a full replay up
 * to there.
 */
#ifndef REPLAY_RERUN_PART_MEMORY_H
#define REPLAY_RERUN_PART_MEMORY_H

#include "tracesmith/replay.h"

struct tsm_part_memory {
    uint64_t compared_count; /* allocations, and arrays */
    uint64_t differing_count;
    uint64_t shared_count;  /* that commands may write, too, which the part leaves out: they are not
                               compared */
    uint64_t address, size; /* of the first that differs */
};

/* Replays the part and the whole trace up to its end, each in a process of its own and for five
 * minutes at most; nothing may have been replayed in this process. Compared is what commands of
 * the part may have written and what lives when its last one is done, by its hashes. Returns 0 or a
 * negative tsm_error. */
int tsm_part_memory_compare(struct tsm_part_memory *out, struct sbt_reader *reader,
                            const struct tsm_replay_options *options);

#endif
