/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of libc through which a program gets, uses and loses descriptors of GPU files. They
 * can be called before anything is ready, and by an allocator that dlsym() needs (libc.h).
 *
 * What does not concern a GPU file costs a test and a call.
 */
#include "api/drm/source/source.h"

#include "api/drm/source/libc.h"
#include "api/drm/source/notice.h"
#include "capture/call/sync_fd.h"
#include "interpose/interpose.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

TSM_EXPORT int ioctl(int fd, unsigned long request, ...);
TSM_EXPORT int open64(const char *path, int flags, ...);
TSM_EXPORT int __open_2(const char *path, int flags);
TSM_EXPORT int __open64_2(const char *path, int flags);
TSM_EXPORT int openat64(int folder, const char *path, int flags, ...);
TSM_EXPORT int __openat_2(int folder, const char *path, int flags);
TSM_EXPORT int __openat64_2(int folder, const char *path, int flags);
TSM_EXPORT int fcntl64(int fd, int command, ...);
TSM_EXPORT void *mmap64(void *address, size_t size, int prot, int flags, int fd, off64_t offset);
TSM_EXPORT int close_range(unsigned first, unsigned last, int flags);
TSM_EXPORT void closefrom(int first);
TSM_EXPORT int pidfd_getfd(int pidfd, int target, unsigned flags);
TSM_EXPORT int unshare(int flags);
TSM_EXPORT int __poll_chk(struct pollfd *list, nfds_t count, int timeout, size_t size);
TSM_EXPORT int __ppoll_chk(struct pollfd *list, nfds_t count, const struct timespec *timeout,
                           const sigset_t *signals, size_t size);
TSM_EXPORT int epoll_pwait2(int fd, struct epoll_event *events, int count,
                            const struct timespec *timeout, const sigset_t *signals);
#pragma GCC visibility push(default)
int open(const char *path, int flags, ...);
int openat(int folder, const char *path, int flags, ...);
int close(int fd);
int dup(int fd);
int dup2(int from, int to);
int dup3(int from, int to, int flags);
int fcntl(int fd, int command, ...);
void *mmap(void *address, size_t size, int prot, int flags, int fd, off_t offset);
int munmap(void *address, size_t size);
void *mremap(void *address, size_t from, size_t to, int flags, ...);
int mprotect(void *address, size_t size, int prot);
int pkey_mprotect(void *address, size_t size, int prot, int key);
ssize_t recvmsg(int fd, struct msghdr *message, int flags);
int recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout);
int poll(struct pollfd *list, nfds_t count, int timeout);
int ppoll(struct pollfd *list, nfds_t count, const struct timespec *timeout,
          const sigset_t *signals);
int select(int count, fd_set *reads, fd_set *writes, fd_set *others, struct timeval *timeout);
int pselect(int count, fd_set *reads, fd_set *writes, fd_set *others,
            const struct timespec *timeout, const sigset_t *signals);
int epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event);
int epoll_wait(int epoll, struct epoll_event *events, int count, int timeout);
int epoll_pwait(int epoll, struct epoll_event *events, int count, int timeout,
                const sigset_t *signals);
#pragma GCC visibility pop

typedef int open_type(const char *, int, ...);
typedef int openat_type(int, const char *, int, ...);
typedef int fd_type(int);
typedef int two_fds_type(int, int);
typedef int three_type(int, int, int);
typedef int fcntl_type(int, int, ...);
typedef void *mmap_type(void *, size_t, int, int, int, off64_t);
typedef int munmap_type(void *, size_t);
typedef void *mremap_type(void *, size_t, size_t, int, ...);
typedef int mprotect_type(void *, size_t, int);
typedef int pkey_mprotect_type(void *, size_t, int, int);
typedef ssize_t recvmsg_type(int, struct msghdr *, int);
typedef int recvmmsg_type(int, struct mmsghdr *, unsigned, int, struct timespec *);
typedef int close_range_type(unsigned, unsigned, int);
typedef void closefrom_type(int);
typedef int pidfd_getfd_type(int, int, unsigned);

/* ---- ioctl
 * ----------------------------------------------------------------------------------------
 */

/* Types of ioctls of GPU files: DRM, KFD, dma-buf, sync_file, udmabuf, dma-heap, NVIDIA's, and of
 * its UVM, whose numbers have none. */
static bool is_gpu_type(uint32_t request)
{
#define BIT(type) (1ull << ((type) % 64))
    static const uint64_t types[4] = {BIT(0) | BIT('>'), BIT('d') | BIT('K') | BIT('b') | BIT('u') |
                                                             BIT('H') | BIT('F')};
#undef BIT

    return types[request >> 14 & 3] >> (request >> 8 & 63) & 1;
}

