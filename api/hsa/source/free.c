/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that is freed: all who keep something about an allocation forget it.
 */
#include "api/hsa/source/source.h"

#include "api/hsa/hsa_hooks.h"
#include "api/hsa/hsa_wrappers.h"
#include "api/hsa/source/encode.h"

void hsa_memory_destroyed(uint64_t address)
{
    uint64_t vmem;

    if (!hsa_memory_remove(address, &vmem))
        return;
    if (vmem)
        hsa_vmem_unmapped(vmem);
    hsa_exported_forget(address);
}

void hsa_memory_given_up(uint64_t address)
{
    tsm_memory_leaves(address);
    tsm_memory_left(address, true);
    hsa_memory_destroyed(address);
}

static uint32_t notifier_count; /* ever */

void hsa_after_notifier(struct tsm_call *call, bool ok)
{
    if (ok)
        __atomic_fetch_add(&notifier_count, 1, __ATOMIC_RELAXED);
}

/* A function of the program that is called meanwhile makes calls of its own: these are recorded,
 * after this one, when its record is complete. */
WRAPPED hsa_status_t frees(uint32_t type, hsa_status_t (*real)(void *ptr), void *ptr)
{
    hsa_status_t status = HSA_STATUS_SUCCESS;
    bool notifies = __atomic_load_n(&notifier_count, __ATOMIC_RELAXED) > 0;
    struct tsm_call call;

    hsa_look_around();
    if (!tsm_call_begin(&call, type))
        return real(ptr);
    hsa_memory_given_up(HSA_SLOT(ptr));
    if (!notifies)
        status = real(ptr);
    tsm_call_returned(&call, status, status != HSA_STATUS_SUCCESS);
    tsm_call_slot(&call, HSA_SLOT(ptr));
    tsm_call_commit(&call);
    return notifies ? real(ptr) : status;
}

hsa_status_t hook_hsa_memory_free(void *ptr)
{
    return frees(TYPE_hsa_memory_free, hsa_runtime.hsa_memory_free, ptr);
}

hsa_status_t hook_hsa_amd_memory_pool_free(void *ptr)
{
    return frees(TYPE_hsa_amd_memory_pool_free, hsa_runtime.hsa_amd_memory_pool_free, ptr);
}
