/* SPDX-License-Identifier: Apache-2.0
 *
 * Cost of one LTTng-UST event of 64 bytes, in batches, so that preemption shows as outliers and the
 * median is the cost. Run inside a recording session (bench/run starts one); prints
 * "lttng_ns VALUE" and, over the whole run, "lttng_cpu_ns VALUE" of the producer's own CPU time.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "bench/lttng_event.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BATCH = 1000, BATCH_COUNT = 1000 };

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void)
{
    static double ns[BATCH_COUNT];
    uint64_t slots[8] = {0}, cpu = tsm_clock_ns(CLOCK_PROCESS_CPUTIME_ID);

    for (int batch = 0; batch < BATCH_COUNT; batch++) {
        uint64_t begin = tsm_monotonic_ns();
        for (int i = 0; i < BATCH; i++) {
            slots[0] = (uint64_t)i;
            slots[3] += 4096;
            lttng_ust_tracepoint(tracesmith_bench, call, slots);
        }
        ns[batch] = (double)(tsm_monotonic_ns() - begin) / BATCH;
        usleep(500); /* paced: about two million events a second */
    }
    cpu = tsm_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    qsort(ns, BATCH_COUNT, sizeof(ns[0]), by_value);
    printf("lttng_ns %.2f\nlttng_cpu_ns %.2f\n", ns[BATCH_COUNT / 2],
           (double)cpu / ((double)BATCH * BATCH_COUNT));
    return 0;
}
