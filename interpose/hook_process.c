/* SPDX-License-Identifier: Apache-2.0
 *
 * Ends of a process that run no destructors, and fork. A child of vfork() shares the parent's
 * memory and calls these too: capture sees by its process id that the session is not this process's
 * and does nothing.
 */
#include "interpose/exec_check.h"
#include "interpose/real_library.h"

#include "api/api.h"
#include "base/text.h"
#include "capture/capture.h"

#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

typedef char *const *texts;

TSM_EXPORT void _exit(int status) __attribute__((noreturn));
TSM_EXPORT void _Exit(int status) __attribute__((noreturn));
TSM_EXPORT pid_t fork(void);
TSM_EXPORT int execve(const char *path, texts argv, texts envp);
TSM_EXPORT int execv(const char *path, texts argv);
TSM_EXPORT int execvp(const char *file, texts argv);
TSM_EXPORT int execvpe(const char *file, texts argv, texts envp);
TSM_EXPORT int execl(const char *path, const char *arg, ...);
TSM_EXPORT int execle(const char *path, const char *arg, ...);
TSM_EXPORT int execlp(const char *file, const char *arg, ...);
TSM_EXPORT int fexecve(int fd, texts argv, texts envp);
TSM_EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                           const posix_spawnattr_t *attributes, texts argv, texts envp);
TSM_EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                            const posix_spawnattr_t *attributes, texts argv, texts envp);
TSM_EXPORT int execveat(int directory, const char *path, texts argv, texts envp, int flags);

/* libc's function of a name, found once. */
static uintptr_t libc(_Atomic(void *) *function, const char *name)
{
    void *address = atomic_load_explicit(function, memory_order_relaxed);

    if (!address) {
        address = tsm_libc_function(name);
        atomic_store_explicit(function, address, memory_order_relaxed);
    }
    return (uintptr_t)address;
}

/* The same of a function's first version. */
static uintptr_t old_libc(_Atomic(void *) *function, const char *name)
{
    void *address = atomic_load_explicit(function, memory_order_relaxed);

    if (!address) {
        address = tsm_libc_old_function(name);
        atomic_store_explicit(function, address, memory_order_relaxed);
    }
    return (uintptr_t)address;
}

/* ---- the beginning
 * -------------------------------------------------------------------------------
 */

/* Made by the linker: where this library begins and ends. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static void process_ends(void);

/* quick_exit() calls the first that was registered last, and no destructor. */
__attribute__((constructor)) static void process_begins(void)
{
    int saved_errno = errno;

    tsm_process_begins();
    tsm_stack_leave_out(__ehdr_start, _end);
    tsm_follow_main_thread();
    at_quick_exit(process_ends);
    errno = saved_errno;
}

/* ---- the end ------------------------------------------------------------------------------------
 */

/* The ordinary one: after the destructors of the program and of libraries that need us. What others
 * call later passes through unrecorded. */
__attribute__((destructor)) static void process_ends(void)
{
    int saved_errno = errno;

    for (unsigned i = 0; i < TSM_SOURCE_MAX && tsm_sources[i]; i++)
        if (tsm_sources[i]->ending)
            tsm_sources[i]->ending();
    tsm_session_finish();
    errno = saved_errno;
}

void _exit(int status)
{
    static _Atomic(void *) function;

    tsm_session_finish();
    ((void (*)(int))libc(&function, "_exit"))(status);
    __builtin_unreachable();
}

void _Exit(int status)
{
    static _Atomic(void *) function;

    tsm_session_finish();
    ((void (*)(int))libc(&function, "_Exit"))(status);
    __builtin_unreachable();
}

/* ---- exec ---------------------------------------------------------------------------------------
 */

/* Do not end the session for an exec that will fail. */
static void before_exec(bool may_succeed)
{
    if (may_succeed)
        tsm_session_finish();
    else
        tsm_session_flush();
}

