/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces as bytes: read from a file, changed, written back, or read by a reader where they are.
 */
#ifndef TESTS_UNIT_FORMAT_FORMAT_BYTES_H
#define TESTS_UNIT_FORMAT_FORMAT_BYTES_H

#include "base/buffer.h"
#include "tracesmith/reader.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files ---- */

static inline struct tsm_buffer file_read(const char *path)
{
    struct tsm_buffer b = {0};
    int fd = open(path, O_RDONLY);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0 || !tsm_buffer_reserve(&b, (size_t)st.st_size + 1) ||
        read(fd, b.data, (size_t)st.st_size) != st.st_size)
        exit(1);
    b.size = (size_t)st.st_size;
    close(fd);
    return b;
}

static inline void file_write(const char *path, const void *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        exit(1);
    close(fd);
}

/* ---- memory as a source ---- */

struct memory {
    const uint8_t *data;
    size_t size;
};

static inline int64_t memory_read_at(void *user, uint64_t offset, void *out, size_t size)
{
    const struct memory *m = user;
    size_t n = offset < m->size ? m->size - (size_t)offset : 0;

    n = n < size ? n : size;
    memcpy(out, m->data + (n ? offset : 0), n);
    return (int64_t)n;
}

static inline uint64_t memory_size(void *user)
{
    return ((const struct memory *)user)->size;
}

#endif
