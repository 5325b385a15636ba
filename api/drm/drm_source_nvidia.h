/* SPDX-License-Identifier: Apache-2.0
 *
 * What arguments of NVIDIA's ioctls lead to. Inside the traced program.
 */
#ifndef API_DRM_DRM_SOURCE_NVIDIA_H
#define API_DRM_DRM_SOURCE_NVIDIA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory of the program, `size` bytes, unbounded: nobody has looked at it. */
struct drm_parameters {
    uint64_t address;
    uint64_t size;
};

/* Of an ioctl on one of NVIDIA's files with the `size` bytes of argument `in`. False: none, or it is
 * not known where they are. */
bool drm_nvidia_parameters(struct drm_parameters *out, uint32_t request, const void *in,
                           size_t size);

#endif