static __attribute__((noinline)) int sync_file_ioctl(int fd, unsigned long request, void *argument,
                                                     bool by_number)
{
    int result = drm_libc_ioctl(fd, request, argument, by_number);

    drm_notice_sync_file(fd, (uint32_t)request, argument, result);
    return result;
}

/* Only a device that understands the call may be a GPU. */
static __attribute__((noinline)) int hidden_ioctl(int fd, uint32_t request, void *argument,
                                                  bool by_number)
{
    int result = drm_ioctl_passed(fd, request, argument, by_number);

    if (result >= 0)
        drm_file_hidden(fd);
    return result;
}

/* musl's programs pass the request as an int: only its low half means anything. */
static inline __attribute__((always_inline)) int do_ioctl(int fd, unsigned long request,
                                                          void *argument, bool by_number)
{
    struct drm_file file;

    if (!is_gpu_type((uint32_t)request) || tsm_inside())
        return drm_libc_ioctl(fd, request, argument, by_number);
    if (tsm_sync_fds_any() && tsm_sync_fd_find(fd, NULL))
        return sync_file_ioctl(fd, request, argument, by_number);
    file = drm_file_of(fd);
    if (file.node == DRM_NODE_NONE && file.family == DRM_FAMILY_HIDDEN)
        return hidden_ioctl(fd, (uint32_t)request, argument, by_number);
    if (file.node == DRM_NODE_NONE)
        return drm_ioctl_passed(fd, (uint32_t)request, argument, by_number);
    return drm_ioctl_recorded(fd, file, (uint32_t)request, argument, by_number);
}

int ioctl(int fd, unsigned long request, ...)
{
    void *argument;
    va_list rest;

    va_start(rest, request);
    argument = va_arg(rest, void *);
    va_end(rest);
    return do_ioctl(fd, request, argument, false);
}

/* syscall() with the number of an ioctl; called from syscall.S. */
long tsm_decide_ioctl(long number, int fd, unsigned long request, void *argument);
long tsm_decide_ioctl(long number, int fd, unsigned long request, void *argument)
{
    return do_ioctl(fd, request, argument, true);
}

long tsm_failed_syscall(long result);
long tsm_failed_syscall(long result)
{
    errno = (int)-result;
    return -1;
}

/* ---- open
 * -----------------------------------------------------------------------------------------
 */

static int opened(int fd, const char *path)
{
    drm_notice_opened(fd, path);
    return fd;
}

/* output: none of ours; the program's own flags. */
#define HAS_MODE(flags) (((flags)&O_CREAT) || ((flags)&O_TMPFILE) == O_TMPFILE)

/* The argument that is there when a file may be made. */
#define MODE_OF(mode, flags)                                                                       \
    do {                                                                                           \
        va_list rest_;                                                                             \
        va_start(rest_, flags);                                                                    \
        (mode) = HAS_MODE(flags) ? va_arg(rest_, mode_t) : 0;                                      \
        va_end(rest_);                                                                             \
    } while (0)

#define RAW_OPEN(folder, path, flags, mode)                                                        \
    (int)drm_system_call(SYS_openat, folder, (long)(path), flags, (long)(mode), 0, 0)

int open(const char *path, int flags, ...)
{
    mode_t mode;

    MODE_OF(mode, flags);
    return opened(
        LIBC(open_type, "open", (path, flags, mode), RAW_OPEN(AT_FDCWD, path, flags, mode)), path);
}

int open64(const char *path, int flags, ...)
{
    mode_t mode;

    MODE_OF(mode, flags);
    return opened(
        LIBC(open_type, "open64", (path, flags, mode), RAW_OPEN(AT_FDCWD, path, flags, mode)),
        path);
}

int __open_2(const char *path, int flags)
{
    return opened(LIBC(open_type, "__open_2", (path, flags), RAW_OPEN(AT_FDCWD, path, flags, 0)),
                  path);
}

int __open64_2(const char *path, int flags)
{
    return opened(LIBC(open_type, "__open64_2", (path, flags), RAW_OPEN(AT_FDCWD, path, flags, 0)),
                  path);
}

int openat(int folder, const char *path, int flags, ...)
{
    mode_t mode;

    MODE_OF(mode, flags);
    return opened(LIBC(openat_type, "openat", (folder, path, flags, mode),
                       RAW_OPEN(folder, path, flags, mode)),
                  path);
}

