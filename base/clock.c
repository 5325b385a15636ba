/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

struct tsm_clock_pair tsm_clock_pair_read(void)
{
    struct tsm_clock_pair best = {0, 0};
    uint64_t best_width = UINT64_MAX;

    for (int i = 0; i < 8; i++) {
        uint64_t before = tsm_ticks();
        uint64_t ns = tsm_monotonic_ns();
        uint64_t width = tsm_ticks() - before;
        if (width < best_width) {
            best_width = width;
            best = (struct tsm_clock_pair){before + width / 2, ns};
        }
    }
    return best;
}

struct tsm_clock_line tsm_clock_line_through(struct tsm_clock_pair from, struct tsm_clock_pair to)
{
    struct tsm_clock_line line = {from, 0};

    if (to.ticks != from.ticks)
        line.ns_per_tick =
            (double)(to.monotonic_ns - from.monotonic_ns) / (double)(to.ticks - from.ticks);
    return line;
}
