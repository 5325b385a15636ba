/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a call is recorded, by TS_DRM: begins the records of DRM.
 */
#include "api/drm/source/source.h"

#include <stdatomic.h>

static _Atomic uint64_t unrecorded;

uint64_t drm_unrecorded_count(void)
{
    return atomic_load(&unrecorded);
}

/* TS_DRM + 1; 0: nobody has looked. It does not change while the program runs. */
static _Atomic uint32_t known_mode;

bool drm_begin(struct tsm_call *call, uint32_t record)
{
    uint32_t mode = atomic_load_explicit(&known_mode, memory_order_relaxed);

    if (!tsm_call_begin(call, SBT_TYPE(SBT_API_DRM, record)))
        return false;
    if (!mode) {
        mode = 1 + (uint32_t)tsm_session_settings()->drm;
        atomic_store_explicit(&known_mode, mode, memory_order_relaxed);
    }
    if (mode > TSM_DRM_ALL ||
        (mode == 1 + TSM_DRM_AUTO && !tsm_call_other_api_in_use(call, SBT_API_DRM)))
        return true;
    tsm_call_drop(call);
    atomic_fetch_add_explicit(&unrecorded, 1, memory_order_relaxed);
    return false;
}
