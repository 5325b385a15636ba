/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory without an address: what is mapped where, several times if need be, and memory as a file,
 * which goes to others or comes from them. A file that this process has made itself is memory that
 * the trace knows already; another one is recorded as it is when it is mapped.
 */
#include "api/hsa/source/source.h"

#include "api/hsa/hsa_hooks.h"
#include "api/hsa/hsa_wrappers.h"
#include "api/hsa/source/encode.h"
#include "api/hsa/source/vmem.h"

#include <unistd.h>

/* ---- handles -----------------------------------------------------------------------------------
 */

void hsa_after_vmem(struct tsm_call *call, bool ok, hsa_amd_memory_pool_t pool,
                    hsa_vmem_handle_t *memory_handle)
{
    struct tsm_handle *made = ok ? hsa_find(HSA_OBJECT_VMEM, memory_handle->handle) : NULL;

    if (made)
        hsa_vmem_note(made, hsa_vmem_facts(hsa_find(HSA_OBJECT_POOL, pool.handle)));
}

void hsa_after_map(struct tsm_call *call, bool ok, void *va, size_t size,
                   hsa_vmem_handle_t memory_handle)
{
    struct tsm_handle *handle = ok ? hsa_find(HSA_OBJECT_VMEM, memory_handle.handle) : NULL;
    uint64_t facts = hsa_vmem_facts(handle);

    if (!ok)
        return;
    if (handle)
        hsa_vmem_note(handle, (facts | HSA_VMEM_WAS_MAPPED) + HSA_VMEM_COUNT_UNIT);
    else
        tsm_call_flag(call, SBT_RECORD_TAINTS);
    hsa_memory_mapped(HSA_SLOT(va), size, memory_handle.handle, facts,
                      (facts & HSA_VMEM_IS_FOREIGN) && !(facts & HSA_VMEM_WAS_MAPPED));
}

/* Tracks the memory in [start, end) that waited and can be reached now. */
static void reach(uint64_t start, uint64_t end)
{
    struct hsa_awake now;

    while (start < end && hsa_memory_awake(&start, end, &now)) {
        if (now.is_hosts)
            tsm_hostmem_track(now.start, now.size);
        else if (now.is_foreign)
            hsa_memory_found((const void *)(uintptr_t)now.start, now.size);
    }
}

static bool has_host(const hsa_memory_access_t *desc, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (hsa_agent_is_host(desc[i].agent_handle))
            return true;
    return false;
}

void hsa_after_access(struct tsm_call *call, bool ok, void *va, const hsa_memory_access_t *desc,
                      size_t count)
{
    tsm_call_slot(call, ok && has_host(desc, count) && hsa_memory_may_be_hosts(HSA_SLOT(va)));
}

void hsa_then_access(void *va, size_t size, const hsa_memory_access_t *desc, size_t count)
{
    reach(HSA_SLOT(va), HSA_SLOT(va) + size);
    if (has_host(desc, count))
        hsa_memory_allowed(HSA_SLOT(va), size);
}

static bool is_there(uint64_t vmem)
{
    hsa_amd_memory_pool_t pool;
    uint32_t type;

    return hsa_runtime.hsa_amd_vmem_get_alloc_properties_from_handle(
               (hsa_vmem_handle_t){vmem}, &pool, &type) == HSA_STATUS_SUCCESS;
}

/* Released handles of which no mapping is left hold nothing that anybody could see. */
static bool is_reachable(void *user, const struct tsm_handle *handle)
{
    uint64_t facts = hsa_vmem_facts(handle);

    return !(facts & HSA_VMEM_WAS_MAPPED) || facts >= HSA_VMEM_COUNT_UNIT || !is_there(handle->raw);
}

bool hsa_virtual_is_mapped(void)
{
    return tsm_handle_each(SBT_API_HSA, HSA_OBJECT_VMEM, is_reachable, NULL);
}

/* ---- files that this process makes of its memory ------------------------------------------------
 */

void hsa_after_released(struct tsm_call *call, bool ok, hsa_vmem_handle_t memory_handle)
{
    if (ok && hsa_exported_any() && !is_there(memory_handle.handle))
        hsa_exported_forget_vmem(memory_handle.handle);
}

