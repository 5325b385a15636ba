/* SPDX-License-Identifier: Apache-2.0
 *
 * Scratch memory: bytes that no result depends on. They are followed through the commands that come
 * later: what one writes that reads some of them may depend on them, too, until it is overwritten
 * or freed; what leaves the device is a result. Known only where accesses were observed; a command
 * of which they were not reads and writes all that it may reach. Where the program reads nothing
 * back no memory is scratch memory: all of it may be what the program is about.
 */
#ifndef ANALYSIS_DEPENDENCIES_SCRATCH_MEMORY_H
#define ANALYSIS_DEPENDENCIES_SCRATCH_MEMORY_H

#include "analysis/dependencies/command_accesses.h"

struct tsm_scratch_memory {
    bool has_results; /* the program reads bytes back */
    struct tsm_command_accesses commands;
    struct tsm_placed { /* memory, as it was allocated */
        uint64_t seq, start, end;
        bool is_device;
    } * placed;
    size_t placed_count, placed_capacity;
};

/* Reads the whole trace. Finish it in any case. Returns 0 or a negative tsm_error. */
int tsm_scratch_memory_collect(struct tsm_scratch_memory *out, struct sbt_reader *reader);
void tsm_scratch_memory_finish(struct tsm_scratch_memory *s);

/* Bytes [start, end). */
struct tsm_scratch_memory_range {
    uint64_t start, end;
};

/* Tests whether the bytes are scratch memory after record `seq`, as far as that is known. */
bool tsm_scratch_memory_has(const struct tsm_scratch_memory *s, uint64_t seq,
                            const struct tsm_scratch_memory_range *ranges, size_t count);

#endif
