/* SPDX-License-Identifier: Apache-2.0
 *
 * virtio-gpu with a host that knows one command of virgl: RESOURCE_INLINE_WRITE, which writes bytes
 * into a buffer. TRANSFER_* move nothing: host and guest memory are one.
 */
#include "tests/drm/fake_drm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <virtgpu_drm.h>

#define INLINE_WRITE 9u /* of virgl's commands */
#define WRITE_HEADER 11u
#define COMMAND(dw)  ((dw)&0xff)
#define LENGTH(dw)   ((dw) >> 16)

static const struct fake_object *resource(struct fake_file *file, uint32_t res_handle)
{
    for (uint32_t i = 1; i < FAKE_OBJECT_MAX; i++)
        if (file->objects[i].used && file->objects[i].res_handle == res_handle)
            return &file->objects[i];
    return NULL;
}

/* handle, level, usage, stride, layer stride, x, y, z, w, h, d, bytes */
static void inline_write(struct fake_file *file, const uint32_t *p, uint32_t length)
{
    void *at =
        length > WRITE_HEADER ? fake_in_object(file, resource(file, p[0]), p[5], p[8]) : NULL;

    if (at && p[8] <= 4 * (length - WRITE_HEADER))
        fake_store_copy(at, p + WRITE_HEADER, p[8]);
}

static int execute(struct fake_file *file, struct drm_virtgpu_execbuffer *e)
{
    const uint32_t *p = (const void *)(uintptr_t)e->command;
    const uint32_t *end = p + e->size / 4;
    const uint32_t *handles = (const void *)(uintptr_t)e->bo_handles;

    for (uint32_t i = 0; i < e->num_bo_handles; i++)
        if (!fake_object_of(file, handles[i]))
            return -ENOENT;
    for (; p < end; p += 1 + LENGTH(*p)) {
        if (LENGTH(*p) > (size_t)(end - p - 1))
            return -EINVAL;
        if (COMMAND(*p) == INLINE_WRITE)
            inline_write(file, p + 1, LENGTH(*p));
    }
    file->submit_count++;
    if (e->flags & VIRTGPU_EXECBUF_FENCE_FD_OUT)
        e->fence_fd = fake_fence_fd();
    return 0;
}

static int create(struct fake_file *file, struct drm_virtgpu_resource_create *c)
{
    uint64_t size = c->size ? c->size : (uint64_t)c->width * (c->height ? c->height : 1) * 4;

    c->bo_handle = fake_object_make(file, size);
    if (!c->bo_handle)
        return -ENOMEM;
    c->res_handle = fake_object_of(file, c->bo_handle)->res_handle = c->bo_handle + 100;
    return 0;
}

static int map(struct fake_file *file, struct drm_virtgpu_map *m)
{
    const struct fake_object *object = fake_object_of(file, m->handle);

    if (!object)
        return -ENOENT;
    m->offset = object->offset;
    return 0;
}

/* FAKE_DRM_BUSY=N: not done when somebody without patience asks, N times. */
static bool is_busy(const struct drm_virtgpu_3d_wait *wait)
{
    static unsigned asked;
    const char *busy = getenv("FAKE_DRM_BUSY");

    return busy && wait->flags & VIRTGPU_WAIT_NOWAIT &&
           __atomic_fetch_add(&asked, 1, __ATOMIC_RELAXED) < (unsigned)atoi(busy);
}

static int virtgpu_ioctl(struct fake_file *file, int fd, uint32_t request, void *argument)
{
    switch (request) {
    case DRM_IOCTL_VIRTGPU_EXECBUFFER:
        return execute(file, argument);
    case DRM_IOCTL_VIRTGPU_RESOURCE_CREATE:
        return create(file, argument);
    case DRM_IOCTL_VIRTGPU_MAP:
        return map(file, argument);
    case DRM_IOCTL_VIRTGPU_GETPARAM:
        *(int *)(uintptr_t)((struct drm_virtgpu_getparam *)argument)->value = 1;
        return 0;
    case DRM_IOCTL_VIRTGPU_TRANSFER_TO_HOST:
    case DRM_IOCTL_VIRTGPU_TRANSFER_FROM_HOST:
        return 0;
    case DRM_IOCTL_VIRTGPU_WAIT:
        return is_busy(argument) ? -EBUSY : 0;
    default:
        return -EINVAL;
    }
}

const struct fake_driver fake_virtgpu = {"virtio_gpu", 0, 1, 0, virtgpu_ioctl};
