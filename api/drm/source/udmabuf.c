/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of the program that became a dma-buf (udmabuf): pages of its memfds, which it writes by
 * mappings of those, by write(), or through the dma-buf. All of them show in a mapping of the
 * dma-buf of ours, which is looked at like the program's own. It lasts as long as the dma-buf:
 * until its last descriptor is closed, and the object that a driver made of it, too.
 */
#include "api/drm/source/source.h"

#include "capture/lock.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define VIEW_MAX 512u

static struct view {
    void *address;
    size_t size;
    uint32_t dmabuf;           /* id of its file */
    uint32_t importer, object; /* the file that made an object of it; 0: none */
    bool is_closed;            /* no descriptor is left */
} views[VIEW_MAX];
static _Atomic uint32_t view_count;
static struct tsm_lock lock;

bool drm_has_views(void)
{
    return atomic_load_explicit(&view_count, memory_order_relaxed) > 0;
}

void drm_views_forked(void)
{
    lock = (struct tsm_lock){0, 0};
    atomic_store(&view_count, 0); /* they are not in the child */
}

static bool keep(struct view v)
{
    bool kept;

    drm_enter(&lock);
    kept = view_count < VIEW_MAX;
    if (kept)
        views[view_count++] = v;
    drm_leave(&lock);
    return kept;
}

static void unmap(const struct view *v)
{
    drm_libc_syscall(SYS_munmap, (long)v->address, (long)v->size, 0, 0, 0, 0);
}

void drm_view(int fd)
{
    struct drm_file file = drm_file_known(fd);
    off_t size = lseek(fd, 0, SEEK_END);
    struct view v = {.size = (size_t)size, .dmabuf = file.id};

    if (tsm_session_settings()->drm == TSM_DRM_CALLS || file.node != DRM_NODE_DMABUF)
        return;
    if (size > 0)
        v.address = (void *)drm_libc_syscall(SYS_mmap, 0, (long)v.size, PROT_READ | PROT_WRITE,
                                             MAP_SHARED, fd, 0);
    if (size <= 0 || v.address == MAP_FAILED || !keep(v)) {
        tsm_session_unmodelled("memory of a udmabuf that cannot be looked at", true);
        if (size > 0 && v.address != MAP_FAILED)
            unmap(&v);
        return;
    }
    madvise(v.address, v.size, MADV_DONTFORK);
    drm_mapped(fd, file, v.address, v.size, PROT_READ | PROT_WRITE, 0, 0);
}

void drm_view_imported(uint32_t dmabuf, uint32_t file, uint32_t object)
{
    drm_enter(&lock);
    for (uint32_t i = 0; i < view_count; i++)
        if (views[i].dmabuf == dmabuf) {
            views[i].importer = file;
            views[i].object = object;
        }
    drm_leave(&lock);
}

/* Nobody has it any more? Then it is taken out of the list. */
static bool take_unused(struct view *out)
{
    bool found = false;

    drm_enter(&lock);
    for (uint32_t i = 0; i < view_count && !found; i++) {
        found = views[i].is_closed && !views[i].importer;
        if (found) {
            *out = views[i];
            views[i] = views[--view_count];
        }
    }
    drm_leave(&lock);
    return found;
}

static void drop_unused(void)
{
    int saved_errno = errno;
    struct drm_taken taken;
    struct view v;

    while (take_unused(&v)) {
        drm_unmapping(&taken, v.address, v.size);
        unmap(&v);
    }
    errno = saved_errno;
}

void drm_view_file_closed(uint32_t file)
{
    drm_enter(&lock);
    for (uint32_t i = 0; i < view_count; i++) {
        views[i].is_closed |= views[i].dmabuf == file;
        if (views[i].importer == file)
            views[i].importer = 0;
    }
    drm_leave(&lock);
    drop_unused();
}

void drm_view_object_closing(uint32_t file, uint32_t object)
{
    drm_enter(&lock);
    for (uint32_t i = 0; i < view_count; i++)
        if (views[i].importer == file && views[i].object == object)
            views[i].importer = 0;
    drm_leave(&lock);
    drop_unused();
}
