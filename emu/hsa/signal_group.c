/* SPDX-License-Identifier: Apache-2.0
 *
 * Groups of signals, any of which ends a wait.
 */
#include "emu/hsa/runtime.h"

#include <stdlib.h>
#include <string.h>

/* Its address is the handle. */
struct group {
    uint32_t count;
    hsa_signal_t signals[];
};

EMU_HSA_EXPORT hsa_status_t hsa_signal_group_create(uint32_t num_signals,
                                                    const hsa_signal_t *signals,
                                                    uint32_t num_consumers,
                                                    const hsa_agent_t *consumers,
                                                    hsa_signal_group_t *signal_group)
{
    struct group *group;

    if (!emu_hsa_is_up())
        return HSA_STATUS_ERROR_NOT_INITIALIZED;
    if (!num_signals || !signals || !num_consumers || !consumers || !signal_group)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    group = malloc(sizeof(*group) + num_signals * sizeof(group->signals[0]));
    if (!group)
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    group->count = num_signals;
    memcpy(group->signals, signals, num_signals * sizeof(group->signals[0]));
    signal_group->handle = (uint64_t)(uintptr_t)group;
    return HSA_STATUS_SUCCESS;
}

EMU_HSA_EXPORT hsa_status_t hsa_signal_group_destroy(hsa_signal_group_t signal_group)
{
    if (!signal_group.handle)
        return HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP;
    free((void *)(uintptr_t)signal_group.handle);
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t wait_any(hsa_signal_group_t signal_group,
                             const hsa_signal_condition_t *conditions,
                             const hsa_signal_value_t *compare_values, hsa_signal_t *signal,
                             hsa_signal_value_t *value)
{
    struct group *group = (void *)(uintptr_t)signal_group.handle;
    uint32_t which;

    if (!group)
        return HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP;
    if (!conditions || !compare_values || !signal || !value)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    which = hsa_amd_signal_wait_any(
        group->count, group->signals, (hsa_signal_condition_t *)(uintptr_t)conditions,
        (hsa_signal_value_t *)(uintptr_t)compare_values, UINT64_MAX, HSA_WAIT_STATE_BLOCKED, value);
    *signal = group->signals[which];
    return HSA_STATUS_SUCCESS;
}

EMU_HSA_EXPORT hsa_status_t hsa_signal_group_wait_any_scacquire(
    hsa_signal_group_t signal_group, const hsa_signal_condition_t *conditions,
    const hsa_signal_value_t *compare_values, hsa_wait_state_t wait_state_hint,
    hsa_signal_t *signal, hsa_signal_value_t *value)
{
    return wait_any(signal_group, conditions, compare_values, signal, value);
}

EMU_HSA_EXPORT hsa_status_t hsa_signal_group_wait_any_relaxed(
    hsa_signal_group_t signal_group, const hsa_signal_condition_t *conditions,
    const hsa_signal_value_t *compare_values, hsa_wait_state_t wait_state_hint,
    hsa_signal_t *signal, hsa_signal_value_t *value)
{
    return wait_any(signal_group, conditions, compare_values, signal, value);
}