int openat64(int folder, const char *path, int flags, ...)
{
    mode_t mode;

    MODE_OF(mode, flags);
    return opened(LIBC(openat_type, "openat64", (folder, path, flags, mode),
                       RAW_OPEN(folder, path, flags, mode)),
                  path);
}

int __openat_2(int folder, const char *path, int flags)
{
    return opened(
        LIBC(openat_type, "__openat_2", (folder, path, flags), RAW_OPEN(folder, path, flags, 0)),
        path);
}

int __openat64_2(int folder, const char *path, int flags)
{
    return opened(
        LIBC(openat_type, "__openat64_2", (folder, path, flags), RAW_OPEN(folder, path, flags, 0)),
        path);
}

/* ---- other ways to get one
 * ------------------------------------------------------------------------
 */

static int duplicated(int from, int to)
{
    drm_notice_duplicated(from, to);
    return to;
}

int dup(int fd)
{
    return duplicated(fd, LIBC(fd_type, "dup", (fd), (int)SYSTEM_CALL3(SYS_dup, fd, 0, 0)));
}

int dup2(int from, int to)
{
    return duplicated(
        from, LIBC(two_fds_type, "dup2", (from, to), (int)SYSTEM_CALL3(SYS_dup2, from, to, 0)));
}

int dup3(int from, int to, int flags)
{
    return duplicated(from, LIBC(three_type, "dup3", (from, to, flags),
                                 (int)SYSTEM_CALL3(SYS_dup3, from, to, flags)));
}

#define FCNTL(name, fd, command)                                                                   \
    do {                                                                                           \
        va_list rest_;                                                                             \
        void *argument_;                                                                           \
        int result_;                                                                               \
        va_start(rest_, command);                                                                  \
        argument_ = va_arg(rest_, void *);                                                         \
        va_end(rest_);                                                                             \
        result_ = LIBC(fcntl_type, name, (fd, command, argument_),                                 \
                       (int)SYSTEM_CALL3(SYS_fcntl, fd, command, argument_));                      \
        drm_notice_control(fd, command, result_);                                                  \
        return result_;                                                                            \
    } while (0)

int fcntl(int fd, int command, ...)
{
    FCNTL("fcntl", fd, command);
}

int fcntl64(int fd, int command, ...)
{
    FCNTL("fcntl64", fd, command);
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    ssize_t result = LIBC(recvmsg_type, "recvmsg", (fd, message, flags),
                          SYSTEM_CALL3(SYS_recvmsg, fd, message, flags));

    if (result >= 0)
        drm_notice_message(message);
    return result;
}

int recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout)
{
    int result = LIBC(recvmmsg_type, "recvmmsg", (fd, messages, count, flags, timeout),
                      (int)drm_system_call(SYS_recvmmsg, fd, (long)messages, (long)count, flags,
                                           (long)timeout, 0));

    for (int i = 0; i < result; i++)
        drm_notice_message(&messages[i].msg_hdr);
    return result;
}

int pidfd_getfd(int pidfd, int target, unsigned flags)
{
    int fd = LIBC(pidfd_getfd_type, "pidfd_getfd", (pidfd, target, flags),
                  (int)SYSTEM_CALL3(SYS_pidfd_getfd, pidfd, target, flags));

    drm_file_received(fd);
    return fd;
}

/* ---- close
 * ----------------------------------------------------------------------------------------
 */

int close(int fd)
{
    drm_notice_closing(fd);
    return LIBC(fd_type, "close", (fd), (int)SYSTEM_CALL3(SYS_close, fd, 0, 0));
}

int close_range(unsigned first, unsigned last, int flags)
{
    int result;

    drm_notice_closing_range(first, last, (unsigned)flags);
    result = LIBC(close_range_type, "close_range", (first, last, flags),
                  (int)SYSTEM_CALL3(SYS_close_range, first, last, flags));
    if (result == 0)
        drm_notice_closed_range((unsigned)flags);
    return result;
}

void closefrom(int first)
{
    drm_notice_closing_all(first < 0 ? 0 : (unsigned)first, ~0u);
    LIBC(closefrom_type, "closefrom", (first),
         (void)SYSTEM_CALL3(SYS_close_range, first < 0 ? 0 : first, ~0u, 0));
}

int unshare(int flags)
{
    int result, saved_errno = errno;
    unsigned tries = 0;

    do
        result = LIBC(fd_type, "unshare", (flags), (int)SYSTEM_CALL3(SYS_unshare, flags, 0, 0));
    while (result != 0 && tsm_namespace_again(flags, &tries));
    if (result == 0)
        errno = saved_errno; /* of a first try */
    if (result == 0 && flags & CLONE_FILES)
        drm_files_unshared();
    return result;
}

