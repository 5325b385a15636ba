/* SPDX-License-Identifier: Apache-2.0
 *
 * The backends of this build.
 */
#include "replay/backend.h"

extern const struct tsm_backend cuda_backend; /* api/cuda/replay/replay.c */

#ifdef TSM_VULKAN
extern const struct tsm_backend vulkan_backend; /* api/vulkan/replay/replay.c */
#endif
#ifdef TSM_HSA
extern const struct tsm_backend hsa_backend; /* api/hsa/replay/replay.c */
#endif

#ifdef TSM_DRM
extern const struct tsm_backend drm_backend; /* api/drm/replay/replay.c */
#endif

/* A trace without commands of any of its APIs is replayed by the first one: drivers' own ioctls
 * come last. */
const struct tsm_backend *const tsm_backends[] = {
    &cuda_backend,
#ifdef TSM_VULKAN
    &vulkan_backend,
#endif
#ifdef TSM_HSA
    &hsa_backend,
#endif
#ifdef TSM_DRM
    &drm_backend,
#endif
    NULL,
};