/* The environment of a program that does not start with this library, on the caller's stack. */
#define ENVIRONMENT_FOR(is_foreign, envp)                                                          \
    ((is_foreign) ? tsm_exec_environment(alloca(tsm_exec_environment_size(envp)), envp) : (envp))

static int after_exec(int result)
{
    int saved_errno = errno;

    tsm_session_exec_failed();
    errno = saved_errno;
    return result;
}

int execve(const char *path, texts argv, texts envp)
{
    static _Atomic(void *) function;

    int saved_errno = errno;
    bool is_foreign;

    before_exec(tsm_exec_may_succeed(path, argv, envp, &is_foreign));
    envp = ENVIRONMENT_FOR(is_foreign, envp);
    errno = saved_errno;
    return after_exec(
        ((int (*)(const char *, texts, texts))libc(&function, "execve"))(path, argv, envp));
}

int execv(const char *path, texts argv)
{
    return execve(path, argv, environ);
}

int execvpe(const char *file, texts argv, texts envp)
{
    static _Atomic(void *) function;

    int saved_errno = errno;
    bool is_foreign;

    before_exec(tsm_exec_search_may_succeed(file, argv, envp, &is_foreign));
    envp = ENVIRONMENT_FOR(is_foreign, envp);
    errno = saved_errno;
    return after_exec(
        ((int (*)(const char *, texts, texts))libc(&function, "execvpe"))(file, argv, envp));
}

int execvp(const char *file, texts argv)
{
    return execvpe(file, argv, environ);
}

int fexecve(int fd, texts argv, texts envp)
{
    static _Atomic(void *) function;

    int saved_errno = errno;
    char path[64];
    bool is_foreign;

    tsm_format(path, sizeof(path), "/proc/self/fd/%d", fd);
    before_exec(tsm_exec_may_succeed(path, argv, envp, &is_foreign));
    envp = ENVIRONMENT_FOR(is_foreign, envp);
    errno = saved_errno;
    return after_exec(((int (*)(int, texts, texts))libc(&function, "fexecve"))(fd, argv, envp));
}

int execveat(int directory, const char *path, texts argv, texts envp, int flags)
{
    static _Atomic(void *) function;

    int saved_errno = errno;
    char from[PATH_MAX];
    bool is_foreign;

    /* One of them is what is carried out. */
    if (*path == '/' || (directory == AT_FDCWD && *path))
        tsm_format(from, sizeof(from), "%s", path);
    else
        tsm_format(from, sizeof(from), "/proc/self/fd/%d%s%s", directory, *path ? "/" : "", path);
    before_exec(tsm_exec_may_succeed(from, argv, envp, &is_foreign));
    envp = ENVIRONMENT_FOR(is_foreign, envp);
    errno = saved_errno;
    return after_exec(((int (*)(int, const char *, texts, texts, int))libc(&function, "execveat"))(
        directory, path, argv, envp, flags));
}

/* ---- spawn --------------------------------------------------------------------------------------
 */

typedef int spawn_function(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                           const posix_spawnattr_t *attributes, texts argv, texts envp);
typedef bool check_function(const char *path, texts argv, texts envp, bool *is_foreign);

/* libc has two versions of each: the old one hands a file of no known format to the shell. A
 * program gets the version that it was linked with: interpose/versions.map. */
spawn_function tsm_old_posix_spawn, tsm_old_posix_spawnp;
__asm__(".symver tsm_old_posix_spawn, posix_spawn@GLIBC_2.2.5");
__asm__(".symver tsm_old_posix_spawnp, posix_spawnp@GLIBC_2.2.5");

