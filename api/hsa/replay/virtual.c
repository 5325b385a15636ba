/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory without an address: the same amounts of it here, mapped where they were, as often as they
 * were. Where the runtime has none, a mapping is an allocation, and memory that is mapped twice is
 * refused. What came from other processes is memory of our own.
 */
#include "api/hsa/hsa_replay_calls.h"

#include <stdlib.h>

struct vmem {
    const struct hsa_part *pool;
    uint64_t handle;  /* here; 0: none */
    uint32_t holders; /* as the recorded program counted them */
    bool was_mapped;
};

static struct vmem *find(const struct hsa_replay *replay, uint64_t id)
{
    return (void *)(uintptr_t)hsa_object_find(replay, HSA_OBJECT_VMEM, id);
}

static void give_back(struct hsa_replay *replay, struct vmem *vmem)
{
    if (vmem->handle)
        replay->calls.hsa_amd_vmem_handle_release((hsa_vmem_handle_t){vmem->handle});
    vmem->handle = 0;
}

void hsa_virtual_finish(struct hsa_replay *replay)
{
    for (size_t i = 0; i < replay->objects.capacity; i++) {
        const struct tsm_map_slot *slot = &replay->objects.slots[i];
        struct vmem *vmem = (void *)(uintptr_t)slot->value;
        if (!slot->used || slot->key >> 32 != HSA_OBJECT_VMEM)
            continue;
        give_back(replay, vmem);
        free(vmem);
    }
}

/* ---- handles -----------------------------------------------------------------------------------
 */

/* `known`: its handle here, which is given away; 0: a new one, of `size` bytes. */
static int make(struct hsa_replay *replay, uint64_t id, uint64_t pool_id, uint64_t size,
                uint64_t known)
{
    const struct hsa_part *pool = hsa_agents_pool(replay, pool_id);
    hsa_vmem_handle_t handle = {known};
    hsa_status_t status = HSA_STATUS_SUCCESS;
    struct vmem *vmem;
    int error;

    if (!pool)
        return tsm_fail(TSM_E_FORMAT, "memory of a pool that the trace does not describe");
    if (!known && replay->has_virtual)
        status = replay->calls.hsa_amd_vmem_handle_create(
            (hsa_amd_memory_pool_t){pool->raw}, (size + HSA_PAGE - 1) & ~(uint64_t)(HSA_PAGE - 1),
            0, 0, &handle);
    if (status != HSA_STATUS_SUCCESS)
        return hsa_fail(replay, "hsa_amd_vmem_handle_create", status);
    vmem = calloc(1, sizeof(*vmem));
    if (!vmem)
        return tsm_fail(TSM_E_MEMORY, "no memory for a handle");
    *vmem = (struct vmem){
        .pool = pool, .handle = handle.handle, .holders = 1, .was_mapped = known != 0};
    error = hsa_object_add(replay, HSA_OBJECT_VMEM, id, (uint64_t)(uintptr_t)vmem);
    if (error) {
        give_back(replay, vmem);
        free(vmem);
    }
    return error;
}

int replay_hsa_amd_vmem_handle_create(struct hsa_replay *replay, const struct sbt_record *record)
{
    return make(replay, hsa_slot(record, SLOT_hsa_amd_vmem_handle_create_memory_handle),
                hsa_slot(record, SLOT_hsa_amd_vmem_handle_create_pool),
                hsa_slot(record, SLOT_hsa_amd_vmem_handle_create_size), 0);
}

/* The memory of a region, for another address: a handle to give back. 0: it has none. */
static uint64_t handle_at(const struct hsa_replay *replay, uint64_t address)
{
    const struct tsm_region *region = hsa_memory_find(&replay->memory, address);
    hsa_vmem_handle_t handle = {0};

    if (region && hsa_memory_is_mapped(&replay->memory, region))
        replay->calls.hsa_amd_vmem_retain_alloc_handle(&handle, (void *)(uintptr_t)region->actual);
    return handle.handle;
}

static int no_second(void)
{
    return tsm_fail(TSM_E_UNSUPPORTED, "memory that is mapped twice: the runtime of the replay has "
                                       "no virtual memory at the recorded addresses");
}

int replay_hsa_amd_vmem_import_shareable_handle(struct hsa_replay *replay,
                                                const struct sbt_record *record)
{
    uint64_t id = hsa_slot(record, SLOT_hsa_amd_vmem_import_shareable_handle_handle);
    uint64_t of = hsa_slot(record, SLOT_hsa_amd_vmem_import_shareable_handle_of);
    struct vmem *known = find(replay, id);
    uint64_t handle;

    if (known) {
        known->holders++;
        return 0;
    }
    handle = of ? handle_at(replay, of) : 0;
    if (of && !handle)
        return no_second();
    return make(replay, id, hsa_slot(record, SLOT_hsa_amd_vmem_import_shareable_handle_pool),
                hsa_slot(record, SLOT_hsa_amd_vmem_import_shareable_handle_size), handle);
}

