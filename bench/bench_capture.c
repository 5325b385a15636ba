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

int main(int argc, char **argv)
{
    static const struct bench_recorder recorder = {"capture", null_real, record,
                                                   tsm_session_finish};

    stream = null_stream();
    bench_paced(&recorder, argc > 1 ? strtoull(argv[1], NULL, 10) : 1u << 20);
    return 0;
}
