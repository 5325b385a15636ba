/* SPDX-License-Identifier: Apache-2.0
 *
 * Ioctls that the source knows by itself: the one that we make, which driver is it?, and the one that makes
 * an object of a dma-buf. Their layouts never change, so this needs no header of the kernel's.
 */
#ifndef API_DRM_VERSION_H
#define API_DRM_VERSION_H

#include <stddef.h>
#include <stdint.h>

/* Sizes: in, of the memory behind the pointer that follows; out, of the whole text, which is not
 * terminated. */
struct drm_driver_version {
    int major, minor, patch;
    size_t name_size;
    char *name;
    size_t date_size;
    char *date;
    size_t text_size;
    char *text;
};

_Static_assert(sizeof(struct drm_driver_version) == 64, "struct drm_version of the kernel");

#define DRM_DRIVER_VERSION 0xc0406400u /* DRM_IOCTL_VERSION */

struct drm_prime {
    uint32_t handle, flags;
    int fd;
};

#define DRM_PRIME_FD_TO_HANDLE 0xc00c642eu /* DRM_IOCTL_PRIME_FD_TO_HANDLE */

#endif
