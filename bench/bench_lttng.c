/* SPDX-License-Identifier: Apache-2.0
 *
 * Events of 64 bytes into LTTng-UST, paced as bench_capture's are. Argument: their number. Run it
 * inside a recording session (bench/run starts one).
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "bench/lttng_event.h"

#include "bench/measure.h"

#include <stdlib.h>

static __attribute__((noinline)) void nothing(const uint64_t *words)
{
    __asm__ volatile("" : : "r"(words) : "memory");
}

static void record(const uint64_t *words)
{
    lttng_ust_tracepoint(tracesmith_bench, call, words);
}

int main(int argc, char **argv)
{
    static const struct bench_recorder recorder = {"lttng", nothing, record, NULL};

    bench_paced(&recorder, argc > 1 ? strtoull(argv[1], NULL, 10) : 1u << 20);
    return 0;
}
