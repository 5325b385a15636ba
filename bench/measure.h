/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared parts of the programs in bench/. A machine that does other things too moves any mean; so
 * costs are taken over short batches (preemption shows as an outlier) and given as median and
 * lowest tenth, and throughput is counted in CPU time. Each program prints lines "name p50 p10" for
 * bench/run, which makes ratios of them.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "base/clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_SAMPLE_MAX 65536u

struct bench_samples {
    size_t count;
    double values[BENCH_SAMPLE_MAX]; /* those after the last place are dropped */
};

void bench_add(struct bench_samples *s, double value);

/* Sorts. `percent` 0..100; 0 when there are no samples. */
double bench_percentile(struct bench_samples *s, unsigned percent);

/* "name p50 p10" on stdout. */
void bench_print(const char *name, struct bench_samples *s);
void bench_print_value(const char *name, double value);

/* CPU time of this thread, of this process, and of the threads of this process whose name begins
 * with `name`. Nanoseconds. */
uint64_t bench_thread_ns(void);
uint64_t bench_process_ns(void);
uint64_t bench_named_threads_ns(const char *name);

/* CPU time of the thread of this process that has used most, other than the caller. */
uint64_t bench_busiest_other_ns(void);

/* Pin this thread to a CPU and give it real-time priority; what the system refuses is left. */
void bench_pin(unsigned cpu, bool realtime);

/* xorshift64: the same numbers in each run. */
uint64_t bench_random(uint64_t *state);
#define BENCH_SEED 88172645463325252u

/* ---- events: what training looks like ---------------------------------------------------------
 *
 * 600 commands of eight words repeat; three in a hundred have one word changed. Made in batches,
 * outside of what is timed.
 */
#define BENCH_WORDS 8u
#define BENCH_BATCH 256u

struct bench_events {
    uint64_t random;
    uint64_t count;
    uint64_t loop[600][BENCH_WORDS];
    uint64_t batch[BENCH_BATCH][BENCH_WORDS];
};

void bench_events_init(struct bench_events *e);
void bench_events_fill(struct bench_events *e); /* the next batch */

/* ---- a paced producer --------------------------------------------------------------------------
 *
 * `count` events, 1024 at a time with half a millisecond between, once into `nothing` and once into
 * `record`; `finish` makes the recorder write everything. Prints NAME_ns (record less nothing, for
 * one event), NAME_total_ns (of record) and NAME_cpu_ns: CPU time of the whole process for one
 * event, less that of the run into nothing.
 */
struct bench_recorder {
    const char *name;
    void (*nothing)(const uint64_t *words);
    void (*record)(const uint64_t *words);
    void (*finish)(void); /* may be NULL */
};

void bench_paced(const struct bench_recorder *r, uint64_t count);

#endif
