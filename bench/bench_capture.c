/* SPDX-License-Identifier: Apache-2.0
 *
 * Events of 64 bytes into a trace, paced as bench_lttng's are. Argument: their number.
 */
#include "bench/null_api.h"

#include <stdlib.h>

static struct tsm_stream *stream;

static void record(const uint64_t *words)
{
    null_command(stream, words);
}

static double drain_ns;

static void finish(void)
{
    tsm_session_flush();
    drain_ns = (double)bench_named_threads_ns("ts-");
    tsm_session_finish();
}

int main(int argc, char **argv)
{
    static const struct bench_recorder recorder = {"capture", null_real, record, finish};
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 1u << 20;

    stream = null_stream();
    bench_paced(&recorder, count);
    bench_print_value("capture_drain_ns", drain_ns / (double)count);
    return 0;
}
