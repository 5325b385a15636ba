/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of the replay: a device with the driver that the trace was recorded on, of the same major
 * version and not an older one. Other kinds of files come of ioctls only.
 */
#include "api/drm/replay/replay.h"

#include "api/drm/describe.h"
#include "api/drm/version.h"
#include "base/array.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define NODE_FIRST 128 /* render nodes: /dev/dri/renderD128 ... */
#define NODE_COUNT 64
#define PATH_SIZE  64u /* of a device */
#define IDLE_MAX   16u /* files that the program has closed, kept open */

/* Slots of a file's record. */
enum { FILE_FD, FILE_ID, FILE_NODE, FILE_HOW, FILE_PATH, FILE_DEVICE, FILE_DRIVER, FILE_VERSION };

static uint64_t slot(const struct sbt_record *record, uint32_t index)
{
    return index < record->slot_count ? record->slots[index] : 0;
}

struct drm_replay_file *drm_file_numbered(const struct drm_replay *r, uint32_t id)
{
    for (uint32_t i = 0; i < r->file_count; i++)
        if (r->files[i].id == id)
            return &r->files[i];
    return NULL;
}

static void copy_string(const struct drm_replay *r, uint64_t id, char *out, size_t size)
{
    const char *text = id ? sbt_reader_string(r->reader, (uint32_t)id) : NULL;

    tsm_format(out, size, "%s", text ? text : "");
}

/* Tests for a file that only gives memory: /dev/udmabuf, or a file right in the folder of heaps. */
static bool is_memory(const char *path, uint8_t node)
{
    const char *heaps = "/dev/dma_heap/";

    if (node == DRM_NODE_UDMABUF)
        return strcmp(path, "/dev/udmabuf") == 0;
    return node == DRM_NODE_DMA_HEAP && strlen(path) < PATH_SIZE &&
           strncmp(path, heaps, strlen(heaps)) == 0 && path[strlen(heaps)] != '.' &&
           !strchr(path + strlen(heaps), '/');
}

int drm_file_plan(struct drm_replay *r, const struct sbt_record *record)
{
    struct drm_replay_file *f;
    char path[256];

    if (!TSM_ARRAY_RESIZE(r->files, r->file_count + 1))
        return tsm_fail(TSM_E_MEMORY, "no memory for files");
    f = &r->files[r->file_count];
    *f = (struct drm_replay_file){.id = (uint32_t)slot(record, FILE_ID),
                                  .node = (uint8_t)slot(record, FILE_NODE),
                                  .device =
                                      (uint8_t)(minor(slot(record, FILE_DEVICE)) % NODE_COUNT)};
    f->is_primary = minor(slot(record, FILE_DEVICE)) < NODE_COUNT;
    copy_string(r, slot(record, FILE_DRIVER), f->driver, sizeof(f->driver));
    copy_string(r, slot(record, FILE_VERSION), f->version, sizeof(f->version));
    f->family = f->node == DRM_NODE_DRM ? drm_family_of_driver(f->driver)
                                        : drm_family_of_node((enum drm_node)f->node);
    r->file_count++;
    if (f->node == DRM_NODE_DRM || slot(record, FILE_HOW) == DRM_HOW_MADE)
        return 0;
    copy_string(r, slot(record, FILE_PATH), path, sizeof(path));
    if (is_memory(path, f->node)) {
        tsm_format(f->path, sizeof(f->path), "%s", path);
        return 0;
    }
    return tsm_fail(
        TSM_E_UNSUPPORTED,
        "record %llu: %s is not opened again: only files of DRM drivers, /dev/udmabuf and DMA "
        "heaps are",
        (unsigned long long)record->seq, path);
}

/* ---- devices
 * --------------------------------------------------------------------------------------
 */

/* Is the file's driver `f`'s, of a version that does? 1, 0, or -1: it is, but does not do. */
static int fits(int fd, const struct drm_replay_file *f, char *why, size_t size)
{
    char name[64] = "";
    struct drm_driver_version v = {.name_size = sizeof(name) - 1, .name = name};
    int major = 0, minor = 0;

    if (ioctl(fd, DRM_DRIVER_VERSION, &v) != 0 || strcmp(name, f->driver) != 0)
        return 0;
    if (sscanf(f->version, "%d.%d", &major, &minor) == 2 && v.major == major && v.minor >= minor)
        return 1;
    tsm_format(why, size, "; there is version %d.%d.%d of it, the trace is of %s", v.major, v.minor,
               v.patch, f->version);
    return -1;
}

static bool try_path(struct drm_replay_file *f, const char *path, char *why, size_t size)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    bool found = fd >= 0 && fits(fd, f, why, size) > 0;

    if (fd >= 0)
        close(fd);
    if (found)
        tsm_format(f->path, sizeof(f->path), "%s", path);
    return found;
}