int replay_hsa_amd_vmem_retain_alloc_handle(struct hsa_replay *replay,
                                            const struct sbt_record *record)
{
    struct vmem *vmem =
        find(replay, hsa_slot(record, SLOT_hsa_amd_vmem_retain_alloc_handle_memory_handle));

    if (vmem)
        vmem->holders++;
    return 0;
}

/* Mapped memory stays mapped. */
int replay_hsa_amd_vmem_handle_release(struct hsa_replay *replay, const struct sbt_record *record)
{
    struct vmem *vmem =
        find(replay, hsa_slot(record, SLOT_hsa_amd_vmem_handle_release_memory_handle));

    if (vmem && vmem->holders && --vmem->holders == 0)
        give_back(replay, vmem);
    return 0;
}

/* ---- mappings ----------------------------------------------------------------------------------
 */

int replay_hsa_amd_vmem_map(struct hsa_replay *replay, const struct sbt_record *record)
{
    struct vmem *vmem = find(replay, hsa_slot(record, SLOT_hsa_amd_vmem_map_memory_handle));
    uint64_t address = hsa_slot(record, SLOT_hsa_amd_vmem_map_va);
    uint64_t size = hsa_slot(record, SLOT_hsa_amd_vmem_map_size);
    bool was_mapped = vmem && vmem->was_mapped;

    if (!vmem)
        return tsm_fail(TSM_E_FORMAT, "a mapping of memory that the trace does not make");
    vmem->was_mapped = true;
    if (!vmem->handle)
        return was_mapped ? no_second()
                          : hsa_memory_place(replay, vmem->pool, address, size, record->seq);
    return hsa_memory_map(replay,
                          &(struct hsa_view){vmem->pool, vmem->handle,
                                             hsa_slot(record, SLOT_hsa_amd_vmem_map_in_offset),
                                             address, size, !was_mapped},
                          record->seq);
}

int replay_hsa_amd_vmem_set_access(struct hsa_replay *replay, const struct sbt_record *record)
{
    if (hsa_slot(record, SLOT_hsa_amd_vmem_set_access_host))
        hsa_memory_allow_host(&replay->memory, hsa_slot(record, SLOT_hsa_amd_vmem_set_access_va),
                              hsa_slot(record, SLOT_hsa_amd_vmem_set_access_size));
    return 0;
}

int replay_hsa_amd_vmem_unmap(struct hsa_replay *replay, const struct sbt_record *record)
{
    return hsa_memory_release(replay, hsa_slot(record, SLOT_hsa_amd_vmem_unmap_va));
}

/* ---- files that became memory ------------------------------------------------------------------
 */

int replay_hsa_amd_interop_map_buffer(struct hsa_replay *replay, const struct sbt_record *record)
{
    const struct hsa_part *pool =
        hsa_agents_pool(replay, hsa_slot(record, SLOT_hsa_amd_interop_map_buffer_pool));
    uint64_t address = hsa_slot(record, SLOT_hsa_amd_interop_map_buffer_ptr);
    uint64_t size = hsa_slot(record, SLOT_hsa_amd_interop_map_buffer_size);
    uint64_t of = hsa_slot(record, SLOT_hsa_amd_interop_map_buffer_of);
    uint64_t id = hsa_slot(record, SLOT_hsa_amd_interop_map_buffer_memory);
    const struct vmem *vmem = find(replay, id);
    uint64_t handle;
    int error;

    if (!pool)
        return tsm_fail(TSM_E_FORMAT, "memory of a pool that the trace does not describe");
    if (!of && !id)
        return hsa_memory_place(replay, pool, address, size, record->seq);
    handle = vmem ? vmem->handle : handle_at(replay, of);
    if (!handle)
        return no_second();
    error = hsa_memory_map(replay, &(struct hsa_view){pool, handle, 0, address, size, false},
                           record->seq);
    if (!vmem)
        replay->calls.hsa_amd_vmem_handle_release((hsa_vmem_handle_t){handle});
    return error;
}

int replay_hsa_amd_interop_unmap_buffer(struct hsa_replay *replay, const struct sbt_record *record)
{
    return hsa_memory_release(replay, hsa_slot(record, SLOT_hsa_amd_interop_unmap_buffer_ptr));
}
