/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/lane/lane.h"

#include "tracesmith/trace.h"

void tsm_missing_add(struct tsm_missing *missing, uint32_t stream, uint64_t ticks)
{
    uint32_t bit = stream < 63 ? stream : 63;

    if (missing->count == 0)
        missing->first = ticks;
    missing->last = ticks;
    missing->streams |= stream == SBT_STREAM_NONE ? 0 : (uint64_t)1 << bit;
    __atomic_store_n(&missing->count, missing->count + 1, __ATOMIC_RELEASE);
}
