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
#include <sys/auxv.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

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

/* A child of vfork() changes its own descriptors, not the parent's. */
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

/* Uses a GPU file for the first time where none of the folders is that were there at the start. */
static void rooted_first(void)
{
    if (chroot("/usr") != 0 || chdir("/") != 0)
        exit(77);
    cap(open_node());
}

/* A descriptor that came past libc, of a device whose number says nothing. */
static void nameless(void)
{
    int uvm = open("/dev/nvidia-uvm", O_RDWR), other = (int)system_call(SYS_dup, uvm, 0);

    for (int i = 0; i < 3; i++)
        check(other >= 0 && ioctl(other, 25, NULL) == 0, "ioctl");
}

/* ---- little stack -------------------------------------------------------------------------------
 */

#define PAGE 4096u

static int little_fd;
static ucontext_t outside, coroutine;

/* Makes calls with numbers only and with texts behind pointers, a mapping, a duplicate. Calls
 * nothing of libc but system calls. */
static void calls(void)
{
    static struct drm_get_cap c = {.capability = DRM_CAP_PRIME};
    static struct drm_mode_create_dumb made = {.width = 64, .height = 32, .bpp = 32};
    static struct drm_mode_map_dumb map;
    static char name[32], date[32], text[32];
    static struct drm_version version = {
        .name_len = 32, .name = name, .date_len = 32, .date = date, .desc_len = 32, .desc = text};
    bool good = ioctl(little_fd, DRM_IOCTL_GET_CAP, &c) == 0;
    void *memory;
    int other;

    good = good && ioctl(little_fd, DRM_IOCTL_VERSION, &version) == 0;
    good = good && ioctl(little_fd, DRM_IOCTL_MODE_CREATE_DUMB, &made) == 0;
    map.handle = made.handle;
    good = good && ioctl(little_fd, DRM_IOCTL_MODE_MAP_DUMB, &map) == 0;
    memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, little_fd, (off_t)map.offset);
    good = good && memory != MAP_FAILED && munmap(memory, PAGE) == 0;
    other = dup(little_fd);
    good = good && other >= 0 && ioctl(other, DRM_IOCTL_GET_CAP, &c) == 0 && close(other) == 0;
    if (!good)
        _exit(3);
}

/* `size` bytes above a page that may not be touched. */
static char *make_stack(size_t size)
{
    char *stack =
        mmap(NULL, PAGE + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    check(stack != MAP_FAILED && mprotect(stack, PAGE, PROT_NONE) == 0, "stack");
    return stack + PAGE;
}

static void *in_thread(void *unused)
{
    calls();
    return unused;
}

static void on_signal(int number)
{
    calls();
}

static void in_coroutine(void)
{
    calls();
    swapcontext(&coroutine, &outside);
}

/* Calls on `size` bytes of stack; in a signal handler: beside those that the kernel uses there. */
static void with_little(const char *place, size_t size)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    stack_t stack = {.ss_size = size};
    pthread_attr_t attributes;
    pthread_t thread;

    if (!strcmp(place, "thread")) {
        pthread_attr_init(&attributes);
        check(!pthread_attr_setstacksize(&attributes, size), "stack size");
        check(!pthread_create(&thread, &attributes, in_thread, NULL), "thread");
        pthread_join(thread, NULL);
    } else if (!strcmp(place, "handler")) {
        stack.ss_size = (size + getauxval(AT_MINSIGSTKSZ) + 63) / 64 * 64;
        stack.ss_sp = make_stack(stack.ss_size);
        check(sigaltstack(&stack, NULL) == 0, "sigaltstack");
        sigaction(SIGUSR1, &action, NULL);
        raise(SIGUSR1);
    } else {
        getcontext(&coroutine);
        stack.ss_sp = make_stack(size);
        coroutine.uc_stack = stack;
        coroutine.uc_link = &outside;
        makecontext(&coroutine, in_coroutine, 0);
        swapcontext(&outside, &coroutine);
    }
}

/* little PLACE BYTES [later]: the process makes its first calls there, or later ones. */
static void little(int fd, char **argv)
{
    little_fd = fd;
    if (argv[4]) {
        calls();
        little_fd = open_node();
    }
    with_little(argv[2], (size_t)atol(argv[3]));
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
    int fd;

    if (!strcmp(mode, "rooted_first") || !strcmp(mode, "nameless")) {
        mode[0] == 'r' ? rooted_first() : nameless();
        return 0;
    }
    fd = strcmp(mode, "inherited") ? open_node() : atoi(argv[2]);
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        if (!strcmp(modes[i].name, mode))
            modes[i].run(fd);
    if (!strcmp(mode, "spawned"))
        spawned(fd, argv[0]);
    if (!strcmp(mode, "little"))
        little(fd, argv);
    return 0;
}
