/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/child.h"

#include "base/text.h"
#include "tools/terminal.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int cannot_run(const char *program, int error)
{
    const char *why = strerror(error);

    if (error == ENOENT)
        why = strchr(program, '/') ? "no such program, or what it needs to be run is missing"
                                   : "no such program in PATH; one in this folder is ./NAME";
    tsm_complain("%s: %s", program, why);
    return error == ENOENT ? TSM_EXIT_NOT_FOUND : TSM_EXIT_NOT_RUN;
}

static bool is_elf(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    char magic[SELFMAG] = "";
    const bool is_read = fd >= 0 && read(fd, magic, sizeof(magic)) == SELFMAG;

    if (fd >= 0)
        close(fd);
    return is_read && memcmp(magic, ELFMAG, SELFMAG) == 0;
}

/* Replaces this process. execvp() hands to a shell what the kernel cannot run: right for a script
 * without a first line for the kernel, but a shell takes a program of another machine for text. */
static void replace_process(char *const *argv)
{
    if (strchr(argv[0], '/')) {
        execv(argv[0], argv);
        if (errno != ENOEXEC)
            return;
        if (is_elf(argv[0])) {
            errno = ENOEXEC;
            return;
        }
    }
    execvp(argv[0], argv);
}

int tsm_program_exec(char *const *argv)
{
    replace_process(argv);
    return cannot_run(argv[0], errno);
}

/* ---- as a child ---------------------------------------------------------------------------- */

static volatile sig_atomic_t child;

static void pass_on(int signal)
{
    if (child > 0)
        kill((pid_t)child, signal);
}

static void set_handlers(void (*terminal)(int), void (*other)(int), struct sigaction old[4])
{
    const int signals[4] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};

    for (int i = 0; i < 4; i++) {
        struct sigaction action = {.sa_handler = i < 2 ? terminal : other, .sa_flags = SA_RESTART};
        sigaction(signals[i], &action, &old[i]);
        /* nohup's choice is the program's too */
        if (old[i].sa_handler == SIG_IGN)
            sigaction(signals[i], &old[i], NULL);
    }
}

static void restore_handlers(const struct sigaction old[4])
{
    const int signals[4] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};

    for (int i = 0; i < 4; i++)
        sigaction(signals[i], &old[i], NULL);
}

/* Runs the program, in the child. The pipe closes by itself when exec succeeds. */
static void start(char *const *argv, int report, const struct sigaction old[4])
{
    restore_handlers(old);
    replace_process(argv);
    int error = errno;
    if (write(report, &error, sizeof(error)) < 0)
        _exit(TSM_EXIT_OURS);
    _exit(TSM_EXIT_NOT_FOUND);
}

static void wait_for(struct tsm_program_end *out)
{
    int status = 0;

    while (waitpid(out->pid, &status, 0) < 0 && errno == EINTR)
        ;
    out->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    out->status = out->signal ? TSM_EXIT_SIGNAL + out->signal : WEXITSTATUS(status);
}

bool tsm_program_run(struct tsm_program_end *out, char *const *argv)
{
    struct sigaction old[4];
    int report[2], error = 0;

    *out = (struct tsm_program_end){.status = TSM_EXIT_OURS};
    if (pipe2(report, O_CLOEXEC) != 0) {
        tsm_complain("pipe: %s", strerror(errno));
        return false;
    }
    set_handlers(SIG_IGN, pass_on, old);
    out->pid = fork();
    if (out->pid == 0)
        start(argv, report[1], old);
    error = out->pid < 0 ? errno : 0;
    child = out->pid;
    close(report[1]);
    if (out->pid > 0 && read(report[0], &error, sizeof(error)) != (ssize_t)sizeof(error))
        error = 0;
    close(report[0]);
    if (out->pid > 0)
        wait_for(out);
    child = 0;
    restore_handlers(old);
    if (error)
        out->status = cannot_run(argv[0], error);
    return error == 0;
}

/* ---- what LD_PRELOAD cannot reach ---------------------------------------------------------- */

