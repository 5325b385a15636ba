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

/* The number after `prefix`; -1: it is none. */
static int number_behind(const char *path, const char *prefix)
{
    size_t length = strlen(prefix);
    int number = 0;

    if (strncmp(path, prefix, length) != 0 || !path[length])
        return -1;
    for (const char *c = path + length; *c; c++) {
        if (*c < '0' || *c > '9' || number > 99999)
            return -1;
        number = number * 10 + (*c - '0');
    }
    return number;
}

/* The descriptor that a name stands for. It is written to as it is: opened by its name, a file would be
 * overwritten from its beginning. -1: the name is a file's. */
static int descriptor_of(const char *path)
{
    int number = number_behind(path, "/dev/fd/");

    if (strcmp(path, "/dev/stdout") == 0)
        return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0)
        return STDERR_FILENO;
    return number >= 0 ? number : number_behind(path, "/proc/self/fd/");
}

static const char *target_objection(const struct stat *st)
{
    if (S_ISLNK(st->st_mode))
        return "is a symbolic link; name the file itself";
    if (S_ISDIR(st->st_mode))
        return "is a folder";
    if (S_ISBLK(st->st_mode))
        return "is a disk";
    if (st->st_uid != geteuid() && !S_ISCHR(st->st_mode) && (S_ISREG(st->st_mode) || st->st_uid))
        return "belongs to another user";
    return NULL;
}

enum tsm_file_target tsm_file_target(const char *path, const char **why)
{
    int descriptor = descriptor_of(path);
    struct stat st;

    *why = NULL;
    if (descriptor >= 0) {
        if (fstat(descriptor, &st) != 0)
            *why = tsm_errno_text(errno);
        else if (S_ISDIR(st.st_mode))
            *why = "is a folder";
        return *why ? TSM_FILE_REFUSED : TSM_FILE_SPECIAL;
    }
    if (lstat(path, &st) != 0) {
        if (errno == ENOENT)
            return TSM_FILE_ABSENT;
        *why = tsm_errno_text(errno);
    } else {
        *why = target_objection(&st);
    }
    return *why ? TSM_FILE_REFUSED : S_ISREG(st.st_mode) ? TSM_FILE_REGULAR : TSM_FILE_SPECIAL;
}

/* Opens the output and judges the opened file again, because the name may be another file's by
 * now. */
static int open_output(const char *path, int flags, const char **why)
{
    int descriptor = descriptor_of(path);
    int fd = descriptor >= 0
                 ? fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
                 : open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | flags, 0600);
    struct stat st;

    if (fd < 0) {
        *why = tsm_errno_text(errno);
        return fd;
    }
    if (descriptor < 0)
        *why = fstat(fd, &st) != 0 ? tsm_errno_text(errno) : target_objection(&st);
    if (!*why && descriptor < 0 && S_ISREG(st.st_mode) && st.st_nlink != 1)
        *why = "has another name, too (hard link)";
    if (!*why)
        return fd;
    close(fd);
    return -1;
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
