/* SPDX-License-Identifier: Apache-2.0 */
#include "base/output_file.h"

#include "base/file.h"
#include "base/text.h"
#include "tracesmith/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failure(struct tsm_output_file *out, const char *why)
{
    if (out->temporary[0])
        unlink(out->temporary);
    return tsm_fail(TSM_E_IO, "%s: cannot be written: %s", out->path, why);
}

static int open_temporary(struct tsm_output_file *out)
{
    if (tsm_format(out->temporary, sizeof(out->temporary), "%s.XXXXXX", out->path) !=
        strlen(out->path) + 7) {
        out->temporary[0] = '\0';
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = mkostemp(out->temporary, O_CLOEXEC);
    if (fd < 0)
        out->temporary[0] = '\0';
    return fd;
}

int tsm_output_file_begin(struct tsm_output_file *out, const char *path)
{
    const char *why = NULL;
    int fd = -1;

    out->file = NULL;
    out->temporary[0] = '\0';
    if (tsm_format(out->path, sizeof(out->path), "%s", path) != strlen(path))
        return tsm_fail(TSM_E_ARGUMENT, "%s: the path is too long", path);
    if (strcmp(path, "-") == 0) {
        out->file = stdout;
        return 0;
    }
    switch (tsm_file_target(path, &why)) {
    case TSM_FILE_SPECIAL:
        fd = tsm_file_output(path, &why);
        break;
    case TSM_FILE_ABSENT:
    case TSM_FILE_REGULAR:
        fd = open_temporary(out);
        break;
    default:
        break;
    }
    if (fd < 0)
        return failure(out, why ? why : tsm_errno_text(errno));
    out->file = fdopen(fd, "w");
    if (out->file)
        return 0;
    why = tsm_errno_text(errno);
    close(fd);
    return failure(out, why);
}

int tsm_output_file_end(struct tsm_output_file *out, bool failed)
{
    int error = 0;

    if (fflush(out->file) != 0 || ferror(out->file))
        error = errno ? errno : EIO;
    if (out->file != stdout && fclose(out->file) != 0 && !error)
        error = errno;
    out->file = NULL;
    if (failed) {
        if (out->temporary[0])
            unlink(out->temporary);
        return TSM_E_IO;
    }
    if (!error && out->temporary[0] && rename(out->temporary, out->path) != 0)
        error = errno;
    return error ? failure(out, tsm_errno_text(error)) : 0;
}

int tsm_output_file_put(const char *path, const void *data, size_t size)
{
    struct tsm_output_file out;
    int error = tsm_output_file_begin(&out, path);

    if (error)
        return error;
    if (size)
        fwrite(data, 1, size, out.file);
    return tsm_output_file_end(&out, false);
}

int tsm_output_file_unnamed(void)
{
    const char *folder = getenv("TMPDIR");
    char path[PATH_MAX];
    int fd;

    tsm_format(path, sizeof(path), "%s/tracesmith-XXXXXX", folder ? folder : "/tmp");
    fd = mkostemp(path, O_CLOEXEC); /* 0600, new, and without a name from the next line on */
    if (fd < 0)
        return tsm_fail(TSM_E_IO, "%s: %s", path, tsm_errno_text(errno));
    unlink(path);
    return fd;
}
