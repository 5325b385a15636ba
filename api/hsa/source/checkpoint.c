/* SPDX-License-Identifier: Apache-2.0
 *
 * Saves the checkpoint of an HSA program: the values of its signals, and memory that the host's
 * tracking does not save. Its threads are held back while quiet() and save() run, so objects
 * neither come nor go.
 */
#include "api/hsa/source/source.h"

#include "api/hsa/hsa_wrappers.h"
#include "api/hsa/source/encode.h"
#include "base/thread.h"

#include <string.h>

bool hsa_checkpoint_quiet(uint64_t until_ns)
{
    if (!hsa_queues_quiet(until_ns))
        return false;
    while (hsa_count_any_copy())
        if (!tsm_nap_until(until_ns))
            return false;
    return true;
}

static bool save_signal(void *user, const struct tsm_handle *handle)
{
    hsa_signal_value_t value =
        hsa_runtime.hsa_signal_load_scacquire((hsa_signal_t){.handle = handle->raw});

    return tsm_checkpoint_state(SBT_STATE_SIGNAL, handle->id, (uint64_t)value);
}

static bool read_device(const struct tsm_memory *m, uint64_t offset, void *out, size_t size)
{
    return hsa_runtime.hsa_memory_copy(out, (const void *)(uintptr_t)(m->address + offset), size) ==
           HSA_STATUS_SUCCESS;
}

static bool read_arguments(const struct tsm_memory *m, uint64_t offset, void *out, size_t size)
{
    memcpy(out, (const void *)(uintptr_t)(m->address + offset), size);
    return true;
}

/* The host's, but for arguments, is tracked and so saved already. */
static bool save_memory(uint64_t start, uint64_t size, enum hsa_memory_kind kind)
{
    const struct tsm_memory m = {.kind = kind == HSA_MEMORY_DEVICE ? SBT_MEMORY_DEVICE
                                                                   : SBT_MEMORY_HOST,
                                 .address = start,
                                 .size = size,
                                 .read = kind == HSA_MEMORY_DEVICE ? read_device : read_arguments};

    return kind == HSA_MEMORY_HOST || tsm_checkpoint_memory(&m);
}

bool hsa_checkpoint_save(void)
{
    if (!hsa_virtual_is_mapped())
        return false; /* what it holds cannot be read */
    return tsm_handle_each(SBT_API_HSA, HSA_OBJECT_SIGNAL, save_signal, NULL) &&
           hsa_memory_each(save_memory);
}
