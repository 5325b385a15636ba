/* SPDX-License-Identifier: Apache-2.0
 *
 * vgem: memory and fences, no device.
 */
#include "tests/drm/fake_drm.h"
#include "tests/drm/vgem_file.h"

#include <errno.h>

static int vgem_ioctl(struct fake_file *file, int fd, uint32_t request, void *argument)
{
    struct drm_vgem_fence_attach *attach = argument;

    switch (request) {
    case DRM_IOCTL_VGEM_FENCE_ATTACH:
        if (!fake_object_of(file, attach->handle))
            return -ENOENT;
        attach->out_fence = __atomic_add_fetch(&file->next_fence, 1, __ATOMIC_RELAXED);
        return 0;
    case DRM_IOCTL_VGEM_FENCE_SIGNAL:
        return ((struct drm_vgem_fence_signal *)argument)->fence <= file->next_fence ? 0 : -ENOENT;
    default:
        return -EINVAL;
    }
}

const struct fake_driver fake_vgem = {"vgem", 1, 0, 0, vgem_ioctl};
