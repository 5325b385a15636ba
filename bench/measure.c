/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/measure.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void bench_add(struct bench_samples *s, double value)
{
    if (s->count < BENCH_SAMPLE_MAX)
        s->values[s->count++] = value;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double bench_percentile(struct bench_samples *s, unsigned percent)
{
    if (s->count == 0)
        return 0;
    qsort(s->values, s->count, sizeof(s->values[0]), by_value);
    return s->values[(s->count - 1) * percent / 100];
}

void bench_print(const char *name, struct bench_samples *s)
{
    double p50 = bench_percentile(s, 50), p10 = bench_percentile(s, 10);

    printf("%s %.4f %.4f\n", name, p50, p10);
}

void bench_print_value(const char *name, double value)
{
    printf("%s %.4f\n", name, value);
}

uint64_t bench_thread_ns(void)
{
    return tsm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t bench_process_ns(void)
{
    return tsm_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static bool read_line(char *out, size_t size, const char *task, const char *file)
{
    char path[64 + 256];
    FILE *f;
    bool ok;

    snprintf(path, sizeof(path), "/proc/self/task/%s/%s", task, file);
    f = fopen(path, "r");
    ok = f && fgets(out, (int)size, f);
    if (f)
        fclose(f);
    return ok;
}

struct threads_sum {
    uint64_t named, busiest;
};

static struct threads_sum threads_ns(const char *name)
{
    DIR *tasks = opendir("/proc/self/task");
    const struct dirent *task;
    struct threads_sum sum = {0};
    char line[128];

    while (tasks && (task = readdir(tasks))) {
        bool named = read_line(line, sizeof(line), task->d_name, "comm") &&
                     strncmp(line, name, strlen(name)) == 0;
        uint64_t ns =
            read_line(line, sizeof(line), task->d_name, "schedstat") ? strtoull(line, NULL, 10) : 0;
        sum.named += named ? ns : 0;
        if (ns > sum.busiest && atoi(task->d_name) != gettid())
            sum.busiest = ns;
    }
    if (tasks)
        closedir(tasks);
    return sum;
}

uint64_t bench_named_threads_ns(const char *name)
{
    return threads_ns(name).named;
}

uint64_t bench_busiest_other_ns(void)
{
    return threads_ns("").busiest;
}

void bench_pin(unsigned cpu, bool realtime)
{
    struct sched_param priority = {.sched_priority = 1};
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof(set), &set);
    if (realtime)
        sched_setscheduler(0, SCHED_RR, &priority);
}

uint64_t bench_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* A launch: function, grid, block, shared memory, three pointers. */
static void make_command(uint64_t *words, uint64_t *random)
{
    words[0] = 1 + bench_random(random) % 40;
    words[1] = 1 + bench_random(random) % 2048;
    words[2] = 128u << bench_random(random) % 3;
    words[3] = bench_random(random) % 4 * 4096;
    for (unsigned i = 4; i < 7; i++)
        words[i] = 0x7f3200000000u + bench_random(random) % 4096 * 0x20000;
    words[7] = bench_random(random) % 65536;
}

void bench_events_init(struct bench_events *e)
{
    e->random = BENCH_SEED;
    e->count = 0;
    for (size_t i = 0; i < 600; i++)
        make_command(e->loop[i], &e->random);
}

void bench_events_fill(struct bench_events *e)
{
    for (size_t i = 0; i < BENCH_BATCH; i++) {
        memcpy(e->batch[i], e->loop[e->count++ % 600], sizeof(e->batch[i]));
        if (bench_random(&e->random) % 100 < 3)
            e->batch[i][4 + bench_random(&e->random) % 4] = bench_random(&e->random) % (1u << 24);
    }
}

/* Nanoseconds of each event, a sample a batch. */
static void paced_run(void (*record)(const uint64_t *), uint64_t count, struct bench_samples *out)
{
    static struct bench_events events;

    bench_events_init(&events);
    while (events.count < count) {
        uint64_t begin;

        bench_events_fill(&events);
        begin = tsm_monotonic_ns();
        for (size_t i = 0; i < BENCH_BATCH; i++)
            record(events.batch[i]);
        bench_add(out, (double)(tsm_monotonic_ns() - begin) / BENCH_BATCH);
        if (events.count % (4 * BENCH_BATCH) == 0)
            usleep(500);
    }
}

void bench_paced(const struct bench_recorder *r, uint64_t count)
{
    static struct bench_samples nothing, record;
    uint64_t start = bench_process_ns(), middle;
    char name[64];
    double base, cpu;

    paced_run(r->nothing, count, &nothing);
    middle = bench_process_ns();
    paced_run(r->record, count, &record);
    if (r->finish)
        r->finish();
    cpu = (double)(bench_process_ns() - middle) - (double)(middle - start);

    base = bench_percentile(&nothing, 50);
    snprintf(name, sizeof(name), "%s_total_ns", r->name);
    bench_print(name, &record);
    printf("%s_ns %.4f %.4f\n", r->name, bench_percentile(&record, 50) - base,
           bench_percentile(&record, 10) - base);
    snprintf(name, sizeof(name), "%s_cpu_ns", r->name);
    bench_print_value(name, cpu / (double)count);
}
