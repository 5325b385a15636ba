/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of the trace's files. Two processes must never write one trace, and nothing but a trace may
 * be overwritten. The lanes file beside the trace is locked (flock) for as long as its session
 * runs: whoever has the lock owns all three names, <trace>.lanes, <trace>.new and <trace>.
 *
 * The trace is begun as <trace>.new and gets its name when everything is there that a reader and
 * salvage need. No call is recorded before. So whoever dies on the way, by SIGKILL too, leaves no
 * half-made trace: under the trace's name lies nothing, or all that was recorded.
 *
 * Everything here runs in the drain thread, whose table of descriptors is its own.
 */
#include "capture/session.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "capture/call/declare.h"
#include "capture/process/family.h"
#include "format/chunk/chunk.h"
#include "capture/process/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
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

/* When a process began is known to a tick of 10 ms only, and is rounded up. A trace written before
 * that would not pass as the family's. Files have the coarse clock's time. Each process of the
 * family measures the moment anew: a millisecond of room. */
static void wait_for_newer(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    int pauses = 0;

    while (tsm_clock_ns(CLOCK_REALTIME_COARSE) < family_start_ns + 1000000u && pauses++ < 40)
        nanosleep(&pause, NULL);
}

/* A fork's family is its parent's, which may have ended. */
static void find_family(void)
{
    struct tsm_family family;

    if (family_start_ns)
        return;
    tsm_family_find(&family);
    family_start_ns = family.start_ns ? family.start_ns : tsm_clock_ns(CLOCK_REALTIME_COARSE);
    wait_for_newer();
}

enum { OPEN_TAKEN = -1, OPEN_FAILED = -2 };

static int refuse(struct tsm_session *s, const char *path, const char *why)
{
    tsm_format(s->drain_message, sizeof(s->drain_message),
               "%s %s: it is left alone; remove it, or record to another place", path, why);
    return OPEN_FAILED;
}

static bool is_lanes(int fd, const struct stat *st)
{
    struct tsm_lanes_header h = {.version = 0};

    return pread(fd, &h, sizeof(h), 0) >= 0 && tsm_lanes_are_ours(&h, (uint64_t)st->st_size);
}

/* One that is there already is used again if it can only be ours. */
static int open_old_lanes(struct tsm_session *s)
{
    const char *why;
    struct stat st;
    int fd = tsm_file_open_own(s->lanes_path, O_RDWR, &st, &why);

    if (fd >= 0 && !is_lanes(fd, &st)) {
        close(fd);
        return refuse(s, s->lanes_path, "exists and is no buffer file of ours");
    }
    if (fd >= 0)
        return fd;
    return errno == ENOENT ? OPEN_TAKEN : refuse(s, s->lanes_path, why);
}

/* Tests whether its owner has removed it between our open and our lock. */
static bool is_other(int fd, struct tsm_session *s, int *error)
{
    struct stat ours, named;
    bool is_gone;

    if (tsm_file_is_named(fd, s->lanes_path))
        return false;
    if (fstat(fd, &ours) == 0) {
        is_gone = lstat(s->lanes_path, &named) != 0;
        if (!is_gone || errno == ENOENT)
            return is_gone || named.st_ino != ours.st_ino || named.st_dev != ours.st_dev;
    }
    *error = errno;
    tsm_format(s->drain_message, sizeof(s->drain_message), "cannot look for %s: %s", s->lanes_path,
               tsm_errno_text(errno));
    return true;
}

/* The locked lanes file; OPEN_TAKEN: that of a session which runs, try the next name. */
static int open_lanes(struct tsm_session *s)
{
    int fd = tsm_file_create(s->lanes_path), error = 0;
    bool is_new;

    if (fd < 0 && errno != EEXIST) {
        tsm_format(s->drain_message, sizeof(s->drain_message), "cannot create %s: %s",
                   s->lanes_path, tsm_errno_text(errno));
        return OPEN_FAILED;
    }
    is_new = fd >= 0;
    if (fd < 0)
        fd = open_old_lanes(s);
    if (fd < 0)
        return fd;
    if ((flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) || is_other(fd, s, &error)) {
        close(fd);
        if (error && is_new)
            unlink(s->lanes_path);
        return error ? OPEN_FAILED : OPEN_TAKEN;
    }
    return fd;
}

