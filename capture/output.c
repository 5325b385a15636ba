/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the trace goes. Two processes must never write one trace, and nothing but a trace may be
 * overwritten. The lanes file beside the trace is locked (flock) for as long as its session runs:
 * whoever has the lock owns all three names, <trace>.lanes, <trace>.new and <trace>.
 *
 * The trace is begun as <trace>.new and gets its name when everything is there that a reader and
 * salvage need. No call is recorded before. So whoever dies on the way, by SIGKILL too, leaves no
 * half-made trace: under the trace's name lies nothing, or all that was recorded.
 *
 * Everything here runs in the drain thread, whose table of descriptors is its own.
 */
#include "capture/session.h"

#include "base/clock.h"
#include "base/text.h"
#include "capture/declare.h"
#include "capture/family.h"
#include "format/chunk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ATTEMPT_COUNT_MAX 10000u

/* When this process, or the oldest of the family that it belongs to, began. A trace that is newer
 * than this is the family's, and is not replaced. */
static uint64_t family_start_ns;

static bool make_absolute(char path[TSM_PATH_MAX], const char *relative)
{
    char folder[TSM_PATH_MAX];

    if (relative[0] == '/')
        return tsm_format(path, TSM_PATH_MAX, "%s", relative) == strlen(relative);
    if (!getcwd(folder, sizeof(folder)))
        return false;
    return tsm_format(path, TSM_PATH_MAX, "%s/%s", folder, relative) ==
           strlen(folder) + 1 + strlen(relative);
}

static bool choose_names(struct tsm_session *s, unsigned attempt)
{
    char path[TSM_PATH_MAX];

    return tsm_output_path(path, sizeof(path), s->settings.output, attempt) &&
           make_absolute(s->path, path) &&
           tsm_format(s->lanes_path, sizeof(s->lanes_path), "%s.lanes", s->path) ==
               strlen(s->path) + 6;
}

static bool newer_than_family(const struct stat *st)
{
    return (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec >=
           family_start_ns;
}

/* A fork's family is its parent's, which may have ended. */
static void find_family(void)
{
    struct tsm_family family;

    if (family_start_ns)
        return;
    tsm_family_find(&family);
    family_start_ns = family.start_ns ? family.start_ns : tsm_clock_ns(CLOCK_REALTIME_COARSE);
}

/* The locked lanes file; -1: somebody else's, try the next name; -2: error, in errno. */
static int open_lanes(const char *path)
{
    struct stat named, opened;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return -2;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        goto taken;
    /* Its owner may have removed it between our open and our lock. */
    if (stat(path, &named) != 0 || fstat(fd, &opened) != 0 || named.st_ino != opened.st_ino ||
        named.st_dev != opened.st_dev)
        goto taken;
    return fd;

taken:
    close(fd);
    return -1;
}

/* A lanes file that another process left when it died holds what it recorded last. */
static void give_up_lanes(const char *path, int fd)
{
    struct stat st;

    if (fstat(fd, &st) == 0 && st.st_size == 0)
        unlink(path);
    close(fd);
}

static bool is_trace(const char *path)
{
    uint8_t head[SBT_MAGIC_SIZE];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = fd < 0 ? -1 : read(fd, head, sizeof(head));

    if (fd >= 0)
        close(fd);
    return got == 0 ||
           (got == (ssize_t)sizeof(head) && memcmp(head, sbt_file_magic, sizeof(head)) == 0);
}

enum { OPEN_TAKEN = -1, OPEN_FAILED = -2 };

static void new_path(const struct tsm_session *s, char out[TSM_PATH_MAX])
{
    tsm_format(out, TSM_PATH_MAX, "%s.new", s->path); /* fits: lanes_path did */
}

/* Nothing there, or a trace (that nobody writes). */
static bool may_replace(struct tsm_session *s, const char *path)
{
    struct stat st;

    if (lstat(path, &st) != 0 || (S_ISREG(st.st_mode) && is_trace(path)))
        return true;
    tsm_format(s->drain_message, sizeof(s->drain_message),
               "%s exists and is not a trace: it is not overwritten", path);
    return false;
}

static int create(struct tsm_session *s, const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0)
        tsm_format(s->drain_message, sizeof(s->drain_message), "cannot create %s: %s", path,
                   tsm_errno_text(errno));
    return fd < 0 ? OPEN_FAILED : fd;
}

