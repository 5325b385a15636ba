/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzes the comparison of two traces. Input: a byte of options and a trace, which is compared with
 * itself and with one of our own (the first trace that was given, as it is in the corpus).
 *
 * A trace is never different from itself, and whether two are the same does not depend on which
 * comes first.
 */
#include "tracesmith/analysis.h"

#include "tests/fuzz/memory_trace.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct memory_trace first;

/* Negative: it is an error. */
static int diff(struct memory_trace *a, struct memory_trace *b,
                const struct tsm_diff_options *options)
{
    struct sbt_reader *left = memory_trace_open(a), *right = left ? memory_trace_open(b) : NULL;
    struct tsm_diff_result result;
    int verdict = left && right ? tsm_diff(&result, left, right, options) : -1;

    if (verdict == 0)
        verdict = (int)result.verdict;
    sbt_reader_destroy(left);
    sbt_reader_destroy(right);
    return verdict;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t streams[] = {0, 1, SBT_STREAM_NONE};
    struct tsm_diff_options options = {0};
    struct memory_trace m = {.size = size ? size - 1 : 0};
    int there, back;

    if (size < 1)
        return 0;
    m.data = malloc(m.size ? m.size : 1);
    memcpy(m.data, data + 1, m.size);
    options.ignore_addresses = data[0] & 1;
    options.readbacks_only = data[0] & 2;
    options.streams = data[0] & 4 ? streams : NULL;
    options.stream_count = data[0] & 4 ? 3 : 0;
    if (diff(&m, &m, &options) == TSM_DIFFERENT)
        abort();
    if (!first.data && diff(&m, &m, NULL) == TSM_SAME)
        first = m;
    if (first.data && first.data != m.data) {
        there = diff(&first, &m, &options);
        back = diff(&m, &first, &options);
        if ((there == TSM_SAME) != (back == TSM_SAME))
            abort();
    }
    if (first.data != m.data)
        free(m.data);
    return 0;
}