static bool find_program(char *out, size_t size, const char *program)
{
    const char *path = getenv("PATH");

    if (strchr(program, '/')) {
        tsm_format(out, size, "%s", program);
        return access(out, X_OK) == 0;
    }
    while (path && *path) {
        size_t length = strcspn(path, ":");
        tsm_format(out, size, "%.*s/%s", (int)length, path, program);
        if (access(out, X_OK) == 0)
            return true;
        path += length + (path[length] == ':');
    }
    return false;
}

/* The dynamic loader that the ELF file names, who reads LD_PRELOAD; "": none. */
static bool find_loader(char *out, size_t size, int fd, const Elf64_Ehdr *header)
{
    Elf64_Phdr segment;

    out[0] = '\0';
    for (unsigned i = 0; i < header->e_phnum && !out[0]; i++) {
        off_t at = (off_t)(header->e_phoff + i * sizeof(segment));
        ssize_t length;
        if (pread(fd, &segment, sizeof(segment), at) != (ssize_t)sizeof(segment))
            return false;
        if (segment.p_type != PT_INTERP)
            continue;
        length = pread(fd, out, segment.p_filesz < size ? segment.p_filesz : size - 1,
                       (off_t)segment.p_offset);
        out[length > 0 ? length : 0] = '\0';
    }
    return true;
}

#define SCRIPT_DEPTH 4u /* the program that carries out a script may be a script */
#define OTHER_LIBC   "linked with another libc than glibc"

static const char *unreachable_path(const char *path, unsigned depth);

/* Answers for the program that a script names in its first line. */
static const char *unreachable_script(int fd, unsigned depth)
{
    char head[PATH_MAX] = "", *path;
    ssize_t length = pread(fd, head, sizeof(head) - 1, 0);

    if (length < 2 || memcmp(head, "#!", 2) != 0 || depth >= SCRIPT_DEPTH)
        return NULL;
    path = head + 2 + strspn(head + 2, " \t");
    path[strcspn(path, " \t\n")] = '\0';
    return unreachable_path(path, depth + 1);
}

static const char *unreachable_file(int fd, unsigned depth)
{
    char loader[PATH_MAX];
    Elf64_Ehdr header;

    if (pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return unreachable_script(fd, depth);
    if (header.e_ident[EI_CLASS] == ELFCLASS32)
        return "a 32-bit program";
    if (header.e_machine != EM_X86_64)
        return "a program for another machine";
    if (header.e_phentsize != sizeof(Elf64_Phdr) ||
        !find_loader(loader, sizeof(loader), fd, &header))
        return NULL;
    if (!loader[0])
        return "statically linked";
    return strstr(loader, "/ld-musl") ? OTHER_LIBC : NULL;
}

/* "statically linked", "set-user-ID"; NULL: it would be reached, or nothing can be said. */
static const char *unreachable_path(const char *path, unsigned depth)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    const char *why;

    if (fd < 0)
        return NULL;
    why = unreachable_file(fd, depth);
    if (!why && fstat(fd, &info) == 0 && (info.st_mode & (S_ISUID | S_ISGID)) && geteuid() != 0)
        why = "set-user-ID or set-group-ID";
    close(fd);
    return why;
}

static const char *unreachable(const char *program)
{
    char path[PATH_MAX];

    return find_program(path, sizeof(path), program) ? unreachable_path(path, 0) : NULL;
}

/* Musl's loader starts no program with a library of glibc's: without the first of LD_PRELOAD, which
 * is ours. */
static void leave_alone(void)
{
    const char *list = getenv("LD_PRELOAD"), *rest = list ? strchr(list, ':') : NULL;

    if (rest)
        setenv("LD_PRELOAD", rest + 1, 1);
    else
        unsetenv("LD_PRELOAD");
}

bool tsm_program_note_reach(const char *program)
{
    const char *why = unreachable(program);

    if (why && strcmp(why, OTHER_LIBC) == 0)
        leave_alone();
    if (why)
        tsm_note("%s is %s: LD_PRELOAD does not reach it; it runs, but is not recorded", program,
                 why);
    return !why;
}
