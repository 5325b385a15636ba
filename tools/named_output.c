/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/named_output.h"

#include "base/file.h"
#include "base/text.h"
#include "capture/lane/salvage.h"
#include "format/chunk/chunk.h"
#include "tracesmith/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Tests whether the folder of `path` takes new files. */
static int check_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX];

    if (strlen(path) >= sizeof(folder) - 32) /* room for another name in the folder */
        return tsm_fail(TSM_E_ARGUMENT, "%s: the path is too long", path);
    tsm_format(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path + 1) : 1,
               slash ? path : ".");
    if (slash && !slash[1])
        return tsm_fail(TSM_E_ARGUMENT, "%s: is a folder; name a file in it", path);
    if (access(folder, W_OK | X_OK) == 0)
        return 0;
    return tsm_fail(TSM_E_IO, "%s: cannot be written: folder %s: %s", path, folder,
                    tsm_errno_text(errno));
}

bool tsm_output_is_trace(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
    bool is = fd >= 0 && sbt_file_is_trace(fd);

    if (fd >= 0)
        close(fd);
    return is;
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_ino == y.st_ino && x.st_dev == y.st_dev;
}

/* Salvages records of a dead program into the old trace, so that no later tool takes them for
 * records of the new one. */
static int check_finished(const char *path)
{
    struct tsm_salvage_result result = {0};
    int done = tsm_salvage(path, &result);

    if (done >= 0 && result.running)
        return tsm_fail(TSM_E_STATE, "%s: is being recorded; name another file", path);
    return done < 0 ? done : 0;
}

static int check_replaced(const char *path, enum tsm_output_kind kind, const char *input,
                          bool force)
{
    bool was_trace = tsm_output_is_trace(path);

    if (was_trace && kind != TSM_OUTPUT_RECORDING && check_finished(path) < 0)
        return TSM_E_STATE;
    if (force)
        return 0;
    if (kind != TSM_OUTPUT_OTHER && !was_trace)
        return tsm_fail(TSM_E_ARGUMENT,
                        "%s: exists and is not a trace; name another file, or give --force", path);
    if (kind == TSM_OUTPUT_OTHER && was_trace)
        return tsm_fail(TSM_E_ARGUMENT, "%s: is a trace; name another file, or give --force", path);
    if (input && is_same_file(path, input))
        return tsm_fail(TSM_E_ARGUMENT,
                        "%s: is the trace that is read; name another file, or give --force", path);
    return 0;
}

int tsm_output_check(const char *path, enum tsm_output_kind kind, const char *input, bool force)
{
    const char *why;

    if (kind == TSM_OUTPUT_OTHER && strcmp(path, "-") == 0)
        return 0;
    switch (tsm_file_target(path, &why)) {
    case TSM_FILE_REFUSED:
        return tsm_fail(TSM_E_IO, "%s: cannot be written: %s", path, why);
    case TSM_FILE_SPECIAL:
        return kind == TSM_OUTPUT_OTHER
                   ? 0
                   : tsm_fail(TSM_E_ARGUMENT,
                              "%s: is no regular file; a trace needs one: name another", path);
    case TSM_FILE_ABSENT:
        return check_folder(path);
    case TSM_FILE_REGULAR:
        break;
    }
    int error = check_replaced(path, kind, input, force);
    return error ? error : check_folder(path);
}

int tsm_output_begin(struct tsm_output *out, const char *path, const char *input, bool force)
{
    const char *why;
    int error = tsm_output_check(path, TSM_OUTPUT_TRACE, input, force);

    if (error)
        return error;
    tsm_format(out->path, sizeof(out->path), "%s", path);
    if (tsm_file_target(path, &why) == TSM_FILE_ABSENT)
        tsm_format(out->written, sizeof(out->written), "%s", path);
    else
        tsm_format(out->written, sizeof(out->written), "%s.new-%d", path, (int)getpid());
    return 0;
}

int tsm_output_end(const struct tsm_output *out, int error)
{
    if (!error && strcmp(out->path, out->written) != 0 && rename(out->written, out->path) != 0)
        error = tsm_fail(TSM_E_IO, "%s: cannot be written: %s", out->path, tsm_errno_text(errno));
    if (error)
        unlink(out->written);
    return error;
}
