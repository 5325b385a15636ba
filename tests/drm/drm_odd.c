/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors and processes by ways that are not libc's usual ones. drm_odd MODE
 */
#include "tests/drm/drm_small.h"

#include <linux/openat2.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void cap(int fd)
{
    struct drm_get_cap c = {.capability = DRM_CAP_PRIME};

    MUST(fd, DRM_IOCTL_GET_CAP, &c);
}

/* Past libc. */
static long system_call(long number, long a, long b)
{
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(number), "D"(a), "S"(b)
                     : "rcx", "r11", "memory");
    return result;
}

static void check(bool good, const char *what)
{
    if (good)
        return;
    perror(what);
    exit(1);
}

/* ---- by number, and past libc ------------------------------------------------------------------
 */

static void numbers(int fd)
{
    struct open_how how = {.flags = O_RDWR};
    int others[] = {(int)syscall(SYS_dup, fd), (int)syscall(SYS_dup2, fd, 50),
                    (int)syscall(SYS_dup3, fd, 51, O_CLOEXEC),
                    (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 60)};
    void *memory;

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        cap(others[i]);
    check(syscall(SYS_dup2, -1, others[0]) < 0, "dup2 of nothing");
    cap(others[0]);
    memory = (void *)syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 1 << 20);
    check(memory != MAP_FAILED, "mmap");
    syscall(SYS_munmap, memory, 4096);
    syscall(SYS_close, others[0]);
    check(syscall(SYS_close_range, 50, 60, 0) == 0, "close_range");
    /* A number that was a GPU file's. */
    check(syscall(SYS_openat2, AT_FDCWD, "/dev/null", &how, sizeof(how)) == others[0], "openat2");
    check(ioctl(others[0], DRM_IOCTL_GET_CAP, &how) < 0, "ioctl on /dev/null");
}

/* The recorder finds descriptors of a file that it knows. */
static void same(int fd)
{
    int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    int got = pidfd_getfd(pidfd, fd, 0);

    cap((int)system_call(SYS_dup, fd, 0));
    check(got >= 0, "pidfd_getfd");
    cap(got);
}

/* Closed past libc; the number is given to another file. */
static void reused(int fd)
{
    struct drm_get_cap c = {.capability = DRM_CAP_PRIME};

    cap(fd);
    system_call(SYS_close, fd, 0);
    check(open("/proc/self/status", O_RDONLY) == fd, "open");
    close(fd);
    check(open_node() == fd, "open");
    cap(fd);
    system_call(SYS_close, fd, 0);
    check(system_call(SYS_memfd_create, (long)"other", 0) == fd, "memfd_create");
    check(ioctl(fd, DRM_IOCTL_GET_CAP, &c) < 0, "ioctl");
    check(ioctl(fd, DRM_IOCTL_GET_CAP, &c) < 0, "ioctl");
}

/* ---- by a socket --------------------------------------------------------------------------------
 */

union control {
    struct cmsghdr head;
    char room[CMSG_SPACE(2 * sizeof(int))];
};

