/* SPDX-License-Identifier: Apache-2.0
 *
 * External memory and semaphores. What another API of the program has given away is named, and the
 * replay shares it in the same way. What comes from elsewhere is recorded as it is when it is
 * mapped, as memory of other processes is; for semaphores from elsewhere a replay waits no more
 * than for those.
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

/* ---- semaphores --------------------------------------------------------------------------- */

/* Handle types of which the union has another member: NvSciSync objects, names of Windows. */
static bool is_descriptor(CUexternalSemaphoreHandleType type)
{
    return type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD ||
           type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
}

static struct tsm_handed find_semaphore(const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *desc)
{
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC copy;

    if (!tsm_memory_read(&copy, CUDA_SLOT(desc), sizeof(copy)) || !is_descriptor(copy.type))
        return (struct tsm_handed){0};
    return tsm_handed_to(SBT_API_CUDA, copy.handle.fd, TSM_SHARED_SEMAPHORE);
}

CUresult hook_cuImportExternalSemaphore(CUexternalSemaphore *extSem_out,
                                        const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *semHandleDesc)
{
    const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *desc = semHandleDesc;
    struct tsm_handed from;
    struct tsm_call call;
    CUresult returned;

    if (!tsm_call_begin(&call, TYPE_cuImportExternalSemaphore))
        return real.cuImportExternalSemaphore(extSem_out, semHandleDesc);
    from = find_semaphore(semHandleDesc);
    returned = real.cuImportExternalSemaphore(extSem_out, semHandleDesc);
    tsm_call_returned(&call, returned, returned != CUDA_SUCCESS);
    if (returned == CUDA_SUCCESS) {
        tsm_call_slot(&call, cuda_id_new(CUDA_OBJECT_EXTSEM, CUDA_SLOT(*extSem_out), NULL));
        tsm_call_slot(&call, desc->type);
        tsm_call_slot(&call, is_descriptor(desc->type) ? (uint64_t)(int64_t)desc->handle.fd : 0);
        tsm_call_slot(&call, desc->flags);
        tsm_call_slot(&call, from.api);
        tsm_call_slot(&call, from.id);
    }
    tsm_call_commit(&call);
    if (returned == CUDA_SUCCESS && !from.id)
        tsm_session_unmodelled("signals and waits of others at an external semaphore", true);
    return returned;
}

#define SEMAPHORE_MAX 32u /* in a call; programs have few */

struct semaphore {
    uint32_t id, flags;
    uint64_t value, key;
};

static void append_semaphores(struct tsm_call *call, const struct semaphore *list, unsigned count,
                              bool ok)
{
    tsm_call_bytes(call, ok ? list : NULL,
                   ok ? (count < SEMAPHORE_MAX ? count : SEMAPHORE_MAX) * sizeof(*list) : 0);
    /* Launches of a graph do not say what is in it, so that the other API would not hear of it. */
    if (ok && (count > SEMAPHORE_MAX || cuda_is_captured(call)))
        tsm_call_flag(call, SBT_RECORD_TAINTS);
    else if (ok) /* what order they make is not in the streams */
        tsm_call_flag(call, SBT_RECORD_ORDERED);
}

static struct semaphore described(CUexternalSemaphore raw, unsigned flags, uint64_t value,
                                  uint64_t key)
{
    return (struct semaphore){(uint32_t)cuda_id(CUDA_OBJECT_EXTSEM, CUDA_SLOT(raw)), flags, value,
                              key};
}

void cuda_after_semaphores_signalled(struct tsm_call *call, bool ok,
                                     const CUexternalSemaphore *semaphores,
                                     const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *params,
                                     unsigned int count)
{
    struct semaphore list[SEMAPHORE_MAX];

    for (unsigned i = 0; ok && i < count && i < SEMAPHORE_MAX; i++)
        list[i] = described(semaphores[i], params[i].flags, params[i].params.fence.value,
                            params[i].params.keyedMutex.key);
    append_semaphores(call, list, count, ok);
}

void cuda_after_semaphores_awaited(struct tsm_call *call, bool ok,
                                   const CUexternalSemaphore *semaphores,
                                   const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *params,
                                   unsigned int count)
{
    struct semaphore list[SEMAPHORE_MAX];

    for (unsigned i = 0; ok && i < count && i < SEMAPHORE_MAX; i++)
        list[i] = described(semaphores[i], params[i].flags, params[i].params.fence.value,
                            params[i].params.keyedMutex.key);
    append_semaphores(call, list, count, ok);
}
