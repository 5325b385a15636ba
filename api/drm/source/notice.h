/* SPDX-License-Identifier: Apache-2.0
 *
 * Follows a system call's effects on descriptors and mappings, whether the program called libc's
 * function (hook.c) or used its number (number.c). Like the rest of the source: any thread, any
 * moment, errno preserved.
 */
#ifndef API_DRM_SOURCE_NOTICE_H
#define API_DRM_SOURCE_NOTICE_H

#include "api/drm/source/source.h"

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* Numbers that older headers lack. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

/* Afterwards. `fd`, `to`, `address`: what the call has returned, which may be a failure. */
void drm_notice_opened(int fd, const char *path);
void drm_notice_duplicated(int from, int to);
void drm_notice_control(int fd, int command, int result); /* fcntl() */
void drm_notice_mapped(const struct drm_taken *taken, const void *address, size_t size, int prot,
                       int flags, int fd, uint64_t offset);

/* A message has come, perhaps with descriptors. */
void drm_notice_message(const struct msghdr *message);

/* A sync file has been made (poll.c). */
void drm_notice_sync_file_created(void);

/* Notes the files that poll() and its relatives found ready, by their results (poll.c). */
void drm_notice_polled(const struct pollfd *list, uint64_t count, int result);
void drm_notice_selected(int count, const fd_set *reads, const fd_set *writes, int result);
void drm_notice_watched(int epoll, int operation, int fd, const struct epoll_event *event,
                        int result);
void drm_notice_epolled(int epoll, const struct epoll_event *events, int result);

/* An ioctl of a sync file that another API has given out (capture/call/sync_fd.h) has returned. */
void drm_notice_sync_file(int fd, uint32_t request, const void *argument, int result);

/* Before. *taken: what goes, for drm_notice_mapped(). */
void drm_notice_closing_all(unsigned first, unsigned last); /* from `first` to `last` */

/* Notes that a descriptor of that GPU file is about to be closed, perhaps its last one. */
void drm_notice_file_closing(uint32_t file);

static inline void drm_notice_closing(int fd)
{
    uint32_t file = drm_file_closing(fd);

    if (__builtin_expect(file != 0, 0))
        drm_notice_file_closing(file);
}
void drm_notice_mapping(struct drm_taken *taken, const void *address, size_t size, int flags);
void drm_notice_closing_range(unsigned first, unsigned last, unsigned flags);

/* close_range() has succeeded. */
void drm_notice_closed_range(unsigned flags);

#endif
