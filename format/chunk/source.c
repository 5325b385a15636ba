/* SPDX-License-Identifier: Apache-2.0 */
#include "format/chunk/source.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "format/chunk/chunk.h"
#include "tracesmith/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEARCH_WINDOW 65536u

struct file_source {
    int fd;
    uint64_t size;
};

static int64_t file_read_at(void *user, uint64_t offset, void *out, size_t size)
{
    const struct file_source *f = user;
    ssize_t n;

    if (offset >= f->size)
        return 0;
    if (size > f->size - offset)
        size = (size_t)(f->size - offset);
    do {
        n = pread(f->fd, out, size, (off_t)offset);
    } while (n < 0 && errno == EINTR);
    return n < 0 ? tsm_fail(TSM_E_IO, "cannot read: %s", strerror(errno)) : n;
}

static int64_t file_read_scattered(void *user, uint64_t offset, const struct iovec *to, int count)
{
    const struct file_source *f = user;
    ssize_t n;

    if (offset > INT64_MAX)
        return 0;
    do {
        n = preadv(f->fd, to, count, (off_t)offset);
    } while (n < 0 && errno == EINTR);
    return n < 0 ? tsm_fail(TSM_E_IO, "cannot read: %s", strerror(errno)) : n;
}

static uint64_t file_size(void *user)
{
    return ((const struct file_source *)user)->size;
}

static void file_close(void *user)
{
    struct file_source *f = user;

    close(f->fd);
    free(f);
}

int sbt_source_fd(struct sbt_source *out, int fd, const char *name)
{
    struct file_source *f;
    struct stat st;

    if (fstat(fd, &st) != 0)
        return tsm_fail(TSM_E_IO, "%s: cannot read: %s", name, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return tsm_fail(TSM_E_IO, "%s: not a regular file, which a trace must be to be read", name);
    f = malloc(sizeof(*f));
    if (!f)
        return tsm_fail(TSM_E_MEMORY, "%s: out of memory", name);
    *f = (struct file_source){.fd = fd, .size = (uint64_t)st.st_size};
    *out = (struct sbt_source){file_read_at, file_size, file_close, f, file_read_scattered};
    return 0;
}

void sbt_source_cut(struct sbt_source *source, uint64_t size)
{
    struct file_source *f = source->user;

    if (size < f->size)
        f->size = size;
}

int sbt_source_file(struct sbt_source *out, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO is refused, not awaited */
    int error;

    if (fd < 0)
        return tsm_fail(errno == ENOENT ? TSM_E_NOT_FOUND : TSM_E_IO, "%s: cannot open: %s", path,
                        strerror(errno));
    error = sbt_source_fd(out, fd, path);
    if (error)
        close(fd);
    return error;
}

int64_t sbt_source_read(const struct sbt_source *source, uint64_t offset, void *to, size_t size)
{
    uint8_t *out = to;
    size_t have = 0;

    while (have < size) {
        int64_t n = source->read_at(source->user, offset + have, out + have, size - have);
        if (n < 0)
            return n;
        if (n == 0)
            break;
        have += (size_t)n;
    }
    return (int64_t)have;
}

int sbt_source_find(const struct sbt_source *source, uint64_t from, uint64_t end,
                    const uint8_t magic[8], uint64_t *found)
{
    uint8_t *window = malloc(SEARCH_WINDOW);
    int64_t got = window ? 8 : tsm_fail(TSM_E_MEMORY, "out of memory");

    *found = end;
    while (got >= 8 && *found == end && from < end && end - from >= 8) {
        const uint8_t *hit;
        got = sbt_source_read(source, from, window,
                        end - from < SEARCH_WINDOW ? (size_t)(end - from) : SEARCH_WINDOW);
        hit = got < 8 ? NULL : memmem(window, (size_t)got, magic, 8);
        if (hit)
            *found = from + (uint64_t)(hit - window);
        from += got < 8 ? 0 : (uint64_t)got - 7; /* it may lie across windows */
    }
    free(window);
    return got < 0 ? (int)got : 0;
}

int sbt_source_find_session(const struct sbt_source *source, uint64_t from, uint64_t end,
                            uint64_t *found)
{
    uint8_t header[SBT_FILE_HEADER_SIZE];
    uint64_t at = from;

    for (;; at++) {
        int64_t got = sbt_source_find(source, at, end, sbt_file_magic, &at);
        if (got < 0)
            return (int)got;
        if (at == end || at == from)
            break;
        got = sbt_source_read(source, at, header, sizeof(header));
        if (got < 0)
            return (int)got;
        if (got == sizeof(header) && tsm_get_u64(header + 56) == tsm_hash64(header, 56))
            break;
    }
    *found = at;
    return 0;
}
