/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory and signals that came from other processes: some of our own take their place.
 */
#include "api/hsa/hsa_replay_calls.h"

#include <stdlib.h>

int replay_hsa_amd_ipc_memory_attach(struct hsa_replay *replay, const struct sbt_record *record)
{
    const struct hsa_part *pool =
        hsa_agents_pool(replay, hsa_slot(record, SLOT_hsa_amd_ipc_memory_attach_pool));
    uint64_t address = hsa_slot(record, SLOT_hsa_amd_ipc_memory_attach_mapped_ptr);
    uint64_t size = hsa_slot(record, SLOT_hsa_amd_ipc_memory_attach_len), content_size;
    hsa_status_t status = HSA_STATUS_SUCCESS;
    uint8_t *content;
    int error;

    if (!pool)
        return tsm_fail(TSM_E_FORMAT, "memory of a pool that the trace does not describe");
    error = hsa_blob_read(replay, record, SLOT_hsa_amd_ipc_memory_attach_content, &content,
                          &content_size);
    if (!error)
        error = hsa_memory_place(replay, pool, address, size, record->seq);
    if (!error && content_size && content_size <= size)
        status = replay->calls.hsa_memory_copy(
            (void *)(uintptr_t)hsa_memory_translate(&replay->memory, address), content,
            content_size);
    free(content);
    if (error)
        return error;
    return status == HSA_STATUS_SUCCESS ? 0 : hsa_fail(replay, "filling attached memory", status);
}

int replay_hsa_amd_ipc_memory_detach(struct hsa_replay *replay, const struct sbt_record *record)
{
    return hsa_memory_release(replay, hsa_slot(record, SLOT_hsa_amd_ipc_memory_detach_mapped_ptr));
}

int replay_hsa_amd_ipc_signal_attach(struct hsa_replay *replay, const struct sbt_record *record)
{
    return hsa_signal_make(replay, hsa_slot(record, SLOT_hsa_amd_ipc_signal_attach_signal),
                           (int64_t)hsa_slot(record, SLOT_hsa_amd_ipc_signal_attach_value));
}
