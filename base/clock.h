/* SPDX-License-Identifier: Apache-2.0
 *
 * Time. Call paths read the TSC (9.5 ns here, clock_gettime 22 ns); everything that is stored is in
 * nanoseconds of CLOCK_MONOTONIC. x86-64 with an invariant TSC.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t tsm_ticks(void)
{
    return __builtin_ia32_rdtsc();
}

static inline uint64_t tsm_clock_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t tsm_monotonic_ns(void)
{
    return tsm_clock_ns(CLOCK_MONOTONIC);
}

/* One instant on both clocks. */
struct tsm_clock_pair {
    uint64_t ticks;
    uint64_t monotonic_ns;
};

/* The tightest of a few readings: error below ~50 ns unless preempted every time. */
struct tsm_clock_pair tsm_clock_pair_read(void);

/* A line through two pairs. Converts any tick count, also before `from`. */
struct tsm_clock_line {
    struct tsm_clock_pair from;
    double ns_per_tick;
};

/* The pairs should be >= 1 ms apart; with equal ticks the line is flat. */
struct tsm_clock_line tsm_clock_line_through(struct tsm_clock_pair from, struct tsm_clock_pair to);

static inline uint64_t tsm_clock_line_ns(const struct tsm_clock_line *line, uint64_t ticks)
{
    int64_t gap = (int64_t)(ticks - line->from.ticks);

    return line->from.monotonic_ns + (uint64_t)(int64_t)((double)gap * line->ns_per_tick);
}

#endif
