/* SPDX-License-Identifier: Apache-2.0
 *
 * External memory. What another API of the program has given away is named, and the replay shares
 * it in the same way. What comes from elsewhere is recorded as it is when it is mapped, as memory
 * of other processes is.
 */
#include "api/cuda/source/source.h"

#include "api/cuda/cuda_hooks.h"
#include "api/cuda/cuda_wrappers.h"
#include "api/cuda/source/encode.h"
#include "capture/lock.h"

/* Notes with the handle what it stands for: the owner is the API, the user the id there. */
static void note_origin(CUexternalMemory memory, const struct tsm_handed *from)
{
    struct tsm_handle *handle =
        tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_EXTMEM, CUDA_SLOT(memory));

    if (!handle)
        return;
    handle->owner = from->api;
    handle->user = (void *)(uintptr_t)from->id; /* NOLINT */
}

static struct tsm_handed origin_of(CUexternalMemory memory)
{
    const struct tsm_handle *handle =
        tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_EXTMEM, CUDA_SLOT(memory));

    if (!handle)
        return (struct tsm_handed){0};
    return (struct tsm_handed){handle->owner, (uintptr_t)handle->user};
}

/* Only numbers of descriptors mean files of this process. */
static struct tsm_handed find_origin(const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *desc)
{
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC copy;

    if (!tsm_memory_read(&copy, CUDA_SLOT(desc), sizeof(copy)) ||
        copy.type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD)
        return (struct tsm_handed){0};
    return tsm_handed_to(SBT_API_CUDA, copy.handle.fd, TSM_SHARED_MEMORY);
}

CUresult hook_cuImportExternalMemory(CUexternalMemory *extMem_out,
                                     const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *memHandleDesc)
{
    struct tsm_handed from;
    struct tsm_call call;
    CUresult returned;

    if (!tsm_call_begin(&call, TYPE_cuImportExternalMemory))
        return real.cuImportExternalMemory(extMem_out, memHandleDesc);
    from = find_origin(memHandleDesc);
    returned = real.cuImportExternalMemory(extMem_out, memHandleDesc);
    tsm_call_returned(&call, returned, returned != CUDA_SUCCESS);
    if (returned == CUDA_SUCCESS) {
        const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *desc = memHandleDesc;

        tsm_call_slot(&call, cuda_id_new(CUDA_OBJECT_EXTMEM, CUDA_SLOT(*extMem_out), NULL));
        note_origin(*extMem_out, &from);
        tsm_call_slot(&call, desc->type);
        tsm_call_slot(&call, (uint64_t)(int64_t)desc->handle.fd);
        tsm_call_slot(&call, desc->size);
        tsm_call_slot(&call, desc->flags);
        tsm_call_slot(&call, from.api);
        tsm_call_slot(&call, from.id);
    }
    tsm_call_commit(&call);
    return returned;
}

void cuda_after_mapped_external(struct tsm_call *call, bool ok, const CUdeviceptr *address,
                                CUexternalMemory memory,
                                const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *desc)
{
    const struct tsm_handed from = ok ? origin_of(memory) : (struct tsm_handed){0};

    tsm_call_slot(call, ok ? desc->offset : 0);
    tsm_call_slot(call, ok ? desc->size : 0);
    tsm_call_slot(call, from.api);
    tsm_call_slot(call, from.id);
    if (!ok || from.id)
        tsm_call_blob(call, NULL, 0);
    else
        cuda_append_content(call, *address, desc->size);
    if (!ok)
        return;
    cuda_after_alloc(call, ok, *address, desc->size);
    if (!from.id)
        tsm_session_unmodelled("writes of others into external memory, which this program opened",
                               true);
}