/* A lanes file that another process left when it died holds what it recorded last. */
static void give_up_lanes(const char *path, int fd)
{
    struct stat st;

    if (fstat(fd, &st) == 0 && st.st_size == 0)
        tsm_file_remove(AT_FDCWD, path, fd);
    close(fd);
}

static void new_path(const struct tsm_session *s, char out[TSM_PATH_MAX])
{
    tsm_format(out, TSM_PATH_MAX, "%s.new", s->path); /* fits: lanes_path did */
}

static void types_path(const struct tsm_session *s, char out[TSM_PATH_MAX])
{
    tsm_format(out, TSM_PATH_MAX, "%s" TSM_DECLARE_SUFFIX, s->path); /* fits: lanes_path did */
}

/* Nothing there, or a trace of ours (that nobody writes). Others may read a trace, if its owner
 * allowed that; what is beside one is nobody else's. */
static bool may_replace(struct tsm_session *s, const char *path, bool is_beside)
{
    const char *why = "";
    struct stat st;
    bool good;
    int fd;

    if (lstat(path, &st) != 0)
        return true;
    if (is_beside) {
        fd = tsm_file_open_own(path, O_RDONLY, &st, &why);
    } else {
        fd = S_ISREG(st.st_mode) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW) : -1;
        why = st.st_uid == geteuid() ? "exists and cannot be read" : "belongs to another user";
        why = S_ISREG(st.st_mode) ? why : "exists and is not a trace";
    }
    if (fd < 0) {
        refuse(s, path, why);
        return false;
    }
    good = sbt_file_is_trace(fd) && fstat(fd, &st) == 0 && st.st_uid == geteuid();
    if (!good)
        refuse(s, path,
               st.st_uid == geteuid() ? "exists and is not a trace" : "belongs to another user");
    close(fd);
    return good;
}

static int create(struct tsm_session *s, const char *path)
{
    int fd = tsm_file_create(path);

    if (fd < 0)
        tsm_format(s->drain_message, sizeof(s->drain_message), "cannot create %s: %s", path,
                   tsm_errno_text(errno));
    return fd < 0 ? OPEN_FAILED : fd;
}

/* The lanes file is ours. */
static int open_trace(struct tsm_session *s, int lanes)
{
    char path[TSM_PATH_MAX], types[TSM_PATH_MAX];
    struct stat st;

    if (lstat(s->path, &st) == 0 && S_ISREG(st.st_mode) && newer_than_family(&st) && st.st_size > 0)
        return OPEN_TAKEN;
    new_path(s, path);
    types_path(s, types);
    if (!may_replace(s, s->path, false) || !may_replace(s, path, true) ||
        !may_replace(s, types, true))
        return OPEN_FAILED;
    /* First what was in the lanes, then what it belonged to. */
    if (ftruncate(lanes, 0) != 0) {
        tsm_format(s->drain_message, sizeof(s->drain_message), "cannot empty %s: %s", s->lanes_path,
                   tsm_errno_text(errno));
        return OPEN_FAILED;
    }
    unlink(s->path);
    unlink(path);
    unlink(types);
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
    types_path(s, path);
    unlink(path);
    unlink(s->lanes_path);
}

/* 0 and both descriptors, OPEN_TAKEN, or OPEN_FAILED. */
static int open_both(struct tsm_session *s, int *trace_fd, int *lanes_fd)
{
    int lanes = open_lanes(s), trace;

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
        errno = 0;
        if (!choose_names(s, i)) {
            tsm_format(s->drain_message, sizeof(s->drain_message), "%s%s",
                       errno ? "TS_OUTPUT: cannot tell the working folder: "
                             : "TS_OUTPUT is too long",
                       errno ? tsm_errno_text(errno) : "");
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
