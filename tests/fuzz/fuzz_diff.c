/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzes the comparison of two traces. Input: a byte of options and a trace, which is compared with
 * itself and with one of our own (the first trace that was given, as it is in the corpus).
 *
 * A trace is never different from itself, and whether two are the same does not depend on which
 * comes first.
 */
#include "tracesmith/analysis.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct memory {
    uint8_t *data;
    size_t size;
};

static struct memory first;

static int64_t memory_read_at(void *user, uint64_t offset, void *out, size_t size)
{
    const struct memory *m = user;
    size_t left = offset < m->size ? m->size - (size_t)offset : 0;

    size = size < left ? size : left;
    if (size)
        memcpy(out, m->data + offset, size);
    return (int64_t)size;
}

static uint64_t memory_size(void *user)
{
    return ((const struct memory *)user)->size;
}

static struct sbt_reader *open_memory(struct memory *m, const char *name)
{
    struct sbt_source source = {.read_at = memory_read_at, .size = memory_size, .user = m};
    struct sbt_reader *r = NULL;

    return sbt_reader_open_source(&r, &source, name) == 0 ? r : NULL;
}

/* Negative: it is an error. */
static int diff(struct memory *a, struct memory *b, const struct tsm_diff_options *options)
{
    struct sbt_reader *left = open_memory(a, "a"), *right = left ? open_memory(b, "b") : NULL;
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
    struct memory m = {.size = size ? size - 1 : 0};
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
