/* SPDX-License-Identifier: Apache-2.0
 *
 * A descriptor that the program finds ready tells it that the device is done: a sync file, a
 * dma-buf, and a device file that has an event to read. That is a wait, with a record of its own;
 * of a sync file that another API has given out (capture/call/sync_fd.h) that API hears.
 *
 * What epoll_wait() finds it names by numbers of the program's choice, so epoll_ctl() is followed.
 */
#include "api/drm/source/source.h"

#include "api/drm/source/notice.h"
#include "base/text.h"
#include "capture/call/sync_fd.h"
#include "capture/lock.h"

#include <errno.h>
#include <linux/sync_file.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define WATCH_MAX 1024u

/* Descriptors that an epoll descriptor watches. */
static struct watch {
    int epoll, fd;
    uint32_t events;
    uint64_t data;
} watches[WATCH_MAX];
static _Atomic uint32_t watch_count;
static struct tsm_lock lock;

void drm_polls_forked(void)
{
    lock = (struct tsm_lock){0, 0};
    atomic_store(&watch_count, 0);
}

static bool tells(struct drm_file file)
{
    return file.node == DRM_NODE_SYNC_FILE || file.node == DRM_NODE_DMABUF ||
           file.node == DRM_NODE_DRM;
}

static bool is_of_interest(void)
{
    return (tsm_sync_fds_any() || drm_file_count() > 0) && !tsm_inside();
}

/* Returns whether there is a record of it. */
static bool write_poll(int fd, struct drm_file file, unsigned events)
{
    struct tsm_call call;

    if (!tells(file) || !drm_begin(&call, DRM_RECORD_POLL))
        return false;
    tsm_call_returned(&call, 0, false);
    tsm_call_slot(&call, (uint64_t)fd);
    tsm_call_slot(&call, file.id);
    tsm_call_slot(&call, events);
    tsm_call_commit(&call);
    return true;
}

static bool may_tell(int fd)
{
    return tells(drm_file_known(fd)) || tsm_sync_fd_find(fd, NULL);
}

/* Returns whether there is a record of ours of it. */
static bool found_ready(int fd, unsigned events)
{
    if (events & POLLIN && tsm_sync_fd_found_ready(fd))
        return false;
    return write_poll(fd, drm_file_known(fd), events);
}

void drm_notice_polled(const struct pollfd *list, uint64_t count, int result)
{
    int saved_errno = errno;
    bool found = false;

    if (result <= 0 || !is_of_interest())
        return;
    for (uint64_t i = 0; i < count; i++)
        if (list[i].fd >= 0 && list[i].revents & (POLLIN | POLLOUT))
            found |= found_ready(list[i].fd, (unsigned)list[i].revents & (POLLIN | POLLOUT));
    if (found)
        drm_maps_waited();
    errno = saved_errno;
}

void drm_notice_selected(int count, const fd_set *reads, const fd_set *writes, int result)
{
    int saved_errno = errno;
    bool found = false;

    if (result <= 0 || !is_of_interest())
        return;
    for (int fd = 0; fd < count; fd++) {
        unsigned long bit = 1ul << (fd % (8 * (int)sizeof(long)));
        size_t word = (size_t)fd / (8 * sizeof(long));
        /* Programs make sets that are larger than fd_set. */
        unsigned events = (reads && ((const unsigned long *)reads)[word] & bit ? POLLIN : 0u) |
                          (writes && ((const unsigned long *)writes)[word] & bit ? POLLOUT : 0u);
        if (events)
            found |= found_ready(fd, events);
    }
    if (found)
        drm_maps_waited();
    errno = saved_errno;
}

/* ---- io_uring -----------------------------------------------------------------------------------
 *
 * Its polls are the kernel's and the program's alone. That there is a ring is seen, at the first
 * sync file and again each time that twice as many have been made.
 */

#define LOOKED_AT 1024 /* descriptors */

static _Atomic uint32_t sync_file_count;

static bool is_ring(int fd)
{
    static const char name[] = "anon_inode:[io_uring]";
    char link[48], path[sizeof(name)];

    tsm_text_numbered(link, sizeof(link), "/proc/thread-self/fd/", (unsigned)fd);
    return readlink(link, path, sizeof(path)) == sizeof(name) - 1 &&
           memcmp(path, name, sizeof(name) - 1) == 0;
}

