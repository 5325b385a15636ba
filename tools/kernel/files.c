/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/kernel/files.h"

#include "base/text.h"
#include "tracesmith/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *folder(void)
{
    const char *other = getenv("TS_GRTRACE_FOLDER"); /* tests put files of their own there */

    return other && *other ? other : TSM_KERNEL_FOLDER;
}

void tsm_kernel_path(char *out, size_t size, const char *file)
{
    tsm_format(out, size, "%s/%s", folder(), file);
}

int tsm_kernel_check(void)
{
    char path[PATH_MAX];

    tsm_kernel_path(path, sizeof(path), "control");
    if (access(path, W_OK) == 0)
        return 0;
    if (errno == EACCES || errno == EPERM)
        return tsm_fail(TSM_E_UNSUPPORTED, "%s: %s: only root controls the kernel module", path,
                        strerror(errno));
    if (access("/sys/module/grtrace", F_OK) == 0)
        return tsm_fail(TSM_E_NOT_FOUND,
                        "%s: the module is loaded, but debugfs is not mounted: "
                        "mount -t debugfs debugfs /sys/kernel/debug",
                        path);
    return tsm_fail(TSM_E_NOT_FOUND,
                    "%s: the module is not there: 'modprobe grtrace'; see kernel/README.md", path);
}

static int say_refused(const char *path, const char *text, ssize_t size, int why)
{
    if (size < 0 && why == EINVAL)
        return tsm_fail(TSM_E_ARGUMENT,
                        "%s: no such setting, or no such value: '%.*s'; see kernel/README.md", path,
                        (int)strcspn(text, "\n"), text);
    if (size < 0 && why == EALREADY)
        return tsm_fail(TSM_E_STATE, "%s: a session runs already; 'grtrace stop' ends it", path);
    if (size < 0 && why == EBUSY)
        return tsm_fail(TSM_E_STATE, "%s: '%.*s' cannot change while a session runs", path,
                        (int)strcspn(text, "\n"), text);
    return tsm_fail(TSM_E_IO, "%s: %s", path, size < 0 ? strerror(why) : "cut short");
}

/* The file, open, with `text` written. */
static int write_open(const char *file, const char *text)
{
    char path[PATH_MAX];
    ssize_t size;
    int fd, why;

    tsm_kernel_path(path, sizeof(path), file);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return tsm_fail(TSM_E_IO, "%s: %s", path, strerror(errno));
    size = write(fd, text, strlen(text));
    why = errno;
    if (size == (ssize_t)strlen(text))
        return fd;
    close(fd);
    return say_refused(path, text, size, why);
}

int tsm_kernel_write(const char *file, const char *text)
{
    int fd = write_open(file, text);

    if (fd < 0)
        return fd;
    close(fd);
    return 0;
}

int tsm_kernel_start(void)
{
    return write_open("control", "start attached");
}

int tsm_kernel_read(struct tsm_buffer *out, const char *file)
{
    char path[PATH_MAX];
    ssize_t got = 0;
    uint8_t *room;
    int fd;

    tsm_kernel_path(path, sizeof(path), file);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return tsm_fail(TSM_E_IO, "%s: %s", path, strerror(errno));
    while ((room = tsm_buffer_reserve(out, 4097)) && (got = read(fd, room, 4096)) > 0)
        out->size += (size_t)got;
    if (got < 0)
        tsm_fail(TSM_E_IO, "%s: %s", path, strerror(errno));
    close(fd);
    if (!room)
        return tsm_fail(TSM_E_MEMORY, "%s: out of memory", path);
    out->data[out->size] = 0;
    return got < 0 ? TSM_E_IO : 0;
}
