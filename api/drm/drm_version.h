/* SPDX-License-Identifier: Apache-2.0
 *
 * The one ioctl that we make ourselves: which driver is it? Its layout never changes, so this needs no
 * header of the kernel's.
 */
#ifndef API_DRM_DRM_VERSION_H
#define API_DRM_DRM_VERSION_H

#include <stddef.h>

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

#endif