/* A node of the kind that it was, or else of the other. */
static int find_device(struct drm_replay_file *f)
{
    char path[64], why[128] = "";

    for (int i = 0; i < 2 * NODE_COUNT; i++) {
        if ((i < NODE_COUNT) != f->is_primary)
            tsm_format(path, sizeof(path), "/dev/dri/renderD%d", NODE_FIRST + i % NODE_COUNT);
        else
            tsm_format(path, sizeof(path), "/dev/dri/card%d", i % NODE_COUNT);
        if (try_path(f, path, why, sizeof(why)))
            return 0;
    }
    return tsm_fail(TSM_E_NOT_FOUND, "no device in /dev/dri has the driver %s%s",
                    f->driver[0] ? f->driver : "that the trace does not name", why);
}

static int try_memory(const struct drm_replay_file *f)
{
    int fd = open(f->path, O_RDWR | O_CLOEXEC);

    if (fd < 0)
        return tsm_fail(TSM_E_NOT_FOUND, "%s: %s", f->path, strerror(errno));
    close(fd);
    return 0;
}

int drm_files_prepare(struct drm_replay *r)
{
    int error = 0;

    for (uint32_t i = 0; i < r->file_count && !error; i++) {
        const struct drm_replay_file *f = &r->files[i];
        if (f->node == DRM_NODE_DRM)
            error = find_device(&r->files[i]);
        else if (f->path[0])
            error = try_memory(f);
    }
    return error;
}

/* ---- records
 * --------------------------------------------------------------------------------------
 */

static bool is_mapped(const struct drm_replay *r, uint32_t id)
{
    for (size_t i = 0; i < r->map_count; i++)
        if (r->maps[i].file == id)
            return true;
    return false;
}

static bool is_idle(const struct drm_replay_file *f)
{
    return f->own && !f->descriptor_count;
}

/* The replay's own descriptors of files that the program has closed go when there are many. */
static void close_idle(struct drm_replay *r)
{
    if (r->idle_count <= IDLE_MAX)
        return;
    for (uint32_t i = 0; i < r->file_count; i++) {
        struct drm_replay_file *f = &r->files[i];
        if (!is_idle(f) || is_mapped(r, f->id))
            continue;
        close(f->own - 1);
        f->own = 0;
        r->idle_count--;
    }
}

int drm_file_descriptor(const struct drm_replay *r, uint32_t id)
{
    const struct drm_replay_file *f = drm_file_numbered(r, id);

    return f ? f->own - 1 : -1;
}

bool drm_file_is_open_as(const struct drm_replay *r, uint32_t id, int fd)
{
    const struct drm_replay_file *f = drm_file_numbered(r, id);
    struct stat is, wanted = {0};

    if (!f || fstat(fd, &is) != 0 || (f->own && fstat(f->own - 1, &wanted) != 0))
        return false;
    return S_ISCHR(is.st_mode) == S_ISCHR(wanted.st_mode) &&
           (!S_ISCHR(is.st_mode) || is.st_rdev == wanted.st_rdev);
}

void drm_files_finish(struct drm_replay *r)
{
    for (uint32_t i = 0; i < r->file_count; i++)
        if (r->files[i].own)
            close(r->files[i].own - 1);
    free(r->files);
}

/* `fd`: the program's first descriptor of the file. */
static int own(struct drm_replay_file *f, int fd)
{
    if (f->own)
        close(f->own - 1);
    f->own = fcntl(fd, F_DUPFD_CLOEXEC, 3) + 1;
    f->descriptor_count = 1;
    return f->own ? 0 : tsm_fail(TSM_E_IO, "no descriptor for a GPU file: %s", strerror(errno));
}

int drm_file_open(struct drm_replay *r, const struct sbt_record *record)
{
    struct drm_replay_file *f = drm_file_numbered(r, (uint32_t)slot(record, FILE_ID));
    int fd, error;

    close_idle(r);
    if (!f)
        return 0;
    if (!f->path[0]) { /* an ioctl has made it: its descriptor is known */
        fd = drm_fd(r, (int)slot(record, FILE_FD));
        return fd >= 0 && f->node == DRM_NODE_DMABUF ? own(f, fd) : 0;
    }
    fd = open(f->path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return tsm_fail(TSM_E_IO, "%s: %s", f->path, strerror(errno));
    error = drm_fd_created(r, (int)slot(record, FILE_FD), fd);
    return error ? error : own(f, fd);
}

int drm_file_close(struct drm_replay *r, const struct sbt_record *record)
{
    bool was_open = drm_fd_close(r, (int)slot(record, FILE_FD));
    struct drm_replay_file *f = drm_file_numbered(r, (uint32_t)slot(record, FILE_ID));

    if (was_open && f && f->descriptor_count && !--f->descriptor_count)
        r->idle_count += is_idle(f);
    return 0;
}

/* to, file, from */
int drm_file_dup(struct drm_replay *r, const struct sbt_record *record)
{
    int from = drm_fd(r, (int)slot(record, 2)), fd = from < 0 ? -1 : dup(from);
    struct drm_replay_file *f = drm_file_numbered(r, (uint32_t)slot(record, FILE_ID));

    if (fd < 0)
        return tsm_fail(TSM_E_NOT_FOUND, "descriptor %d is not known", (int)slot(record, 2));
    if (f)
        f->descriptor_count++;
    return drm_fd_created(r, (int)slot(record, FILE_FD), fd);
}
