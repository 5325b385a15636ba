/* SPDX-License-Identifier: Apache-2.0 */
#include "format/source.h"

#include "tracesmith/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct file_source {
    int fd;
    uint64_t size;
};

static int64_t file_read_at(void *user, uint64_t offset, void *out, size_t size)
{
    const struct file_source *f = user;
    ssize_t n;

    if (offset > INT64_MAX)
        return 0;
    do {
        n = pread(f->fd, out, size, (off_t)offset);
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
    *out = (struct sbt_source){file_read_at, file_size, file_close, f};
    return 0;
}

int sbt_source_file(struct sbt_source *out, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int error;

    if (fd < 0)
        return tsm_fail(errno == ENOENT ? TSM_E_NOT_FOUND : TSM_E_IO, "%s: cannot open: %s", path,
                        strerror(errno));
    error = sbt_source_fd(out, fd, path);
    if (error)
        close(fd);
    return error;
}
