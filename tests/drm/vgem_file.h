/* SPDX-License-Identifier: Apache-2.0
 *
 * vgem's ioctls; libdrm's headers lack them.
 */
#ifndef TESTS_DRM_VGEM_FILE_H
#define TESTS_DRM_VGEM_FILE_H

#include <stdint.h>

#include <drm.h>

#if __has_include(<vgem_drm.h>)
#include <vgem_drm.h>
#else

#define VGEM_FENCE_WRITE 1

struct drm_vgem_fence_attach {
    uint32_t handle, flags, out_fence, pad;
};

struct drm_vgem_fence_signal {
    uint32_t fence, flags;
};

#define DRM_IOCTL_VGEM_FENCE_ATTACH                                                                \
    DRM_IOWR(DRM_COMMAND_BASE + 1, struct drm_vgem_fence_attach)
#define DRM_IOCTL_VGEM_FENCE_SIGNAL                                                                \
    DRM_IOW(DRM_COMMAND_BASE + 2, struct drm_vgem_fence_signal)

#endif

#endif