/* ---- memory
 * ---------------------------------------------------------------------------------------
 */

#define RAW_MMAP(address, size, prot, flags, fd, offset)                                           \
    (void *)drm_system_call(SYS_mmap, (long)(address), (long)(size), prot, flags, fd,              \
                            (long)(offset))

typedef void *mmap_function(void *, size_t, int, int, int, off64_t);

static void *libc_mmap(void *address, size_t size, int prot, int flags, int fd, off64_t offset)
{
    return LIBC(mmap_type, "mmap", (address, size, prot, flags, fd, offset),
                RAW_MMAP(address, size, prot, flags, fd, offset));
}

static void *libc_mmap64(void *address, size_t size, int prot, int flags, int fd, off64_t offset)
{
    return LIBC(mmap_type, "mmap64", (address, size, prot, flags, fd, offset),
                RAW_MMAP(address, size, prot, flags, fd, offset));
}

static inline void *map(mmap_function *function, void *address, size_t size, int prot, int flags,
                        int fd, off64_t offset)
{
    struct drm_taken taken;
    void *result;

    drm_notice_mapping(&taken, address, size, flags);
    result = function(address, size, prot, flags, fd, offset);
    drm_notice_mapped(&taken, result, size, prot, flags, fd, (uint64_t)offset);
    return result;
}

void *mmap(void *address, size_t size, int prot, int flags, int fd, off_t offset)
{
    return map(libc_mmap, address, size, prot, flags, fd, offset);
}

void *mmap64(void *address, size_t size, int prot, int flags, int fd, off64_t offset)
{
    return map(libc_mmap64, address, size, prot, flags, fd, offset);
}

int munmap(void *address, size_t size)
{
    struct drm_taken taken;
    int result;

    drm_unmapping(&taken, address, size);
    result = LIBC(munmap_type, "munmap", (address, size),
                  (int)SYSTEM_CALL3(SYS_munmap, address, size, 0));
    if (result != 0)
        drm_unmap_failed(&taken);
    return result;
}

void *mremap(void *address, size_t from, size_t to, int flags, ...)
{
    struct drm_moving moving;
    va_list rest;
    void *target, *result;

    va_start(rest, flags);
    target = flags & (MREMAP_FIXED | MREMAP_DONTUNMAP) ? va_arg(rest, void *) : NULL;
    va_end(rest);
    drm_moving(&moving, address, from, to, flags, target);
    result = LIBC(mremap_type, "mremap", (address, from, to, flags, target),
                  (void *)drm_system_call(SYS_mremap, (long)address, (long)from, (long)to, flags,
                                          (long)target, 0));
    drm_moved(&moving, result, to);
    return result;
}

int mprotect(void *address, size_t size, int prot)
{
    struct drm_taken taken;
    int result;

    drm_protecting(&taken, address, size, prot);
    result = LIBC(mprotect_type, "mprotect", (address, size, prot),
                  (int)SYSTEM_CALL3(SYS_mprotect, address, size, prot));
    drm_protected(&taken, prot, result == 0);
    return result;
}

int pkey_mprotect(void *address, size_t size, int prot, int key)
{
    struct drm_taken taken;
    int result;

    drm_protecting(&taken, address, size, prot);
    result =
        LIBC(pkey_mprotect_type, "pkey_mprotect", (address, size, prot, key),
             (int)drm_system_call(SYS_pkey_mprotect, (long)address, (long)size, prot, key, 0, 0));
    drm_protected(&taken, prot, result == 0);
    return result;
}

/* ---- waiting for descriptors
 * ------------------------------------------------------------------------
 */

#define SIGNALS_SIZE 8 /* of the kernel's signal sets */