/* A spawned program is another process: only its environment matters. */
static int spawn(uintptr_t function, check_function *check, pid_t *pid, const char *path,
                 const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
                 texts argv, texts envp)
{
    int saved_errno = errno;
    bool is_foreign;

    check(path, argv, envp, &is_foreign);
    envp = ENVIRONMENT_FOR(is_foreign, envp);
    errno = saved_errno;
    return ((spawn_function *)function)(pid, path, actions, attributes, argv, envp);
}

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, texts argv, texts envp)
{
    static _Atomic(void *) function;

    return spawn(libc(&function, "posix_spawn"), tsm_exec_may_succeed, pid, path, actions,
                 attributes, argv, envp);
}

int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, texts argv, texts envp)
{
    static _Atomic(void *) function;

    return spawn(libc(&function, "posix_spawnp"), tsm_exec_search_may_succeed, pid, file, actions,
                 attributes, argv, envp);
}

TSM_EXPORT int tsm_old_posix_spawn(pid_t *pid, const char *path,
                                   const posix_spawn_file_actions_t *actions,
                                   const posix_spawnattr_t *attributes, texts argv, texts envp)
{
    static _Atomic(void *) function;

    return spawn(old_libc(&function, "posix_spawn"), tsm_exec_may_succeed, pid, path, actions,
                 attributes, argv, envp);
}

TSM_EXPORT int tsm_old_posix_spawnp(pid_t *pid, const char *file,
                                    const posix_spawn_file_actions_t *actions,
                                    const posix_spawnattr_t *attributes, texts argv, texts envp)
{
    static _Atomic(void *) function;

    return spawn(old_libc(&function, "posix_spawnp"), tsm_exec_search_may_succeed, pid, file,
                 actions, attributes, argv, envp);
}

/* ---- arguments one by one -----------------------------------------------------------------------
 */

/* The arguments after `first`, up to NULL, as an array on the caller's stack; `rest` is after it.
 */
#define ARRAY_OF(array, first, rest)                                                               \
    do {                                                                                           \
        size_t count_ = 0;                                                                         \
        va_start(rest, first);                                                                     \
        for (const char *text_ = first; text_; text_ = va_arg(rest, const char *))                 \
            count_++;                                                                              \
        va_end(rest);                                                                              \
        (array) = alloca((count_ + 1) * sizeof(char *));                                           \
        va_start(rest, first);                                                                     \
        (array)[0] = (char *)(uintptr_t)first;                                                     \
        for (size_t i_ = 1; i_ <= count_; i_++)                                                    \
            (array)[i_] = va_arg(rest, char *);                                                    \
    } while (0)

int execl(const char *path, const char *arg, ...)
{
    char **argv;
    va_list rest;

    ARRAY_OF(argv, arg, rest);
    va_end(rest);
    return execve(path, argv, environ);
}

int execlp(const char *file, const char *arg, ...)
{
    char **argv;
    va_list rest;

    ARRAY_OF(argv, arg, rest);
    va_end(rest);
    return execvpe(file, argv, environ);
}

int execle(const char *path, const char *arg, ...)
{
    char **argv;
    texts envp;
    va_list rest;

    ARRAY_OF(argv, arg, rest);
    envp = va_arg(rest, texts);
    va_end(rest);
    return execve(path, argv, envp);
}

/* ---- fork ---------------------------------------------------------------------------------------
 */

/* Capture sees by itself that the child is another process; the sources' objects are the parent's.
 */
static void forget_parent(void)
{
    for (unsigned i = 0; i < TSM_SOURCE_MAX && tsm_sources[i]; i++)
        if (tsm_sources[i]->forked)
            tsm_sources[i]->forked();
}

void tsm_follow_forks(void)
{
    static atomic_bool followed;

    if (!atomic_exchange(&followed, true))
        pthread_atfork(NULL, NULL, forget_parent);
}

pid_t fork(void)
{
    static _Atomic(void *) function;
    pid_t child = ((pid_t(*)(void))libc(&function, "fork"))();
    int saved_errno = errno;

    if (child > 0)
        tsm_session_forked(child);
    if (child == 0)
        tsm_process_begins();
    errno = saved_errno;
    return child;
}
