/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/exec_check.h"

#include "base/text.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HEAD_SIZE      256u /* what the kernel reads to see what a file is */
#define SCRIPT_DEPTH   4u   /* a script's interpreter may be a script */
#define TEXT_SIZE_MAX  (32u * 4096u)
#define SEGMENT_MAX    64u
#define STACK_DIVISOR  4u
#define TEXTS_SIZE_MAX (6u << 20) /* three quarters of the kernel's default stack */

enum format {
    MISSING,     /* or not to be executed by us */
    UNKNOWN,     /* of no format that the kernel knows by itself */
    CARRIED_OUT, /* as far as can be seen */
};

/* ---- arguments ------------------------------------------------------------------------------ */

static bool add_texts(char *const *texts, uint64_t *size)
{
    for (; texts && *texts; texts++) {
        size_t length = strlen(*texts) + 1;
        if (length > TEXT_SIZE_MAX)
            return false;
        *size += length + sizeof(char *);
    }
    return true;
}

static bool texts_fit(char *const *argv, char *const *envp)
{
    struct rlimit stack = {RLIM_INFINITY, RLIM_INFINITY};
    uint64_t size = 0, limit = TEXTS_SIZE_MAX;

    if (!add_texts(argv, &size) || !add_texts(envp, &size))
        return false;
    getrlimit(RLIMIT_STACK, &stack);
    if (stack.rlim_cur / STACK_DIVISOR < limit)
        limit = stack.rlim_cur / STACK_DIVISOR;
    return size <= (limit < TEXT_SIZE_MAX ? TEXT_SIZE_MAX : limit);
}

/* ---- files ---------------------------------------------------------------------------------- */

static enum format format_of(const char *path, unsigned depth, bool *is_foreign);

/* The dynamic linker that the program asks for. */
static enum format check_linker(int fd, const Elf64_Ehdr *head, bool *is_foreign)
{
    char path[PATH_MAX];

    for (unsigned i = 0; i < head->e_phnum && i < SEGMENT_MAX; i++) {
        Elf64_Phdr segment;
        off_t at = (off_t)(head->e_phoff + i * sizeof(segment));
        if (pread(fd, &segment, sizeof(segment), at) != (ssize_t)sizeof(segment))
            return UNKNOWN;
        if (segment.p_type != PT_INTERP)
            continue;
        if (segment.p_filesz < 2 || segment.p_filesz > sizeof(path) ||
            pread(fd, path, segment.p_filesz, (off_t)segment.p_offset) !=
                (ssize_t)segment.p_filesz ||
            path[segment.p_filesz - 1])
            return UNKNOWN;
        *is_foreign = strstr(path, "/ld-musl") != NULL;
        return access(path, F_OK) == 0 ? CARRIED_OUT : MISSING;
    }
    return CARRIED_OUT;
}

static enum format check_program(int fd, const Elf64_Ehdr *head, bool *is_foreign)
{
    if (head->e_ident[EI_CLASS] != ELFCLASS64)
        return CARRIED_OUT; /* of another architecture, which the kernel may know */
    if (head->e_machine != EM_X86_64 || (head->e_type != ET_EXEC && head->e_type != ET_DYN) ||
        head->e_phentsize != sizeof(Elf64_Phdr) || !head->e_phnum)
        return UNKNOWN;
    return check_linker(fd, head, is_foreign);
}

/* "#! INTERPRETER [ARGUMENT]" */
static enum format check_script(const char *head, unsigned depth, bool *is_foreign)
{
    char path[HEAD_SIZE];
    const char *start = head + 2 + strspn(head + 2, " \t");
    size_t length = strcspn(start, " \t\n");

    if (!length)
        return UNKNOWN;
    memcpy(path, start, length);
    path[length] = '\0';
    return depth < SCRIPT_DEPTH ? format_of(path, depth + 1, is_foreign) : MISSING;
}

static enum format check_open(int fd, unsigned depth, bool *is_foreign)
{
    union {
        char text[HEAD_SIZE + 1];
        Elf64_Ehdr elf;
    } head;
    ssize_t got = pread(fd, head.text, HEAD_SIZE, 0);

    if (got < 0)
        return CARRIED_OUT;
    memset(head.text + got, 0, sizeof(head.text) - (size_t)got);
    if (memcmp(head.text, ELFMAG, SELFMAG) == 0)
        return check_program(fd, &head.elf, is_foreign);
    return head.text[0] == '#' && head.text[1] == '!' ? check_script(head.text, depth, is_foreign)
                                                      : UNKNOWN;
}

/* By system calls: the program may have functions of its own in libc's place. */
static enum format format_of(const char *path, unsigned depth, bool *is_foreign)
{
    struct stat status;
    enum format format;
    int fd;

    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) ||
        faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) != 0)
        return MISSING;
    fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return CARRIED_OUT; /* it can be executed and not read */
    format = check_open(fd, depth, is_foreign);
    syscall(SYS_close, fd);
    return format;
}

bool tsm_exec_may_succeed(const char *path, char *const *argv, char *const *envp, bool *is_foreign)
{
    *is_foreign = false;
    return path && format_of(path, 0, is_foreign) == CARRIED_OUT && texts_fit(argv, envp);
}

/* ---- search --------------------------------------------------------------------------------- */

bool tsm_exec_search_may_succeed(const char *file, char *const *argv, char *const *envp,
                                 bool *is_foreign)
{
    const char *folders = getenv("PATH");
    char path[PATH_MAX];

    *is_foreign = false;
    if (!file || !*file || !texts_fit(argv, envp))
        return false;
    if (strchr(file, '/'))
        return format_of(file, 0, is_foreign) != MISSING;
    for (const char *at = folders ? folders : "/bin:/usr/bin";; at++) {
        int length = (int)strcspn(at, ":");
        tsm_format(path, sizeof(path), "%.*s%s%s", length, at, length ? "/" : "", file);
        if (format_of(path, 0, is_foreign) != MISSING)
            return true;
        at += length;
        if (!*at)
            return false;
    }
}

/* ---- environment ---------------------------------------------------------------------------- */

#define PRELOAD "LD_PRELOAD="

static bool is_preload(const char *variable)
{
    return strncmp(variable, PRELOAD, strlen(PRELOAD)) == 0 && strstr(variable, "libts_capture");
}

size_t tsm_exec_environment_size(char *const *envp)
{
    size_t size = sizeof(char *);

    for (; envp && *envp; envp++)
        size += sizeof(char *) + (is_preload(*envp) ? strlen(*envp) + 1 : 0);
    return size;
}

/* Copies a variable without the libraries that are this one; returns the byte after it. */
static char *copy_preload(char *out, const char *variable)
{
    const char *at = variable + strlen(PRELOAD);

    memcpy(out, PRELOAD, strlen(PRELOAD));
    out += strlen(PRELOAD);
    while (*at) {
        size_t length = strcspn(at, ": "), whole = length + (at[length] != '\0');
        const char *ours = strstr(at, "libts_capture");
        if (!ours || ours >= at + length) {
            memcpy(out, at, whole);
            out += whole;
        }
        at += whole;
    }
    *out = '\0';
    return out + 1;
}

char *const *tsm_exec_environment(void *room, char *const *envp)
{
    char **list = room, *text;
    size_t count = 0;

    while (envp && envp[count])
        count++;
    text = (char *)(list + count + 1);
    for (size_t i = 0; i < count; i++) {
        list[i] = is_preload(envp[i]) ? text : envp[i];
        if (list[i] == text)
            text = copy_preload(text, envp[i]);
    }
    list[count] = NULL;
    return list;
}