typedef int poll_type(struct pollfd *, nfds_t, int);
typedef int poll_chk_type(struct pollfd *, nfds_t, int, size_t);
typedef int ppoll_type(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
typedef int ppoll_chk_type(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *,
                           size_t);
typedef int select_type(int, fd_set *, fd_set *, fd_set *, struct timeval *);
typedef int pselect_type(int, fd_set *, fd_set *, fd_set *, const struct timespec *,
                         const sigset_t *);
typedef int epoll_ctl_type(int, int, int, struct epoll_event *);
typedef int epoll_wait_type(int, struct epoll_event *, int, int);
typedef int epoll_pwait_type(int, struct epoll_event *, int, int, const sigset_t *);
typedef int epoll_pwait2_type(int, struct epoll_event *, int, const struct timespec *,
                              const sigset_t *);

static int polled(const struct pollfd *list, nfds_t count, int result)
{
    drm_notice_polled(list, count, result);
    return result;
}

int poll(struct pollfd *list, nfds_t count, int timeout)
{
    return polled(list, count,
                  LIBC(poll_type, "poll", (list, count, timeout),
                       (int)SYSTEM_CALL3(SYS_poll, list, count, timeout)));
}

int __poll_chk(struct pollfd *list, nfds_t count, int timeout, size_t size)
{
    return polled(list, count,
                  LIBC(poll_chk_type, "__poll_chk", (list, count, timeout, size),
                       (int)SYSTEM_CALL3(SYS_poll, list, count, timeout)));
}

/* The kernel writes the time that is left; libc's functions do not. */
#define RAW_PPOLL(list, count, timeout, signals)                                                   \
    ({                                                                                             \
        struct timespec left_;                                                                     \
        if (timeout)                                                                               \
            left_ = *(timeout);                                                                    \
        (int)drm_system_call(SYS_ppoll, (long)(list), (long)(count), (timeout) ? (long)&left_ : 0, \
                             (long)(signals), SIGNALS_SIZE, 0);                                    \
    })

int ppoll(struct pollfd *list, nfds_t count, const struct timespec *timeout,
          const sigset_t *signals)
{
    return polled(list, count,
                  LIBC(ppoll_type, "ppoll", (list, count, timeout, signals),
                       RAW_PPOLL(list, count, timeout, signals)));
}

int __ppoll_chk(struct pollfd *list, nfds_t count, const struct timespec *timeout,
                const sigset_t *signals, size_t size)
{
    return polled(list, count,
                  LIBC(ppoll_chk_type, "__ppoll_chk", (list, count, timeout, signals, size),
                       RAW_PPOLL(list, count, timeout, signals)));
}

int select(int count, fd_set *reads, fd_set *writes, fd_set *others, struct timeval *timeout)
{
    int result = LIBC(select_type, "select", (count, reads, writes, others, timeout),
                      (int)drm_system_call(SYS_select, count, (long)reads, (long)writes,
                                           (long)others, (long)timeout, 0));

    drm_notice_selected(count, reads, writes, result);
    return result;
}

static int raw_pselect(int count, fd_set *reads, fd_set *writes, fd_set *others,
                       const struct timespec *timeout, const sigset_t *signals)
{
    struct timespec left = timeout ? *timeout : (struct timespec){0, 0};
    uintptr_t set[2] = {(uintptr_t)signals, SIGNALS_SIZE};

    return (int)drm_system_call(SYS_pselect6, count, (long)reads, (long)writes, (long)others,
                                timeout ? (long)&left : 0, (long)set);
}

int pselect(int count, fd_set *reads, fd_set *writes, fd_set *others,
            const struct timespec *timeout, const sigset_t *signals)
{
    int result = LIBC(pselect_type, "pselect", (count, reads, writes, others, timeout, signals),
                      raw_pselect(count, reads, writes, others, timeout, signals));

    drm_notice_selected(count, reads, writes, result);
    return result;
}

int epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
    int result = LIBC(epoll_ctl_type, "epoll_ctl", (epoll, operation, fd, event),
                      (int)drm_system_call(SYS_epoll_ctl, epoll, operation, fd, (long)event, 0, 0));

    drm_notice_watched(epoll, operation, fd, event, result);
    return result;
}

static int epolled(int epoll, const struct epoll_event *events, int result)
{
    drm_notice_epolled(epoll, events, result);
    return result;
}

int epoll_wait(int epoll, struct epoll_event *events, int count, int timeout)
{
    return epolled(
        epoll, events,
        LIBC(epoll_wait_type, "epoll_wait", (epoll, events, count, timeout),
             (int)drm_system_call(SYS_epoll_wait, epoll, (long)events, count, timeout, 0, 0)));
}

int epoll_pwait(int epoll, struct epoll_event *events, int count, int timeout,
                const sigset_t *signals)
{
    return epolled(epoll, events,
                   LIBC(epoll_pwait_type, "epoll_pwait", (epoll, events, count, timeout, signals),
                        (int)drm_system_call(SYS_epoll_pwait, epoll, (long)events, count, timeout,
                                             (long)signals, SIGNALS_SIZE)));
}

int epoll_pwait2(int epoll, struct epoll_event *events, int count, const struct timespec *timeout,
                 const sigset_t *signals)
{
    return epolled(epoll, events,
                   LIBC(epoll_pwait2_type, "epoll_pwait2", (epoll, events, count, timeout, signals),
                        (int)drm_system_call(SYS_epoll_pwait2, epoll, (long)events, count,
                                             (long)timeout, (long)signals, SIGNALS_SIZE)));
}
