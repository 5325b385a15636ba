/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of other processes. What they write is not in this trace: it is recorded as it is when it
 * is attached, and where the host cannot watch it the trace says that it may have changed since.
 */
#include "api/hsa/source/source.h"

#include "api/hsa/hsa_hooks.h"
#include "api/hsa/hsa_wrappers.h"
#include "api/hsa/source/encode.h"

#include <sys/mman.h>

#define CONTENT_MAX ((size_t)1 << 30)

/* ---- memory ------------------------------------------------------------------------------------
 */

void hsa_after_shared(struct tsm_call *call, bool ok)
{
    if (ok)
        tsm_session_unmodelled("writes of other processes into memory that this one shared", false);
}

static hsa_status_t first_pool(hsa_amd_memory_pool_t pool, void *data)
{
    hsa_amd_memory_pool_t *out = data;
    bool allocatable = false;

    hsa_runtime.hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED,
                                             &allocatable);
    if (!allocatable)
        return HSA_STATUS_SUCCESS;
    *out = pool;
    return HSA_STATUS_INFO_BREAK;
}

hsa_amd_memory_pool_t hsa_memory_pool(const void *memory)
{
    hsa_amd_pointer_info_t info = {.size = sizeof(info)};
    hsa_amd_memory_pool_t pool = {0};

    hsa_runtime.hsa_amd_pointer_info(memory, &info, NULL, NULL, NULL);
    if (info.agentOwner.handle)
        hsa_runtime.hsa_amd_agent_iterate_memory_pools(info.agentOwner, first_pool, &pool);
    return pool;
}

/* Appends memory of another process. Returns false if it cannot be read. */
static bool append_content(struct tsm_call *call, const void *memory, size_t size)
{
    void *bytes = MAP_FAILED;
    bool ok;

    if (size && size <= CONTENT_MAX)
        bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ok = bytes != MAP_FAILED &&
         hsa_runtime.hsa_memory_copy(bytes, memory, size) == HSA_STATUS_SUCCESS;
    tsm_call_blob(call, ok ? bytes : NULL, ok ? size : 0);
    if (bytes != MAP_FAILED)
        munmap(bytes, size);
    return ok;
}

void hsa_memory_found(const void *memory, size_t size)
{
    struct tsm_stream *stream;
    struct tsm_call call;

    tsm_session_unmodelled("writes of another process into its memory, which this one mapped",
                           true);
    if (!tsm_call_begin(&call, TYPE_hsa_memory_content))
        return;
    stream = hsa_waiting_copy_stream();
    tsm_call_on_stream(&call, stream, TSM_BLOCKS);
    tsm_call_returned(&call, HSA_STATUS_SUCCESS, false);
    tsm_call_slot(&call, HSA_SLOT(memory));
    tsm_call_slot(&call, 0);
    tsm_call_slot(&call, size);
    if (!append_content(&call, memory, size))
        tsm_call_flag(&call, SBT_RECORD_TRUNCATED | SBT_RECORD_TAINTS);
    tsm_call_commit(&call);
    hsa_landed(stream, call.position);
}

void hsa_after_attached(struct tsm_call *call, bool ok, size_t len, void **mapped_ptr)
{
    hsa_amd_memory_pool_t pool = {0};

    if (ok)
        pool = hsa_memory_pool(*mapped_ptr);
    tsm_call_slot(call, hsa_id(HSA_OBJECT_POOL, pool.handle));
    if (!ok) {
        tsm_call_blob(call, NULL, 0);
        return;
    }
    hsa_memory_created(HSA_OBJECT_POOL, pool.handle, *mapped_ptr, len);
    if (hsa_memory_kind_of(HSA_SLOT(*mapped_ptr)) == HSA_MEMORY_DEVICE) {
        append_content(call, *mapped_ptr, len);
        tsm_session_unmodelled("writes of another process into its memory, which this one attached",
                               true);
    } else {
        tsm_call_blob(call, NULL, 0); /* it is watched */
        hsa_memory_reveal(mapped_ptr, sizeof(*mapped_ptr));
    }
}
