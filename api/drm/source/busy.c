/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the device may write into a mapping just now. What it holds is then chance, and no
 * result.
 */
#include "api/drm/source/source.h"

#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>

/* Dma-bufs can be read when nobody writes to them. */
static bool is_unready(int fd)
{
    struct pollfd p = {fd, POLLIN, 0};
    struct timespec none = {0, 0};

    return drm_libc_syscall(SYS_ppoll, (long)&p, 1, (long)&none, 0, 0, 0) == 0;
}

static bool is_object_busy(int fd, uint32_t family, uint32_t object)
{
    uint8_t argument[DRM_IDLE_SIZE];
    const struct drm_ioctl *row = drm_idle_call(family, object, false, argument);

    if (!row)
        return false;
    drm_file_asked();
    if (drm_libc_ioctl(fd, row->request, argument, false) < 0)
        return errno == EBUSY || errno == ETIME || errno == EINTR || errno == EAGAIN;
    return !drm_tells_done(row, argument, sizeof(argument));
}

bool drm_map_is_busy(const struct drm_map *m)
{
    int saved_errno = errno, fd = drm_file_descriptor_of(m->file);
    struct drm_file file = drm_file_known(fd);
    bool is_busy = false;

    if (fd < 0)
        return false;
    tsm_inside_enter();
    if (file.node == DRM_NODE_DMABUF)
        is_busy = is_unready(fd);
    else if (file.node == DRM_NODE_DRM && m->object)
        is_busy = is_object_busy(fd, file.family, m->object);
    tsm_inside_leave();
    errno = saved_errno;
    return is_busy;
}
