/* SPDX-License-Identifier: Apache-2.0
 *
 * What recording costs the program, as ratios to a baseline of the same run; one line each. Medians
 * of short batches, so that being interrupted does not count.
 */
#include "base/clock.h"
#include "capture/capture.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API         7
#define BATCH       200
#define BATCH_COUNT 2000

static const struct sbt_field fields[] = {
    {"value", SBT_FIELD_UINT, SBT_ROLE_NONE, ""},
    {"name", SBT_FIELD_STRING, SBT_ROLE_FUNCTION_NAME, ""},
};
static const struct sbt_schema schemas[] = {
    {SBT_TYPE(API, 1), "call", SBT_KIND_QUERY, 0, "", 2, fields},
    {SBT_TYPE(API, 2), "launch", SBT_KIND_COMMAND, 0, "", 2, fields},
};
static const struct tsm_call_description calls[] = {
    {&schemas[0], TSM_CALL_GENERATED, "bench"},
    {&schemas[1], TSM_CALL_GENERATED, "bench"},
};
static const struct tsm_api_description description = {
    (enum sbt_api)API, "bench", calls, 2, NULL, 0};
static const struct tsm_source source = {.description = &description};
const struct tsm_source *const tsm_sources[] = {&source, NULL};

#define NOINLINE __attribute__((noinline))

static NOINLINE void real_call(uint64_t value)
{
    __asm__ volatile("" ::"r"(value) : "memory");
}

static NOINLINE void call_wrapper(uint64_t value)
{
    struct tsm_call call;

    if (!tsm_call_begin(&call, SBT_TYPE(API, 1))) {
        real_call(value);
        return;
    }
    real_call(value);
    tsm_call_returned(&call, 0, false);
    tsm_call_slot(&call, value);
    tsm_call_slot(&call, 0);
    tsm_call_commit(&call);
}

/* A launch: on a stream of its own, with the host stack. */
static NOINLINE void launch_wrapper(uint64_t value)
{
    static __thread struct tsm_stream *stream;
    struct tsm_call call;

    if (!tsm_call_begin(&call, SBT_TYPE(API, 2))) {
        real_call(value);
        return;
    }
    if (!stream)
        stream = tsm_stream_create((enum sbt_api)API);
    tsm_call_on_stream(&call, stream, TSM_ENQUEUES);
    real_call(value);
    tsm_call_returned(&call, 0, false);
    tsm_call_slot(&call, value);
    tsm_call_slot(&call, 0);
    tsm_call_commit(&call);
}

static NOINLINE void two_stamps(uint64_t value)
{
    uint64_t begin = tsm_ticks();
    __asm__ volatile("" ::"r"(begin) : "memory");
    real_call(value);
    begin = tsm_ticks();
    __asm__ volatile("" ::"r"(begin) : "memory");
}

static int (*unw_backtrace_)(void **frames, int count);

static NOINLINE void backtrace_of(uint64_t value)
{
    void *frames[256];

    if (unw_backtrace_)
        unw_backtrace_(frames, 256);
    real_call(value);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* Median of ns per call over batches, with a pause between them as a program has it. */
static double measure(void (*function)(uint64_t))
{
    static __thread double ns[BATCH_COUNT];
    struct tsm_clock_line line;
    struct tsm_clock_pair from = tsm_clock_pair_read();

    for (int i = 0; i < BATCH_COUNT; i++) {
        uint64_t begin = tsm_ticks();
        for (int j = 0; j < BATCH; j++)
            function((uint64_t)j);
        ns[i] = (double)(tsm_ticks() - begin) / BATCH;
        if (i % 20 == 19)
            usleep(200);
    }
    line = tsm_clock_line_through(from, tsm_clock_pair_read());
    qsort(ns, BATCH_COUNT, sizeof(*ns), compare);
    return ns[BATCH_COUNT / 2] * line.ns_per_tick;
}

static NOINLINE double at_depth(unsigned depth, void (*function)(uint64_t))
{
    double ns;

    if (depth == 0)
        return measure(function);
    ns = at_depth(depth - 1, function);
    __asm__ volatile("" ::"r"(&ns) : "memory");
    return ns;
}

static void *on_thread(void *result)
{
    *(double *)result = measure(call_wrapper);
    return NULL;
}

static double two_threads(void)
{
    pthread_t threads[2];
    double ns[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, on_thread, &ns[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return (ns[0] + ns[1]) / 2;
}

static void report(const char *what, double value, double baseline)
{
    printf("%-52s %6.2f   (%.1f ns / %.1f ns)\n", what, value / baseline, value, baseline);
}

int main(void)
{
    void *libunwind = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    void *found = libunwind ? dlsym(libunwind, "unw_backtrace") : NULL;
    double floor_ns, wrapper_ns, stamp_ns, direct_ns, plain, stacked, unwind_ns;

    memcpy(&unw_backtrace_, &found, sizeof(found));
    setenv("TS_OUTPUT", "bench_capture.sbt", 1);
    unlink("bench_capture.sbt");
    unwind_ns = at_depth(32, backtrace_of); /* before capture gives libunwind its way of reading */
    floor_ns = measure(two_stamps);
    direct_ns = measure(real_call);
    stamp_ns = (floor_ns - direct_ns) / 2;
    wrapper_ns = measure(call_wrapper);
    report("wrapper / two rdtsc", wrapper_ns, floor_ns);
    report("wrapper, 2 threads / 1 thread", two_threads(), wrapper_ns);
    plain = at_depth(32, call_wrapper);
    stacked = at_depth(32, launch_wrapper);
    report("launch with stream and stack, depth 32 / two rdtsc", stacked, floor_ns);
    report("stack id and stream, depth 32 / unw_backtrace", stacked - plain, unwind_ns);
    report("the program's own unw_backtrace, with / without", at_depth(32, backtrace_of),
           unwind_ns);
    tsm_session_pause(true);
    report("paused: (wrapper - direct call) / rdtsc", measure(call_wrapper) - direct_ns, stamp_ns);
    tsm_session_pause(false);
    tsm_session_finish();
    unlink("bench_capture.sbt");
    return 0;
}
