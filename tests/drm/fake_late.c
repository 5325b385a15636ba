/* SPDX-License-Identifier: Apache-2.0
 *
 * When the device is done: at once, or, with FAKE_DRM_LATE, when somebody waits for it, or has
 * asked three times. A late device reads what it stores as late as it stores it. With
 * FAKE_DRM_HANGS who waits waits for ever.
 */
#include "tests/drm/fake_drm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <poll.h>

#define LATE_MAX  4096u
#define FENCE_MAX 256u
#define FENCE_OWN 700 /* descriptors of ours begin here */

static struct {
    void *at;
    const void *from;
    void *copy; /* where `from` may be gone; NULL */
    size_t size;
    uint64_t submit; /* of which */
    bool is_fence;
} late[LATE_MAX];
static unsigned late_count, asked;
static uint64_t submit;
static int fences[FENCE_MAX];
static unsigned fence_count;

static void store(void *at, const void *from, size_t size, bool is_fence)
{
    memcpy(at, from, size);
    if (size && !is_fence && getenv("FAKE_DRM_WRONG"))
        *(unsigned char *)at ^= 0x55;
}

static void add(void *at, const void *from, size_t size, bool is_copy, bool is_fence)
{
    void *copy = NULL;

    if (!getenv("FAKE_DRM_LATE")) {
        store(at, from, size, is_fence);
        return;
    }
    if (is_copy)
        copy = malloc(size + 1);
    if (late_count == LATE_MAX || (is_copy && !copy))
        abort();
    if (copy)
        memcpy(copy, from, size);
    late[late_count].at = at;
    late[late_count].from = copy ? copy : from;
    late[late_count].copy = copy;
    late[late_count].submit = submit;
    late[late_count].size = size;
    late[late_count++].is_fence = is_fence;
}

void fake_store(void *at, const void *from, size_t size)
{
    if (!getenv("FAKE_DRM_IDLE"))
        add(at, from, size, false, false);
}

void fake_store_copy(void *at, const void *from, size_t size)
{
    if (!getenv("FAKE_DRM_IDLE"))
        add(at, from, size, true, false);
}

void fake_store_fence(void *at, const void *from, size_t size)
{
    add(at, from, size, true, true);
}

static void signal_fence(int fd)
{
    const uint64_t one = 1;

    if (write(fd, &one, sizeof(one)) != (ssize_t)sizeof(one))
        abort();
}

void fake_submit(uint64_t number)
{
    submit = number;
}

bool fake_is_finished(uint64_t number)
{
    return !late_count || late[0].submit > number;
}

void fake_finish_until(uint64_t number)
{
    unsigned done = 0;

    for (; done < late_count && late[done].submit <= number; done++) {
        store(late[done].at, late[done].from, late[done].size, late[done].is_fence);
        free(late[done].copy);
    }
    memmove(late, late + done, (late_count - done) * sizeof(late[0]));
    late_count -= done;
}

void fake_finish(void)
{
    fake_finish_until(UINT64_MAX);
    for (unsigned i = 0; i < fence_count; i++) {
        signal_fence(fences[i]);
        close(fences[i]);
    }
    late_count = fence_count = asked = 0;
}

bool fake_is_done(bool is_patient)
{
    while (is_patient && getenv("FAKE_DRM_HANGS"))
        pause();
    if (!late_count && !fence_count)
        return true;
    if (!is_patient && ++asked % 3)
        return false;
    fake_finish();
    return true;
}

/* A sync file is an eventfd here: ready when it has signalled, and from then on. */
int fake_fence_fd(void)
{
    bool is_late = late_count > 0;
    int fd = eventfd(is_late ? 0 : 1, EFD_CLOEXEC);

    if (fd >= 0 && is_late && fence_count < FENCE_MAX)
        fences[fence_count++] = fcntl(fd, F_DUPFD_CLOEXEC, FENCE_OWN);
    return fd;
}

/* ---- libc
 * -----------------------------------------------------------------------------------------
 */

#pragma GCC visibility push(default)
int poll(struct pollfd *list, nfds_t count, int timeout);
int ppoll(struct pollfd *list, nfds_t count, const struct timespec *timeout, const sigset_t *set);
int select(int count, fd_set *reads, fd_set *writes, fd_set *others, struct timeval *timeout);
int pselect(int count, fd_set *reads, fd_set *writes, fd_set *others,
            const struct timespec *timeout, const sigset_t *set);
int epoll_wait(int epoll, struct epoll_event *events, int count, int timeout);
int epoll_pwait(int epoll, struct epoll_event *events, int count, int timeout, const sigset_t *set);
#pragma GCC visibility pop

#define CALL(number, a, b, c, d, e, f)                                                             \
    ((int)fake_call(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f)))

/* Nothing here waits for anything but the device. */
static bool is_none(const struct timespec *timeout)
{
    return timeout && !timeout->tv_sec && !timeout->tv_nsec;
}

int poll(struct pollfd *list, nfds_t count, int timeout)
{
    fake_is_done(timeout != 0);
    return CALL(SYS_poll, list, count, timeout, 0, 0, 0);
}

int ppoll(struct pollfd *list, nfds_t count, const struct timespec *timeout, const sigset_t *set)
{
    fake_is_done(!is_none(timeout));
    return CALL(SYS_ppoll, list, count, timeout, set, 8, 0);
}

int select(int count, fd_set *reads, fd_set *writes, fd_set *others, struct timeval *timeout)
{
    fake_is_done(!timeout || timeout->tv_sec || timeout->tv_usec);
    return CALL(SYS_select, count, reads, writes, others, timeout, 0);
}

int pselect(int count, fd_set *reads, fd_set *writes, fd_set *others,
            const struct timespec *timeout, const sigset_t *set)
{
    fake_is_done(!is_none(timeout));
    return CALL(SYS_pselect6, count, reads, writes, others, timeout, 0);
}

int epoll_wait(int epoll, struct epoll_event *events, int count, int timeout)
{
    fake_is_done(timeout != 0);
    return CALL(SYS_epoll_wait, epoll, events, count, timeout, 0, 0);
}

int epoll_pwait(int epoll, struct epoll_event *events, int count, int timeout, const sigset_t *set)
{
    fake_is_done(timeout != 0);
    return CALL(SYS_epoll_pwait, epoll, events, count, timeout, set, 8);
}
