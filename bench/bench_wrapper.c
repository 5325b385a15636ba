/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures a wrapper's cost to the program, against the floor of two time stamps, and with two
 * threads that record at once. Bursts are short enough to fit into a lane, with rests between them,
 * so that the drain thread's work is not measured here.
 */
#include "bench/null_api.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS = 400, BATCHES = 4 };

static struct tsm_stream *streams[2];
static struct bench_events events;

static double batch_ns(void (*record)(const uint64_t *))
{
    uint64_t begin = tsm_monotonic_ns();

    for (size_t i = 0; i < BENCH_BATCH; i++)
        record(events.batch[i]);
    return (double)(tsm_monotonic_ns() - begin) / BENCH_BATCH;
}

static __attribute__((noinline)) void stamps(const uint64_t *words)
{
    uint64_t a = tsm_ticks(), b;

    null_real(words);
    b = tsm_ticks();
    __asm__ volatile("" : : "r"(a), "r"(b));
}

static void command(const uint64_t *words)
{
    null_command(streams[0], words);
}

static void launch(const uint64_t *words)
{
    null_launch(streams[0], words);
}

static void paused(const uint64_t *words)
{
    null_command(streams[0], words);
}

static void measure_one(void)
{
    static struct bench_samples nothing, floor, call, with_stream, with_stack, off;

    bench_events_init(&events);
    for (int round = 0; round < ROUNDS; round++) {
        bench_events_fill(&events);
        for (int i = 0; i < BATCHES; i++) {
            bench_add(&nothing, batch_ns(null_real));
            bench_add(&floor, batch_ns(stamps));
            bench_add(&call, batch_ns(null_call));
            bench_add(&with_stream, batch_ns(command));
            bench_add(&with_stack, batch_ns(launch));
            tsm_session_pause(true);
            bench_add(&off, batch_ns(paused));
            tsm_session_pause(false);
        }
        usleep(300);
    }
    bench_print("direct_ns", &nothing);
    bench_print("stamps_ns", &floor);
    bench_print("call_ns", &call);
    bench_print("command_ns", &with_stream);
    bench_print("launch_ns", &with_stack);
    bench_print("paused_ns", &off);
}

/* ---- two threads ------------------------------------------------------------------------------
 */

static unsigned arrived, wanted;

/* Both spin until both are here: then they run at the same time. */
static void meet(unsigned round)
{
    __atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&arrived, __ATOMIC_SEQ_CST) < wanted * (round + 1))
        __builtin_ia32_pause();
}

struct worker {
    unsigned index;
    struct bench_samples samples;
    struct bench_events events;
};

static void *work(void *argument)
{
    struct worker *w = argument;
    struct tsm_stream *stream = streams[w->index];

    bench_pin(w->index, true);
    bench_events_init(&w->events);
    bench_events_fill(&w->events);
    for (unsigned round = 0; round < ROUNDS; round++) {
        meet(round);
        for (int batch = 0; batch < BATCHES; batch++) {
            uint64_t begin = tsm_monotonic_ns();
            for (size_t i = 0; i < BENCH_BATCH; i++)
                null_command(stream, w->events.batch[i]);
            bench_add(&w->samples, (double)(tsm_monotonic_ns() - begin) / BENCH_BATCH);
        }
        usleep(1000);
    }
    return NULL;
}

static void measure_threads(unsigned count, const char *name, struct bench_samples *all)
{
    static struct worker workers[2];
    pthread_t threads[2];

    arrived = 0;
    wanted = count;
    for (unsigned i = 0; i < count; i++) {
        workers[i].index = i;
        workers[i].samples.count = 0;
        if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0)
            exit(1);
    }
    for (unsigned i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        for (size_t k = 0; k < workers[i].samples.count; k++)
            bench_add(all, workers[i].samples.values[k]);
    }
    if (name)
        bench_print(name, all);
}

int main(void)
{
    static struct bench_samples one, two;

    streams[0] = null_stream();
    streams[1] = tsm_stream_create((enum sbt_api)7);
    measure_one();
    if (sysconf(_SC_NPROCESSORS_ONLN) > 1) {
        measure_threads(1, NULL, &one);
        measure_threads(2, NULL, &two);
        measure_threads(1, "threads1_ns", &one);
        measure_threads(2, "threads2_ns", &two);
    }
    tsm_session_finish();
    return 0;
}