/* Two at once. */
static void send_both(int socket, int fd)
{
    union control control = {.head = {CMSG_LEN(2 * sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
    char byte = 0;
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    int fds[2] = {fd, 0};

    memcpy(CMSG_DATA(&control.head), fds, sizeof(fds));
    check(sendmsg(socket, &message, 0) == 1, "sendmsg");
}

static void received(int fd)
{
    union control control;
    char byte;
    struct iovec data = {&byte, 1};
    struct mmsghdr message = {.msg_hdr = {.msg_iov = &data,
                                          .msg_iovlen = 1,
                                          .msg_control = &control,
                                          .msg_controllen = sizeof(control)}};
    int pair[2], fds[2];

    check(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "socketpair");
    send_both(pair[0], fd);
    check(recvmmsg(pair[1], &message, 1, 0, NULL) == 1, "recvmmsg");
    memcpy(fds, CMSG_DATA(&control.head), sizeof(fds));
    cap(fds[0]);
}

/* ---- processes
 * ------------------------------------------------------------------------------------
 */

static void wait_for(pid_t child)
{
    int status;

    check(child > 0 && waitpid(child, &status, 0) == child && status == 0, "child");
}

/* A child that no handler of fork() hears of. */
static void cloned(int fd)
{
    pid_t child = (pid_t)system_call(SYS_clone, SIGCHLD, 0);

    if (child == 0) {
        cap(fd);
        exit(0);
    }
    wait_for(child);
    cap(fd);
}

/* A process of its own that shares our descriptors: it gives one of ours to another file. */
static void sharing(int fd)
{
    pid_t child = (pid_t)system_call(SYS_clone, SIGCHLD | CLONE_FILES, 0);
    struct drm_get_cap c = {.capability = DRM_CAP_PRIME};
    int other = -1;

    if (child == 0) {
        cap(fd);
        other = open("/dev/null", O_RDONLY);
        dup2(other, fd);
        exit(other < 0);
    }
    wait_for(child);
    check(ioctl(fd, DRM_IOCTL_GET_CAP, &c) < 0, "ioctl");
    check(ioctl(fd, DRM_IOCTL_GET_CAP, &c) < 0, "ioctl");
}

/* What the child of vfork() does to its descriptors is not the parent's. */
static void vforked(int fd)
{
    pid_t child = vfork();

    if (child == 0) {
        int null = open("/dev/null", O_RDONLY);
        dup2(null, fd);
        close(fd);
        if (open("/dev/null", O_RDONLY) != fd)
            _exit(1);
        execl("/bin/true", "true", NULL);
        _exit(1);
    }
    wait_for(child);
    cap(fd);
}

extern char **environ;

/* The child has it by another number. */
static void spawned(int fd, char *self)
{
    posix_spawn_file_actions_t actions;
    char mode[] = "inherited", number[] = "77", *argv[] = {self, mode, number, NULL};
    pid_t child;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fd, 77);
    check(posix_spawn(&child, self, &actions, NULL, argv, environ) == 0, "posix_spawn");
    posix_spawn_file_actions_destroy(&actions);
    wait_for(child);
    cap(fd);
}

static void *close_alone(void *argument)
{
    check(close_range(3, ~0u, CLOSE_RANGE_UNSHARE) == 0, "close_range");
    return NULL;
}

/* A thread closes all of them, for itself alone. */
static void unshared(int fd)
{
    pthread_t thread;

    cap(fd);
    pthread_create(&thread, NULL, close_alone, NULL);
    pthread_join(thread, NULL);
    cap(fd);
}

static void unshared_alone(int fd)
{
    cap(fd);
    close_alone(NULL);
}

/* Whatever the program did not open itself, too. */
static void closes_all(int fd)
{
    cap(fd);
    for (int i = 3; i < 1024; i++)
        if (i != fd)
            close(i);
    cap(fd);
    check(close_range(3, ~0u, 0) == 0, "close_range");
    check(open_node() == 3, "open");
    cap(3);
}

static void rooted(int fd)
{
    cap(fd);
    if (chroot("/usr") != 0 || chdir("/") != 0)
        exit(77);
    cap(fd);
    cap(dup(fd));
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    static const struct {
        const char *name;
        void (*run)(int fd);
    } modes[] = {
        {"numbers", numbers},       {"same", same},         {"reused", reused},
        {"received", received},     {"cloned", cloned},     {"sharing", sharing},
        {"vforked", vforked},       {"unshared", unshared}, {"unshared_alone", unshared_alone},
        {"closes_all", closes_all}, {"rooted", rooted},     {"inherited", cap}};
    int fd = strcmp(mode, "inherited") ? open_node() : atoi(argv[2]);

    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        if (!strcmp(modes[i].name, mode))
            modes[i].run(fd);
    if (!strcmp(mode, "spawned"))
        spawned(fd, argv[0]);
    return 0;
}
