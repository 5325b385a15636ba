/* SPDX-License-Identifier: Apache-2.0 */
#include "api/drm/source/notice.h"

#include "api/drm/source/source.h"
#include "base/own_stack.h"
#include "capture/call/sync_fd.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#define RANGE_UNSHARE 2u /* CLOSE_RANGE_UNSHARE */
#define RANGE_CLOEXEC 4u /* CLOSE_RANGE_CLOEXEC: closes nothing now */

void drm_notice_opened(int fd, const char *path)
{
    if (fd < 0)
        return;
    if (path && strncmp(path, "/dev/", 5) == 0)
        drm_file_opened(fd, path);
    else
        drm_file_forget(fd);
}

void drm_notice_file_closing(uint32_t file)
{
    if (drm_has_views() && drm_file_descriptor_of(file) < 0)
        drm_view_file_closed(file);
}

void drm_notice_closing_all(unsigned first, unsigned last)
{
    unsigned highest = drm_file_highest();

    tsm_sync_fds_closed(first, last);
    if (last > highest)
        last = highest;
    for (unsigned fd = first; fd <= last; fd++)
        drm_notice_closing((int)fd);
}

void drm_notice_duplicated(int from, int to)
{
    if (to < 0 || from == to)
        return;
    drm_notice_closing(to);
    drm_file_duplicated(from, to);
}

void drm_notice_control(int fd, int command, int result)
{
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
        drm_notice_duplicated(fd, result);
}

void drm_notice_message(const struct msghdr *message)
{
    struct msghdr copy = *message;

    if (!copy.msg_controllen)
        return;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&copy); c; c = CMSG_NXTHDR(&copy, c)) {
        size_t size = c->cmsg_len - CMSG_LEN(0);
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || c->cmsg_len < CMSG_LEN(0))
            continue;
        for (size_t i = 0; i + sizeof(int) <= size; i += sizeof(int)) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i, sizeof(fd));
            drm_file_received(fd);
        }
    }
}

void drm_notice_closing_range(unsigned first, unsigned last, unsigned flags)
{
    bool for_all = !(flags & RANGE_UNSHARE) || drm_is_first_thread();

    if (!(flags & RANGE_CLOEXEC) && for_all)
        drm_notice_closing_all(first, last);
}

void drm_notice_closed_range(unsigned flags)
{
    if (flags & RANGE_UNSHARE)
        drm_files_unshared();
}

/* ---- memory -----------------------------------------------------------------------------------
 */

/* Removes mappings that a new one at a fixed place replaces. */
void drm_notice_mapping(struct drm_taken *taken, const void *address, size_t size, int flags)
{
    taken->count = 0;
    if (flags & MAP_FIXED)
        drm_unmapping(taken, address, size);
}

struct mapped {
    struct drm_file file;
    const void *address;
    size_t size;
    uint64_t offset;
    int fd, prot, flags;
};

static void mapped_on_own_stack(void *argument)
{
    const struct mapped *m = argument;

    drm_mapped(m->fd, m->file, m->address, m->size, m->prot, m->flags, m->offset);
}

void drm_notice_mapped(const struct drm_taken *taken, const void *address, size_t size, int prot,
                       int flags, int fd, uint64_t offset)
{
    struct drm_file file;

    if (address == MAP_FAILED)
        drm_unmap_failed(taken);
    if (address == MAP_FAILED || fd < 0 || flags & MAP_ANONYMOUS || tsm_inside())
        return;
    file = drm_file_mapped(fd);
    if (file.node != DRM_NODE_NONE) {
        struct mapped m = {file, address, size, offset, fd, prot, flags};
        tsm_own_stack_run(mapped_on_own_stack, &m);
    }
}