void hsa_after_exported(struct tsm_call *call, bool ok, const void *ptr, int *dmabuf)
{
    uint64_t vmem = 0, start = ok ? hsa_memory_start(HSA_SLOT(ptr), &vmem) : 0;

    if (ok)
        hsa_exported_add(*dmabuf, start, vmem);
}

void hsa_after_exported_handle(struct tsm_call *call, bool ok, hsa_vmem_handle_t handle,
                               int *dmabuf)
{
    if (ok)
        hsa_exported_add(*dmabuf, 0, handle.handle);
}

/* ---- files that became memory ------------------------------------------------------------------
 */

static uint64_t file_size(int file)
{
    off_t size = lseek(file, 0, SEEK_END);

    return size > 0 ? (uint64_t)size : 0;
}

/* Returns the id of imported memory: its handle's, where the memory has one here already. */
static uint64_t imported_id(int file, const struct hsa_exported *own, hsa_vmem_handle_t handle,
                            hsa_amd_memory_pool_t pool)
{
    struct tsm_handle *made =
        own->vmem == handle.handle ? hsa_find(HSA_OBJECT_VMEM, handle.handle) : NULL;

    if (made)
        return made->id;
    made = tsm_handle_add(SBT_API_HSA, HSA_OBJECT_VMEM, handle.handle);
    hsa_vmem_note(made, hsa_vmem_facts(hsa_find(HSA_OBJECT_POOL, pool.handle)) |
                            (own->address ? 0 : HSA_VMEM_IS_FOREIGN));
    if (!own->address)
        hsa_exported_add(file, 0, handle.handle);
    return made->id;
}

hsa_status_t hook_hsa_amd_vmem_import_shareable_handle(int dmabuf_fd, hsa_vmem_handle_t *handle)
{
    hsa_amd_memory_pool_t pool = {0};
    struct hsa_exported own = {0};
    hsa_status_t status;
    struct tsm_call call;
    uint32_t type;
    bool ok;

    if (!tsm_call_begin(&call, TYPE_hsa_amd_vmem_import_shareable_handle))
        return hsa_runtime.hsa_amd_vmem_import_shareable_handle(dmabuf_fd, handle);
    status = hsa_runtime.hsa_amd_vmem_import_shareable_handle(dmabuf_fd, handle);
    ok = status == HSA_STATUS_SUCCESS;
    if (ok) {
        own = hsa_exported_find(dmabuf_fd);
        hsa_runtime.hsa_amd_vmem_get_alloc_properties_from_handle(*handle, &pool, &type);
    }
    tsm_call_returned(&call, status, !ok);
    tsm_call_slot(&call, (uint64_t)(int64_t)dmabuf_fd);
    tsm_call_slot(&call, ok ? imported_id(dmabuf_fd, &own, *handle, pool) : 0);
    tsm_call_slot(&call, hsa_id(HSA_OBJECT_POOL, pool.handle));
    tsm_call_slot(&call, ok ? file_size(dmabuf_fd) : 0);
    tsm_call_slot(&call, own.address);
    tsm_call_commit(&call);
    return status;
}

/* Records an import: one more mapping of the process's own memory, or an allocation of
 * another's. */
void hsa_after_interop(struct tsm_call *call, bool ok, int file, size_t *size, void **ptr)
{
    const struct hsa_exported own = ok ? hsa_exported_find(file) : (struct hsa_exported){0};
    hsa_amd_memory_pool_t pool = {0};

    if (ok)
        pool = hsa_memory_pool(*ptr);
    tsm_call_slot(call, hsa_id(HSA_OBJECT_POOL, pool.handle));
    tsm_call_slot(call, own.address);
    tsm_call_slot(call, hsa_id(HSA_OBJECT_VMEM, own.vmem));
    if (ok)
        hsa_memory_mapped(HSA_SLOT(*ptr), *size, 0,
                          hsa_vmem_facts(hsa_find(HSA_OBJECT_POOL, pool.handle)),
                          !own.address && !own.vmem);
}

void hsa_then_found(void **ptr, size_t *size)
{
    reach(HSA_SLOT(*ptr), HSA_SLOT(*ptr) + *size);
}
