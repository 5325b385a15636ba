/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting: for objects, for descriptors, and for what a query told the program.
 */
#include "api/drm/replay/replay.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Programs try again what was interrupted; those tries were not recorded. A wait was over when the
 * program asked, perhaps without patience, or until a moment that has passed: here it may take
 * longer. */
bool drm_is_to_be_tried_again(const struct drm_ioctl *row)
{
    if (row->kind != SBT_KIND_SYNC || (errno != EBUSY && errno != ETIME && errno != ETIMEDOUT))
        return errno == EINTR || errno == EAGAIN;
    usleep(100);
    return true;
}

/* ---- objects ----------------------------------------------------------------------------- */

/* The number here of an object of memory; false: it was closed meanwhile. */
static bool find_object(struct drm_replay *r, uint32_t file, uint32_t object, uint64_t *handle)
{
    for (uint32_t bo = 0; bo < DRM_OBJECT_COUNT; bo++)
        if (!strcmp(drm_text + drm_objects[bo], "bo"))
            return drm_number_known(r, file, bo, object, handle);
    return false;
}

static int wait_by(const struct drm_ioctl *row, int fd, uint8_t *argument)
{
    while (ioctl(fd, row->request, argument) < 0)
        if (!drm_is_to_be_tried_again(row))
            return tsm_fail(TSM_E_DEVICE, "%s: %s", drm_text + row->name, strerror(errno));
    return 0;
}

int drm_wait_object(struct drm_replay *r, uint32_t file, uint32_t object)
{
    const struct drm_replay_file *f = drm_file_numbered(r, file);
    const struct drm_ioctl *row;
    uint64_t handle;
    uint8_t argument[DRM_IDLE_SIZE];

    if (!f || !drm_idle_call(f->family, 0, true, argument))
        return 0; /* a device that computes nothing by itself */
    if (!find_object(r, file, object, &handle))
        return 0; /* it was waited for before it was closed */
    row = drm_idle_call(f->family, (uint32_t)handle, true, argument);
    return wait_by(row, f->own - 1, argument);
}

int drm_wait_all(struct drm_replay *r)
{
    int error = 0;

    for (size_t i = 0; i < r->map_count && !error; i++)
        error = drm_memory_wait(r, &r->maps[i]);
    return error;
}

/* ---- descriptors ------------------------------------------------------------------------- */

/* Slots of a poll's record. */
enum { POLL_FD, POLL_FILE, POLL_EVENTS, POLL_SLOTS };

/* Events of a device file are the screen's, which is left out here: then all that is mapped is
 * waited for, and so for a descriptor that is not here. */
int drm_wait_descriptor(struct drm_replay *r, const struct sbt_record *record)
{
    const struct drm_replay_file *file;
    struct pollfd p = {.fd = -1};
    int result;

    if (record->slot_count < POLL_SLOTS)
        return tsm_fail(TSM_E_FORMAT, "record %llu has too few values",
                        (unsigned long long)record->seq);
    file = drm_file_numbered(r, (uint32_t)record->slots[POLL_FILE]);
    if (file && (file->node == DRM_NODE_SYNC_FILE || file->node == DRM_NODE_DMABUF))
        p.fd = drm_fd(r, (int)record->slots[POLL_FD]);
    if (p.fd < 0)
        return drm_wait_all(r);
    p.events = (short)(record->slots[POLL_EVENTS] & (POLLIN | POLLOUT));
    do
        result = poll(&p, 1, -1);
    while (result < 0 && (errno == EINTR || errno == EAGAIN));
    return result < 0 ? tsm_fail(TSM_E_DEVICE, "poll: %s", strerror(errno)) : 0;
}

/* ---- what was told ----------------------------------------------------------------------- */

/* struct drm_syncobj_timeline_array */
struct points {
    uint64_t handles, points;
    uint32_t count, flags;
};

static bool has_reached(const struct points *here, const struct points *then)
{
    const uint64_t *now = (const void *)(uintptr_t)here->points;
    const uint64_t *wanted = (const void *)(uintptr_t)then->points;

    for (uint32_t i = 0; now && wanted && i < here->count && i < then->count; i++)
        if (now[i] < wanted[i])
            return false;
    return true;
}

bool drm_reports_same(const struct drm_ioctl *row, const uint8_t *argument, const uint8_t *recorded)
{
    size_t size = row->out ? drm_structs[row->out - 1].size : 0;

    if (!row->tells.size || !recorded || !drm_tells_done(row, recorded, size))
        return true;
    if (row->done == DRM_TELLS_POINTS)
        return size < sizeof(struct points) ||
               has_reached((const void *)argument, (const void *)recorded);
    return drm_tells_done(row, argument, size);
}
