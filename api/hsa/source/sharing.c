/* SPDX-License-Identifier: Apache-2.0
 *
 * Who else may change a signal: other processes, and the program through a pointer.
 */
#include "api/hsa/source/source.h"

#include "api/hsa/hsa_hooks.h"
#include "api/hsa/hsa_wrappers.h"
#include "api/hsa/source/encode.h"

/* Count of shared signals. A signal handle's `owner` is its enum hsa_sharing. */
static uint32_t shared_count; /* ever */

void hsa_signal_share(struct tsm_handle *handle, enum hsa_sharing how)
{
    if (handle && handle->owner < (uint32_t)how)
        handle->owner = how;
    __atomic_fetch_add(&shared_count, 1, __ATOMIC_RELAXED);
}

void hsa_after_signal_given(struct tsm_call *call, bool ok, hsa_signal_t signal)
{
    if (ok)
        hsa_signal_share(hsa_find(HSA_OBJECT_SIGNAL, signal.handle), HSA_SIGNAL_GIVEN);
}

void hsa_after_signal_attached(struct tsm_call *call, bool ok, hsa_signal_t *signal)
{
    if (ok)
        hsa_signal_share(hsa_find(HSA_OBJECT_SIGNAL, signal->handle), HSA_SIGNAL_ATTACHED);
    tsm_call_slot(call, ok ? (uint64_t)hsa_runtime.hsa_signal_load_scacquire(*signal) : 0);
}

enum hsa_sharing hsa_signal_sharing(hsa_signal_t signal)
{
    const struct tsm_handle *handle =
        __atomic_load_n(&shared_count, __ATOMIC_RELAXED) && signal.handle
            ? hsa_find(HSA_OBJECT_SIGNAL, signal.handle)
            : NULL;

    return handle ? (enum hsa_sharing)handle->owner : HSA_SIGNAL_OWN;
}

bool hsa_signal_is_foreign(hsa_signal_t signal)
{
    const struct tsm_handle *handle;

    if (!__atomic_load_n(&shared_count, __ATOMIC_RELAXED) || !signal.handle)
        return false;
    handle = hsa_find(HSA_OBJECT_SIGNAL, signal.handle);
    /* Commands of this process that count it down are replayed, and do so again. */
    return handle && handle->owner && !handle->stream;
}
