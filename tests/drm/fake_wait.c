/* SPDX-License-Identifier: Apache-2.0
 *
 * Ioctls that wait for the device, or ask whether it is done, of all drivers.
 */
#include "tests/drm/fake_drm.h"

#include <errno.h>
#include <string.h>

#include <amdgpu_drm.h>
#include <drm.h>
#include <i915_drm.h>
#include <linux/sync_file.h>
#include <nouveau_drm.h>
#include <virtgpu_drm.h>
#ifdef FAKE_XE
#include <xe_drm.h>
#endif

/* Each: done; if not, what the kernel says. */

static int amdgpu_wait(uint32_t request, void *argument)
{
    union drm_amdgpu_wait_cs *cs = argument;
    union drm_amdgpu_gem_wait_idle *idle = argument;
    union drm_amdgpu_wait_fences *fences = argument;
    bool is_done;

    switch (request) {
    case DRM_IOCTL_AMDGPU_WAIT_CS:
        if (cs->in.timeout)
            fake_finish_until(cs->in.handle);
        is_done = fake_is_finished(cs->in.handle) || fake_is_done(false);
        memset(&cs->out, 0, sizeof(cs->out));
        cs->out.status = !is_done;
        return 0;
    case DRM_IOCTL_AMDGPU_GEM_WAIT_IDLE:
        is_done = fake_is_done(idle->in.timeout);
        memset(idle, 0, sizeof(*idle));
        idle->out.status = !is_done;
        return 0;
    case DRM_IOCTL_AMDGPU_WAIT_FENCES:
        is_done = fake_is_done(fences->in.timeout_ns);
        memset(&fences->out, 0, sizeof(fences->out));
        fences->out.status = is_done;
        return 0;
    default:
        return -ENOTTY;
    }
}

static int i915_wait(uint32_t request, void *argument)
{
    switch (request) {
    case DRM_IOCTL_I915_GEM_WAIT:
        return fake_is_done(((struct drm_i915_gem_wait *)argument)->timeout_ns) ? 0 : -ETIME;
    case DRM_IOCTL_I915_GEM_BUSY:
        ((struct drm_i915_gem_busy *)argument)->busy = !fake_is_done(false);
        return 0;
    case DRM_IOCTL_I915_GEM_SET_DOMAIN:
        fake_finish();
        return 0;
    default:
        return -ENOTTY;
    }
}

static int nouveau_wait(uint32_t request, void *argument)
{
    const struct drm_nouveau_gem_cpu_prep *prep = argument;

    if ((request & 0xff) != DRM_COMMAND_BASE + DRM_NOUVEAU_GEM_CPU_PREP)
        return -ENOTTY;
    return fake_is_done(!(prep->flags & NOUVEAU_GEM_CPU_PREP_NOWAIT)) ? 0 : -EBUSY;
}

static int virtgpu_wait(uint32_t request, void *argument)
{
    const struct drm_virtgpu_3d_wait *wait = argument;

    if (request != DRM_IOCTL_VIRTGPU_WAIT)
        return -ENOTTY;
    if (!fake_is_done(!(wait->flags & VIRTGPU_WAIT_NOWAIT)))
        return -EBUSY;
    return -ENOTTY; /* the driver may be busy otherwise */
}

static int xe_wait(uint32_t request, void *argument)
{
#ifdef FAKE_XE
    if (request == DRM_IOCTL_XE_WAIT_USER_FENCE &&
        !fake_is_done(((struct drm_xe_wait_user_fence *)argument)->timeout))
        return -ETIME;
#endif
    return -ENOTTY; /* done: does the number agree? */
}

/* The point that a syncobj's timeline has reached is the number of submits that are done. */
static int query(struct fake_file *file, struct drm_syncobj_timeline_array *q)
{
    uint64_t *points = (void *)(uintptr_t)q->points;

    if (fake_is_done(false))
        file->done_count = file->submit_count;
    for (uint32_t i = 0; i < q->count_handles; i++)
        points[i] = file->done_count;
    return 0;
}

static int core_wait(struct fake_file *file, uint32_t request, void *argument)
{
    switch (request) {
    case DRM_IOCTL_SYNCOBJ_WAIT:
        return fake_is_done(((struct drm_syncobj_wait *)argument)->timeout_nsec) ? 0 : -ETIME;
    case DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT:
        return fake_is_done(((struct drm_syncobj_timeline_wait *)argument)->timeout_nsec) ? 0
                                                                                          : -ETIME;
    case DRM_IOCTL_SYNCOBJ_QUERY:
        return query(file, argument);
    default:
        return -ENOTTY;
    }
}

int fake_wait(struct fake_file *file, const char *driver, uint32_t request, void *argument)
{
    int result = core_wait(file, request, argument);

    if (result != -ENOTTY)
        return result;
    if (!strcmp(driver, "amdgpu"))
        return amdgpu_wait(request, argument);
    if (!strcmp(driver, "i915"))
        return i915_wait(request, argument);
    if (!strcmp(driver, "nouveau"))
        return nouveau_wait(request, argument);
    if (!strcmp(driver, "virtio_gpu"))
        return virtgpu_wait(request, argument);
    return !strcmp(driver, "xe") ? xe_wait(request, argument) : -ENOTTY;
}

int fake_fence_info(struct sync_file_info *info)
{
    info->status = fake_is_done(false);
    info->num_fences = 1;
    return 0;
}
