/* SPDX-License-Identifier: Apache-2.0
 *
 * The sources of this build. Declared here: interpose/ knows no API but by name.
 */
#include "api/api.h"
#include "capture/capture.h"
#include "interpose/real_library.h"

extern const struct tsm_source cuda_source; /* api/cuda/source/source.c */
#ifdef TSM_VULKAN
extern const struct tsm_source vulkan_source; /* api/vulkan/source/source.c */
#endif
#ifdef TSM_DRM
extern const struct tsm_source drm_source; /* api/drm/source/source.c */
#endif
#ifdef TSM_HSA
extern const struct tsm_source hsa_source; /* api/hsa/source/source.c */
#endif
extern const struct tsm_source hip_source;    /* api/hip/source/source.c */
extern const struct tsm_source hiprtc_source; /* the same file */
extern const struct tsm_source roctx_source;  /* api/hip/source/roctx.c */
extern const struct tsm_source nvtx_source;   /* api/nvtx/source/environment.c */

const struct tsm_source *const tsm_sources[] = {
    &cuda_source,
#ifdef TSM_VULKAN
    &vulkan_source,
#endif
#ifdef TSM_DRM
    &drm_source,
#endif
#ifdef TSM_HSA
    &hsa_source,
#endif
    &hip_source,    &hiprtc_source, &roctx_source, &nvtx_source, NULL,
};

_Static_assert(sizeof(tsm_sources) / sizeof(*tsm_sources) <= TSM_SOURCE_MAX + 1,
               "TSM_SOURCE_MAX: loops would not reach the last source");

unsigned tsm_source_index(const struct tsm_source *source)
{
    unsigned index = 0;

    while (tsm_sources[index] != source)
        index++;
    return index;
}
