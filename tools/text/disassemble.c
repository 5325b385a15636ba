/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/text/disassemble.h"

#include "base/output_file.h"
#include "base/text.h"
#include "tracesmith/error.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* A file without a name that holds the words; negative: none. */
static int hold(const uint32_t *words, size_t size)
{
    const char *at = (const char *)words;
    int fd = memfd_create("shader.spv", MFD_CLOEXEC);

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

static int spawn(pid_t *pid, int in, const struct tsm_output_file *out)
{
    char *argv[] = {(char *)(uintptr_t) "spirv-dis", (char *)(uintptr_t) "--no-color",
                    (char *)(uintptr_t) "-", NULL};
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);

    if (error)
        return error;
    error = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    if (!error && out)
        error = posix_spawn_file_actions_adddup2(&actions, fileno(out->file), STDOUT_FILENO);
    if (!error)
        error = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static int disassemble(const uint32_t *words, size_t size, const struct tsm_output_file *out)
{
    int fd = hold(words, size), status = 0, error;
    pid_t pid;

    if (fd < 0)
        return tsm_fail(TSM_E_IO, "no room for a shader of %zu bytes: %s", size,
                        tsm_errno_text(errno));
    fflush(stdout);
    error = spawn(&pid, fd, out);
    close(fd);
    if (error == ENOENT)
        return tsm_fail(TSM_E_NOT_FOUND, "there is no spirv-dis to disassemble with; install it "
                                         "(Debian: spirv-tools), or leave out --disassemble");
    if (error)
        return tsm_fail(TSM_E_IO, "spirv-dis cannot be run: %s", tsm_errno_text(error));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        return tsm_fail(TSM_E_FORMAT, "spirv-dis refuses the module");
    return 0;
}

int tsm_disassemble(const uint32_t *words, size_t size, const char *path)
{
    struct tsm_output_file out;
    int error = path ? tsm_output_file_begin(&out, path) : 0;

    if (error)
        return error;
    error = disassemble(words, size, path ? &out : NULL);
    if (path && tsm_output_file_end(&out, error != 0) && !error)
        error = TSM_E_IO;
    return error;
}
