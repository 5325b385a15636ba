/* SPDX-License-Identifier: Apache-2.0
 *
 * Positions count up on each stream, so a chunk stores each as the difference to the one before on
 * the same stream: nearly always 1. docs/FORMAT.md section 7.2.
 */
#ifndef FORMAT_POSITION_H
#define FORMAT_POSITION_H

#include "base/map.h"
#include "tracesmith/trace.h"

#include <stdint.h>

/* The last position on each stream. Zeroed: all 0. */
struct sbt_positions {
    uint64_t low[256];
    uint64_t none;
    struct tsm_map high; /* streams from 256 on */
};

void sbt_positions_finish(struct sbt_positions *p);

uint64_t *sbt_positions_high(struct sbt_positions *p, uint32_t stream);

/* Returns the last position of `stream`, created as 0; NULL when out of memory. */
static inline uint64_t *sbt_positions_last(struct sbt_positions *p, uint32_t stream)
{
    if (stream < 256)
        return &p->low[stream];
    return stream == SBT_STREAM_NONE ? &p->none : sbt_positions_high(p, stream);
}

#endif
