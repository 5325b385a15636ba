/* SPDX-License-Identifier: Apache-2.0
 *
 * For fuzzers: a trace that lies in memory as a source of the reader, and copies of traces, which
 * have to keep every rule.
 */
#ifndef TESTS_FUZZ_MEMORY_TRACE_H
#define TESTS_FUZZ_MEMORY_TRACE_H

#include "tracesmith/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct memory_trace {
    uint8_t *data; /* not freed here */
    size_t size;
};

static inline int64_t memory_trace_read_at(void *user, uint64_t offset, void *out, size_t size)
{
    const struct memory_trace *m = user;
    size_t left = offset < m->size ? m->size - (size_t)offset : 0;

    size = size < left ? size : left;
    if (size)
        memcpy(out, m->data + offset, size);
    return (int64_t)size;
}

static inline uint64_t memory_trace_size(void *user)
{
    return ((const struct memory_trace *)user)->size;
}

/* Returns a reader of *m, which has to live as long. NULL: it is no trace. */
static inline struct sbt_reader *memory_trace_open(struct memory_trace *m)
{
    struct sbt_source source = {
        .read_at = memory_trace_read_at, .size = memory_trace_size, .user = m};
    struct sbt_reader *r = NULL;

    return sbt_reader_open_source(&r, &source, "fuzz") == 0 ? r : NULL;
}

static inline void copied_trace_breaks(void *user, uint64_t offset, const char *text)
{
    fprintf(stderr, "offset %llu: %s\n", (unsigned long long)offset, text);
}

/* Returns the path of a copy: memory, for this process alone. */
static inline void copied_trace_path(char path[64])
{
    snprintf(path, 64, "/dev/shm/ts-fuzz-copy-%d.sbt", (int)getpid());
}

/* Removes the copy; aborts if it breaks a rule. */
static inline void copied_trace_check(const char *path)
{
    bool is_sound = sbt_check(path, copied_trace_breaks, NULL) == 0;

    unlink(path);
    if (!is_sound)
        abort();
}

#endif