void drm_notice_sync_file_created(void)
{
    uint32_t count = atomic_fetch_add(&sync_file_count, 1) + 1;
    bool found = false;

    if (count & (count - 1) || tsm_sandboxed())
        return;
    tsm_inside_enter();
    for (int fd = 0; fd < LOOKED_AT && !found; fd++)
        found = is_ring(fd);
    tsm_inside_leave();
    if (found)
        tsm_session_unmodelled("io_uring beside sync files: what it tells of them is not seen",
                               true);
}

/* ---- epoll
 * ----------------------------------------------------------------------------------------
 */

/* With the lock held. */
static struct watch *find(int epoll, int fd)
{
    for (uint32_t i = 0; i < watch_count; i++)
        if (watches[i].epoll == epoll && watches[i].fd == fd)
            return &watches[i];
    return NULL;
}

static bool keep(const struct watch *w)
{
    struct watch *known;
    bool kept = true;

    drm_enter(&lock);
    known = find(w->epoll, w->fd);
    kept = known || watch_count < WATCH_MAX;
    if (known)
        *known = *w;
    else if (kept)
        watches[watch_count++] = *w;
    drm_leave(&lock);
    return kept;
}

static void drop(int epoll, int fd)
{
    struct watch *known;

    drm_enter(&lock);
    known = find(epoll, fd);
    if (known)
        *known = watches[--watch_count];
    drm_leave(&lock);
}

void drm_notice_watched(int epoll, int operation, int fd, const struct epoll_event *event,
                        int result)
{
    int saved_errno = errno;

    if (result != 0 || !is_of_interest())
        return;
    if (operation == EPOLL_CTL_DEL && atomic_load(&watch_count))
        drop(epoll, fd);
    else if (operation != EPOLL_CTL_DEL && may_tell(fd) &&
             !keep(&(struct watch){epoll, fd, event->events, event->data.u64}))
        tsm_session_unmodelled("more than 1024 GPU files that epoll looks after", true);
    errno = saved_errno;
}

/* The `place`th that has this number, if it is ready still: it may have been closed, and its number
 * be another file's. */
static bool take_ready(int epoll, uint64_t data, uint32_t place, struct pollfd *out)
{
    uint32_t seen = 0;
    bool found = false;

    drm_enter(&lock);
    for (uint32_t i = 0; i < watch_count && !found; i++) {
        found = watches[i].epoll == epoll && watches[i].data == data && seen++ == place;
        if (found)
            *out =
                (struct pollfd){watches[i].fd, (short)(watches[i].events & (POLLIN | POLLOUT)), 0};
    }
    drm_leave(&lock);
    return found;
}

/* Asks the kernel; where that is forbidden, believes epoll. */
static bool is_ready_still(struct pollfd *p)
{
    struct timespec none = {0, 0};

    if (tsm_sandboxed())
        p->revents = p->events;
    else if (drm_libc_syscall(SYS_ppoll, (long)p, 1, (long)&none, 0, 0, 0) != 1)
        return false;
    return (p->revents & (POLLIN | POLLOUT)) != 0;
}

static bool write_ready(int epoll, uint64_t data)
{
    struct pollfd p;
    bool written = false;

    for (uint32_t i = 0; take_ready(epoll, data, i, &p); i++)
        if (may_tell(p.fd) && is_ready_still(&p))
            written |= found_ready(p.fd, (unsigned)p.revents & (POLLIN | POLLOUT));
    return written;
}

void drm_notice_epolled(int epoll, const struct epoll_event *events, int result)
{
    int saved_errno = errno;
    bool found = false;

    if (result <= 0 || !atomic_load_explicit(&watch_count, memory_order_relaxed) ||
        !is_of_interest())
        return;
    for (int i = 0; i < result; i++)
        found |= write_ready(epoll, events[i].data.u64);
    if (found)
        drm_maps_waited();
    errno = saved_errno;
}

/* ---- sync files ------------------------------------------------------------------------------ */

void drm_notice_sync_file(int fd, uint32_t request, const void *argument, int result)
{
    int saved_errno = errno;

    if (result < 0 || tsm_inside())
        return;
    if (request == SYNC_IOC_MERGE) {
        const struct sync_merge_data *merged = argument;
        tsm_sync_fd_merged(fd, merged->fd2, merged->fence);
    } else if (request == SYNC_IOC_FILE_INFO) {
        const struct sync_file_info *info = argument;
        if (info->status != 0)
            tsm_sync_fd_found_ready(fd);
    }
    errno = saved_errno;
}
