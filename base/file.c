/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define QUIETLY (O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK)

int tsm_file_create(const char *path)
{
    return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* NULL: it is one that only this user can have written. */
static const char *objection(const struct stat *st)
{
    if (S_ISDIR(st->st_mode))
        return "is a folder";
    if (!S_ISREG(st->st_mode))
        return "is no regular file";
    if (st->st_uid != geteuid())
        return "belongs to another user";
    if (st->st_nlink != 1)
        return st->st_nlink ? "has another name, too (hard link)" : "was removed";
    if (st->st_mode & (S_IRWXG | S_IRWXO))
        return "can be opened by other users";
    return NULL;
}

static const char *reason_of(int error)
{
    switch (error) {
    case ELOOP:
        return "is a symbolic link";
    case EISDIR:
        return "is a folder";
    case ENXIO:
        return "is no regular file";
    default:
        return tsm_errno_text(error);
    }
}

int tsm_file_open_own(const char *path, int access, struct stat *st, const char **why)
{
    int fd;

    /* First without opening it: to open a device may do something. What is opened is judged again. */
    if (lstat(path, st) == 0 && !S_ISLNK(st->st_mode) && (*why = objection(st)) != NULL) {
        errno = EPERM;
        return -1;
    }
    fd = open(path, access | QUIETLY);
    if (fd < 0) {
        int error = errno;
        *why = reason_of(error);
        errno = error;
        return -1;
    }
    *why = fstat(fd, st) == 0 ? objection(st) : tsm_errno_text(errno);
    if (!*why)
        return fd;
    close(fd);
    errno = EPERM;
    return -1;
}

/* ---- outputs --------------------------------------------------------------------------------- */

static int may_be_link(const char *path)
{
    return strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/self/fd/", 14) == 0;
}

enum tsm_file_target tsm_file_target(const char *path, const char **why)
{
    struct stat st;

    *why = NULL;
    if (lstat(path, &st) != 0 || (S_ISLNK(st.st_mode) && may_be_link(path) && stat(path, &st) != 0)) {
        if (errno == ENOENT)
            return TSM_FILE_ABSENT;
        *why = tsm_errno_text(errno);
    } else if (may_be_link(path) && !S_ISDIR(st.st_mode)) {
        return TSM_FILE_SPECIAL;
    } else if (S_ISLNK(st.st_mode)) {
        *why = "is a symbolic link; name the file itself";
    } else if (S_ISDIR(st.st_mode)) {
        *why = "is a folder";
    } else if (!S_ISREG(st.st_mode)) {
        return TSM_FILE_SPECIAL;
    } else if (st.st_uid != geteuid()) {
        *why = "belongs to another user";
    }
    return *why ? TSM_FILE_REFUSED : TSM_FILE_REGULAR;
}

static int open_output(const char *path, int flags, const char **why)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | flags | (may_be_link(path) ? 0 : O_NOFOLLOW),
                  0600);

    if (fd < 0)
        *why = tsm_errno_text(errno);
    return fd;
}

int tsm_file_output(const char *path, const char **why)
{
    enum tsm_file_target target = tsm_file_target(path, why);

    if (target == TSM_FILE_REFUSED)
        return -1;
    if (target == TSM_FILE_SPECIAL)
        return open_output(path, 0, why);
    if (target == TSM_FILE_REGULAR)
        unlink(path);
    return open_output(path, O_CREAT | O_EXCL, why);
}

int tsm_file_append(const char *path, const char **why)
{
    enum tsm_file_target target = tsm_file_target(path, why);

    if (target == TSM_FILE_REFUSED)
        return -1;
    return open_output(path, target == TSM_FILE_SPECIAL ? O_APPEND : O_APPEND | O_CREAT, why);
}

/* ---- names ----------------------------------------------------------------------------------- */

static int is_same(int fd, const struct stat *named)
{
    struct stat opened;

    return fstat(fd, &opened) == 0 && named->st_ino == opened.st_ino &&
           named->st_dev == opened.st_dev;
}

int tsm_file_is_named(int fd, const char *path)
{
    struct stat named;

    return lstat(path, &named) == 0 && is_same(fd, &named);
}

void tsm_file_remove(int folder, const char *name, int fd)
{
    struct stat named;

    if (fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && is_same(fd, &named))
        unlinkat(folder, name, 0);
}
