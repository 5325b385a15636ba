/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/text/run_tool.h"

#include "base/text.h"
#include "tracesmith/error.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* A file without a name that holds the bytes; negative: none. */
static int hold(const void *bytes, size_t size)
{
    const char *at = bytes;
    int fd = memfd_create("code", MFD_CLOEXEC);

    while (fd >= 0 && size) {
        ssize_t written = write(fd, at, size);
        if (written <= 0) {
            close(fd);
            return -1;
        }
        at += written;
        size -= (size_t)written;
    }
    if (fd >= 0)
        lseek(fd, 0, SEEK_SET);
    return fd;
}

static int spawn(pid_t *pid, const char *const *argv, int in, int out)
{
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);

    if (error)
        return error;
    error = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    if (!error && out != STDOUT_FILENO)
        error = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (!error)
        error = posix_spawnp(pid, argv[0], &actions, NULL, (char **)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

int tsm_run_tool(const char *const *argv, const void *bytes, size_t size, int fd)
{
    int in = hold(bytes, size), status = 0, error;
    pid_t pid;

    if (in < 0)
        return tsm_fail(TSM_E_IO, "no room for code of %zu bytes: %s", size, tsm_errno_text(errno));
    fflush(stdout);
    error = spawn(&pid, argv, in, fd);
    close(in);
    if (error == ENOENT)
        return TSM_E_NOT_FOUND;
    if (error)
        return tsm_fail(TSM_E_IO, "%s cannot be run: %s", argv[0], tsm_errno_text(error));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        return tsm_fail(TSM_E_FORMAT, "%s refuses the code", argv[0]);
    return 0;
}