/* The lanes file is ours. */
static int open_trace(struct tsm_session *s, int lanes)
{
    char path[TSM_PATH_MAX];
    struct stat st;

    if (lstat(s->path, &st) == 0 && S_ISREG(st.st_mode) && newer_than_family(&st) && st.st_size > 0)
        return OPEN_TAKEN;
    new_path(s, path);
    if (!may_replace(s, s->path) || !may_replace(s, path))
        return OPEN_FAILED;
    /* First what was in the lanes, then what it belonged to. */
    if (ftruncate(lanes, 0) != 0) {
        tsm_format(s->drain_message, sizeof(s->drain_message), "cannot empty %s: %s", s->lanes_path,
                   tsm_errno_text(errno));
        return OPEN_FAILED;
    }
    unlink(s->path);
    unlink(path);
    return create(s, path);
}

int tsm_output_show(struct tsm_session *s)
{
    char path[TSM_PATH_MAX];
    int failed;

    new_path(s, path);
    failed = renameat2(AT_FDCWD, path, AT_FDCWD, s->path, RENAME_NOREPLACE);
    if (failed && errno != EEXIST) /* not on this file system, or not allowed */
        failed = rename(path, s->path);
    if (failed)
        tsm_format(s->drain_message, sizeof(s->drain_message), "cannot create %s: %s", s->path,
                   tsm_errno_text(errno));
    return failed ? TSM_E_IO : 0;
}

void tsm_output_remove(const struct tsm_session *s)
{
    char path[TSM_PATH_MAX];

    new_path(s, path);
    unlink(path);
    tsm_format(path, sizeof(path), "%s" TSM_DECLARE_SUFFIX, s->path);
    unlink(path);
    unlink(s->lanes_path);
}

/* 0 and both descriptors, OPEN_TAKEN, or OPEN_FAILED. */
static int open_both(struct tsm_session *s, int *trace_fd, int *lanes_fd)
{
    int lanes = open_lanes(s->lanes_path), trace;

    if (lanes == OPEN_FAILED)
        tsm_format(s->drain_message, sizeof(s->drain_message), "cannot create %s: %s",
                   s->lanes_path, tsm_errno_text(errno));
    if (lanes < 0)
        return lanes;
    trace = open_trace(s, lanes);
    if (trace < 0) {
        give_up_lanes(s->lanes_path, lanes);
        return trace;
    }
    *trace_fd = trace;
    *lanes_fd = lanes;
    return 0;
}

int tsm_output_open(struct tsm_session *s, int *trace_fd, int *lanes_fd)
{
    int result = OPEN_TAKEN;

    find_family();
    for (unsigned i = 0; i < ATTEMPT_COUNT_MAX && result == OPEN_TAKEN; i++) {
        if (!choose_names(s, i)) {
            tsm_format(s->drain_message, sizeof(s->drain_message), "TS_OUTPUT is too long");
            return TSM_E_ARGUMENT;
        }
        result = open_both(s, trace_fd, lanes_fd);
    }
    if (result == OPEN_TAKEN)
        tsm_format(s->drain_message, sizeof(s->drain_message), "%s: too many traces", s->path);
    return result == 0 ? 0 : TSM_E_IO;
}

void tsm_output_warn(const struct tsm_session *s, const char *text)
{
    char line[1024];
    size_t used = tsm_format(line, sizeof(line), "tracesmith: warn: capture: %s\n", text);
    int process = (int)syscall(SYS_pidfd_open, s->pid, 0);
    int fd = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, STDERR_FILENO, 0);

    if (fd >= 0 && write(fd, line, used) < 0)
        used = 0; /* nowhere left to say it */
    if (fd >= 0)
        close(fd);
    if (process >= 0)
        close(process);
}
